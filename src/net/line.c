/* SPDX-License-Identifier: MIT */
#include "net/line.h"

#include "base/time_us.h"
#include "net/clock.h"
#include <errno.h>
#include <shoal/errors.h>
#include <stdio.h>

#define DETAIL_BYTES 256
#define LAST_READS_MAX 16 /* after a write that failed */

_Static_assert(SHOAL__PIPE_PARTS_MAX <= SHOAL__STREAM_PARTS_MAX, "in one write");

static bool receive(shoal__line_t *line, bool *ret_is_dry);

static const char *stream_error(const shoal__line_t *line, ptrdiff_t error)
{
    return line->stream->kind->error_text(line->stream, (int)error);
}

static void lose(shoal__line_t *line, int status, const char *detail)
{
    line->plan->hooks->on_lost(line->plan->owner, line, status, detail);
}

/* ---- writing ---- */

/* A write failed: the server has hung up.  Replies, and perhaps its reason, may wait to
 * be read. */
static void lose_with_write(shoal__line_t *line, ptrdiff_t error)
{
    char detail[DETAIL_BYTES];
    bool is_dry;

    snprintf(detail, sizeof detail, "write: %s", stream_error(line, error));
    for (int i = 0; i < LAST_READS_MAX && line->stream && receive(line, &is_dry); i++)
        continue;
    if (line->stream)
        lose(line, shoal__stream_status(error), detail);
}

/* The loop tells when writing can go on. */
static void wait_to_write(shoal__line_t *line)
{
    line->is_blocked = true;
    line->stream->kind->want_write(line->stream);
}

void shoal__line_write(shoal__line_t *line, uint64_t *ret_wake_us)
{
    size_t bytes = 0;

    *ret_wake_us = SHOAL__NEVER_US;
    while (line->stream && !line->is_blocked) {
        shoal__bytes_t parts[SHOAL__PIPE_PARTS_MAX];
        parts[0] = shoal__pipe_output(line->pipe, shoal__clock_us(), ret_wake_us);
        if (parts[0].bytes == 0)
            return;
        size_t count = shoal__pipe_gather(line->pipe, parts);
        size_t kept;
        ptrdiff_t sent = line->stream->kind->write(line->stream, parts, count, &kept);
        if (sent == -EAGAIN) {
            wait_to_write(line);
            return;
        }
        if (sent < 0) {
            lose_with_write(line, sent);
            return;
        }
        shoal__counter_add(&line->plan->traffic->writes, 1);
        shoal__counter_add(&line->plan->traffic->bytes_out, (uint64_t)sent);
        if ((size_t)sent > kept)
            shoal__pipe_written(line->pipe, (size_t)sent - kept, shoal__clock_us());
        if (kept > 0)
            shoal__pipe_commit(line->pipe, kept, shoal__clock_us());
        bytes += (size_t)sent;
        if (kept > 0 || bytes >= line->plan->turn_bytes_max)
            wait_to_write(line); /* other connections come first */
    }
}

/* ---- reading ---- */

/* In the clear, and the server has not said a word that belongs here. */
static bool is_stranger(const shoal__line_t *line)
{
    return !line->plan->dial->tls && line->pipe->phase == SHOAL__PIPE_GREETING &&
           !line->pipe->greeting.heard_anything;
}

/* A record of TLS that is an alert: what a server answers that took the greeting for the
 * begin of a handshake. */
static bool is_alert(const char *data, size_t bytes)
{
    return bytes >= 3 && data[0] == 0x15 && data[1] == 3;
}

static void end_of_stream(shoal__line_t *line, ptrdiff_t got)
{
    const char *what =
        got == 0 ? "the server closed the connection" : stream_error(line, got);
    char detail[DETAIL_BYTES];

    snprintf(detail, sizeof detail, "%.180s%s", what,
             is_stranger(line)
                 ? ", and had not answered anything: does it want TLS (rediss://)?"
                 : "");
    lose(line, got == 0 ? SHOAL_ECONN : shoal__stream_status(got), detail);
}

/* Hand bytes to the pipe.  False: it refuses them. */
static bool take_in(shoal__line_t *line, const char *data, size_t bytes)
{
    const shoal__line_plan_t *plan = line->plan;
    uint64_t now_us = shoal__clock_us();
    bool was_greeting = line->pipe->phase == SHOAL__PIPE_GREETING;
    bool is_new = is_stranger(line);
    int rc;

    shoal__counter_add(&plan->traffic->reads, 1);
    shoal__counter_add(&plan->traffic->bytes_in, bytes);
    plan->hooks->on_reading(plan->owner, now_us);
    rc = shoal__pipe_feed(line->pipe, data, bytes, now_us);
    if (rc < 0 && is_new && is_alert(data, bytes))
        shoal__pipe_refuse(line->pipe, rc, "the server speaks TLS: use rediss://");
    plan->hooks->on_fed(plan->owner, line, rc, was_greeting, now_us);
    return rc == 0;
}

/* One read.  *ret_is_dry: the loop will tell when there is more.  False if nothing had
 * arrived, or it was the end. */
static bool receive(shoal__line_t *line, bool *ret_is_dry)
{
    size_t room_bytes = SHOAL__CONN_ROOM_BYTES;
    char *room = shoal__pipe_room(line->pipe, &room_bytes);
    ptrdiff_t got;

    if (!room)
        room = line->plan->set->room;
    if (room_bytes > line->plan->turn_bytes_max)
        room_bytes = line->plan->turn_bytes_max;
    got = line->stream->kind->read(line->stream, room, room_bytes, ret_is_dry);
    if (got > 0)
        return take_in(line, room, (size_t)got);
    if (got == -EINPROGRESS)
        shoal__pipe_heard(line->pipe, shoal__clock_us());
    else if (got != -EAGAIN)
        end_of_stream(line, got);
    return got == -EINPROGRESS;
}

static void on_readable(void *owner)
{
    shoal__line_t *line = owner;
    bool is_dry = false;

    while (!is_dry && line->stream && receive(line, &is_dry))
        continue;
}

void shoal__line_read(shoal__line_t *line)
{
    bool is_dry;

    /* What a subscriber gets may never end: one read shows that the server is not silent. */
    while (line->stream && !line->is_paused && receive(line, &is_dry) &&
           !line->pipe->config->is_subscriber)
        continue;
}

void shoal__line_pause(shoal__line_t *line, bool is_paused)
{
    line->is_paused = is_paused;
    line->stream->kind->pause(line->stream, is_paused);
}

static void on_writable(void *owner)
{
    shoal__line_t *line = owner;

    line->is_blocked = false;
    line->plan->hooks->on_writable(line->plan->owner, line);
}

static void on_left(void *owner, size_t bytes)
{
    shoal__line_t *line = owner;

    shoal__pipe_left(line->pipe, bytes, shoal__clock_us());
    line->plan->hooks->on_writable(line->plan->owner, line);
}

/* ---- the dialer's events ---- */

static void on_connected(void *owner, int error)
{
    shoal__line_t *line = owner;

    shoal__dialer_answered(&line->dialer, error);
}

static void on_waiting(void *owner, uint64_t due_us)
{
    shoal__line_t *line = owner;

    line->plan->hooks->on_waiting(line->plan->owner, line, due_us);
}

static void on_reached(void *owner, shoal__stream_t *stream,
                       const shoal__reached_t *reached)
{
    shoal__line_t *line = owner;

    line->stream = stream;
    line->reached = *reached;
    line->server = reached->name;
    line->plan->hooks->on_reached(line->plan->owner, line);
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

/* ---- its life ---- */

void shoal__line_dial(shoal__line_t *line, uint64_t now_us)
{
    const shoal__dialer_plan_t plan = {.config = line->plan->dial,
                                       .target = line->plan->target,
                                       .loop = line->plan->set->loop,
                                       .hooks = &dialer_hooks,
                                       .owner = line};

    shoal__dialer_begin(&line->dialer, &plan, now_us);
}

void shoal__line_close(shoal__line_t *line, bool is_orderly)
{
    if (line->stream)
        line->stream->kind->close(line->stream, is_orderly);
    line->stream = NULL;
    shoal__dialer_stop(&line->dialer);
    line->is_blocked = line->is_paused = false;
}

void shoal__line_forget(shoal__line_t *line)
{
    if (line->stream)
        line->stream->kind->forget(line->stream);
    line->stream = NULL;
    shoal__dialer_forget(&line->dialer);
}
