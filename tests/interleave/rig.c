/* SPDX-License-Identifier: MIT */

/* The connection of the rig: commands in order, answers in order. */

#define SHIM_IMPLEMENTATION
#include "interleave/shim.h"

#include "api/client.h"
#include "base/alloc.h"
#include "base/time_us.h"
#include "core/result.h"
#include "interleave/rig.h"
#include "interleave/rig_parts.h"
#include "net/entropy.h"
#include "net/quiet_thread.h"
#include <shoal/errors.h>
#include <string.h>

#define COMMAND_BYTES_MAX 64

static struct {
    rig_options_t options;
    shoal_client_t *client;
    unsigned written; /* commands, in all */
    unsigned sent;    /* on their way to the server */
    unsigned answers; /* on their way back */
    bool is_hung_up;  /* by the server: the end of the stream is to be read */
    bool has_hung_up; /* it does so once */
    bool is_closed;   /* by the client */
    bool is_gone;     /* so is the client */
} rig;

/* ---- the server ---- */

/* It got something. */
static void serve(void)
{
    unsigned count = rig.sent;

    rig.sent = 0;
    if (rig.options.is_silent)
        return;
    if (rig.options.hangs_up && !rig.has_hung_up)
        rig.is_hung_up = rig.has_hung_up = true;
    else
        rig.answers += count;
}

static unsigned ways_to_serve(const explore_step_t *step)
{
    (void)step;
    return rig.sent > 0 || rig.is_closed ? 1U << EXPLORE_DONE : 0;
}

static void run_server(void *data)
{
    (void)data;
    while (!rig.is_closed) {
        explore_point(&(explore_step_t){.what = "serve",
                                        .objects = {&rig.sent, &rig.answers},
                                        .is_write = true,
                                        .ways = ways_to_serve});
        serve();
    }
}

bool rig_socket_is_readable(void)
{
    return !rig.is_closed && (rig.answers > 0 || rig.is_hung_up);
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

/* ---- the connection ---- */

int shoal__standalone_init(shoal__standalone_t *route,
                           const shoal__conn_config_t *config, shoal_client_t *client,
                           uint64_t seed, const shoal__conn_hooks_t *hooks, void *owner)
{
    (void)seed;
    route->conn = (shoal__conn_t){.config = config, .hooks = *hooks, .owner = owner};
    route->conn.state = SHOAL__CONN_READY;
    route->conn.pipe.client = client;
    route->conn.pipe.retire_us = SHOAL__NEVER_US;
    route->conn.pipe.wake_after = 1;
    return shoal__request_ring_init(&route->conn.pipe.ring, 8);
}

void shoal__standalone_release(shoal__standalone_t *route)
{
    shoal__request_ring_release(&route->conn.pipe.ring);
    rig.is_gone = true;
}

void shoal__standalone_open(shoal__standalone_t *route, shoal__loop_t *loop)
{
    (void)loop;
    explore_check(route->conn.state == SHOAL__CONN_READY);
}

static void lose(shoal__conn_t *conn)
{
    conn->state = SHOAL__CONN_BACKOFF;
    shoal__request_ring_rewind(&conn->pipe.ring);
    conn->hooks.on_event(conn->owner, SHOAL_EVENT_LOST, SHOAL_ECONN, "", 0);
}

static void write_out(shoal__conn_t *conn)
{
    shoal__pipe_t *pipe = &conn->pipe;
    unsigned count = (unsigned)shoal__request_ring_queued(&pipe->ring);

    explore_check(count <= rig.client->options->queued_max);
    if (count == 0 || rig.options.is_stalled)
        return;
    if (rig.options.breaks && !rig.has_hung_up) {
        rig.has_hung_up = true;
        lose(conn);
        return;
    }
    explore_point(&(explore_step_t){.what = "send",
                                    .objects = {&rig.sent, &rig.answers, &rig.written},
                                    .is_write = true});
    shoal__request_ring_mark_sent(&pipe->ring, count);
    rig.written += count;
    rig.sent += count;
    if (!rig.options.answers_slowly)
        serve();
}

uint64_t shoal__standalone_turn(shoal__standalone_t *route, uint64_t now_us)
{
    shoal__conn_t *conn = &route->conn;

    if (conn->state == SHOAL__CONN_BACKOFF) {
        /* A direct driver hands over first. */
        explore_check(!rig.client->is_direct);
        conn->state = SHOAL__CONN_READY;
        conn->hooks.on_event(conn->owner, SHOAL_EVENT_READY, 0, "", 0);
    }
    conn->pipe.now_us = now_us;
    write_out(conn);
    /* The background thread tries again at once; a direct driver is not to wait for it. */
    return conn->state == SHOAL__CONN_BACKOFF && !rig.client->is_direct
               ? now_us
               : SHOAL__NEVER_US;
}

static void answer(shoal__conn_t *conn, int status)
{
    shoal__pipe_t *pipe = &conn->pipe;
    shoal__request_t request = *shoal__request_ring_at(&pipe->ring, pipe->ring.head);

    shoal__request_ring_pop(&pipe->ring);
    if (pipe->ring.sent < pipe->ring.head)
        pipe->ring.sent = pipe->ring.head;
    shoal__pipe_deliver(pipe, &request, status,
                        status ? SHOAL_FATE_UNKNOWN : SHOAL_FATE_REPLIED, NULL, 1, "");
}

void rig_socket_read(void)
{
    shoal__conn_t *conn = &rig.client->route.conn;
    unsigned count;

    explore_touch("receive", &rig.answers, true);
    count = rig.answers;
    rig.answers = 0;
    conn->pipe.is_inside = true;
    while (count-- > 0)
        answer(conn, 0);
    conn->pipe.is_inside = false;
    if (rig.is_hung_up) {
        rig.is_hung_up = false;
        lose(conn);
    }
    conn->hooks.on_delivered(conn->owner);
}

void shoal__standalone_read_ahead(shoal__standalone_t *route)
{
    (void)route;
    if (rig_socket_is_readable())
        rig_socket_read();
}

void shoal__standalone_close(shoal__standalone_t *route, uint64_t now_us)
{
    (void)now_us;
    while (shoal__request_ring_length(&route->conn.pipe.ring) > 0)
        answer(&route->conn, SHOAL_ESHUTDOWN);
    route->conn.state = SHOAL__CONN_CLOSED;
    explore_point(&(explore_step_t){
        .what = "hang up", .objects = {&rig.sent, &rig.answers}, .is_write = true});
    rig.is_closed = true;
}

void shoal__standalone_forget(shoal__standalone_t *route)
{
    (void)route;
}

bool shoal__standalone_cancel(shoal__standalone_t *route, uint64_t ticket,
                              uint64_t now_us)
{
    (void)route;
    (void)ticket;
    (void)now_us;
    return false;
}

/* ---- the pipe ---- */

char *shoal__pipe_reserve(shoal__pipe_t *pipe, size_t bytes, size_t commands)
{
    static char room[COMMAND_BYTES_MAX * 8];

    explore_check(bytes <= sizeof room);
    return shoal__request_ring_reserve(&pipe->ring, commands) == 0 ? room : NULL;
}

void shoal__pipe_push(shoal__pipe_t *pipe, const shoal__request_t *request)
{
    *shoal__pipe_claim(pipe) = *request;
}

void shoal__pipe_deliver(shoal__pipe_t *pipe, const shoal__request_t *request,
                         int status, shoal_fate_t fate, const shoal_reply_t *reply,
                         uint32_t attempts, const char *detail)
{
    const shoal_result_t result = {.status = status,
                                   .fate = fate,
                                   .reply = reply,
                                   .detail = detail,
                                   .attempts = attempts,
                                   .tag = request->tag};

    shoal__counter_add(&pipe->stats.completed, 1);
    request->on_result(pipe->client, &result, request->data);
}

void shoal__pipe_publish(shoal__pipe_t *pipe)
{
    uint64_t queued = shoal__request_ring_queued(&pipe->ring);

    /* Whoever waits for room looks at it, with the lock. */
    explore_touch("publish", &rig.client->inbox.lock, true);
    shoal__counter_set(&pipe->stats.queued_now, queued);
}

uint64_t shoal__pipe_next_wake_us(const shoal__pipe_t *pipe)
{
    (void)pipe;
    return SHOAL__NEVER_US;
}

/* ---- the rest of what a client stands on ---- */

uint64_t shoal__entropy(void)
{
    return 1;
}

void shoal__entropy_fill(void *memory, size_t bytes)
{
    memset(memory, 1, bytes);
}

int shoal__fork_guard_start(void)
{
    return 0;
}

uint64_t shoal__fork_generation(void)
{
    return 0;
}

int shoal__quiet_thread_start(pthread_t *ret_thread, void (*run)(void *data),
                              void *data)
{
    *ret_thread = (pthread_t)explore_start("background", run, data) + 1;
    return 0;
}

int shoal_options_from_url(const char *url, shoal_options_t **ret_options)
{
    (void)url;
    (void)ret_options;
    return SHOAL_EURL;
}

/* ---- a scenario ---- */

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client;
    (void)event;
    (void)data;
    explore_check(explore_self() == RIG_BACKGROUND);
}

shoal_client_t *rig_begin(const rig_options_t *options)
{
    shoal_options_t *client_options;

    shim_begin();
    rig_loop_begin();
    memset(&rig, 0, sizeof rig);
    rig.options = *options;
    explore_check(shoal__options_copy(NULL, &client_options) == 0);
    client_options->unix_path = shoal__strdup("x");
    client_options->on_event = on_event;
    if (options->queued_max)
        client_options->queued_max = options->queued_max;
    client_options->timeout_us = SHOAL_TIMEOUT_NEVER;
    explore_check(shoal__client_open(SHOAL__DRIVE_THREAD, NULL, client_options,
                                     &rig.client) == 0);
    shoal_options_free(client_options);

    /* As if calls had come before; the client's thread has not begun yet. */
    rig.client->inbox.is_ready = true;
    rig.client->is_open = true;
    if (options->is_about_to)
        rig.client->inbox.token.lone = SHOAL__DRIVER_LONE_CALLS - 1;
    if (options->is_parked) {
        rig.client->inbox.token.lone = SHOAL__DRIVER_LONE_CALLS;
        rig.client->inbox.token.driver = SHOAL__DRIVER_PARKED;
        rig.client->inbox.is_parked = true;
        rig.client->wake_us = SHOAL__NEVER_US;
        rig.client->was_parked = true;
    }
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
