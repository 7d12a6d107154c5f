/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp/decoder.h"
#include "resp/push.h"
#include <stdio.h>
#include <stdlib.h>

#define LIMIT ((uint64_t)1 << 29)

/* ---- the transcript of one frame, read in either way ---- */

static char heard[2048];

static void hear(const shoal__push_t *push)
{
    static const char *const kinds[] = {"other", "message", "confirmed", "dropped"};

    snprintf(heard, sizeof heard, "%s %d %.*s|%.*s|%.*s", kinds[push->kind],
             (int)push->name_kind, (int)push->name.bytes,
             push->name.data ? push->name.data : "", (int)push->channel.bytes,
             push->channel.data ? push->channel.data : "", (int)push->payload.bytes,
             push->payload.data ? push->payload.data : "");
}

static bool is_unasked;

static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type)
{
    (void)owner, (void)type;
    return (shoal__decoder_target_t){0};
}

static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    shoal__push_t push;

    (void)owner, (void)is_push;
    shoal__push_read(reply, &push);
    hear(&push);
    is_unasked = shoal__push_is_unasked(reply);
    return true;
}

/* By the decoder. */
static void read_tree(const char *wire, size_t bytes)
{
    const shoal__decoder_limits_t limits = {LIMIT, 1 << 20, 9};
    const shoal__decoder_hooks_t hooks = {on_begin, on_reply};
    shoal__decoder_t *decoder;

    heard[0] = '\0';
    assert_int_equal(shoal__decoder_new(&decoder, &limits, &hooks, NULL), 0);
    assert_int_equal(shoal__decoder_feed(decoder, wire, bytes), 0);
    shoal__decoder_free(decoder);
}

#define MESSAGE "3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n"
#define PMESSAGE                                                                       \
    "4\r\n$8\r\npmessage\r\n$2\r\nn*\r\n$4\r\nnews\r\n$7\r\na\r\nb\0c\xff\r\n"
#define SMESSAGE "3\r\n$8\r\nsmessage\r\n$0\r\n\r\n$0\r\n\r\n"

static const struct {
    const char *wire; /* behind the first byte */
    size_t bytes;
    const char *heard;
} messages[] = {
    {MESSAGE, sizeof MESSAGE - 1, "message 0 news|news|hello"},
    {PMESSAGE, sizeof PMESSAGE - 1, "message 1 n*|news|a\r\nb"},
    {SMESSAGE, sizeof SMESSAGE - 1, "message 2 ||"},
};

static void test_messages_are_read_where_they_stand(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        for (int resp3 = 0; resp3 < 2; resp3++) {
            char wire[512];
            size_t bytes = messages[i].bytes + 1;
            shoal__push_t push;
            wire[0] = resp3 ? '>' : '*';
            memcpy(wire + 1, messages[i].wire, messages[i].bytes);
            memcpy(wire + bytes, wire, bytes); /* one more behind it */
            assert_int_equal(shoal__push_scan((shoal__bytes_t){wire, 2 * bytes}, resp3,
                                              LIMIT, &push),
                             bytes);
            hear(&push);
            assert_string_equal(heard, messages[i].heard);
            /* The decoder reads the same. */
            read_tree(wire, bytes);
            assert_string_equal(heard, messages[i].heard);
            assert_true(resp3 || is_unasked);
            /* Not of the other protocol, not if it is cut, not over the limit. */
            assert_int_equal(
                shoal__push_scan((shoal__bytes_t){wire, bytes}, !resp3, LIMIT, &push),
                0);
            for (size_t cut = 0; cut < bytes; cut++) {
                char *exact = malloc(cut + 1); /* a sanitizer finds reads beyond it */
                memcpy(exact + 1, wire, cut);
                assert_int_equal(shoal__push_scan((shoal__bytes_t){exact + 1, cut},
                                                  resp3, LIMIT, &push),
                                 0);
                free(exact);
            }
            assert_int_equal(shoal__push_scan((shoal__bytes_t){wire, bytes}, resp3,
                                              bytes - 1, &push),
                             0);
        }
}

/* What is behind the end of a read is older than it, and may look like its rest. */
static void test_what_stands_behind_the_end_is_not_read(void **state)
{
    static char wire[1 << 18];
    (void)state;

    for (int bytes = 1; bytes <= 100000; bytes *= 10) {
        int head = snprintf(wire, sizeof wire, ">3\r\n$7\r\nmessage\r\n$%d\r\n", bytes);
        int next =
            head + bytes + snprintf(wire + head + bytes, 32, "\r\n$%d\r\n", bytes);
        size_t all = (size_t)next + (size_t)bytes + 2;
        shoal__push_t push;

        memset(wire + head, 'x', (size_t)bytes);
        memset(wire + next, 'y', (size_t)bytes);
        memcpy(wire + all - 2, "\r\n", 2);
        for (size_t cut = 0; cut < all; cut += cut < 64 || all - cut < 64 ? 1 : 13)
            assert_int_equal(
                shoal__push_scan((shoal__bytes_t){wire, cut}, true, LIMIT, &push), 0);
        for (int cut = next - 12; cut < next; cut++)
            assert_int_equal(shoal__push_scan((shoal__bytes_t){wire, (size_t)cut}, true,
                                              LIMIT, &push),
                             0);
        assert_int_equal(
            shoal__push_scan((shoal__bytes_t){wire, all}, true, LIMIT, &push), all);
    }
}

static void test_other_forms_are_left_to_the_decoder(void **state)
{
    (void)state;
    static const char *const others[] = {
        "$5\r\nhello\r\n",
        ">2\r\n$7\r\nmessage\r\n$1\r\na\r\n",
        ">3\r\n+message\r\n$1\r\na\r\n$1\r\nb\r\n",
        ">3\r\n$7\r\nmessage\r\n+a\r\n$1\r\nbcdefg\r\n",
        ">3\r\n$7\r\nmessage\r\n$\r\na\r\n$1\r\nbcdefg\r\n",
        ">3\r\n$7\r\nmessage\r\n$-1\r\n$1\r\nbcdefg\r\n",
        ">3\r\n$7\r\nmessage\r\n$0000000001\r\na\r\n$1\r\nb\r\n",
        ">3\r\n$7\r\nmessage\r\n$01\r\na\r\n$1\r\nbcdefg\r\n",
        ">3\r\n$7\r\nmessage\r\n$1x\r\na\r\n$1\r\nbcdefg\r\n",
        ">3\r\n$7\r\nmessage\r\n$1\ra\r\n$1\r\nbcdefghi\r\n",
        ">3\r\n$7\r\nmessage\r\n$1\r\naxx$1\r\nbcdefg\r\n",
        ">3\r\n$7\r\nmessage\r\n$1\r\na\rx$1\r\nbcdefg\r\n",
        ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$99999999999999999999\r\nb\r\n",
    };
    shoal__push_t push;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(
            shoal__push_scan((shoal__bytes_t){others[i], strlen(others[i])}, true,
                             LIMIT, &push),
            0);
}

static void test_trees(void **state)
{
    (void)state;
    static const struct {
        const char *wire, *heard;
        bool is_unasked;
    } rows[] = {
        {">3\r\n+message\r\n+a\r\n+b\r\n", "message 0 a|a|b", false},
        {"*3\r\n+message\r\n+a\r\n+b\r\n", "message 0 a|a|b", true},
        {"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", "confirmed 0 a||", true},
        {">3\r\n$10\r\npsubscribe\r\n$1\r\na\r\n:1\r\n", "confirmed 1 a||", false},
        {">3\r\n$10\r\nssubscribe\r\n$1\r\na\r\n:1\r\n", "confirmed 2 a||", false},
        {">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n", "dropped 0 a||", false},
        {">3\r\n$12\r\npunsubscribe\r\n_\r\n:0\r\n", "dropped 1 ||", false},
        {">3\r\n$12\r\nsunsubscribe\r\n$1\r\na\r\n:1\r\n", "dropped 2 a||", false},
        {"*2\r\n$4\r\npong\r\n$0\r\n\r\n", "other 0 ||", false},
        {"*3\r\n$4\r\npong\r\n$0\r\n\r\n:1\r\n", "other 0 ||", false},
        {">0\r\n", "other 0 ||", false},
        {">1\r\n$7\r\nmessage\r\n", "other 0 ||", false},
        {">2\r\n$7\r\nmessage\r\n$1\r\na\r\n", "other 0 ||", false},
        {">3\r\n$7\r\nmessage\r\n$1\r\na\r\n:1\r\n", "other 0 a|a|", false},
        {">3\r\n$7\r\nmessage\r\n:1\r\n$1\r\na\r\n", "other 0 ||a", false},
        {">4\r\n$8\r\npmessage\r\n$1\r\np\r\n:1\r\n$1\r\na\r\n", "other 1 p||a", false},
        {">3\r\n:1\r\n$1\r\na\r\n$1\r\na\r\n", "other 0 ||", false},
        {">3\r\n*0\r\n$1\r\na\r\n$1\r\na\r\n", "other 0 ||", false},
        {"$7\r\nmessage\r\n", "other 0 ||", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_tree(rows[i].wire, strlen(rows[i].wire));
        assert_string_equal(heard, rows[i].heard);
        assert_int_equal(is_unasked, rows[i].is_unasked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_are_read_where_they_stand),
        cmocka_unit_test(test_what_stands_behind_the_end_is_not_read),
        cmocka_unit_test(test_other_forms_are_left_to_the_decoder),
        cmocka_unit_test(test_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
