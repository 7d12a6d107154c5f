/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_FRAME_H
#define SHOAL_RESP_FRAME_H

/*
 * One top-level frame on its way to the owner: as a tree, through a sink, or to nowhere.
 * It is given values in the order of the wire and knows nothing of bytes.
 *
 * Guarantees: on_begin and then on_reply once per reply, on_reply alone once per push;
 * a tree's memory grows with the bytes received, not with the counts announced.
 */

#include "resp/decoder_hooks.h"
#include <stddef.h>
#include <stdint.h>

typedef enum shoal__frame_mode {
    SHOAL__FRAME_TREE,
    SHOAL__FRAME_SINK,
    SHOAL__FRAME_CHUNKS, /* of a large string */
    SHOAL__FRAME_NOWHERE,
    SHOAL__FRAME_ATTRIBUTE, /* to nowhere, and the owner does not hear of it */
} shoal__frame_mode_t;

typedef enum shoal__frame_kind {
    SHOAL__FRAME_REPLY,
    SHOAL__FRAME_PUSH,
    SHOAL__FRAME_SKIPPED /* an attribute */
} shoal__frame_kind_t;

typedef struct shoal__frame {
    shoal__decoder_hooks_t hooks;
    void *owner;
    shoal__arena_t *arena; /* of trees; NULL until the next one begins */
    shoal__frame_mode_t mode;
    shoal__decoder_target_t target; /* valid for SHOAL__FRAME_SINK and _CHUNKS */
    bool is_sink_open;              /* the sink was told of a beginning and of no end */
    bool discard_next;              /* given up before it was known where it goes */
    bool is_delivering;             /* inside on_reply */
    bool is_stopped;                /* on_reply returned false */
} shoal__frame_t;

/* Where a value stands below the top level. */
typedef struct shoal__place {
    shoal_reply_t *parent; /* what shoal__frame_aggregate() gave for its aggregate */
    size_t index;          /* among its siblings */
    size_t ends; /* aggregates that are whole with it, if it is no aggregate */
    uint64_t received_bytes; /* of the frame so far */
} shoal__place_t;

/* 0 or SHOAL_ENOMEM. */
int shoal__frame_init(shoal__frame_t *frame, const shoal__decoder_hooks_t *hooks,
                      void *owner);
void shoal__frame_release(shoal__frame_t *frame);

/* A reply that is no aggregate: all of its frame.  The owner gets it even if there is
 * a sink, so that it can judge an error first. */
void shoal__frame_only_leaf(shoal__frame_t *frame, const shoal_reply_t *leaf);

/* The top-level aggregate begins.  Returns what stands for it in places below and in
 * _finish; NULL: no memory. */
void *shoal__frame_begin(shoal__frame_t *frame, shoal__frame_kind_t kind,
                         shoal_reply_type_t type, size_t count);

/* A leaf below it; its text, if any, is copied for a tree.  false: no memory. */
bool shoal__frame_leaf(shoal__frame_t *frame, const shoal__place_t *place,
                       const shoal_reply_t *leaf, size_t text_bytes);

/* The same for SHOAL__FRAME_SINK; `ends` as in a place. */
static inline void shoal__frame_leaf_to_sink(shoal__frame_t *frame,
                                             const shoal_reply_t *leaf, size_t ends)
{
    const shoal_sink_t *sink = frame->target.sink;

    sink->on_leaf(leaf, frame->target.sink_data);
    for (; ends > 0; ends--)
        sink->on_end(frame->target.sink_data);
}

/* An aggregate below it, possibly empty.  Returns as _begin does. */
void *shoal__frame_aggregate(shoal__frame_t *frame, const shoal__place_t *place,
                             shoal_reply_type_t type, size_t count);

/* Everything below the top-level aggregate was given. */
void shoal__frame_finish(shoal__frame_t *frame, const void *top);

/* A reply begins that is one large string of `bytes` bytes.  Where does it go?  See mode.
 * *ret_node: for a tree, the reply, of which the text is missing; else NULL.  false: no
 * memory. */
bool shoal__frame_string_begin(shoal__frame_t *frame, uint64_t bytes,
                               shoal_reply_t **ret_node);

/* For SHOAL__FRAME_CHUNKS: its next bytes. */
static inline void shoal__frame_string_chunk(shoal__frame_t *frame, const char *data,
                                             size_t bytes)
{
    frame->target.chunks->on_chunk(data, bytes, frame->target.sink_data);
}

/* The string is whole; for a tree, `node` has its text. */
void shoal__frame_string_end(shoal__frame_t *frame, const shoal_reply_t *node);

/* The frame under way goes to nowhere from now on; has_begun says whether it is at a
 * place behind _begin. */
void shoal__frame_discard(shoal__frame_t *frame, bool has_begun);

/* Forget the frame under way. */
void shoal__frame_reset(shoal__frame_t *frame);

#endif
