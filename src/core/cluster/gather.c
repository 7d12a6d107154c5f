/* SPDX-License-Identifier: MIT */
#include "core/cluster/gather.h"

#include <assert.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

shoal__gather_t *shoal__gather_new(shoal__gather_policy_t policy, size_t parts)
{
    shoal__arena_t *arena = shoal__arena_new();
    shoal__gather_t *gather = arena ? shoal__arena_alloc(arena, sizeof *gather) : NULL;

    if (gather)
        *gather = (shoal__gather_t){.arena = arena,
                                    .policy = policy,
                                    .parts = shoal__result_parts_new(arena, parts),
                                    .left = parts};
    if (gather && gather->parts)
        return gather;
    shoal__arena_release(arena);
    return NULL;
}

bool shoal__gather_take(shoal__gather_t *gather, size_t part,
                        const shoal_result_t *result)
{
    shoal_result_t *mine = &gather->parts->items[part];
    const char *node = mine->node;
    unsigned slot_1 = mine->slot_1;

    assert(gather->left > 0);
    shoal__result_copy(mine, result, gather->arena);
    if (!mine->node || !mine->node[0])
        mine->node = node;
    mine->slot_1 = slot_1;
    return --gather->left == 0;
}

/* ---- replies ---- */

static const shoal_reply_t *reply_of(const shoal__gather_t *gather, size_t part)
{
    return gather->parts->items[part].reply;
}

static bool is_error(const shoal_reply_t *reply)
{
    return shoal_reply_type(reply) == SHOAL_REPLY_ERROR;
}

/* An aggregate with room for its items, which are nil; NULL: no memory. */
static shoal_reply_t *new_aggregate(shoal__arena_t *arena, shoal_reply_type_t type,
                                    size_t count)
{
    shoal_reply_t *reply =
        shoal__arena_alloc(arena, sizeof *reply + count * sizeof *reply);

    if (!reply)
        return NULL;
    memset(reply, 0, sizeof *reply + count * sizeof *reply);
    reply->type = (uint8_t)type;
    reply->arena = arena;
    reply->as.children.items = count > 0 ? reply + 1 : NULL;
    reply->as.children.count = reply->as.children.capacity = count;
    for (size_t i = 0; i < count; i++) {
        reply->as.children.items[i].type = SHOAL_REPLY_NIL;
        reply->as.children.items[i].arena = arena;
    }
    return reply;
}

/* A part's reply is in the arena, too: its texts and items are shared. */
static void put(shoal_reply_t *place, const shoal_reply_t *reply)
{
    if (place && reply)
        *place = *reply;
}

static shoal_reply_t *by_node(const shoal__gather_t *gather)
{
    size_t count = gather->parts->count;
    shoal_reply_t *map = new_aggregate(gather->arena, SHOAL_REPLY_MAP, 2 * count);

    shoal_reply_t *items = map ? map->as.children.items : NULL;

    for (size_t i = 0; items && i < count; i++) {
        shoal_reply_t *pair = &items[2 * i];
        const char *node = gather->parts->items[i].node;
        pair[0].type = SHOAL_REPLY_STRING;
        pair[0].as.text.data = node ? node : "";
        pair[0].as.text.bytes = strlen(pair[0].as.text.data);
        put(&pair[1], reply_of(gather, i));
    }
    return map;
}

static bool is_list(const shoal_reply_t *reply)
{
    shoal_reply_type_t type = shoal_reply_type(reply);

    return type == SHOAL_REPLY_ARRAY || type == SHOAL_REPLY_SET;
}

static shoal_reply_t *join(const shoal__gather_t *gather)
{
    size_t count = 0, at = 0;
    shoal_reply_t *all;

    for (size_t i = 0; i < gather->parts->count; i++) {
        if (!is_list(reply_of(gather, i)))
            return by_node(gather);
        count += shoal_reply_count(reply_of(gather, i));
    }
    all = new_aggregate(gather->arena, shoal_reply_type(reply_of(gather, 0)), count);
    for (size_t i = 0; all && i < gather->parts->count; i++)
        for (size_t k = 0; k < shoal_reply_count(reply_of(gather, i)); k++)
            put(&all->as.children.items[at++], shoal_reply_at(reply_of(gather, i), k));
    return all;
}

static shoal_reply_t *by_place(const shoal__gather_t *gather)
{
    shoal_reply_t *all =
        new_aggregate(gather->arena, SHOAL_REPLY_ARRAY, gather->places_count);

    for (size_t i = 0; all && i < gather->places_count; i++) {
        const shoal__gather_place_t *place = &gather->places[i];
        const shoal_reply_t *reply = reply_of(gather, place->part);
        if (!is_list(reply) || place->at >= shoal_reply_count(reply))
            return by_node(gather);
        put(&all->as.children.items[i], shoal_reply_at(reply, place->at));
    }
    return all;
}

static int64_t combine_two(shoal__gather_policy_t policy, int64_t a, int64_t b)
{
    if (policy == SHOAL__GATHER_MIN)
        return a < b ? a : b;
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Where numbers stand, other numbers may be added. */
static bool is_alike(const shoal_reply_t *a, const shoal_reply_t *b)
{
    if (shoal_reply_type(a) != shoal_reply_type(b) ||
        shoal_reply_count(a) != shoal_reply_count(b))
        return false;
    for (size_t i = 0; i < shoal_reply_count(a); i++)
        if (shoal_reply_type(shoal_reply_at(a, i)) !=
            shoal_reply_type(shoal_reply_at(b, i)))
            return false;
    return true;
}

static void add(shoal__gather_policy_t policy, shoal_reply_t *to,
                const shoal_reply_t *reply)
{
    if (to->type == SHOAL_REPLY_INTEGER)
        to->as.integer = combine_two(policy, to->as.integer, reply->as.integer);
}

/* The first reply becomes the sum: it stands in its part as well, so it is copied. */
static shoal_reply_t *combine(const shoal__gather_t *gather)
{
    const shoal_reply_t *first = reply_of(gather, 0);
    shoal_reply_t *sum = shoal__reply_copy(first, gather->arena);

    for (size_t i = 1; sum && i < gather->parts->count; i++) {
        const shoal_reply_t *reply = reply_of(gather, i);
        if (!is_alike(first, reply))
            return by_node(gather);
        add(gather->policy, sum, reply);
        for (size_t k = 0; k < shoal_reply_count(sum); k++)
            add(gather->policy, &sum->as.children.items[k], shoal_reply_at(reply, k));
    }
    return sum;
}

/* NULL: no memory. */
static const shoal_reply_t *build(const shoal__gather_t *gather)
{
    switch (gather->policy) {
    case SHOAL__GATHER_ALL:
    case SHOAL__GATHER_ONE:
        return reply_of(gather, 0);
    case SHOAL__GATHER_SUM:
    case SHOAL__GATHER_MIN:
        return combine(gather);
    case SHOAL__GATHER_JOIN:
        return join(gather);
    case SHOAL__GATHER_PLACE:
        return by_place(gather);
    case SHOAL__GATHER_BY_NODE:
        break;
    }
    return by_node(gather);
}

/* ---- the whole ---- */

/* How bad a part is: 0, it was answered. */
static unsigned badness(const shoal_result_t *part)
{
    if (part->status == 0)
        return 0;
    return part->fate == SHOAL_FATE_NOT_EXECUTED ? 1 : 2;
}

typedef struct verdict {
    const shoal_result_t *worst, *error, *good; /* the first of each; NULL: none */
    size_t failed;
    bool is_untouched; /* no part was executed */
} verdict_t;

static verdict_t judge(const shoal__gather_t *gather, shoal_result_t *result)
{
    verdict_t verdict = {.is_untouched = true};

    for (size_t i = 0; i < gather->parts->count; i++) {
        const shoal_result_t *part = &gather->parts->items[i];
        bool is_worse = !verdict.worst || badness(part) > badness(verdict.worst);
        if (part->attempts > result->attempts)
            result->attempts = part->attempts;
        if (part->redirects > result->redirects)
            result->redirects = part->redirects;
        result->was_reordered = result->was_reordered || part->was_reordered;
        result->is_settled = result->is_settled && part->is_settled;
        verdict.is_untouched =
            verdict.is_untouched && part->fate == SHOAL_FATE_NOT_EXECUTED;
        verdict.failed += part->status < 0;
        if (part->status < 0 && is_worse)
            verdict.worst = part;
        else if (part->status == 0 && is_error(part->reply) && !verdict.error)
            verdict.error = part;
        else if (part->status == 0 && !is_error(part->reply) && !verdict.good)
            verdict.good = part;
    }
    return verdict;
}

#define DETAIL_BYTES 400

/* "": at none, for one that nobody was to execute. */
static const char *where_of(const shoal_result_t *part)
{
    if (part->node)
        return part->node;
    return part->slot_1 > 0 ? "a slot without an owner" : "";
}

static void fail(const shoal__gather_t *gather, const verdict_t *verdict,
                 shoal_result_t *result)
{
    const shoal_result_t *worst = verdict->worst;
    const char *where = where_of(worst);
    char *detail = shoal__arena_alloc(gather->arena, DETAIL_BYTES), tail[80] = "";

    result->status = worst->status;
    result->fate = verdict->is_untouched ? SHOAL_FATE_NOT_EXECUTED : SHOAL_FATE_UNKNOWN;
    result->is_offline = worst->is_offline;
    result->is_settled = false;
    result->detail = worst->detail;
    if (!detail)
        return;
    if (gather->parts->count > 1)
        snprintf(tail, sizeof tail, "; %zu of %zu parts failed", verdict->failed,
                 gather->parts->count);
    snprintf(detail, DETAIL_BYTES, "%s%s%s%s", where, where[0] ? ": " : "",
             worst->detail, tail);
    result->detail = detail;
}

void shoal__gather_result(shoal__gather_t *gather, shoal_result_t *ret_result)
{
    verdict_t verdict;

    assert(gather->left == 0);
    *ret_result = (shoal_result_t){.fate = SHOAL_FATE_REPLIED,
                                   .detail = "",
                                   .is_settled = true,
                                   .parts = gather->parts};
    verdict = judge(gather, ret_result);
    if (gather->policy == SHOAL__GATHER_ONE && verdict.good) {
        ret_result->reply = verdict.good->reply;
    } else if (verdict.worst) {
        fail(gather, &verdict, ret_result);
    } else if (verdict.error) {
        ret_result->reply = verdict.error->reply;
    } else {
        ret_result->reply = build(gather);
        if (ret_result->reply)
            return;
        ret_result->status = SHOAL_ENOMEM;
        ret_result->fate = SHOAL_FATE_REPLY_LOST;
        ret_result->is_settled = false;
        ret_result->detail = "no memory to put the replies together";
    }
}
