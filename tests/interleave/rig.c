/* SPDX-License-Identifier: MIT */

/* The connection of the rig: commands in order, answers in order. */

#define SHIM_IMPLEMENTATION
#include "interleave/shim.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "client/life.h"
#include "core/pipe/request_ring.h"
#include "core/result.h"
#include "interleave/rig.h"
#include "interleave/rig_parts.h"
#include "route/cluster.h"
#include "route/standalone.h"
#include <shoal/errors.h>
#include <string.h>

#define COMMAND_BYTES_MAX 64

static struct {
    rig_options_t options;
    shoal_client_t *client;
    unsigned written;    /* commands, in all */
    unsigned drives;     /* turns of direct drivers */
    unsigned sent;       /* on their way to the server */
    unsigned answers;    /* on their way back */
    bool is_hung_up;     /* by the server: the end of the stream is to be read */
    bool has_hung_up;    /* it does so once */
    bool was_astray;     /* what no command asked for was read */
    const void *lost_by; /* the direct driver that lost the connection; NULL: none */
    bool is_loss_told;
    bool is_closed;     /* by the client */
    bool is_gone;       /* so is the client */
    bool is_turning;    /* a thread has the loop, and is in a turn */
    uint64_t turned_us; /* when it began */
} rig;

/* Does a caller that is awake run this turn? */
static bool is_awake_turn(void)
{
    return rig.client->direct && shoal__client_route(rig.client)->awake > 0;
}

/* ---- the server ---- */

/* It got something. */
static void serve(unsigned count)
{
    rig.sent -= count;
    if (rig.options.is_silent)
        return;
    if (rig.options.hangs_up && !rig.has_hung_up)
        rig.is_hung_up = rig.has_hung_up = true;
    else
        rig.answers += count;
}

static uint64_t answers_from_us(void)
{
    return EXPLORE_START_US + rig.options.late_us;
}

static unsigned ways_to_serve(const explore_step_t *step)
{
    (void)step;
    if (rig.is_closed || (rig.sent > 0 && explore_peek_us() >= answers_from_us()))
        return 1U << EXPLORE_DONE;
    return 0;
}

static void run_server(void *data)
{
    (void)data;
    while (!rig.is_closed) {
        explore_point(&(explore_step_t){.what = "serve",
                                        .objects = {&rig.sent, &rig.answers},
                                        .is_write = true,
                                        .ways = ways_to_serve,
                                        .is_yield = rig.options.answers_singly,
                                        .until_us = answers_from_us()});
        serve(rig.sent && rig.options.answers_singly ? 1 : rig.sent);
    }
}

static bool has_strayed(uint64_t until_us)
{
    return rig.options.strays && !rig.was_astray &&
           until_us >= EXPLORE_START_US + RIG_TICK_US;
}

bool rig_socket_is_readable(void)
{
    return !rig.is_closed &&
           (rig.answers > 0 || rig.is_hung_up || has_strayed(explore_peek_us()));
}

const void *rig_socket(void)
{
    return &rig.answers;
}

static unsigned ways_when_written(const explore_step_t *step)
{
    const unsigned *commands = step->data;

    return rig.written >= *commands ? 1U << EXPLORE_DONE : 0;
}

void rig_wait_written(unsigned commands)
{
    explore_point(&(explore_step_t){.what = "wait for commands",
                                    .objects = {&rig.written},
                                    .ways = ways_when_written,
                                    .data = &commands});
}

/* ---- the route ---- */

static struct {
    shoal__route_t route;
    shoal__route_hooks_t hooks;
    void *owner; /* of the hooks */
    shoal__request_ring_t ring;
    bool is_ready;
} line;

static void open_line(shoal__route_t *route, shoal__loop_t *loop)
{
    (void)route;
    (void)loop;
    explore_check(line.is_ready);
}

static void free_line(shoal__route_t *route)
{
    (void)route;
    shoal__request_ring_release(&line.ring);
    rig.is_gone = true;
}

static void tell(shoal_event_kind_t kind, int status)
{
    const shoal_event_t event = {
        .kind = kind, .status = status, .detail = "", .server = ""};

    line.hooks.on_event(line.owner, &event);
}

static void lose(void)
{
    rig.lost_by = rig.client->direct;
    line.is_ready = false;
    shoal__request_ring_rewind(&line.ring);
    tell(SHOAL_EVENT_LOST, SHOAL_ECONN);
}

static void answer(int status);

static void fail_all(void)
{
    rig.answers = 0;
    while (shoal__request_ring_length(&line.ring) > 0)
        answer(SHOAL_ECONN);
    line.hooks.on_delivered(line.owner);
    lose();
}

static void write_out(void)
{
    unsigned count = (unsigned)shoal__request_ring_queued(&line.ring);

    /* A direct driver looks for room without the lock, while others submit. */
    explore_check(count <= rig.client->options->queued_max + (rig.drives > 0));
    if (count == 0 || rig.options.is_stalled || !line.is_ready)
        return;
    /* What arrived unasked before a caller looked at the clock must not meet its command. */
    explore_check(!rig.client->direct || !has_strayed(rig.turned_us));
    if (rig.options.breaks && !rig.has_hung_up) {
        rig.has_hung_up = true;
        lose();
        return;
    }
    if (rig.options.fails && !rig.has_hung_up && is_awake_turn()) {
        rig.has_hung_up = true;
        fail_all();
        return;
    }
    explore_point(&(explore_step_t){.what = "send",
                                    .objects = {&rig.sent, &rig.answers, &rig.written},
                                    .is_write = true});
    shoal__request_ring_mark_sent(&line.ring, count);
    rig.written += count;
    rig.sent += count;
    if (!rig.options.answers_slowly)
        serve(rig.sent);
}

/* When the route wants the next turn. */
static uint64_t wake_after(uint64_t now_us)
{
    /* The background thread tries again at once; a direct driver is not to wait for it. */
    if (!line.is_ready && !rig.client->direct)
        return now_us;
    return SHOAL__NEVER_US;
}

static uint64_t turn(shoal__route_t *route, uint64_t now_us)
{
    (void)route;
    explore_check(!rig.is_turning);
    rig.is_turning = true;
    rig.turned_us = now_us;
    rig.drives += rig.client->direct != NULL;
    rig_seen_now.awake_turns += is_awake_turn();
    /* A thread that submits meanwhile must not wake the driver for nothing. */
    explore_check(!is_awake_turn() || !rig.client->seat.is_asleep);
    if (!line.is_ready && rig.client->direct) {
        /* It lost the connection a moment ago, and hands over before another turn. */
        explore_check(rig.lost_by == rig.client->direct);
        rig.lost_by = NULL;
    } else if (!line.is_ready) {
        line.is_ready = true;
        tell(SHOAL_EVENT_READY, 0);
    }
    write_out();
    rig.is_turning = false;
    return wake_after(now_us);
}

static void answer(int status)
{
    shoal__request_t request = *shoal__request_ring_at(&line.ring, line.ring.head);
    const shoal_result_t result = {.status = status,
                                   .fate =
                                       status ? SHOAL_FATE_UNKNOWN : SHOAL_FATE_REPLIED,
                                   .detail = "",
                                   .attempts = 1,
                                   .tag = request.tag};

    shoal__request_ring_pop(&line.ring);
    if (line.ring.sent < line.ring.head)
        line.ring.sent = line.ring.head;
    line.hooks.on_result(line.owner, &request, &result);
}

void rig_socket_read(void)
{
    unsigned count;

    explore_touch("receive", &rig.answers, true);
    explore_check(!rig.is_turning);
    count = rig.answers;
    rig.answers = 0;
    line.hooks.on_reading(line.owner, shoal__clock_us());
    while (count-- > 0)
        answer(0);
    line.hooks.on_delivered(line.owner);
    if (rig.is_hung_up || has_strayed(explore_peek_us())) {
        rig.was_astray |= has_strayed(explore_peek_us());
        rig.is_hung_up = false;
        lose();
        line.hooks.on_delivered(line.owner);
    }
}

static void read_ahead(shoal__route_t *route)
{
    (void)route;
    explore_touch("look for answers", &rig.answers, false);
    if (rig_socket_is_readable())
        rig_socket_read();
}

static void shut_line(shoal__route_t *route, uint64_t now_us)
{
    (void)route;
    (void)now_us;
    while (shoal__request_ring_length(&line.ring) > 0)
        answer(SHOAL_ESHUTDOWN);
    line.is_ready = false;
    explore_point(&(explore_step_t){
        .what = "hang up", .objects = {&rig.sent, &rig.answers}, .is_write = true});
    rig.is_closed = true;
}

static void forget(shoal__route_t *route)
{
    (void)route;
}

static bool cancel(shoal__route_t *route, uint64_t ticket, uint64_t now_us)
{
    (void)route;
    (void)ticket;
    (void)now_us;
    explore_check(!rig.client->direct);
    return false;
}

static shoal__request_t *next(void)
{
    return shoal__request_ring_at(&line.ring, line.ring.tail);
}

static shoal__request_t *reserve(shoal__route_t *route, unsigned slot, size_t bytes,
                                 size_t count, char **ret_bytes)
{
    static char room[COMMAND_BYTES_MAX * 8];

    (void)route, (void)slot;
    explore_check(bytes <= sizeof room);
    *ret_bytes = room;
    return shoal__request_ring_reserve(&line.ring, count + 1) == 0 ? next() : NULL;
}

static shoal__request_t *push(shoal__route_t *route)
{
    (void)route;
    shoal__request_ring_push(&line.ring);
    return next();
}

static bool place(shoal__route_t *route, const shoal__mailbox_side_t *side,
                  uint64_t now_us)
{
    char *at;

    (void)now_us;
    if (!reserve(route, 0, shoal__buffer_bytes(&side->bytes), side->count, &at))
        return false;
    for (size_t i = 0; i < side->count; i++)
        *shoal__request_ring_push(&line.ring) = side->requests[i];
    return true;
}

static void view(const shoal__route_t *route, shoal__route_view_t *ret_view)
{
    (void)route;
    *ret_view = (shoal__route_view_t){.is_ready = line.is_ready,
                                      .is_idle = line.ring.head == line.ring.tail,
                                      .wake_after = 1};
}

static bool may_share(const shoal__route_t *route)
{
    (void)route;
    return line.is_ready && !rig.options.is_stalled;
}

static uint64_t next_wake_us(const shoal__route_t *route)
{
    (void)route;
    return SHOAL__NEVER_US;
}

static void publish(shoal__route_t *route)
{
    /* A thread that waits for room looks at it, with the lock. */
    explore_touch("publish", &rig.client->seat.lock, true);
    shoal__counter_set(&route->counts->account.queued,
                       shoal__request_ring_queued(&line.ring));
    shoal__counter_set(&route->counts->account.inflight,
                       shoal__request_ring_inflight(&line.ring));
}

static void shared_figures(const shoal__route_t *route, shoal_stats_t *ret_stats)
{
    (void)route;
    (void)ret_stats;
}

static void each(const shoal__route_t *route, shoal__route_visit_fn visit, void *data)
{
    (void)route;
    (void)visit;
    (void)data;
}

static void reconnect(shoal__route_t *route, uint64_t now_us)
{
    (void)route;
    (void)now_us;
    explore_check(!rig.client->direct); /* it is for the background thread */
    rig.sent = rig.answers = 0;
    lose();
}

static const shoal__route_ops_t ops = {
    .open = open_line,
    .reserve = reserve,
    .push = push,
    .place = place,
    .turn = turn,
    .read_ahead = read_ahead,
    .cancel = cancel,
    .reconnect = reconnect,
    .view = view,
    .may_share = may_share,
    .next_wake_us = next_wake_us,
    .publish = publish,
    .shared_figures = shared_figures,
    .each = each,
    .shut = shut_line,
    .forget = forget,
    .free = free_line,
};

static int new_line(const shoal_options_t *options, uint64_t seed,
                    const shoal__route_hooks_t *hooks, void *owner,
                    shoal__route_t **ret_route)
{
    (void)options;
    (void)seed;
    memset(&line, 0, sizeof line);
    line.route = (shoal__route_t){.ops = &ops, .counts = hooks->counts};
    line.hooks = *hooks;
    line.owner = owner;
    line.is_ready = true;
    *ret_route = &line.route;
    return shoal__request_ring_init(&line.ring, 8);
}

/* What the public functions open: not called here. */
int shoal__standalone_new(const shoal_options_t *options, uint64_t seed,
                          const shoal__route_hooks_t *hooks, void *owner,
                          shoal__route_t **ret_route)
{
    return new_line(options, seed, hooks, owner, ret_route);
}

int shoal__cluster_new(const shoal_options_t *options, uint64_t seed,
                       const shoal__route_hooks_t *hooks, void *owner,
                       shoal__route_t **ret_route)
{
    return new_line(options, seed, hooks, owner, ret_route);
}

/* ---- a scenario ---- */

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client;
    (void)data;
    explore_check(explore_self() == RIG_BACKGROUND);
    rig.is_loss_told |= event->kind == SHOAL_EVENT_LOST;
}

bool rig_is_loss_told(void)
{
    return rig.is_loss_told;
}

shoal_client_t *rig_begin(const rig_options_t *options)
{
    shoal_options_t *client_options;

    shim_begin();
    rig_loop_begin();
    memset(&rig, 0, sizeof rig);
    rig.options = *options;
    explore_check(shoal__options_copy(NULL, &client_options) == 0);
    client_options->addresses[0].unix_path = shoal__strdup("x");
    client_options->on_event = on_event;
    if (options->queued_max)
        client_options->queued_max = options->queued_max;
    client_options->timeout_us = SHOAL_TIMEOUT_NEVER;
    explore_check(
        shoal__client_open(&(shoal__client_plan_t){.drive = options->is_stepped
                                                                ? SHOAL__DRIVE_STEPS
                                                                : SHOAL__DRIVE_THREAD,
                                                   .new_route = new_line},
                           client_options, &rig.client) == 0);
    shoal__options_free(client_options);

    /* As if calls had come before; the client's thread has not begun yet. */
    rig.client->gate.is_ready = true;
    rig.client->is_open = true;
    if (options->is_about_to)
        rig.client->seat.token.lone = SHOAL__DRIVER_LONE_CALLS - 1;
    if (options->is_parked) {
        rig.client->seat.token.lone = SHOAL__DRIVER_LONE_CALLS;
        rig.client->seat.token.driver = SHOAL__DRIVER_PARKED;
        rig.client->seat.driver = SHOAL__DRIVER_PARKED;
        rig.client->wake_us = SHOAL__NEVER_US;
        rig.client->was_parked = true;
    }
    rig_checks_begin(rig.client, &line.ring, options->lacks_memory);
    if (options->answers_slowly)
        explore_start("server", run_server, NULL);
    return rig.client;
}

void rig_end(void)
{
    explore_check(rig.is_gone);
    explore_check(rig.answers == 0 || rig.is_closed);
    shim_end();
}
