/* SPDX-License-Identifier: MIT */
#include "net/conn.h"

#include "base/time_us.h"
#include "net/clock.h"
#include "net/tls_context.h"
#include <assert.h>
#include <errno.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define REJECTED_DELAY_US_MIN                                                          \
    1000000 /* before credentials or certificates that failed are tried again */
#define LAST_READS_MAX 16      /* after a write that failed */
#define DIAL_SPACING_US 100000 /* at most ten connections a second */

_Static_assert(SHOAL__PIPE_PARTS_MAX <= SHOAL__STREAM_PARTS_MAX, "in one write");

static void handle(shoal__conn_t *conn, shoal__conn_event_t event, uint64_t now_us);
static void lose(shoal__conn_t *conn, int status, const char *detail);
static void greeted(shoal__conn_t *conn, uint64_t now_us);
static bool receive(shoal__conn_t *conn, bool *ret_is_dry);

static shoal__pipe_verdict_t on_error(void *owner, shoal__pipe_t *pipe,
                                      const shoal__request_t *request,
                                      const char *bytes, shoal__bytes_t error)
{
    (void)owner;
    return shoal__pipe_send_again(pipe, request, bytes, error);
}

int shoal__conn_init(shoal__conn_t *conn, const shoal__conn_plan_t *plan)
{
    const shoal__conn_config_t *config = plan->config;
    const shoal__pipe_parts_t parts = {
        .config = &config->pipe, .target = plan->target, .shared = &plan->set->shared};
    const shoal__pipe_hooks_t pipe_hooks = {
        .on_result = plan->hooks->on_result,
        .on_own = plan->hooks->on_own,
        .on_blocked = plan->hooks->on_blocked,
        .on_push = plan->hooks->on_push,
        .on_error = plan->hooks->on_error ? plan->hooks->on_error : on_error};

    *conn = (shoal__conn_t){.config = config,
                            .target = plan->target,
                            .server = plan->target->name,
                            .id = plan->id,
                            .set = plan->set,
                            .hooks = *plan->hooks,
                            .owner = plan->owner,
                            .due_us = SHOAL__NEVER_US};
    shoal__list_init(&conn->touched);
    shoal__backoff_init(&conn->backoff, config->backoff_base_us,
                        config->backoff_us_max);
    if (shoal__due_times_join(&plan->set->due) < 0)
        return SHOAL_ENOMEM;
    if (shoal__pipe_init(&conn->pipe, &parts, &pipe_hooks, plan->owner) < 0) {
        shoal__due_times_leave(&plan->set->due);
        return SHOAL_ENOMEM;
    }
    return 0;
}

/* Its share leaves the account with it. */
static void leave_set(shoal__conn_t *conn)
{
    shoal__conn_set_t *set = conn->set;

    shoal__list_remove(&conn->touched);
    shoal__due_times_set(&set->due, &conn->due, SHOAL__NEVER_US);
    shoal__due_times_leave(&set->due);
    set->queued -= shoal__counter_get(&conn->pipe.stats.queued_now);
    set->inflight -= shoal__counter_get(&conn->pipe.stats.inflight_now);
    set->bytes -= shoal__counter_get(&conn->pipe.stats.bytes_now);
}

void shoal__conn_release(shoal__conn_t *conn)
{
    leave_set(conn);
    shoal__pipe_release(&conn->pipe);
    shoal__dialer_stop(&conn->dialer);
}

static const char *server_of(const shoal__conn_t *conn)
{
    return atomic_load_explicit(&conn->server, memory_order_relaxed);
}

/* The name was written before. */
static void lead_to(shoal__conn_t *conn, const char *name)
{
    atomic_store_explicit(&conn->server, name, memory_order_release);
}

static void report(shoal__conn_t *conn, shoal_event_kind_t kind, int status,
                   const char *detail, uint64_t delay_us)
{
    const shoal_event_t event = {.kind = kind,
                                 .status = status,
                                 .detail = detail,
                                 .delay_us = delay_us,
                                 .epoch = shoal__counter_get(&conn->stats.epoch),
                                 .connection = conn->id,
                                 .server = server_of(conn)};

    conn->hooks.on_event(conn->owner, &event);
}

static const char *stream_error(const shoal__conn_t *conn, ptrdiff_t error)
{
    return conn->stream->kind->error_text(conn->stream, (int)error);
}

static void drop_transport(shoal__conn_t *conn, bool is_orderly)
{
    if (conn->stream)
        conn->stream->kind->close(conn->stream, is_orderly);
    conn->stream = NULL;
    shoal__dialer_stop(&conn->dialer);
    conn->is_blocked = false;
}

/* ---- the stream's events ---- */

/* A write failed: the server has hung up.  Replies, and perhaps its reason, may wait to
 * be read. */
static void lose_with_write(shoal__conn_t *conn, ptrdiff_t error)
{
    char detail[sizeof conn->detail];
    bool is_dry;

    snprintf(detail, sizeof detail, "write: %s", stream_error(conn, error));
    for (int i = 0; i < LAST_READS_MAX && conn->stream && receive(conn, &is_dry); i++)
        continue;
    if (conn->stream)
        lose(conn, shoal__stream_status(error), detail);
}

/* The loop tells when writing can go on. */
static void wait_to_write(shoal__conn_t *conn)
{
    conn->is_blocked = true;
    conn->stream->kind->want_write(conn->stream);
}

static void write_out(shoal__conn_t *conn, uint64_t *ret_wake_us)
{
    size_t bytes = 0;

    *ret_wake_us = SHOAL__NEVER_US;
    while (conn->stream && !conn->is_blocked) {
        shoal__bytes_t parts[SHOAL__PIPE_PARTS_MAX];
        parts[0] = shoal__pipe_output(&conn->pipe, shoal__clock_us(), ret_wake_us);
        if (parts[0].bytes == 0)
            return;
        size_t count = shoal__pipe_gather(&conn->pipe, parts);
        size_t kept;
        ptrdiff_t sent = conn->stream->kind->write(conn->stream, parts, count, &kept);
        if (sent == -EAGAIN) {
            wait_to_write(conn);
            return;
        }
        if (sent < 0) {
            lose_with_write(conn, sent);
            return;
        }
        shoal__counter_add(&conn->stats.writes, 1);
        shoal__counter_add(&conn->stats.bytes_out, (uint64_t)sent);
        if ((size_t)sent > kept)
            shoal__pipe_written(&conn->pipe, (size_t)sent - kept, shoal__clock_us());
        if (kept > 0)
            shoal__pipe_commit(&conn->pipe, kept);
        bytes += (size_t)sent;
        if (kept > 0 || bytes >= conn->config->turn_bytes_max)
            wait_to_write(conn); /* other connections come first */
    }
}

/* In the clear, and the server has not said a word that belongs here. */
static bool is_stranger(const shoal__conn_t *conn)
{
    return !conn->config->dial.tls && conn->state == SHOAL__CONN_GREETING &&
           !conn->pipe.greeting.heard_anything;
}

/* A record of TLS that is an alert: what a server answers that took the greeting for the
 * begin of a handshake. */
static bool is_alert(const char *data, size_t bytes)
{
    return bytes >= 3 && data[0] == 0x15 && data[1] == 3;
}

static void end_of_stream(shoal__conn_t *conn, ptrdiff_t got)
{
    const char *what =
        got == 0 ? "the server closed the connection" : stream_error(conn, got);
    char detail[sizeof conn->detail];

    snprintf(detail, sizeof detail, "%.180s%s", what,
             is_stranger(conn)
                 ? ", and had not answered anything: does it want TLS (rediss://)?"
                 : "");
    lose(conn, got == 0 ? SHOAL_ECONN : shoal__stream_status(got), detail);
}

/* Hand bytes to the pipe.  False: the connection was given up. */
static bool take_in(shoal__conn_t *conn, const char *data, size_t bytes)
{
    uint64_t now_us = shoal__clock_us();
    shoal__pipe_phase_t before = conn->pipe.phase;
    bool is_new = is_stranger(conn);
    int rc;

    shoal__counter_add(&conn->stats.reads, 1);
    shoal__counter_add(&conn->stats.bytes_in, bytes);
    shoal__conn_touch(conn);
    conn->hooks.on_reading(conn->owner, now_us);
    rc = shoal__pipe_feed(&conn->pipe, data, bytes, now_us);
    conn->hooks.on_delivered(conn->owner);
    if (rc < 0)
        lose(conn, rc,
             is_new && is_alert(data, bytes) ? "the server speaks TLS: use rediss://"
                                             : conn->pipe.detail);
    else if (before == SHOAL__PIPE_GREETING && conn->pipe.phase == SHOAL__PIPE_READY)
        greeted(conn, now_us);
    return rc == 0;
}

/* One read.  *ret_is_dry: the loop will tell when there is more.  False if nothing had
 * arrived, or it was the end. */
static bool receive(shoal__conn_t *conn, bool *ret_is_dry)
{
    size_t room_bytes = SHOAL__CONN_ROOM_BYTES;
    char *room = shoal__pipe_room(&conn->pipe, &room_bytes);
    ptrdiff_t got;

    if (!room)
        room = conn->set->room;
    if (room_bytes > conn->config->turn_bytes_max)
        room_bytes = conn->config->turn_bytes_max;
    got = conn->stream->kind->read(conn->stream, room, room_bytes, ret_is_dry);
    if (got > 0)
        return take_in(conn, room, (size_t)got);
    if (got != -EAGAIN)
        end_of_stream(conn, got);
    return false;
}

static void on_readable(void *owner)
{
    shoal__conn_t *conn = owner;
    bool is_dry = false;

    while (!is_dry && conn->stream && receive(conn, &is_dry))
        continue;
}

void shoal__conn_read_ahead(shoal__conn_t *conn)
{
    bool is_dry;

    while (conn->state == SHOAL__CONN_READY && conn->stream && receive(conn, &is_dry))
        continue;
}

static void on_writable(void *owner)
{
    shoal__conn_t *conn = owner;

    conn->is_blocked = false;
    shoal__conn_touch(conn); /* the turn that follows writes */
}

static void on_left(void *owner, size_t bytes)
{
    shoal__conn_t *conn = owner;

    shoal__pipe_left(&conn->pipe, bytes, shoal__clock_us());
    shoal__conn_touch(conn);
}

static void on_connected(void *owner, int error)
{
    shoal__conn_t *conn = owner;

    shoal__dialer_answered(&conn->dialer, error);
}

/* ---- the dialer's events ---- */

static void on_waiting(void *owner, uint64_t due_us)
{
    shoal__conn_t *conn = owner;

    conn->due_us = due_us;
    shoal__conn_touch(conn);
}

static void on_reached(void *owner, shoal__stream_t *stream,
                       const shoal__reached_t *reached)
{
    shoal__conn_t *conn = owner;
    const shoal__stream_kind_t *kind = stream->kind;

    if (reached->endpoint != conn->reached.endpoint)
        conn->doubt = SHOAL__HELLO_TRUSTED; /* it was about another server */
    conn->stream = stream;
    conn->reached = *reached;
    lead_to(conn, conn->target->endpoints[reached->endpoint].name);
    if (kind->is_resumed)
        shoal__counter_add(kind->is_resumed(stream) ? &conn->stats.tls_resumed
                                                    : &conn->stats.tls_full,
                           1);
    if (conn->config->dial.is_unverified)
        report(conn, SHOAL_EVENT_TLS_UNVERIFIED, 0,
               conn->target->endpoints[reached->endpoint].name, 0);
    handle(conn, SHOAL__CONN_ON_DIALED, shoal__clock_us());
}

static void on_failed(void *owner, int status, const char *detail)
{
    lose(owner, status, detail);
}

static const shoal__dialer_hooks_t dialer_hooks = {
    .stream = {.on_connected = on_connected,
               .on_readable = on_readable,
               .on_writable = on_writable,
               .on_left = on_left},
    .on_waiting = on_waiting,
    .on_reached = on_reached,
    .on_failed = on_failed,
};

/* ---- the life of a connection ---- */

/* False: there are none to begin with, and the attempt has failed. */
static bool read_tls_files(shoal__conn_t *conn)
{
    shoal__tls_context_t *tls = conn->config->dial.tls;
    char why[SHOAL__TLS_WHY_BYTES], detail[sizeof conn->detail];
    bool has_last;
    int rc = tls ? shoal__tls_context_refresh(tls, &has_last, why) : 0;

    if (rc == 0)
        return true;
    if (has_last) {
        report(conn, SHOAL_EVENT_TLS_FILES, rc, why, 0);
        return true;
    }
    snprintf(detail, sizeof detail, "connect %.100s: %.140s", conn->target->name, why);
    lose(conn, rc, detail);
    return false;
}

static void dial(shoal__conn_t *conn, uint64_t now_us)
{
    const shoal__dialer_plan_t plan = {.config = &conn->config->dial,
                                       .target = conn->target,
                                       .loop = conn->set->loop,
                                       .hooks = &dialer_hooks,
                                       .owner = conn};

    shoal__counter_add(&conn->stats.epoch, 1);
    conn->dialed_us = now_us;
    lead_to(conn, conn->target->name);
    if (read_tls_files(conn))
        shoal__dialer_begin(&conn->dialer, &plan, now_us);
}

static void greet(shoal__conn_t *conn, uint64_t now_us)
{
    int rc;

    conn->due_us = now_us + conn->config->handshake_us;
    report(conn, SHOAL_EVENT_CONNECTED, 0, server_of(conn), 0);
    rc = shoal__pipe_begin(&conn->pipe, shoal__hello_style(conn->doubt), now_us);
    if (rc < 0)
        lose(conn, rc, conn->pipe.detail);
}

static void resume(shoal__conn_t *conn)
{
    conn->due_us = SHOAL__NEVER_US;
    shoal__backoff_succeeded(&conn->backoff);
    shoal__counter_add(&conn->stats.connects, 1);
    report(conn, SHOAL_EVENT_READY, 0, server_of(conn), 0);
}

static void retry_later(shoal__conn_t *conn, int status, uint64_t now_us)
{
    uint64_t delay_us_min =
        status == SHOAL_EAUTH || status == SHOAL_ETLS ? REJECTED_DELAY_US_MIN : 0;
    uint64_t delay_us =
        shoal__backoff_next(&conn->backoff, &conn->set->random, delay_us_min);

    conn->due_us =
        shoal__time_max(now_us + delay_us, conn->dialed_us + DIAL_SPACING_US);
    report(conn, SHOAL_EVENT_RETRYING, 0, conn->detail, conn->due_us - now_us);
}

static shoal__hello_outcome_t hello_outcome(const shoal__conn_t *conn, int status)
{
    const shoal__greeting_t *greeting = &conn->pipe.greeting;

    if (conn->state != SHOAL__CONN_GREETING)
        return SHOAL__HELLO_OTHERWISE;
    if (greeting->is_test_passed)
        return SHOAL__HELLO_ANSWERED;
    return status == SHOAL_ECONN && !greeting->heard_anything ? SHOAL__HELLO_HUNG_UP
                                                              : SHOAL__HELLO_OTHERWISE;
}

/* Should another endpoint be tried first?  A server that hung up may be back at once; and one
 * that is asked about HELLO has not failed yet. */
static bool has_failed(const shoal__conn_t *conn, int status)
{
    if (conn->state == SHOAL__CONN_GREETING)
        return conn->doubt == SHOAL__HELLO_TRUSTED;
    return conn->state == SHOAL__CONN_READY &&
           (conn->pipe.is_silent || status == SHOAL_EDESYNC);
}

/* Any failure of the transport or of what was said over it. */
static void lose(shoal__conn_t *conn, int status, const char *detail)
{
    uint64_t now_us = shoal__clock_us();
    bool was_ready = conn->state == SHOAL__CONN_READY;
    bool was_demoted = conn->pipe.is_demoted, is_server_bad;

    shoal__conn_touch(conn); /* callbacks may ask for room */
    conn->doubt = shoal__hello_next(conn->doubt, hello_outcome(conn, status));
    if (detail != conn->detail)
        snprintf(conn->detail, sizeof conn->detail, "%s", detail);
    drop_transport(conn, false);
    shoal__counter_add(was_ready ? &conn->stats.losses : &conn->stats.attempts_failed,
                       1);
    if (status == SHOAL_EDESYNC)
        shoal__counter_add(&conn->stats.desyncs, 1);
    is_server_bad = has_failed(conn, status);
    shoal__pipe_lost(&conn->pipe, status, conn->detail, now_us);
    handle(conn, SHOAL__CONN_ON_LOST, now_us);
    if (was_demoted)
        shoal__target_leave(conn->target, &conn->reached);
    else if (is_server_bad)
        shoal__target_failed(conn->target, &conn->reached, conn->pipe.greeting.role);
    report(conn, was_ready ? SHOAL_EVENT_LOST : SHOAL_EVENT_ATTEMPT_FAILED, status,
           conn->detail, 0);
    retry_later(conn, status, now_us);
    conn->hooks.on_delivered(conn->owner);
}

static void greeted(shoal__conn_t *conn, uint64_t now_us)
{
    const shoal__greeting_t *greeting = &conn->pipe.greeting;

    shoal__counter_set(&conn->stats.protocol, (uint64_t)greeting->protocol);
    shoal__counter_set(&conn->stats.server_id, (uint64_t)greeting->identity.id);
    conn->doubt = shoal__hello_next(conn->doubt, SHOAL__HELLO_ANSWERED);
    shoal__target_worked(conn->target, &conn->reached, greeting->role);
    handle(conn, SHOAL__CONN_ON_GREETED, now_us);
}

static void shut(shoal__conn_t *conn, uint64_t now_us)
{
    conn->due_us = SHOAL__NEVER_US;
    /* With commands under way it is no end that the server should take for one. */
    drop_transport(conn, shoal__pipe_inflight(&conn->pipe) == 0 &&
                             conn->pipe.phase == SHOAL__PIPE_READY);
    shoal__pipe_abandon(&conn->pipe, now_us);
    conn->hooks.on_delivered(conn->owner);
}

/* The only place where a connection changes its state. */
static void handle(shoal__conn_t *conn, shoal__conn_event_t event, uint64_t now_us)
{
    shoal__conn_step_t step = shoal__conn_fsm_step(conn->state, event);

    assert(step.action != SHOAL__CONN_ILLEGAL);
    conn->target->ready -= conn->state == SHOAL__CONN_READY;
    conn->state = step.next;
    conn->target->ready += conn->state == SHOAL__CONN_READY;
    /* A thread that sees READY also sees what was agreed on. */
    atomic_store_explicit(&conn->stats.state, conn->state, memory_order_release);
    shoal__conn_touch(conn);

    /* clang-format off */
    switch (step.action) {
    case SHOAL__CONN_DO_DIAL:   dial(conn, now_us);  break;
    case SHOAL__CONN_DO_GREET:  greet(conn, now_us); break;
    case SHOAL__CONN_DO_RESUME: resume(conn);        break;
    case SHOAL__CONN_DO_SHUT:   shut(conn, now_us);  break;
    case SHOAL__CONN_DO_RETRY: /* lose() arms the delay: it knows the cause */
    case SHOAL__CONN_ILLEGAL:
        break;
    }
    /* clang-format on */
}

void shoal__conn_open(shoal__conn_t *conn)
{
    uint64_t now_us = shoal__clock_us();

    shoal__pipe_open(&conn->pipe, now_us);
    handle(conn, SHOAL__CONN_ON_OPEN, now_us);
}

static void look_at_the_time(shoal__conn_t *conn, uint64_t now_us)
{
    if (now_us < conn->due_us)
        return;
    switch (conn->state) {
    case SHOAL__CONN_DIALING:
        shoal__dialer_timed_out(&conn->dialer);
        break;
    case SHOAL__CONN_GREETING:
        snprintf(conn->detail, sizeof conn->detail,
                 "greeting %.127s: not answered in time", server_of(conn));
        lose(conn, SHOAL_ETIMEOUT, conn->detail);
        break;
    case SHOAL__CONN_BACKOFF:
        handle(conn, SHOAL__CONN_ON_RETRY_DUE, now_us);
        break;
    case SHOAL__CONN_IDLE:
    case SHOAL__CONN_READY:
    case SHOAL__CONN_CLOSED:
    case SHOAL__CONN_STATE_COUNT:
        break;
    }
}

uint64_t shoal__conn_turn(shoal__conn_t *conn, uint64_t now_us)
{
    uint64_t wake_us = SHOAL__NEVER_US;

    look_at_the_time(conn, now_us);
    if (shoal__pipe_tick(&conn->pipe, now_us) < 0)
        lose(conn, conn->pipe.fault, conn->pipe.detail);
    write_out(conn, &wake_us);
    wake_us = shoal__time_min(wake_us, conn->due_us);
    return shoal__time_min(wake_us, shoal__pipe_next_wake_us(&conn->pipe));
}

void shoal__conn_reconnect(shoal__conn_t *conn, const char *why, uint64_t now_us)
{
    shoal__conn_touch(conn);
    if (conn->state == SHOAL__CONN_BACKOFF)
        conn->due_us = shoal__time_max(now_us, conn->dialed_us + DIAL_SPACING_US);
    else if (conn->state == SHOAL__CONN_READY) {
        shoal__renewal_anew(&conn->pipe.renewal);
        shoal__renewal_ask(&conn->pipe.renewal, why, now_us);
    }
}

void shoal__conn_give_up(shoal__conn_t *conn, const char *why, uint64_t now_us)
{
    if (conn->state == SHOAL__CONN_DIALING || conn->state == SHOAL__CONN_GREETING ||
        conn->state == SHOAL__CONN_READY) {
        drop_transport(conn, false);
        shoal__pipe_lost(&conn->pipe, SHOAL_ECONN, why, now_us);
    }
    shoal__conn_close(conn, now_us);
}

void shoal__conn_close(shoal__conn_t *conn, uint64_t now_us)
{
    if (conn->state != SHOAL__CONN_CLOSED)
        handle(conn, SHOAL__CONN_ON_CLOSE, now_us);
}

void shoal__conn_forget(shoal__conn_t *conn)
{
    if (conn->stream)
        conn->stream->kind->forget(conn->stream);
    conn->stream = NULL;
    shoal__dialer_forget(&conn->dialer);
}
