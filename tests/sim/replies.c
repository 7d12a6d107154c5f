/* SPDX-License-Identifier: MIT */

/* Is this reply the one of that command?  O1, the same for trees and for sinks. */

#include "sim/world.h"
#include <string.h>

static bool ends_with_id(const char *text, size_t bytes, uint32_t id)
{
    if (bytes < SIM_ID_DIGITS)
        return false;
    for (size_t i = 1; i <= SIM_ID_DIGITS; i++, id /= 10)
        if (text[bytes - i] != (char)('0' + id % 10))
            return false;
    return true;
}

static bool is_long_value(const sim_call_t *call, const char *text, size_t bytes)
{
    if (bytes != SIM_ID_DIGITS + call->pad_bytes ||
        !ends_with_id(text, SIM_ID_DIGITS, sim_call_id(call)))
        return false;
    for (size_t i = SIM_ID_DIGITS; i < bytes; i += SIM_PAD_BYTES)
        if (memcmp(text + i, SIM_PAD,
                   bytes - i < SIM_PAD_BYTES ? bytes - i : SIM_PAD_BYTES) != 0)
            return false;
    return true;
}

static bool is_leaf_right(const sim_call_t *call, const shoal_reply_t *leaf)
{
    uint32_t id = sim_call_id(call);
    size_t bytes = 0;
    const char *text = shoal_reply_string(leaf, &bytes);

    if (call->verb == SIM_VERB_EXEC)
        id = call->unit_first + 1 + call->sink_leaves;
    if (shoal_reply_type(leaf) == SHOAL_REPLY_INTEGER)
        return shoal_reply_integer(leaf) == (int64_t)id;
    if (!text)
        return false;
    if (call->verb == SIM_VERB_BLPOP && call->sink_leaves == 0 && call->sink_depth == 1)
        return bytes == 3;
    if (call->verb == SIM_VERB_GET && call->unit_first == 0)
        return is_long_value(call, text, bytes);
    return ends_with_id(text, bytes, id);
}

static void check_sink(sim_call_t *call)
{
    if (call->is_done)
        sim_world_fail(call->world, "O1: the sink of %u is fed behind its result",
                       sim_call_id(call));
}

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    sim_call_t *call = data;

    check_sink(call);
    if (!is_leaf_right(call, leaf))
        call->is_sink_wrong = true;
    call->sink_leaves++;
    call->has_sink_begun = true;
}

static void on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    sim_call_t *call = data;

    (void)count;
    check_sink(call);
    if (type != SHOAL_REPLY_ARRAY)
        call->is_sink_wrong = true;
    call->sink_depth++;
    call->has_sink_begun = true;
}

static void on_end(void *data)
{
    sim_call_t *call = data;

    check_sink(call);
    if (call->sink_depth-- == 0)
        call->is_sink_wrong = true;
}

static void on_reset(void *data)
{
    sim_call_t *call = data;

    check_sink(call);
    call->has_sink_begun = call->is_sink_wrong = false;
    call->sink_depth = 0;
    call->sink_leaves = 0;
}

const shoal_sink_t sim_sink = {on_leaf, on_begin, on_end, on_reset};

static void visit(sim_call_t *call, const shoal_reply_t *reply)
{
    if (shoal_reply_type(reply) != SHOAL_REPLY_ARRAY) {
        on_leaf(reply, call);
        return;
    }
    on_begin(SHOAL_REPLY_ARRAY, shoal_reply_count(reply), call);
    for (size_t i = 0; i < shoal_reply_count(reply); i++)
        visit(call, shoal_reply_at(reply, i));
    on_end(call);
}

static size_t leaves_of(const sim_call_t *call)
{
    if (call->verb == SIM_VERB_EXEC)
        return sim_call_items(call, sim_call_id(call));
    if (call->unit_first)
        return 1;
    if (call->verb == SIM_VERB_LRANGE)
        return sim_call_items(call, sim_call_id(call));
    return call->verb == SIM_VERB_BLPOP ? 2 : 1;
}

static bool is_error_right(const sim_call_t *call, const shoal_reply_t *reply)
{
    size_t bytes = 0;
    const char *text = shoal_reply_string(reply, &bytes);

    return !call->has_sink_begun && ends_with_id(text, bytes, sim_call_id(call));
}

void sim_oracle_reply(sim_world_t *world, sim_call_t *call, const shoal_reply_t *reply)
{
    uint32_t id = sim_call_id(call);

    if (reply && shoal_reply_type(reply) == SHOAL_REPLY_ERROR) {
        if (!is_error_right(call, reply))
            sim_oracle_blame(world, call, "O1: %u got another command's error", id);
        return;
    }
    if (!reply != call->has_sink)
        sim_oracle_blame(world, call, "O1: %u got its reply the wrong way", id);
    else if (reply)
        visit(call, reply);
    if (call->is_sink_wrong || call->sink_depth != 0 ||
        call->sink_leaves != leaves_of(call))
        sim_oracle_blame(world, call,
                         "O1: %u (verb %d) got a reply that is not its own", id,
                         call->verb);
    if (call->unit_first == 0 && call->executed == 0)
        sim_oracle_blame(world, call, "O1: %u got a value without being executed", id);
}
