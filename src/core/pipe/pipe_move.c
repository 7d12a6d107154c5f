/* SPDX-License-Identifier: MIT */
#include "core/pipe/pipe_move.h"

#include "base/time_us.h"
#include "core/pipe/pipe_unit.h"
#include <assert.h>
#include <shoal/errors.h>
#include <string.h>

/* mark: RETRIED, if its ticket is not the highest of this ring; or 0. */
static void take_in(shoal__pipe_t *pipe, const shoal__request_t *request,
                    const char *bytes, uint16_t mark)
{
    shoal__request_t adopted = *request;

    adopted.flags |= mark;
    memcpy(shoal__buffer_reserve(&pipe->log, adopted.bytes), bytes, adopted.bytes);
    shoal__pipe_push(pipe, &adopted);
}

int shoal__pipe_adopt(shoal__pipe_t *pipe, const shoal__request_t *request,
                      const char *bytes, uint64_t now_us)
{
    if (!shoal__pipe_reserve(pipe, request->bytes, 1))
        return SHOAL_ENOMEM;
    take_in(pipe, request, bytes, SHOAL__REQUEST_RETRIED);
    shoal__stage_times_taken(&pipe->times, 1, now_us);
    return 0;
}

/* ASKING: it shares the fate of the command or unit behind it. */
static void take_in_ahead(shoal__pipe_t *pipe, const shoal__request_t *first,
                          shoal__bytes_t ahead)
{
    shoal__request_t own = *first;

    own.on_result = NULL;
    own.data = NULL;
    own.ticket = 0;
    own.extra = NULL;
    own.bytes = (uint32_t)ahead.bytes;
    own.shape = SHOAL__SHAPE_QUEUED;
    own.flags = (own.flags & (uint16_t)~SHOAL__REQUEST_UNIT_LAST) |
                SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_UNIT |
                SHOAL__REQUEST_UNIT_FIRST;
    take_in(pipe, &own, ahead.data, SHOAL__REQUEST_RETRIED);
}

/* There is room. */
static void take_in_refused(shoal__pipe_t *pipe, const shoal__refused_t *refused,
                            shoal__bytes_t ahead, uint16_t mark)
{
    const char *bytes = refused->bytes;

    for (uint64_t i = 0; i < refused->count; i++) {
        shoal__request_t part = shoal__refused_part(refused, i);

        shoal__overtaken_refused(&pipe->shared->overtaken, &part);
        if (ahead.bytes > 0) {
            /* Nothing travels alone that is a part of a unit. */
            part.flags = (part.flags & (uint16_t) ~(SHOAL__REQUEST_UNIT_FIRST |
                                                    SHOAL__REQUEST_ALONE)) |
                         SHOAL__REQUEST_UNIT;
            if (i + 1 == refused->count)
                part.flags |= SHOAL__REQUEST_UNIT_LAST;
            if (i == 0)
                take_in_ahead(pipe, &part, ahead);
        }
        take_in(pipe, &part, bytes, mark);
        bytes += part.bytes;
    }
}

int shoal__pipe_adopt_refused(shoal__pipe_t *pipe, const shoal__refused_t *refused,
                              shoal__bytes_t ahead, uint64_t now_us)
{
    uint64_t count = refused->count + (ahead.bytes > 0);

    if (!shoal__pipe_reserve(pipe, shoal__refused_bytes(refused) + ahead.bytes, count))
        return SHOAL_ENOMEM;
    take_in_refused(pipe, refused, ahead, SHOAL__REQUEST_RETRIED);
    shoal__stage_times_taken(&pipe->times, count, now_us);
    return 0;
}

uint64_t shoal__pipe_watermark(const shoal__pipe_t *pipe)
{
    const shoal__request_ring_t *ring = &pipe->ring;
    uint64_t begun = shoal__pipe_begun(pipe), first, last;
    const shoal__request_t *next = shoal__request_ring_at(ring, begun);

    /* A unit may end here, and another one begin. */
    if (begun != ring->tail && (next->flags & SHOAL__REQUEST_UNIT) &&
        !(next->flags & SHOAL__REQUEST_UNIT_FIRST)) {
        shoal__request_ring_unit(ring, begun, &first, &last);
        return last + 1;
    }
    return begun;
}

/* ---- a walk over what may move ---- */

typedef struct walk {
    shoal__pipe_t *from;
    shoal__pipe_picks_fn picks;
    void *data;
    uint64_t at, end; /* the command or unit that was picked last */
    size_t offset;    /* of its bytes in the log */
    size_t bytes;
} walk_t;

static walk_t begin_walk(shoal__pipe_t *from, shoal__pipe_picks_fn picks, void *data)
{
    walk_t walk = {.from = from, .picks = picks, .data = data};

    walk.at = walk.end = shoal__pipe_watermark(from);
    walk.offset = from->sent_bytes;
    for (uint64_t at = from->ring.sent; at != walk.end; at++)
        walk.offset += shoal__request_ring_at(&from->ring, at)->bytes;
    return walk;
}

static bool is_picked(const walk_t *walk, const shoal__request_t *request,
                      const char *bytes)
{
    return !(request->flags & SHOAL__REQUEST_INTERNAL) &&
           (!walk->picks || walk->picks(walk->data, request, bytes));
}

/* Go to the next command, or unit, and say whether it is picked. */
static bool look_at_next(walk_t *walk)
{
    const shoal__request_ring_t *ring = &walk->from->ring;
    const char *log = shoal__buffer_data(&walk->from->log);
    uint64_t first, last = walk->end;
    bool is_wanted = false;

    walk->at = walk->end;
    walk->offset += walk->bytes;
    walk->bytes = 0;
    if (shoal__request_ring_at(ring, walk->at)->flags & SHOAL__REQUEST_UNIT)
        shoal__request_ring_unit(ring, walk->at, &first, &last);
    for (walk->end = walk->at; walk->end != last + 1; walk->end++) {
        const shoal__request_t *request = shoal__request_ring_at(ring, walk->end);
        is_wanted =
            is_wanted || is_picked(walk, request, log + walk->offset + walk->bytes);
        walk->bytes += request->bytes;
    }
    return is_wanted;
}

/* False: there is none any more. */
static bool walk_on(walk_t *walk)
{
    while (walk->end != walk->from->ring.tail)
        if (look_at_next(walk))
            return true;
    return false;
}

/* ---- moving ---- */

/* The slots stay, until the sweep, without what belongs to the other pipe now. */
static void carry_over(const walk_t *walk, shoal__pipe_t *to, uint16_t mark)
{
    shoal__request_ring_t *ring = &walk->from->ring;
    const char *bytes = shoal__buffer_data(&walk->from->log) + walk->offset;

    for (uint64_t at = walk->at; at != walk->end; at++) {
        shoal__request_t *request = shoal__request_ring_at(ring, at);

        take_in(to, request, bytes, mark);
        bytes += request->bytes;
        (void)shoal__pipe_take_extra(walk->from, at); /* it is the other pipe's */
        shoal__request_ring_remove(ring, at);
    }
}

static int move(walk_t walk, shoal__pipe_t *to, uint16_t mark)
{
    shoal__pipe_t *from = walk.from;
    uint64_t now_us = from->now_us;
    uint64_t commands = 0;
    size_t bytes = 0;

    for (walk_t count = walk; walk_on(&count);) {
        commands += count.end - count.at;
        bytes += count.bytes;
    }
    if (commands == 0)
        return 0;
    if (!shoal__pipe_reserve(to, bytes, commands))
        return SHOAL_ENOMEM;
    size_t referred_bytes = from->referred_bytes;
    while (walk_on(&walk))
        carry_over(&walk, to, mark);
    bytes += referred_bytes - from->referred_bytes;
    shoal__stage_times_taken(&to->times, commands, now_us);
    shoal__flush_policy_removed(&from->flush, commands, bytes, now_us);
    shoal__pipe_sweep(from);
    return 0;
}

int shoal__pipe_move_queued(shoal__pipe_t *from, shoal__pipe_t *to,
                            shoal__pipe_picks_fn picks, void *data, uint64_t now_us)
{
    assert(from != to && from->settled == 0);
    from->now_us = to->now_us = now_us;
    shoal__pipe_withdraw(from);
    shoal__pipe_sweep(from);
    return move(begin_walk(from, picks, data), to, SHOAL__REQUEST_RETRIED);
}

/* ---- taking out ---- */

static int offer(const walk_t *walk, shoal__pipe_takes_fn takes, void *data)
{
    const char *bytes = shoal__buffer_data(&walk->from->log) + walk->offset;
    int rc = 0;

    for (uint64_t at = walk->at; rc == 0 && at != walk->end; at++) {
        const shoal__request_t *request = shoal__request_ring_at(&walk->from->ring, at);
        rc = takes(data, request, bytes);
        bytes += request->bytes;
    }
    return rc;
}

int shoal__pipe_take_out(shoal__pipe_t *pipe, shoal__pipe_takes_fn takes, void *data,
                         uint64_t now_us)
{
    size_t bytes = pipe->referred_bytes;
    uint64_t commands = 0;

    pipe->now_us = now_us;
    shoal__pipe_withdraw(pipe);
    shoal__pipe_sweep(pipe);
    walk_t walk = begin_walk(pipe, NULL, NULL);
    for (walk_t look = walk; walk_on(&look);) {
        int rc = offer(&look, takes, data);
        if (rc < 0)
            return rc;
    }
    while (walk_on(&walk)) {
        for (uint64_t at = walk.at; at != walk.end; at++) {
            (void)shoal__pipe_take_extra(pipe, at);
            shoal__request_ring_remove(&pipe->ring, at);
        }
        commands += walk.end - walk.at;
        bytes += walk.bytes;
    }
    if (commands > 0)
        shoal__flush_policy_removed(&pipe->flush, commands,
                                    bytes - pipe->referred_bytes, now_us);
    shoal__pipe_sweep(pipe);
    return 0;
}

void shoal__pipe_drop_moved(shoal__pipe_t *pipe, uint64_t count, uint64_t now_us)
{
    size_t referred_bytes = pipe->referred_bytes, bytes = 0;

    assert(pipe->ring.sent == pipe->ring.head && pipe->ring.gone == 0);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = pipe->ring.head + i;
        bytes += shoal__request_ring_at(&pipe->ring, at)->bytes;
        (void)shoal__pipe_take_extra(pipe, at);
        shoal__request_ring_remove(&pipe->ring, at);
    }
    bytes += referred_bytes - pipe->referred_bytes;
    shoal__flush_policy_removed(&pipe->flush, count, bytes, now_us);
    shoal__pipe_sweep(pipe);
}

/* ---- held commands ---- */

int shoal__pipe_move_held(shoal__pipe_t *from, shoal__pipe_t *to,
                          shoal__pipe_picks_fn picks, void *data, uint64_t now_us)
{
    from->now_us = now_us;
    shoal__pipe_end_overtaken(from);
    return from->pen ? shoal__pipe_move_queued(from->pen, to, picks, data, now_us) : 0;
}

/* Commands go from one to the other between two walks: the next walk there comes no sooner
 * than it would have come here. */
static void share_walks(const shoal__pipe_t *from, shoal__pipe_t *to)
{
    to->deadlines.not_before_us =
        shoal__time_max(to->deadlines.not_before_us, from->deadlines.not_before_us);
}

int shoal__pipe_keep(shoal__pipe_t *pen, const shoal__refused_t *refused)
{
    const shoal__bytes_t none = {NULL, 0};
    bool is_mixed = pen->holder->is_sifted || pen->ring.retried > 0;

    if (!shoal__pipe_reserve(pen, shoal__refused_bytes(refused), refused->count))
        return SHOAL_ENOMEM;
    take_in_refused(pen, refused, none, is_mixed ? SHOAL__REQUEST_RETRIED : 0);
    return 0;
}

int shoal__pipe_sift(shoal__pipe_t *pipe, shoal__pipe_t *pen,
                     shoal__pipe_picks_fn picks)
{
    uint64_t at = pen->ring.tail;
    int rc;

    pen->now_us = pipe->now_us;
    pipe->is_sifted = true;
    share_walks(pipe, pen);
    rc = move(begin_walk(pipe, picks, NULL), pen, 0);
    for (; at != pen->ring.tail; at++)
        shoal__overtaken_refused(&pipe->shared->overtaken,
                                 shoal__request_ring_at(&pen->ring, at));
    return rc;
}

/* Is it ours, and no part of a unit, as ASKING is? */
static bool is_free(const shoal__request_t *request)
{
    return (request->flags & (SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_UNIT)) ==
           SHOAL__REQUEST_INTERNAL;
}

/* Where they go: behind what was begun, and behind fences, which may have to leave first, and
 * commands of the library's own, which no hold concerns. */
static walk_t find_place(shoal__pipe_t *pipe)
{
    walk_t walk = begin_walk(pipe, NULL, NULL);
    const shoal__request_t *own = shoal__request_ring_at(&pipe->ring, walk.end);

    while (walk.end != pipe->ring.tail && is_free(own)) {
        walk.offset += own->bytes;
        own = shoal__request_ring_at(&pipe->ring, ++walk.end);
    }
    return walk;
}

/* Room for so many commands there, and for their bytes, which it returns. */
static char *open_place(shoal__pipe_t *pipe, const walk_t *place, uint64_t count,
                        size_t bytes)
{
    char *gap = shoal__buffer_data(&pipe->log) + place->offset;

    memmove(gap + bytes, gap, shoal__buffer_bytes(&pipe->log) - place->offset);
    shoal__buffer_commit(&pipe->log, bytes);
    shoal__request_ring_insert(&pipe->ring, place->end, count);
    pipe->looked_at += count;
    return gap;
}

static void fill_slot(shoal__pipe_t *pipe, uint64_t at, const shoal__request_t *request,
                      uint16_t mark)
{
    shoal__request_t *slot = shoal__request_ring_at(&pipe->ring, at);

    *slot = *request;
    slot->flags |= mark;
    if (slot->flags & SHOAL__REQUEST_RETRIED)
        pipe->ring.retried++;
    if (slot->flags & SHOAL__REQUEST_ALONE)
        shoal__request_ring_note_alone(&pipe->ring, at);
    if (slot->extra)
        shoal__pipe_refer(pipe, shoal__request_referred_bytes(slot));
    shoal__pipe_queue(pipe, slot);
}

int shoal__pipe_put_back(shoal__pipe_t *pipe, shoal__pipe_t *pen)
{
    if (!pen || pen->ring.head == pen->ring.tail)
        return 0;
    pen->now_us = pipe->now_us;
    shoal__pipe_sweep(pen);

    uint64_t count = shoal__request_ring_length(&pen->ring);
    size_t bytes = shoal__buffer_bytes(&pen->log), referred_bytes = pen->referred_bytes;
    if (!shoal__pipe_reserve(pipe, bytes, count))
        return SHOAL_ENOMEM;
    shoal__pipe_withdraw(pipe);
    shoal__pipe_sweep(pipe);

    walk_t place = find_place(pipe);
    /* Younger ones are before them, or older ones behind: tickets are out of order. */
    bool is_mixed = place.end != pipe->ring.head ||
                    (pipe->is_sifted && pipe->ring.head != pipe->ring.tail);
    uint16_t mark = is_mixed ? SHOAL__REQUEST_RETRIED : 0;
    char *gap = open_place(pipe, &place, count, bytes);
    memcpy(gap, shoal__buffer_data(&pen->log), bytes);
    for (uint64_t i = 0; i < count; i++) {
        fill_slot(pipe, place.end + i,
                  shoal__request_ring_at(&pen->ring, pen->ring.head + i), mark);
        (void)shoal__pipe_take_extra(pen, pen->ring.head + i); /* it moved */
        shoal__request_ring_remove(&pen->ring, pen->ring.head + i);
    }
    pipe->is_sifted = false;
    share_walks(pen, pipe);
    shoal__stage_times_taken(&pipe->times, count, pipe->now_us);
    shoal__flush_policy_removed(&pen->flush, count, bytes + referred_bytes,
                                pipe->now_us);
    shoal__pipe_sweep(pen);
    return 0;
}

char *shoal__pipe_push_own_first(shoal__pipe_t *pipe, const shoal__request_t *requests,
                                 size_t count)
{
    size_t bytes = 0;
    char *at;

    for (size_t i = 0; i < count; i++)
        bytes += requests[i].bytes;
    if (!shoal__pipe_reserve(pipe, bytes, count))
        return NULL;
    shoal__pipe_withdraw(pipe);
    walk_t place = find_place(pipe);
    at = open_place(pipe, &place, count, bytes);
    for (size_t i = 0; i < count; i++)
        fill_slot(pipe, place.end + i, &requests[i], 0);
    shoal__stage_times_taken(&pipe->times, count, requests->submitted_us);
    return at;
}

char *shoal__pipe_push_own(shoal__pipe_t *pipe, const shoal__request_t *request)
{
    char *at;

    if (pipe->hold.state != SHOAL__HOLD_OPEN)
        return shoal__pipe_push_own_first(pipe, request, 1);
    at = shoal__pipe_reserve(pipe, request->bytes, 1);
    if (!at)
        return NULL;
    shoal__pipe_push(pipe, request);
    shoal__stage_times_taken(&pipe->times, 1, request->submitted_us);
    return at;
}

uint64_t shoal__pipe_own_ahead(shoal__pipe_t *pipe)
{
    return find_place(pipe).end - pipe->ring.sent;
}
