/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/redirect.h"
#include <stdio.h>
#include <stdlib.h>

static const struct redirect_case {
    const char *text;
    const char *host;
    int port;
} cases[] = {
    {"REDIRECT 10.0.0.1:6379", "10.0.0.1", 6379},
    {"REDIRECT primary.example.org:1", "primary.example.org", 1},
    {"REDIRECT my_host-1:65535", "my_host-1", 65535},
    {"REDIRECT ::1:6379", "::1", 6379},
    {"REDIRECT [::1]:6379", "::1", 6379},
    {"REDIRECT 2001:db8::7:6379", "2001:db8::7", 6379},
    {"REDIRECT ::ffff:10.0.0.1:7", "::ffff:10.0.0.1", 7},
};

static const char *const others[] = {
    "",
    "REDIRECT",
    "REDIRECT ",
    "REDIRECT :6379",
    "REDIRECT h",
    "REDIRECT h:",
    "REDIRECT h:0",
    "REDIRECT h:65536",
    "REDIRECT h:99999",
    "REDIRECT h:100000",
    "REDIRECT h:06379",
    "REDIRECT h:+1",
    "REDIRECT h:-1",
    "REDIRECT h:1 ",
    "REDIRECT h:1x",
    "REDIRECT  h:1",
    "REDIRECT h :1",
    "REDIRECT ?:6379",
    "REDIRECT h:1 h:2",
    "REDIRECT h,i:1",
    "REDIRECT [h]:1",
    "REDIRECT []:1",
    "REDIRECT [::1:1",
    "REDIRECT ::1]:1",
    "REDIRECT [[::1]]:1",
    "REDIRECT user:pw@h:1",
    "REDIRECT redis://h:1",
    "REDIRECT h/x:1",
    "REDIRECT fe80::1%eth0:1",
    "REDIRECT h\n:1",
    "redirect h:1",
    "REDIRECTX h:1",
    "REDIRECT\th:1",
    " REDIRECT h:1",
    "ERR REDIRECT h:1",
    "MOVED 1 h:1",
};

static bool reads(const char *text, size_t bytes, shoal__redirect_t *redirect)
{
    /* In memory of its own, without a terminator. */
    char *copy = malloc(bytes + 1);

    assert_non_null(copy);
    memcpy(copy, text, bytes);
    bool is_redirect = shoal__redirect_read((shoal__bytes_t){copy, bytes}, redirect);
    free(copy);
    return is_redirect;
}

static void test_redirects(void **state)
{
    shoal__redirect_t redirect;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(reads(cases[i].text, strlen(cases[i].text), &redirect));
        assert_string_equal(redirect.host, cases[i].host);
        assert_int_equal(redirect.port, cases[i].port);
    }
}

static void test_all_else_is_none(void **state)
{
    shoal__redirect_t redirect;

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (reads(others[i], strlen(others[i]), &redirect))
            fail_msg("%s: taken", others[i]);
    assert_false(reads("REDIRECT h\0:1", 13, &redirect));
    assert_false(reads("REDIRECT h:1\0", 13, &redirect));
    assert_false(shoal__redirect_read((shoal__bytes_t){NULL, 0}, &redirect));
}

static void test_long_hosts(void **state)
{
    shoal__redirect_t redirect;
    char text[400];

    (void)state;
    for (int bytes = 250; bytes < 260; bytes++) {
        snprintf(text, sizeof text, "REDIRECT %0*d:1", bytes, 0);
        assert_int_equal(reads(text, strlen(text), &redirect), bytes < 256);
    }
}

/* ---- of one slot ---- */

static const struct slot_case {
    const char *text;
    bool is_ask;
    unsigned slot;
    const char *host;
    int port;
} slot_cases[] = {
    {"MOVED 0 10.0.0.1:6379", false, 0, "10.0.0.1", 6379},
    {"MOVED 16383 node-1.example.org:1", false, 16383, "node-1.example.org", 1},
    {"ASK 3999 [::1]:6379", true, 3999, "::1", 6379},
    {"ASK 3999 ::1:6379", true, 3999, "::1", 6379},
    {"MOVED 7 :6379", false, 7, "", 6379},
    {"MOVED 7 ?:6379", false, 7, "", 0},
    {"MOVED 7 h:0", false, 7, "", 0},
    {"MOVED 7 [::1]:0", false, 7, "", 0},
    {"MOVED 7 ?:0", false, 7, "", 0},
    {"ASK 7 :0", true, 7, "", 0},
};

static const char *const no_slot_cases[] = {
    "",
    "MOVED",
    "MOVED ",
    "MOVED 7",
    "MOVED 7 ",
    "MOVED 7 :",
    "MOVED 7 ?",
    "MOVED 7 ?:",
    "MOVED 7 ?:x",
    "MOVED 7 0",
    "MOVED 7 h h:0",
    "MOVED 7 [h]:0",
    "MOVED 7 h:00",
    "MOVED 7 h",
    "MOVED 16384 h:1",
    "MOVED 99999 h:1",
    "MOVED 100000 h:1",
    "MOVED 07 h:1",
    "MOVED -1 h:1",
    "MOVED x h:1",
    "MOVED  7 h:1",
    "MOVED 7  h:1",
    "MOVED 7h:1",
    "MOVED 7 h:1 ",
    "MOVED 7 h/x:1",
    "MOVEDX 7 h:1",
    "moved 7 h:1",
    "ASKING 7 h:1",
    "ERR MOVED 7 h:1",
    "REDIRECT h:1",
};

static void test_redirects_of_a_slot(void **state)
{
    shoal__slot_redirect_t redirect;

    (void)state;
    for (size_t i = 0; i < sizeof slot_cases / sizeof *slot_cases; i++) {
        const struct slot_case *row = &slot_cases[i];
        shoal__bytes_t text = {row->text, strlen(row->text)};

        if (!shoal__redirect_read_slot(text, &redirect))
            fail_msg("%s: not taken", row->text);
        assert_int_equal(redirect.is_ask, row->is_ask);
        assert_int_equal(redirect.slot, row->slot);
        assert_string_equal(redirect.to.host, row->host);
        assert_int_equal(redirect.to.port, row->port);
    }
    for (size_t i = 0; i < sizeof no_slot_cases / sizeof *no_slot_cases; i++) {
        shoal__bytes_t text = {no_slot_cases[i], strlen(no_slot_cases[i])};
        if (shoal__redirect_read_slot(text, &redirect))
            fail_msg("%s: taken", no_slot_cases[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redirects_of_a_slot),
        cmocka_unit_test(test_redirects),
        cmocka_unit_test(test_all_else_is_none),
        cmocka_unit_test(test_long_hosts),
    };
    return cmocka_run_group_tests_name("core/redirect", tests, NULL, NULL);
}
