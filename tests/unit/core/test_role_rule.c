/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/role_rule.h"
#include "resp/reply.h"
#include <string.h>

#define UNKNOWN SHOAL__ROLE_UNKNOWN
#define PRIMARY SHOAL__ROLE_PRIMARY
#define REPLICA SHOAL__ROLE_REPLICA

static const struct rule_case {
    shoal__role_facts_t facts;
    bool is_accepted;
} cases[] = {
    /* One address: taken as it is. */
    {{REPLICA, 0, 0, false}, true},
    {{REPLICA, 1, 0, false}, true},
    {{PRIMARY, 1, 0, false}, true},
    /* Several: each may be the primary's. */
    {{PRIMARY, 2, 0, false}, true},
    {{UNKNOWN, 2, 0, false}, true},
    {{REPLICA, 2, 0, false}, false},
    {{REPLICA, 2, 1, false}, true},
    {{REPLICA, 16, 14, false}, false},
    {{REPLICA, 16, 15, false}, true},
    {{REPLICA, 2, 100, false}, true},
    /* All connections lead to one server. */
    {{REPLICA, 2, 0, true}, true},
};

static void test_which_roles_are_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (shoal__role_is_accepted(&cases[i].facts) != cases[i].is_accepted)
            fail_msg("case %zu", i);
}

static shoal_reply_t text_of(shoal_reply_type_t type, const char *text)
{
    shoal_reply_t reply = {.type = (uint8_t)type};

    reply.as.text.data = text;
    reply.as.text.bytes = strlen(text);
    return reply;
}

static shoal__role_t read_first(const char *word)
{
    shoal_reply_t first = text_of(SHOAL_REPLY_STRING, word);
    shoal_reply_t reply = {.type = SHOAL_REPLY_ARRAY};

    reply.as.children.items = &first;
    reply.as.children.count = reply.as.children.capacity = 1;
    return shoal__role_read(&reply);
}

static void test_answers(void **state)
{
    static const struct {
        const char *word;
        shoal__role_t role;
    } words[] = {
        {"master", PRIMARY}, {"slave", REPLICA},   {"sentinel", UNKNOWN}, {"", UNKNOWN},
        {"maste", UNKNOWN},  {"masters", UNKNOWN}, {"slaves", UNKNOWN},
    };
    const shoal_reply_t status = text_of(SHOAL_REPLY_STATUS, "master");
    const shoal_reply_t number = {.type = SHOAL_REPLY_INTEGER};
    const shoal_reply_t empty = {.type = SHOAL_REPLY_ARRAY};

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_int_equal(read_first(words[i].word), words[i].role);
    assert_int_equal(shoal__role_read(&status), UNKNOWN);
    assert_int_equal(shoal__role_read(&number), UNKNOWN);
    assert_int_equal(shoal__role_read(&empty), UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_roles_are_accepted),
        cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests_name("core/role_rule", tests, NULL, NULL);
}
