/* SPDX-License-Identifier: MIT */

/* The completion queue, in every schedule: while the consumer sleeps on the descriptor,
 * it is readable if results were announced; each result is taken once, those of a client
 * in their order; and the queue's memory goes with the last of its users. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SHIM_IMPLEMENTATION
#include "base/alloc.h"
#include "client/client.h"
#include "client/submit.h"
#include "interleave/shim.h"
#include "net/fork_guard.h"
#include <shoal/completions.h>
#include <shoal/errors.h>
#include <string.h>

#define CLIENTS_MAX 3
#define RESULTS_MAX 3
#define TIMEOUT_US 5000

typedef struct queue_case {
    const char *name;
    unsigned clients, results; /* of each */
    size_t count_max;          /* taken at once */
    bool in_one_batch;         /* announced once for all results of a client */
    bool is_left;              /* the consumer frees the queue after the first take */
    bool looks_first;          /* before each wait */
    bool waits;                /* by shoal_completions_wait(), else by poll */
    unsigned spurious, preemptions, ticks;
} queue_case_t;

static const queue_case_t *now;
static shoal_completions_t *queue;
static shoal_client_t *clients[CLIENTS_MAX];
static shoal__submission_t due[CLIENTS_MAX]; /* submitted, to be answered */
static unsigned taken[CLIENTS_MAX];

/* ---- what the queue stands on ---- */

bool shoal__call_read(const shoal_call_t *call, shoal_call_t *ret_call)
{
    *ret_call = (shoal_call_t){0};
    return call == NULL;
}

_Atomic uint64_t shoal__fork_count;

int shoal__fork_guard_start(void)
{
    return 0;
}

int shoal__client_submit(shoal_client_t *client, const shoal__submission_t *submission,
                         uint64_t *ret_ticket)
{
    (void)ret_ticket;
    for (unsigned i = 0; i < now->clients; i++) {
        if (clients[i] == client)
            due[i] = *submission;
    }
    return 0;
}

/* ---- the threads ---- */

/* As the loop does at the end of a read. */
static void announce(shoal_client_t *client)
{
    shoal__waiters_announce(&client->waiters);
}

static void complete(void *data)
{
    unsigned number = (unsigned)(uintptr_t)data;
    const shoal__submission_t *answered = &due[number];

    for (unsigned i = 0; i < now->results; i++) {
        const shoal_result_t result = {.tag = answered->first_tag + i, .detail = ""};
        answered->on_result(clients[number], &result, answered->data);
        if (!now->in_one_batch)
            announce(clients[number]);
    }
    announce(clients[number]);
}

static unsigned taken_in_all(void)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < now->clients; i++)
        sum += taken[i];
    return sum;
}

static void wait_for_results(void)
{
    struct pollfd slot = {.fd = shoal_completions_fd(queue), .events = POLLIN};
    int rc;

    if (!now->waits) {
        while (shim_poll(&slot, 1, -1) < 0)
            continue;
        return;
    }
    do
        rc = shoal_completions_wait(queue,
                                    now->ticks ? TIMEOUT_US : SHOAL_TIMEOUT_NEVER);
    while (rc == SHOAL_EINTR || (now->ticks && rc == SHOAL_ETIMEOUT));
    explore_check(rc == 0);
}

static size_t take(void)
{
    shoal_completion_t batch[RESULTS_MAX * CLIENTS_MAX];
    size_t count = shoal_completions_take(queue, batch, now->count_max);

    for (size_t i = 0; i < count; i++) {
        unsigned client = (unsigned)(batch[i].tag / 10);
        explore_check(batch[i].tag % 10 == taken[client]++);
    }
    return count;
}

static void consume(void *data)
{
    (void)data;
    while (taken_in_all() < now->clients * now->results) {
        if (now->looks_first && take() > 0)
            continue;
        wait_for_results();
        explore_check(take() > 0); /* or it would look again and again */
        if (now->is_left)
            break;
    }
    shoal_completions_free(queue);
}

static void begin(const void *data)
{
    static const char *const names[] = {"client 1", "client 2", "client 3"};
    static const shoal_command_t commands[RESULTS_MAX];

    now = data;
    shim_begin();
    memset(taken, 0, sizeof taken);
    explore_check(shoal_completions_new(0, &queue) == 0);
    for (unsigned i = 0; i < now->clients; i++) {
        clients[i] = shoal__calloc(1, sizeof *clients[i]);
        explore_check(shoal_completions_submit(queue, clients[i], commands,
                                               now->results, NULL, i * 10, NULL) == 0);
    }
    explore_start("consumer", consume, NULL);
    for (unsigned i = 0; i < now->clients; i++)
        explore_start(names[i], complete, (void *)(uintptr_t)i);
}

static void end(void)
{
    explore_check(now->is_left || taken_in_all() == now->clients * now->results);
    for (unsigned i = 0; i < now->clients; i++)
        shoal__free(clients[i]);
    shim_end();
}

static const queue_case_t cases[] = {
    {.name = "1 x 3, one by one", .clients = 1, .results = 3, .count_max = 9},
    {.name = "1 x 3, taken singly", .clients = 1, .results = 3, .count_max = 1},
    {.name = "1 x 3, announced together",
     .clients = 1,
     .results = 3,
     .count_max = 2,
     .in_one_batch = true},
    {.name = "2 x 1", .clients = 2, .results = 1, .count_max = 9},
    {.name = "2 x 2, announced together, taken singly",
     .clients = 2,
     .results = 2,
     .count_max = 1,
     .in_one_batch = true},
    {.name = "2 x 1, interrupted waits",
     .clients = 2,
     .results = 1,
     .count_max = 9,
     .waits = true,
     .spurious = 2},
    {.name = "1 x 2, waits that time out",
     .clients = 1,
     .results = 2,
     .count_max = 9,
     .waits = true,
     .ticks = 2},
    {.name = "2 x 1, looks before it waits",
     .clients = 2,
     .results = 1,
     .count_max = 9,
     .looks_first = true},
    {.name = "1 x 3, looks before it waits",
     .clients = 1,
     .results = 3,
     .count_max = 2,
     .looks_first = true},
    {.name = "freed while results are due",
     .clients = 2,
     .results = 1,
     .count_max = 1,
     .is_left = true},
    {.name = "2 x 2", .clients = 2, .results = 2, .count_max = 9, .preemptions = 3},
    {.name = "3 x 1", .clients = 3, .results = 1, .count_max = 2, .preemptions = 2},
};

static void test_a_result_is_taken_or_the_descriptor_readable(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const explore_scenario_t scenario = {.name = cases[i].name,
                                             .begin = begin,
                                             .end = end,
                                             .data = &cases[i],
                                             .is_bounded = cases[i].preemptions > 0,
                                             .preemptions_max = cases[i].preemptions,
                                             .spurious = cases[i].spurious,
                                             .ticks = cases[i].ticks,
                                             .tick_us = TIMEOUT_US,
                                             .may_rest = cases[i].ticks > 0};
        shim_expect(&scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_result_is_taken_or_the_descriptor_readable),
    };
    return cmocka_run_group_tests_name("interleave/completions", tests, NULL, NULL);
}
