/* SPDX-License-Identifier: MIT */

/* What the rig checks at each unlock, and counts. */

#define SHIM_IMPLEMENTATION
#include "interleave/shim.h"

#include "client/awake_count.h"
#include "client/client.h"
#include "interleave/rig.h"
#include "interleave/rig_parts.h"

static struct {
    shoal_client_t *client;
    const shoal__request_ring_t *ring; /* commands that were taken over */
    bool lacks_memory, has_failed;
} checks;

rig_seen_t rig_seen_now;

rig_seen_t rig_seen(void)
{
    return rig_seen_now;
}

/* ---- callers that are awake ---- */

/* The waiter of a blocking call; the callbacks of a scenario have no data. */
static bool counts(const shoal__waiter_t *waiter)
{
    return waiter && shoal__awake_counts_locked(checks.client, waiter);
}

static unsigned count_side(const shoal__mailbox_side_t *side)
{
    unsigned count = 0;

    for (size_t i = 0; i < side->count; i++)
        count += counts(side->requests[i].data);
    return count;
}

static unsigned count_awake(void)
{
    const shoal__list_t *answered = &checks.client->waiters.answered;
    unsigned count = count_side(&checks.client->mailbox.side);

    for (uint64_t i = checks.ring->head; i != checks.ring->tail; i++)
        count += counts(shoal__request_ring_at(checks.ring, i)->data);
    for (const shoal__list_t *node = answered->next; node != answered;
         node = node->next)
        count += counts(SHOAL__LIST_ENTRY(node, shoal__waiter_t, node));
    return count;
}

static void check_awake(const uv_mutex_t *mutex)
{
    const shoal__driver_seat_t *seat = &checks.client->seat;
    bool is_owing = shoal__request_ring_length(checks.ring) > 0 ||
                    checks.client->mailbox.side.count > 0;

    if (mutex != &seat->lock || seat->token.driver != SHOAL__DRIVER_PARKED)
        return;
    explore_check(!checks.client->direct);
    rig_seen_now.left_alone += is_owing && seat->awake == 0;
    /* A caller whose command was refused counts until it quits. */
    explore_check(count_awake() == seat->awake ||
                  (checks.lacks_memory && count_awake() < seat->awake));
}

void rig_check_poll(void)
{
    const shoal_client_t *client = checks.client;

    rig_seen_now.polls += client->direct != NULL;
    explore_check(!client->direct || client->direct->is_answered ||
                  shoal__list_is_empty(&client->waiters.answered));
}

/* ---- memory ---- */

static bool may_grow(void)
{
    unsigned self = explore_self();

    if (!checks.lacks_memory || checks.has_failed || self == RIG_BACKGROUND ||
        self == EXPLORE_THREADS_MAX)
        return true;
    checks.has_failed = true;
    rig_seen_now.failures++;
    return false;
}

void rig_checks_begin(shoal_client_t *client, const shoal__request_ring_t *ring,
                      bool lacks_memory)
{
    checks.client = client;
    checks.ring = ring;
    checks.lacks_memory = lacks_memory;
    checks.has_failed = false;
    shim_before_unlock = check_awake;
    shim_may_grow = may_grow;
}
