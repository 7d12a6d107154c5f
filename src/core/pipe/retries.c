/* SPDX-License-Identifier: MIT */
#include "core/pipe/retries.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/backoff.h"
#include <shoal/errors.h>
#include <string.h>

#define MANY 1024
#define WALK_SPACING_US 10000
#define TOKENS_10_FULL 100
#define TOKENS_10_RESERVE 50
#define DELAY_US_BASE 8000
#define DELAY_US_MAX 1000000

void shoal__retries_init(shoal__retries_t *retries)
{
    *retries =
        (shoal__retries_t){.tokens_10 = TOKENS_10_FULL, .earliest_us = SHOAL__NEVER_US};
    shoal__list_init(&retries->waiting);
}

void shoal__retries_release(shoal__retries_t *retries)
{
    shoal__retry_t *retry;

    if (!retries->waiting.next)
        return;
    while ((retry = shoal__retries_take_any(retries)) != NULL) {
        shoal__extra_drop(retry->request.extra);
        shoal__free(retry);
    }
}

bool shoal__retries_allowed(const shoal__retries_t *retries)
{
    return retries->tokens_10 > TOKENS_10_RESERVE;
}

void shoal__retries_spend(shoal__retries_t *retries)
{
    retries->tokens_10 = retries->tokens_10 > 10 ? retries->tokens_10 - 10 : 0;
}

uint64_t shoal__retries_delay_us(unsigned attempts, shoal__random_t *random)
{
    shoal__backoff_t backoff = {
        .base_us = DELAY_US_BASE, .delay_us_max = DELAY_US_MAX, .failures = attempts};

    return shoal__backoff_next(&backoff, random, 0);
}

void shoal__retries_put(shoal__retries_t *retries, shoal__retry_t *retry)
{
    shoal__list_t *before;

    /* In order of their time; most come last. */
    for (before = retries->waiting.previous; before != &retries->waiting;
         before = before->previous) {
        if (SHOAL__LIST_ENTRY(before, shoal__retry_t, node)->due_us <= retry->due_us)
            break;
    }
    shoal__list_append(before->next, &retry->node);
    retries->count++;
    retries->bytes += shoal__request_wire_bytes(&retry->request);
    retries->earliest_us =
        shoal__time_min(retries->earliest_us, retry->request.deadline_us);
}

int shoal__retries_add(shoal__retries_t *retries, const shoal__request_t *request,
                       const char *bytes, uint64_t due_us)
{
    shoal__retry_t *retry = shoal__malloc(sizeof *retry + request->bytes);

    if (!retry)
        return SHOAL_ENOMEM;
    retry->request = *request;
    retry->due_us = due_us;
    memcpy(retry->bytes, bytes, request->bytes);
    shoal__retries_put(retries, retry);
    return 0;
}

shoal__retry_t *shoal__retries_take(shoal__retries_t *retries, shoal__retry_t *retry)
{
    shoal__list_remove(&retry->node);
    retries->count--;
    retries->bytes -= shoal__request_wire_bytes(&retry->request);
    if (retries->count == 0)
        retries->earliest_us = SHOAL__NEVER_US;
    return retry;
}

shoal__retry_t *shoal__retries_take_due(shoal__retries_t *retries, uint64_t now_us)
{
    shoal__retry_t *retry;

    if (shoal__list_is_empty(&retries->waiting))
        return NULL;
    retry = SHOAL__LIST_ENTRY(retries->waiting.next, shoal__retry_t, node);
    return retry->due_us <= now_us ? shoal__retries_take(retries, retry) : NULL;
}

shoal__retry_t *shoal__retries_take_expired(shoal__retries_t *retries, uint64_t now_us)
{
    shoal__list_t *node = retries->waiting.next;
    uint64_t earliest_us = SHOAL__NEVER_US;

    if (now_us < retries->earliest_us)
        return NULL;
    for (; node != &retries->waiting; node = node->next) {
        shoal__retry_t *retry = SHOAL__LIST_ENTRY(node, shoal__retry_t, node);
        if (retry->request.deadline_us <= now_us)
            return shoal__retries_take(retries, retry);
        earliest_us = shoal__time_min(earliest_us, retry->request.deadline_us);
    }
    /* Many commands may wait for a switch of roles, each with a deadline of its own.
     * They are not walked again for each deadline. */
    if (retries->count > MANY)
        earliest_us = shoal__time_max(earliest_us, now_us + WALK_SPACING_US);
    retries->earliest_us = earliest_us;
    return NULL;
}

shoal__retry_t *shoal__retries_take_ticket(shoal__retries_t *retries, uint64_t ticket)
{
    shoal__list_t *node = retries->waiting.next;

    for (; node != &retries->waiting; node = node->next) {
        shoal__retry_t *retry = SHOAL__LIST_ENTRY(node, shoal__retry_t, node);
        if (retry->request.ticket == ticket)
            return shoal__retries_take(retries, retry);
    }
    return NULL;
}

shoal__retry_t *shoal__retries_take_any(shoal__retries_t *retries)
{
    if (shoal__list_is_empty(&retries->waiting))
        return NULL;
    return shoal__retries_take(
        retries, SHOAL__LIST_ENTRY(retries->waiting.next, shoal__retry_t, node));
}

uint64_t shoal__retries_next_us(const shoal__retries_t *retries, bool may_send)
{
    if (!may_send || shoal__list_is_empty(&retries->waiting))
        return retries->earliest_us;
    return shoal__time_min(
        retries->earliest_us,
        SHOAL__LIST_ENTRY(retries->waiting.next, const shoal__retry_t, node)->due_us);
}
