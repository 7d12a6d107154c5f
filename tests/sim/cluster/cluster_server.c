/* SPDX-License-Identifier: MIT */

/* A node reads commands and executes them, as far as it believes that their slots are its
 * own. */

#include "resp/key_slot.h"
#include "sim/cluster/cluster_world.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 8

/* ---- slots and keys ---- */

#define BLOCK_SLOTS ((SHOAL__SLOTS + CLUSTER_BLOCKS - 1) / CLUSTER_BLOCKS)

static struct {
    char text[8];
    unsigned slot;
} tags[CLUSTER_BLOCKS];

/* Any text whose slot is in the block. */
static void find_tags(void)
{
    for (unsigned block = 0; block < CLUSTER_BLOCKS; block++)
        for (unsigned i = 0; tags[block].text[0] == '\0'; i++) {
            char text[8];
            int bytes = snprintf(text, sizeof text, "t%u", i % 10000);
            unsigned slot = shoal__key_slot((shoal__bytes_t){text, (size_t)bytes});
            if (slot / BLOCK_SLOTS != block)
                continue;
            memcpy(tags[block].text, text, sizeof text);
            tags[block].slot = slot;
        }
}

const char *cluster_tag(unsigned block)
{
    if (!tags[0].text[0])
        find_tags();
    return tags[block].text;
}

unsigned cluster_slot(unsigned block)
{
    (void)cluster_tag(block);
    return tags[block].slot;
}

/* ---- bytes ---- */

static void reply(cluster_link_t *link, const char *data, size_t bytes)
{
    if (!link->is_open)
        return;
    if (link->out_bytes + bytes > link->out_capacity) {
        link->out_capacity = 2 * (link->out_bytes + bytes);
        link->out = realloc(link->out, link->out_capacity);
        if (!link->out)
            abort();
    }
    memcpy(link->out + link->out_bytes, data, bytes);
    link->out_bytes += bytes;
}

__attribute__((format(printf, 2, 3))) static void say(cluster_link_t *link,
                                                      const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    int bytes = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    reply(link, text, (size_t)bytes);
}

typedef struct words {
    shoal__bytes_t items[WORDS_MAX];
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

    if (!read_number(&at, end, '*', &count) || count > WORDS_MAX)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (!read_number(&at, end, '$', &length) || (size_t)(end - at) < length + 2)
            return 0;
        words->items[i] = (shoal__bytes_t){at, length};
        at += length + 2;
    }
    words->count = count;
    return (size_t)(at - data);
}

static bool is_word(const words_t *words, size_t at, const char *word)
{
    return at < words->count && shoal__bytes_is_word(words->items[at], word);
}

/* ---- what it says of the cluster ---- */

static void say_id(cluster_link_t *link, unsigned node)
{
    say(link, "%040u", node + 1);
}

static void say_slots_node(cluster_link_t *link, unsigned node)
{
    char host[16];
    int bytes = snprintf(host, sizeof host, "10.0.0.%u", node + 1);

    say(link, "*3\r\n$%d\r\n%s\r\n:%u\r\n$40\r\n", bytes, host, 7001 + node);
    say_id(link, node);
    say(link, "\r\n");
}

static void say_slots(cluster_link_t *link, const cluster_node_t *node)
{
    unsigned blocks = 0;

    for (unsigned i = 0; i < CLUSTER_BLOCKS; i++)
        blocks += node->owner[i] != CLUSTER_NOBODY;
    say(link, "*%u\r\n", blocks);
    for (unsigned i = 0; i < CLUSTER_BLOCKS; i++) {
        unsigned owner = node->owner[i], end = (i + 1) * BLOCK_SLOTS, replicas = 0;
        if (owner == CLUSTER_NOBODY)
            continue;
        for (unsigned j = 0; j < CLUSTER_NODES; j++)
            replicas += j != owner && node->primary_of[j] == owner;
        say(link, "*%u\r\n:%u\r\n:%u\r\n", 3 + replicas, i * BLOCK_SLOTS,
            (end < SHOAL__SLOTS ? end : SHOAL__SLOTS) - 1);
        say_slots_node(link, owner);
        for (unsigned j = 0; j < CLUSTER_NODES; j++)
            if (j != owner && node->primary_of[j] == owner)
                say_slots_node(link, j);
    }
}

static void say_nodes(cluster_link_t *link, const cluster_node_t *node)
{
    char text[CLUSTER_NODES * 128];
    size_t bytes = 0;

    for (unsigned i = 0; i < CLUSTER_NODES; i++) {
        bool is_primary = node->primary_of[i] == i;
        bytes += (size_t)snprintf(
            text + bytes, sizeof text - bytes,
            "%040u 10.0.0.%u:%u@%u %s%s - 0 0 %" PRIu64 " connected\n", i + 1, i + 1,
            7001 + i, 17001 + i, i == node->index ? "myself," : "",
            is_primary ? "master" : "slave",
            node->epoch[is_primary ? i : node->primary_of[i]]);
    }
    say(link, "$%zu\r\n", bytes);
    reply(link, text, bytes);
    say(link, "\r\n");
}

static void say_role(cluster_link_t *link, const cluster_node_t *node)
{
    unsigned primary = node->primary_of[node->index];

    if (primary == node->index)
        say(link, "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
    else
        say(link,
            "*5\r\n$5\r\nslave\r\n$8\r\n10.0.0.%u\r\n:%u\r\n$9\r\nconnected\r\n:0\r\n",
            primary + 1, 7001 + primary);
}

/* Its number and its address. */
static void say_client(cluster_link_t *link)
{
    char text[64];
    int bytes =
        snprintf(text, sizeof text, "id=%" PRIu64 " addr=10.9.9.9:%" PRIu64 " x",
                 link->id, link->id);

    say(link, "$%d\r\n%s\r\n", bytes, text);
}

static void say_process(cluster_link_t *link, const cluster_node_t *node)
{
    char text[64];
    int bytes =
        snprintf(text, sizeof text, "run_id:%u-%u\r\n", node->index, node->kills);

    say(link, "$%d\r\n%s\r\n", bytes, text);
}

/* CLIENT KILL ID <id> ... */
static void end_client(cluster_world_t *world, cluster_link_t *link,
                       const words_t *words)
{
    uint64_t id = 0;

    for (size_t i = 0; i < words->items[3].bytes; i++)
        id = id * 10 + (uint64_t)(words->items[3].data[i] - '0');
    say(link, ":%d\r\n", cluster_net_end(world, link->node, id));
}

/* ---- commands of callers ---- */

/* The last word is its number. */
static cluster_call_t *call_of(cluster_world_t *world, const words_t *words)
{
    const shoal__bytes_t word = words->items[words->count - 1];
    uint32_t id = 0;

    for (size_t i = 0; i < word.bytes; i++)
        id = id * 10 + (uint32_t)(word.data[i] - '0');
    if (id == 0 || id >= world->call_count) {
        cluster_world_fail(world, "O1: a node does not know command %u", id);
        return NULL;
    }
    return &world->calls[id];
}

/* What was asked for in vain was no redirect (ASK) that counts. */
static void refuse_for_a_while(cluster_world_t *world, cluster_call_t *call,
                               bool was_asking)
{
    if (was_asking && call->redirected > 0)
        call->redirected--;
    call->is_unstable = true;
    world->sights.refused++;
}

static void redirect(cluster_world_t *world, cluster_link_t *link, cluster_call_t *call,
                     bool is_ask, unsigned to)
{
    /* A client that gave the connection up never hears of it. */
    if (link->is_open)
        cluster_oracle_redirected(world, call, link->node, to);
    world->sights.moved += !is_ask;
    world->sights.asked += is_ask;
    say(link, "-%s %u 10.0.0.%u:%u\r\n", is_ask ? "ASK" : "MOVED",
        cluster_slot(call->block), to + 1, to == CLUSTER_STRANGER ? 1 : 7001 + to);
}

/* The keys of a command, a bit for each. */
static unsigned keys_of(const cluster_call_t *call)
{
    unsigned other = (call->key + 1u) % CLUSTER_KEYS;

    return 1u << call->key | (call->verb == CLUSTER_LCS ? 1u << other : 0);
}

/* How many keys these are, and how many of them the node has not. */
static unsigned missing_keys(const cluster_node_t *node, unsigned block, unsigned keys,
                             unsigned *ret_count)
{
    unsigned missing = 0;

    *ret_count = 0;
    for (unsigned key = 0; key < CLUSTER_KEYS; key++)
        if (keys & 1u << key) {
            (*ret_count)++;
            missing += !node->has_key[block][key];
        }
    return missing;
}

/* A replica of the owner answers what only reads, if the connection said READONLY. */
static bool reads_here(cluster_world_t *world, const cluster_link_t *link,
                       const cluster_node_t *node, const cluster_call_t *call)
{
    if (!link->is_readonly || call->unit_first > 0 ||
        (call->verb != CLUSTER_READ && call->verb != CLUSTER_LCS) ||
        node->primary_of[node->index] != node->owner[call->block])
        return false;
    if (!call->is_for_replica && link->is_open)
        cluster_world_fail(world, "O13: a replica executes %u, which is for the owner",
                           cluster_id_of(call));
    world->sights.reads++;
    return true;
}

/* True: the command is not executed here, and was answered. */
static bool turn_away(cluster_world_t *world, cluster_link_t *link,
                      cluster_node_t *node, cluster_call_t *call, unsigned of_keys,
                      bool was_asking)
{
    unsigned owner = node->owner[call->block], keys;
    unsigned missing = missing_keys(node, call->block, of_keys, &keys);

    if (world->now_us < node->loading_until_us) {
        refuse_for_a_while(world, call, was_asking);
        say(link, "-LOADING\r\n");
    } else if (owner == CLUSTER_NOBODY) {
        refuse_for_a_while(world, call, was_asking);
        say(link, "-CLUSTERDOWN\r\n");
    } else if (owner == node->index && world->rates.lies && node->index == 0 &&
               !world->is_calm && sim_dice_hits(&world->dice, 20)) {
        world->has_lied = true;
        world->sights.lies++;
        refuse_for_a_while(world, call, was_asking);
        redirect(world, link, call, false, CLUSTER_STRANGER);
    } else if (owner == node->index) {
        if (node->migrates_to[call->block] == CLUSTER_NOBODY || missing == 0)
            return false;
        if (missing < keys) {
            refuse_for_a_while(world, call, was_asking);
            world->sights.tryagain++;
            say(link, "-TRYAGAIN\r\n");
        } else
            redirect(world, link, call, true, node->migrates_to[call->block]);
    } else if (was_asking && node->imports_from[call->block] != CLUSTER_NOBODY) {
        if (keys == 1 || missing == 0)
            return false;
        refuse_for_a_while(world, call, was_asking);
        world->sights.tryagain++;
        say(link, "-TRYAGAIN\r\n");
    } else if (reads_here(world, link, node, call))
        return false;
    else
        redirect(world, link, call, false, owner);
    return true;
}

/* Execute a command that the node takes. */
static void run(cluster_world_t *world, cluster_link_t *link, cluster_node_t *node,
                cluster_call_t *call)
{
    cluster_oracle_executed(world, call, node, !link->is_open);
    switch ((cluster_verb_t)call->verb) {
    case CLUSTER_GET:
    case CLUSTER_READ:
        say(link, "$10\r\n%010u\r\n", cluster_id_of(call));
        break;
    case CLUSTER_APPEND:
        say(link, ":%u\r\n", cluster_id_of(call));
        break;
    case CLUSTER_LCS:
        say(link, "*2\r\n$10\r\n%010u\r\n$-1\r\n", cluster_id_of(call));
        break;
    case CLUSTER_MULTI:
    case CLUSTER_EXEC:
    case CLUSTER_VERBS:
        break;
    }
}

/* EXEC runs all, or is turned away as one command for all their keys would be. */
static void run_unit(cluster_world_t *world, cluster_link_t *link, cluster_node_t *node,
                     cluster_call_t *exec, bool was_asking)
{
    cluster_call_t *calls = world->calls;
    uint32_t first = link->unit_first + 1, last = cluster_id_of(exec);
    unsigned keys = 0;

    if (link->unit_first != exec->unit_first)
        cluster_world_fail(world, "O8: EXEC %u comes without its MULTI", last);
    link->unit_first = 0;
    link->is_asking = false;
    if (world->has_failed)
        return;
    if (link->is_unit_rejected) {
        say(link, "-EXECABORT\r\n");
        return;
    }
    for (uint32_t id = first; id < last; id++)
        keys |= keys_of(&calls[id]);
    if (turn_away(world, link, node, &calls[first], keys, was_asking))
        return;
    world->sights.units++;
    cluster_oracle_executed(world, &calls[first - 1], node, !link->is_open);
    cluster_oracle_executed(world, exec, node, !link->is_open);
    say(link, "*%u\r\n", last - first);
    for (uint32_t id = first; id < last; id++)
        run(world, link, node, &calls[id]);
}

static void execute(cluster_world_t *world, cluster_link_t *link, cluster_node_t *node,
                    const words_t *words, bool was_asking)
{
    cluster_call_t *call = call_of(world, words);

    if (!call)
        return;
    if (call->verb == CLUSTER_MULTI) {
        link->unit_first = cluster_id_of(call);
        link->is_unit_rejected = false;
        link->is_asking = was_asking; /* it holds within MULTI */
        say(link, "+OK\r\n");
    } else if (call->verb == CLUSTER_EXEC)
        run_unit(world, link, node, call, was_asking);
    else if (link->unit_first > 0) {
        link->is_asking = was_asking;
        if (call->unit_first != link->unit_first)
            cluster_world_fail(world, "O8: %u comes into the unit of another one",
                               cluster_id_of(call));
        else if (turn_away(world, link, node, call, keys_of(call), was_asking))
            link->is_unit_rejected = true;
        else
            say(link, "+QUEUED\r\n");
    } else if (call->unit_first > 0)
        cluster_world_fail(world, "O8: %u comes without its MULTI",
                           cluster_id_of(call));
    else if (!turn_away(world, link, node, call, keys_of(call), was_asking))
        run(world, link, node, call);
}

static void hear(cluster_world_t *world, cluster_link_t *link, cluster_node_t *node,
                 const words_t *words)
{
    bool was_asking = link->is_asking;

    link->is_asking = false;
    if (is_word(words, 0, "ASKING")) {
        link->is_asking = true;
        say(link, "+OK\r\n");
    } else if (is_word(words, 0, "READONLY") || is_word(words, 0, "READWRITE")) {
        link->is_readonly = is_word(words, 0, "READONLY");
        say(link, "+OK\r\n");
    } else if (is_word(words, 0, "ROLE"))
        say_role(link, node);
    else if (is_word(words, 0, "PING"))
        say(link, "+PONG\r\n");
    else if (is_word(words, 0, "ECHO") && words->count > 1) {
        say(link, "$%zu\r\n", words->items[1].bytes);
        reply(link, words->items[1].data, words->items[1].bytes);
        say(link, "\r\n");
    } else if (is_word(words, 0, "CLUSTER")) {
        if (is_word(words, 1, "SLOTS"))
            say_slots(link, node);
        else
            say_nodes(link, node);
    } else if (is_word(words, 0, "INFO"))
        say_process(link, node);
    else if (is_word(words, 0, "CLIENT") && is_word(words, 1, "INFO"))
        say_client(link);
    else if (is_word(words, 0, "CLIENT") && is_word(words, 1, "KILL"))
        end_client(world, link, words);
    else if (is_word(words, 0, "CLIENT"))
        say(link, "+OK\r\n");
    else if (is_word(words, 0, "HELLO"))
        say(link, "-ERR unknown command 'HELLO'\r\n");
    else
        execute(world, link, node, words, was_asking);
}

void cluster_server_serve(cluster_world_t *world, cluster_link_t *link, size_t bytes)
{
    cluster_node_t *node = &world->nodes[link->node];
    size_t at = 0, used;
    words_t words;

    if (!node->is_up || node->is_stopped || node->is_paused || !link->is_alive)
        return;
    while (!world->has_failed &&
           (used = read_command(link->in + at, link->in_bytes - at, &words)) > 0) {
        if (at + used > bytes)
            break;
        at += used;
        hear(world, link, node, &words);
    }
    if (at > 0)
        memmove(link->in, link->in + at, link->in_bytes - at);
    link->in_bytes -= at;
    if (at > 0)
        cluster_world_note(world, "served", link->node, at);
    /* The node hears that the client has hung up when it has read everything. */
    if (!link->is_open && at == 0)
        cluster_net_lose(link);
}
