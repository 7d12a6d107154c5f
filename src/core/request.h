/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_REQUEST_H
#define SHOAL_CORE_REQUEST_H

/* A command that we owe a result: everything but its bytes, in one cache line. */

#include "core/extra.h"
#include "resp/command_info.h"
#include <shoal/command.h>
#include <stddef.h>
#include <stdint.h>

enum shoal__request_flag {
    SHOAL__REQUEST_IDEMPOTENT = 1 << 0, /* of the caller */
    SHOAL__REQUEST_ONCE = 1 << 1,       /* of the caller */
    SHOAL__REQUEST_URGENT = 1 << 2,     /* of the caller */
    SHOAL__REQUEST_UNIT = 1 << 3,       /* part of MULTI ... EXEC */
    SHOAL__REQUEST_UNIT_FIRST = 1 << 4,
    SHOAL__REQUEST_UNIT_LAST = 1 << 5,
    SHOAL__REQUEST_INTERNAL = 1 << 6, /* ours; nobody gets its result */
    SHOAL__REQUEST_MAYBE = 1 << 7,    /* an attempt was written and not answered */
    SHOAL__REQUEST_ZOMBIE = 1 << 8,   /* given up; its bytes and its slot remain */
    SHOAL__REQUEST_GONE = 1 << 9,     /* given up, and no reply will come: no slot */
    SHOAL__REQUEST_RETRIED = 1 << 10, /* queued again: its ticket is out of order */
    SHOAL__REQUEST_FENCE = 1 << 11,   /* ours too: see pipe_fence.c */
    SHOAL__REQUEST_CUT = 1 << 12,     /* a connection ended inside it: see blame.h */
    SHOAL__REQUEST_ALONE = 1 << 13,   /* it travels alone: see blame.h */
    SHOAL__REQUEST_OVERDUE = 1 << 14, /* its deadline passed before it is cancelled */
    SHOAL__REQUEST_STATE = 1 << 15, /* of a lease: it changes its connection, and those
                                         behind it rely on that */
    /* It does not travel on the shared connection: its extra says on which lease; none: on
     * one of its own.  Until a connection has the command, and no longer: the bit is that
     * of FENCE, which only a pipe sets. */
    SHOAL__REQUEST_LEASED = SHOAL__REQUEST_FENCE,
    /* The route looks at it alone: it is large, or its caller asks for the bulk lane, or it
     * blocks.  Until a pipe has the command; the bit is that of ALONE. */
    SHOAL__REQUEST_APART = SHOAL__REQUEST_ALONE,
    /* A replica may execute it.  Until the route has placed it; the bit is that of CUT. */
    SHOAL__REQUEST_FOR_REPLICA = SHOAL__REQUEST_CUT
};

/* The lease that a request names; NULL: none. */
#define SHOAL__REQUEST_LEASE(request)                                                  \
    ((request)->extra ? (request)->extra->lease : NULL)

#define SHOAL__REQUEST_ATTEMPTS_MAX 127u /* more are not counted */
#define SHOAL__REQUEST_HOPS_MAX 31u

/* The time of a submission is kept in 56 bits, which is for 2000 years. */
#define SHOAL__REQUEST_TIME(us) ((us) & ((UINT64_C(1) << 56) - 1))

typedef struct shoal__request {
    shoal_result_cb on_result; /* NULL: nobody wants the result */
    void *data;
    uint64_t tag;               /* of a completion queue */
    uint64_t ticket;            /* for cancelling; 0: none */
    uint64_t submitted_us : 56; /* SHOAL__REQUEST_TIME() */
    uint64_t hops : 5;          /* redirects that it followed */
    uint64_t was_refused : 1;   /* ... and may have lost its place: overtaken.h */
    uint64_t is_grouped : 1; /* its caller wants it to stay with others of its call */
    uint64_t is_at_replica : 1; /* a read that left its primary's connection: it has no
                                   place among the other commands */
    uint64_t deadline_us;
    shoal__extra_t *extra; /* NULL: none */
    uint32_t bytes;        /* encoded, without values that stand elsewhere */
    uint16_t flags;        /* of enum shoal__request_flag */
    shoal__command_class_t command_class : 2;
    unsigned shape : 6; /* shoal__reply_shape_t: what its reply may be.  On a lease any,
                           because of MULTI: until a connection has the command, this
                           is its shoal__lease_effect_t */
    unsigned
        attempts : 7; /* earlier ones, in which its last byte was handed over.  While
                              the route places it: the number of its home */
    unsigned has_more : 1; /* the next one is of the same call, and takes the same
                              connection */
} shoal__request_t;

_Static_assert(sizeof(shoal__request_t) == 64, "one cache line");

/* The values of a request that stand in the caller's memory; NULL: none do, of all that
 * were submitted with it. */
static inline const shoal__values_t *
shoal__request_values(const shoal__request_t *request)
{
    const shoal__extra_t *extra = request->extra;

    if (!extra || !extra->values)
        return NULL;
    return &extra->values[request->tag - extra->first_tag];
}

/* Bytes of it that stand in the caller's memory. */
static inline size_t shoal__request_referred_bytes(const shoal__request_t *request)
{
    const shoal__values_t *values = shoal__request_values(request);

    return values ? values->bytes : 0;
}

/* All its bytes, as they are sent. */
static inline size_t shoal__request_wire_bytes(const shoal__request_t *request)
{
    return request->bytes + shoal__request_referred_bytes(request);
}

#endif
