/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/reason.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const get[] = {"GET", "k"};
static const char *const subscribe[] = {"SUBSCRIBE", "c"};
static const char *const client_reply[] = {"CLIENT", "REPLY", "OFF"};
static const char *const blpop[] = {"BLPOP", "k", "0"};
static const char *const wait_words[] = {"WAIT", "1", "0"};
static const char *const multi[] = {"MULTI"};
static const char *const hole[] = {"GET", NULL};
static const size_t too_long[] = {3, (size_t)SHOAL_ARG_BYTES_MAX + 1};

static const shoal_options_t options = {.queued_max = 100, .bytes_max = 1024};

/* clang-format off */
static const struct reason_case {
    shoal_command_t command;
    size_t count; /* how often the command is in the submission */
    uint32_t flags;
    int code;
    shoal__reason_load_t load;
    const char *text;
} reason_cases[] = {
    {{2, get, NULL}, 0, 0, SHOAL_EINVAL, {0, 0, false, false, NULL}, "0 commands at once; 1 to 65536 are possible"},
    {{0, get, NULL}, 1, 0, SHOAL_EINVAL, {0, 0, false, false, NULL},
     "a command of 0 words; 1 to 1048576 are possible"},
    {{2, NULL, NULL}, 1, 0, SHOAL_EINVAL, {0, 0, false, false, NULL}, "argv is NULL"},
    {{2, hole, NULL}, 1, 0, SHOAL_EINVAL, {0, 0, false, false, NULL}, "argument 1 is NULL"},
    {{2, get, too_long}, 1, 0, SHOAL_EINVAL, {0, 0, false, false, NULL},
     "argument 1 has 536870913 bytes; at most 536870912 are possible"},
    {{2, get, NULL}, 101, 0, SHOAL_ETOOBIG, {0, 0, false, false, NULL},
     "2020 bytes as they are sent; at most 1024 may be outstanding (bytes_max)"},
    {{2, subscribe, NULL}, 1, 0, SHOAL_EREFUSED, {0, 0, false, false, NULL},
     "SUBSCRIBE: its replies are not exactly one"},
    {{3, client_reply, NULL}, 1, 0, SHOAL_EREFUSED, {0, 0, false, false, NULL},
     "CLIENT: it changes the connection under other callers"},
    {{3, wait_words, NULL}, 1, 0, SHOAL_EREFUSED, {0, 0, false, false, NULL},
     "WAIT: it counts the writes of its own connection: MAY_BLOCK or a lease allows it"},
    {{3, blpop, NULL}, 1, SHOAL_CALL_CONTIGUOUS, SHOAL_EREFUSED, {0, 0, false, false, NULL},
     "it holds up everything behind it: MAY_BLOCK allows it"},
    {{3, blpop, NULL}, 1, 0, SHOAL_EFULL, {0, 0, true, false, NULL},
     "1088 leases and blocking commands are outstanding, of which 1024 can wait for a "
     "connection"},
    {{1, multi, NULL}, 1, SHOAL_CALL_CONTIGUOUS, SHOAL_EREFUSED, {0, 0, false, false, NULL},
     "MULTI needs an EXEC or DISCARD as the last command"},
    {{2, get, NULL}, 2, 0, SHOAL_EFULL, {99, 10, false, false, NULL},
     "99 commands wait to be written; at most 100 may (queued_max)"},
    {{2, get, NULL}, 1, SHOAL_CALL_WAIT_FOR_ROOM, SHOAL_EFULL, {3, 1010, false, false, NULL},
     "no room before the deadline: 1010 bytes are outstanding; at most 1024 may be "
     "(bytes_max)"},
    {{2, get, NULL}, 1, 0, SHOAL_EFULL, {50, 10, false, true, NULL},
     "the node of the slot is down, and commands for such nodes may fill half of the room "
     "(queued_max, bytes_max)"},
    {{2, get, NULL}, 1, 0, SHOAL_ECLOSED, {0, 0, false, false, NULL}, "the client is closed"},
    {{2, get, NULL}, 1, 0, SHOAL_ENOMEM, {0, 0, false, false, NULL}, "out of memory"},
};
/* clang-format on */

static void test_reasons(void **state)
{
    static shoal_command_t commands[101];

    (void)state;
    for (size_t i = 0; i < COUNT(reason_cases); i++) {
        const struct reason_case *c = &reason_cases[i];
        shoal_error_t error = SHOAL_ERROR_INIT;
        const shoal__submission_t submission = {.commands = commands,
                                                .count = c->count,
                                                .call = {.size = sizeof submission.call,
                                                         .flags = c->flags,
                                                         .error = &error}};

        for (size_t j = 0; j < c->count; j++)
            commands[j] = c->command;
        assert_int_equal(shoal__reason_say(&submission, &options, &c->load, c->code),
                         c->code);
        assert_int_equal(error.code, c->code);
        assert_string_equal(error.text, c->text);
    }
}

static void test_too_many_commands_are_told_from_too_many_bytes(void **state)
{
    static const char *const ping[] = {"PING"};
    static shoal_command_t commands[101];
    const shoal_options_t roomy = {.queued_max = 100, .bytes_max = 1 << 20};
    const shoal__reason_load_t load = {0};
    shoal_error_t error = SHOAL_ERROR_INIT;
    const shoal__submission_t submission = {
        .commands = commands, .count = 101, .call = {.error = &error}};

    (void)state;
    for (size_t i = 0; i < COUNT(commands); i++)
        commands[i] = (shoal_command_t){1, ping, NULL};
    shoal__reason_say(&submission, &roomy, &load, SHOAL_ETOOBIG);
    assert_string_equal(error.text,
                        "101 commands at once; at most 100 may be queued (queued_max)");
}

static void test_a_caller_without_an_error_object_gets_the_code(void **state)
{
    const shoal_command_t command = {2, get, NULL};
    const shoal__submission_t submission = {.commands = &command, .count = 1};
    const shoal__reason_load_t load = {0};

    (void)state;
    assert_int_equal(shoal__reason_say(&submission, &options, &load, SHOAL_EFULL),
                     SHOAL_EFULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_too_many_commands_are_told_from_too_many_bytes),
        cmocka_unit_test(test_a_caller_without_an_error_object_gets_the_code),
    };
    return cmocka_run_group_tests_name("client/reason", tests, NULL, NULL);
}
