/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/cluster/split_rule.h"
#include "resp/encoder.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 10
#define TEXT_BYTES 400

/* Slots: a 15495, b 3300, c 7365; {a}... that of a. */
static const struct split_row {
    const char *words[WORDS_MAX];
    const char *parts;  /* "slot: command" of each; NULL: it may not be split */
    const char *places; /* "part.at" of each key */
    shoal__gather_policy_t policy;
} rows[] = {
    {{"MGET", "a", "b", "{a}2"},
     "15495: MGET a {a}2; 3300: MGET b; ",
     "0.0 1.0 0.1 ",
     SHOAL__GATHER_PLACE},
    {{"MGET", "a", "b", "a"},
     "15495: MGET a a; 3300: MGET b; ",
     "0.0 1.0 0.1 ",
     SHOAL__GATHER_PLACE},
    {{"mset", "b", "1", "a", "2", "b", "3"},
     "3300: mset b 1 b 3; 15495: mset a 2; ",
     "0.0 1.0 0.1 ",
     SHOAL__GATHER_ALL},
    {{"MSET", "a", "$", "b", ""},
     "15495: MSET a $; 3300: MSET b ; ",
     "0.0 1.0 ",
     SHOAL__GATHER_ALL},
    {{"DEL", "a", "b", "c"},
     "15495: DEL a; 3300: DEL b; 7365: DEL c; ",
     "0.0 1.0 2.0 ",
     SHOAL__GATHER_SUM},
    {{"DEL", "a$a$aaaaaaaa", "{a$a$aaaaaaaa}$"},
     "15213: DEL a$a$aaaaaaaa {a$a$aaaaaaaa}$; ",
     "0.0 0.1 ",
     SHOAL__GATHER_SUM},
    {{"Unlink", "a", "b"},
     "15495: Unlink a; 3300: Unlink b; ",
     "0.0 1.0 ",
     SHOAL__GATHER_SUM},
    {{"TOUCH", "a", "b"},
     "15495: TOUCH a; 3300: TOUCH b; ",
     "0.0 1.0 ",
     SHOAL__GATHER_SUM},
    {{"EXISTS", "a", "b"},
     "15495: EXISTS a; 3300: EXISTS b; ",
     "0.0 1.0 ",
     SHOAL__GATHER_SUM},
    {{"MSET", "a", "1", "b"}, NULL, NULL, SHOAL__GATHER_ALL},
    {{"MSETNX", "a", "1", "b", "2"}, NULL, NULL, SHOAL__GATHER_ALL},
    {{"SINTER", "a", "b"}, NULL, NULL, SHOAL__GATHER_ALL},
    {{"RENAME", "a", "b"}, NULL, NULL, SHOAL__GATHER_ALL},
    {{"DEL"}, NULL, NULL, SHOAL__GATHER_ALL},
};

static shoal_command_t command_of(const struct split_row *row, size_t *lengths)
{
    shoal_command_t command = {0, row->words, lengths};

    for (; command.argc < WORDS_MAX && row->words[command.argc]; command.argc++)
        lengths[command.argc] = strlen(row->words[command.argc]);
    return command;
}

/* "*2\r\n$3\r\nDEL\r\n$1\r\na\r\n" as "DEL a". */
static int print_command(char *to, const char *at, const char *end)
{
    char *from = to;
    long count = strtol(at + 1, (char **)&at, 10);

    for (at += 2; count > 0; count--) {
        assert_int_equal(*at, '$');
        long bytes = strtol(at + 1, (char **)&at, 10);
        to += sprintf(to, "%s%.*s", to == from ? "" : " ", (int)bytes, at + 2);
        at += 2 + bytes + 2;
    }
    assert_ptr_equal(at, end);
    return (int)(to - from);
}

static void print(const shoal__split_t *split, const char *at, char *parts,
                  char *places)
{
    for (size_t i = 0; i < split->parts_count; at += split->parts[i++].bytes) {
        const shoal__split_part_t *part = &split->parts[i];
        assert_ptr_equal(part->at, at + part->bytes);
        parts += sprintf(parts, "%u: ", part->slot);
        parts += print_command(parts, at, at + part->bytes);
        parts += sprintf(parts, "; ");
    }
    for (size_t i = 0; i < split->keys_count; i++)
        places += sprintf(places, "%u.%u ", split->keys[i].place.part,
                          split->keys[i].place.at);
}

static void check(const struct split_row *row, const shoal_command_t *command)
{
    char text[TEXT_BYTES], written[TEXT_BYTES], parts[TEXT_BYTES], places[TEXT_BYTES];
    char *end = shoal__encoder_write(command, text);
    shoal__split_t *split =
        shoal__split_new((shoal__bytes_t){text, (size_t)(end - text)});

    assert_non_null(split);
    assert_true(split->bytes <= sizeof written);
    shoal__split_write(split, written);
    print(split, written, parts, places);
    assert_string_equal(parts, row->parts);
    assert_string_equal(places, row->places);
    assert_int_equal(split->policy, row->policy);
    shoal__split_free(split);
}

static void a_part_for_each_slot(void **state)
{
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t lengths[WORDS_MAX];
        shoal_command_t command = command_of(&rows[i], lengths);
        if (shoal__split_may(&command) != (rows[i].parts != NULL))
            fail_msg("row %zu", i);
        command.argvlen = NULL;
        assert_int_equal(shoal__split_may(&command), rows[i].parts != NULL);
        if (rows[i].parts)
            check(&rows[i], &command);
    }
}

/* More keys than there are slots. */
static void keys_of_all_slots(void **state)
{
    enum { KEYS = 200000, KEY_BYTES = 8 };
    char(*names)[KEY_BYTES] = malloc(KEYS * sizeof *names);
    const char **argv = malloc((KEYS + 1) * sizeof *argv);
    char *text = malloc((size_t)KEYS * 16), *written;
    (void)state;

    argv[0] = "EXISTS";
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(names[i], KEY_BYTES, "%u", i);
        argv[i + 1] = names[i];
    }
    const shoal_command_t command = {KEYS + 1, argv, NULL};
    char *end = shoal__encoder_write(&command, text);
    shoal__split_t *split =
        shoal__split_new((shoal__bytes_t){text, (size_t)(end - text)});
    size_t keys = 0, bytes = 0;
    assert_non_null(split);
    assert_int_equal(split->parts_count, SHOAL__SLOTS);
    assert_int_equal(split->keys_count, KEYS);
    written = malloc(split->bytes);
    shoal__split_write(split, written);
    for (size_t i = 0; i < split->parts_count; i++) {
        keys += split->parts[i].keys;
        bytes += split->parts[i].bytes;
        assert_ptr_equal(split->parts[i].at, written + bytes);
    }
    assert_int_equal(keys, KEYS);
    assert_int_equal(bytes, split->bytes);
    shoal__split_free(split);
    free(written);
    free(text);
    free(argv);
    free(names);
}

static void without_memory(void **state)
{
    static const char text[] = "*3\r\n$3\r\nDEL\r\n$1\r\na\r\n$1\r\nb\r\n";
    (void)state;

    shoal__test_fail_alloc_after(0);
    assert_null(shoal__split_new((shoal__bytes_t){text, sizeof text - 1}));
    shoal__test_fail_alloc_never();
    shoal__split_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_part_for_each_slot),
                                       cmocka_unit_test(keys_of_all_slots),
                                       cmocka_unit_test(without_memory)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
