/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "resp/decoder.h"
#include "unit/resp/decoder_owner.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

/* Top-level strings that are large, as the decoder finds them in a stream. */

#define LARGE_BYTES 70000
/* Around a large string: an attribute, pushes, and others that go through the reader. */
#define BEFORE "+first\r\n|1\r\n+a\r\n+b\r\n>1\r\n+push\r\n"
#define BEHIND ">1\r\n+push\r\n-ERR no\r\n$-1\r\n"

static char wire[2 * LARGE_BYTES + 1000];
static size_t wire_bytes;

static void put(const char *text)
{
    size_t bytes = strlen(text);

    memcpy(wire + wire_bytes, text, bytes);
    wire_bytes += bytes;
}

/* $<bytes>, of letters. */
static void put_string(size_t bytes)
{
    char header[32];

    snprintf(header, sizeof header, "$%zu\r\n", bytes);
    put(header);
    for (size_t i = 0; i < bytes; i++)
        wire[wire_bytes++] = (char)('a' + i % 23);
    put("\r\n");
}

/* What the chunks are: right, and in order. */
static size_t expected_bytes, got_bytes;

static void on_string(uint64_t bytes, void *data)
{
    transcript_print(data, "string %llu ", (unsigned long long)bytes);
    expected_bytes = (size_t)bytes;
    got_bytes = 0;
}

static void on_chunk(const char *chunk, size_t bytes, void *data)
{
    (void)data;
    assert_in_range(bytes, 1, expected_bytes - got_bytes);
    for (size_t i = 0; i < bytes; i++, got_bytes++)
        if (chunk[i] != (char)('a' + got_bytes % 23))
            fail_msg("byte %zu", got_bytes);
}

static void on_end(void *data)
{
    assert_int_equal(got_bytes, expected_bytes);
    transcript_print(data, "end ");
}

static void on_reset(void *data)
{
    transcript_print(data, "reset ");
}

static const shoal_chunk_sink_t chunks = {on_string, on_chunk, on_end, on_reset};

static void take_chunks(void)
{
    owner.target = (shoal__decoder_target_t){
        .sink = &transcript_sink, .chunks = &chunks, .sink_data = &owner.heard};
}

static int feed_pieces(size_t first_bytes, size_t piece_bytes)
{
    int rc = feed_piece(wire, first_bytes);

    for (size_t at = first_bytes; at < wire_bytes; at += piece_bytes) {
        size_t left = wire_bytes - at;
        rc = feed_piece(wire + at, left < piece_bytes ? left : piece_bytes);
    }
    return rc;
}

static void check_heard(const char *heard)
{
    if (strcmp(owner.heard.text, heard) != 0)
        fail_msg("%.300s\nexpected: %.300s", owner.heard.text, heard);
    transcript_clear(&owner.heard);
}

/* ---- where it goes ---- */

#define HEARD(large)                                                                   \
    "+first | PUSH >[1 +push ] | " large "| PUSH >[1 +push ] | -ERR no | _ | "

static void put_stream(void)
{
    wire_bytes = 0;
    put(BEFORE);
    put_string(LARGE_BYTES);
    put(BEHIND);
}

static void check_stream(size_t first_bytes, size_t piece_bytes)
{
    assert_int_equal(feed_pieces(first_bytes, piece_bytes), 0);
    assert_false(shoal__decoder_is_mid_reply(decoder));
    check_heard(HEARD("string 70000 end "));
}

static void test_chunks_however_they_are_split(void **state)
{
    size_t header = strlen(BEFORE) + strlen("$70000\r\n");

    (void)state;
    put_stream();
    take_chunks();
    for (size_t split = 0; split <= header + 2; split++)
        check_stream(split, WHOLE);
    for (size_t left = 0; left <= strlen(BEHIND) + 4; left++)
        check_stream(wire_bytes - left, WHOLE);
    check_stream(0, 1);
    check_stream(0, 1000);
    check_stream(0, 4096);
    check_stream(0, 65536);
}

/* The text of the last reply that was kept. */
static void check_kept(size_t bytes)
{
    size_t kept_bytes;
    const char *text =
        shoal_reply_string(owner.kept[owner.kept_count - 1], &kept_bytes);

    assert_int_equal(kept_bytes, bytes);
    assert_memory_equal(text, strchr(strchr(wire, '$'), '\n') + 1, bytes);
    assert_int_equal(text[bytes], '\0');
}

static void test_trees_however_they_are_split(void **state)
{
    static const size_t pieces[] = {WHOLE, 65536, 4097, 1000, 1};

    (void)state;
    wire_bytes = 0;
    put_string(LARGE_BYTES);
    owner.is_quiet = owner.keeps = true;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (size_t first = 0; first < 12; first++) {
            assert_int_equal(feed_pieces(first, pieces[i]), 0);
            assert_int_equal(owner.kept_count, 1);
            check_kept(LARGE_BYTES);
            shoal_reply_release(owner.kept[--owner.kept_count]);
        }
}

static void test_a_string_of_65536_bytes_is_not_large(void **state)
{
    (void)state;
    for (size_t bytes = SHOAL_LARGE_STRING_BYTES; bytes <= SHOAL_LARGE_STRING_BYTES + 1;
         bytes++) {
        wire_bytes = 0;
        put_string(bytes);
        take_chunks();
        owner.is_quiet = true;
        for (size_t first = 0; first < 12; first++) {
            assert_int_equal(feed_pieces(first, 20000), 0);
            check_heard(bytes > SHOAL_LARGE_STRING_BYTES ? "string 65537 end " : "");
        }
    }
}

static void test_a_large_string_in_an_array_is_a_leaf(void **state)
{
    (void)state;
    wire_bytes = 0;
    put("*1\r\n");
    put_string(LARGE_BYTES);
    owner.keeps = owner.is_quiet = true;
    owner.target = (shoal__decoder_target_t){.chunks = &chunks};
    assert_int_equal(feed_pieces(0, WHOLE), 0);
    assert_int_equal(shoal_reply_count(owner.kept[0]), 1);
    assert_string_equal(owner.heard.text, "");
}

static void test_it_is_read_into_the_room(void **state)
{
    size_t bytes = 0, rest;

    (void)state;
    wire_bytes = 0;
    put_string(LARGE_BYTES);
    owner.is_quiet = owner.keeps = true;
    assert_null(shoal__decoder_room(decoder, &bytes));
    assert_int_equal(feed_piece(wire, 10000), 0);
    char *room = shoal__decoder_room(decoder, &bytes);
    rest = wire_bytes - 10000;
    assert_non_null(room);
    assert_int_equal(bytes, rest);
    memcpy(room, wire + 10000, rest);
    assert_int_equal(shoal__decoder_feed(decoder, room, rest), 0);
    check_kept(LARGE_BYTES);
    assert_null(shoal__decoder_room(decoder, &bytes));
}

/* ---- what is refused ---- */

static void check_refused(const char *error, const char *heard)
{
    size_t bytes;

    assert_true(shoal__decoder_is_mid_reply(decoder));
    assert_string_equal(shoal__decoder_error(decoder), error);
    assert_null(shoal__decoder_room(decoder, &bytes));
    assert_int_equal(feed("+more\r\n"), SHOAL_EDESYNC); /* it is final */
    assert_int_equal(shoal__decoder_reset(decoder), 0);
    assert_false(shoal__decoder_is_mid_reply(decoder));
    assert_int_equal(feed("+OK\r\n"), 0);
    check_heard(heard);
}

static void test_a_line_end_must_follow(void **state)
{
    static const size_t pieces[] = {WHOLE, 4096, 1};

    (void)state;
    put_stream();
    wire[strlen(BEFORE) + strlen("$70000\r\n") + LARGE_BYTES + 1] = 'x';
    for (size_t i = 0; i < 2 * sizeof pieces / sizeof *pieces; i++) {
        owner.target = (shoal__decoder_target_t){.sink = NULL};
        if (i % 2)
            take_chunks();
        assert_int_equal(feed_pieces(0, pieces[i / 2]), SHOAL_EDESYNC);
        check_refused("a string does not end where it should",
                      i % 2 ? "+first | PUSH >[1 +push ] | string 70000 reset +OK | "
                            : "+first | PUSH >[1 +push ] | +OK | ");
    }
}

/* The limit counts every byte of the frame, as for other replies. */
static void test_the_limit_of_bytes(void **state)
{
    shoal__decoder_limits_t tight = limits;
    size_t begins;

    (void)state;
    wire_bytes = 0;
    put_string(LARGE_BYTES);
    for (int over = 0; over < 2; over++) {
        close_decoder();
        tight.bytes_max = wire_bytes - (size_t)over;
        open_decoder(&tight);
        take_chunks();
        begins = owner.begins;
        for (size_t piece = 1; piece <= 4096; piece += 4095) {
            assert_int_equal(feed_pieces(0, piece), over ? SHOAL_EDESYNC : 0);
            assert_int_equal(shoal__decoder_is_over_limit(decoder), over);
            if (over)
                check_refused("a reply has too many bytes", "+OK | ");
            else
                check_heard("string 70000 end | ");
        }
        assert_int_equal(owner.begins - begins, 2); /* +OK, or both strings */
    }
}

/* ---- given up in the middle ---- */

static void test_discarded(void **state)
{
    (void)state;
    put_stream();
    for (int i = 0; i < 2; i++) {
        owner.target = (shoal__decoder_target_t){.sink = NULL};
        if (i)
            take_chunks();
        assert_int_equal(feed_piece(wire, 50000), 0);
        assert_true(shoal__decoder_is_mid_reply(decoder));
        shoal__decoder_discard_current(decoder);
        owner.target = (shoal__decoder_target_t){.sink = NULL};
        assert_int_equal(feed_piece(wire + 50000, wire_bytes - 50000), 0);
        check_heard(i ? HEARD("string 70000 reset _ ") : HEARD("_ "));
    }
}

static void test_reset(void **state)
{
    (void)state;
    put_stream();
    take_chunks();
    assert_int_equal(feed_piece(wire, 50000), 0);
    assert_int_equal(shoal__decoder_reset(decoder), 0);
    assert_false(shoal__decoder_is_mid_reply(decoder));
    check_heard("+first | PUSH >[1 +push ] | string 70000 reset ");
    check_stream(0, WHOLE);
}

static void test_no_rest_in_the_middle(void **state)
{
    (void)state;
    put_stream();
    take_chunks();
    assert_int_equal(feed_piece(wire, 50000), 0);
    shoal__decoder_rest(decoder);
    assert_int_equal(feed_piece(wire + 50000, wire_bytes - 50000), 0);
    check_heard(HEARD("string 70000 end "));
}

static void test_the_owner_may_stop_behind_it(void **state)
{
    (void)state;
    put_stream();
    take_chunks();
    owner.stop_at = 3;
    assert_int_equal(feed_pieces(0, 4096), 0);
    check_heard("+first | PUSH >[1 +push ] | string 70000 end | ");
}

/* ---- memory ---- */

static void test_the_memory_may_run_out(void **state)
{
    (void)state;
    wire_bytes = 0;
    put_string(LARGE_BYTES);
    for (size_t allowed = 0;; allowed++) {
        owner.is_quiet = owner.keeps = true; /* the next one needs its own arena */
        assert_int_equal(feed("*1\r\n+a\r\n"), 0);
        owner.keeps = false;
        shoal__test_fail_alloc_after(allowed);
        int rc = feed_pieces(0, WHOLE);
        shoal__test_fail_alloc_never();
        if (rc == 0)
            break;
        assert_int_equal(rc, SHOAL_ENOMEM);
        assert_string_equal(shoal__decoder_error(decoder), "out of memory");
        assert_true(shoal__decoder_is_mid_reply(decoder));
        assert_int_equal(shoal__decoder_reset(decoder), 0);
        assert_true(allowed < 10);
    }
}

/* Later, when more has come than the length was believed for. */
static void test_the_memory_may_run_out_later(void **state)
{
    static char zeros[300000];

    (void)state;
    assert_int_equal(feed("$100000000\r\n"), 0);
    shoal__test_fail_alloc_after(0);
    int rc = shoal__decoder_feed(decoder, zeros, sizeof zeros);
    shoal__test_fail_alloc_never();
    assert_int_equal(rc, SHOAL_ENOMEM);
    assert_true(shoal__decoder_is_mid_reply(decoder));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_chunks_however_they_are_split),
        TEST(test_trees_however_they_are_split),
        TEST(test_a_string_of_65536_bytes_is_not_large),
        TEST(test_a_large_string_in_an_array_is_a_leaf),
        TEST(test_it_is_read_into_the_room),
        TEST(test_a_line_end_must_follow),
        TEST(test_the_limit_of_bytes),
        TEST(test_discarded),
        TEST(test_reset),
        TEST(test_no_rest_in_the_middle),
        TEST(test_the_owner_may_stop_behind_it),
        TEST(test_the_memory_may_run_out),
        TEST(test_the_memory_may_run_out_later),
    };
    return cmocka_run_group_tests_name("resp/decoder.large", tests, NULL, NULL);
}
