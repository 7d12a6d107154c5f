/* SPDX-License-Identifier: MIT */

/* Two servers with keys in slots, and the network before them. */

#include "sim/pair/pair_world.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes ---- */

static void append(char **memory, size_t *bytes, size_t *capacity, const char *data,
                   size_t count)
{
    while (*bytes + count > *capacity) {
        *capacity = *capacity ? 2 * *capacity : 4096;
        *memory = realloc(*memory, *capacity);
        if (!*memory)
            abort();
    }
    memcpy(*memory + *bytes, data, count);
    *bytes += count;
}

__attribute__((format(printf, 2, 3))) static void say(pair_link_t *link,
                                                      const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    int bytes = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (link->is_up)
        append(&link->out, &link->out_bytes, &link->out_capacity, text, (size_t)bytes);
}

typedef struct words {
    const char *data[4];
    size_t bytes[4];
    size_t count;
} words_t;

static bool read_number(const char **at, const char *end, char sign, size_t *ret_number)
{
    const char *p = *at;
    size_t number = 0;

    if (p == end || *p++ != sign)
        return false;
    for (; p != end && *p >= '0' && *p <= '9'; p++)
        number = number * 10 + (size_t)(*p - '0');
    if (end - p < 2)
        return false;
    *ret_number = number;
    *at = p + 2;
    return true;
}

/* The bytes of the first command; 0: it is not whole. */
static size_t read_command(const char *data, size_t bytes, words_t *words)
{
    const char *at = data, *end = data + bytes;
    size_t count, length;

    if (!read_number(&at, end, '*', &count) || count > 4)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (!read_number(&at, end, '$', &length) || (size_t)(end - at) < length + 2)
            return 0;
        words->data[i] = at;
        words->bytes[i] = length;
        at += length + 2;
    }
    words->count = count;
    return (size_t)(at - data);
}

static pair_verb_t verb_of(const words_t *words)
{
    static const char *const names[PAIR_VERBS] = {"GET",    "APPEND", "MULTI", "EXEC",
                                                  "ASKING", "ECHO",   "PING"};

    for (int verb = 0; verb < PAIR_VERBS; verb++)
        if (words->bytes[0] == strlen(names[verb]) &&
            memcmp(words->data[0], names[verb], words->bytes[0]) == 0)
            return (pair_verb_t)verb;
    return PAIR_VERBS;
}

/* The call that the command names; NULL: it is of the library. */
static pair_call_t *call_of(pair_world_t *world, const words_t *words, pair_verb_t verb)
{
    uint32_t id = 0;

    if (verb >= PAIR_ASKING)
        return NULL;
    for (size_t i = 0; words->count > 1 && i < words->bytes[1]; i++)
        id = id * 10 + (uint32_t)(words->data[1][i] - '0');
    if (id == 0 || id >= world->call_count || world->calls[id].verb != verb) {
        pair_world_fail(world, "O1: the server does not know command %u", id);
        return NULL;
    }
    return &world->calls[id];
}

void pair_link_accept(pair_world_t *world, pair_side_t *side, const char *data,
                      size_t bytes)
{
    pair_link_t *link = &side->link;
    words_t words;
    size_t used;

    append(&link->in, &link->in_bytes, &link->in_capacity, data, bytes);
    while ((used = read_command(link->in + link->parsed_bytes,
                                link->in_bytes - link->parsed_bytes, &words)) > 0) {
        pair_verb_t verb = verb_of(&words);
        link->parsed_bytes += used;
        pair_call_t *call = call_of(world, &words, verb);
        if (call)
            pair_oracle_handed(world, call);
        if (verb == PAIR_VERBS || world->has_failed)
            return;
    }
}

/* ---- slots ---- */

/* The redirect that the command gets; false: it is executed here. */
static bool redirects(pair_world_t *world, const pair_side_t *side, pair_link_t *link,
                      const pair_call_t *call, bool was_asking)
{
    unsigned slot = pair_slot_of(call), here = side->index, there = 1 - here;

    if (world->rates.is_lanes)
        return false;
    if (world->owner[slot] != here && !(world->is_migrating[slot] && was_asking)) {
        say(link, "-MOVED %u node:%u\r\n", slot, 1 + there);
        return true;
    }
    if (world->owner[slot] == here && world->is_migrating[slot] &&
        world->place[call->key] != here) {
        say(link, "-ASK %u node:%u\r\n", slot, 1 + there);
        return true;
    }
    return false;
}

static bool has_slot(const shoal__pipe_t *pipe, unsigned slot)
{
    for (uint64_t at = pipe->ring.head; at != pipe->ring.tail; at++) {
        const pair_call_t *call = shoal__request_ring_at(&pipe->ring, at)->data;
        if (call && pair_slot_of(call) == slot)
            return true;
    }
    return false;
}

/* All commands of a slot are at its owner, and the client knows that it is. */
static bool is_settled(const pair_world_t *world, unsigned slot)
{
    const shoal__pipe_t *other = &world->sides[1 - world->owner[slot]].pipe;

    return world->map[slot] == world->owner[slot] && !world->pen[slot] &&
           !world->is_told[slot] && !has_slot(other, slot) &&
           !(other->pen && has_slot(other->pen, slot));
}

static void move_keys(pair_world_t *world, unsigned slot)
{
    bool is_complete = true;

    for (unsigned key = slot; key < PAIR_KEYS; key += PAIR_SLOTS) {
        if (world->place[key] == world->owner[slot] &&
            sim_dice_hits(&world->dice, 400)) {
            world->place[key] = 1 - world->owner[slot];
            world->sights.moves_of_keys++;
        }
        is_complete = is_complete && world->place[key] != world->owner[slot];
    }
    if (is_complete) {
        world->owner[slot] = 1 - world->owner[slot];
        world->is_migrating[slot] = false;
        pair_world_note(world, "owner", slot, world->owner[slot]);
    }
}

void pair_servers_move(pair_world_t *world)
{
    unsigned slot = sim_dice_below(&world->dice, PAIR_SLOTS);

    if (world->is_migrating[slot]) {
        move_keys(world, slot);
        return;
    }
    if (!is_settled(world, slot))
        return;
    world->sights.moves++;
    if (world->rates.has_ask && sim_dice_hits(&world->dice, 700)) {
        world->is_migrating[slot] = true;
        for (unsigned key = slot; key < PAIR_KEYS; key += PAIR_SLOTS)
            world->place[key] = world->owner[slot];
        pair_world_note(world, "migrate", slot, 0);
        return;
    }
    world->owner[slot] = 1 - world->owner[slot];
    pair_world_note(world, "owner", slot, world->owner[slot]);
}

/* ---- execution ---- */

static bool refuses(pair_world_t *world, const pair_side_t *side, pair_link_t *link,
                    pair_call_t *call)
{
    if (world->now_us >= side->loading_until_us)
        return false;
    say(link, "-LOADING %010" PRIu32 "\r\n", pair_id_of(call));
    call->is_refused = true;
    if (link->is_up || world->rates.is_lanes)
        pair_place_refused(call, side->index);
    world->sights.refused++;
    return true;
}

static void execute_unit(pair_world_t *world, pair_side_t *side, pair_link_t *link,
                         pair_call_t *exec)
{
    uint32_t id = pair_id_of(exec), first = exec->unit_first;

    link->unit_first = 0;
    bool is_refused = link->is_unit_rejected;
    /* Whole units follow their slot.  Those whose keys move one by one wait. */
    bool loses_place = link->is_unit_put_off || world->rates.has_ask;
    if (is_refused)
        say(link, "-EXECABORT %010" PRIu32 "\r\n", id);
    else
        is_refused = redirects(world, side, link, exec, link->is_unit_asking);
    for (uint32_t part = first; is_refused && loses_place && part <= id; part++)
        world->calls[part].is_refused = true;
    if (is_refused)
        return;
    say(link, "*%" PRIu32 "\r\n", id - first - 1);
    for (uint32_t part = first; part <= id; part++) {
        pair_oracle_executed(world, &world->calls[part], side->index, !link->is_up);
        if (part != first && part != id)
            say(link, ":%" PRIu32 "\r\n", part);
    }
}

static void take_part(pair_world_t *world, pair_side_t *side, pair_link_t *link,
                      pair_call_t *call, bool was_asking)
{
    uint32_t id = pair_id_of(call);

    if (call->verb == PAIR_MULTI) {
        link->unit_first = link->unit_next = id;
        link->is_unit_rejected = link->is_unit_put_off = false;
        link->is_unit_asking = was_asking;
    }
    if (link->unit_first != call->unit_first || link->unit_next != id) {
        pair_world_fail(world, "O8: %u of unit %u came, but %u of unit %u was due", id,
                        call->unit_first, link->unit_next, link->unit_first);
        return;
    }
    link->unit_next = id + 1;
    if (call->verb == PAIR_EXEC)
        execute_unit(world, side, link, call);
    else if (call->verb == PAIR_MULTI)
        say(link, "+OK\r\n");
    else if (refuses(world, side, link, call))
        link->is_unit_rejected = link->is_unit_put_off = true;
    else if (redirects(world, side, link, call, link->is_unit_asking))
        link->is_unit_rejected = true;
    else
        say(link, "+QUEUED %010" PRIu32 "\r\n", id);
}

static void execute(pair_world_t *world, pair_side_t *side, pair_link_t *link,
                    pair_call_t *call, bool was_asking)
{
    uint32_t id = pair_id_of(call);

    pair_world_note(world, "execute", id, link->is_up ? side->index : side->index + 2);
    if (link->unit_first && call->unit_first != link->unit_first)
        pair_world_fail(world, "O8: %u came inside unit %u", id, link->unit_first);
    else if (call->unit_first)
        take_part(world, side, link, call, was_asking);
    else if (refuses(world, side, link, call) ||
             redirects(world, side, link, call, was_asking))
        call->rejected++;
    else {
        pair_oracle_executed(world, call, side->index, !link->is_up);
        if (call->verb == PAIR_GET)
            say(link, "$10\r\n%010" PRIu32 "\r\n", id);
        else
            say(link, ":%" PRIu32 "\r\n", id);
    }
}

static void serve_command(pair_world_t *world, pair_side_t *side, pair_link_t *link,
                          const words_t *words)
{
    pair_verb_t verb = verb_of(words);
    pair_call_t *call = call_of(world, words, verb);
    bool was_asking = link->is_asking;

    link->is_asking = verb == PAIR_ASKING;
    if (call)
        execute(world, side, link, call, was_asking);
    else if (verb == PAIR_ECHO)
        say(link, "$%zu\r\n%.*s\r\n", words->bytes[1], (int)words->bytes[1],
            words->data[1]);
    else if (verb == PAIR_PING || verb == PAIR_ASKING)
        say(link, verb == PAIR_PING ? "+PONG\r\n" : "+OK\r\n");
    else
        pair_world_fail(world, "O1: the server does not know %.*s",
                        (int)words->bytes[0], words->data[0]);
    if (link->unit_first && !call)
        pair_world_fail(world, "O8: %.*s came inside a unit", (int)words->bytes[0],
                        words->data[0]);
}

void pair_link_serve(pair_world_t *world, pair_side_t *side, pair_link_t *link,
                     size_t bytes)
{
    size_t left = link->in_bytes - link->read_bytes, done = 0, used;
    words_t words;

    link->read_bytes += bytes < left ? bytes : left;
    while (link->read_bytes > done && !world->has_failed &&
           (used = read_command(link->in + done, link->read_bytes - done, &words)) >
               0) {
        serve_command(world, side, link, &words);
        done += used;
    }
    if (done == 0)
        return;
    memmove(link->in, link->in + done, link->in_bytes - done);
    link->in_bytes -= done;
    link->read_bytes -= done;
    link->parsed_bytes -= link->parsed_bytes < done ? link->parsed_bytes : done;
}
