/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_DECODER_HOOKS_H
#define SHOAL_RESP_DECODER_HOOKS_H

/* What a decoder asks its owner, and what it tells: where the next reply goes, and that a
 * reply is whole. */

#include "resp/reply.h"
#include <stdbool.h>

/* Where the next reply goes. */
typedef struct shoal__decoder_target {
    const shoal_sink_t *sink; /* NULL: a tree. For aggregates only: a top-level leaf
                                 goes to on_reply as ever, so that its owner can judge
                                 an error first */
    const shoal_chunk_sink_t
        *chunks;     /* takes a top-level string that is large; NULL: it
                                         goes to on_reply as any leaf */
    void *sink_data; /* of both */
    bool discard; /* to nowhere: nothing is built, on_reply gets an unspecified leaf */
} shoal__decoder_target_t;

typedef struct shoal__decoder_hooks {
    /* A reply of this type begins (no push, no attribute): where does it go?  Called
     * once for each reply, when its first value is known; of a large string, when its
     * length is.  Pushes always become trees. */
    shoal__decoder_target_t (*on_begin)(void *owner, shoal_reply_type_t type);
    /* A frame is whole.  `reply` is borrowed until the return; NULL if a sink took
     * it.  is_push tells RESP3 pushes apart.  Return false to stop decoding: feed then
     * returns at once and drops the rest, and all bytes until the next reset.  May
     * not feed, reset or free the decoder. */
    bool (*on_reply)(void *owner, const shoal_reply_t *reply, bool is_push);
} shoal__decoder_hooks_t;

#endif
