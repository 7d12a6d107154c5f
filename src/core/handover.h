/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_HANDOVER_H
#define SHOAL_CORE_HANDOVER_H

/*
 * Hands commands over from one pipe to another, and keeps their order.  The owner says
 * which commands: those of a slot that moves to another server, of keys that change their
 * connection, or all.
 *
 *     in flight at `from`      queued   new       answers       the log of `to`
 *     s1 a s2 b s3 | mark      s4       s5 ...    s1 ran        s2 s3 ...  as they return
 *                              '--- pen ----'     s2 s3 MOVED   s4 s5 ...  at the mark
 *
 *   1. The watermark is the place behind the last command of which `from` handed a byte
 *      over.
 *   2. What is queued behind it moves to a pen, in order.  New commands go there too.
 *   3. A command that the server redirects moves to the end of `to` at once.
 *   4. When everything before the mark was answered, or can run no more because the
 *      connection was lost, what the loss put back into the queue of `from` moves to `to`,
 *      then the pen does.
 *
 * A pen is a pipe that never has a transport: deadlines, cancels and bounds work there as
 * everywhere.  There are two.  While the older one waits, hand-overs that begin share the
 * younger one; so no command waits for more than two round trips of `from`.
 *
 * Guarantee: if the server executes commands in the order of each log, and stops executing
 * the chosen ones at one place in the log of `from`, they run in the order of their
 * submission.  (I2, I4, I15)
 */

#include "core/pipe/pipe_move.h"

#define SHOAL__HANDOVER_PENS 2
/* So many redirects a command follows; the next one is its result. */
#define SHOAL__HANDOVER_HOPS_MAX 16

/* Does the command belong to what goes through this pen?  It is asked twice, and must
 * answer the same. */
typedef bool (*shoal__handover_picks_fn)(void *owner, const shoal__pipe_t *pen,
                                         const shoal__request_t *request,
                                         const char *bytes);

typedef struct shoal__handover_pen {
    shoal__pipe_t pipe;
    uint64_t watermark; /* of `from` */
    bool is_free;       /* it need not be waited for */
    bool was_lost;      /* the connection of `from`, since the pen is in use */
} shoal__handover_pen_t;

typedef struct shoal__handover {
    shoal__pipe_t *from, *to; /* borrowed */
    shoal__handover_picks_fn picks;
    void *owner; /* handed to `picks` */
    shoal__handover_pen_t pens[SHOAL__HANDOVER_PENS];
    unsigned oldest, count; /* of the pens in use */
    uint64_t again_us;      /* there was no memory: the next attempt; else NEVER */
} shoal__handover_t;

/* 0 or SHOAL_ENOMEM; on failure nothing needs to be released.  The pens have the hooks,
 * the owner and the configuration of `from`. */
int shoal__handover_init(shoal__handover_t *handover, shoal__pipe_t *from,
                         shoal__pipe_t *to, shoal__handover_picks_fn picks,
                         void *owner);
/* Nothing may be outstanding in the pens. */
void shoal__handover_release(shoal__handover_t *handover);

/* The pen of the hand-over that begins next.  The owner notes what goes through it, then
 * begins. */
shoal__pipe_t *shoal__handover_pen(shoal__handover_t *handover);
/* Steps 1 and 2: new commands go to the pen from now on.  Not from a hook.  0; or nothing
 * was moved, and no hand-over has begun: SHOAL_ENOMEM; or SHOAL_EAGAIN: what a loss put
 * back stands before the pen, so that it can take nothing in.  Try again when a hand-over
 * is over. */
int shoal__handover_begin(shoal__handover_t *handover, uint64_t now_us);

/* Step 3, for on_error of `from`: the error says that the command, or unit, belongs to `to`,
 * and proves that it was not executed.  `ahead` goes before it, as a part of its unit
 * (ASKING); no bytes: nothing does.  SURFACE: it is a part of a unit, whose other parts were
 * answered; or it went astray too often, or there is no memory. */
shoal__pipe_verdict_t shoal__handover_redirect(shoal__pipe_t *to,
                                               const shoal__refused_t *refused,
                                               shoal__bytes_t ahead, uint64_t now_us);

/* `from` was lost.  may_run_late: its server might still execute what it did not answer,
 * because the commands do not leave that server.  Then the hand-overs are over when the
 * next connection is greeted, which ends the former one; else at once.  To be called also
 * after a begin without a connection, if nothing may run late. */
void shoal__handover_lost(shoal__handover_t *handover, bool may_run_late);

/* Nothing is handed over: what is in the pens goes back to the end of `from`, at once, behind
 * what that has of the same commands.  Nothing may have been redirected to `to`.  No
 * hand-over begins any more. */
void shoal__handover_recall(shoal__handover_t *handover);

/* Step 4, to be called after each begin, or recall, after `from` was lost, and after it was fed,
 * before anything else happens to it.  Returns a pen that is over: what went there goes to
 * `to` now.  NULL: none is over, any more. */
shoal__pipe_t *shoal__handover_step(shoal__handover_t *handover, uint64_t now_us);

/* Time passed: deadlines of the commands in the pens; and when to call again.  Call
 * shoal__handover_step() afterwards. */
void shoal__handover_tick(shoal__handover_t *handover, uint64_t now_us);
uint64_t shoal__handover_next_wake_us(const shoal__handover_t *handover);

/* Give up on a command in a pen.  False: it is not there. */
bool shoal__handover_cancel(shoal__handover_t *handover, uint64_t ticket,
                            uint64_t now_us);
/* Close: settle all commands in the pens. */
void shoal__handover_abandon(shoal__handover_t *handover, uint64_t now_us);

#endif
