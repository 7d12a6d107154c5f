/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "resp/decoder.h"
#include "unit/resp/decoder_cases.h"
#include "unit/resp/decoder_owner.h"
#include "unit/resp/scarce_hiredis.h"
#include "unit/resp/transcript.h"
#include <shoal/alloc.h>
#include <shoal/errors.h>

/* The decoder of an idle connection: its memory goes, and comes again. */

static const shoal__decoder_target_t targets[] = {
    {.sink = NULL}, {.sink = &transcript_sink, .sink_data = &owner.heard}};

/* Between frames memory goes and comes again; inside of one nothing is lost.  Attributes
 * and pushes are frames as well. */
static void test_rests_however_it_is_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < streams_count; i++) {
        const stream_t *s = &streams[i];
        for (size_t split = 0; split <= s->wire_bytes; split++) {
            owner.target = targets[split % 2];
            transcript_clear(&owner.heard);
            assert_int_equal(feed_piece(s->wire, split), 0);
            shoal__decoder_rest(decoder);
            shoal__decoder_rest(decoder);
            assert_int_equal(feed_piece(s->wire + split, s->wire_bytes - split), 0);
            if (strcmp(owner.heard.text, s->heard) != 0)
                fail_msg("%s, rest after %zu: %s", s->name, split, owner.heard.text);
        }
    }

    static const char wire[] = ">2\r\n+x\r\n$3\r\nabc\r\n|1\r\n+a\r\n+b\r\n+OK\r\n";
    for (size_t split = 0; split < sizeof wire; split++) {
        transcript_clear(&owner.heard);
        owner.target = targets[0];
        assert_int_equal(feed_piece(wire, split), 0);
        shoal__decoder_rest(decoder);
        assert_int_equal(feed_piece(wire + split, sizeof wire - 1 - split), 0);
        assert_string_equal(owner.heard.text, "PUSH >[2 +x $abc ] | +OK | ");
    }
}

/* What a subscriber asks before it reads past the decoder. */
static void test_where_a_frame_begins(void **state)
{
    (void)state;
    transcript_clear(&owner.heard);
    owner.target = targets[0];
    assert_true(shoal__decoder_is_at_rest(decoder));
    assert_int_equal(feed("+OK\r\n$5\r\nhe"), 0);
    assert_false(shoal__decoder_is_at_rest(decoder));
    assert_int_equal(shoal__decoder_missing(decoder), 5);
    assert_int_equal(feed("llo\r\n"), 0);
    assert_true(shoal__decoder_is_at_rest(decoder));
    assert_int_equal(shoal__decoder_missing(decoder), 0);
    shoal__decoder_rest(decoder);
    assert_true(shoal__decoder_is_at_rest(decoder));
    assert_int_equal(feed("$70000\r\nhe"), 0); /* large: it goes past the reader */
    assert_false(shoal__decoder_is_at_rest(decoder));
    assert_int_equal(shoal__decoder_reset(decoder), 0);
    assert_true(shoal__decoder_is_at_rest(decoder));
}

/* Less memory is held at rest than a reader has, and as little however often it rests. */
static void test_rest_gives_memory_back(void **state)
{
    (void)state;
    const shoal_allocator_t meter = {meter_malloc, meter_calloc, meter_realloc,
                                     meter_free};
    size_t resting_bytes = 0;

    assert_int_equal(shoal_allocator_set(&meter), 0);
    allow_hiredis(SIZE_MAX);
    open_decoder(&limits);
    for (int i = 0; i < 3; i++) {
        allow_hiredis(SIZE_MAX);
        assert_int_equal(feed_many("*1000\r\n", "$1\r\nx\r\n", 1000, "", 4096), 0);
        size_t awake_bytes = live_bytes;
        shoal__decoder_rest(decoder);
        assert_true(live_bytes < awake_bytes);
        assert_true(i == 0 || live_bytes == resting_bytes);
        resting_bytes = live_bytes;
        allow_hiredis(0); /* the reader is gone: the next bytes need another */
        assert_int_equal(feed("+OK\r\n"), SHOAL_ENOMEM);
        allow_hiredis(SIZE_MAX);
        assert_int_equal(shoal__decoder_reset(decoder), 0);
    }
    close_decoder();
    assert_int_equal(live_bytes, 0);
    assert_int_equal(shoal_allocator_set(NULL), 0);
}

static void test_memory_runs_out_when_it_wakes(void **state)
{
    (void)state;
    static const char wire[] = "*2\r\n+a\r\n$1\r\nb\r\n";
    size_t failed = 0;

    for (size_t allowed = 0;; allowed++) {
        shoal__decoder_rest(decoder);
        transcript_clear(&owner.heard);
        shoal__test_fail_alloc_after(allowed % 10);
        allow_hiredis(allowed / 10);
        int rc = feed(wire);
        shoal__test_fail_alloc_never();
        allow_hiredis(SIZE_MAX);
        if (rc == 0 && allowed % 10 == 9) /* plenty of both */
            break;
        if (rc == 0)
            continue;
        failed++;
        assert_int_equal(rc, SHOAL_ENOMEM);
        assert_string_not_equal(shoal__decoder_error(decoder), "");
        assert_string_equal(owner.heard.text, "");
        shoal__decoder_discard_current(decoder);
        shoal__decoder_rest(decoder);                    /* the error is final ... */
        assert_int_equal(feed("+OK\r\n"), SHOAL_ENOMEM); /* ... also at rest */
        assert_string_equal(owner.heard.text, "");
        assert_int_equal(shoal__decoder_reset(decoder), 0);
    }
    assert_string_equal(owner.heard.text, "[2 +a $b ] | ");
    assert_true(failed > 20);
}

static void test_what_a_rest_does_not_end(void **state)
{
    (void)state;
    assert_int_equal(feed("*2\r\n*2\r\n+a\r\n"), 0);
    shoal__decoder_rest(decoder);
    assert_true(shoal__decoder_is_mid_reply(decoder));
    shoal__decoder_discard_current(decoder);
    assert_int_equal(feed("+b\r\n+c\r\n"), 0);
    assert_string_equal(owner.heard.text, "_ | ");

    /* At rest there is no reply to be inside of. */
    shoal__decoder_rest(decoder);
    assert_false(shoal__decoder_is_mid_reply(decoder));
    shoal__decoder_discard_current(decoder);
    assert_int_equal(feed("+d\r\n"), 0);
    assert_string_equal(owner.heard.text, "_ | +d | ");

    /* Another connection may begin. */
    shoal__decoder_rest(decoder);
    assert_int_equal(shoal__decoder_reset(decoder), 0);
    owner.stop_at = owner.replies + 1;
    assert_int_equal(feed("+e\r\n"), 0);
    shoal__decoder_rest(decoder);
    assert_int_equal(feed("+f\r\n"), 0); /* the owner stopped: that holds */
    assert_string_equal(owner.heard.text, "_ | +d | +e | ");

    assert_int_equal(shoal__decoder_reset(decoder), 0);
    assert_int_equal(feed("junk"), SHOAL_EDESYNC);
    shoal__decoder_rest(decoder);
    assert_string_not_equal(shoal__decoder_error(decoder), "");
    assert_int_equal(feed("+g\r\n"), SHOAL_EDESYNC);
    shoal__decoder_rest(decoder); /* and it is freed so */
}

static int starved_tear_down(void **state)
{
    tear_down(state);
    return hiredis_tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rests_however_it_is_split, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_where_a_frame_begins, set_up, tear_down),
        cmocka_unit_test_teardown(test_rest_gives_memory_back, hiredis_tear_down),
        cmocka_unit_test_setup_teardown(test_memory_runs_out_when_it_wakes, set_up,
                                        starved_tear_down),
        cmocka_unit_test_setup_teardown(test_what_a_rest_does_not_end, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("resp/decoder.rest", tests, NULL, NULL);
}
