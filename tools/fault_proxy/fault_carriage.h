/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAULT_CARRIAGE_H
#define SHOAL_TOOLS_FAULT_CARRIAGE_H

/* The words in which a proxy is told what to do to the bytes it carries. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULT_RATE_ALWAYS 1000000u

typedef enum fault_way { FAULT_TO_SERVER, FAULT_TO_CLIENT } fault_way_t;

/* Unix sockets know no reset: a peer there sees the end of the stream instead. */
typedef enum fault_end {
    FAULT_END_FIN,   /* both sides see the end of the stream, behind what was carried */
    FAULT_END_RESET, /* both sides see a reset */
    FAULT_END_HALF   /* this way's receiver sees the end; the other way goes on */
} fault_end_t;

/* How one way of every connection, open or to come, carries bytes.  Zero: all at once and
 * unharmed.  Rates are per million. */
typedef struct fault_carriage {
    uint64_t delay_us;    /* each piece is held so long ... */
    uint64_t jitter_us;   /* ... and up to so much longer; the order is kept */
    uint64_t bytes_per_s; /* 0: no bound */
    size_t chunk_bytes;   /* most bytes of one write; 0: no bound */
    bool is_stopped;      /* nothing is read */
    uint32_t flip_rate;   /* of bytes: one bit turned */
    uint32_t lose_rate;   /* of bytes: left out */
    uint32_t insert_rate; /* of bytes: a random one follows */
    /* Of whole replies (top-level RESP frames), to the client only: */
    uint32_t drop_rate;   /* left out */
    uint32_t repeat_rate; /* sent twice */
    uint32_t swap_rate;   /* exchanged with the next one */
    uint32_t extra_rate;  /* a made-up one goes before it */
} fault_carriage_t;

/* Are single bytes harmed? */
static inline bool fault_carriage_harms_bytes(const fault_carriage_t *carriage)
{
    return (carriage->flip_rate | carriage->lose_rate | carriage->insert_rate) != 0;
}

/* Are whole replies harmed? */
static inline bool fault_carriage_harms_frames(const fault_carriage_t *carriage)
{
    return (carriage->drop_rate | carriage->repeat_rate | carriage->swap_rate |
            carriage->extra_rate) != 0;
}

/* What has happened so far. */
typedef struct fault_proxy_counts {
    unsigned accepted, open_now;
    uint64_t bytes[2]; /* carried, by fault_way_t */
    uint64_t harmed;   /* bytes and replies that were not carried as they came */
} fault_proxy_counts_t;

#endif
