/* SPDX-License-Identifier: MIT */
#include "demo/load.h"

#include "judge/histogram.h"
#include "load/clock.h"
#include "resp/key_slot.h"

#include <pthread.h>
#include <shoal/cluster.h>
#include <shoal/shoal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READY_US 10000000u
#define TIMEOUT_US 30000000u /* longer than it takes to promote a replica */
#define PATIENCE_US 50000u

typedef struct demo_key {
    char name[28];
    size_t name_bytes;
    int64_t value;
    int64_t doubts; /* increments since that may have happened */
} demo_key_t;

typedef struct demo_caller {
    demo_key_t keys[DEMO_KEYS];
    uint32_t turn; /* of the keys */
    uint64_t submitted_ns;
} demo_caller_t;

typedef struct demo_thread {
    demo_load_t *load;
    shoal_completions_t *completions;
    demo_caller_t callers[DEMO_CALLERS];
    unsigned under_way;
    pthread_t thread;
} demo_thread_t;

struct demo_load {
    shoal_client_t *client;
    demo_thread_t *threads;
    unsigned threads_count;
    atomic_bool is_over;
    atomic_bool expects_loss;
    _Atomic uint64_t done, failed, wrong, unknown, lost;
    histogram_t latencies[2]; /* one is written, the other one is read */
    _Atomic unsigned written;
    atomic_flag has_error;
    char first_error[200];
};

_Noreturn static void fail(const char *what, int rc)
{
    fprintf(stderr, "shoal-demo-cluster: %s: %s\n", what, shoal_strerror(rc));
    exit(1);
}

static void note_error(demo_load_t *load, const char *text)
{
    load->failed++;
    if (!atomic_flag_test_and_set(&load->has_error))
        snprintf(load->first_error, sizeof load->first_error, "%s", text);
}

static void judge_number(demo_load_t *load, demo_key_t *key, int64_t number)
{
    int64_t least = key->value + 1;

    bool is_next = number >= least && number <= least + key->doubts;
    bool is_behind = number < least && load->expects_loss;

    if (is_behind)
        load->lost += (uint64_t)(least - number);
    if (is_next || is_behind)
        load->done++;
    else
        load->wrong++;
    key->value = number;
    key->doubts = 0;
}

static void judge(demo_load_t *load, demo_key_t *key, const shoal_result_t *result)
{
    int status = shoal_result_status(result);

    if (status == 0 && !shoal_result_error(result)) {
        judge_number(load, key, shoal_reply_integer(shoal_result_reply(result)));
    } else if (status == 0) {
        note_error(load, shoal_result_error(result));
    } else if (shoal_result_fate(result) == SHOAL_FATE_NOT_EXECUTED) {
        note_error(load, shoal_result_detail(result));
    } else {
        load->unknown++;
        key->doubts++;
    }
}

/* The caller's next command. */
static void submit(demo_thread_t *thread, size_t number)
{
    demo_caller_t *caller = &thread->callers[number];
    demo_key_t *key = &caller->keys[++caller->turn % DEMO_KEYS];
    const char *const words[] = {"INCR", key->name};
    const size_t lengths[] = {4, key->name_bytes};
    const shoal_command_t command = {2, words, lengths};

    caller->submitted_ns = clock_ns();
    int rc = shoal_completions_submit(thread->completions, thread->load->client,
                                      &command, 1, NULL, number, NULL);
    if (rc == 0)
        thread->under_way++;
    else
        note_error(thread->load, shoal_strerror(rc));
}

static void settle(demo_thread_t *thread, const shoal_completion_t *completion)
{
    demo_load_t *load = thread->load;
    demo_caller_t *caller = &thread->callers[completion->tag];

    thread->under_way--;
    histogram_record_shared(&load->latencies[load->written],
                            clock_ns() - caller->submitted_ns);
    judge(load, &caller->keys[caller->turn % DEMO_KEYS], completion->result);
    if (!load->is_over)
        submit(thread, completion->tag);
}

static void *work(void *data)
{
    demo_thread_t *thread = data;
    shoal_completion_t batch[DEMO_CALLERS];
    size_t count;

    for (size_t i = 0; i < DEMO_CALLERS; i++)
        submit(thread, i);
    while (thread->under_way > 0) {
        shoal_completions_wait(thread->completions, PATIENCE_US);
        while ((count = shoal_completions_take(thread->completions, batch,
                                               DEMO_CALLERS)) > 0)
            for (size_t i = 0; i < count; i++)
                settle(thread, &batch[i]);
    }
    return NULL;
}

/* The caller's keys are in a block of slots of its own, which has one owner but while it
 * moves: a caller does not wait for nodes that it has no keys at. */
static void name_keys(demo_caller_t *caller, unsigned block, unsigned blocks)
{
    unsigned number = 0, count = 0;

    while (count < DEMO_KEYS) {
        demo_key_t *key = &caller->keys[count];
        int bytes =
            snprintf(key->name, sizeof key->name, "demo:%u:%u", block, number++);
        key->name_bytes = (size_t)bytes;
        unsigned slot = shoal__key_slot((shoal__bytes_t){key->name, key->name_bytes});
        count += slot * blocks / SHOAL__SLOTS == block;
    }
}

static shoal_client_t *open_client(int port)
{
    shoal_client_t *client = NULL;
    shoal_options_t *options = NULL;
    int rc = shoal_options_new(&options);

    if (rc == 0)
        rc = shoal_options_set_address(options, "127.0.0.1", port);
    if (rc == 0)
        rc = shoal_options_set_topology(options, SHOAL_TOPOLOGY_CLUSTER);
    if (rc == 0)
        rc = shoal_options_set_timeout_us(options, TIMEOUT_US);
    if (rc == 0)
        rc = shoal_client_open(options, &client, NULL);
    shoal_options_free(options);
    if (rc == 0)
        rc = shoal_client_wait_ready(client, READY_US);
    if (rc != 0)
        fail("no client", rc);
    return client;
}

demo_load_t *demo_load_start(int port, unsigned threads)
{
    demo_load_t *load = calloc(1, sizeof *load);

    if (load)
        load->threads = calloc(threads, sizeof *load->threads);
    if (!load || !load->threads)
        fail("threads", SHOAL_ENOMEM);
    load->threads_count = threads;
    load->client = open_client(port);
    for (unsigned i = 0; i < threads; i++) {
        demo_thread_t *thread = &load->threads[i];
        thread->load = load;
        for (unsigned k = 0; k < DEMO_CALLERS; k++)
            name_keys(&thread->callers[k], i + k * threads, DEMO_CALLERS * threads);
        int rc = shoal_completions_new(DEMO_CALLERS, &thread->completions);
        if (rc != 0)
            fail("no queue", rc);
        if (pthread_create(&thread->thread, NULL, work, thread) != 0)
            fail("no thread", SHOAL_ESYSTEM);
    }
    return load;
}

void demo_load_stop(demo_load_t *load)
{
    load->is_over = true;
    for (unsigned i = 0; i < load->threads_count; i++)
        pthread_join(load->threads[i].thread, NULL);
    shoal_client_close_and_wait(load->client, 0);
    shoal_client_release(load->client);
    for (unsigned i = 0; i < load->threads_count; i++)
        shoal_completions_free(load->threads[i].completions);
    free(load->threads);
    free(load);
}

demo_counts_t demo_load_counts(demo_load_t *load)
{
    return (demo_counts_t){load->done, load->failed, load->wrong, load->unknown,
                           load->lost};
}

double demo_load_p99_us(demo_load_t *load)
{
    static const double quantile = 0.99;
    unsigned former = load->written;
    double us;

    load->written = 1 - former; /* a caller may still write one to the former */
    histogram_quantiles_us(&load->latencies[former], &quantile, 1, &us);
    histogram_clear(&load->latencies[former]);
    return us;
}

const char *demo_load_first_error(const demo_load_t *load)
{
    return load->first_error;
}

void demo_load_expect_loss(demo_load_t *load)
{
    load->expects_loss = true;
}
