/* SPDX-License-Identifier: MIT */
#include "resp/learned_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define WORDS_MAX 10
#define TEXT_BYTES 256

typedef struct keys_case {
    shoal__learned_spec_t spec;
    const char *words[WORDS_MAX]; /* NULL ends them */
    const char *keys;             /* with a blank behind each */
} keys_case_t;

#define RANGE(begin, ...)                                                              \
    {                                                                                  \
        .from = (begin), .step = 1, __VA_ARGS__                                        \
    }
#define WORD(word, begin, ...)                                                         \
    {                                                                                  \
        .keyword = word, .from = (begin), .step = 1, __VA_ARGS__                       \
    }

static const keys_case_t cases[] = {
    /* A range, from an argument. */
    {RANGE(1, .last = 0), {"X", "a", "b"}, "a "},
    {RANGE(1, .last = 1), {"X", "a", "b", "c"}, "a b "},
    {RANGE(2, .last = -1), {"X", "a", "b", "c"}, "b c "},
    {RANGE(1, .last = -2), {"X", "a", "b", "c"}, "a b "},
    {{.from = 1, .last = -1, .step = 2}, {"X", "a", "1", "b", "2"}, "a b "},
    {RANGE(1, .last = -1, .limit = 2), {"X", "a", "b", "1", "2"}, "a b "},
    {RANGE(1, .last = -1, .limit = 1), {"X", "a", "b"}, "a b "},
    /* ... that is not there. */
    {RANGE(1, .last = 0), {"X"}, ""},
    {RANGE(1, .last = 2), {"X", "a", "b"}, ""},
    {RANGE(1, .last = -3), {"X", "a", "b"}, ""},
    {RANGE(3, .last = 0), {"X", "a", "b"}, ""},
    /* A count. */
    {RANGE(1, .is_counted = true, .first = 1), {"X", "2", "a", "b", "c"}, "a b "},
    {RANGE(2, .is_counted = true, .first = 1), {"X", "s", "1", "a", "b"}, "a "},
    {RANGE(1, .is_counted = true, .count_at = 1, .first = 2),
     {"X", "o", "1", "a", "b"},
     "a "},
    {{.from = 1, .is_counted = true, .first = 1, .step = 2},
     {"X", "2", "a", "1", "b", "2"},
     "a b "},
    {RANGE(1, .is_counted = true, .first = 1), {"X", "0", "a"}, ""},
    {RANGE(1, .is_counted = true, .first = 1), {"X", "2", "a"}, ""},
    {RANGE(1, .is_counted = true, .first = 1), {"X", "-1", "a"}, ""},
    {RANGE(1, .is_counted = true, .first = 1), {"X", "", "a"}, ""},
    {RANGE(1, .is_counted = true, .first = 1), {"X", "1x", "a"}, ""},
    {RANGE(1, .is_counted = true, .first = 1), {"X", "99999999999999999999", "a"}, ""},
    {RANGE(1, .is_counted = true, .count_at = 3, .first = 1), {"X", "1", "a"}, ""},
    /* A word. */
    {WORD("KEYS", 1, .last = -1), {"X", "s", "keys", "a", "b"}, "a b "},
    {WORD("STREAMS", 1, .last = -1, .limit = 2),
     {"X", "STREAMS", "a", "b", "0", "0"},
     "a b "},
    {WORD("STORE", 2, .last = 0), {"X", "STORE", "a", "STORE", "b"}, "b "},
    {WORD("STORE", 2, .last = 0), {"X", "a", "STORE", "b", "STORE", "c"}, "b "},
    {WORD("KEYS", -2, .last = -1), {"X", "KEYS", "KEYS", "a", "b"}, "a b "},
    {WORD("KEYS", -2, .last = 0), {"X", "a", "b", "KEYS"}, ""},
    {WORD("X", -1, .last = 0), {"X", "a"}, ""}, /* the name is no keyword */
    {WORD("KEYS", 1, .last = 0), {"X", "KEYS"}, ""},
    {WORD("KEYS", 1, .last = 0), {"X", "a", "b"}, ""},
    {WORD("KEYS", -9, .last = 0), {"X", "KEYS", "a"}, ""},
};

static void add(void *data, shoal__bytes_t key)
{
    char *text = data;
    size_t bytes = strlen(text);

    snprintf(text + bytes, TEXT_BYTES - bytes, "%.*s ", (int)key.bytes, key.data);
}

static void check(const shoal__learned_t *learned, const char *const *words,
                  const char *keys)
{
    shoal_command_t command = {0, words, NULL};
    char encoded[TEXT_BYTES], ours[TEXT_BYTES] = "", again[TEXT_BYTES] = "";
    shoal__arguments_t arguments;
    size_t bytes;

    while (command.argc < WORDS_MAX && words[command.argc])
        command.argc++;
    bytes = (size_t)snprintf(encoded, sizeof encoded, "*%zu\r\n", command.argc);
    for (size_t i = 0; i < command.argc; i++)
        bytes += (size_t)snprintf(encoded + bytes, sizeof encoded - bytes,
                                  "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    shoal__arguments_of(&arguments, &command);
    shoal__learned_keys(learned, arguments, add, ours);
    assert_true(
        shoal__arguments_of_encoded(&arguments, (shoal__bytes_t){encoded, bytes}));
    shoal__learned_keys(learned, arguments, add, again);
    if (strcmp(ours, keys) != 0 || strcmp(again, keys) != 0)
        fail_msg("%s: '%s' and '%s', not '%s'", encoded, ours, again, keys);
}

static shoal__learned_t *new_learned(size_t count)
{
    shoal__learned_t *learned =
        calloc(1, sizeof *learned + count * sizeof *learned->entries);

    assert_non_null(learned);
    learned->count = count;
    return learned;
}

static void keys_stand_where_a_rule_says(void **state)
{
    shoal__learned_t *learned = new_learned(1);
    (void)state;

    learned->entries[0].specs_count = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        learned->entries[0].specs[0] = cases[i].spec;
        check(learned, cases[i].words, cases[i].keys);
    }
    free(learned);
}

static void each_rule_shows_its_keys(void **state)
{
    static const char *const words[WORDS_MAX] = {"X", "a", "b", "STORE", "c"};
    shoal__learned_t *learned = new_learned(1);
    (void)state;

    learned->entries[0].specs_count = 2;
    learned->entries[0].specs[0] = (shoal__learned_spec_t)RANGE(1, .last = 0);
    learned->entries[0].specs[1] = (shoal__learned_spec_t)WORD("STORE", 2, .last = 0);
    check(learned, words, "a c ");
    learned->entries[0].specs_count = 0;
    check(learned, words, "");
    free(learned);
}

static void a_subcommand_has_its_own(void **state)
{
    static const char *const get[WORDS_MAX] = {"X", "get", "a"};
    static const char *const list[WORDS_MAX] = {"X", "LIST", "a"};
    static const char *const other[WORDS_MAX] = {"X", "OTHER", "a"};
    static const char *const alone[WORDS_MAX] = {"X"};
    shoal__learned_t *learned = new_learned(3);
    (void)state;

    learned->entries[0].specs_count = 1;
    learned->entries[0].specs[0] = (shoal__learned_spec_t)RANGE(1, .last = 0);
    learned->entries[1] = (shoal__learned_entry_t){
        .name = "GET", .specs_count = 1, .specs = {RANGE(2, .last = 0)}};
    learned->entries[2] = (shoal__learned_entry_t){.name = "LIST"};
    check(learned, get, "a ");
    check(learned, list, "");
    check(learned, other, "OTHER ");
    check(learned, alone, "");
    free(learned);
}

static void nobody_has_told(void **state)
{
    static const char *const words[WORDS_MAX] = {"X", "a", "b"};
    static const char *const alone[WORDS_MAX] = {"X"};
    (void)state;

    check(NULL, words, "a ");
    check(NULL, alone, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_stand_where_a_rule_says),
        cmocka_unit_test(each_rule_shows_its_keys),
        cmocka_unit_test(a_subcommand_has_its_own),
        cmocka_unit_test(nobody_has_told),
    };
    return cmocka_run_group_tests_name("resp/learned_keys", tests, NULL, NULL);
}
