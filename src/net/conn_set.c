/* SPDX-License-Identifier: MIT */
#include "net/conn_set.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/conn.h"
#include "net/entropy.h"
#include <shoal/errors.h>

int shoal__conn_set_init(shoal__conn_set_t *set, uint64_t seed,
                         shoal__account_t *account)
{
    *set = (shoal__conn_set_t){.account = account};
    set->room = shoal__malloc(SHOAL__CONN_ROOM_BYTES);
    if (!set->room)
        return SHOAL_ENOMEM;
    shoal__random_init(&set->random, seed);
    shoal__pipe_shared_init(&set->shared, shoal__entropy_fill, &set->random);
    shoal__list_init(&set->touched);
    shoal__list_init(&set->turning);
    shoal__due_times_init(&set->due);
    return 0;
}

void shoal__conn_set_release(shoal__conn_set_t *set)
{
    shoal__due_times_release(&set->due);
    shoal__pipe_shared_release(&set->shared);
    shoal__free(set->room);
    set->room = NULL;
}

static void touch_those_due(shoal__conn_set_t *set, uint64_t now_us)
{
    shoal__due_t *due;

    while ((due = shoal__due_times_take(&set->due, now_us)) != NULL)
        shoal__conn_touch(SHOAL__LIST_ENTRY(due, shoal__conn_t, due));
}

/* Take over how this pipe's share changed since the last time. */
static inline void take_share(shoal__conn_set_t *set, shoal__pipe_t *pipe)
{
    const shoal__pipe_stats_t *stats = &pipe->stats;

    set->queued -= shoal__counter_get(&stats->queued_now);
    set->inflight -= shoal__counter_get(&stats->inflight_now);
    set->bytes -= shoal__counter_get(&stats->bytes_now);
    shoal__pipe_publish(pipe);
    set->queued += shoal__counter_get(&stats->queued_now);
    set->inflight += shoal__counter_get(&stats->inflight_now);
    set->bytes += shoal__counter_get(&stats->bytes_now);
}

void shoal__conn_set_count(shoal__conn_set_t *set, shoal__pipe_t *pipe)
{
    take_share(set, pipe);
}

uint64_t shoal__conn_set_turn(shoal__conn_set_t *set, uint64_t now_us)
{
    touch_those_due(set, now_us);
    shoal__list_move(&set->touched, &set->turning);
    while (!shoal__list_is_empty(&set->turning)) {
        shoal__conn_t *conn =
            SHOAL__LIST_ENTRY(set->turning.next, shoal__conn_t, touched);
        uint64_t wake_us = shoal__conn_turn(conn, now_us);
        /* wake_us covers what the connection's own callbacks left for it. */
        shoal__list_remove(&conn->touched);
        shoal__due_times_set(&set->due, &conn->due, wake_us);
        take_share(set, &conn->pipe);
    }
    /* Connections that other connections' callbacks touched need another turn. */
    return shoal__conn_set_next_us(set, now_us);
}

uint64_t shoal__conn_set_next_us(const shoal__conn_set_t *set, uint64_t now_us)
{
    return shoal__list_is_empty(&set->touched) ? shoal__due_times_next_us(&set->due)
                                               : now_us;
}

static void take_shares(shoal__conn_set_t *set, const shoal__list_t *list)
{
    const shoal__list_t *node = list->next;

    for (; node != list; node = node->next)
        take_share(set, &SHOAL__LIST_ENTRY(node, shoal__conn_t, touched)->pipe);
}

void shoal__conn_set_publish(shoal__conn_set_t *set)
{
    take_shares(set, &set->touched);
    take_shares(set, &set->turning);
    shoal__account_move(set->account, set->queued, set->inflight, set->bytes);
    set->queued = set->inflight = set->bytes = 0;
}
