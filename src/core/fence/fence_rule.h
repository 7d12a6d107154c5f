/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FENCE_RULE_H
#define SHOAL_CORE_FENCE_RULE_H

/*
 * Decides when the pipe adds a fence to a batch.  A fence is an ECHO of a number that
 * nobody can foresee; the right answer proves that as many replies came as commands
 * went.
 *
 * DETECT puts the fence before a batch, so that the pipe notices an earlier shift
 * before it hands out any reply of the batch.  STRICT puts the fence behind every
 * batch, and hands out no reply of the batch before the fence's answer.
 */

#include "base/bytes.h"
#include <shoal/integrity.h>
#include <stdbool.h>
#include <stdint.h>

/* DETECT: a fence is at least so far from the one before, unless there is doubt. */
#define SHOAL__FENCE_SPACING_US 100000

typedef enum shoal__fence_place {
    SHOAL__FENCE_NONE,
    SHOAL__FENCE_BEFORE, /* the batch */
    SHOAL__FENCE_BEHIND
} shoal__fence_place_t;

typedef struct shoal__fence_input {
    shoal_integrity_t integrity;
    bool is_allowed;   /* the server answers ECHO */
    bool has_doubt;    /* since the last fence: a command was given up, whose reply will
                          perhaps never come, or a fence's answer proved nothing */
    bool is_awaited;   /* a fence is queued or unanswered */
    uint64_t since_us; /* time since the last fence was put into the queue */
} shoal__fence_input_t;

shoal__fence_place_t shoal__fence_rule(const shoal__fence_input_t *input);

/* A batch leaves only if so many more commands may be in flight; `queued` commands
 * wait.  With STRICT, putting the fence behind a batch moves the rest of the queue,
 * which a few commands are not worth.  At least 1. */
uint64_t shoal__fence_room_min(shoal_integrity_t integrity, uint64_t queued,
                               uint64_t inflight_max);

/* STRICT: replies that are held, because their fences were answered with errors. */
typedef struct shoal__fence_plight {
    uint64_t fences;           /* answered so, with replies before them */
    bool is_awaited;           /* another fence is queued or unanswered */
    unsigned unclear;          /* answers in a row that proved nothing */
    uint64_t unclear_since_us; /* when the first of them came */
    uint64_t put_us;           /* when the last fence was put into the queue */
    uint64_t stall_us;         /* how long a server may be silent */
} shoal__fence_plight_t;

/* When to put another fence; each one comes later than the one before.
 * SHOAL__NEVER_US: none is needed. */
uint64_t shoal__fence_again_us(const shoal__fence_plight_t *plight);
/* When the replies have been held for too long; or SHOAL__NEVER_US. */
uint64_t shoal__fence_end_us(const shoal__fence_plight_t *plight);

/* Is this error, which came in the place of a fence's answer, one that the server gives
 * to every command for now?  Such an error proves nothing.  Any other error means that
 * replies and commands are out of step. */
bool shoal__fence_is_unclear(shoal__bytes_t error);
/* Does the error say that the server does not allow ECHO any more? */
bool shoal__fence_is_forbidden(shoal__bytes_t error);

#endif
