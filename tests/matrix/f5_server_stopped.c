/* SPDX-License-Identifier: MIT */
/* F5: the server is stopped and later continued.  Commands end at their deadlines,
 * memory stays within the bounds, and the late replies go to nobody.  (I5 I6 I1)
 *
 * Full size, 200 000 commands a second, is integration/stopped_server with a
 * SHOAL_TEST_SCALE above 1. */
#include "matrix/load.h"
#include "matrix/matrix.h"
#include "support/process_state.h"

#define STILL_US 300000
#define STILL_US_MAX 30000000
#define TIMEOUT_US 100000
#define PER_MS 20
#define BURST_TIMEOUT_US 1000000
#define QUEUED_MAX 800 /* both are soon reached */
#define INFLIGHT_MAX 200
#define BYTES_MAX 1048576
#define RECORD_BYTES_MAX 512 /* of bookkeeping for one command */

static uint64_t still_us(void)
{
    uint64_t wanted_us = matrix_scaled(STILL_US);
    return wanted_us < STILL_US_MAX ? wanted_us : STILL_US_MAX;
}

typedef struct census {
    size_t timeouts, unanswered;
} census_t;

static census_t count(matrix_t *m, uint64_t first)
{
    census_t census = {0};

    for (uint64_t seq = first; seq < matrix_count(m); seq++) {
        const matrix_command_t *command = matrix_at(m, seq);
        census.timeouts += command->rc == 0 && command->status == SHOAL_ETIMEOUT;
        census.unanswered += command->rc == 0 && command->status != 0;
    }
    return census;
}

/* More at once than there is room for, which none of them makes soon. */
static void submit_burst(matrix_t *m)
{
    const matrix_spec_t read = {.timeout_us = BURST_TIMEOUT_US};

    (void)matrix_submit_many(m, &read, QUEUED_MAX + INFLIGHT_MAX + 1);
    assert_true(m->refused > 0);
}

static void check_still(matrix_t *m, const load_plan_t *plan, redis_process_t *redis)
{
    uint64_t first = matrix_count(m);

    redis_process_pause(redis);
    load_t *load = load_start(m, plan);
    uint64_t begun_us = waiting_now_us();
    LOAD_UNTIL(load, waiting_now_us() - begun_us > still_us() / 2);
    shoal_stats_t stats = matrix_stats(m);
    LOAD_UNTIL(load, waiting_now_us() - begun_us > still_us());
    if (m->mode->caller != MATRIX_BY_BLOCKING)
        submit_burst(m);
    load_stop(load); /* all have timed out: it is still standing */
    redis_process_resume(redis);
    census_t census = count(m, first);
    print_message("%s: %zu timed out of %llu, at most %zu bytes held\n", m->mode->name,
                  census.timeouts, (unsigned long long)(matrix_count(m) - first),
                  matrix_memory_peak());
    assert_true(census.timeouts > 0);
    assert_int_equal(census.timeouts, census.unanswered);
    assert_true(stats.queued_now <= QUEUED_MAX);
    assert_true(stats.bytes_now <= BYTES_MAX);
    assert_true(matrix_memory_peak() <=
                (BYTES_MAX + (QUEUED_MAX + INFLIGHT_MAX) * RECORD_BYTES_MAX) / 4 * 5);
}

static void f5(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    redis_process_t *redis = matrix_redis(m, NULL);
    const load_plan_t plan = {.threads = 4,
                              .window = 100000,
                              .per_ms = PER_MS,
                              .writes = 20,
                              .timeout_us = TIMEOUT_US};

    matrix_to_redis(m, redis);
    assert_int_equal(shoal_options_set_outstanding_max(m->options, QUEUED_MAX,
                                                       INFLIGHT_MAX, BYTES_MAX),
                     0);
    if (process_is_sanitized())
        m->late_us_max = 500000;
    matrix_open_ready(m);
    check_still(m, &plan, redis);
    MATRIX_WAIT_FOR(m, matrix_stats(m).inflight_now == 0); /* the zombies are gone */
    matrix_check_redis(m, redis_process_port(redis));
    matrix_expect_works(m);
    MATRIX_WAIT_FOR(m,
                    matrix_stats(m).queued_now == 0 && matrix_stats(m).bytes_now == 0);
    assert_true(matrix_stats(m).zombies_dropped > 0);
    assert_int_equal(matrix_stats(m).connects, 1); /* nobody hung up */
    matrix_end(m);
}

MATRIX_ROW(5){
    MATRIX_CELLS_EVERYWHERE(f5),
    MATRIX_ROW_END,
};
