/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp/decoder.h"
#include "unit/resp/decoder_cases.h"
#include "unit/resp/decoder_owner.h"
#include "unit/resp/transcript.h"
#include <shoal/errors.h>
#include <string.h>

/* What the owner hears of a tree it writes down itself, of a sink the sink does. */
static const shoal__decoder_target_t targets[] = {
    {.sink = NULL}, {.sink = &transcript_sink, .sink_data = &owner.heard}};

static void check_stream(const stream_t *s, size_t first_bytes, size_t piece_bytes)
{
    for (size_t i = 0; i < 2; i++) {
        transcript_clear(&owner.heard);
        owner.target = targets[i];
        assert_int_equal(feed_piece(s->wire, first_bytes), 0);
        for (size_t at = first_bytes; at < s->wire_bytes; at += piece_bytes) {
            size_t left = s->wire_bytes - at;
            assert_int_equal(
                feed_piece(s->wire + at, left < piece_bytes ? left : piece_bytes), 0);
        }
        if (strcmp(owner.heard.text, s->heard) != 0)
            fail_msg("%s, %zu then %zu, %s: %s", s->name, first_bytes, piece_bytes,
                     i ? "sink" : "tree", owner.heard.text);
        assert_false(shoal__decoder_is_mid_reply(decoder));
    }
}

static void test_every_type_however_it_is_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < streams_count; i++) {
        for (size_t split = 0; split <= streams[i].wire_bytes; split++)
            check_stream(&streams[i], split, WHOLE);
        check_stream(&streams[i], 0, 1);
    }
    assert_string_equal(shoal__decoder_error(decoder), "");
}

static void test_pushes_between_replies(void **state)
{
    (void)state;
    static const stream_t s = {
        "pushes",
        WIRE(">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n+OK\r\n>1\r\n+x\r\n>0\r\n:1\r\n"),
        ""};

    for (size_t split = 0; split <= s.wire_bytes; split++) {
        size_t begins = owner.begins;
        transcript_clear(&owner.heard);
        owner.target = targets[1]; /* replies; pushes are trees all the same */
        assert_int_equal(feed_piece(s.wire, split), 0);
        assert_int_equal(feed_piece(s.wire + split, s.wire_bytes - split), 0);
        assert_string_equal(owner.heard.text, "PUSH >[2 +invalidate [1 $k ] ] | +OK | "
                                              "PUSH >[1 +x ] | PUSH >[0 ] | :1 | ");
        assert_int_equal(owner.begins - begins, 2);
    }
}

static void test_attributes_are_skipped(void **state)
{
    (void)state;
    assert_int_equal(feed("|1\r\n+a\r\n+b\r\n|0\r\n+OK\r\n|1\r\n+a\r\n"), 0);
    assert_string_equal(owner.heard.text, "+OK | ");
    assert_int_equal(owner.begins, 1);
    assert_false(shoal__decoder_is_mid_reply(decoder));
}

static void check_refused(const struct refused_case *c, size_t first_bytes,
                          size_t piece_bytes)
{
    open_decoder(&limits);
    int rc = feed_piece(c->wire, first_bytes);
    for (size_t at = first_bytes; at < c->wire_bytes; at += piece_bytes) {
        size_t left = c->wire_bytes - at;
        rc = feed_piece(c->wire + at, left < piece_bytes ? left : piece_bytes);
    }
    if (rc != SHOAL_EDESYNC || strcmp(owner.heard.text, c->heard) != 0 ||
        shoal__decoder_is_mid_reply(decoder) != c->is_mid_reply)
        fail_msg("%s, %zu then %zu: %d, %s", c->name, first_bytes, piece_bytes, rc,
                 owner.heard.text);
    assert_string_not_equal(shoal__decoder_error(decoder), "");
    assert_int_equal(feed("+more\r\n"), SHOAL_EDESYNC); /* it is final */
    assert_string_equal(owner.heard.text, c->heard);
    close_decoder();
}

static void test_what_is_no_resp_is_refused_however_it_is_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < refused_cases_count; i++) {
        for (size_t split = 0; split <= refused_cases[i].wire_bytes; split++)
            check_refused(&refused_cases[i], split, WHOLE);
        check_refused(&refused_cases[i], 0, 1);
    }
}

static const size_t pieces[] = {WHOLE, 65536, 4097, 1000, 1};

#define FOR_EACH_PIECE(i) for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)

/* Text may be as long as a reply (a script's status or error); numbers may not. */
static void test_only_text_makes_long_lines(void **state)
{
    (void)state;
    static const char *const heads[] = {"+", "-", "(", "*1\r\n+"};
    static const char *const endless[] = {"$", "*", ":", ",", "=", "_"};
    static const char *const endless_text[] = {"+", "-", "(", "+\r", "+\n"};
    shoal__decoder_limits_t few_bytes = limits;

    few_bytes.bytes_max = 70000;

    FOR_EACH_PIECE(p)
    {
        for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
            open_decoder(&limits);
            assert_int_equal(feed_many(heads[i], "1", 65536, "\r\n", pieces[p]), 0);
            assert_int_equal(owner.replies, 1);
            assert_int_equal(feed_many(heads[i], "1", 200000, "\r\n", pieces[p]), 0);
            assert_int_equal(owner.replies, 2);
            close_decoder();
        }
        for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
            open_decoder(&limits);
            assert_int_equal(feed_many(endless[i], "1", 65538, "", pieces[p]),
                             SHOAL_EDESYNC);
            close_decoder();
        }
        for (size_t i = 0; i < sizeof endless_text / sizeof *endless_text; i++) {
            open_decoder(&few_bytes);
            assert_int_equal(feed_many(endless_text[i], endless_text[i][1] ? "\r" : "1",
                                       70001, "", pieces[p]),
                             SHOAL_EDESYNC);
            close_decoder();
        }
    }
}

static void test_long_strings_arrive_whole(void **state)
{
    (void)state;
    FOR_EACH_PIECE(p)
    {
        open_decoder(&limits);
        owner.keeps = true;
        assert_int_equal(
            feed_many("$300000\r\n", "0123456789", 30000, "\r\n", pieces[p]), 0);
        assert_int_equal(feed_many("*2\r\n$300000\r\n", "0123456789", 30000,
                                   "\r\n:7\r\n", pieces[p]),
                         0);
        assert_int_equal(owner.kept_count, 2);
        const shoal_reply_t *strings[] = {owner.kept[0],
                                          shoal_reply_at(owner.kept[1], 0)};
        for (int i = 0; i < 2; i++) {
            size_t bytes;
            const char *text = shoal_reply_string(strings[i], &bytes);
            assert_int_equal(bytes, 300000);
            assert_memory_equal(text + 299980, "01234567890123456789", 20);
        }
        close_decoder();
    }
}

static void check_limit(const shoal__decoder_limits_t *with, const char *wire, int rc)
{
    for (size_t piece = 1; piece <= strlen(wire); piece++) {
        open_decoder(with);
        int got = feed_many("+OK\r\n", wire, 1, "+END\r\n", piece);
        if (got != rc || owner.replies != (rc < 0 ? 1 : 3))
            fail_msg("%s in pieces of %zu: %d, %zu replies", wire, piece, got,
                     owner.replies);
        close_decoder();
    }
}

static void test_limits_hold_to_the_last_one(void **state)
{
    (void)state;
    static const shoal__decoder_limits_t small = {
        .bytes_max = 30, .elements_max = 4, .depth_max = 2};

    check_limit(&small, "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", 0);
    check_limit(&small, "*5\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n", SHOAL_EDESYNC);
    check_limit(&small, "%2\r\n:1\r\n:2\r\n:3\r\n:4\r\n", 0);
    check_limit(&small, "%3\r\n:1\r\n:2\r\n:3\r\n:4\r\n", SHOAL_EDESYNC);
    check_limit(&small, "*2\r\n*1\r\n:1\r\n*0\r\n", 0);
    check_limit(&small, "*1\r\n*1\r\n*0\r\n", SHOAL_EDESYNC);
    check_limit(&small, "$23\r\n12345678901234567890123\r\n", 0);
    check_limit(&small, "$24\r\n123456789012345678901234\r\n", SHOAL_EDESYNC);
    check_limit(&small, "+123456789012345678901234567\r\n", 0);
    check_limit(&small, "+1234567890123456789012345678\r\n", SHOAL_EDESYNC);
    check_limit(&small, "*2\r\n+12345678901\r\n+123456789\r\n", 0);
    check_limit(&small, "*2\r\n+12345678901\r\n+1234567890\r\n", SHOAL_EDESYNC);
    check_limit(&small, "*2\r\n+1\r\n$16\r\n1234567890123456\r\n", SHOAL_EDESYNC);
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    assert_int_equal(feed_many("", "*1\r\n", 1024, "+x\r\n", 1000), 0);
    assert_int_equal(owner.replies, 1);
    assert_int_equal(feed_many("", "*1\r\n", 1025, "+x\r\n", 1000), SHOAL_EDESYNC);
}

static void test_half_a_reply_is_known_as_such(void **state)
{
    (void)state;
    static const char *const begun[] = {"$",      "+",        "+O",
                                        "*1\r\n", "$3\r\nab", "%1\r\n+k"};
    static const char *const not_begun[] = {"", "+OK\r\n", ">", ">1\r\n+x", "|1\r\n+a"};

    for (size_t i = 0; i < sizeof begun / sizeof *begun; i++) {
        assert_int_equal(feed(begun[i]), 0);
        assert_true(shoal__decoder_is_mid_reply(decoder));
        assert_int_equal(shoal__decoder_reset(decoder), 0);
        assert_false(shoal__decoder_is_mid_reply(decoder));
    }
    for (size_t i = 0; i < sizeof not_begun / sizeof *not_begun; i++) {
        assert_int_equal(feed(not_begun[i]), 0);
        assert_false(shoal__decoder_is_mid_reply(decoder));
        assert_int_equal(shoal__decoder_reset(decoder), 0);
    }
}

static void test_what_is_given_up_goes_to_nowhere(void **state)
{
    (void)state;
    static const char wire[] = "*3\r\n$1\r\na\r\n*1\r\n:1\r\n:2\r\n";

    for (size_t split = 0; split < sizeof wire; split++) {
        for (size_t i = 0; i < 2; i++) {
            bool is_cut = split > 0 && split < sizeof wire - 1;
            transcript_clear(&owner.heard);
            owner.target = targets[i];
            assert_int_equal(feed_piece(wire, split), 0);
            shoal__decoder_discard_current(decoder);
            bool was_told = owner.heard.bytes > 0 && is_cut;
            bool told_so = strstr(owner.heard.text, "RESET ") != NULL;
            assert_int_equal(told_so, was_told);
            transcript_clear(&owner.heard);
            assert_int_equal(feed_piece(wire + split, sizeof wire - 1 - split), 0);
            if (is_cut)
                assert_string_equal(owner.heard.text, "_ | ");
            transcript_clear(&owner.heard);
            assert_int_equal(feed(wire), 0); /* the next one is not */
            assert_string_equal(owner.heard.text, "[3 $a [1 :1 ] :2 ] | ");
        }
    }

    owner.target = (shoal__decoder_target_t){.discard = true};
    transcript_clear(&owner.heard);
    assert_int_equal(feed(wire), 0);
    assert_int_equal(feed("+OK\r\n>1\r\n+x\r\n"), 0);
    assert_string_equal(owner.heard.text, "_ | _ | PUSH >[1 +x ] | ");
}

static void test_nothing_survives_a_reset(void **state)
{
    (void)state;
    static const char *const before[] = {"",
                                         "+O",
                                         "$5\r\nhe",
                                         "$5",
                                         "*2\r\n+a\r\n",
                                         "+OK\r\n$",
                                         "garbage",
                                         "*1\r\n>1\r\n",
                                         "$100000\r\nx",
                                         "|1\r\n+a\r\n",
                                         "*2\r\n*2\r\n+a\r\n"};

    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        for (size_t k = 0; k < 2; k++) {
            owner.target = targets[k];
            transcript_clear(&owner.heard);
            (void)feed(before[i]);
            bool is_open = k == 1 && strchr(owner.heard.text, '[') != NULL;
            transcript_clear(&owner.heard);
            assert_int_equal(shoal__decoder_reset(decoder), 0);
            assert_string_equal(owner.heard.text, is_open ? "RESET " : "");
            assert_string_equal(shoal__decoder_error(decoder), "");
            transcript_clear(&owner.heard);
            assert_int_equal(feed("*1\r\n+b\r\n:1\r\n"), 0);
            assert_string_equal(owner.heard.text, "[1 +b ] | :1 | ");
        }
}

static void test_the_owner_may_stop(void **state)
{
    (void)state;
    static const char *const wires[] = {
        "+1\r\n+2\r\n+3\r\n+4\r\n", "+1\r\n*1\r\n+2\r\n+3\r\n*", "+1\r\n>0\r\n+3\r\n"};

    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++) {
        owner.replies = 0;
        owner.stop_at = 2;
        assert_int_equal(feed(wires[i]), 0);
        assert_int_equal(owner.replies, 2);
        assert_int_equal(feed("+5\r\n"), 0);
        assert_int_equal(owner.replies, 2);
        assert_false(shoal__decoder_is_mid_reply(decoder));

        assert_int_equal(shoal__decoder_reset(decoder), 0);
        assert_int_equal(feed("+6\r\n"), 0);
        assert_int_equal(owner.replies, 3);
    }
}

static void test_counts_have_31_bits_whatever_the_limit(void **state)
{
    (void)state;
    static const shoal__decoder_limits_t none = {
        .bytes_max = SIZE_MAX, .elements_max = SIZE_MAX, .depth_max = 1024};

    for (size_t piece = 1; piece <= 13; piece += 12) {
        open_decoder(&none);
        assert_int_equal(feed_many("*2147483647\r\n", "", 0, "", piece), 0);
        assert_true(shoal__decoder_is_mid_reply(decoder));
        assert_int_equal(shoal__decoder_reset(decoder), 0);
        assert_int_equal(feed_many("*2147483648\r\n", "", 0, "", piece), SHOAL_EDESYNC);
        close_decoder();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_every_type_however_it_is_split),
        TEST(test_pushes_between_replies),
        TEST(test_attributes_are_skipped),
        cmocka_unit_test(test_what_is_no_resp_is_refused_however_it_is_split),
        cmocka_unit_test(test_only_text_makes_long_lines),
        cmocka_unit_test(test_long_strings_arrive_whole),
        cmocka_unit_test(test_limits_hold_to_the_last_one),
        TEST(test_depth_is_bounded),
        TEST(test_half_a_reply_is_known_as_such),
        TEST(test_what_is_given_up_goes_to_nowhere),
        TEST(test_nothing_survives_a_reset),
        TEST(test_the_owner_may_stop),
        cmocka_unit_test(test_counts_have_31_bits_whatever_the_limit),
    };
    return cmocka_run_group_tests_name("resp/decoder", tests, NULL, NULL);
}
