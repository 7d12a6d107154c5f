/* SPDX-License-Identifier: MIT */
/* Faults of whole replies: found however they are split, and harmed as a whole. */
#include "fault_proxy/fault_frames.h"
#include "fault_proxy/fault_harm.h"
#include "support/fault/fault_rig.h"
#include "support/waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ALWAYS FAULT_RATE_ALWAYS

/* One of each, and some that contain others. */
static const char *const replies[] = {
    "+OK\r\n",
    "-ERR no $3\r\n",
    ":-42\r\n",
    "$5\r\n*2\r\n+\r\n",
    "$0\r\n\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "*0\r\n",
    "*3\r\n:1\r\n*2\r\n$2\r\n\r\n\r\n+x\r\n$-1\r\n",
    "_\r\n",
    "#t\r\n",
    ",-inf\r\n",
    "(12345678901234567890123\r\n",
    "!6\r\nERR \r\n\r\n",
    "=7\r\ntxt:a\r\n\r\n",
    "%2\r\n+k\r\n*1\r\n_\r\n:1\r\n~0\r\n",
    "~2\r\n#f\r\n%0\r\n",
    ">3\r\n+message\r\n+channel\r\n$1\r\n\n\r\n",
    "|1\r\n+ttl\r\n:10\r\n$2\r\nhi\r\n",
    "*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n:2\r\n",
};
#define REPLIES (sizeof replies / sizeof *replies)

static void test_the_end_of_every_reply_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < REPLIES; i++) {
        size_t bytes = strlen(replies[i]);
        for (size_t split = 1; split <= bytes; split++) {
            fault_frames_t frames = {0};
            bool is_whole = false;
            size_t used = fault_frames_feed(&frames, replies[i], split, &is_whole);
            assert_int_equal(used, split);
            assert_int_equal(is_whole, split == bytes);
            assert_int_equal(fault_frames_is_between(&frames), split == bytes);
            if (split == bytes)
                continue;
            /* Not a byte of what follows is taken. */
            char rest[128];
            size_t rest_bytes = (size_t)snprintf(rest, sizeof rest, "%s%s",
                                                 replies[i] + split, replies[i]);
            used = fault_frames_feed(&frames, rest, rest_bytes, &is_whole);
            assert_true(is_whole);
            assert_int_equal(used, bytes - split);
        }
    }
}

static void test_what_is_no_reply_is_given_up(void **state)
{
    static const char *const lost[] = {
        "hello\r\n",
        "\r\n",
        "$x\r\n",
        "*\r\n",
        "$--1\r\n",
        "$?\r\n",
        "*?\r\n",
        "$1-\r\n",
        "*1\r\nx",
        "*999999999999999999999\r\n",
        "%281474976710655\r\n",
        "|9999999999999999\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        fault_frames_t frames = {0};
        bool is_whole;
        assert_int_equal(
            fault_frames_feed(&frames, lost[i], strlen(lost[i]), &is_whole),
            strlen(lost[i]));
        assert_int_equal(frames.state, FAULT_FRAMES_LOST);
        fault_frames_feed(&frames, "+OK\r\n", 5, &is_whole);
        assert_false(is_whole);
    }
}

/* Feed a stream in pieces of `split` bytes; the text that comes of it. */
static char *harm_stream(const fault_carriage_t *carriage, uint64_t seed,
                         const char *stream, size_t split, uint64_t *ret_harmed)
{
    fault_harm_t harm;
    fake_bytes_t out = {0};
    size_t bytes = strlen(stream);

    fault_harm_init(&harm, seed, true);
    for (size_t at = 0; at < bytes; at += split) {
        size_t part = bytes - at < split ? bytes - at : split;
        fault_harm_apply(&harm, carriage, stream + at, part, &out);
    }
    fault_harm_end(&harm, carriage, &out);
    fake_bytes_add(&out, "", 1);
    *ret_harmed = harm.harmed;
    fault_harm_release(&harm);
    return out.data;
}

static void test_replies_are_harmed_as_a_whole(void **state)
{
    static const struct {
        fault_carriage_t carriage;
        const char *came, *becomes;
        uint64_t harmed;
    } cases[] = {
        {{0}, "+a\r\n$1\r\nb\r\n", "+a\r\n$1\r\nb\r\n", 0},
        {{.drop_rate = ALWAYS}, "+a\r\n$1\r\nb\r\n:3\r\n*1\r\n", "*1\r\n", 3},
        {{.repeat_rate = ALWAYS},
         "+a\r\n$1\r\nb\r\n",
         "+a\r\n+a\r\n$1\r\nb\r\n$1\r\nb\r\n",
         2},
        {{.swap_rate = ALWAYS},
         "+a\r\n+b\r\n+c\r\n+d\r\n",
         "+b\r\n+a\r\n+d\r\n+c\r\n",
         4},
        /* The last one waits for another and is let go at the end. */
        {{.swap_rate = ALWAYS},
         "+a\r\n$1\r\nb\r\n+c\r\n",
         "$1\r\nb\r\n+a\r\n+c\r\n",
         2},
        {{.drop_rate = ALWAYS, .repeat_rate = ALWAYS}, "+a\r\n+b\r\n", "", 2},
        /* What is no RESP is carried as it is, with what was withheld before it. */
        {{.swap_rate = ALWAYS},
         "+a\r\n*2\r\n+b\r\noops\r\n",
         "+a\r\n*2\r\n+b\r\noops\r\n",
         0},
        {{.drop_rate = ALWAYS}, "+a\r\nplain text", "plain text", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t split = 1; split <= strlen(cases[i].came); split++) {
            uint64_t harmed;
            char *text =
                harm_stream(&cases[i].carriage, 1, cases[i].came, split, &harmed);
            assert_string_equal(text, cases[i].becomes);
            assert_int_equal(harmed, cases[i].harmed);
            free(text);
        }
    }
}

/* Numbered replies, one behind the other. */
static char *number_replies(int count)
{
    fake_bytes_t text = {0};
    char line[32];

    for (int i = 0; i < count; i++) {
        snprintf(line, sizeof line, "+reply %d\r\n", i);
        fake_bytes_text(&text, line);
    }
    fake_bytes_add(&text, "", 1);
    return text.data;
}

/* A made-up reply before each, which is one by itself. */
static void test_extra_replies(void **state)
{
    static const fault_carriage_t carriage = {.extra_rate = ALWAYS};
    char *came = number_replies(40);
    uint64_t harmed;

    (void)state;
    char *text = harm_stream(&carriage, 3, came, 5, &harmed);
    assert_int_equal(harmed, 40);
    fault_frames_t frames = {0};
    size_t at = 0, kinds = 0;
    bool is_whole;
    for (int i = 0; i < 80; i++) {
        size_t used =
            fault_frames_feed(&frames, text + at, strlen(text + at), &is_whole);
        assert_true(is_whole);
        char own[32];
        snprintf(own, sizeof own, "+reply %d\r\n", i / 2);
        assert_int_equal(strncmp(text + at, own, strlen(own)) == 0, i % 2);
        kinds |= i % 2 ? 0 : (size_t)1 << (text[at] - '!');
        at += used;
    }
    assert_int_equal(at, strlen(text));
    assert_true(__builtin_popcountll(kinds) >= 4); /* types differ */
    free(came);
    free(text);
}

static void test_the_same_seed_harms_the_same_replies(void **state)
{
    static const fault_carriage_t carriage = {.drop_rate = 200000,
                                              .repeat_rate = 200000,
                                              .swap_rate = 200000,
                                              .extra_rate = 200000,
                                              .flip_rate = 10000};
    char *came = number_replies(200);
    uint64_t first, second;

    (void)state;
    char *one = harm_stream(&carriage, 5, came, 1, &first);
    char *two = harm_stream(&carriage, 5, came, 37, &second);
    assert_string_equal(one, two);
    assert_int_equal(first, second);
    assert_true(first > 50);
    free(two);
    two = harm_stream(&carriage, 6, came, 1, &second);
    assert_string_not_equal(one, two);
    free(one);
    free(two);
    free(came);
}

/* A fault that is asked for and does not strike changes nothing about the others. */
static void test_one_fault_does_not_shift_another(void **state)
{
    static const fault_carriage_t flip = {.flip_rate = 10000},
                                  flip_and_rarely_drop = {.flip_rate = 10000,
                                                          .drop_rate = 1};
    char *came = number_replies(200);
    uint64_t first, second;

    (void)state;
    char *one = harm_stream(&flip, 5, came, 11, &first);
    char *two = harm_stream(&flip_and_rarely_drop, 5, came, 11, &second);
    assert_true(first > 5);
    assert_int_equal(first, second);
    assert_string_equal(one, two);
    free(one);
    free(two);
    free(came);
}

/* On sockets: what is withheld is let go when the fault ends, and a reply that had begun
 * before a fault was asked for is none of its business. */
static void test_replies_on_sockets(void **state)
{
    static const fault_carriage_t plain = {0}, swap = {.swap_rate = ALWAYS},
                                  drop = {.drop_rate = ALWAYS};
    fault_rig_t *rig = *state;

    fault_rig_start(rig, &(fault_proxy_config_t){.is_unix = true});
    fault_rig_connect(rig);
    fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &swap);
    fault_proxy_carry(rig->proxy, FAULT_TO_SERVER, &swap);
    fault_rig_send_text(rig->server, "+one\r\n+two\r\n+three\r\n$5\r\nfo");
    fault_rig_expect_text(rig->client, "+two\r\n+one\r\n");
    fault_rig_send_text(rig->client, "+one\r\n+two\r\n");
    fault_rig_expect_text(rig->server, "+one\r\n+two\r\n"); /* no replies this way */
    WAIT_FOR(fault_rig_is_read(rig->server));
    assert_false(fault_rig_has_come(rig->client));
    fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &plain);
    fault_rig_expect_text(rig->client, "+three\r\n$5\r\nfo");

    fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &drop);
    fault_rig_send_text(rig->server, "ur!\r\n+five\r\n+six\r\n");
    fault_rig_expect_text(rig->client, "ur!\r\n");
    WAIT_FOR(fault_proxy_counts(rig->proxy).harmed == 2 + 2);
    fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &plain);
    fault_rig_send_text(rig->server, "+seven\r\n");
    fault_rig_expect_text(rig->client, "+seven\r\n");

    /* The same for one that was carried without a look at replies. */
    fault_rig_send_text(rig->server, "$8\r\nhalf");
    fault_rig_expect_text(rig->client, "$8\r\nhalf");
    fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &drop);
    fault_rig_send_text(rig->server, "\r\n+1\r\n+dropped\r\n");
    fault_rig_expect_text(rig->client, "\r\n+1\r\n");
    WAIT_FOR(fault_rig_is_read(rig->server));

    /* Nor is anything kept back that the server's end cut short. */
    fault_proxy_carry(rig->proxy, FAULT_TO_CLIENT, &swap);
    fault_rig_send_text(rig->server, "+eight\r\n*2\r\n+ni");
    shutdown(rig->server, SHUT_WR);
    fault_rig_expect_text(rig->client, "+eight\r\n*2\r\n+ni");
    assert_int_equal(fault_rig_sight(rig->client), FAULT_SIGHT_FIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_end_of_every_reply_is_found),
        cmocka_unit_test(test_what_is_no_reply_is_given_up),
        cmocka_unit_test(test_replies_are_harmed_as_a_whole),
        cmocka_unit_test(test_extra_replies),
        cmocka_unit_test(test_the_same_seed_harms_the_same_replies),
        cmocka_unit_test(test_one_fault_does_not_shift_another),
        FAULT_RIG_TEST(test_replies_on_sockets),
    };
    return cmocka_run_group_tests_name("fault/proxy_frames", tests, NULL, NULL);
}
