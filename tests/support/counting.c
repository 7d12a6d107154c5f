/* SPDX-License-Identifier: MIT */
#include "support/counting.h"

#include <shoal/events.h>
#include <stdio.h>

static _Thread_local bool is_caller;
static _Atomic size_t losses_told, callbacks, astray;
static pthread_t library;
static _Atomic bool is_library_known;

/* ---- the program's code ---- */

static void note_thread(void)
{
    if (!is_library_known) {
        library = pthread_self();
        is_library_known = true;
    }
    astray += is_caller || !pthread_equal(library, pthread_self());
}

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client;
    (void)data;
    note_thread();
    losses_told += shoal_event_kind(event) == SHOAL_EVENT_LOST;
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client;
    (void)data;
    note_thread();
    astray += shoal_result_status(result) != 0;
    callbacks++;
}

void counting_submit(shoal_client_t *client)
{
    const char *const words[] = {"GET", "counting:0"};

    assert_int_equal(shoal_client_submit(client, 2, words, NULL, on_result, NULL, NULL),
                     0);
}

size_t counting_callbacks(void)
{
    return callbacks;
}

size_t counting_losses_told(void)
{
    return losses_told;
}

shoal_client_t *counting_open(shoal_options_t *options)
{
    shoal_result_t *result = NULL;

    losses_told = callbacks = astray = 0;
    is_library_known = false;
    assert_int_equal(shoal_options_set_on_event(options, on_event, NULL), 0);
    shoal_client_t *client = live_open(options);
    assert_int_equal(shoal_client_callf(client, &result, "FLUSHALL"), 0);
    assert_int_equal(shoal_result_status(result), 0);
    shoal_result_release(result);
    return client;
}

void counting_close(shoal_client_t *client)
{
    shoal_stats_t stats = live_stats(client);

    assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
    assert_int_equal(stats.completed, stats.commands);
    assert_int_equal(astray, 0);
}

/* ---- callers ---- */

static void take_reply(counting_t *counting, const shoal_reply_t *reply)
{
    long long value;

    if (shoal_reply_type(reply) == SHOAL_REPLY_ERROR)
        return; /* a server that is starting says LOADING */
    value = shoal_reply_integer(reply);
    counting->wrong += value <= counting->low || value > counting->high + 1;
    counting->low = counting->high = value;
    counting->replied++;
}

static void take_failure(counting_t *counting, const shoal_result_t *result,
                         uint64_t took_us)
{
    counting->high += shoal_result_fate(result) != SHOAL_FATE_NOT_EXECUTED;
    switch (shoal_result_status(result)) {
    case SHOAL_ETIMEOUT:
        counting->early += took_us < counting->timeout_us;
        counting->timeouts++;
        break;
    case SHOAL_ECONN: /* the loss was told before */
        counting->untold += ++counting->losses > losses_told;
        break;
    default:
        counting->others += shoal_result_status(result) != SHOAL_ESHUTDOWN;
    }
}

static bool count_once(counting_t *counting)
{
    const char *const incr[] = {"INCR", counting->key};
    const shoal_command_t command = {2, incr, NULL};
    shoal_call_t call = {.size = sizeof call,
                         .flags = counting->flags,
                         .timeout_us = counting->timeout_us};
    shoal_result_t *result = NULL;
    uint64_t since_us = waiting_now_us();

    counting->end = shoal_client_call_with(counting->client, &command, &call, &result);
    if (counting->end != 0)
        return false;
    if (shoal_result_status(result) == 0)
        take_reply(counting, shoal_result_reply(result));
    else
        take_failure(counting, result, waiting_now_us() - since_us);
    shoal_result_release(result);
    return true;
}

static void *count(void *data)
{
    counting_t *counting = data;

    is_caller = true;
    for (size_t i = 0; i != counting->calls; i++) {
        if ((counting->is_over && *counting->is_over) || !count_once(counting))
            break;
        if (counting->think_us)
            waiting_sleep_us(counting->think_us);
    }
    return NULL;
}

void counting_start(counting_t *callers, size_t count_of, shoal_client_t *client)
{
    for (size_t i = 0; i < count_of; i++) {
        callers[i].client = shoal_client_retain(client);
        snprintf(callers[i].key, sizeof callers[i].key, "counting:%zu", i);
        assert_int_equal(pthread_create(&callers[i].thread, NULL, count, &callers[i]),
                         0);
    }
}

void counting_join(counting_t *callers, size_t count_of)
{
    for (size_t i = 0; i < count_of; i++) {
        pthread_join(callers[i].thread, NULL);
        shoal_client_release(callers[i].client);
    }
    for (size_t i = 0; i < count_of; i++) {
        assert_int_equal(callers[i].wrong, 0);
        assert_int_equal(callers[i].early, 0);
        assert_int_equal(callers[i].others, 0);
        assert_int_equal(callers[i].untold, 0);
    }
}

void counting_wait_for_replies(const counting_t *callers, size_t count_of, size_t more)
{
    size_t before[64];

    assert_true(count_of <= 64);
    for (size_t i = 0; i < count_of; i++)
        before[i] = callers[i].replied;
    for (size_t i = 0; i < count_of; i++)
        WAIT_FOR(callers[i].replied >= before[i] + more);
}

void counting_wait_for_drives(shoal_client_t *client)
{
    uint64_t before = live_stats(client).direct_calls;

    WAIT_FOR(live_stats(client).direct_calls > before);
}
