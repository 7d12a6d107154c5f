/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_REPLY_SHAPE_H
#define SHOAL_RESP_REPLY_SHAPE_H

/*
 * Which types a command's reply may have at its top level.  A reply of another type is
 * the reply of another command: the connection is out of step.
 *
 * The shapes are those of tools/reply_shapes.txt, and err on the side of too many types.
 * They say nothing about pushes, which are no replies.
 */

#include <shoal/reply.h>
#include <stdbool.h>
#include <stdint.h>

/* An index into the shapes, below SHOAL__SHAPE_LIMIT: it fits into six bits. */
typedef uint8_t shoal__reply_shape_t;

enum {
    SHOAL__SHAPE_ANY = 0,    /* not known, or the caller's to say, as for scripts */
    SHOAL__SHAPE_QUEUED = 1, /* a status: MULTI, what it queues, DISCARD */
    SHOAL__SHAPE_EXEC = 2,   /* an array or nil */
    /* Of a subscriber: no reply but an error; core/pipe/pipe_subscriber.h. */
    SHOAL__SHAPE_PUSHES = 63,
    SHOAL__SHAPE_LIMIT = 64
};

/* A bit for each shoal_reply_type_t; none for an index that is no shape. */
extern const uint16_t shoal__reply_shape_masks[SHOAL__SHAPE_LIMIT];

/* An error is always allowed. */
static inline bool shoal__reply_shape_allows(shoal__reply_shape_t shape,
                                             shoal_reply_type_t type)
{
    return (shoal__reply_shape_masks[shape] >> (unsigned)type & 1) != 0;
}

#endif
