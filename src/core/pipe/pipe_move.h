/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PIPE_MOVE_H
#define SHOAL_CORE_PIPE_MOVE_H

/*
 * Moves commands from one pipe to the end of another, with their bytes, tickets, deadlines
 * and extras.  When a command moves, handover.h decides.
 *
 * Guarantee: moved commands keep their order, and units stay together.  A command of which
 * a byte was handed over does not move.  Without memory nothing moves.  (I2, I4, I15)
 */

#include "core/pipe/pipe.h"

/* Does the command move?  `bytes` lack its large values (extra.h).  Of a unit it is enough
 * that one command does.  It is asked twice, and must answer the same. */
typedef bool (*shoal__pipe_picks_fn)(void *data, const shoal__request_t *request,
                                     const char *bytes);

/* Take in a command of another pipe: `request` and its request->bytes `bytes`, which are
 * copied.  Its extra is then this pipe's.  0, or SHOAL_ENOMEM: nothing was done. */
int shoal__pipe_adopt(shoal__pipe_t *pipe, const shoal__request_t *request,
                      const char *bytes, uint64_t now_us);

/* The same for what the server of another pipe refused, behind a command of our own
 * (`ahead`; no bytes: none), which is then a part of its unit. */
int shoal__pipe_adopt_refused(shoal__pipe_t *pipe, const shoal__refused_t *refused,
                              shoal__bytes_t ahead, uint64_t now_us);

/* Move the queued commands that `picks` names; NULL: all.  Not from a hook of `from`.  0,
 * or SHOAL_ENOMEM: nothing was moved. */
int shoal__pipe_move_queued(shoal__pipe_t *from, shoal__pipe_t *to,
                            shoal__pipe_picks_fn picks, void *data, uint64_t now_us);

/* The same for commands that `from` holds (hold_rule.h) and that are not in its registry:
 * they stand before its queued ones. */
int shoal__pipe_move_held(shoal__pipe_t *from, shoal__pipe_t *to,
                          shoal__pipe_picks_fn picks, void *data, uint64_t now_us);

/* Take all queued commands out: `takes` gets each of them, and its extra, before the first is
 * removed.  Not from a hook of `pipe`.  0, or what `takes` returned: nothing was removed. */
typedef int (*shoal__pipe_takes_fn)(void *data, const shoal__request_t *request,
                                    const char *bytes);
int shoal__pipe_take_out(shoal__pipe_t *pipe, shoal__pipe_takes_fn takes, void *data,
                         uint64_t now_us);

/* The first `count` commands are queued, none of them is gone, and other pipes have copies of
 * them, with their extras: forget them. */
void shoal__pipe_drop_moved(shoal__pipe_t *pipe, uint64_t count, uint64_t now_us);

/* For pipe_hold.c.  `pen` has the held commands of `pipe`.  Keep what was refused: as
 * _adopt_refused().  Move queued commands there: as _move_queued().  Put all of them back, before
 * the queued ones: 0, or SHOAL_ENOMEM: nothing was done.  pen may be NULL there. */
int shoal__pipe_keep(shoal__pipe_t *pen, const shoal__refused_t *refused);
int shoal__pipe_sift(shoal__pipe_t *pipe, shoal__pipe_t *pen,
                     shoal__pipe_picks_fn picks);
int shoal__pipe_put_back(shoal__pipe_t *pipe, shoal__pipe_t *pen);

/* A command of the library's own, INTERNAL.  It goes behind all that waits; but if the pipe
 * holds commands, before them and those behind them, because what the server refuses them for
 * does not concern it.  Returns room for its bytes, which the caller writes at once; NULL: no
 * memory. */
char *shoal__pipe_push_own(shoal__pipe_t *pipe, const shoal__request_t *request);
/* The same for some of them, which go before all that waits in any case. */
char *shoal__pipe_push_own_first(shoal__pipe_t *pipe, const shoal__request_t *requests,
                                 size_t count);
/* How many of those stand first in the queue, with fences and the rest of a unit that was
 * begun? */
uint64_t shoal__pipe_own_ahead(shoal__pipe_t *pipe);

/* The watermark: the place behind the last command of which a byte was handed over, and
 * behind the rest of its unit.  It holds until the connection is lost. */
uint64_t shoal__pipe_watermark(const shoal__pipe_t *pipe);

/* Is everything before the watermark answered? */
static inline bool shoal__pipe_has_passed(const shoal__pipe_t *pipe, uint64_t watermark)
{
    return pipe->ring.head >= watermark;
}

#endif
