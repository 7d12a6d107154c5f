/* SPDX-License-Identifier: MIT */
#include "route/lane.h"

#include "base/alloc.h"
#include "core/lease_pool.h"
#include "net/conn_set.h"

#define PEN_BYTES_KEPT 1048576 /* of its log, while it is empty */

/* Behind those of the leased connections. */
#define LANE_ID (SHOAL__LEASE_CONNECTIONS_MAX + 2)

/* ---- what its connection tells ---- */

static void on_result(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result)
{
    const shoal__lane_t *lane = owner;

    lane->hooks.on_result(lane->owner, request, result);
}

static void on_event(void *owner, const shoal_event_t *event)
{
    const shoal__lane_t *lane = owner;

    lane->hooks.on_event(lane->owner, event);
}

static void on_reading(void *owner, uint64_t now_us)
{
    const shoal__lane_t *lane = owner;

    lane->hooks.on_reading(lane->owner, now_us);
}

static void on_delivered(void *owner)
{
    const shoal__lane_t *lane = owner;

    lane->hooks.on_delivered(lane->owner);
}

static const shoal__conn_hooks_t conn_hooks = {.on_result = on_result,
                                               .on_event = on_event,
                                               .on_reading = on_reading,
                                               .on_delivered = on_delivered};

/* ---- its life ---- */

shoal__lane_t *shoal__lane_new(const shoal__conn_config_t *config,
                               const shoal__conn_t *ordinary,
                               const shoal__route_hooks_t *hooks, void *owner)
{
    shoal__lane_t *lane = shoal__calloc(1, sizeof *lane);
    const shoal__conn_plan_t plan = {.config = config,
                                     .target = ordinary->target,
                                     .set = ordinary->set,
                                     .id = LANE_ID,
                                     .hooks = &conn_hooks,
                                     .owner = lane};
    const shoal__pipe_parts_t parts = {&config->pipe, ordinary->target,
                                       &ordinary->set->shared};
    const shoal__pipe_hooks_t pen_hooks = {.on_result = on_result};

    if (!lane)
        return NULL;
    if (shoal__pipe_init(&lane->pen, &parts, &pen_hooks, lane) < 0)
        goto fail_pen;
    if (shoal__conn_init(&lane->conn, &plan) < 0)
        goto fail_conn;
    lane->pen.is_pen = true;
    lane->hooks = *hooks;
    lane->owner = owner;
    return lane;

fail_conn:
    shoal__pipe_release(&lane->pen);
fail_pen:
    shoal__free(lane);
    return NULL;
}

void shoal__lane_free(shoal__lane_t *lane)
{
    if (!lane)
        return;
    shoal__pipe_release(&lane->pen);
    shoal__conn_release(&lane->conn);
    shoal__free(lane);
}

/* It was as large as all commands in it.  Those that were given up still are. */
void shoal__lane_rest_pen(shoal__lane_t *lane)
{
    shoal__pipe_t *pen = &lane->pen;

    if (shoal__lane_has_pen(lane))
        return;
    if (pen->ring.gone > 0)
        shoal__pipe_sweep(pen);
    shoal__buffer_shrink(&pen->log, PEN_BYTES_KEPT);
}
