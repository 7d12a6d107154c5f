/* SPDX-License-Identifier: MIT */
#include "net/conn.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/clock.h"
#include <assert.h>
#include <errno.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define ROOM_BYTES 65536
#define AUTH_DELAY_US_MIN 1000000 /* rejected credentials are not tried in a hurry */
#define DIAL_SPACING_US 100000    /* at most ten connections a second */

static void handle(shoal__conn_t *conn, shoal__conn_event_t event, uint64_t now_us);
static void lose(shoal__conn_t *conn, int status, const char *detail);
static void greeted(shoal__conn_t *conn, uint64_t now_us);
static void dial_next(shoal__conn_t *conn);

int shoal__conn_init(shoal__conn_t *conn, const shoal__conn_config_t *config,
                     shoal_client_t *client, uint64_t seed,
                     const shoal__conn_hooks_t *hooks, void *owner)
{
    *conn = (shoal__conn_t){.config = config, .hooks = *hooks, .owner = owner};
    conn->due_us = SHOAL__NEVER_US;
    shoal__random_init(&conn->random, seed);
    shoal__backoff_init(&conn->backoff, config->backoff_base_us,
                        config->backoff_us_max);
    conn->room = shoal__malloc(ROOM_BYTES);
    if (!conn->room)
        return SHOAL_ENOMEM;
    if (shoal__pipe_init(&conn->pipe, &config->pipe, client, &conn->random) < 0) {
        shoal__free(conn->room);
        return SHOAL_ENOMEM;
    }
    return 0;
}

void shoal__conn_release(shoal__conn_t *conn)
{
    shoal__pipe_release(&conn->pipe);
    shoal__free(conn->room);
    conn->room = NULL;
}

static void report(shoal__conn_t *conn, shoal_event_kind_t kind, int status,
                   const char *detail, uint64_t delay_us)
{
    conn->hooks.on_event(conn->owner, kind, status, detail, delay_us);
}

static void drop_transport(shoal__conn_t *conn)
{
    shoal__stream_close(conn->stream);
    shoal__resolver_abandon(conn->lookup);
    conn->stream = NULL;
    conn->lookup = NULL;
    conn->is_blocked = false;
}

/* ---- the stream's events ---- */

static void write_out(shoal__conn_t *conn, uint64_t *ret_wake_us)
{
    *ret_wake_us = SHOAL__NEVER_US;
    while (conn->stream && !conn->is_blocked) {
        shoal__bytes_t out =
            shoal__pipe_output(&conn->pipe, shoal__clock_us(), ret_wake_us);
        if (out.bytes == 0)
            return;
        ptrdiff_t sent = shoal__stream_write(conn->stream, out.data, out.bytes);
        if (sent == -EAGAIN) {
            conn->is_blocked = true;
            shoal__stream_want_write(conn->stream);
            return;
        }
        if (sent < 0) {
            char detail[128];
            snprintf(detail, sizeof detail, "write: %s", strerror((int)-sent));
            lose(conn, SHOAL_ECONN, detail);
            return;
        }
        shoal__counter_add(&conn->stats.writes, 1);
        shoal__counter_add(&conn->stats.bytes_out, (uint64_t)sent);
        shoal__pipe_written(&conn->pipe, (size_t)sent, shoal__clock_us());
    }
}

/* Take in what has arrived.  False if nothing had, or it was the end. */
static bool receive(shoal__conn_t *conn)
{
    ptrdiff_t got = shoal__stream_read(conn->stream, conn->room, ROOM_BYTES);
    uint64_t now_us = shoal__clock_us();
    shoal__pipe_phase_t before = conn->pipe.phase;
    int rc;

    if (got == -EAGAIN)
        return false;
    if (got <= 0) {
        char detail[128];
        snprintf(detail, sizeof detail, "%s",
                 got == 0 ? "the server closed the connection" : strerror((int)-got));
        lose(conn, SHOAL_ECONN, detail);
        return false;
    }
    shoal__counter_add(&conn->stats.reads, 1);
    shoal__counter_add(&conn->stats.bytes_in, (uint64_t)got);
    rc = shoal__pipe_feed(&conn->pipe, conn->room, (size_t)got, now_us);
    conn->hooks.on_delivered(conn->owner);
    if (rc < 0)
        lose(conn, rc, conn->pipe.detail);
    else if (before == SHOAL__PIPE_GREETING && conn->pipe.phase == SHOAL__PIPE_READY)
        greeted(conn, now_us);
    return rc == 0;
}

static void on_readable(void *owner)
{
    receive(owner);
}

void shoal__conn_read_ahead(shoal__conn_t *conn)
{
    while (conn->state == SHOAL__CONN_READY && conn->stream && receive(conn))
        continue;
}

static void on_writable(void *owner)
{
    shoal__conn_t *conn = owner;

    conn->is_blocked = false; /* the turn that follows writes */
}

static void describe(const shoal__conn_t *conn, char *text, size_t bytes)
{
    if (conn->config->host)
        snprintf(text, bytes, "%s:%d", conn->config->host, conn->config->port);
    else
        snprintf(text, bytes, "%s", conn->config->unix_path);
}

static void note_failure(shoal__conn_t *conn, const char *what, const char *why)
{
    char server[128];

    describe(conn, server, sizeof server);
    snprintf(conn->detail, sizeof conn->detail, "%s %s: %s", what, server, why);
}

static void on_connected(void *owner, int error)
{
    shoal__conn_t *conn = owner;

    if (error) {
        note_failure(conn, "connect", strerror(error));
        shoal__stream_close(conn->stream);
        conn->stream = NULL;
        dial_next(conn);
        return;
    }
    handle(conn, SHOAL__CONN_ON_DIALED, shoal__clock_us());
}

/* ---- dialing ---- */

static void dial_next(shoal__conn_t *conn)
{
    const shoal__stream_hooks_t hooks = {.on_connected = on_connected,
                                         .on_readable = on_readable,
                                         .on_writable = on_writable};

    while (conn->next_address < conn->addresses.count) {
        /* Each address has its share of what is left, so that one that never answers
         * does not hide the others. */
        uint64_t now_us = shoal__clock_us();
        unsigned left = conn->addresses.count - conn->next_address;
        int error = 0;
        conn->due_us = now_us + shoal__time_since(now_us, conn->dial_end_us) / left;
        conn->stream = shoal__stream_connect(
            conn->loop, &conn->addresses.items[conn->next_address++], &hooks, conn,
            &error);
        if (conn->stream)
            return;
        note_failure(conn, "connect", strerror(error));
    }
    lose(conn, SHOAL_ECONN, conn->detail);
}

static void on_found(void *owner, const shoal__addresses_t *addresses,
                     const char *error)
{
    shoal__conn_t *conn = owner;

    conn->lookup = NULL;
    if (error) {
        note_failure(conn, "look up", error);
        lose(conn, SHOAL_ECONN, conn->detail);
        return;
    }
    conn->addresses = *addresses;
    dial_next(conn);
}

static void dial(shoal__conn_t *conn, uint64_t now_us)
{
    const shoal__conn_config_t *config = conn->config;

    conn->epoch++;
    conn->dialed_us = now_us;
    conn->due_us = conn->dial_end_us = now_us + config->connect_us;
    conn->next_address = 0;
    conn->addresses.count = 0;
    note_failure(conn, "connect", "no address");
    if (!config->host) {
        shoal__resolver_unix(config->unix_path, &conn->addresses);
        dial_next(conn);
    } else if (shoal__resolver_numeric(config->host, config->port, &conn->addresses)) {
        dial_next(conn);
    } else {
        conn->lookup = shoal__resolver_lookup(conn->loop, config->host, config->port,
                                              on_found, conn);
        if (!conn->lookup) {
            note_failure(conn, "look up", "no thread, descriptor or memory to be had");
            lose(conn, SHOAL_ECONN, conn->detail);
        }
    }
}

/* ---- the life of a connection ---- */

static void greet(shoal__conn_t *conn, uint64_t now_us)
{
    char server[128];
    int rc;

    conn->due_us = now_us + conn->config->handshake_us;
    describe(conn, server, sizeof server);
    report(conn, SHOAL_EVENT_CONNECTED, 0, server, 0);
    rc = shoal__pipe_begin(&conn->pipe, shoal__hello_style(conn->doubt), now_us);
    if (rc < 0)
        lose(conn, rc, conn->pipe.detail);
}

static void resume(shoal__conn_t *conn)
{
    char server[128];

    conn->due_us = SHOAL__NEVER_US;
    shoal__backoff_succeeded(&conn->backoff);
    shoal__counter_add(&conn->stats.connects, 1);
    describe(conn, server, sizeof server);
    report(conn, SHOAL_EVENT_READY, 0, server, 0);
}

static void retry_later(shoal__conn_t *conn, int status, uint64_t now_us)
{
    uint64_t delay_us_min = status == SHOAL_EAUTH ? AUTH_DELAY_US_MIN : 0;
    uint64_t delay_us =
        shoal__backoff_next(&conn->backoff, &conn->random, delay_us_min);
    uint64_t spaced_us = shoal__time_since(now_us, conn->dialed_us + DIAL_SPACING_US);

    if (delay_us < spaced_us)
        delay_us = spaced_us;
    conn->due_us = now_us + delay_us;
    report(conn, SHOAL_EVENT_RETRYING, 0, conn->detail, delay_us);
}

static void give_up(shoal__conn_t *conn, int status, const char *detail)
{
    uint64_t now_us = shoal__clock_us();

    if (detail != conn->detail)
        snprintf(conn->detail, sizeof conn->detail, "%s", detail);
    drop_transport(conn);
    shoal__counter_add(&conn->stats.losses, 1);
    if (status == SHOAL_EDESYNC)
        shoal__counter_add(&conn->stats.desyncs, 1);
    shoal__pipe_lost(&conn->pipe, status, conn->detail, now_us);
    report(conn, SHOAL_EVENT_LOST, status, conn->detail, 0);
    handle(conn, SHOAL__CONN_ON_LOST, now_us);
    retry_later(conn, status, now_us);
    conn->hooks.on_delivered(conn->owner);
}

/* Any failure of the transport or of what was said over it. */
static void lose(shoal__conn_t *conn, int status, const char *detail)
{
    bool is_hang_up = conn->state == SHOAL__CONN_GREETING && status == SHOAL_ECONN &&
                      !conn->pipe.greeting.heard_anything;

    conn->doubt = shoal__hello_next(conn->doubt, is_hang_up ? SHOAL__HELLO_HUNG_UP
                                                            : SHOAL__HELLO_OTHERWISE);
    give_up(conn, status, detail);
}

static void greeted(shoal__conn_t *conn, uint64_t now_us)
{
    bool is_test = shoal__hello_is_test(conn->doubt);

    conn->doubt = shoal__hello_next(conn->doubt, SHOAL__HELLO_ANSWERED);
    if (is_test)
        give_up(conn, SHOAL_ECONN, "it hung up on HELLO: asking once more");
    else
        handle(conn, SHOAL__CONN_ON_GREETED, now_us);
}

static void shut(shoal__conn_t *conn, uint64_t now_us)
{
    conn->due_us = SHOAL__NEVER_US;
    drop_transport(conn);
    shoal__pipe_abandon(&conn->pipe, now_us);
    conn->hooks.on_delivered(conn->owner);
}

/* The only place where a connection changes its state. */
static void handle(shoal__conn_t *conn, shoal__conn_event_t event, uint64_t now_us)
{
    shoal__conn_step_t step = shoal__conn_fsm_step(conn->state, event);

    assert(step.action != SHOAL__CONN_ILLEGAL);
    conn->state = step.next;

    /* clang-format off */
    switch (step.action) {
    case SHOAL__CONN_DO_DIAL:   dial(conn, now_us);  break;
    case SHOAL__CONN_DO_GREET:  greet(conn, now_us); break;
    case SHOAL__CONN_DO_RESUME: resume(conn);        break;
    case SHOAL__CONN_DO_SHUT:   shut(conn, now_us);  break;
    case SHOAL__CONN_DO_RETRY: /* give_up() arms the delay: it knows the cause */
    case SHOAL__CONN_ILLEGAL:
        break;
    }
    /* clang-format on */
}

void shoal__conn_open(shoal__conn_t *conn, uv_loop_t *loop)
{
    conn->loop = loop;
    handle(conn, SHOAL__CONN_ON_OPEN, shoal__clock_us());
}

static void look_at_the_time(shoal__conn_t *conn, uint64_t now_us)
{
    if (now_us < conn->due_us)
        return;
    switch (conn->state) {
    case SHOAL__CONN_DIALING:
        note_failure(conn, "connect", "timed out");
        shoal__stream_close(conn->stream);
        conn->stream = NULL;
        if (conn->next_address < conn->addresses.count)
            dial_next(conn);
        else
            lose(conn, SHOAL_ETIMEOUT, conn->detail);
        break;
    case SHOAL__CONN_GREETING:
        note_failure(conn, "greeting", "timed out");
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

void shoal__conn_close(shoal__conn_t *conn, uint64_t now_us)
{
    if (conn->state != SHOAL__CONN_CLOSED)
        handle(conn, SHOAL__CONN_ON_CLOSE, now_us);
}

void shoal__conn_forget(shoal__conn_t *conn)
{
    shoal__stream_forget(conn->stream);
    shoal__resolver_forget(conn->lookup);
    conn->stream = NULL;
    conn->lookup = NULL;
}
