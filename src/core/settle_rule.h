/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_SETTLE_RULE_H
#define SHOAL_CORE_SETTLE_RULE_H

/*
 * Decides the outcome of a command whose reply has not come when its deadline passes,
 * its caller cancels it, its connection ends, or its client closes.  This is the table
 * of docs/ARCHITECTURE.md, "Outcome of every command", and nothing else.
 *
 * Guarantee: NOT_EXECUTED only if the command's last byte never reached a transport,
 * in this attempt and in every one before.  (I3, I4)
 */

#include "resp/command_info.h"
#include <shoal/result.h>
#include <stdbool.h>

/* How far a command got on the present connection. */
typedef enum shoal__progress {
    SHOAL__PROGRESS_QUEUED,  /* no byte was handed over */
    SHOAL__PROGRESS_PARTLY,  /* some, but not the last: never executed */
    SHOAL__PROGRESS_WRITTEN, /* the last byte was accepted */
    SHOAL__PROGRESS_REPLYING /* and a part of the reply was read */
} shoal__progress_t;

typedef enum shoal__ending {
    SHOAL__ENDING_TIMEOUT,
    SHOAL__ENDING_CANCEL,
    SHOAL__ENDING_LOST,    /* the connection is gone */
    SHOAL__ENDING_RENEWED, /* ... and its successor is there */
    SHOAL__ENDING_AUTH,    /* there is none, because the credentials were rejected */
    SHOAL__ENDING_TLS,     /* there is none, because TLS failed: as AUTH */
    SHOAL__ENDING_DESYNC,  /* given up because the server broke the protocol */
    SHOAL__ENDING_SHUTDOWN /* closing, the drain time is over */
} shoal__ending_t;

typedef struct shoal__settle_input {
    shoal__ending_t ending;
    shoal__progress_t progress;
    shoal__command_class_t command_class;
    bool is_idempotent; /* flag of the caller */
    bool is_once;       /* flag of the caller */
    bool is_unit;       /* part of MULTI ... EXEC: see below */
    bool was_written;   /* an earlier attempt was written and stayed unanswered */
    bool may_retry;     /* attempts and retry budget allow another one */
    bool queue_offline; /* options: keep commands while disconnected; RENEWED: true,
                           because the connection is there */
    bool is_guilty;     /* of the loss: see blame.h */
} shoal__settle_input_t;

typedef enum shoal__settle_action {
    SHOAL__SETTLE_KEEP,   /* stays queued, in its place, for the next connection */
    SHOAL__SETTLE_RETRY,  /* as KEEP, but counts as a retry */
    SHOAL__SETTLE_FAIL,   /* deliver status and fate; nothing is owed any more */
    SHOAL__SETTLE_ZOMBIE, /* deliver, but the rest of the bytes and the reply's slot
                             stay with the connection */
} shoal__settle_action_t;

typedef struct shoal__settlement {
    shoal__settle_action_t action;
    int status;        /* for FAIL and ZOMBIE */
    shoal_fate_t fate; /* for FAIL and ZOMBIE */
} shoal__settlement_t;

/* For a unit, progress is that of the whole unit: QUEUED if none of its bytes left,
 * WRITTEN if EXEC's last byte did, else PARTLY; a unit is never retried once
 * WRITTEN unless it is idempotent.
 *
 *            QUEUED            PARTLY              WRITTEN            REPLYING
 * TIMEOUT    FAIL NO           ZOMBIE MAYBE        ZOMBIE MAYBE       ZOMBIE LOST
 * CANCEL     FAIL NO           ZOMBIE MAYBE        ZOMBIE MAYBE       ZOMBIE LOST
 * LOST       KEEP, or FAIL NO  KEEP; once: FAIL    RO or idempotent,  as WRITTEN, fate
 *            if not offline    NO; not offline:    and may_retry:     REPLY_LOST
 *            queueing          FAIL NO             RETRY; else
 *                                                  FAIL MAYBE
 * RENEWED    as LOST
 * AUTH, TLS  as LOST, but FAIL NO with status SHOAL_EAUTH or SHOAL_ETLS for KEEP
 * DESYNC     as LOST with status SHOAL_EDESYNC for WRITTEN and REPLYING
 * SHUTDOWN   FAIL NO           FAIL NO             FAIL MAYBE         FAIL LOST
 *
 * RETRY needs offline queueing as well.  is_guilty: KEEP and RETRY become FAIL.
 * NO becomes MAYBE if was_written, and KEEP becomes FAIL MAYBE if what was written may
 * not be repeated.  once: never RETRY.  BLOCK and SCRIPT classes
 * are retried only if idempotent. */
shoal__settlement_t shoal__settle(const shoal__settle_input_t *input);

#endif
