/* SPDX-License-Identifier: MIT */
#include "route/cluster/handovers.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/conn_set.h"
#include "route/cluster/log_slot.h"
#include "route/cluster/node.h"
#include <shoal/errors.h>

struct shoal__pair {
    shoal__handover_t handover;
    shoal__slot_move_t move; /* of any of its slots */
    shoal__handovers_t *all;
    unsigned place;
    unsigned slots[SHOAL__HANDOVER_PENS]; /* that go through each pen */
};

/* More would not have numbers. */
#define PLACES_MAX (SHOAL__NO_PEN / SHOAL__HANDOVER_PENS)

void shoal__handovers_init(shoal__handovers_t *handovers, shoal__conn_set_t *set,
                           shoal__slot_map_t *map)
{
    *handovers = (shoal__handovers_t){.set = set, .map = map};
    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++)
        handovers->pens[slot] = SHOAL__NO_PEN;
}

static unsigned number_of(const shoal__pair_t *pair, const shoal__pipe_t *pen)
{
    return pair->place * SHOAL__HANDOVER_PENS + (pen == &pair->handover.pens[1].pipe);
}

static bool picks(void *owner, const shoal__pipe_t *pen,
                  const shoal__request_t *request, const char *bytes)
{
    const shoal__pair_t *pair = owner;
    unsigned slot =
        shoal__log_slot(request, bytes, pair->all->set->shared.overtaken.book);

    return slot < SHOAL__SLOTS && pair->all->pens[slot] == number_of(pair, pen);
}

/* The owner of both connections; NULL: the slots go to another node. */
static shoal__node_t *by_lane(const shoal__pair_t *pair)
{
    const shoal__slot_move_t *move = &pair->move;

    return move->from_conn && move->to_conn &&
                   move->from_conn->owner == move->to_conn->owner
               ? move->from_conn->owner
               : NULL;
}

/* ---- pairs ---- */

static shoal__pair_t *find_pair(const shoal__handovers_t *handovers,
                                const shoal__slot_move_t *move)
{
    for (unsigned i = 0; i < handovers->places; i++) {
        shoal__pair_t *pair = handovers->pairs[i];
        if (pair && pair->handover.from == move->from && pair->handover.to == move->to)
            return pair;
    }
    return NULL;
}

/* PLACES_MAX: no memory. */
static unsigned free_place(shoal__handovers_t *handovers)
{
    unsigned place = 0;
    shoal__pair_t **pairs;

    while (place < handovers->places && handovers->pairs[place])
        place++;
    if (place < handovers->places || place == PLACES_MAX)
        return place;
    pairs = shoal__realloc(handovers->pairs, (place + 1) * sizeof *pairs);
    if (!pairs)
        return PLACES_MAX;
    pairs[place] = NULL;
    handovers->pairs = pairs;
    handovers->places++;
    return place;
}

/* NULL: no memory. */
static shoal__pair_t *make_pair(shoal__handovers_t *handovers,
                                const shoal__slot_move_t *move)
{
    shoal__pair_t *pair = find_pair(handovers, move);
    unsigned place;

    if (pair)
        return pair;
    place = free_place(handovers);
    pair = place < PLACES_MAX ? shoal__calloc(1, sizeof *pair) : NULL;
    if (!pair)
        return NULL;
    pair->all = handovers;
    pair->place = place;
    pair->move = *move;
    if (shoal__handover_init(&pair->handover, move->from, move->to, picks, pair) < 0) {
        shoal__free(pair);
        return NULL;
    }
    handovers->pairs[place] = pair;
    return pair;
}

static void count_pens(shoal__handovers_t *handovers, shoal__pair_t *pair)
{
    for (unsigned i = 0; i < SHOAL__HANDOVER_PENS; i++)
        shoal__conn_set_count(handovers->set, &pair->handover.pens[i].pipe);
}

static void free_pair(shoal__handovers_t *handovers, shoal__pair_t *pair)
{
    count_pens(handovers, pair); /* nothing is there any more */
    handovers->pairs[pair->place] = NULL;
    shoal__handover_release(&pair->handover);
    shoal__free(pair);
}

void shoal__handovers_release(shoal__handovers_t *handovers)
{
    for (unsigned i = 0; i < handovers->places; i++)
        if (handovers->pairs[i])
            free_pair(handovers, handovers->pairs[i]);
    shoal__free(handovers->pairs);
}

/* ---- the end of a hand-over ---- */

/* It is at the lane, or at its node's connection. */
static void arrive(shoal__handovers_t *handovers, const shoal__pair_t *pair,
                   shoal__node_t *node, unsigned slot)
{
    shoal__bulk_t *bulk = shoal__node_bulk(node);
    bool is_at_lane = pair->handover.to == &bulk->conn.pipe;

    shoal__slot_map_set_lane(handovers->map, slot, is_at_lane);
    if (is_at_lane)
        shoal__lane_slots_arrive(&bulk->slots, slot);
    else
        shoal__lane_slots_remove(&bulk->slots, slot);
}

static void end_pen(shoal__handovers_t *handovers, shoal__pair_t *pair, unsigned number)
{
    shoal__node_t *node = by_lane(pair);
    unsigned *left = &pair->slots[number % SHOAL__HANDOVER_PENS];

    for (unsigned slot = 0; *left > 0; slot++)
        if (handovers->pens[slot] == number) {
            handovers->pens[slot] = SHOAL__NO_PEN;
            shoal__slot_map_set_moves(handovers->map, slot, false);
            if (node)
                arrive(handovers, pair, node, slot);
            (*left)--;
        }
}

/* Their next turn counts what they have now. */
static void touch_both(const shoal__pair_t *pair)
{
    if (pair->move.from_conn)
        shoal__conn_touch(pair->move.from_conn);
    if (pair->move.to_conn)
        shoal__conn_touch(pair->move.to_conn);
}

/* The pair may be gone then. */
static void step(shoal__handovers_t *handovers, shoal__pair_t *pair, uint64_t now_us)
{
    shoal__pipe_t *pen;

    while ((pen = shoal__handover_step(&pair->handover, now_us)) != NULL) {
        end_pen(handovers, pair, number_of(pair, pen));
        touch_both(pair);
    }
    if (pair->handover.count == 0)
        free_pair(handovers, pair);
}

/* ---- the beginning ---- */

static bool is_of(const shoal__slot_move_t *move, const shoal__slot_move_t *first)
{
    return !move->is_begun && move->from == first->from && move->to == first->to;
}

/* All moves from `first` on that have its pipes. */
static void begin_pair(shoal__handovers_t *handovers, shoal__slot_move_t *first,
                       const shoal__slot_move_t *end, uint64_t now_us)
{
    shoal__pair_t *pair = make_pair(handovers, first);
    shoal__slot_move_t pattern = *first;
    unsigned number;

    if (!pair)
        return;
    number = number_of(pair, shoal__handover_pen(&pair->handover));
    for (shoal__slot_move_t *move = first; move != end; move++)
        if (is_of(move, &pattern))
            handovers->pens[move->slot] = (uint16_t)number;
    bool is_begun = shoal__handover_begin(&pair->handover, now_us) == 0;
    for (shoal__slot_move_t *move = first; move != end; move++) {
        if (!is_of(move, &pattern))
            continue;
        move->is_begun = is_begun;
        if (is_begun) {
            shoal__slot_map_set_moves(handovers->map, move->slot, true);
            pair->slots[number % SHOAL__HANDOVER_PENS]++;
        } else {
            handovers->pens[move->slot] = SHOAL__NO_PEN;
        }
    }
    /* Its commands leave that server: what a loss left there, it refuses. */
    if (is_begun && pattern.from->phase != SHOAL__PIPE_READY)
        shoal__handover_lost(&pair->handover, false);
    touch_both(pair);
    step(handovers, pair, now_us);
}

void shoal__handovers_begin(shoal__handovers_t *handovers, shoal__slot_move_t *moves,
                            size_t count, uint64_t now_us)
{
    const shoal__slot_move_t *end = moves + count;

    for (shoal__slot_move_t *move = moves; move != end; move++)
        if (!move->is_begun)
            begin_pair(handovers, move, end, now_us);
}

/* ---- what the route asks ---- */

static shoal__pair_t *pair_of(const shoal__handovers_t *handovers, unsigned slot)
{
    unsigned number = handovers->pens[slot];

    return number == SHOAL__NO_PEN ? NULL
                                   : handovers->pairs[number / SHOAL__HANDOVER_PENS];
}

shoal__pipe_t *shoal__handovers_pen(const shoal__handovers_t *handovers, unsigned slot)
{
    shoal__pair_t *pair = pair_of(handovers, slot);

    return pair
               ? &pair->handover.pens[handovers->pens[slot] % SHOAL__HANDOVER_PENS].pipe
               : NULL;
}

const shoal__slot_move_t *shoal__handovers_move_of(const shoal__handovers_t *handovers,
                                                   unsigned slot)
{
    const shoal__pair_t *pair = pair_of(handovers, slot);

    return pair ? &pair->move : NULL;
}

bool shoal__handovers_are_by_lane(const shoal__handovers_t *handovers, unsigned slot)
{
    const shoal__pair_t *pair = pair_of(handovers, slot);

    return pair && by_lane(pair);
}

bool shoal__handovers_lane_has_since(const shoal__handovers_t *handovers,
                                     const shoal__conn_t *conn, uint64_t until_us)
{
    for (unsigned i = 0; i < handovers->places; i++) {
        const shoal__pair_t *pair = handovers->pairs[i];
        if (!pair || by_lane(pair) != conn->owner)
            continue;
        for (unsigned pen = 0; pen < SHOAL__HANDOVER_PENS; pen++)
            if (shoal__pipe_has_since(&pair->handover.pens[pen].pipe, until_us))
                return true;
    }
    return false;
}

void shoal__handovers_recall(shoal__handovers_t *handovers, const void *node,
                             uint64_t now_us)
{
    for (unsigned i = 0; i < handovers->places; i++) {
        shoal__pair_t *pair = handovers->pairs[i];
        if (!pair || !by_lane(pair) || (node && by_lane(pair) != node))
            continue;
        shoal__handover_recall(&pair->handover);
        step(handovers, pair, now_us);
    }
}

bool shoal__handovers_use(const shoal__handovers_t *handovers,
                          const shoal__pipe_t *pipe)
{
    for (unsigned i = 0; i < handovers->places; i++) {
        const shoal__pair_t *pair = handovers->pairs[i];
        if (pair && (pair->handover.from == pipe || pair->handover.to == pipe))
            return true;
    }
    return false;
}

void shoal__handovers_lost(shoal__handovers_t *handovers, const shoal__pipe_t *from)
{
    for (unsigned i = 0; i < handovers->places; i++) {
        shoal__pair_t *pair = handovers->pairs[i];
        if (!pair || pair->handover.from != from)
            continue;
        if (by_lane(pair)) /* its server may still run what was before them */
            shoal__handover_recall(&pair->handover);
        else
            shoal__handover_lost(&pair->handover, false);
    }
}

/* When the node is given up if it says nothing. */
static uint64_t silent_us(const shoal__pair_t *pair)
{
    /* A pen never is READY, and has no connection. */
    if (pair->handover.count == 0 || by_lane(pair) ||
        pair->handover.from->phase != SHOAL__PIPE_READY)
        return SHOAL__NEVER_US;
    return shoal__node_given_up_us(pair->move.from_conn->owner, pair->move.from_conn);
}

void shoal__handovers_turn(shoal__handovers_t *handovers, uint64_t now_us)
{
    for (unsigned i = 0; i < handovers->places; i++)
        if (handovers->pairs[i]) {
            if (now_us >= silent_us(handovers->pairs[i]))
                shoal__conn_lose(handovers->pairs[i]->move.from_conn, SHOAL_ETIMEOUT,
                                 "the node is silent, and has lost slots");
            shoal__handover_tick(&handovers->pairs[i]->handover, now_us);
            step(handovers, handovers->pairs[i], now_us);
        }
}

uint64_t shoal__handovers_next_wake_us(const shoal__handovers_t *handovers)
{
    uint64_t wake_us = SHOAL__NEVER_US;

    for (unsigned i = 0; i < handovers->places; i++) {
        const shoal__pair_t *pair = handovers->pairs[i];
        if (!pair)
            continue;
        wake_us = shoal__time_min(wake_us, silent_us(pair));
        wake_us =
            shoal__time_min(wake_us, shoal__handover_next_wake_us(&pair->handover));
    }
    return wake_us;
}

bool shoal__handovers_cancel(shoal__handovers_t *handovers, uint64_t ticket,
                             uint64_t now_us)
{
    for (unsigned i = 0; i < handovers->places; i++)
        if (handovers->pairs[i] &&
            shoal__handover_cancel(&handovers->pairs[i]->handover, ticket, now_us))
            return true;
    return false;
}

void shoal__handovers_publish(shoal__handovers_t *handovers)
{
    uint64_t queued = 0, bytes = 0;

    for (unsigned i = 0; i < handovers->places; i++) {
        shoal__pair_t *pair = handovers->pairs[i];
        if (!pair)
            continue;
        count_pens(handovers, pair);
        for (unsigned pen = 0; pen < SHOAL__HANDOVER_PENS; pen++) {
            const shoal__pipe_stats_t *stats = &pair->handover.pens[pen].pipe.stats;
            queued += shoal__counter_get(&stats->queued_now);
            bytes += shoal__counter_get(&stats->bytes_now);
        }
    }
    shoal__counter_set(&handovers->queued_now, queued);
    shoal__counter_set(&handovers->bytes_now, bytes);
}

bool shoal__handovers_are_idle(const shoal__handovers_t *handovers)
{
    for (unsigned i = 0; i < handovers->places; i++)
        for (unsigned pen = 0; handovers->pairs[i] && pen < SHOAL__HANDOVER_PENS; pen++)
            if (shoal__pipe_has_since(&handovers->pairs[i]->handover.pens[pen].pipe,
                                      SHOAL__NEVER_US))
                return false;
    return true;
}

void shoal__handovers_abandon(shoal__handovers_t *handovers, uint64_t now_us)
{
    for (unsigned i = 0; i < handovers->places; i++)
        if (handovers->pairs[i])
            shoal__handover_abandon(&handovers->pairs[i]->handover, now_us);
}
