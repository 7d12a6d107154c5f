/* SPDX-License-Identifier: MIT */
#include "core/pipe/request_ring.h"

#include "base/alloc.h"
#include <assert.h>
#include <shoal/errors.h>
#include <string.h>

/* Stands where a ring without memory has its slots.  It is never written: room is reserved
 * before. */
static const shoal__request_t no_slot;

static void drop_slots(shoal__request_ring_t *ring)
{
    if (ring->room)
        shoal__free(ring->slots);
    ring->slots = (shoal__request_t *)&no_slot;
    ring->room = ring->mask = 0;
}

int shoal__request_ring_init(shoal__request_ring_t *ring, size_t slots)
{
    *ring = (shoal__request_ring_t){0};
    drop_slots(ring);
    return slots ? shoal__request_ring_reserve(ring, slots) : 0;
}

void shoal__request_ring_release(shoal__request_ring_t *ring)
{
    shoal__request_ring_rest(ring);
    *ring = (shoal__request_ring_t){0};
}

void shoal__request_ring_rest(shoal__request_ring_t *ring)
{
    drop_slots(ring);
}

int shoal__request_ring_grow(shoal__request_ring_t *ring, size_t count)
{
    uint64_t length = shoal__request_ring_length(ring);
    uint64_t grown = ring->room ? ring->room : 16;

    while (grown < length + count)
        grown *= 2;

    shoal__request_t *memory = shoal__malloc((size_t)grown * sizeof *memory);
    if (!memory)
        return SHOAL_ENOMEM;
    for (uint64_t at = ring->head; at != ring->tail; at++)
        memory[at & (grown - 1)] = *shoal__request_ring_at(ring, at);
    drop_slots(ring);
    ring->slots = memory;
    ring->room = grown;
    ring->mask = grown - 1;
    return 0;
}

void shoal__request_ring_insert(shoal__request_ring_t *ring, uint64_t position,
                                uint64_t count)
{
    assert(position - ring->sent <= ring->tail - ring->sent);
    if (position < ring->alone_end)
        ring->alone_end += count;
    for (uint64_t at = ring->tail; at != position; at--)
        *shoal__request_ring_at(ring, at - 1 + count) =
            *shoal__request_ring_at(ring, at - 1);
    ring->tail += count;
}

void shoal__request_ring_remove(shoal__request_ring_t *ring, uint64_t position)
{
    shoal__request_t *request = shoal__request_ring_at(ring, position);

    assert(position - ring->head < ring->tail - ring->head);
    assert(!(request->flags & SHOAL__REQUEST_GONE));
    request->flags |= SHOAL__REQUEST_GONE;
    ring->gone++;
    ring->gone_queued += position - ring->head >= ring->sent - ring->head;
}

void shoal__request_ring_sweep(shoal__request_ring_t *ring)
{
    uint64_t kept = ring->sent;

    for (uint64_t at = ring->sent; ring->gone && at != ring->tail; at++) {
        shoal__request_t *request = shoal__request_ring_at(ring, at);
        if (request->flags & SHOAL__REQUEST_GONE) {
            if (request->flags & SHOAL__REQUEST_RETRIED)
                ring->retried--;
            continue;
        }
        if (kept != at)
            *shoal__request_ring_at(ring, kept) = *request;
        kept++;
    }
    if (ring->gone) {
        ring->tail = kept;
        if (ring->alone_end > kept)
            ring->alone_end = kept;
        ring->gone = ring->gone_queued = 0;
    }
}

void shoal__request_ring_rewind(shoal__request_ring_t *ring)
{
    ring->sent = ring->head;
    ring->gone_queued = ring->gone;
}

void shoal__request_ring_unit(const shoal__request_ring_t *ring, uint64_t position,
                              uint64_t *ret_first, uint64_t *ret_last)
{
    uint64_t first = position, last = position;

    while (first != ring->head &&
           !(shoal__request_ring_at(ring, first)->flags & SHOAL__REQUEST_UNIT_FIRST))
        first--;
    while (!(shoal__request_ring_at(ring, last)->flags & SHOAL__REQUEST_UNIT_LAST)) {
        last++;
        assert(last != ring->tail);
    }
    *ret_first = first;
    *ret_last = last;
}

/* Of the loop thread, or of other threads, as the other one? */
static bool is_of_kind(uint64_t there, uint64_t ticket)
{
    return there && ((there ^ ticket) & SHOAL_TICKET_OF_LOOP) == 0;
}

/* From `at` on, where a higher ticket of the same kind ends the search if they are sorted. */
static bool find_from(const shoal__request_ring_t *ring, uint64_t at, uint64_t ticket,
                      uint64_t *ret_position)
{
    for (; at != ring->tail; at++) {
        const shoal__request_t *request = shoal__request_ring_at(ring, at);
        uint64_t there = request->ticket;
        if (there == ticket &&
            !(request->flags & (SHOAL__REQUEST_GONE | SHOAL__REQUEST_ZOMBIE))) {
            *ret_position = at;
            return true;
        }
        if (!ring->retried && there > ticket && is_of_kind(there, ticket))
            return false;
    }
    return false;
}

bool shoal__request_ring_find(const shoal__request_ring_t *ring, uint64_t ticket,
                              uint64_t *ret_position)
{
    uint64_t low = ring->head, high = ring->tail; /* low <= the first one <= high */

    if (ticket == 0)
        return false;
    if (ring->retried)
        return find_from(ring, low, ticket, ret_position);

    while (low != high) {
        uint64_t middle = low + (high - low) / 2, probe = middle;

        /* Step over tickets of the other kind (of the loop thread, or of other threads)
         * and over requests without a ticket. */
        while (probe != high) {
            if (is_of_kind(shoal__request_ring_at(ring, probe)->ticket, ticket))
                break;
            probe++;
        }
        if (probe == high) {
            high = middle;
            continue;
        }
        if (shoal__request_ring_at(ring, probe)->ticket < ticket)
            low = probe + 1;
        else
            high = middle;
    }
    return find_from(ring, low, ticket, ret_position);
}
