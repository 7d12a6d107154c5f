/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FLUSH_STATE_H
#define SHOAL_CORE_FLUSH_STATE_H

/* The state of the flush policy, and its answers.  flush_policy.c keeps the state;
 * flush_auto.c decides from it in the mode `auto`. */

#include "core/flush/flush_census.h"
#include "core/flush/flush_guard.h"
#include "core/flush/flush_tempo.h"
#include <shoal/options.h>
#include <shoal/stats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct shoal__flush_config {
    shoal_flush_mode_t mode;
    uint64_t pause_us;   /* FIXED: the pause; AUTO: the latency budget */
    size_t bytes_max;    /* flush once this many bytes are queued */
    size_t commands_max; /* flush once this many commands are queued */
    bool has_company;    /* its callers use other connections, too: a cluster's */
    bool has_fine_waker; /* can the caller be woken within some 10 us of a time? */
} shoal__flush_config_t;

typedef enum shoal__flush_verdict {
    SHOAL__FLUSH_IDLE, /* nothing is queued */
    SHOAL__FLUSH_WAIT, /* ask again at wake_us, or when something happens */
    SHOAL__FLUSH_NOW,
} shoal__flush_verdict_t;

typedef struct shoal__flush_answer {
    shoal__flush_verdict_t verdict;
    shoal_flush_reason_t reason; /* NOW */
    uint64_t commands;           /* NOW: so many of them; 0: all */
    uint64_t wake_us;    /* IDLE, WAIT: ask again then; SHOAL__NEVER_US: no need to */
    uint64_t wake_after; /* IDLE, WAIT: ask again after so many more commands */
} shoal__flush_answer_t;

/* What `auto` knows and intends; see flush_auto.h. */
typedef struct shoal__flush_auto {
    shoal__flush_census_t census;
    shoal__flush_tempo_t tempo;
    shoal__flush_guard_t guard;
    uint64_t arrived;   /* commands queued so far */
    uint64_t completed; /* commands answered or removed so far */

    uint64_t hold_until_us;    /* 0: no hold */
    uint64_t hold_from;        /* `arrived` when it began */
    uint64_t hold_loosed_from; /* `completed` then */
    uint64_t hold_free;        /* callers that had no command outstanding then */

    uint64_t stagger_us; /* the flush to come is one half: the other waits so long */
    uint64_t stagger_until_us; /* the second half waits until then; 0: none waits */
    uint64_t stagger_inflight; /* commands in flight when it began to wait */

    bool is_quick;      /* the server was seen to answer within its budget */
    bool awaits_answer; /* the next batch leaves when what is in flight was answered */

    uint64_t asked_us; /* the wake-up of the last answer; SHOAL__NEVER_US: none */
} shoal__flush_auto_t;

typedef struct shoal__flush_policy {
    shoal__flush_config_t config;
    uint64_t queued; /* commands not written */
    uint64_t queued_bytes;
    uint64_t inflight;   /* written, unanswered */
    uint64_t oldest_us;  /* submission of the oldest queued command */
    uint64_t flushed_us; /* the former flush; 0: none yet */
    uint64_t decided_us; /* the last verdict NOW; later commands are younger */
    uint64_t decided;    /* commands queued at that verdict and not written yet */
    uint64_t answered;   /* commands, in the present read */
    bool is_near;        /* the network's round trip is within the pause */
    bool is_urgent;      /* a queued command must not be held */
    uint64_t awake;      /* callers that are, close by, and ask again all the time */
    bool is_still;       /* none of them did anything since this one asked before */
    shoal__flush_auto_t learned;
} shoal__flush_policy_t;

#endif
