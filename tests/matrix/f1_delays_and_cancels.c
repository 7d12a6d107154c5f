/* SPDX-License-Identifier: MIT */
/* F1: nothing goes wrong, but everything takes time.  Many callers through a link with
 * random delays; some cancel, some are in a hurry.  (I1 I2 I3 I4)
 *
 * Full size, 10^7 commands, with SHOAL_TEST_SCALE=500. */
#include "fault_proxy/fault_proxy.h"
#include "matrix/load.h"
#include "matrix/matrix.h"

#define COMMANDS 20000
#define ROUND_MAX 200000 /* commands whose records are kept at a time */
#define THREADS 32
#define WINDOW 4096
#define JITTER_US 3000
#define LATE_US_MAX 10000000

static void stop_proxy(void *proxy)
{
    fault_proxy_stop(proxy);
}

/* Blocking callers wait for the link's delays one after the other. */
static size_t commands_of(const matrix_mode_t *mode)
{
    size_t share = mode->caller == MATRIX_BY_BLOCKING ? 10 : 1;
    size_t commands = matrix_scaled(COMMANDS) / share;

    return commands > 0 ? commands : 1;
}

static void f1(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    redis_process_t *redis = matrix_redis(m, NULL);
    const fault_proxy_config_t config = {
        .server_port = matrix_redis_port(m, redis),
        .seed = 1,
        .ways = {{.jitter_us = JITTER_US / 2}, {.jitter_us = JITTER_US / 2}}};
    fault_proxy_t *proxy = fault_proxy_start(&config);
    uint64_t begun_us = waiting_now_us();
    uint64_t in_time = 0;

    assert_non_null(proxy);
    matrix_defer(m, stop_proxy, proxy);
    matrix_to_port(m, fault_proxy_port(proxy));
    m->callers = THREADS;
    m->late_us_max = LATE_US_MAX; /* the callers keep the processors from the loop */
    matrix_open_ready(m);
    for (size_t left = commands_of(mode); left > 0;) {
        size_t commands = left < ROUND_MAX ? left : ROUND_MAX;
        const load_plan_t plan = {.threads = THREADS,
                                  .commands = commands,
                                  .window = WINDOW,
                                  .writes = matrix_scale() > 10 ? 1 : 10,
                                  .cancels = 10,
                                  .hurries = 10,
                                  .hurry_us_max = 5000};
        load_run(m, &plan);
        matrix_check_redis(m, redis_process_port(redis));
        for (uint64_t seq = matrix_count(m) - commands; seq < matrix_count(m); seq++)
            in_time += matrix_at(m, seq)->status == 0;
        matrix_forget(m);
        left -= commands;
    }
    print_message("%s: %llu commands, %llu answered, in %llu ms\n", mode->name,
                  (unsigned long long)m->completed, (unsigned long long)in_time,
                  (unsigned long long)(waiting_now_us() - begun_us) / 1000);
    assert_true(in_time > m->completed / 2); /* it was about replies */
    assert_int_equal(matrix_stats(m).connects, 1);
    matrix_end(m);
}

MATRIX_ROW(1){
    MATRIX_CELLS_EVERYWHERE(f1),
    MATRIX_ROW_END,
};
