/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_REQUEST_RING_H
#define SHOAL_CORE_REQUEST_RING_H

/*
 * The registry: requests in the order of their bytes on the wire.
 *
 *      head                sent                tail
 *       |                   |                   |
 *       v                   v                   v
 *     [ a ][ b ][ z ][ d ]  [ e ][ . ][ g ]     (free)
 *       written, unanswered   queued
 *
 *   z  zombie: given up, but its reply will come and must meet its slot
 *   .  gone: given up before a byte left; nothing on the wire belongs to it
 *
 * The gone are swept out before anything is written, so no slot between head and sent
 * is without a reply to come.  Positions are 64 bits that only count up; they hold
 * until the next sweep or insertion.
 *
 * Guarantee: the n-th pop returns the n-th request that was pushed and is not gone.
 * (I1)  No allocation once the ring has grown to the working set.  (P2)
 */

#include "core/request.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct shoal__request_ring {
    shoal__request_t *slots;
    uint64_t room;        /* slots, a power of two; 0: none yet */
    uint64_t mask;        /* room - 1 */
    uint64_t head;        /* the oldest request */
    uint64_t sent;        /* the oldest that is not wholly written */
    uint64_t tail;        /* where the next one goes */
    uint64_t gone;        /* how many in head .. tail are gone */
    uint64_t gone_queued; /* how many of them in sent .. tail */
    uint64_t retried;     /* how many in head .. tail are RETRIED */
    uint64_t alone_end;   /* none from here on is ALONE */
} shoal__request_ring_t;

/* 0 or SHOAL_ENOMEM. */
int shoal__request_ring_init(shoal__request_ring_t *ring, size_t slots);
void shoal__request_ring_release(shoal__request_ring_t *ring);

/* Make room for `count` more.  0 or SHOAL_ENOMEM; requests may move in memory. */
int shoal__request_ring_grow(shoal__request_ring_t *ring, size_t count);
static inline int shoal__request_ring_reserve(shoal__request_ring_t *ring, size_t count)
{
    if (ring->tail - ring->head + count <= ring->room)
        return 0;
    return shoal__request_ring_grow(ring, count);
}

/* Give the memory of an empty ring back; the next request takes memory again. */
void shoal__request_ring_rest(shoal__request_ring_t *ring);

/* The slot of the next request, to be filled by the caller.  Room was reserved. */
static inline shoal__request_t *shoal__request_ring_push(shoal__request_ring_t *ring)
{
    return &ring->slots[ring->tail++ & ring->mask];
}

static inline shoal__request_t *
shoal__request_ring_at(const shoal__request_ring_t *ring, uint64_t position)
{
    return &ring->slots[position & ring->mask];
}

static inline uint64_t shoal__request_ring_length(const shoal__request_ring_t *ring)
{
    return ring->tail - ring->head;
}

/* Requests that will be written; the gone are not counted. */
static inline uint64_t shoal__request_ring_queued(const shoal__request_ring_t *ring)
{
    return ring->tail - ring->sent - ring->gone_queued;
}

/* Slots whose replies are due. */
static inline uint64_t shoal__request_ring_inflight(const shoal__request_ring_t *ring)
{
    return ring->sent - ring->head;
}

/* The `count` requests from `sent` on are wholly written. */
static inline void shoal__request_ring_mark_sent(shoal__request_ring_t *ring,
                                                 uint64_t count)
{
    ring->sent += count;
}

/* The request at head was answered: drop it. */
static inline void shoal__request_ring_pop(shoal__request_ring_t *ring)
{
    if (shoal__request_ring_at(ring, ring->head)->flags & SHOAL__REQUEST_RETRIED)
        ring->retried--;
    ring->head++;
}

/* Make `count` slots at `position`, which is in sent .. tail; the requests from there on
 * move up.  Room was reserved.  Fill them. */
void shoal__request_ring_insert(shoal__request_ring_t *ring, uint64_t position,
                                uint64_t count);

/* A request is given up and no reply will come for it: it becomes gone.  Its bytes stay
 * in `bytes` until the sweep. */
void shoal__request_ring_remove(shoal__request_ring_t *ring, uint64_t position);

/* The request at `position` is ALONE. */
static inline void shoal__request_ring_note_alone(shoal__request_ring_t *ring,
                                                  uint64_t position)
{
    if (ring->alone_end <= position)
        ring->alone_end = position + 1;
}

/* Drop the gone from `sent` on; the others close up and keep their order. */
void shoal__request_ring_sweep(shoal__request_ring_t *ring);

/* The connection is gone: nothing is written any more, everything left is queued. */
void shoal__request_ring_rewind(shoal__request_ring_t *ring);

/* Bounds of the unit that the request at `position` is part of: first .. last. */
void shoal__request_ring_unit(const shoal__request_ring_t *ring, uint64_t position,
                              uint64_t *ret_first, uint64_t *ret_last);

/* Position of the outstanding request with this ticket, which nobody gave up; of several,
 * which are queued again or are parts of one command, the first. O(log n) while no request in
 * the ring was queued again. */
bool shoal__request_ring_find(const shoal__request_ring_t *ring, uint64_t ticket,
                              uint64_t *ret_position);

#endif
