/* SPDX-License-Identifier: MIT */
/* F4: the server is killed outright and started again, under load.  It keeps what it
 * acknowledged in an append-only file, so that its ledger outlives it.  (I1 I2 I3 I4 I7)
 *
 * Full size, a thousand times, with SHOAL_TEST_SCALE=250. */
#include "cluster_nodes/cluster_nodes.h"
#include "matrix/load.h"
#include "matrix/matrix.h"
#include "support/process_state.h"

#include <string.h>

#define RESTARTS 4
#define RESTARTS_PER_ROUND 100 /* whose records are kept at a time */
#define THREADS 4
#define BETWEEN_US 50000
#define RECOVERY_US_MAX 1000000

static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "no",
                                      NULL};

typedef struct strike {
    redis_process_t *redis;
    bool is_node;   /* of a cluster */
    unsigned count; /* so far */
    bool is_up;
    _Atomic uint64_t listening_us; /* since when it answers; 0: it does not yet */
} strike_t;

/* A server that reads its file again answers, but not to the purpose; nor does a node that
 * takes the cluster for down, as it does at first. */
static bool is_of_use(const strike_t *strike)
{
    int port = redis_process_port(strike->redis);
    char answer[64] = "";

    return redis_ask(port, "PING", answer, sizeof answer) &&
           strcmp(answer, "+PONG") == 0 &&
           (!strike->is_node || cluster_node_is_calm(port));
}

static void strike(void *data)
{
    strike_t *strike = data;

    if (strike->count++ % 2) /* what was executed last keeps its answers to itself */
        (void)redis_ask(redis_process_port(strike->redis),
                        "CLIENT KILL TYPE normal SKIPME yes", NULL, 0);
    redis_process_kill(strike->redis);
    strike->is_up = redis_process_restart(strike->redis);
    for (unsigned i = 0; strike->is_up && i < 20000 && !is_of_use(strike); i++)
        waiting_sleep_us(500);
    strike->listening_us = waiting_now_us();
}

/* One restart.  Returns how long it took, since the server answered again, until a
 * command that was submitted then had its reply. */
static uint64_t restart(load_t *load, matrix_t *m, load_agent_t *agent, strike_t *job)
{
    uint64_t begun_us = waiting_now_us(), ready = m->events.ready;
    uint64_t pause_us = BETWEEN_US + (matrix_scale() > 10 ? 3 * BETWEEN_US : 0);

    LOAD_UNTIL(load, waiting_now_us() - begun_us > pause_us);
    job->listening_us = 0;
    load_agent_begin(agent, strike, job);
    LOAD_UNTIL(load, job->listening_us && load_agent_is_idle(agent));
    const matrix_command_t *first = matrix_submit(m, &(matrix_spec_t){0});
    LOAD_UNTIL(load, first->is_done && m->events.ready > ready);
    if (first->status != 0 || first->completed_us <= job->listening_us)
        return 0;
    assert_true(
        matrix_is_prompt(m, job->listening_us, first->completed_us, RECOVERY_US_MAX));
    return first->completed_us - job->listening_us;
}

/* Rejected by a server that was just starting. */
static size_t count_rejected(matrix_t *m, uint64_t since, size_t fates[4])
{
    size_t rejected = 0;

    for (uint64_t seq = since; seq < matrix_count(m); seq++) {
        const matrix_command_t *command = matrix_at(m, seq);
        rejected += command->is_error;
        fates[command->fate]++;
    }
    return rejected;
}

static void f4(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    load_agent_t *agent = load_agent_new(m);
    strike_t job = {.redis = matrix_redis(m, durable), .is_node = mode->is_cluster};
    const load_plan_t plan = {.threads = THREADS,
                              .window = 400,
                              .per_ms = 40,
                              .writes = matrix_scale() > 10 ? 2 : 30, /* a short file */
                              .hurries = 10,
                              .hurry_us_max = 20000};
    size_t restarts = matrix_scaled(RESTARTS), rejected = 0, fates[4] = {0};
    uint64_t recovery_us_max = 0, since = 0;

    matrix_to_redis(m, job.redis);
    assert_int_equal(shoal_options_set_backoff_us(m->options, 1000, 20000), 0);
    if (matrix_scale() > 10) /* minutes on a machine that others use as well */
        m->late_us_max = RECOVERY_US_MAX;
    matrix_open_ready(m);
    size_t descriptors = process_descriptors(), threads = process_threads();
    for (size_t done = 0; done < restarts;) {
        load_t *load = load_start(m, &plan);
        for (size_t i = 0; i < RESTARTS_PER_ROUND && done < restarts; i++, done++) {
            uint64_t recovery_us = restart(load, m, agent, &job);
            if (recovery_us > recovery_us_max)
                recovery_us_max = recovery_us;
        }
        load_stop(load);
        assert_true(job.is_up);
        matrix_check_redis(m, redis_process_port(job.redis));
        rejected += count_rejected(m, since, fates);
        since = matrix_count(m);
        matrix_forget(m);
    }
    matrix_expect_works(m);
    if (mode->caller != MATRIX_BY_BLOCKING) /* whose threads come with the first call */
        MATRIX_WAIT_FOR(m, process_threads() == threads); /* O7 */
    MATRIX_WAIT_FOR(m, process_descriptors() == descriptors);
    print_message(
        "%s: %zu restarts; %zu replied (%zu with an error), %zu not executed, "
        "%zu unknown, %zu with a lost reply; recovery %llu us at most\n",
        mode->name, restarts, fates[SHOAL_FATE_REPLIED], rejected,
        fates[SHOAL_FATE_NOT_EXECUTED], fates[SHOAL_FATE_UNKNOWN],
        fates[SHOAL_FATE_REPLY_LOST], (unsigned long long)recovery_us_max);
    assert_true(fates[SHOAL_FATE_REPLIED] > 0);
    matrix_end(m);
}

MATRIX_ROW(4){
    MATRIX_CELLS_EVERYWHERE(f4),
    MATRIX_ROW_END,
};
