/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp/command_keys.h"
#include <stdio.h>

#define NONE SHOAL__KEYS_NONE
#define SOME SHOAL__KEYS_SOME
#define ANY SHOAL__KEYS_ANY

static const struct row {
    const char *command; /* words between blanks; "" is an empty one */
    shoal__keys_kind_t kind;
    const char *keys; /* each with a blank behind it; not looked at with ANY */
} rows[] = {
    {"GET k", SOME, "k "},
    {"get k", SOME, "k "},
    {"SET k v EX 10", SOME, "k "},
    {"DEL a b c", SOME, "a b c "},
    {"MSET a 1 b 2 c 3", SOME, "a b c "},
    {"BITOP AND d a b", SOME, "d a b "},
    {"RENAME a b", SOME, "a b "},
    {"BLPOP a b 0", SOME, "a b "},
    {"SORT k", SOME, "k "},
    /* Behind a word. */
    {"SORT k BY w* STORE d", ANY, ""},
    {"SORT_RO k GET w*->f", ANY, ""},
    {"SORT_RO k GET # LIMIT GET 1", SOME, "k "},
    {"SORT k BY w GET # LIMIT 0 9 STORE d", SOME, "k d "},
    {"SORT k BY STORE GET STORE", SOME, "k "},
    {"SORT k STORE a STORE b", SOME, "k a b "},
    {"SORT k STORE", SOME, "k "},
    {"GEORADIUS k 1 2 3 km STORE d", SOME, "k d "},
    {"GEORADIUSBYMEMBER k m 3 km COUNT 1 STOREDIST d", SOME, "k d "},
    {"XREAD STREAMS a b 0 0", SOME, "a b "},
    {"XREAD COUNT STREAMS BLOCK 0 streams a 0", SOME, "a "},
    {"XREADGROUP GROUP g STREAMS NOACK STREAMS a >", SOME, "a "},
    {"XREAD COUNT 1", ANY, ""},
    {"XREAD STREAMS a b 0", ANY, ""},
    {"XREAD STREAMS", ANY, ""},
    {"MIGRATE h 1 k 0 10", SOME, "k "},
    {"MIGRATE h 1 \"\" 0 10 COPY AUTH KEYS KEYS a b", SOME, "a b "},
    {"MIGRATE h 1 \"\" 0 10 KEYS", ANY, ""},
    {"MIGRATE h 1 \"\" 0 10", ANY, ""},
    /* With a count. */
    {"EVAL s 2 a b x", SOME, "a b "},
    {"EVALSHA s 1 a", SOME, "a "},
    {"FCALL_RO f 1 a x y", SOME, "a "},
    {"EVAL s 0 x", ANY, ""},
    {"EVAL s 3 a b", ANY, ""},
    {"EVAL s x a", ANY, ""},
    {"EVAL s -1 a", ANY, ""},
    {"EVAL s 99999999999999999999 a", ANY, ""},
    {"ZUNION 2 a b WEIGHTS 1 2", SOME, "a b "},
    {"ZUNIONSTORE d 2 a b AGGREGATE MAX", SOME, "d a b "},
    {"LMPOP 1 a LEFT", SOME, "a "},
    {"BZMPOP 0 2 a b MIN", SOME, "a b "},
    {"ZUNION 4294967295 a b", ANY, ""},
    {"ZUNION 1", ANY, ""},
    /* Behind a second word. */
    {"OBJECT ENCODING k", SOME, "k "},
    {"XGROUP CREATE k g 0", SOME, "k "},
    {"OBJECT HELP", NONE, ""},
    /* Without. */
    {"PING", NONE, ""},
    {"PUBLISH c m", NONE, ""},
    {"DBSIZE", NONE, ""},
    {"INFO server", NONE, ""},
    {"FLUSHALL", ANY, ""},
    {"SWAPDB 0 1", ANY, ""},
    {"FT.SEARCH i q", ANY, ""},
    {"GET", SOME, ""},
    {"MSET", SOME, ""},
};

static size_t encode(const char *command, char *room)
{
    char words[256], *rest = words, *word, body[512] = "";
    size_t count = 0;

    snprintf(words, sizeof words, "%s", command);
    while ((word = strtok_r(rest, " ", &rest)) != NULL) {
        if (strcmp(word, "\"\"") == 0)
            *word = '\0';
        sprintf(body + strlen(body), "$%zu\r\n%s\r\n", strlen(word), word);
        count++;
    }
    return (size_t)sprintf(room, "*%zu\r\n%s", count, body);
}

static void on_key(void *data, shoal__bytes_t key)
{
    char *seen = data;

    sprintf(seen + strlen(seen), "%.*s ", (int)key.bytes, key.data);
}

static void test_each_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char room[600], seen[256] = "";
        shoal__bytes_t encoded = {room, encode(rows[i].command, room)};
        shoal__command_keys_t keys = shoal__command_keys(encoded, on_key, seen);

        if (keys.kind != rows[i].kind)
            fail_msg("%s: kind %d", rows[i].command, keys.kind);
        if (keys.kind != ANY && strcmp(seen, rows[i].keys) != 0)
            fail_msg("%s: keys %s", rows[i].command, seen);
        assert_memory_equal(keys.name.data, rows[i].command, keys.name.bytes);
    }
}

/* Cut anywhere, it is no command with a known end; nothing behind the cut is read. */
static void test_part_of_a_command(void **state)
{
    char room[600];
    size_t bytes = encode("DEL key1 key2", room);

    (void)state;
    for (size_t cut = 0; cut < bytes; cut++) {
        char seen[256] = "", *part = test_malloc(cut + 1);
        memcpy(part, room, cut);
        shoal__bytes_t encoded = {part, cut};
        assert_int_equal(shoal__command_keys(encoded, on_key, seen).kind, ANY);
        test_free(part);
    }
}

static void test_bytes_that_are_no_command(void **state)
{
    static const char *const bad[] = {"",
                                      "*",
                                      "*x\r\n",
                                      "*0\r\n",
                                      "*1",
                                      "*1\r\n",
                                      "*1\r\n$",
                                      "*1\r\n$3\r\nGE",
                                      "*2\r\n$3\r\nGET\r\n:1\r\n",
                                      "*2\r\n$3\r\nGET\r\n$9\r\nk\r\n",
                                      "*2\r\n$3\r\nGET\r\n$1\r\nkey\r\n",
                                      "*2\r\n$3\r\nGET\r\n$99999999999999999999\r\nk",
                                      "*99999999999\r\n$3\r\nGET\r\n",
                                      "*3000000000\r\n$3\r\nGET\r\n",
                                      "+OK\r\n"};
    char seen[256] = "";

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        shoal__bytes_t encoded = {bad[i], strlen(bad[i])};
        assert_int_equal(shoal__command_keys(encoded, on_key, seen).kind, ANY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_row),
        cmocka_unit_test(test_part_of_a_command),
        cmocka_unit_test(test_bytes_that_are_no_command),
    };
    return cmocka_run_group_tests_name("resp/command_keys", tests, NULL, NULL);
}
