/* SPDX-License-Identifier: MIT */
#include "route/homes.h"

#include "base/time_us.h"
#include "core/pipe/pipe_lane.h"
#include <string.h>

#define RENEW_AGAIN_US 5000000

bool shoal__home_has_process(const shoal__conn_t *conn)
{
    return shoal__home_is_ready(conn) &&
           conn->pipe.greeting.identity.process[0] != '\0';
}

bool shoal__home_is_same_process(const shoal__conn_t *one, const shoal__conn_t *other)
{
    return strcmp(one->pipe.greeting.identity.process,
                  other->pipe.greeting.identity.process) == 0;
}

bool shoal__homes_are_ready(const shoal__homes_t *homes)
{
    for (size_t i = 0; i < homes->count; i++)
        if (!shoal__home_is_ready(&homes->conns[i]))
            return false;
    return true;
}

bool shoal__homes_have_process(const shoal__homes_t *homes)
{
    for (size_t i = 0; i < homes->count; i++)
        if (!shoal__home_has_process(&homes->conns[i]))
            return false;
    return true;
}

static bool is_no_kin(const shoal__conn_t *one, const shoal__conn_t *other)
{
    return shoal__home_has_process(one) && shoal__home_has_process(other) &&
           !shoal__home_is_same_process(one, other);
}

bool shoal__homes_are_kin(const shoal__homes_t *homes)
{
    for (size_t i = 1; i < homes->count; i++)
        for (size_t j = 0; j < i; j++)
            if (is_no_kin(&homes->conns[i], &homes->conns[j]))
                return false;
    return true;
}

bool shoal__homes_have_since(const shoal__homes_t *homes, uint64_t until_us)
{
    for (size_t i = 0; i < homes->count; i++)
        if (shoal__pipe_has_since(&homes->conns[i].pipe, until_us))
            return true;
    return false;
}

uint64_t shoal__homes_oldest_us(const shoal__homes_t *homes)
{
    uint64_t oldest_us = SHOAL__NEVER_US;

    for (size_t i = 0; i < homes->count; i++)
        oldest_us =
            shoal__time_min(oldest_us, shoal__pipe_oldest_us(&homes->conns[i].pipe));
    return oldest_us;
}

const shoal__conn_t *shoal__homes_offline(const shoal__homes_t *homes)
{
    for (size_t i = 0; i < homes->count; i++)
        if (homes->conns[i].pipe.phase == SHOAL__PIPE_DOWN &&
            homes->conns[i].pipe.is_offline)
            return &homes->conns[i];
    return NULL;
}

static bool is_idle(const shoal__conn_t *conn)
{
    const shoal__pipe_t *pipe = &conn->pipe;

    return pipe->ring.head == pipe->ring.tail && shoal__pipe_held(pipe) == 0 &&
           !shoal__conn_is_renewed(conn);
}

void shoal__homes_view(const shoal__homes_t *homes, shoal__route_view_t *ret_view)
{
    shoal__route_view_t view = {
        .is_ready = true, .is_idle = true, .wake_after = UINT64_MAX};

    for (size_t i = 0; i < homes->count; i++) {
        const shoal__conn_t *conn = &homes->conns[i];
        bool is_ready = conn->state == SHOAL__CONN_READY;

        view.is_ready = view.is_ready && is_ready;
        view.is_idle = view.is_idle && is_idle(conn);
        view.wake_after = shoal__time_min(
            view.wake_after, is_ready ? shoal__pipe_wake_after(&conn->pipe) : 1);
        view.rtt_us =
            shoal__time_max(view.rtt_us, conn->pipe.flush.learned.tempo.rtt_us);
    }
    *ret_view = view;
}

/* The one that was dialed last, of those whose process is known: another one may never
 * come. */
static const shoal__conn_t *newest(const shoal__homes_t *homes)
{
    const shoal__conn_t *newest = NULL;

    for (size_t i = 0; i < homes->count; i++)
        if (shoal__home_has_process(&homes->conns[i]) &&
            (!newest || homes->conns[i].line->dialed_us > newest->line->dialed_us))
            newest = &homes->conns[i];
    return newest;
}

void shoal__homes_renew(shoal__homes_t *homes, uint64_t now_us)
{
    const shoal__conn_t *leader;

    if (now_us < homes->renew_us || shoal__homes_are_kin(homes))
        return;
    leader = newest(homes); /* there is one, and one that differs from it */
    for (size_t i = 0; i < homes->count; i++)
        if (is_no_kin(&homes->conns[i], leader)) {
            shoal__conn_reconnect(&homes->conns[i],
                                  "renewed, because another connection of the client "
                                  "leads to another server process",
                                  now_us);
            homes->renew_us = shoal__time_after(now_us, RENEW_AGAIN_US);
        }
}

uint64_t shoal__homes_next_wake_us(const shoal__homes_t *homes)
{
    return shoal__homes_are_kin(homes) || homes->renew_us == 0 ? SHOAL__NEVER_US
                                                               : homes->renew_us;
}
