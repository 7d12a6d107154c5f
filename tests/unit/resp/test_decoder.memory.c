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
#include <string.h>

/* The memory of a decoder: how much it takes, what keeps it, and that it may run out. */

static void test_memory_grows_with_the_bytes_received(void **state)
{
    (void)state;
    const shoal_allocator_t meter = {meter_malloc, meter_calloc, meter_realloc,
                                     meter_free};

    assert_int_equal(shoal_allocator_set(&meter), 0);
    for (size_t i = 0; i < greedy_cases_count; i++) {
        const struct greedy_case *c = &greedy_cases[i];
        size_t received = strlen(c->head) + c->count * strlen(c->body);

        live_bytes_max = live_bytes;
        open_decoder(&limits);
        feed_many(c->head, c->body, c->count, "", 1000);
        close_decoder();
        assert_int_equal(live_bytes, 0);
        if (live_bytes_max > 16 * received + (1 << 20))
            fail_msg("%s: %zu bytes for %zu", c->name, live_bytes_max, received);
    }
    assert_int_equal(shoal_allocator_set(NULL), 0);
}

static void test_retained_replies_survive(void **state)
{
    (void)state;
    owner.keeps = true;
    for (int i = 0; i < 20; i++)
        assert_int_equal(feed("$5\r\nhello\r\n*2\r\n$1\r\na\r\n%1\r\n+k\r\n,1.5\r\n"),
                         0);
    owner.keeps = false;
    assert_int_equal(
        feed_many("", "*2\r\n+overwritten\r\n+overwritten\r\n", 500, "", 1000), 0);
    assert_int_equal(shoal__decoder_reset(decoder), 0);
    shoal__decoder_rest(decoder);

    for (size_t i = 0; i < owner.kept_count; i++) {
        transcript_clear(&owner.heard);
        shoal__reply_to_sink(owner.kept[i], &transcript_sink, &owner.heard);
        assert_string_equal(owner.heard.text,
                            i % 2 ? "[2 $a %[2 +k ,1.5=1.5 ] ] " : "$hello ");
    }
    assert_int_equal(owner.kept_count, 40);
}

static void test_the_steady_state_does_not_allocate(void **state)
{
    (void)state;
    uint64_t before = 0;

    owner.is_quiet = true;
    for (int round = 0; round < 25000; round++) {
        if (round == 10)
            before = shoal__alloc_count();
        assert_int_equal(feed("+OK\r\n$3\r\nabc\r\n*3\r\n:1\r\n$2\r\nab\r\n*1\r\n_\r\n"
                              "%1\r\n+k\r\n+v\r\n"),
                         0);
    }
    assert_int_equal(owner.replies, 100000);
    assert_int_equal(shoal__alloc_count(), before);
}

static void test_new_survives_every_failed_allocation(void **state)
{
    (void)state;

    for (size_t allowed = 0;; allowed++) {
        shoal__decoder_t *other = NULL;

        shoal__test_fail_alloc_after(allowed);
        int rc = shoal__decoder_new(&other, &limits, &owner_hooks, &owner);
        shoal__test_fail_alloc_never();
        if (rc == 0) {
            shoal__decoder_free(other);
            break;
        }
        assert_int_equal(rc, SHOAL_ENOMEM);
        assert_null(other);
    }
    shoal__decoder_free(NULL);
}

static void test_feeding_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (size_t allowed = 0;; allowed++) {
        owner.keeps = true; /* so that the next reply needs memory of its own */
        assert_int_equal(feed("*1\r\n+a\r\n"), 0);
        owner.keeps = false;

        shoal__test_fail_alloc_after(allowed);
        int rc =
            feed_many("*40000\r\n", "*3\r\n$6\r\nstring\r\n%1\r\n+k\r\n+v\r\n:1\r\n",
                      3000, "", 4096);
        shoal__test_fail_alloc_never();
        if (rc == 0)
            break;
        assert_int_equal(rc, SHOAL_ENOMEM);
        assert_string_equal(shoal__decoder_error(decoder), "out of memory");
        assert_true(shoal__decoder_is_mid_reply(decoder));
        assert_int_equal(feed("+OK\r\n"), SHOAL_ENOMEM);
        assert_int_equal(shoal__decoder_reset(decoder), 0);
        assert_true(allowed < 50);
    }
}

static void test_the_readers_memory_may_run_out(void **state)
{
    (void)state;
    static char large[100000];
    size_t failed_news = 0, failed_feeds = 0, failed_resets = 0;
    bool is_enough = false;
    for (size_t allowed = 0; !is_enough; allowed++) {
        owner = (owner_t){.is_quiet = true};
        allow_hiredis(allowed);
        int rc = shoal__decoder_new(&decoder, &limits, &owner_hooks, &owner);
        if (rc < 0) {
            assert_int_equal(rc, SHOAL_ENOMEM);
            failed_news++;
            continue;
        }
        rc = feed("$100000\r\n");
        for (int half = 0; half < 2 && rc == 0; half++)
            rc = shoal__decoder_feed(decoder, large, sizeof large / 2);
        if (rc < 0) {
            assert_int_equal(rc, SHOAL_ENOMEM);
            assert_string_not_equal(shoal__decoder_error(decoder), "");
            assert_int_equal(feed("\r\n"), SHOAL_ENOMEM); /* it is final */
            failed_feeds++;
        }
        assert_int_equal(owner.replies, 0);
        rc = shoal__decoder_reset(decoder);
        if (rc < 0) {
            assert_int_equal(rc, SHOAL_ENOMEM);
            assert_int_equal(feed("+OK\r\n"), SHOAL_ENOMEM);
            failed_resets++;
        }
        allow_hiredis(SIZE_MAX);
        assert_int_equal(shoal__decoder_reset(decoder), 0);
        assert_int_equal(feed("+OK\r\n"), 0);
        assert_int_equal(owner.replies, 1);
        is_enough = rc == 0;
        shoal__decoder_free(decoder);
    }
    assert_true(failed_news > 0 && failed_feeds > 0 && failed_resets > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        cmocka_unit_test(test_memory_grows_with_the_bytes_received),
        TEST(test_retained_replies_survive),
        TEST(test_the_steady_state_does_not_allocate),
        cmocka_unit_test(test_new_survives_every_failed_allocation),
        TEST(test_feeding_survives_every_failed_allocation),
        cmocka_unit_test_teardown(test_the_readers_memory_may_run_out,
                                  hiredis_tear_down),
    };
    return cmocka_run_group_tests_name("resp/decoder.memory", tests, NULL, NULL);
}
