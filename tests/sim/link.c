/* SPDX-License-Identifier: MIT */
#include "sim/link.h"

#include "base/time_us.h"
#include "sim/world.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGC_MAX 8

void sim_link_init(sim_link_t *link)
{
    *link = (sim_link_t){.heard = malloc(SIM_HEARD_SLOTS * sizeof *link->heard)};
}

void sim_link_release(sim_link_t *link)
{
    free(link->heard);
    free(link->tail);
    free(link->out);
    free(link->held);
    *link = (sim_link_t){0};
}

static uint32_t roll_window(sim_world_t *world, uint32_t max)
{
    if (world->swarm.are_windows_wide || sim_dice_hits(&world->dice, 512))
        return max;
    return (uint32_t)sim_dice_scale(&world->dice, max);
}

void sim_link_open(sim_link_t *link, sim_world_t *world)
{
    const shoal__greeting_config_t *config = &world->config.greeting;
    sim_swarm_t *swarm = &world->swarm;
    sim_dice_t *dice = &world->dice;

    *link = (sim_link_t){.serial = ++world->links,
                         .in_window = roll_window(world, swarm->in_window_max),
                         .out_window = roll_window(world, swarm->out_window_max),
                         .tail = link->tail,
                         .tail_capacity = link->tail_capacity,
                         .heard = link->heard,
                         .out = link->out,
                         .out_capacity = link->out_capacity,
                         .held = link->held,
                         .held_capacity = link->held_capacity,
                         .is_known = !world->secret.password,
                         .is_selected = config->database == 0,
                         .fence_us = SHOAL__NEVER_US,
                         .doom_end = SHOAL__NEVER_US,
                         .knows_hello = !sim_dice_hits(dice, swarm->no_hello_rate),
                         .rejects_auth = world->secret.password &&
                                         sim_dice_hits(dice, swarm->auth_fail_rate)};
}

/* ---- what the client writes ---- */

typedef struct words {
    const char *data[ARGC_MAX];
    size_t bytes[ARGC_MAX];
    size_t count;
} words_t;

/* "<sign><digits>\r\n" at *at: 1, 0 if there is more to come, -1 if it is no such thing. */
static int read_number(const char **at, const char *end, char sign, size_t *ret_number)
{
    const char *p = *at;
    size_t number = 0;

    if (p == end)
        return 0;
    if (*p++ != sign)
        return -1;
    for (; p != end && *p >= '0' && *p <= '9'; p++)
        number = number * 10 + (size_t)(*p - '0');
    if (end - p < 2)
        return p != end && *p != '\r' ? -1 : 0;
    if (p[0] != '\r' || p[1] != '\n')
        return -1;
    *ret_number = number;
    *at = p + 2;
    return 1;
}

/* One command: its bytes; 0 if it is not whole, with those needed at least; -1 if it is
 * none. */
static long read_command(const char *data, size_t bytes, words_t *words, size_t *needed)
{
    const char *at = data, *end = data + bytes;
    size_t count = 0, length = 0;

    *needed = bytes + 1;
    int rc = read_number(&at, end, '*', &count);
    if (rc <= 0)
        return rc;
    if (count < 1 || count > ARGC_MAX)
        return -1;
    for (size_t i = 0; i < count; i++) {
        rc = read_number(&at, end, '$', &length);
        if (rc <= 0)
            return rc;
        if ((size_t)(end - at) < length + 2) {
            *needed = (size_t)(at - data) + length + 2;
            return 0;
        }
        if (at[length] != '\r' || at[length + 1] != '\n')
            return -1;
        words->data[i] = at;
        words->bytes[i] = length;
        at += length + 2;
    }
    words->count = count;
    return at - data;
}

static bool is_word(const words_t *words, size_t i, const char *text)
{
    return i < words->count && words->bytes[i] == strlen(text) &&
           memcmp(words->data[i], text, words->bytes[i]) == 0;
}

static sim_verb_t verb_of(const words_t *words)
{
    static const char *const names[SIM_VERB_COUNT] = {
        [SIM_VERB_HELLO] = "HELLO",   [SIM_VERB_AUTH] = "AUTH",
        [SIM_VERB_SELECT] = "SELECT", [SIM_VERB_CLIENT] = "CLIENT",
        [SIM_VERB_INFO] = "INFO",     [SIM_VERB_PING] = "PING",
        [SIM_VERB_FENCE] = "",        [SIM_VERB_ECHO] = "ECHO",
        [SIM_VERB_GET] = "GET",       [SIM_VERB_LRANGE] = "LRANGE",
        [SIM_VERB_INCR] = "INCR",     [SIM_VERB_APPEND] = "APPEND",
        [SIM_VERB_EVAL] = "EVAL",     [SIM_VERB_BLPOP] = "BLPOP",
        [SIM_VERB_MULTI] = "MULTI",   [SIM_VERB_EXEC] = "EXEC"};

    if (is_word(words, 0, "ECHO") && words->count == 2 &&
        words->bytes[1] == SIM_NONCE_DIGITS)
        return SIM_VERB_FENCE;
    for (int verb = 0; verb < SIM_VERB_COUNT; verb++)
        if (is_word(words, 0, names[verb]))
            return (sim_verb_t)verb;
    return SIM_VERB_COUNT;
}

/* The entry that the command names, or 0. */
static uint32_t id_of(const sim_world_t *world, const words_t *words, sim_verb_t verb)
{
    uint32_t id = 0;

    if (words->count < 2 || words->bytes[1] != SIM_ID_DIGITS)
        return 0;
    for (size_t i = 0; i < SIM_ID_DIGITS; i++)
        id = id * 10 + (uint32_t)(words->data[1][i] - '0');
    if (id >= world->call_count || world->calls[id].verb != verb)
        return 0;
    if (verb == SIM_VERB_APPEND) {
        if (words->count != 3 || words->bytes[2] != world->calls[id].pad_bytes)
            return 0;
        for (size_t i = 0; i < words->bytes[2]; i += SIM_PAD_BYTES) {
            size_t left = words->bytes[2] - i;
            if (memcmp(words->data[2] + i, SIM_PAD,
                       left < SIM_PAD_BYTES ? left : SIM_PAD_BYTES) != 0)
                return 0;
        }
    }
    return id;
}

/* CLIENT KILL ID 7 ADDR 10.0.0.1:7 ...: the connection that both are of, or 0. */
static uint32_t killed_link(const words_t *words)
{
    uint32_t serial = (uint32_t)strtoul(words->data[3], NULL, 10);
    char address[32];

    snprintf(address, sizeof address, SIM_ADDRESS, serial);
    return is_word(words, 4, "ADDR") && is_word(words, 5, address) ? serial : 0;
}

/* A whole command was accepted. */
static void hear(sim_link_t *link, sim_world_t *world, const words_t *words,
                 uint64_t end)
{
    sim_heard_t heard = {.end = end, .verb = (uint8_t)verb_of(words)};

    if (heard.verb == SIM_VERB_COUNT) {
        sim_world_fail(world, "O1: the server does not know %.*s", (int)words->bytes[0],
                       words->data[0]);
        return;
    }
    if (heard.verb == SIM_VERB_HELLO)
        heard.is_right = !world->secret.password ||
                         (is_word(words, 2, "AUTH") && is_word(words, 3, "default") &&
                          is_word(words, 4, "sesame"));
    if (heard.verb == SIM_VERB_AUTH)
        heard.is_right = is_word(words, 1, "sesame");
    if (heard.verb == SIM_VERB_SELECT)
        heard.is_right = world->config.greeting.database == 7 && is_word(words, 1, "7");
    if (heard.verb == SIM_VERB_CLIENT) {
        heard.is_info = is_word(words, 1, "INFO");
        if (is_word(words, 1, "KILL") && is_word(words, 2, "ID"))
            heard.killed = killed_link(words);
        heard.is_kill = is_word(words, 1, "KILL");
    }
    if (heard.verb == SIM_VERB_FENCE)
        memcpy(heard.nonce, words->data[1], sizeof heard.nonce);
    if (heard.verb >= SIM_VERB_ECHO) {
        heard.id = id_of(world, words, (sim_verb_t)heard.verb);
        if (heard.id == 0) {
            sim_world_fail(world, "O1: %.*s names no command of its kind: %.*s",
                           (int)words->bytes[0], words->data[0], (int)words->bytes[1],
                           words->data[1]);
            return;
        }
    }
    /* A client that uses fences asks in the greeting whether there is ECHO. */
    heard.is_greeting = heard.verb < SIM_VERB_PING || link->greetings_heard == 0 ||
                        (heard.verb == SIM_VERB_FENCE && !link->is_echoing);
    link->is_echoing |= heard.is_greeting && heard.verb == SIM_VERB_FENCE;
    if (heard.is_greeting && link->has_callers)
        sim_world_fail(world, "O7: the greeting goes on behind its end");
    link->greetings_heard += heard.is_greeting;
    if (heard.id) {
        sim_oracle_handed(world, link, heard.id);
        sim_integrity_handed(world, link);
    } else if (heard.verb == SIM_VERB_FENCE && !heard.is_greeting) {
        sim_integrity_fenced(world, link);
    }
    if (!link->is_closed) /* else nobody will read it */
        link->heard[link->heard_tail++ & (SIM_HEARD_SLOTS - 1)] = heard;
}

size_t sim_link_room(const sim_link_t *link)
{
    uint64_t held = link->accepted_bytes - link->read_bytes;

    if (link->is_closed)
        return link->in_window; /* to be dropped */
    return held < link->in_window ? (size_t)(link->in_window - held) : 0;
}

static char *grow(char *memory, size_t *capacity, size_t bytes)
{
    while (*capacity < bytes)
        *capacity = *capacity ? 2 * *capacity : 4096;
    memory = realloc(memory, *capacity);
    if (!memory)
        abort();
    return memory;
}

void sim_link_accept(sim_link_t *link, sim_world_t *world, const char *data,
                     size_t bytes)
{
    if (link->tail_bytes + bytes > link->tail_capacity)
        link->tail = grow(link->tail, &link->tail_capacity, link->tail_bytes + bytes);
    memcpy(link->tail + link->tail_bytes, data, bytes);
    link->tail_bytes += bytes;
    link->accepted_bytes += bytes;

    size_t done = 0;
    while (link->tail_bytes - done >= link->tail_needed && link->tail_bytes > done &&
           !world->has_failed) {
        words_t words;
        long used = read_command(link->tail + done, link->tail_bytes - done, &words,
                                 &link->tail_needed);
        if (used < 0)
            sim_world_fail(world, "O1: the server cannot read %.40s",
                           link->tail + done);
        if (used <= 0)
            break;
        uint64_t begin = link->accepted_bytes - (link->tail_bytes - done);
        hear(link, world, &words, begin + (uint64_t)used);
        done += (size_t)used;
        link->tail_needed = 1;
    }
    if (done > 0 && done < link->tail_bytes)
        memmove(link->tail, link->tail + done, link->tail_bytes - done);
    link->tail_bytes -= done;
}

/* ---- what the server writes ---- */

size_t sim_link_readable(const sim_link_t *link)
{
    size_t bytes = link->out_end - link->out_begin;

    return bytes < link->out_window ? bytes : link->out_window;
}

const char *sim_link_data(const sim_link_t *link)
{
    return link->out + link->out_begin;
}

void sim_link_take(sim_link_t *link, size_t bytes)
{
    link->out_begin += bytes;
    link->taken_bytes += bytes;
    if (link->out_begin == link->out_end)
        link->out_begin = link->out_end = 0;
}

void sim_link_produce(sim_link_t *link, const char *data, size_t bytes)
{
    if (link->is_ghost || link->is_mute || link->is_closed)
        return;
    if (link->out_begin > 0 && link->out_end + bytes > link->out_capacity) {
        memmove(link->out, link->out + link->out_begin,
                link->out_end - link->out_begin);
        link->out_end -= link->out_begin;
        link->out_begin = 0;
    }
    if (link->out_end + bytes > link->out_capacity)
        link->out = grow(link->out, &link->out_capacity, link->out_end + bytes);
    memcpy(link->out + link->out_end, data, bytes);
    link->out_end += bytes;
    link->produced_bytes += bytes;
}

void sim_link_serve(sim_link_t *link, sim_world_t *world, uint64_t bytes)
{
    uint64_t left = link->accepted_bytes - link->read_bytes;

    /* It does nothing, not even read, while too much of what it said is unread. */
    if (!link->is_ghost &&
        link->out_end - link->out_begin > world->swarm.unread_bytes_max)
        return;
    link->read_bytes += bytes < left ? bytes : left;
    while (link->heard_head != link->heard_tail && !world->has_failed) {
        const sim_heard_t *heard =
            &link->heard[link->heard_head & (SIM_HEARD_SLOTS - 1)];
        if (heard->end > link->read_bytes)
            break;
        link->heard_head++;
        if (!link->is_mute)
            sim_link_execute(link, world, heard);
    }
    if (link->heard_head == link->heard_tail)
        sim_poison_read(world, link);
}
