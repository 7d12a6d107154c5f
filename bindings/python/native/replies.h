/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_REPLIES_H
#define SHOAL_PYTHON_REPLIES_H

/*
 * Replies become pickled Python values:
 *
 *   nil None, boolean bool, integer int, double float, string, status and verbatim bytes,
 *   or str if asked for; array and push list, map dict, set set.  As the key of a map or a
 *   member of a set, which must be hashable: array and map tuple, set frozenset.
 *
 * Three values need Python's help, and are said to: text that is not UTF-8 comes as
 * bytes; an error, (bytearray of its text,); a big number, (bytearray of its digits, None).
 * As a key or a member the last two are text, too.
 * Neither a bytearray nor a tuple that begins with one can be any other reply.
 */

#include "stream.h"
#include <shoal/reply.h>

enum shoalpy_reply_flag {
    SHOALPY_AS_TEXT = 1, /* str instead of bytes, where it is UTF-8 */
    SHOALPY_CLASSIC = 2, /* list instead of set, string instead of a big number */
};

typedef struct shoalpy_level shoalpy_level_t;

/* Memory for the nesting of replies. */
typedef struct shoalpy_walk {
    shoalpy_level_t *levels;
    size_t depth, capacity;
} shoalpy_walk_t;

/* Zeroed memory is an empty one. */
void shoalpy_walk_release(shoalpy_walk_t *walk);

/* Write a reply.  True: it needs Python's help. */
bool shoalpy_reply_write(shoalpy_walk_t *walk, const shoal_reply_t *reply,
                         unsigned flags, shoalpy_stream_t *stream);

#endif
