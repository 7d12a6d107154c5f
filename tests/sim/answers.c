/* SPDX-License-Identifier: MIT */

/* The scripted server: what it executes and what it answers.  Every answer to a
 * caller's command carries the number of its entry. */

#include "base/time_us.h"
#include "sim/world.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void say(sim_link_t *link,
                                                      const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    int bytes = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sim_link_produce(link, text, (size_t)bytes);
}

/* Before, the number, CR LF, without the price of printf. */
static void say_padded(sim_link_t *link, const char *before, uint32_t id, size_t digits)
{
    char text[64];
    size_t bytes = strlen(before);

    memcpy(text, before, bytes);
    for (size_t i = digits; i > 0; i--) {
        text[bytes + i - 1] = (char)('0' + id % 10);
        id /= 10;
    }
    memcpy(text + bytes + digits, "\r\n", 2);
    sim_link_produce(link, text, bytes + digits + 2);
}

static void say_id(sim_link_t *link, const char *before, uint32_t id)
{
    say_padded(link, before, id, SIM_ID_DIGITS);
}

/* Servers write integers without leading zeros. */
static void say_integer(sim_link_t *link, uint32_t id)
{
    size_t digits = 1;

    for (uint32_t rest = id; rest >= 10; rest /= 10)
        digits++;
    say_padded(link, ":", id, digits);
}

/* ---- greeting ---- */

/* HELLO or AUTH. */
static void authenticate(sim_link_t *link, const sim_heard_t *heard)
{
    bool is_hello = heard->verb == SIM_VERB_HELLO;

    if (is_hello && !link->knows_hello) {
        say(link, "-ERR unknown command 'HELLO'\r\n");
        return;
    }
    if (link->rejects_auth || !heard->is_right) {
        say(link, "-WRONGPASS invalid username-password pair\r\n");
        return;
    }
    link->is_known = true;
    link->is_resp3 = is_hello;
    if (is_hello)
        say(link, "%%3\r\n+version\r\n+7.0.15\r\n+proto\r\n:3\r\n+id\r\n:%u\r\n",
            link->serial);
    else
        say(link, "+OK\r\n");
}

static void say_text(sim_link_t *link, const char *text)
{
    say(link, "$%zu\r\n%s\r\n", strlen(text), text);
}

static void say_process(sim_link_t *link, const sim_world_t *world)
{
    char text[64];

    snprintf(text, sizeof text, "# Server\r\nrun_id:%" PRIu32 "\r\ntcp_port:6379",
             world->restarts);
    say_text(link, text);
}

/* CLIENT INFO, CLIENT KILL ID number ..., or what is answered with OK. */
static void answer_client(sim_link_t *link, sim_world_t *world,
                          const sim_heard_t *heard)
{
    char text[64];

    if (sim_dice_hits(&world->dice, 64)) {
        say(link, "-ERR unknown subcommand\r\n");
    } else if (heard->is_info) {
        snprintf(text, sizeof text, "id=%" PRIu32 " addr=" SIM_ADDRESS "\n",
                 link->serial, link->serial);
        say_text(link, text);
    } else if (heard->is_kill) {
        unsigned count = heard->killed ? sim_ghosts_kill(world, heard->killed) : 0;
        say(link, ":%u\r\n", count);
    } else {
        say(link, "+OK\r\n");
    }
}

static void greet(sim_link_t *link, sim_world_t *world, const sim_heard_t *heard)
{
    bool is_who = heard->verb == SIM_VERB_HELLO || heard->verb == SIM_VERB_AUTH;

    if (is_who &&
        (link->heard_head != link->heard_tail || heard->end != link->accepted_bytes))
        sim_world_fail(world, "O7: something was sent behind HELLO or AUTH");
    if (!is_who && !link->is_known)
        sim_world_fail(world, "O7: something was sent before HELLO or AUTH");
    if (is_who)
        authenticate(link, heard);
    else if (heard->verb == SIM_VERB_PING)
        say(link, "+PONG\r\n");
    else if (heard->verb == SIM_VERB_INFO)
        say_process(link, world);
    else if (heard->verb == SIM_VERB_FENCE)
        say(link, "$16\r\n%.16s\r\n", heard->nonce);
    else if (heard->verb == SIM_VERB_CLIENT)
        answer_client(link, world, heard);
    else
        say(link, heard->is_right ? "+OK\r\n" : "-ERR DB index is out of range\r\n");
    if (heard->verb == SIM_VERB_SELECT)
        link->is_selected = heard->is_right;
    link->greetings_answered++;
    link->greeting_end = link->produced_bytes;
}

/* ---- unasked ---- */

void sim_link_push(sim_link_t *link, sim_dice_t *dice)
{
    switch (sim_dice_below(dice, 4)) {
    case 0:
        say(link, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\nkey\r\n");
        break;
    case 1:
        say(link, ">2\r\n+invalidate\r\n_\r\n");
        break;
    case 2:
        say(link, ">3\r\n+message\r\n+channel\r\n:%u\r\n", sim_dice_below(dice, 1000));
        break;
    default:
        say(link, ">1\r\n%%1\r\n+a\r\n*2\r\n,1.5\r\n#f\r\n");
        break;
    }
}

static void say_around(sim_link_t *link, sim_world_t *world, uint32_t push_rate,
                       uint32_t attribute_rate)
{
    if (!link->is_resp3 || link->is_ghost)
        return;
    while (sim_dice_hits(&world->dice, push_rate < 900 ? push_rate : 900))
        sim_link_push(link, &world->dice);
    if (sim_dice_hits(&world->dice, attribute_rate))
        say(link, "|1\r\n+ttl\r\n:%u\r\n", sim_dice_below(&world->dice, 100));
}

/* ---- commands ---- */

static void say_long(sim_link_t *link, const sim_call_t *call, uint32_t id)
{
    say(link, "$%" PRIu32 "\r\n", SIM_ID_DIGITS + call->pad_bytes);
    char digits[SIM_ID_DIGITS + 1];
    snprintf(digits, sizeof digits, "%010" PRIu32, id);
    sim_link_produce(link, digits, SIM_ID_DIGITS);
    for (size_t left = call->pad_bytes; left > 0;) {
        size_t bytes = left < SIM_PAD_BYTES ? left : SIM_PAD_BYTES;
        sim_link_produce(link, SIM_PAD, bytes);
        left -= bytes;
    }
    sim_link_produce(link, "\r\n", 2);
}

static void say_list(sim_link_t *link, const sim_call_t *call, uint32_t id)
{
    size_t items = sim_call_items(call, id);

    say(link, "*%zu\r\n", items);
    for (size_t i = 0; i < items; i++) {
        if (i % 3 == 2)
            say(link, "*2\r\n*0\r\n*1\r\n");
        if (i % 2)
            say_integer(link, id);
        else
            say_id(link, "$10\r\n", id);
    }
}

static void say_value(sim_link_t *link, const sim_call_t *call, uint32_t id)
{
    if (call->verb == SIM_VERB_GET)
        say_long(link, call, id);
    else if (call->verb == SIM_VERB_LRANGE)
        say_list(link, call, id);
    else if (call->verb == SIM_VERB_ECHO)
        say_id(link, "$10\r\n", id);
    else if (call->verb == SIM_VERB_BLPOP)
        say_id(link, "*2\r\n$3\r\nkey\r\n$10\r\n", id);
    else
        say_integer(link, id);
}

/* The error that the server's state asks for; NULL: none. */
static const char *rejection(const sim_link_t *link, const sim_world_t *world,
                             const sim_call_t *call)
{
    if (world->now_us < world->trouble_until_us)
        return world->trouble;
    if (link->is_forgotten)
        return "-NOAUTH ";
    if ((link->is_demoted || world->now_us < world->demoted_until_us) &&
        call->command_class != SHOAL__CLASS_RO)
        return "-READONLY ";
    return NULL;
}

static void execute(sim_world_t *world, uint32_t id)
{
    sim_call_t *call = &world->calls[id];

    call->executed++;
    if (call->executed > 1 && !sim_call_is_repeatable(call))
        sim_oracle_blame(world, call, "O2: %u was executed twice", id);
    if (call->is_done && call->fate == SHOAL_FATE_NOT_EXECUTED)
        sim_oracle_blame(world, call, "O4: %u was executed, but reported not to be",
                         id);
}

static void execute_unit(sim_link_t *link, sim_world_t *world, uint32_t id)
{
    const sim_call_t *exec = &world->calls[id];

    link->unit_first = 0;
    if (link->is_unit_rejected) {
        say_id(link, "-EXECABORT ", id);
        return;
    }
    execute(world, id);
    say(link, "*%zu\r\n", sim_call_items(exec, id));
    for (uint32_t part = exec->unit_first + 1; part < id; part++) {
        execute(world, part);
        say_integer(link, part);
    }
}

/* A part of MULTI .. EXEC: they come in order and with nothing between.  (I15) */
static void take_unit_part(sim_link_t *link, sim_world_t *world, uint32_t id)
{
    sim_call_t *call = &world->calls[id];

    if (call->verb == SIM_VERB_MULTI) {
        link->unit_first = link->unit_next = id;
        link->is_unit_rejected = false;
    }
    if (link->unit_first != call->unit_first || link->unit_next != id) {
        sim_oracle_blame(world, call,
                         "O8: %u of unit %u came, but %u of unit %u was due", id,
                         call->unit_first, link->unit_next, link->unit_first);
        return;
    }
    link->unit_next = id + 1;
    if (call->verb == SIM_VERB_EXEC) {
        execute_unit(link, world, id);
        return;
    }
    if (call->verb == SIM_VERB_MULTI) {
        say_id(link, "+OK ", id); /* and nothing is done yet */
        return;
    }
    const char *error = rejection(link, world, call);
    if (error)
        link->is_unit_rejected = true;
    say_id(link, error ? error : "+QUEUED ", id);
}

/* The client waits for the switch of roles to end, whatever the budget of retries. */
static void note_role(const sim_link_t *link, sim_call_t *call, const char *error)
{
    if (link->is_ghost ||
        (strcmp(error, "-READONLY ") != 0 && strcmp(error, "-MASTERDOWN ") != 0))
        return;
    call->role_waits++;
    sim_oracle_role(call);
}

static void answer(sim_link_t *link, sim_world_t *world, uint32_t id)
{
    sim_call_t *call = &world->calls[id];
    const char *error = rejection(link, world, call);

    if (error) {
        /* With these it may be sent again. */
        bool is_proof = world->now_us >= world->trouble_until_us
                            ? !link->is_forgotten || world->secret.password
                            : world->is_trouble_passing;
        call->rejected += is_proof;
        note_role(link, call, error);
        say_id(link, error, id);
    } else if (sim_dice_hits(&world->dice, world->swarm.error_rate)) {
        /* What a script did before its error stays done. */
        if (call->verb == SIM_VERB_EVAL)
            execute(world, id);
        say_id(link, call->verb == SIM_VERB_EVAL ? "-READONLY " : "-WRONGTYPE ", id);
    } else {
        execute(world, id);
        say_value(link, call, id);
    }
}

static void take_command(sim_link_t *link, sim_world_t *world, uint32_t id)
{
    sim_call_t *call = &world->calls[id];
    uint64_t begin = link->produced_bytes;

    answer(link, world, id);
    if (link->is_ghost)
        return;
    call->answer_link = link->serial;
    call->answer_begin = begin;
    call->answer_end = link->produced_bytes;
    sim_oracle_answered(world, link, id);
    sim_desync_answered(world, link, begin, false);
    sim_poison_answered(world, link, id);
}

/* ECHO needs no key: only what is wrong with the whole server keeps it from answering. */
static void answer_fence(sim_link_t *link, sim_world_t *world, const sim_heard_t *heard)
{
    static const char *const errors[] = {"-LOADING ", "-BUSY ", "-MASTERDOWN "};
    bool is_in_trouble = world->now_us < world->trouble_until_us;

    for (size_t i = 0; i < 3; i++) {
        if (is_in_trouble && strcmp(world->trouble, errors[i]) == 0) {
            say(link, "%sfor now\r\n", errors[i]);
            return;
        }
    }
    if (link->is_forgotten)
        say(link, "-NOAUTH Authentication required.\r\n");
    else
        say(link, "$16\r\n%.16s\r\n", heard->nonce);
}

void sim_link_execute(sim_link_t *link, sim_world_t *world, const sim_heard_t *heard)
{
    uint32_t id = heard->id;

    say_around(link, world, world->swarm.push_rate, world->swarm.attribute_rate);
    sim_world_note(world, "execute", heard->verb, id);
    if (heard->is_greeting) {
        greet(link, world, heard);
        return;
    }
    if (link->unit_first &&
        (id == 0 || world->calls[id].unit_first != link->unit_first)) {
        sim_oracle_blame(world, &world->calls[id], "O8: %u came inside unit %u", id,
                         link->unit_first);
        return;
    }
    if (heard->verb == SIM_VERB_FENCE) {
        uint64_t begin = link->produced_bytes;
        answer_fence(link, world, heard);
        world->answers_heard++; /* soon */
        sim_desync_answered(world, link, begin, true);
        return;
    }
    if (id == 0) {
        say(link, "+PONG\r\n");
        world->sights.pings++;
        world->answers_heard++; /* soon */
        return;
    }

    /* What was rejected may be sent again behind younger commands; the rest is in
     * order. */
    if (world->calls[id].rejected == 0) {
        const sim_call_t *call = &world->calls[id];
        bool is_read = world->has_role_hold && sim_call_is_read(call);
        uint32_t *fresh_id = &link->fresh_id[is_read][call->thread];
        if (id <= *fresh_id)
            sim_oracle_blame(world, call, "O8: %u came behind %u", id, *fresh_id);
        *fresh_id = id;
    }
    if (link->is_ghost && link->serial < world->settled_link &&
        (world->calls[id].command_class != SHOAL__CLASS_RO ||
         world->calls[id].unit_first))
        sim_oracle_blame(world, &world->calls[id],
                         "O8: %u runs late, but its connection is settled", id);
    if (link->is_ghost)
        world->sights.ghost_commands++;
    else
        world->calls[id].order = ++link->answers;
    if (world->calls[id].unit_first)
        take_unit_part(link, world, id);
    else
        take_command(link, world, id);
    say_around(link, world, world->swarm.push_rate, 0);
}
