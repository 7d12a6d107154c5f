/* SPDX-License-Identifier: MIT */
#include "route/lanes.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/lease_pool.h"
#include "core/pipe/pipe_move.h"
#include "net/conn_set.h"
#include "route/figures.h"
#include <shoal/errors.h>
#include <string.h>

#define IDLE_US 60000000
#define NO_MEMORY_DELAY_US 1000
#define AGAIN_US 5000000 /* after an attempt to open it that failed */
/* So that the ordinary connection waits for a part of a large command, not for all of it. */
#define TURN_BYTES_MAX 131072
#define PEN_BYTES_KEPT 1048576 /* of its log, while it is empty */

/* Behind those of the leased connections. */
#define LANE_ID (SHOAL__LEASE_CONNECTIONS_MAX + 2)

void shoal__lanes_init(shoal__lanes_t *lanes, shoal__conn_t *ordinary,
                       const shoal__route_hooks_t *hooks, void *owner, bool is_allowed)
{
    *lanes = (shoal__lanes_t){.ordinary = ordinary,
                              .hooks = *hooks,
                              .owner = owner,
                              .config = *ordinary->config,
                              .is_allowed = is_allowed};
    /* Nothing is gained by gathering what is large. */
    lanes->config.pipe.flush.mode = SHOAL_FLUSH_OFF;
    lanes->config.pipe.is_ordinary = false;
    lanes->config.turn_bytes_max = TURN_BYTES_MAX;
}

void shoal__lanes_release(shoal__lanes_t *lanes)
{
    shoal__lane_t *lane = lanes->bulk;

    if (!lane)
        return;
    shoal__pipe_release(&lane->pen);
    shoal__conn_release(&lane->conn);
    shoal__free(lane);
}

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

static shoal__lane_t *new_lane(shoal__lanes_t *lanes)
{
    shoal__conn_t *ordinary = lanes->ordinary;
    shoal__lane_t *lane = shoal__calloc(1, sizeof *lane);
    const shoal__conn_plan_t plan = {.config = &lanes->config,
                                     .target = ordinary->target,
                                     .set = ordinary->set,
                                     .id = LANE_ID,
                                     .hooks = &conn_hooks,
                                     .owner = lane};
    const shoal__pipe_parts_t parts = {&lanes->config.pipe, ordinary->target,
                                       &ordinary->set->shared};
    const shoal__pipe_hooks_t pen_hooks = {.on_result = on_result};

    if (!lane)
        return NULL;
    if (shoal__pipe_init(&lane->pen, &parts, &pen_hooks, lane) < 0)
        goto fail_pen;
    if (shoal__conn_init(&lane->conn, &plan) < 0)
        goto fail_conn;
    lane->pen.is_pen = true;
    lane->hooks = lanes->hooks;
    lane->owner = lanes->owner;
    return lane;

fail_conn:
    shoal__pipe_release(&lane->pen);
fail_pen:
    shoal__free(lane);
    return NULL;
}

static bool is_open(const shoal__lane_t *lane)
{
    return lane && lane->conn.state != SHOAL__CONN_IDLE &&
           lane->conn.state != SHOAL__CONN_CLOSED;
}

/* Also in the callbacks that a loss runs. */
static bool is_ready(const shoal__conn_t *conn)
{
    return conn->pipe.phase == SHOAL__PIPE_READY && !conn->pipe.is_offline;
}

static bool is_empty(const shoal__lane_t *lane)
{
    return shoal__pipe_oldest_us(&lane->pen) == SHOAL__NEVER_US &&
           lane->conn.pipe.ring.head == lane->conn.pipe.ring.tail &&
           shoal__pipe_held(&lane->conn.pipe) == 0;
}

/* Does the connection lead to a server process that is known?  Two that lead to different
 * servers are no lanes. */
static bool has_process(const shoal__conn_t *conn)
{
    return is_ready(conn) && conn->pipe.greeting.identity.process[0] != '\0';
}

bool shoal__lanes_are_twins(const shoal__lanes_t *lanes)
{
    const shoal__lane_t *lane = lanes->bulk;

    return lane && has_process(lanes->ordinary) && has_process(&lane->conn) &&
           strcmp(lane->conn.pipe.greeting.identity.process,
                  lanes->ordinary->pipe.greeting.identity.process) == 0;
}

/* Do both lead somewhere, and not to the same server process?  The ordinary connection is
 * where the client is now. */
static bool are_strangers(const shoal__lanes_t *lanes)
{
    return is_ready(lanes->ordinary) && is_ready(&lanes->bulk->conn) &&
           !shoal__lanes_are_twins(lanes);
}

static void open_lane(shoal__lanes_t *lanes, uint64_t now_us)
{
    shoal__lane_t *lane = lanes->bulk;

    lanes->is_wanted = false;
    if (now_us < lanes->again_us || is_open(lane) || !has_process(lanes->ordinary))
        return;
    if (!lane) {
        lane = new_lane(lanes);
        lanes->bulk = lane;
    }
    if (!lane)
        return;
    lane->used_us = now_us;
    shoal__conn_open(&lane->conn);
}

/* Could the server of the ordinary connection still run a command of this connection of a
 * lane that was lost?  What another process runs does not matter to it. */
static bool may_run_here(const shoal__lanes_t *lanes, unsigned former)
{
    return !has_process(lanes->ordinary) ||
           shoal__former_may_be_on(&lanes->bulk->conn.pipe.greeting.former, former,
                                   lanes->ordinary->pipe.greeting.identity.process);
}

/* ... of any.  Of a lane that was given up nothing more will be known. */
static bool is_doubtful(const shoal__lanes_t *lanes)
{
    const shoal__former_t *former = &lanes->bulk->conn.pipe.greeting.former;

    if (!is_open(lanes->bulk) || former->has_lost_track)
        return is_open(lanes->bulk);
    for (unsigned i = 0; i < former->count; i++)
        if (may_run_here(lanes, i))
            return true;
    return false;
}

/* Will the server say that it runs nothing of the lane any more (doubts.h)? */
static bool may_be_proved(const shoal__lanes_t *lanes)
{
    const shoal__former_t *former = &lanes->bulk->conn.pipe.greeting.former;

    for (unsigned i = 0; i < former->count; i++)
        if (former->entries[i].elsewhere != SHOAL__FORMER_IN_VAIN &&
            may_run_here(lanes, i))
            return true;
    return false;
}

/* Commands of which no byte has left. */
static uint64_t waiting(const shoal__lane_t *lane)
{
    return shoal__pipe_held(&lane->conn.pipe) + shoal__pipe_queued(&lane->conn.pipe) +
           shoal__pipe_queued(&lane->pen);
}

/* What waits for the lane goes to the ordinary connection.  False: no memory. */
static bool move_back(shoal__lanes_t *lanes, shoal__lane_t *lane, uint64_t now_us)
{
    shoal__pipe_t *to = &lanes->ordinary->pipe;
    uint64_t before = waiting(lane);
    bool is_done =
        shoal__pipe_move_held(&lane->conn.pipe, to, NULL, NULL, now_us) == 0 &&
        shoal__pipe_move_queued(&lane->conn.pipe, to, NULL, NULL, now_us) == 0 &&
        shoal__pipe_move_queued(&lane->pen, to, NULL, NULL, now_us) == 0;

    if (waiting(lane) != before)
        shoal__conn_touch(lanes->ordinary);
    return is_done;
}

/* It cannot be had.  False: no memory. */
static bool give_up(shoal__lanes_t *lanes, shoal__lane_t *lane, uint64_t now_us)
{
    if (!move_back(lanes, lane, now_us))
        return false;
    shoal__conn_close(&lane->conn, now_us);
    lanes->again_us = shoal__time_after(now_us, AGAIN_US);
    return true;
}

/* Which commands have left the lane?  While its connection is lost nobody knows. */
void shoal__lanes_look(shoal__lanes_t *lanes)
{
    shoal__lane_t *lane = lanes->bulk;
    uint64_t oldest_us = shoal__time_min(shoal__pipe_oldest_us(&lane->pen),
                                         shoal__pipe_oldest_us(&lane->conn.pipe));

    if (is_ready(&lane->conn) || (oldest_us == SHOAL__NEVER_US && !is_doubtful(lanes)))
        shoal__lane_map_look(&lane->map, oldest_us);
}

/* ---- commands in ---- */

shoal__pipe_t *shoal__lanes_reserve(shoal__lanes_t *lanes, shoal__lanes_share_t share,
                                    bool is_behind, char **ret_bytes)
{
    shoal__lane_t *lane = lanes->bulk;
    bool may_pass = !is_behind && is_ready(lanes->ordinary) && !are_strangers(lanes) &&
                    shoal__pipe_oldest_us(&lane->pen) == SHOAL__NEVER_US &&
                    shoal__pipe_oldest_us(&lanes->ordinary->pipe) == SHOAL__NEVER_US;
    shoal__pipe_t *pipe = may_pass ? &lane->conn.pipe : &lane->pen;

    *ret_bytes = shoal__pipe_reserve(pipe, share.bytes, share.commands);
    return *ret_bytes ? pipe : NULL;
}

void shoal__lanes_push(shoal__lanes_t *lanes, shoal__pipe_t *pipe,
                       const shoal__request_t *request, uint64_t now_us)
{
    shoal__request_t taken = *request;

    taken.flags &= (uint16_t)~SHOAL__REQUEST_APART;
    shoal__stage_times_count(&pipe->times, SHOAL_STAGE_QUEUED,
                             shoal__time_since(taken.submitted_us, now_us), 1);
    shoal__pipe_push(pipe, &taken);
    shoal__stage_times_taken(&pipe->times, 1, now_us);
    shoal__counter_add(&lanes->taken, 1);
    shoal__conn_touch(&((shoal__lane_t *)lanes->bulk)->conn);
}

/* ---- the turn ---- */

static bool may_leave_pen(void *data, const shoal__request_t *request,
                          const char *bytes)
{
    const shoal__pipe_t *ordinary = data;

    (void)bytes;
    return !shoal__pipe_has_since(ordinary, request->submitted_us);
}

/* The ordinary connection must be there: if it was lost, the server may still run what it
 * carried, until its successor is greeted.  False: no memory. */
static bool empty_pen(shoal__lanes_t *lanes, shoal__lane_t *lane, uint64_t now_us)
{
    shoal__pipe_t *ordinary = &lanes->ordinary->pipe;
    uint64_t oldest_us = shoal__pipe_oldest_us(&lane->pen);

    if (oldest_us == SHOAL__NEVER_US || !is_ready(lanes->ordinary) ||
        shoal__pipe_has_since(ordinary, oldest_us))
        return true;
    if (shoal__pipe_move_queued(&lane->pen, &lane->conn.pipe, may_leave_pen, ordinary,
                                now_us) < 0)
        return false;
    shoal__conn_touch(&lane->conn);
    return true;
}

/* It was as large as all commands in it.  Those that were given up still are. */
static void rest_pen(shoal__pipe_t *pen)
{
    if (shoal__pipe_oldest_us(pen) != SHOAL__NEVER_US)
        return;
    if (pen->ring.gone > 0)
        shoal__pipe_sweep(pen);
    shoal__buffer_shrink(&pen->log, PEN_BYTES_KEPT);
}

/* False: no memory. */
static bool look_at_life(shoal__lanes_t *lanes, shoal__lane_t *lane, uint64_t now_us)
{
    if (!is_empty(lane) || !is_ready(&lane->conn))
        lane->used_us = now_us;
    if (lane->conn.state == SHOAL__CONN_BACKOFF &&
        lane->conn.pipe.attempts_failed > 0 && !may_be_proved(lanes))
        return give_up(lanes, lane, now_us);
    if (is_ready(&lane->conn) && is_empty(lane) &&
        (now_us >= shoal__time_after(lane->used_us, IDLE_US) || are_strangers(lanes)))
        shoal__conn_close(&lane->conn, now_us);
    return true;
}

uint64_t shoal__lanes_turn(shoal__lanes_t *lanes, uint64_t now_us)
{
    shoal__lane_t *lane;
    bool is_done;

    if (lanes->is_wanted)
        open_lane(lanes, now_us);
    lane = lanes->bulk;
    if (!is_open(lane))
        return SHOAL__NEVER_US;
    lane->pen.now_us = now_us;
    shoal__pipe_expire(&lane->pen);
    is_done = are_strangers(lanes) ? move_back(lanes, lane, now_us)
                                   : empty_pen(lanes, lane, now_us);
    rest_pen(&lane->pen);
    shoal__lanes_look(lanes);
    is_done = look_at_life(lanes, lane, now_us) && is_done;
    shoal__lanes_look(lanes);
    return is_done ? shoal__lanes_next_wake_us(lanes) : now_us + NO_MEMORY_DELAY_US;
}

uint64_t shoal__lanes_next_wake_us(const shoal__lanes_t *lanes)
{
    const shoal__lane_t *lane = lanes->bulk;
    uint64_t wake_us;

    if (!is_open(lane))
        return SHOAL__NEVER_US;
    wake_us = shoal__time_min(shoal__pipe_next_wake_us(&lane->pen),
                              shoal__pipe_next_wake_us(&lane->conn.pipe));
    return shoal__time_min(wake_us, shoal__time_after(lane->used_us, IDLE_US));
}

/* ---- what others ask for ---- */

void shoal__lanes_read_ahead(shoal__lanes_t *lanes)
{
    shoal__lane_t *lane = lanes->bulk;

    if (is_open(lane))
        shoal__conn_read_ahead(&lane->conn);
}

bool shoal__lanes_cancel(shoal__lanes_t *lanes, uint64_t ticket, uint64_t now_us)
{
    shoal__lane_t *lane = lanes->bulk;

    if (!lane)
        return false;
    shoal__conn_touch(&lane->conn);
    return shoal__pipe_cancel(&lane->pen, ticket, now_us) ||
           shoal__pipe_cancel(&lane->conn.pipe, ticket, now_us);
}

void shoal__lanes_reconnect(shoal__lanes_t *lanes, uint64_t now_us)
{
    shoal__lane_t *lane = lanes->bulk;

    if (is_open(lane))
        shoal__conn_reconnect(&lane->conn, now_us);
}

void shoal__lanes_publish(shoal__lanes_t *lanes)
{
    shoal__lane_t *lane = lanes->bulk;

    if (lane)
        shoal__conn_set_count(lane->conn.set, &lane->pen);
}

bool shoal__lanes_are_idle(const shoal__lanes_t *lanes)
{
    const shoal__lane_t *lane = lanes->bulk;

    if (lanes->is_wanted)
        return false;
    return !is_open(lane) || (lane->conn.state == SHOAL__CONN_READY && is_empty(lane) &&
                              !shoal__renewal_is_under_way(&lane->conn.pipe.renewal));
}

bool shoal__lanes_have_since(const shoal__lanes_t *lanes, uint64_t until_us)
{
    const shoal__lane_t *lane = lanes->bulk;

    return is_open(lane) && (shoal__pipe_has_since(&lane->pen, until_us) ||
                             shoal__pipe_has_since(&lane->conn.pipe, until_us));
}

void shoal__lanes_each(const shoal__lanes_t *lanes, shoal__route_visit_fn visit,
                       void *data)
{
    const shoal__lane_t *lane = lanes->bulk;
    shoal__route_member_t member;

    if (!lane)
        return;
    shoal__figures_read(&lane->conn, &member);
    shoal__figures_add_pen(&lane->pen, &member);
    visit(data, &member);
}

void shoal__lanes_read(const shoal__lanes_t *lanes, shoal_stats_t *to)
{
    to->bulk = shoal__counter_get(&lanes->taken);
}

/* ---- the end ---- */

void shoal__lanes_shut(shoal__lanes_t *lanes, uint64_t now_us)
{
    shoal__lane_t *lane = lanes->bulk;

    if (!lane)
        return;
    shoal__pipe_abandon(&lane->pen, now_us);
    shoal__conn_close(&lane->conn, now_us);
}

void shoal__lanes_forget(shoal__lanes_t *lanes)
{
    shoal__lane_t *lane = lanes->bulk;

    if (lane)
        shoal__conn_forget(&lane->conn);
}
