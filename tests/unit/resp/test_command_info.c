/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp/command_info.h"
#include <ctype.h>

#include "resp/command_table.inc"

static shoal__bytes_t bytes(const char *text)
{
    return (shoal__bytes_t){text, strlen(text)};
}

static void test_every_command_is_found_in_any_case(void **state)
{
    (void)state;
    assert_true(COMMAND_COUNT <= COMMAND_HASH_SIZE / 2);
    assert_true(sizeof command_slots / sizeof *command_slots == COMMAND_HASH_SIZE);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        char name[64];
        size_t name_bytes = strlen(command_rows[i].name);

        assert_int_equal(command_rows[i].name_bytes, name_bytes);
        for (size_t k = 0; k <= name_bytes; k++)
            name[k] = (char)(k % 2 ? tolower(command_rows[i].name[k])
                                   : command_rows[i].name[k]);
        const shoal__command_info_t *info =
            shoal__command_info_find((shoal__bytes_t){name, name_bytes});
        if (!info || strcmp(info->name, command_rows[i].name) != 0)
            fail_msg("%s is not found", name);
        assert_non_null(shoal__command_info_find(bytes(command_rows[i].name)));
    }
}

static void test_other_names_are_not_found(void **state)
{
    (void)state;
    static const char *const names[] = {"", "GE", "GETT", " GET", "FT.SEARCH"};
    char longest[300];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(shoal__command_info_find(bytes(names[i])));
    memset(longest, 'G', sizeof longest);
    for (size_t i = 0; i < sizeof longest; i++)
        assert_null(shoal__command_info_find((shoal__bytes_t){longest, i}));
    assert_null(shoal__command_info_find((shoal__bytes_t){"GET\0", 4}));
}

static void test_a_row_is_what_the_server_says(void **state)
{
    (void)state;
    const shoal__command_info_t *get = shoal__command_info_find(bytes("get"));

    assert_non_null(get);
    assert_string_equal(get->name, "GET");
    assert_int_equal(get->arity, 2);
    assert_int_equal(get->flags, SHOAL__COMMAND_READONLY | SHOAL__COMMAND_FAST);
    assert_int_equal(get->first_key, 1);
    assert_int_equal(get->last_key, 1);
    assert_int_equal(get->step, 1);
}

static void test_a_row_stays_small(void **state)
{
    (void)state;
    assert_true(sizeof(shoal__command_info_t) <= 24);
}

static void test_every_shape_is_one_of_the_masks(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (command_rows[i].shape >= SHOAL__SHAPE_LIMIT ||
            shoal__reply_shape_masks[command_rows[i].shape] == 0)
            fail_msg("%s: shape %u", command_rows[i].name, command_rows[i].shape);
}

/* A row is ANY only for a reason: a new command does not get there by omission. */
static void test_few_commands_may_answer_anything(void **state)
{
    (void)state;
    static const char *const any[] = {
        "ACL",          "CLIENT",      "CLUSTER",    "DEBUG",      "EVAL",
        "EVALSHA",      "EVALSHA_RO",  "EVAL_RO",    "FCALL",      "FCALL_RO",
        "MEMORY",       "MONITOR",     "PFDEBUG",    "PSUBSCRIBE", "PSYNC",
        "PUNSUBSCRIBE", "REPLCONF",    "SSUBSCRIBE", "SUBSCRIBE",  "SUNSUBSCRIBE",
        "SYNC",         "UNSUBSCRIBE", "VADD",       "VCARD",      "VDIM",
        "VEMB",         "VREM",        "VSIM"};
    size_t at = 0;

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (command_rows[i].shape != SHOAL__SHAPE_ANY)
            continue;
        assert_true(at < sizeof any / sizeof *any);
        assert_string_equal(command_rows[i].name, any[at++]);
    }
    assert_int_equal(at, sizeof any / sizeof *any);
}

/* clang-format off */
static const struct class_case {
    const char *name;
    shoal__command_class_t class;
} class_cases[] = {
    {"GET",         SHOAL__CLASS_RO},
    {"MGET",        SHOAL__CLASS_RO},
    {"SCAN",        SHOAL__CLASS_RO},
    {"RANDOMKEY",   SHOAL__CLASS_RO},
    {"EVAL_RO",     SHOAL__CLASS_RO},
    {"EVALSHA_RO",  SHOAL__CLASS_RO},
    {"FCALL_RO",    SHOAL__CLASS_RO},
    {"PING",        SHOAL__CLASS_RO},
    {"ECHO",        SHOAL__CLASS_RO},
    {"TIME",        SHOAL__CLASS_RO},
    {"INFO",        SHOAL__CLASS_RO},
    {"DBSIZE",      SHOAL__CLASS_RO},
    {"SET",         SHOAL__CLASS_WRITE},
    {"GETEX",       SHOAL__CLASS_WRITE},
    {"GETDEL",      SHOAL__CLASS_WRITE},
    {"SORT",        SHOAL__CLASS_WRITE},
    {"PUBLISH",     SHOAL__CLASS_WRITE},
    {"FLUSHALL",    SHOAL__CLASS_WRITE},
    {"CONFIG",      SHOAL__CLASS_WRITE},
    {"CLIENT",      SHOAL__CLASS_WRITE},
    {"AUTH",        SHOAL__CLASS_WRITE},
    {"EVAL",        SHOAL__CLASS_SCRIPT},
    {"EVALSHA",     SHOAL__CLASS_SCRIPT},
    {"FCALL",       SHOAL__CLASS_SCRIPT},
    {"MODULE.THING", SHOAL__CLASS_SCRIPT},
    {"BLPOP",       SHOAL__CLASS_BLOCK},
    {"BZMPOP",      SHOAL__CLASS_BLOCK},
    {"XREAD",       SHOAL__CLASS_BLOCK},
    {"XREADGROUP",  SHOAL__CLASS_BLOCK},
    {"WAIT",        SHOAL__CLASS_BLOCK},
};
/* clang-format on */

static void test_classes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof class_cases / sizeof *class_cases; i++) {
        const struct class_case *c = &class_cases[i];
        shoal__command_class_t class =
            shoal__command_info_class(shoal__command_info_find(bytes(c->name)));
        if (class != c->class)
            fail_msg("%s: class %d, want %d", c->name, (int)class, (int)c->class);
    }
}

/* Nothing that may change data is ever sent twice. */
static void test_no_writing_command_is_readonly(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (command_rows[i].flags & (SHOAL__COMMAND_WRITE | SHOAL__COMMAND_BLOCKING))
            assert_int_not_equal(shoal__command_info_class(&command_rows[i]),
                                 SHOAL__CLASS_RO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_command_is_found_in_any_case),
        cmocka_unit_test(test_other_names_are_not_found),
        cmocka_unit_test(test_a_row_is_what_the_server_says),
        cmocka_unit_test(test_a_row_stays_small),
        cmocka_unit_test(test_every_shape_is_one_of_the_masks),
        cmocka_unit_test(test_few_commands_may_answer_anything),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_no_writing_command_is_readonly),
    };
    return cmocka_run_group_tests_name("resp/command_info", tests, NULL, NULL);
}
