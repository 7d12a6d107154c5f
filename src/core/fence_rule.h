/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FENCE_RULE_H
#define SHOAL_CORE_FENCE_RULE_H

/*
 * When a fence travels along: an ECHO of a number that nobody can foresee.  Its answer
 * proves that as many replies came as commands went.
 *
 * DETECT puts it before a batch, so that a shift that happened earlier is noticed before
 * anything of the batch is handed out; STRICT puts it behind every batch, and hands out
 * nothing before its answer.
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
    uint64_t since_us; /* the last fence was put so long ago */
} shoal__fence_input_t;

shoal__fence_place_t shoal__fence_rule(const shoal__fence_input_t *input);

/* An error in the place of a fence's answer: is it one that the server gives to
 * everything for now, so that it proves nothing?  Any other means that replies and
 * commands are out of step. */
bool shoal__fence_is_unclear(shoal__bytes_t error);
/* ... and is it that the server does not let us ECHO any more? */
bool shoal__fence_is_forbidden(shoal__bytes_t error);

#endif
