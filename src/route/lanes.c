/* SPDX-License-Identifier: MIT */
#include "route/lanes.h"

#include "base/time_us.h"
#include "core/pipe/pipe_lane.h"
#include "core/pipe/pipe_move.h"
#include "net/conn_set.h"
#include "route/figures.h"
#include <shoal/errors.h>
#include <stdio.h>

#define IDLE_US 60000000
#define NO_MEMORY_DELAY_US 1000
/* So that the ordinary connection waits for a part of a large command, not for all of it. */
#define TURN_BYTES_MAX 131072

int shoal__lanes_init(shoal__lanes_t *lanes, shoal__homes_t *homes,
                      const shoal__route_hooks_t *hooks, void *owner, bool is_allowed)
{
    *lanes = (shoal__lanes_t){.homes = homes,
                              .hooks = *hooks,
                              .owner = owner,
                              .config = *homes->conns->config,
                              .is_allowed = is_allowed};
    /* Nothing is gained by gathering what is large. */
    lanes->config.pipe.flush.mode = SHOAL_FLUSH_OFF;
    lanes->config.pipe.is_ordinary = false;
    lanes->config.turn_bytes_max = TURN_BYTES_MAX;
    if (!shoal__homes_are_many(lanes->homes))
        return 0;
    homes->conns->set->shared.wants_bulk = true;
    lanes->bulk = shoal__lane_new(&lanes->config, lanes->homes->conns, &lanes->hooks,
                                  lanes->owner);
    return lanes->bulk ? 0 : SHOAL_ENOMEM;
}

void shoal__lanes_release(shoal__lanes_t *lanes)
{
    shoal__lane_free(lanes->bulk);
}

/* Is there anything to look at? */
static bool is_in_use(const shoal__lanes_t *lanes)
{
    return shoal__homes_are_many(lanes->homes) || shoal__lane_is_open(lanes->bulk);
}

bool shoal__lanes_are_twins(const shoal__lanes_t *lanes)
{
    const shoal__lane_t *lane = lanes->bulk;

    return lane && shoal__home_has_process(&lane->conn) &&
           shoal__homes_have_process(lanes->homes) &&
           shoal__homes_are_kin(lanes->homes) &&
           shoal__home_is_same_process(&lane->conn, lanes->homes->conns);
}

/* Do all lead somewhere, and the lane not to the homes' server process?  The homes are
 * where the client is now.  While they differ, one of them may be where the lane is. */
static bool are_strangers(const shoal__lanes_t *lanes)
{
    return shoal__homes_are_ready(lanes->homes) && shoal__homes_are_kin(lanes->homes) &&
           shoal__home_is_ready(&lanes->bulk->conn) && !shoal__lanes_are_twins(lanes);
}

static void open_lane(shoal__lanes_t *lanes, uint64_t now_us)
{
    shoal__lane_t *lane = lanes->bulk;

    lanes->is_wanted = false;
    if (now_us < lanes->again_us || shoal__lane_is_open(lane) ||
        !shoal__homes_have_process(lanes->homes))
        return;
    if (!lane) {
        lane = shoal__lane_new(&lanes->config, lanes->homes->conns, &lanes->hooks,
                               lanes->owner);
        lanes->bulk = lane;
    }
    if (!lane)
        return;
    lane->used_us = now_us;
    shoal__conn_open(&lane->conn);
}

/* Could the server of a home still run a command of this connection of a lane that was lost?
 * What another process runs does not matter to it. */
static bool may_run_here(const shoal__lanes_t *lanes, unsigned former)
{
    for (size_t i = 0; i < lanes->homes->count; i++) {
        const shoal__conn_t *home = &lanes->homes->conns[i];
        if (!shoal__home_has_process(home) ||
            shoal__former_may_be_on(&lanes->bulk->conn.pipe.greeting.former, former,
                                    home->pipe.greeting.identity.process))
            return true;
    }
    return false;
}

/* ... of any.  Of a lane that was given up nothing more will be known. */
static bool is_doubtful(const shoal__lanes_t *lanes)
{
    const shoal__former_t *former = &lanes->bulk->conn.pipe.greeting.former;

    if (!shoal__lane_is_open(lanes->bulk) || former->has_lost_track)
        return shoal__lane_is_open(lanes->bulk);
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

/* Commands went from the pen or the lane to the first home. */
static void note_moved(shoal__lanes_t *lanes, uint64_t submitted_us)
{
    lanes->moved_us = shoal__time_max(lanes->moved_us, submitted_us);
}

/* What waits for the lane goes to the first home.  If there are others, the pen's commands
 * wait for them.  False: no memory. */
static bool move_back(shoal__lanes_t *lanes, shoal__lane_t *lane, uint64_t now_us)
{
    bool are_many = shoal__homes_are_many(lanes->homes);
    shoal__pipe_t *to = &lanes->homes->conns->pipe;
    uint64_t before = waiting(lane);
    bool is_done =
        shoal__pipe_move_held(&lane->conn.pipe, to, NULL, NULL, now_us) == 0 &&
        shoal__pipe_move_queued(&lane->conn.pipe, to, NULL, NULL, now_us) == 0 &&
        (are_many || shoal__pipe_move_queued(&lane->pen, to, NULL, NULL, now_us) == 0);

    if (waiting(lane) == before)
        return is_done;
    shoal__conn_touch(lanes->homes->conns);
    /* None of them was submitted later; some may have been after now_us. */
    if (are_many)
        note_moved(lanes, lane->map.newest);
    return is_done;
}

/* It cannot be had for now, and its commands do not wait for it.  The next command for it may
 * open it when the connection's backoff is over, as the event has told: after a single failure
 * soon, because without the lane large commands hold small ones up; while the server refuses
 * every attempt, seldom.  False: no memory. */
static bool give_up(shoal__lanes_t *lanes, shoal__lane_t *lane, uint64_t now_us)
{
    if (!move_back(lanes, lane, now_us))
        return false;
    lanes->again_us = lane->conn.due_us;
    shoal__conn_close(&lane->conn, now_us);
    return true;
}

/* Of the commands that were moved to the first home: when was the oldest submitted that may
 * be there yet?  False: nobody knows, while that home is lost. */
static bool look_at_moved(shoal__lanes_t *lanes, uint64_t *oldest_us)
{
    uint64_t home_us;

    if (lanes->moved_us == 0)
        return true;
    if (!shoal__home_is_ready(lanes->homes->conns))
        return false;
    home_us = shoal__pipe_oldest_us(&lanes->homes->conns->pipe);
    if (home_us > lanes->moved_us)
        lanes->moved_us = 0;
    else
        *oldest_us = shoal__time_min(*oldest_us, home_us);
    return true;
}

/* Which commands have left the lane?  While its connection is lost nobody knows. */
static void look(shoal__lanes_t *lanes)
{
    shoal__lane_t *lane = lanes->bulk;
    uint64_t conn_us = shoal__pipe_oldest_us(&lane->conn.pipe);
    uint64_t oldest_us = shoal__time_min(shoal__pipe_oldest_us(&lane->pen), conn_us);

    if (look_at_moved(lanes, &oldest_us) &&
        (shoal__home_is_ready(&lane->conn) ||
         (conn_us == SHOAL__NEVER_US && !is_doubtful(lanes))))
        shoal__lane_map_look(&lane->map, oldest_us);
}

void shoal__lanes_look_once(shoal__lanes_t *lanes)
{
    if (lanes->bulk && !lanes->was_looked_at)
        look(lanes);
    lanes->was_looked_at = true;
}

/* ---- commands in ---- */

/* Where commands go that need not wait in the pen.  Several homes: to the first of them,
 * unless the lane is open, or was lost and something of it may run yet. */
static shoal__conn_t *behind_pen(const shoal__lanes_t *lanes)
{
    shoal__lane_t *lane = lanes->bulk;
    bool is_lane_needed = !shoal__homes_are_many(lanes->homes) ||
                          shoal__lanes_are_twins(lanes) ||
                          (!are_strangers(lanes) &&
                           (!shoal__lane_is_drained(lane) || is_doubtful(lanes)));

    return is_lane_needed ? &lane->conn : lanes->homes->conns;
}

shoal__pipe_t *shoal__lanes_reserve(shoal__lanes_t *lanes, shoal__lanes_share_t share,
                                    bool is_behind, char **ret_bytes)
{
    shoal__lane_t *lane = lanes->bulk;
    bool may_pass = !is_behind && shoal__homes_are_ready(lanes->homes) &&
                    shoal__homes_are_kin(lanes->homes) && !are_strangers(lanes) &&
                    !shoal__lane_has_pen(lane) &&
                    !shoal__homes_have_since(lanes->homes, SHOAL__NEVER_US);
    shoal__pipe_t *pipe = may_pass ? &behind_pen(lanes)->pipe : &lane->pen;

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
    if (pipe == &lanes->homes->conns->pipe) {
        note_moved(lanes, taken.submitted_us);
        shoal__conn_touch(lanes->homes->conns);
        return;
    }
    shoal__conn_touch(&((shoal__lane_t *)lanes->bulk)->conn);
}

/* ---- the turn ---- */

typedef struct leaving {
    uint64_t until_us;  /* commands that were submitted before may leave */
    uint64_t newest_us; /* of those that do */
} leaving_t;

static bool may_leave_pen(void *data, const shoal__request_t *request,
                          const char *bytes)
{
    leaving_t *leaving = data;

    (void)bytes;
    if (request->submitted_us >= leaving->until_us)
        return false;
    leaving->newest_us = shoal__time_max(leaving->newest_us, request->submitted_us);
    return true;
}

/* The homes must be there: if one was lost, the server may still run what it carried, until
 * its successor is greeted.  False: no memory. */
static bool empty_pen(shoal__lanes_t *lanes, shoal__lane_t *lane, uint64_t now_us)
{
    leaving_t leaving = {0};
    uint64_t oldest_us = shoal__pipe_oldest_us(&lane->pen);
    shoal__conn_t *to;

    if (oldest_us == SHOAL__NEVER_US || !shoal__homes_are_ready(lanes->homes) ||
        !shoal__homes_are_kin(lanes->homes) ||
        shoal__homes_have_since(lanes->homes, oldest_us))
        return true;
    leaving.until_us = shoal__homes_oldest_us(lanes->homes);
    to = behind_pen(lanes);
    if (shoal__pipe_move_queued(&lane->pen, &to->pipe, may_leave_pen, &leaving,
                                now_us) < 0)
        return false;
    if (to == lanes->homes->conns)
        note_moved(lanes, leaving.newest_us);
    shoal__conn_touch(to);
    return true;
}

/* False: no memory. */
static bool look_at_life(shoal__lanes_t *lanes, shoal__lane_t *lane, uint64_t now_us)
{
    if (!shoal__lane_is_open(lane))
        return true;
    if (!shoal__lane_is_empty(lane) || !shoal__home_is_ready(&lane->conn))
        lane->used_us = now_us;
    if (lane->conn.state == SHOAL__CONN_BACKOFF &&
        lane->conn.pipe.attempts_failed > 0 && !may_be_proved(lanes))
        return give_up(lanes, lane, now_us);
    if (shoal__home_is_ready(&lane->conn) && shoal__lane_is_empty(lane) &&
        (now_us >= shoal__time_after(lane->used_us, IDLE_US) || are_strangers(lanes)))
        shoal__conn_close(&lane->conn, now_us);
    return true;
}

/* What waits in the pen is offline if a home is: with offline=fail it does not wait. */
static void mirror_homes(const shoal__homes_t *homes, shoal__pipe_t *pen)
{
    const shoal__conn_t *home = shoal__homes_offline(homes);

    pen->is_offline = home != NULL;
    if (!home)
        return;
    pen->offline_since_us = home->pipe.offline_since_us;
    pen->attempts_failed = home->pipe.attempts_failed;
    snprintf(pen->detail, sizeof pen->detail, "%s", home->pipe.detail);
}

/* The lane was closed in an earlier turn, so it has no command, and the account knows that.
 * Until a reply is large again, or a command is for the lane, nothing is to be done for it. */
static void fall_asleep(shoal__lanes_t *lanes, uint64_t now_us)
{
    shoal__pipe_shared_t *shared = &lanes->homes->conns->set->shared;

    shared->wants_bulk = !shoal__heavy_is_empty(&shared->heavy, now_us);
}

uint64_t shoal__lanes_turn(shoal__lanes_t *lanes, uint64_t now_us)
{
    shoal__lane_t *lane;
    bool is_strange, is_done;

    lanes->was_looked_at = false;
    if (lanes->is_wanted)
        open_lane(lanes, now_us);
    lane = lanes->bulk;
    if (!is_in_use(lanes)) {
        fall_asleep(lanes, now_us);
        return SHOAL__NEVER_US;
    }
    shoal__homes_renew(lanes->homes, now_us);
    lane->pen.now_us = now_us;
    mirror_homes(lanes->homes, &lane->pen);
    shoal__pipe_expire(&lane->pen);
    is_strange = are_strangers(lanes);
    is_done = !is_strange || move_back(lanes, lane, now_us);
    /* What was in the lane goes first. */
    if (is_done && (!is_strange || shoal__homes_are_many(lanes->homes)))
        is_done = empty_pen(lanes, lane, now_us);
    shoal__lane_rest_pen(lane);
    look(lanes);
    is_done = look_at_life(lanes, lane, now_us) && is_done;
    look(lanes);
    return is_done ? shoal__lanes_next_wake_us(lanes) : now_us + NO_MEMORY_DELAY_US;
}

uint64_t shoal__lanes_next_wake_us(const shoal__lanes_t *lanes)
{
    const shoal__lane_t *lane = lanes->bulk;
    uint64_t wake_us;

    if (!is_in_use(lanes))
        return SHOAL__NEVER_US;
    wake_us = shoal__pipe_next_wake_us(&lane->pen);
    wake_us = shoal__time_min(wake_us, shoal__homes_next_wake_us(lanes->homes));
    if (!shoal__lane_is_open(lane))
        return wake_us;
    wake_us = shoal__time_min(wake_us, shoal__pipe_next_wake_us(&lane->conn.pipe));
    return shoal__time_min(wake_us, shoal__time_after(lane->used_us, IDLE_US));
}

/* ---- what others ask for ---- */

void shoal__lanes_read_ahead(shoal__lanes_t *lanes)
{
    shoal__lane_t *lane = lanes->bulk;

    if (shoal__lane_is_open(lane))
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

    if (shoal__lane_is_open(lane))
        shoal__conn_reconnect(&lane->conn, SHOAL__CONN_ASKED_FOR, now_us);
}

void shoal__lanes_authenticate(shoal__lanes_t *lanes, uint64_t now_us)
{
    shoal__lane_t *lane = lanes->bulk;

    if (shoal__lane_is_open(lane))
        shoal__conn_authenticate(&lane->conn, now_us);
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

    if (lanes->is_wanted ||
        (shoal__homes_are_many(lanes->homes) && !shoal__lane_is_empty(lane)))
        return false;
    return !shoal__lane_is_open(lane) ||
           (lane->conn.state == SHOAL__CONN_READY && shoal__lane_is_empty(lane) &&
            !shoal__conn_is_renewed(&lane->conn));
}

bool shoal__lanes_have_since(const shoal__lanes_t *lanes, uint64_t until_us)
{
    const shoal__lane_t *lane = lanes->bulk;

    for (size_t i = 1; i < lanes->homes->count; i++)
        if (shoal__pipe_has_since(&lanes->homes->conns[i].pipe, until_us))
            return true;
    return is_in_use(lanes) && (shoal__pipe_has_since(&lane->pen, until_us) ||
                                shoal__pipe_has_since(&lane->conn.pipe, until_us));
}

void shoal__lanes_each(const shoal__lanes_t *lanes, shoal__route_visit_fn visit,
                       void *data)
{
    const shoal__lane_t *lane = lanes->bulk;
    shoal__route_member_t member;

    for (size_t i = 0; i < lanes->homes->count; i++) {
        shoal__figures_read(&lanes->homes->conns[i], &member);
        /* The lane may never be opened. */
        if (i == 0 && shoal__homes_are_many(lanes->homes))
            shoal__figures_add_pen(&lane->pen, &member);
        visit(data, &member);
    }
    if (!lane || (shoal__homes_are_many(lanes->homes) &&
                  shoal__counter_get(&lane->conn.stats.epoch) == 0))
        return;
    shoal__figures_read(&lane->conn, &member);
    if (!shoal__homes_are_many(lanes->homes))
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
