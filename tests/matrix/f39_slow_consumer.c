/* SPDX-License-Identifier: MIT */
/* F39: a slow consumer: a callback that sleeps, or a caller that does.  Other clients
 * do not notice.  Commands that this client gets meanwhile are bounded in number, and
 * each of them is answered afterwards, or ends at its deadline.  (I2 I6)
 *
 * Full size, 10 s, with SHOAL_TEST_SCALE=50. */
#include "matrix/load.h"
#include "matrix/matrix.h"

#include <string.h>

#define NAP_US 200000
#define NAP_US_MAX 10000000
#define QUEUED_MAX 500
#define INFLIGHT_MAX 100
#define BYTES_MAX 65536
#define NEIGHBOUR_CALLS 20

typedef struct nap {
    _Atomic bool is_begun, may_end, is_over;
} nap_t;

static uint64_t nap_us(void)
{
    size_t wanted_us = matrix_scaled(NAP_US);
    return wanted_us < NAP_US_MAX ? wanted_us : NAP_US_MAX;
}

/* Runs where the result is taken: the callback, or the thread of the caller.  However slow
 * the machine is, the others are done before it wakes; unless they wait for it. */
static bool sleep_over(const shoal_reply_t *value, void *data)
{
    nap_t *nap = data;

    nap->is_begun = true;
    waiting_sleep_us(nap_us());
    for (uint64_t since_us = waiting_now_us();
         !nap->may_end && waiting_now_us() - since_us < WAITING_US_MAX / 2;)
        waiting_sleep_us(200);
    nap->is_over = true;
    return shoal_reply_type(value) == SHOAL_REPLY_STRING;
}

/* What others do meanwhile, on the agent's thread. */
typedef struct meanwhile {
    nap_t *nap;
    shoal_client_t *sleeper, *neighbour;
    bool must_refuse; /* the sleeper's queue is to be filled */
    _Atomic uint64_t accepted, completed, refused, calls;
    shoal_stats_t stats; /* of the sleeper, while it slept */
    bool was_asleep;     /* to the end */
} meanwhile_t;

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    meanwhile_t *meanwhile = data;
    (void)client;
    (void)result;
    meanwhile->completed++;
}

static bool calls_back(shoal_client_t *client)
{
    shoal_result_t *result = NULL;
    bool is_answered =
        shoal_client_callf(client, &result, "ECHO %s", "neighbour") == 0 &&
        shoal_result_status(result) == 0;
    shoal_result_release(result);
    return is_answered;
}

static void fill(meanwhile_t *meanwhile)
{
    static const char *const argv[] = {"ECHO", "more"};

    for (int i = 0; i < 4 * QUEUED_MAX; i++) {
        if (shoal_client_submit(meanwhile->sleeper, 2, argv, NULL, on_result, meanwhile,
                                NULL) == 0)
            meanwhile->accepted++;
        else
            meanwhile->refused++;
    }
}

static void live_on(void *data)
{
    meanwhile_t *meanwhile = data;

    while (!meanwhile->nap->is_begun)
        waiting_sleep_us(100);
    if (meanwhile->must_refuse)
        fill(meanwhile);
    for (int i = 0; i < NEIGHBOUR_CALLS; i++)
        meanwhile->calls += calls_back(meanwhile->neighbour);
    meanwhile->stats.size = sizeof meanwhile->stats;
    (void)shoal_stats_get(meanwhile->sleeper, &meanwhile->stats);
    meanwhile->was_asleep = !meanwhile->nap->is_over;
    meanwhile->nap->may_end = true;
}

static void close_neighbour(void *client)
{
    (void)shoal_client_close_and_wait(client, 0);
    shoal_client_release(client);
}

static shoal_client_t *open_neighbour(matrix_t *m)
{
    shoal_client_t *client = NULL;

    assert_int_equal(shoal_options_set_on_event(m->options, NULL, NULL), 0);
    assert_int_equal(shoal_client_open(m->options, &client, NULL), 0);
    matrix_defer(m, close_neighbour, client);
    return client;
}

static void check(const matrix_t *m, const meanwhile_t *meanwhile)
{
    const shoal_stats_t *stats = &meanwhile->stats;

    print_message("%s: %llu accepted and %llu refused meanwhile, a neighbour had %llu "
                  "answers\n",
                  m->mode->name, (unsigned long long)meanwhile->accepted,
                  (unsigned long long)meanwhile->refused,
                  (unsigned long long)meanwhile->calls);
    assert_int_equal(meanwhile->calls, NEIGHBOUR_CALLS);
    assert_true(meanwhile->was_asleep);
    assert_int_equal(meanwhile->accepted, meanwhile->completed);
    assert_true(meanwhile->refused > 0 || !meanwhile->must_refuse);
    assert_true(stats->queued_now <= QUEUED_MAX);
    assert_true(stats->bytes_now <= BYTES_MAX);
    assert_true(matrix_memory_peak() < 64 * BYTES_MAX); /* of two clients */
}

static void f39(const matrix_mode_t *mode)
{
    static const char *const argv[] = {"ECHO", "tired"};
    static nap_t nap;
    static meanwhile_t meanwhile; /* they outlive a test that fails */
    matrix_t *m = matrix_begin(mode);
    redis_process_t *redis = matrix_redis(m, NULL);

    memset(&nap, 0, sizeof nap);
    memset(&meanwhile, 0, sizeof meanwhile);
    matrix_to_redis(m, redis);
    assert_int_equal(shoal_options_set_outstanding_max(m->options, QUEUED_MAX,
                                                       INFLIGHT_MAX, BYTES_MAX),
                     0);
    matrix_open_ready(m);
    meanwhile.nap = &nap;
    meanwhile.sleeper = m->client;
    meanwhile.neighbour = open_neighbour(m);
    /* A caller that sleeps holds up no other caller, not even on its own client. */
    meanwhile.must_refuse = mode->caller != MATRIX_BY_BLOCKING;
    load_agent_t *agent = load_agent_new(m);
    load_agent_begin(agent, live_on, &meanwhile);
    const matrix_spec_t tired = {.kind = MATRIX_OTHER,
                                 .command = {2, argv, NULL},
                                 .is_right = sleep_over,
                                 .data = &nap};
    matrix_command_t *command = matrix_submit(m, &tired);
    uint64_t first = matrix_submit_many(m, &(matrix_spec_t){.kind = MATRIX_WRITE}, 5);
    MATRIX_WAIT_FOR(m, load_agent_is_idle(agent));
    matrix_await(m, command);
    MATRIX_WAIT_FOR(m, meanwhile.completed == meanwhile.accepted);
    matrix_wait(m);
    for (uint64_t seq = first; seq < matrix_count(m); seq++)
        if (matrix_at(m, seq)->rc != SHOAL_EFULL) /* the agent was quicker */
            matrix_expect_value(m, matrix_at(m, seq));
    check(m, &meanwhile);
    matrix_expect_works(m);
    matrix_check_redis(m, redis_process_port(redis));
    assert_int_equal(matrix_stats(m).connects, 1);
    matrix_end(m);
}

MATRIX_ROW(39){
    MATRIX_CELLS_EVERYWHERE(f39),
    MATRIX_ROW_END,
};
