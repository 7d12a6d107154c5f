/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_PUBSUB_RECEIPTS_H
#define SHOAL_BENCH_PUBSUB_RECEIPTS_H

/* What a receiver does with each message: counts it, looks whether it is the one that is due,
 * times it, and tells the publisher.  One thread at a time. */

#include "load/clock.h"
#include "load/run.h"
#include "pubsub/message.h"

typedef struct receipts {
    run_t *run;
    int credits;         /* of the publisher */
    uint32_t next;       /* the number that is due */
    uint32_t credit_due; /* the number at which the publisher is told */
    uint32_t untimed;    /* numbers with one of these bits are not timed */
    _Atomic uint64_t lost;
} receipts_t;

/* One message in 64 is timed, at a rate one in 8. */
void receipts_init(receipts_t *receipts, run_t *run, int credits);

/* The message is none of ours. */
void receipts_refuse(receipts_t *receipts);

/* The message has another number than that which is due. */
void receipts_jump(receipts_t *receipts, uint32_t number);
void receipts_tell(receipts_t *receipts, uint32_t number);

static inline void receipts_note(receipts_t *receipts, const char *payload,
                                 size_t bytes)
{
    run_t *run = receipts->run;

    if (bytes < MESSAGE_HEAD_BYTES) {
        receipts_refuse(receipts);
        return;
    }
    uint32_t number = message_number(payload);
    if (number != receipts->next)
        receipts_jump(receipts, number);
    receipts->next = number + 1;
    if ((number & receipts->untimed) == 0 && run_phase(run) == RUN_MEASURING)
        histogram_record(run->latency, message_age_ns(payload, clock_ns()));
    if (number >= receipts->credit_due)
        receipts_tell(receipts, number);
    run_count(run, 1);
}

#endif
