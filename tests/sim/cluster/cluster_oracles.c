/* SPDX-License-Identifier: MIT */

#include "sim/cluster/cluster_world.h"
#include <inttypes.h>
#include <shoal/errors.h>
#include <stdlib.h>
#include <string.h>

#define RESTS_US 5000000
#define PATIENCE_US 25000000 /* without a deadline commands are held for 30 s */

/* ---- at the nodes ---- */

/* May its place be lost?  Also because this node sent it away.  A unit is refused as a whole. */
static bool is_part_unstable(const cluster_call_t *part, unsigned node)
{
    return part->is_unstable || (part->redirected > 0 && part->sent_away == node);
}

static bool is_unstable(const cluster_call_t *call, unsigned node)
{
    bool unstable = is_part_unstable(call, node);

    for (uint32_t id = call->unit_first; id > 0 && id <= call->unit_last; id++)
        unstable = unstable || is_part_unstable(&call->world->calls[id], node);
    return unstable;
}

/* O9.  A younger command of the thread ran before it. */
static void look_at_order(cluster_world_t *world, cluster_call_t *call,
                          const cluster_node_t *node, unsigned key, bool is_own_key)
{
    uint32_t last = node->last[call->thread][call->block][key];
    const cluster_call_t *before = &world->calls[last];

    if (last <= cluster_id_of(call))
        return;
    if (is_own_key)
        call->late_by = last;
    if (is_unstable(call, before->ran_at) || is_unstable(before, CLUSTER_NODES))
        return;
    cluster_world_fail(world, "O9: command %u of thread %u for block %u runs behind %u",
                       cluster_id_of(call), call->thread, call->block, last);
}

static void note_order(cluster_call_t *call, cluster_node_t *node, unsigned key)
{
    uint32_t *last = &node->last[call->thread][call->block][key];

    if (*last < cluster_id_of(call))
        *last = cluster_id_of(call);
    node->has_key[call->block][key] = true;
}

void cluster_oracle_executed(cluster_world_t *world, cluster_call_t *call,
                             cluster_node_t *node, bool is_ghost)
{
    bool is_again = call->executed > 0;
    unsigned keys = call->verb == CLUSTER_LCS ? 2 : 1;

    if (call->executed < UINT8_MAX)
        call->executed++;
    cluster_world_note(world, is_ghost ? "ghost" : "run", cluster_id_of(call),
                       node->index);
    if (call->redirected > 0 && call->named < CLUSTER_NODES &&
        call->named != node->index &&
        (world->nodes[call->named].troubles != call->named_troubles ||
         call->named_troubles % 2 > 0))
        call->is_unstable = true;
    if (is_again && !cluster_is_repeatable(call))
        cluster_world_fail(world, "O2: %u is executed again", cluster_id_of(call));
    if (call->is_done && call->fate == SHOAL_FATE_NOT_EXECUTED)
        cluster_world_fail(world, "O4: %u was NOT_EXECUTED, and is executed",
                           cluster_id_of(call));
    call->ran_at = (uint8_t)node->index;
    /* What the client gave up may come late, and so may what is executed again. */
    if (call->verb >= CLUSTER_MULTI || call->is_for_replica)
        return;
    for (unsigned i = 0; i < keys && !is_ghost && !is_again && !call->is_done; i++) {
        unsigned key = (call->key + i) % CLUSTER_KEYS;
        for (unsigned j = 0; j < CLUSTER_KEYS; j++)
            if (j == key || !world->rates.has_ask)
                look_at_order(world, call, node, j, j == key);
        note_order(call, node, key);
    }
}

void cluster_oracle_redirected(cluster_world_t *world, cluster_call_t *call,
                               unsigned from, unsigned to)
{
    call->sent_away = (uint8_t)from;
    call->named = (uint8_t)to;
    call->named_troubles = to < CLUSTER_NODES ? world->nodes[to].troubles : 0;
    call->is_unstable = call->is_unstable || call->redirected > 0 ||
                        world->now_us < world->named_us[call->block][from] + RESTS_US;
    if (to < CLUSTER_NODES)
        world->named_us[call->block][to] = world->now_us;
    /* The last one is its result; replicas may send a read away before it counts.  A unit
     * whose keys are at two nodes goes to and fro: what was asked for in vain does not
     * count. */
    if (++call->redirected > CLUSTER_HOPS_MAX + 1 + 2 * call->is_for_replica &&
        (call->unit_first == 0 || !world->rates.has_ask))
        cluster_world_fail(world, "O10: %u was redirected %u times",
                           cluster_id_of(call), call->redirected);
}

void cluster_oracle_view(cluster_world_t *world)
{
    size_t places = sizeof world->views_us / sizeof *world->views_us;
    uint64_t *oldest = &world->views_us[world->views_at++ % places];

    world->sights.views++;
    if (*oldest > 0 && world->now_us < *oldest + 1000000)
        cluster_world_fail(world, "O10: %zu questions within a second", places);
    *oldest = world->now_us;
}

/* ---- at the callers ---- */

/* MULTI and the commands behind it are told so; EXEC has the replies. */
static bool is_unit_reply(const cluster_call_t *call, const shoal_reply_t *reply)
{
    size_t bytes = 0;
    const char *word = call->verb == CLUSTER_MULTI ? "OK" : "QUEUED";
    const char *data = shoal_reply_string(reply, &bytes);

    if (call->verb == CLUSTER_EXEC)
        return shoal_reply_type(reply) == SHOAL_REPLY_ARRAY &&
               shoal_reply_count(reply) == call->unit_last - call->unit_first - 1 &&
               call->executed > 0;
    return shoal_reply_type(reply) == SHOAL_REPLY_STATUS && bytes == strlen(word) &&
           memcmp(data, word, bytes) == 0;
}

static bool is_own_reply(const cluster_call_t *call, const shoal_reply_t *reply)
{
    const shoal_reply_t *text =
        call->verb == CLUSTER_LCS ? shoal_reply_at(reply, 0) : reply;
    size_t bytes;
    const char *data;

    if (call->verb == CLUSTER_APPEND)
        return shoal_reply_type(reply) == SHOAL_REPLY_INTEGER &&
               shoal_reply_integer(reply) == cluster_id_of(call);
    data = text ? shoal_reply_string(text, &bytes) : NULL;
    return data && shoal_reply_type(text) == SHOAL_REPLY_STRING && bytes == 10 &&
           strtoul(data, NULL, 10) == cluster_id_of(call);
}

/* A unit of which a part was given up does not go again. */
static bool is_torn(const cluster_call_t *call)
{
    for (uint32_t id = call->unit_first; id > 0 && id <= call->unit_last; id++)
        if (call->world->calls[id].is_done && call->world->calls[id].status < 0)
            return true;
    return false;
}

/* Of its unit too: that goes on as a whole, whichever part was redirected. */
static unsigned redirects_of(const cluster_call_t *call)
{
    unsigned count = call->unit_first > 0 ? 0 : call->redirected;

    for (uint32_t id = call->unit_first; id > 0 && id <= call->unit_last; id++)
        count += call->world->calls[id].redirected;
    return count;
}

static void look_at_error(cluster_world_t *world, const cluster_call_t *call,
                          const shoal_reply_t *reply)
{
    size_t bytes;
    const char *text = shoal_reply_string(reply, &bytes);
    bool is_redirect = strncmp(text, "MOVED", 5) == 0 || strncmp(text, "ASK", 3) == 0;

    world->sights.errors++;
    /* A command that a node refuses for a while may fail; or nodes name each other too long. */
    if (world->is_short_of_memory || world->now_us > call->submitted_us + PATIENCE_US ||
        call->deadline_us < SHOAL__NEVER_US || world->options->attempts_max == 1 ||
        redirects_of(call) >= CLUSTER_HOPS_MAX - 1 || is_torn(call))
        return;
    if (world->rates.is_planned)
        cluster_world_fail(world, "O8: %u is told: %.*s", cluster_id_of(call),
                           (int)bytes, text);
    if (call->executed > 0 && !cluster_is_repeatable(call))
        cluster_world_fail(world, "O1: %u was executed, and has an error",
                           cluster_id_of(call));
    if (is_redirect && !(call->flags & SHOAL__REQUEST_ONCE))
        cluster_world_fail(world, "O10: %u is told of a redirect after %u of them",
                           cluster_id_of(call), call->redirected);
}

static void look_at_failure(cluster_world_t *world, const cluster_call_t *call,
                            const shoal_result_t *result)
{
    bool is_late =
        result->status == SHOAL_ETIMEOUT && call->deadline_us <= world->now_us;

    if (world->rates.is_planned && !world->is_closing && !world->is_short_of_memory &&
        result->status != SHOAL_ECANCELLED && !is_late)
        cluster_world_fail(world, "O8: %u fails with %d: %s", cluster_id_of(call),
                           result->status, result->detail);
}

void cluster_oracle_result(cluster_world_t *world, cluster_call_t *call,
                           const shoal_result_t *result)
{
    if (call->is_done)
        cluster_world_fail(world, "O3: %u completes twice", cluster_id_of(call));
    if (result->fate == SHOAL_FATE_NOT_EXECUTED && call->executed > 0)
        cluster_world_fail(world, "O4: %u is NOT_EXECUTED, but it was executed",
                           cluster_id_of(call));
    if (result->status == 0 && call->late_by > 0) {
        world->sights.late++;
        /* Of one that was lost the refusal may have been lost. */
        if (!result->was_reordered && result->attempts == 1 &&
            world->calls[call->late_by].is_done)
            cluster_world_fail(world, "O12: %u was overtaken, and has no mark",
                               cluster_id_of(call));
    }
    if (result->status < 0) {
        look_at_failure(world, call, result);
        return;
    }
    if (shoal_reply_type(result->reply) == SHOAL_REPLY_ERROR)
        look_at_error(world, call, result->reply);
    else if (call->unit_first > 0
                 ? !is_unit_reply(call, result->reply)
                 : call->executed == 0 || !is_own_reply(call, result->reply))
        cluster_world_fail(world, "O1: %u has a reply of another command",
                           cluster_id_of(call));
}
