/* SPDX-License-Identifier: MIT */
#include "resp/frame.h"

#include <shoal/errors.h>
#include <string.h>

/* An announced count is believed while the tree stays below this, so that an ordinary
 * array is allocated once.  Beyond, it grows as the children come. */
#define TRUST_BYTES ((size_t)256 * 1024)
#define TRUST_PER_RECEIVED_BYTE 8

static const shoal_reply_t nil_leaf = {.type = SHOAL_REPLY_NIL};

int shoal__frame_init(shoal__frame_t *frame, const shoal__decoder_hooks_t *hooks,
                      void *owner)
{
    shoal__arena_t *arena = shoal__arena_new();
    if (!arena)
        return SHOAL_ENOMEM;

    *frame = (shoal__frame_t){.hooks = *hooks, .owner = owner, .arena = arena};
    return 0;
}

void shoal__frame_release(shoal__frame_t *frame)
{
    shoal__arena_release(frame->arena);
    frame->arena = NULL;
}

/* The first value of a reply is known: where does it go? */
static void ask_target(shoal__frame_t *frame, shoal_reply_type_t type)
{
    frame->target = frame->hooks.on_begin(frame->owner, type);
    if (frame->target.discard || frame->discard_next)
        frame->mode = SHOAL__FRAME_NOWHERE;
    else
        frame->mode = frame->target.sink ? SHOAL__FRAME_SINK : SHOAL__FRAME_TREE;
    frame->discard_next = false;
}

static void deliver(shoal__frame_t *frame, const shoal_reply_t *reply, bool is_push)
{
    frame->is_delivering = true;
    if (!frame->hooks.on_reply(frame->owner, reply, is_push))
        frame->is_stopped = true;
    frame->is_delivering = false;
}

void shoal__frame_only_leaf(shoal__frame_t *frame, const shoal_reply_t *leaf)
{
    ask_target(frame, shoal_reply_type(leaf));
    deliver(frame, frame->mode == SHOAL__FRAME_NOWHERE ? &nil_leaf : leaf, false);
}

/* More room for children.  Growing moves the nodes there are, which is harmless: only
 * open aggregates are pointed at, and those children are whole. */
static bool reserve_children(shoal__frame_t *frame, shoal_reply_t *parent,
                             uint64_t received_bytes)
{
    size_t had = parent->as.children.capacity;
    uint64_t trusted_bytes = TRUST_BYTES + TRUST_PER_RECEIVED_BYTE * received_bytes;
    uint64_t arena_bytes = shoal__arena_bytes(frame->arena);
    uint64_t more = had / 8 + 8;

    if (trusted_bytes > arena_bytes &&
        (trusted_bytes - arena_bytes) / sizeof *parent > more)
        more = (trusted_bytes - arena_bytes) / sizeof *parent;
    if (more > parent->as.children.count - had)
        more = parent->as.children.count - had;

    size_t capacity = had + (size_t)more;
    shoal_reply_t *items =
        shoal__arena_grow(frame->arena, parent->as.children.items, had * sizeof *items,
                          capacity * sizeof *items);
    if (!items)
        return false;
    parent->as.children.items = items;
    parent->as.children.capacity = capacity;
    return true;
}

static shoal_reply_t *new_child(shoal__frame_t *frame, const shoal__place_t *place)
{
    shoal_reply_t *parent = place->parent;

    if (place->index == parent->as.children.capacity &&
        !reserve_children(frame, parent, place->received_bytes))
        return NULL;
    return &parent->as.children.items[place->index];
}

static shoal_reply_t *new_top(shoal__frame_t *frame)
{
    if (!frame->arena)
        frame->arena = shoal__arena_new();
    return frame->arena ? shoal__arena_alloc(frame->arena, sizeof(shoal_reply_t))
                        : NULL;
}

static void init_aggregate(shoal__frame_t *frame, shoal_reply_t *node,
                           shoal_reply_type_t type, size_t count)
{
    *node = (shoal_reply_t){
        .type = (uint8_t)type, .arena = frame->arena, .as.children.count = count};
}

static void end_aggregates(shoal__frame_t *frame, size_t ends)
{
    for (; ends > 0; ends--)
        frame->target.sink->on_end(frame->target.sink_data);
}

static void open_in_sink(shoal__frame_t *frame, shoal_reply_type_t type, size_t count,
                         size_t ends_if_empty)
{
    frame->target.sink->on_begin(type, count, frame->target.sink_data);
    if (count == 0)
        end_aggregates(frame, 1 + ends_if_empty);
}

void *shoal__frame_begin(shoal__frame_t *frame, shoal__frame_kind_t kind,
                         shoal_reply_type_t type, size_t count)
{
    if (kind == SHOAL__FRAME_REPLY)
        ask_target(frame, type);
    else
        frame->mode =
            kind == SHOAL__FRAME_PUSH ? SHOAL__FRAME_TREE : SHOAL__FRAME_ATTRIBUTE;

    if (frame->mode == SHOAL__FRAME_TREE) {
        shoal_reply_t *node = new_top(frame);
        if (node)
            init_aggregate(frame, node, type, count);
        return node;
    }
    if (frame->mode == SHOAL__FRAME_SINK) {
        frame->is_sink_open = true;
        open_in_sink(frame, type, count, 0);
    }
    return frame;
}

static bool add_leaf(shoal__frame_t *frame, const shoal__place_t *place,
                     const shoal_reply_t *leaf, size_t text_bytes)
{
    shoal_reply_t *node = new_child(frame, place);
    if (!node)
        return false;

    *node = *leaf;
    node->arena = frame->arena;
    if (text_bytes > 0) {
        char *text = shoal__arena_alloc(frame->arena, text_bytes + 1);
        if (!text)
            return false;
        text[text_bytes] = '\0';
        node->as.text.data = memcpy(text, leaf->as.text.data, text_bytes);
    }
    return true;
}

bool shoal__frame_leaf(shoal__frame_t *frame, const shoal__place_t *place,
                       const shoal_reply_t *leaf, size_t text_bytes)
{
    switch (frame->mode) {
    case SHOAL__FRAME_TREE:
        return add_leaf(frame, place, leaf, text_bytes);
    case SHOAL__FRAME_SINK:
        shoal__frame_leaf_to_sink(frame, leaf, place->ends);
        break;
    case SHOAL__FRAME_CHUNKS: /* has no leaves */
    case SHOAL__FRAME_NOWHERE:
    case SHOAL__FRAME_ATTRIBUTE:
        break;
    }
    return true;
}

void *shoal__frame_aggregate(shoal__frame_t *frame, const shoal__place_t *place,
                             shoal_reply_type_t type, size_t count)
{
    if (frame->mode == SHOAL__FRAME_TREE) {
        shoal_reply_t *node = new_child(frame, place);
        if (node)
            init_aggregate(frame, node, type, count);
        return node;
    }
    if (frame->mode == SHOAL__FRAME_SINK)
        open_in_sink(frame, type, count, place->ends);
    return frame;
}

/* Of a tree that somebody retained the next one leaves its memory alone. */
static void recycle_arena(shoal__frame_t *frame)
{
    if (frame->arena && shoal__arena_is_shared(frame->arena)) {
        shoal__arena_release(frame->arena);
        frame->arena = NULL;
    } else if (frame->arena) {
        shoal__arena_reset(frame->arena);
    }
}

void shoal__frame_finish(shoal__frame_t *frame, const void *top)
{
    const shoal_reply_t *tree = top;

    frame->is_sink_open = false;
    switch (frame->mode) {
    case SHOAL__FRAME_TREE:
        deliver(frame, tree, tree->type == SHOAL_REPLY_PUSH);
        break;
    case SHOAL__FRAME_SINK:
        deliver(frame, NULL, false);
        break;
    case SHOAL__FRAME_NOWHERE:
        deliver(frame, &nil_leaf, false);
        break;
    case SHOAL__FRAME_CHUNKS: /* ends in shoal__frame_string_end() */
    case SHOAL__FRAME_ATTRIBUTE:
        break;
    }
    recycle_arena(frame);
}

static void open_in_chunks(shoal__frame_t *frame, uint64_t bytes)
{
    frame->mode = SHOAL__FRAME_CHUNKS;
    frame->is_sink_open = true;
    frame->target.chunks->on_begin(bytes, frame->target.sink_data);
}

bool shoal__frame_string_begin(shoal__frame_t *frame, uint64_t bytes,
                               shoal_reply_t **ret_node)
{
    *ret_node = NULL;
    ask_target(frame, SHOAL_REPLY_STRING);
    if (frame->mode == SHOAL__FRAME_NOWHERE)
        return true;
    if (frame->target.chunks) {
        open_in_chunks(frame, bytes);
        return true;
    }
    /* Without chunks, a sink gets it as a leaf from the owner. */
    frame->mode = SHOAL__FRAME_TREE;
    *ret_node = new_top(frame);
    if (*ret_node)
        **ret_node = (shoal_reply_t){.type = SHOAL_REPLY_STRING, .arena = frame->arena};
    return *ret_node != NULL;
}

void shoal__frame_string_end(shoal__frame_t *frame, const shoal_reply_t *node)
{
    if (frame->mode == SHOAL__FRAME_CHUNKS)
        frame->target.chunks->on_end(frame->target.sink_data);
    frame->is_sink_open = false;
    if (frame->mode == SHOAL__FRAME_CHUNKS)
        deliver(frame, NULL, false);
    else
        deliver(frame, frame->mode == SHOAL__FRAME_TREE ? node : &nil_leaf, false);
    recycle_arena(frame);
}

static void reset_sink(shoal__frame_t *frame)
{
    const shoal__decoder_target_t *target = &frame->target;

    if (frame->is_sink_open && frame->mode == SHOAL__FRAME_CHUNKS)
        target->chunks->on_reset(target->sink_data);
    else if (frame->is_sink_open)
        target->sink->on_reset(target->sink_data);
    frame->is_sink_open = false;
}

void shoal__frame_discard(shoal__frame_t *frame, bool has_begun)
{
    reset_sink(frame);
    if (has_begun)
        frame->mode = SHOAL__FRAME_NOWHERE;
    else
        frame->discard_next = true;
}

void shoal__frame_reset(shoal__frame_t *frame)
{
    reset_sink(frame);
    recycle_arena(frame);
    frame->discard_next = false;
    frame->is_stopped = false;
}
