/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_LINE_H
#define SHOAL_NET_LINE_H

/*
 * A line carries the bytes of one pipe over one stream: it dials, writes what the pipe lets
 * go, and feeds the pipe with what was read.  What follows from that is its owner's
 * business: a connection has a line, and a second one while it is renewed.
 *
 * Threads: the loop thread.
 */

#include "base/counter.h"
#include "core/pipe/pipe.h"
#include "core/target.h"
#include "net/conn_shared.h"
#include "net/dialer.h"
#include "net/stream.h"
#include <stdbool.h>

typedef struct shoal__line shoal__line_t;

/* What the owner hears of.  Texts die with the call.  The owner may close the line in all of
 * them. */
typedef struct shoal__line_hooks {
    /* The attempt to reach the server has time until due_us: call _timed_out then. */
    void (*on_waiting)(void *owner, shoal__line_t *line, uint64_t due_us);
    /* The server is reached: begin to greet. */
    void (*on_reached)(void *owner, shoal__line_t *line);
    /* Bytes were read at now_us, and the pipe gets them next. */
    void (*on_reading)(void *owner, uint64_t now_us);
    /* The pipe has them.  rc: of shoal__pipe_feed(); was_greeting: of its phase before. */
    void (*on_fed)(void *owner, shoal__line_t *line, int rc, bool was_greeting,
                   uint64_t now_us);
    /* The stream takes bytes again, or kept ones have left. */
    void (*on_writable)(void *owner, shoal__line_t *line);
    /* No attempt or stream is left. */
    void (*on_lost)(void *owner, shoal__line_t *line, int status, const char *detail);
} shoal__line_hooks_t;

/* Any thread may read them. */
typedef struct shoal__traffic {
    shoal__counter_t writes, reads, bytes_out, bytes_in;
} shoal__traffic_t;

/* What the lines of one owner share; all of it borrowed. */
typedef struct shoal__line_plan {
    const shoal__dial_config_t *dial;
    shoal__target_t *target; /* as it is when a line dials */
    size_t turn_bytes_max;   /* read in one turn, and written; SIZE_MAX: no bound */
    shoal__conn_set_t *set;
    shoal__traffic_t *traffic;
    const shoal__line_hooks_t *hooks;
    void *owner; /* of the hooks */
} shoal__line_plan_t;

struct shoal__line {
    const shoal__line_plan_t *plan; /* borrowed */
    shoal__pipe_t *pipe;            /* whose bytes it carries; the owner sets it */
    shoal__dialer_t dialer;
    shoal__stream_t *stream;  /* that leads to the server; NULL: none does */
    shoal__reached_t reached; /* where the stream, or the last one, leads to */
    const char *server;       /* the name of the endpoint that it dials first, or has
                                 reached */
    uint64_t epoch;           /* the number of the attempt, as the owner counts */
    uint64_t dialed_us;       /* when it began */
    bool is_blocked;          /* the stream takes no more for now */
    bool is_paused;           /* nothing is read for now */
};

static inline void shoal__line_init(shoal__line_t *line, const shoal__line_plan_t *plan,
                                    shoal__pipe_t *pipe)
{
    *line = (shoal__line_t){.plan = plan, .pipe = pipe, .server = plan->target->name};
}

/* An attempt begins: the line is closed. */
static inline void shoal__line_prepare(shoal__line_t *line, uint64_t epoch,
                                       uint64_t now_us)
{
    line->epoch = epoch;
    line->dialed_us = now_us;
    line->server = line->plan->target->name;
}
/* Begin to reach the target. */
void shoal__line_dial(shoal__line_t *line, uint64_t now_us);
static inline void shoal__line_timed_out(shoal__line_t *line)
{
    shoal__dialer_timed_out(&line->dialer);
}

/* Write what may leave.  *ret_wake_us: as of shoal__pipe_output(). */
void shoal__line_write(shoal__line_t *line, uint64_t *ret_wake_us);
/* Take in everything that has arrived. */
void shoal__line_read(shoal__line_t *line);
/* It has a stream.  From now on nothing is read; or it is again. */
void shoal__line_pause(shoal__line_t *line, bool is_paused);

/* No hook runs any more.  It can dial again.  is_orderly: as for a stream. */
void shoal__line_close(shoal__line_t *line, bool is_orderly);
/* In the child of a fork: drop the descriptors. */
void shoal__line_forget(shoal__line_t *line);

#endif
