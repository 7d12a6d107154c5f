/* SPDX-License-Identifier: MIT */
#include "support/outcome.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t order;

void outcome_read(outcome_t *outcome, const shoal_result_t *result)
{
    const shoal_reply_t *reply = shoal_result_reply(result);

    outcome->status = shoal_result_status(result);
    outcome->fate = shoal_result_fate(result);
    outcome->attempts = shoal_result_attempts(result);
    outcome->is_offline = shoal_result_is_offline(result);
    outcome->redirects = shoal_result_redirects(result);
    outcome->was_reordered = shoal_result_was_reordered(result);
    outcome->slot = shoal_result_slot(result);
    snprintf(outcome->node, sizeof outcome->node, "%s", shoal_result_node(result));
    snprintf(outcome->detail, sizeof outcome->detail, "%s",
             shoal_result_detail(result));
    outcome->has_error = shoal_result_error(result) != NULL;
    if (outcome->has_error)
        snprintf(outcome->error, sizeof outcome->error, "%s",
                 shoal_result_error(result));
    outcome->has_reply = reply != NULL;
    if (!reply)
        return;
    const char *text = shoal_reply_string(reply, &outcome->bytes);
    outcome->type = shoal_reply_type(reply);
    outcome->integer = shoal_reply_integer(reply);
    if (text) {
        size_t kept = outcome->bytes;
        if (kept > sizeof outcome->text - 1)
            kept = sizeof outcome->text - 1;
        memcpy(outcome->text, text, kept);
        outcome->text[kept] = '\0';
    }
}

/* The caller holds the lock. */
static void record_locked(outcome_t *outcome, shoal_client_t *client,
                          const shoal_result_t *result)
{
    outcome_read(outcome, result);
    outcome->sender = client;
    outcome->order = ++order;
    outcome->calls++;
}

void outcome_cb(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    pthread_mutex_lock(&lock);
    record_locked(data, client, result);
    pthread_mutex_unlock(&lock);
}

void outcome_series_cb(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    outcome_series_t *series = data;

    pthread_mutex_lock(&lock);
    if (series->count == series->room) {
        fprintf(stderr, "more results than commands\n");
        abort();
    }
    record_locked(&series->outcomes[series->count], client, result);
    series->count++;
    pthread_mutex_unlock(&lock);
}

bool outcome_is_done(const outcome_t *outcome)
{
    pthread_mutex_lock(&lock);
    bool is_done = outcome->calls > 0;
    pthread_mutex_unlock(&lock);
    return is_done;
}

size_t outcome_series_count(const outcome_series_t *series)
{
    pthread_mutex_lock(&lock);
    size_t count = series->count;
    pthread_mutex_unlock(&lock);
    return count;
}

const char *outcome_describe(const outcome_t *outcome)
{
    static char text[448];
    snprintf(text, sizeof text, "calls %u, status %s, fate %s, attempts %u, '%s' '%s'",
             outcome->calls, shoal_error_name(outcome->status),
             shoal_fate_name(outcome->fate), outcome->attempts, outcome->text,
             outcome->detail);
    return text;
}
