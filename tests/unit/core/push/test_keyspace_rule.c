/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/push/keyspace_rule.h"
#include <stdio.h>
#include <string.h>

static shoal__bytes_t bytes_of(const char *text)
{
    return (shoal__bytes_t){text, strlen(text)};
}

static const struct {
    const char *name;    /* that is subscribed */
    const char *setting; /* of the server */
    const char *lacks;   /* NULL: nothing */
} rows[] = {
    {"__keyspace@0__:k", "", "KA"},
    {"__keyspace@0__:k", "E", "KA"},
    {"__keyspace@0__:k", "EA", "K"},
    {"__keyspace@0__:k", "K", "A"},
    {"__keyspace@0__:k", "K$", NULL},
    {"__keyspace@0__:k", "xK", NULL},
    {"__keyspace@0__:k", "AK", NULL},
    {"__keyevent@0__:set", "", "EA"},
    {"__keyevent@0__:set", "KA", "E"},
    {"__keyevent@0__:set", "E", "A"},
    {"__keyevent@0__:set", "g$E", NULL},
    {"__keyevent@0__:expired", "", "Ex"},
    {"__keyevent@0__:expired", "g$E", "x"},
    {"__keyevent@0__:expired", "xE", NULL},
    {"__keyevent@*__:expired", "AE", NULL},
    {"__keyevent@0__:evicted", "xE", "e"},
    {"__keyevent@0__:evicted", "AKE", NULL},
    {"__keyevent@0__:keymiss", "AKE", "m"},
    {"__keyevent@0__:keymiss", "Em", NULL},
    {"__keyevent@0__:new", "AKE", "n"},
    {"__keyevent@0__:new", "nE", NULL},
    {"__keyevent@0__:renew", "$E", NULL}, /* an event of another name */
    {"new", "E", NULL},
    {"__keyevent@0__:*", "xE", NULL},
    {"__keyevent@0__:*", "!E", "A"}, /* a letter that means something else */
    {"__key*__:*", "", "K"},         /* either kind of channel would do */
    {"__key*__:*", "Ex", NULL},
    {"__subkeyspace@0__:h", "", "K"},
    {"__subkeyspace@0__:h", "Sh", NULL}, /* of a later server */
};

static void test_what_is_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shoal__keyspace_rule_t rule = {0};
        char text[SHOAL__KEYSPACE_TEXT_BYTES] = "", expected[sizeof text] = "";
        shoal__keyspace_rule_want(&rule, bytes_of(rows[i].name));
        shoal__keyspace_rule_hear(&rule, bytes_of(rows[i].setting));
        if (rows[i].lacks)
            snprintf(expected, sizeof expected,
                     "notify-keyspace-events is \"%s\" there: events of keys that are "
                     "subscribed do not come without \"%s\"",
                     rows[i].setting, rows[i].lacks);
        assert_int_equal(shoal__keyspace_rule_tell(&rule, text), rows[i].lacks != NULL);
        assert_string_equal(text, expected);
    }
}

/* Asked once, told once for each server; names that come later count. */
static void test_once_for_each_server(void **state)
{
    shoal__keyspace_rule_t rule = {0};
    char text[SHOAL__KEYSPACE_TEXT_BYTES];
    char large[200];
    (void)state;

    assert_false(shoal__keyspace_rule_must_ask(&rule));
    shoal__keyspace_rule_want(&rule, bytes_of("__keyspace@0__:k"));
    assert_true(shoal__keyspace_rule_must_ask(&rule));
    rule.is_asked = true;
    assert_false(shoal__keyspace_rule_must_ask(&rule));
    assert_false(shoal__keyspace_rule_tell(&rule, text)); /* not answered */
    shoal__keyspace_rule_hear(&rule, bytes_of("AK"));
    assert_false(shoal__keyspace_rule_tell(&rule, text));
    shoal__keyspace_rule_want(&rule, bytes_of("__keyevent@0__:del"));
    assert_true(shoal__keyspace_rule_tell(&rule, text));
    assert_non_null(strstr(text, "without \"E\""));
    assert_false(shoal__keyspace_rule_tell(&rule, text));
    shoal__keyspace_rule_reset(&rule);
    assert_true(shoal__keyspace_rule_must_ask(&rule));
    memset(large, 'K', sizeof large);
    shoal__keyspace_rule_hear(&rule, (shoal__bytes_t){large, sizeof large});
    assert_true(shoal__keyspace_rule_tell(&rule, text));
    assert_non_null(strstr(text, "without \"EA\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_missing),
        cmocka_unit_test(test_once_for_each_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
