/* SPDX-License-Identifier: MIT */
#include "route/lane_choice.h"

#include "base/hash.h"
#include "net/conn_set.h"
#include "resp/command_keys.h"

typedef struct choice {
    shoal__lanes_t *lanes;
    const shoal__mailbox_side_t *side;
    uint64_t now_us;
    bool is_due; /* commands that are not APART must be looked at, too */

    /* Of the commands that stay together: */
    shoal__lane_facts_t facts;
    shoal__lane_span_t span;
    bool must_follow; /* an earlier command into the lane */

    /* Of one command: */
    size_t keys;
    shoal__bytes_t key; /* the last one */
} choice_t;

static shoal__heavy_t *heavy_of(const shoal__lanes_t *lanes)
{
    return &lanes->homes->conns->set->shared.heavy;
}

static bool has_any_in_lane(const shoal__lanes_t *lanes)
{
    const shoal__lane_t *lane = lanes->bulk;

    return lane && shoal__lane_map_has_any(&lane->map);
}

bool shoal__lane_choice_is_due(const shoal__lanes_t *lanes, uint64_t now_us)
{
    return shoal__homes_are_many(lanes->homes) || has_any_in_lane(lanes) ||
           (lanes->is_allowed && !shoal__heavy_is_empty(heavy_of(lanes), now_us));
}

/* ---- one command ---- */

/* The keys of an encoded command.  An argument that stands in the caller's memory is not
 * among the bytes: neither it nor what is behind it can be read. */
static shoal__command_keys_t find_keys(const shoal__request_t *request,
                                       const char *bytes, shoal__keys_fn on_key,
                                       void *data)
{
    const shoal__values_t *values = shoal__request_values(request);
    size_t readable =
        values && values->count > 0 ? values->references[0].at : request->bytes;

    return shoal__command_keys((shoal__bytes_t){bytes, readable}, on_key, data);
}

static void look_at_key(void *data, shoal__bytes_t key)
{
    choice_t *choice = data;
    const shoal__lane_t *lane = choice->lanes->bulk;

    choice->key = key;
    choice->keys++;
    if (shoal__homes_are_many(choice->lanes->homes))
        shoal__lane_span_add(
            &choice->span,
            shoal__lane_home(key, (unsigned)choice->lanes->homes->count));
    if (lane && shoal__lane_map_has(&lane->map, shoal__hash(key, 0)))
        choice->must_follow = true;
}

static void note_key(void *data, shoal__bytes_t key)
{
    shoal__lane_map_note(data, shoal__hash(key, 0));
}

static bool is_wait(shoal__bytes_t name)
{
    return shoal__bytes_is_word(name, "WAIT") || shoal__bytes_is_word(name, "WAITAOF");
}

/* MULTI and EXEC have no keys, but their unit has. */
static bool is_frame(const shoal__request_t *request)
{
    return (request->flags & SHOAL__REQUEST_UNIT) &&
           (request->flags & (SHOAL__REQUEST_UNIT_FIRST | SHOAL__REQUEST_UNIT_LAST)) !=
               0;
}

static bool is_heavy(const choice_t *choice, const shoal__request_t *request,
                     const char *bytes)
{
    const shoal__heavy_t *heavy = heavy_of(choice->lanes);

    return request->command_class == SHOAL__CLASS_RO &&
           !shoal__heavy_is_empty(heavy, choice->now_us) &&
           shoal__heavy_knows(
               heavy, shoal__heavy_command((shoal__bytes_t){bytes, request->bytes}),
               choice->now_us);
}

/* A value that is written is large, and so will be the reply that reads it. */
static void expect_large(const choice_t *choice, const shoal__request_t *request)
{
    if (choice->keys == 1 && request->command_class == SHOAL__CLASS_WRITE &&
        shoal__request_wire_bytes(request) > SHOAL__HEAVY_REPLY_BYTES)
        shoal__heavy_was_large(heavy_of(choice->lanes), shoal__heavy_get(choice->key),
                               choice->now_us);
}

static void look_at_command(choice_t *choice, const shoal__request_t *request,
                            const char *bytes)
{
    shoal__lane_facts_t *facts = &choice->facts;
    shoal__command_keys_t keys;
    bool is_marked = (request->flags & SHOAL__REQUEST_APART) != 0;

    choice->keys = 0;
    keys = find_keys(request, bytes, look_at_key, choice);
    if (is_wait(keys.name))
        choice->lanes->keeps_writes = true;
    facts->is_marked = facts->is_marked || is_marked;
    facts->is_heavy = facts->is_heavy || is_heavy(choice, request, bytes);
    facts->has_write = facts->has_write || request->command_class != SHOAL__CLASS_RO;
    if (request->command_class == SHOAL__CLASS_BLOCK ||
        (keys.kind != SHOAL__KEYS_SOME && !is_frame(request)))
        facts->has_stray = true;
    if (keys.kind == SHOAL__KEYS_ANY) {
        choice->span.is_wide = true;
        choice->must_follow = choice->must_follow || has_any_in_lane(choice->lanes);
    }
    if (is_marked && choice->lanes->is_allowed)
        expect_large(choice, request);
}

/* ---- commands that stay together ---- */

/* Some commands of the mailbox's side, and the bytes of the first one. */
typedef struct run {
    size_t first, end;
    const char *bytes;
} run_t;

static bool is_leased(const shoal__request_t *request)
{
    return (request->flags & SHOAL__REQUEST_LEASED) != 0;
}

static size_t end_of_run(const shoal__mailbox_side_t *side, size_t first)
{
    while (side->requests[first].has_more)
        first++;
    return first + 1;
}

/* Must the commands be looked at? */
static bool must_look(const choice_t *choice, const run_t *run)
{
    if (choice->is_due)
        return true;
    for (size_t i = run->first; i < run->end; i++)
        if (choice->side->requests[i].flags & SHOAL__REQUEST_APART)
            return true;
    return false;
}

static void look_at_run(choice_t *choice, const run_t *run)
{
    const shoal__request_t *requests = choice->side->requests;
    const char *bytes = run->bytes;

    choice->facts = (shoal__lane_facts_t){0};
    choice->must_follow = false;
    for (size_t i = run->first; i < run->end; bytes += requests[i++].bytes) {
        if (is_leased(&requests[i]))
            choice->facts.has_stray = true;
        else
            look_at_command(choice, &requests[i], bytes);
    }
    choice->facts.keeps_writes = choice->lanes->keeps_writes;
}

/* Do the commands take the lane? */
static bool takes_lane(choice_t *choice, const run_t *run)
{
    shoal__lanes_t *lanes = choice->lanes;

    choice->span = (shoal__lane_span_t){0};
    if (!must_look(choice, run))
        return false;
    look_at_run(choice, run);
    if (choice->must_follow ||
        (choice->span.is_wide && shoal__homes_are_many(lanes->homes)))
        return true;
    if (!lanes->is_allowed || !shoal__lane_is_bulk(&choice->facts))
        return false;
    if (shoal__lanes_are_twins(lanes))
        return true;
    lanes->is_wanted = true;
    lanes->homes->conns->set->shared.wants_bulk = true;
    return false;
}

/* The commands take the lane, and later ones for their keys follow. */
static void enter(choice_t *choice, const run_t *run)
{
    shoal__lane_t *lane = choice->lanes->bulk;
    shoal__lane_map_t *map = &lane->map;
    const char *bytes = run->bytes;

    lane->used_us = choice->now_us;
    choice->is_due = true;
    for (size_t i = run->first; i < run->end; i++) {
        const shoal__request_t *request = &choice->side->requests[i];
        if (!is_leased(request)) {
            shoal__lane_map_enter(map, request->submitted_us);
            if (find_keys(request, bytes, note_key, map).kind == SHOAL__KEYS_ANY)
                shoal__lane_map_note_all(map);
        }
        bytes += request->bytes;
    }
}

/* Returns the bytes of the commands. */
static size_t mark(const choice_t *choice, const run_t *run, bool takes,
                   shoal__lanes_share_t *share)
{
    size_t bytes = 0;

    for (size_t i = run->first; i < run->end; i++) {
        shoal__request_t *request = &choice->side->requests[i];
        bytes += request->bytes;
        if (takes && !is_leased(request)) {
            request->flags |= SHOAL__REQUEST_APART;
            share->commands++;
            share->bytes += request->bytes;
        } else {
            request->flags &= (uint16_t)~SHOAL__REQUEST_APART;
            if (!is_leased(request))
                request->attempts = choice->span.home & SHOAL__REQUEST_ATTEMPTS_MAX;
        }
    }
    return bytes;
}

shoal__lanes_share_t shoal__lane_choice(shoal__lanes_t *lanes,
                                        const shoal__mailbox_side_t *side,
                                        uint64_t now_us)
{
    choice_t choice = {.lanes = lanes, .side = side, .now_us = now_us};
    shoal__lanes_share_t share = {0};
    run_t run = {.bytes = shoal__buffer_data(&side->bytes)};

    shoal__lanes_look_once(lanes);
    choice.is_due = shoal__lane_choice_is_due(lanes, now_us);
    for (; run.first < side->count; run.first = run.end) {
        run.end = end_of_run(side, run.first);
        bool takes = takes_lane(&choice, &run);
        if (takes)
            enter(&choice, &run);
        run.bytes += mark(&choice, &run, takes, &share);
    }
    return share;
}
