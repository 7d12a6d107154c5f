/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/refusal.h"

#define WORDS_MAX 12
#define GROUP_MAX 6

/* Words separated by single blanks; the command borrows from `words`. */
typedef struct line {
    char text[128];
    const char *argv[WORDS_MAX];
    size_t argvlen[WORDS_MAX];
    shoal_command_t command;
} line_t;

static const shoal_command_t *parse(line_t *line, const char *text)
{
    size_t argc = 0;

    strncpy(line->text, text, sizeof line->text - 1);
    line->text[sizeof line->text - 1] = '\0';
    for (char *word = strtok(line->text, " "); word; word = strtok(NULL, " ")) {
        line->argv[argc] = word;
        line->argvlen[argc++] = strlen(word);
    }
    line->command = (shoal_command_t){argc, line->argv, line->argvlen};
    return &line->command;
}

#define RO SHOAL__CLASS_RO
#define WRITE SHOAL__CLASS_WRITE
#define SCRIPT SHOAL__CLASS_SCRIPT
#define BLOCK SHOAL__CLASS_BLOCK

/* clang-format off */
static const struct admitted_case {
    const char *command;
    shoal__command_class_t command_class;
} admitted[] = {
    {"GET k", RO}, {"get k", RO}, {"gEt k", RO}, {"SET k v", WRITE}, {"PING", RO},
    {"MGET a b c", RO}, {"DEL k", WRITE}, {"INCR k", WRITE}, {"GETEX k", WRITE},
    {"GETDEL k", WRITE}, {"SCAN 0", RO}, {"RANDOMKEY", RO}, {"PUBLISH c m", WRITE},
    {"SPUBLISH c m", WRITE}, {"ECHO x", RO},
    {"EVAL s 0", SCRIPT}, {"EVALSHA s 0", SCRIPT}, {"FCALL f 0", SCRIPT},
    {"EVAL_RO s 0", RO}, {"EVALSHA_RO s 0", RO}, {"FCALL_RO f 0", RO},
    {"NO.SUCH command", SCRIPT}, {"G k", SCRIPT}, {"GETT k", SCRIPT},
    {"XREAD STREAMS s 0", RO}, {"XREAD COUNT 5 STREAMS s 0", RO},
    {"XREADGROUP GROUP g c STREAMS s >", WRITE},
    {"XREADGROUP GROUP BLOCK BLOCK STREAMS s >", WRITE}, /* odd names */
    {"XREADGROUP GROUP STREAMS c COUNT 1 STREAMS s >", WRITE},
    {"XREAD STREAMS BLOCK 0", RO},                       /* a stream called BLOCK */
    {"SHUTDOWN NOSAVE", WRITE}, {"DEBUG SLEEP 0", WRITE},
    {"SCRIPT LOAD s", WRITE}, {"SCRIPT FLUSH", WRITE}, {"SCRIPT", WRITE},
    {"CLIENT ID", WRITE}, {"client id", WRITE}, {"CLIENT LIST", WRITE},
    {"CLIENT INFO", WRITE}, {"CLIENT KILL ID 5", WRITE}, {"CLIENT PAUSE 100", WRITE},
    {"CLIENT UNPAUSE", WRITE}, {"CLIENT UNBLOCK 5", WRITE}, {"CLIENT GETNAME", WRITE},
    {"CLIENT GETREDIR", WRITE}, {"CLIENT TRACKINGINFO", WRITE}, {"CLIENT HELP", WRITE},
    {"CLIENT", WRITE},
};

static const char *const refused[] = {
    "SUBSCRIBE c", "PSUBSCRIBE p", "SSUBSCRIBE s", "UNSUBSCRIBE", "PUNSUBSCRIBE",
    "SUNSUBSCRIBE", "subscribe c", "MONITOR", "SYNC", "PSYNC ? -1", "REPLCONF ACK 0",
    "RESET", "QUIT", "HELLO 3", "HELLO", "AUTH p", "SELECT 1", "select 1", "READONLY",
    "READWRITE", "ASKING", "WATCH k", "UNWATCH", "MULTI", "EXEC", "DISCARD", "multi",
    "CLIENT REPLY OFF", "CLIENT REPLY SKIP", "client reply on", "CLIENT TRACKING on",
    "CLIENT CACHING yes", "CLIENT SETNAME n", "CLIENT SETINFO LIB-NAME x",
    "CLIENT NO-EVICT on", "CLIENT NO-TOUCH on", "CLIENT CAPA redirect",
    "CLIENT IMPORT-SOURCE on", "CLIENT SOMETHING-NEW", "SCRIPT DEBUG YES",
    "script debug sync",
};

static const char *const counting[] = {"WAIT 1 0", "wait 1 0", "WAITAOF 1 0 0"};

static const char *const blocking[] = {
    "BLPOP k 0", "blpop k 0", "BRPOP k 0", "BLMOVE a b LEFT LEFT 0", "BLMPOP 0 1 k LEFT",
    "BRPOPLPUSH a b 0", "BZPOPMIN k 0", "BZPOPMAX k 0", "BZMPOP 0 1 k MIN", "XREAD BLOCK 0 STREAMS s $", "xread count 1 block 0 streams s $",
    "XREAD COUNT STREAMS BLOCK 0 STREAMS s",
    "XREADGROUP GROUP g c BLOCK 0 STREAMS s >",
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void test_admitted_commands_and_their_classes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(admitted); i++) {
        line_t line;
        shoal__admission_t admission =
            shoal__refusal_check(parse(&line, admitted[i].command), 0);
        if (admission.refused || admission.wants_lease)
            fail_msg("%s: %s", admitted[i].command, admission.refused);
        if (admission.command_class != admitted[i].command_class)
            fail_msg("%s: class %u", admitted[i].command, admission.command_class);
    }
}

static void test_refused_whatever_the_flags(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        line_t line;
        const shoal_command_t *command = parse(&line, refused[i]);
        if (!shoal__refusal_check(command, 0).refused ||
            !shoal__refusal_check(command, UINT32_MAX).refused)
            fail_msg("%s: admitted", refused[i]);
    }
}

static void check_blocks(const char *text)
{
    line_t line;
    shoal__admission_t allowed =
        shoal__refusal_check(parse(&line, text), SHOAL_CALL_MAY_BLOCK);

    if (allowed.refused || allowed.wants_lease || allowed.command_class != BLOCK)
        fail_msg("%s: %s, class %u", text, allowed.refused, allowed.command_class);
}

static void test_what_counts_its_connections_writes_needs_the_flag(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(counting); i++) {
        line_t line;
        shoal__lease_effect_t effect;
        const shoal_command_t *command = parse(&line, counting[i]);

        if (!shoal__refusal_check(command, 0).refused ||
            !shoal__refusal_check(command, ~(uint32_t)SHOAL_CALL_MAY_BLOCK).refused)
            fail_msg("%s: admitted", counting[i]);
        assert_null(shoal__refusal_check_on_lease(command, &effect).refused);
        assert_int_equal(effect, SHOAL__LEASE_NONE);
        check_blocks(counting[i]);
    }
}

/* clang-format off */
static const struct lease_case {
    const char *command;
    bool is_refused;
    shoal__lease_effect_t effect;
} on_lease[] = {
    {"GET k", false, SHOAL__LEASE_NONE}, {"PING", false, SHOAL__LEASE_NONE},
    {"BLPOP k 0", false, SHOAL__LEASE_NONE},
    {"XREAD BLOCK 0 STREAMS s $", false, SHOAL__LEASE_NONE},
    {"MULTI", false, SHOAL__LEASE_MULTI}, {"multi", false, SHOAL__LEASE_MULTI},
    {"EXEC", false, SHOAL__LEASE_EXEC}, {"DISCARD", false, SHOAL__LEASE_DISCARD},
    {"WATCH k", false, SHOAL__LEASE_WATCH}, {"UNWATCH", false, SHOAL__LEASE_UNWATCH},
    {"SELECT 1", false, SHOAL__LEASE_SELECT}, {"READONLY", false, SHOAL__LEASE_OTHER},
    {"READWRITE", false, SHOAL__LEASE_OTHER}, {"ASKING", false, SHOAL__LEASE_OTHER},
    {"CLIENT ID", false, SHOAL__LEASE_NONE}, {"CLIENT", false, SHOAL__LEASE_NONE},
    {"CLIENT SETNAME n", false, SHOAL__LEASE_OTHER},
    {"CLIENT TRACKING ON", false, SHOAL__LEASE_OTHER},
    {"CLIENT SOMETHING-NEW", false, SHOAL__LEASE_OTHER},
    {"NO.SUCH command", false, SHOAL__LEASE_OTHER},
    {"CLIENT REPLY OFF", true, SHOAL__LEASE_NONE},
    {"client reply skip", true, SHOAL__LEASE_NONE},
    {"SCRIPT LOAD s", false, SHOAL__LEASE_NONE}, {"SCRIPT DEBUG YES", true, SHOAL__LEASE_NONE},
    {"SUBSCRIBE c", true, SHOAL__LEASE_NONE}, {"PSUBSCRIBE c", true, SHOAL__LEASE_NONE},
    {"SSUBSCRIBE c", true, SHOAL__LEASE_NONE}, {"UNSUBSCRIBE", true, SHOAL__LEASE_NONE},
    {"PUNSUBSCRIBE", true, SHOAL__LEASE_NONE}, {"SUNSUBSCRIBE", true, SHOAL__LEASE_NONE},
    {"MONITOR", true, SHOAL__LEASE_MONITOR}, {"SYNC", true, SHOAL__LEASE_NONE},
    {"PSYNC ? -1", true, SHOAL__LEASE_NONE}, {"REPLCONF ACK 0", true, SHOAL__LEASE_NONE},
    {"RESET", true, SHOAL__LEASE_NONE}, {"QUIT", true, SHOAL__LEASE_NONE},
    {"HELLO 3", true, SHOAL__LEASE_NONE}, {"AUTH p", true, SHOAL__LEASE_NONE},
};
/* clang-format on */

static void test_on_a_lease(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(on_lease); i++) {
        const struct lease_case *c = &on_lease[i];
        line_t line;
        shoal__lease_effect_t effect;
        shoal__admission_t admission =
            shoal__refusal_check_on_lease(parse(&line, c->command), &effect);

        if ((admission.refused != NULL) != c->is_refused || effect != c->effect)
            fail_msg("%s: %s, effect %u", c->command, admission.refused, effect);
    }
}

static void test_blocking_commands_want_a_lease(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(blocking); i++) {
        line_t line;
        shoal__admission_t plain = shoal__refusal_check(parse(&line, blocking[i]), 0);

        if (!plain.refused || !plain.wants_lease || plain.command_class != BLOCK)
            fail_msg("%s: %s, class %u", blocking[i], plain.refused,
                     plain.command_class);
        check_blocks(blocking[i]);
    }
}

/* Names are bytes: they need not be terminated, and may hold anything. */
static void test_lengths_count_not_terminators(void **state)
{
    (void)state;
    const char *argv[] = {"SELECTED", "1"};
    shoal_command_t select = {2, argv, (const size_t[]){6, 1}};
    shoal_command_t selected = {2, argv, (const size_t[]){8, 1}};
    shoal_command_t zero = {2, (const char *const[]){"SELECT\0X", "1"},
                            (const size_t[]){8, 1}};
    shoal_command_t empty = {1, argv, (const size_t[]){0}};

    assert_non_null(shoal__refusal_check(&select, 0).refused);
    assert_null(shoal__refusal_check(&selected, 0).refused);
    assert_null(shoal__refusal_check(&zero, 0).refused);
    assert_null(shoal__refusal_check(&empty, 0).refused);

    shoal_command_t terminated = {2, (const char *const[]){"SELECT", "1"}, NULL};
    assert_non_null(shoal__refusal_check(&terminated, 0).refused);
}

/* clang-format off */
static const struct group_case {
    const char *name;
    const char *commands[GROUP_MAX];
    uint32_t flags;
    bool is_refused, is_unit;
} groups[] = {
    {"no transaction", {"SET k v", "GET k"}, 0, false, false},
    {"a single command", {"GET k"}, 0, false, false},
    {"a transaction", {"MULTI", "SET k v", "EXEC"}, 0, false, true},
    {"in lower case", {"multi", "set k v", "exec"}, 0, false, true},
    {"an empty one", {"MULTI", "EXEC"}, 0, false, true},
    {"a discarded one", {"MULTI", "SET k v", "DISCARD"}, 0, false, true},
    {"MULTI without end", {"MULTI", "SET k v"}, 0, true, false},
    {"MULTI alone", {"MULTI"}, 0, true, false},
    {"EXEC alone", {"EXEC"}, 0, true, false},
    {"DISCARD alone", {"DISCARD"}, 0, true, false},
    {"EXEC without MULTI", {"SET k v", "EXEC"}, 0, true, false},
    {"MULTI not first", {"GET k", "MULTI", "EXEC"}, 0, true, false},
    {"MULTI nested", {"MULTI", "MULTI", "EXEC"}, 0, true, false},
    {"EXEC before the end", {"MULTI", "EXEC", "GET k"}, 0, true, false},
    {"two transactions", {"MULTI", "EXEC", "MULTI", "EXEC"}, 0, true, false},
    {"EXEC and DISCARD", {"MULTI", "DISCARD", "EXEC"}, 0, true, false},
    {"MULTI with an argument", {"MULTI x", "SET k v", "EXEC"}, 0, true, false},
    {"EXEC with an argument", {"MULTI", "SET k v", "EXEC x"}, 0, true, false},
    {"SUBSCRIBE inside", {"MULTI", "SUBSCRIBE c", "EXEC"}, 0, true, false},
    {"SELECT inside", {"MULTI", "SELECT 1", "EXEC"}, 0, true, false},
    {"WATCH before", {"WATCH k", "MULTI", "EXEC"}, 0, true, false},
    {"WATCH in a group", {"WATCH k", "GET k"}, 0, true, false},
    {"CLIENT REPLY in a group", {"GET k", "CLIENT REPLY SKIP"}, 0, true, false},
    {"blocking inside", {"MULTI", "BLPOP k 0", "EXEC"}, 0, true, false},
    {"blocking, allowed", {"MULTI", "BLPOP k 0", "EXEC"}, SHOAL_CALL_MAY_BLOCK, false, true},
};
/* clang-format on */

static void test_groups(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(groups); i++) {
        const struct group_case *c = &groups[i];
        line_t lines[GROUP_MAX];
        shoal_command_t commands[GROUP_MAX];
        size_t count = 0;
        bool is_unit = !c->is_unit;

        for (; count < GROUP_MAX && c->commands[count]; count++)
            commands[count] = *parse(&lines[count], c->commands[count]);
        const char *why =
            shoal__refusal_check_group(commands, count, c->flags, &is_unit);
        if (!!why != c->is_refused)
            fail_msg("%s: %s", c->name, why ? why : "admitted");
        if (!why && is_unit != c->is_unit)
            fail_msg("%s: unit %d", c->name, is_unit);
        if (why && is_unit == c->is_unit)
            fail_msg("%s: ret_is_unit was touched", c->name);
    }
}

/* clang-format off */
static const struct shape_case {
    const char *command;
    shoal_reply_type_t allowed, denied;
} shapes[] = {
    {"GET k",            SHOAL_REPLY_NIL,     SHOAL_REPLY_STATUS},
    {"get k",            SHOAL_REPLY_STRING,  SHOAL_REPLY_INTEGER},
    {"SET k v",          SHOAL_REPLY_STATUS,  SHOAL_REPLY_INTEGER},
    {"incr k",           SHOAL_REPLY_INTEGER, SHOAL_REPLY_STRING},
    {"HGETALL k",        SHOAL_REPLY_MAP,     SHOAL_REPLY_NIL},
    {"SINTERSTORE a b",  SHOAL_REPLY_INTEGER, SHOAL_REPLY_SET},
    {"CONFIG GET *",     SHOAL_REPLY_MAP,     SHOAL_REPLY_INTEGER},
    {"XREAD STREAMS s 0", SHOAL_REPLY_NIL,    SHOAL_REPLY_STRING},
    {"XREAD BLOCK 0 STREAMS s 0", SHOAL_REPLY_MAP, SHOAL_REPLY_STATUS},
    {"BLPOP k 0",        SHOAL_REPLY_ARRAY,   SHOAL_REPLY_STRING},
};
/* clang-format on */

static void test_a_command_has_the_shape_of_its_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        line_t line;
        shoal__reply_shape_t shape =
            shoal__refusal_check(parse(&line, shapes[i].command), SHOAL_CALL_MAY_BLOCK)
                .shape;
        if (!shoal__reply_shape_allows(shape, shapes[i].allowed) ||
            shoal__reply_shape_allows(shape, shapes[i].denied))
            fail_msg("%s: shape %u", shapes[i].command, shape);
    }
}

static void test_nothing_is_expected_of_scripts_and_strangers(void **state)
{
    (void)state;
    static const char *const commands[] = {"EVAL s 0", "FCALL f 0", "FCALL_RO f 0",
                                           "NO.SUCH command", "G k"};

    for (size_t i = 0; i < COUNT(commands); i++) {
        line_t line;
        assert_int_equal(shoal__refusal_check(parse(&line, commands[i]), 0).shape,
                         SHOAL__SHAPE_ANY);
    }
}

static void check_unit_shapes(const char *const *texts, size_t count,
                              shoal__reply_shape_t last)
{
    line_t lines[GROUP_MAX];
    shoal_command_t commands[GROUP_MAX] = {0};
    bool is_unit = false;

    for (size_t i = 0; i < count; i++)
        commands[i] = *parse(&lines[i], texts[i]);
    assert_null(shoal__refusal_check_group(commands, count, 0, &is_unit));
    assert_true(is_unit);
    for (size_t i = 0; i + 1 < count; i++)
        assert_int_equal(shoal__refusal_unit_shape(commands, count, i),
                         SHOAL__SHAPE_QUEUED);
    assert_int_equal(shoal__refusal_unit_shape(commands, count, count - 1), last);
}

static void test_commands_of_a_unit_are_queued_until_its_end(void **state)
{
    (void)state;
    check_unit_shapes((const char *const[]){"MULTI", "GET k", "DUMP k", "EXEC"}, 4,
                      SHOAL__SHAPE_EXEC);
    check_unit_shapes((const char *const[]){"multi", "exec"}, 2, SHOAL__SHAPE_EXEC);
    check_unit_shapes((const char *const[]){"MULTI", "INCR k", "DISCARD"}, 3,
                      SHOAL__SHAPE_QUEUED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_admitted_commands_and_their_classes),
        cmocka_unit_test(test_refused_whatever_the_flags),
        cmocka_unit_test(test_blocking_commands_want_a_lease),
        cmocka_unit_test(test_what_counts_its_connections_writes_needs_the_flag),
        cmocka_unit_test(test_on_a_lease),
        cmocka_unit_test(test_lengths_count_not_terminators),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_a_command_has_the_shape_of_its_row),
        cmocka_unit_test(test_nothing_is_expected_of_scripts_and_strangers),
        cmocka_unit_test(test_commands_of_a_unit_are_queued_until_its_end),
    };
    return cmocka_run_group_tests_name("core/refusal", tests, NULL, NULL);
}
