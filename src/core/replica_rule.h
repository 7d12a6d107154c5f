/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_REPLICA_RULE_H
#define SHOAL_CORE_REPLICA_RULE_H

/*
 * Reads at replicas: which commands may go there, which replica takes them, and what an
 * error of a replica means.  The caller gives the time and the dice.
 */

#include "base/bytes.h"
#include "base/random.h"
#include "resp/command_info.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A replica whose link to its primary is down for longer has data that are too old. */
#define SHOAL__REPLICA_LINK_DOWN_US 60000000
/* A replica that refused a command gets no other one for so long. */
#define SHOAL__REPLICA_REFUSED_US 1000000
/* A replica that was chosen gets all reads for so long, so that they form batches. */
#define SHOAL__REPLICA_KEEP_US 50000

/* May a replica execute this command of this class?  Only what reads data, and needs
 * nothing of an earlier command: a cursor of SCAN means nothing to another server. */
bool shoal__replica_may_read(shoal__bytes_t name, shoal__command_class_t command_class);

/* What is known about one replica. */
typedef struct shoal__replica_facts {
    bool is_ready;   /* its connection takes commands */
    bool is_replica; /* it answered ROLE over this connection, with "slave" */
    uint64_t
        linked_us; /* when it last said that the link to its primary works; 0: never */
    uint64_t refused_us; /* when it last refused a command for now; 0: never */
    uint64_t inflight;   /* commands that it has not answered */
    uint64_t rtt_us;     /* a round trip; 0: not known */
    bool is_near;        /* it is in the client's zone */
} shoal__replica_facts_t;

bool shoal__replica_is_usable(const shoal__replica_facts_t *facts, uint64_t now_us);

#define SHOAL__REPLICA_NONE SIZE_MAX

/* The replica that was chosen last.  All zero: none was. */
typedef struct shoal__replica_choice {
    size_t at;
    uint64_t until_us; /* it is kept so long, while it is usable */
} shoal__replica_choice_t;

/* The index of a usable replica: one at random, unless another one, also at random, has less
 * than half its load (the product of unanswered commands and round trip).  If some are near,
 * it is one of them; if none is, but the primary is, and may take reads for that: none.
 * SHOAL__REPLICA_NONE: none is usable. */
size_t shoal__replica_choose(shoal__replica_choice_t *choice,
                             const shoal__replica_facts_t *facts, size_t count,
                             bool is_primary_near, shoal__random_t *random,
                             uint64_t now_us);

typedef enum shoal__replica_verdict {
    SHOAL__REPLICA_STANDARD,  /* as everywhere: core/error_rule.h */
    SHOAL__REPLICA_ELSEWHERE, /* it executes nothing for now, and did not execute this */
    SHOAL__REPLICA_AT_PRIMARY /* it did not execute this, and the primary may */
} shoal__replica_verdict_t;

shoal__replica_verdict_t shoal__replica_on_error(shoal__bytes_t error);

/* A command went to replicas so often in vain (attempts): is the primary next, if it is
 * allowed? */
bool shoal__replica_has_failed(unsigned attempts);

#endif
