/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pubsub/receipts.h"

#include <sys/socket.h>
#include <unistd.h>

/* What the unit asks of the run. */
static int errors;

void run_note_error(run_t *run, const char *text, size_t bytes)
{
    (void)run;
    (void)text;
    (void)bytes;
    errors++;
}

void run_reach(run_t *run, _Atomic uint64_t *limit)
{
    (void)run;
    (void)limit;
}

static options_t options;
static histogram_t latency;
static run_t run;
static int credits[2];

static void prepare(receipts_t *receipts, uint64_t rate)
{
    errors = 0;
    options = (options_t){.rate = rate};
    histogram_clear(&latency);
    run = (run_t){.options = &options, .latency = &latency, .ops_limit = UINT64_MAX};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, credits), 0);
    receipts_init(receipts, &run, credits[0]);
}

static size_t credits_told(void)
{
    char bytes[4096];
    ssize_t count = recv(credits[1], bytes, sizeof bytes, MSG_DONTWAIT);
    return count < 0 ? 0 : (size_t)count;
}

static void finish(void)
{
    close(credits[0]);
    close(credits[1]);
}

static void note(receipts_t *receipts, uint32_t number)
{
    char payload[MESSAGE_HEAD_BYTES];

    message_write(payload, number, clock_ns());
    receipts_note(receipts, payload, sizeof payload);
}

static void test_what_is_written_is_read(void **state)
{
    static const uint32_t numbers[] = {0, 1, 9, 10, 0x1234abcd, 0x89abcdef, UINT32_MAX};
    char payload[MESSAGE_HEAD_BYTES + 1] = "";

    (void)state;
    message_write(payload, 0x12ab, 0xfeULL * 1000);
    assert_string_equal(payload, "000012ab000000fe");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        message_write(payload, numbers[i], (uint64_t)numbers[i] * 1000);
        assert_int_equal(message_number(payload), numbers[i]);
        assert_int_equal(message_age_ns(payload, ((uint64_t)numbers[i] + 7) * 1000),
                         7000);
    }
}

static void test_skipped_numbers_are_lost_and_former_ones_are_errors(void **state)
{
    receipts_t receipts;

    (void)state;
    prepare(&receipts, 1000);
    note(&receipts, 0);
    note(&receipts, 1);
    assert_int_equal(receipts.lost, 0);
    note(&receipts, 5);
    assert_int_equal(receipts.lost, 3);
    assert_int_equal(errors, 0);
    note(&receipts, 5);
    assert_int_equal(errors, 1);
    note(&receipts, 6);
    receipts_note(&receipts, "short", 5);
    assert_int_equal(errors, 2);
    assert_int_equal(run.ops, 5);
    finish();
}

static void test_the_publisher_is_told_once_for_1024_messages(void **state)
{
    receipts_t receipts;

    (void)state;
    prepare(&receipts, 1000);
    for (uint32_t i = 0; i < MESSAGE_CREDIT - 1; i++)
        note(&receipts, i);
    assert_int_equal(credits_told(), 0);
    note(&receipts, MESSAGE_CREDIT - 1);
    assert_int_equal(credits_told(), 1);
    note(&receipts, 2 * MESSAGE_CREDIT - 2);
    assert_int_equal(credits_told(), 0);
    note(&receipts, 100 * MESSAGE_CREDIT - 1); /* what was lost is under way no more */
    assert_int_equal(credits_told(), 99);
    note(&receipts, 101 * MESSAGE_CREDIT - 1);
    assert_int_equal(credits_told(), 1);
    finish();
}

static void test_one_in_64_is_timed_or_one_in_8_at_a_rate(void **state)
{
    receipts_t receipts;

    (void)state;
    prepare(&receipts, 0);
    run.phase = RUN_MEASURING;
    for (uint32_t i = 0; i < 128; i++)
        note(&receipts, i);
    assert_int_equal(histogram_total(&latency), 2); /* one in 64 */
    finish();
    prepare(&receipts, 1000);
    note(&receipts, 0); /* warm-up */
    run.phase = RUN_MEASURING;
    for (uint32_t i = 1; i < 17; i++)
        note(&receipts, i);
    assert_int_equal(histogram_total(&latency), 2);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_skipped_numbers_are_lost_and_former_ones_are_errors),
        cmocka_unit_test(test_the_publisher_is_told_once_for_1024_messages),
        cmocka_unit_test(test_one_in_64_is_timed_or_one_in_8_at_a_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
