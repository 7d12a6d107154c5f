/* SPDX-License-Identifier: MIT */
/* A server that stands still while commands keep coming: each completes at its deadline,
 * memory stays within the bounds, and afterwards all is well.  (I5 I6; F5)
 *
 * The bound of lateness is a promise, given a processor to run on.  So it is counted in
 * the naps of a thread that only sleeps, and so is the load: support/sleeper.h.
 *
 * Full size, 200 000 commands a second, which want a processor of their own, with a
 * SHOAL_TEST_SCALE above 1. */
#include "support/live.h"
#include "support/process_state.h"
#include "support/redis_process.h"
#include "support/sleeper.h"
#include "support/tag.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMANDS_PER_MS_FULL 200
#define COMMANDS_PER_MS 40
#define STILL_US 3000000
#define TIMEOUT_US 1000000
#define LATE_US_MAX 50000
#define LATE_US_MAX_SANITIZED 500000
#define QUEUED_MAX 400000
#define BYTES_MAX 67108864
#define RESIDENT_MAX 134217728 /* most growth in bytes: BYTES_MAX and the bookkeeping */

typedef struct shot {
    struct gallery *gallery;
    uint64_t submitted_us, completed_us;
    _Atomic unsigned calls;
} shot_t;

typedef struct gallery {
    shoal_client_t *client;
    shot_t *shots;
    size_t room, count;
    uint64_t refused;
    size_t old;       /* as many, the first ones, are no younger than the timeout */
    size_t unbounded; /* looks at more than the bounds allow */
    bool is_covered;  /* a look found all that are younger, and there were some */
    /* The loop thread writes these. */
    _Atomic size_t completed;
    uint64_t timeouts, replies, others, not_executed;
} gallery_t;

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shot_t *shot = data;
    gallery_t *gallery = shot->gallery;
    (void)client;

    shot->calls++;
    shot->completed_us = waiting_now_us();
    if (shoal_result_status(result) == 0)
        gallery->replies++;
    else if (shoal_result_status(result) == SHOAL_ETIMEOUT)
        gallery->timeouts++;
    else
        gallery->others++;
    gallery->not_executed += shoal_result_fate(result) == SHOAL_FATE_NOT_EXECUTED;
    gallery->completed++;
}

static size_t commands_per_ms(void)
{
    const char *scale = getenv("SHOAL_TEST_SCALE");
    return scale && strtod(scale, NULL) > 1.0 ? COMMANDS_PER_MS_FULL : COMMANDS_PER_MS;
}

/* How many commands are younger than the timeout.  The server answers none, so they are
 * all outstanding. */
static size_t young_shots(gallery_t *gallery, uint64_t now_us)
{
    while (gallery->old < gallery->count &&
           gallery->shots[gallery->old].submitted_us + TIMEOUT_US <= now_us)
        gallery->old++;
    return gallery->count - gallery->old;
}

/* The figures cover them as soon as the loop has taken all over: a look at any one time may
 * come before that, or so late that none is young. */
static void look_at_figures(gallery_t *gallery)
{
    shoal_stats_t stats = live_stats(gallery->client);
    size_t young = young_shots(gallery, waiting_now_us());

    gallery->unbounded += stats.queued_now > QUEUED_MAX || stats.bytes_now > BYTES_MAX;
    if (young > 0 && stats.queued_now + stats.inflight_now >= young)
        gallery->is_covered = true;
}

/* Submit a burst for each millisecond of the sleeper's clock, and wait for no
 * result. */
static void shoot(gallery_t *gallery, uint64_t for_us)
{
    const char *const argv[] = {"INCR", "stopped"};
    uint64_t begun_us = waiting_now_us(), now_us;

    while ((now_us = waiting_now_us()) - begun_us < for_us) {
        size_t due =
            (size_t)(sleeper_us(begun_us, now_us) / 1000 + 1) * commands_per_ms();
        for (; gallery->count + gallery->refused < due &&
               gallery->count < gallery->room;) {
            shot_t *shot = &gallery->shots[gallery->count];
            *shot = (shot_t){.gallery = gallery, .submitted_us = waiting_now_us()};
            if (shoal_client_submit(gallery->client, 2, argv, NULL, on_result, shot,
                                    NULL) == 0)
                gallery->count++;
            else
                gallery->refused++;
        }
        waiting_sleep_us(500);
        look_at_figures(gallery);
    }
}

static shoal_client_t *open_client(int port)
{
    shoal_options_t *options = live_options_of_port(port);

    assert_int_equal(shoal_options_set_timeout_us(options, TIMEOUT_US), 0);
    assert_int_equal(shoal_options_set_stall_timeout_us(options, 20000000), 0);
    assert_int_equal(
        shoal_options_set_outstanding_max(options, QUEUED_MAX, 16384, BYTES_MAX), 0);
    return live_open(options);
}

static void check_echoes(shoal_client_t *client)
{
    const shoal_call_t patient = {.size = sizeof patient, .timeout_us = WAITING_US_MAX};

    for (uint64_t seq = 0; seq < 1000; seq++) {
        shoal_result_t *result = NULL;
        char text[TAG_ROOM];
        size_t bytes = 0;

        (void)tag_make((tag_t){3, 0, seq}, text);
        const shoal_command_t echo_it = {2, (const char *const[]){"ECHO", text}, NULL};
        assert_int_equal(shoal_client_call_with(client, &echo_it, &patient, &result),
                         0);
        if (shoal_result_status(result) != 0)
            fail_msg("echo %d: %s", (int)seq, shoal_result_detail(result));
        const char *echo = shoal_reply_string(shoal_result_reply(result), &bytes);
        assert_true(tag_matches((tag_t){3, 0, seq}, echo, bytes));
        shoal_result_release(result);
    }
}

/* Each command completed at its deadline.  Returns the lateness of the latest one. */
static uint64_t check_shots(const gallery_t *gallery)
{
    uint64_t allowed_us = process_is_sanitized() ? LATE_US_MAX_SANITIZED : LATE_US_MAX;
    uint64_t late_us_max = 0;

    for (size_t i = 0; i < gallery->count; i++) {
        const shot_t *shot = &gallery->shots[i];
        uint64_t due_us = shot->submitted_us + TIMEOUT_US;
        assert_int_equal(shot->calls, 1);
        assert_true(shot->completed_us >= due_us);
        if (shot->completed_us - due_us > late_us_max)
            late_us_max = shot->completed_us - due_us;
        if (!sleeper_is_prompt(due_us, shot->completed_us,
                               allowed_us + 2 * sleeper_late_us_max()))
            fail_msg("%llu us late, of which %llu count",
                     (unsigned long long)(shot->completed_us - due_us),
                     (unsigned long long)sleeper_us(due_us, shot->completed_us));
    }
    return late_us_max;
}

static void check_gallery(const gallery_t *gallery)
{
    print_message(
        "%zu commands, %llu refused: %llu timed out (%llu not executed), %llu "
        "answered, %llu other; at most %llu us late, a "
        "sleeper %llu\n",
        gallery->count, (unsigned long long)gallery->refused,
        (unsigned long long)gallery->timeouts,
        (unsigned long long)gallery->not_executed, (unsigned long long)gallery->replies,
        (unsigned long long)gallery->others, (unsigned long long)check_shots(gallery),
        (unsigned long long)sleeper_late_us_max());
    assert_int_equal(gallery->replies + gallery->others, 0);
}

/* A command with the fate "not executed" never runs: the counter counts others only. */
static void check_ledger(const gallery_t *gallery, int port)
{
    char answer[32] = "";
    assert_true(redis_ask(port, "GET stopped", answer, sizeof answer));
    uint64_t value = answer[0] == '$' ? 0 : strtoull(answer, NULL, 10);
    assert_true(value <= gallery->count - gallery->not_executed);
}

static void test_a_server_that_stands_still(void **state)
{
    gallery_t gallery = {.room = STILL_US / 1000 * COMMANDS_PER_MS_FULL + 1000};
    (void)state;

    redis_process_t *redis = redis_process_start(NULL);
    if (!redis)
        skip();
    gallery.client = open_client(redis_process_port(redis));
    gallery.shots = calloc(gallery.room, sizeof *gallery.shots);
    memset(gallery.shots, 1,
           gallery.room * sizeof *gallery.shots); /* make it resident */
    check_echoes(gallery.client);
    size_t resident = process_resident_bytes();

    sleeper_start();
    redis_process_pause(redis);
    shoot(&gallery, STILL_US);
    size_t grown = process_resident_bytes() - resident;
    for (uint64_t since_us = waiting_now_us();
         gallery.completed < gallery.count &&
         waiting_now_us() - since_us < WAITING_US_MAX;)
        waiting_sleep_us(1000);
    sleeper_stop();
    redis_process_resume(redis);

    assert_int_equal(gallery.completed, gallery.count);
    assert_int_equal(gallery.unbounded, 0);
    assert_true(gallery.is_covered);
    if (!process_is_sanitized())
        assert_true(grown <= RESIDENT_MAX);
    check_echoes(gallery.client);
    shoal_stats_t stats = live_stats(gallery.client);
    assert_int_equal(stats.connects, 1); /* the connection was not lost */
    WAIT_FOR(live_stats(gallery.client).queued_now == 0);
    WAIT_FOR(live_stats(gallery.client).inflight_now == 0);
    WAIT_FOR(live_stats(gallery.client).bytes_now == 0);
    check_gallery(&gallery);
    check_ledger(&gallery, redis_process_port(redis));
    assert_int_equal(shoal_client_close_and_wait(gallery.client, 0), 0);
    shoal_client_release(gallery.client);
    redis_process_stop(redis);
    free(gallery.shots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_that_stands_still),
    };
    return cmocka_run_group_tests_name("integration/stopped_server", tests, NULL, NULL);
}
