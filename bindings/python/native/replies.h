/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_REPLIES_H
#define SHOAL_PYTHON_REPLIES_H

/*
 * Replies become pickled Python values, while they are decoded:
 *
 *   nil None, boolean bool, integer int, double float, string, status and verbatim bytes,
 *   or str if asked for; array and push list, map dict, set set.  As the key of a map or a
 *   member of a set, which must be hashable: array and map tuple, set frozenset.
 *
 * Three values need Python's help, and the writer says so: text that is not UTF-8 comes
 * as bytes; an error, (bytearray of its text,); a big number, (bytearray of its digits,
 * None).  As a key or a member the last two come as strings do.
 * No other reply is a bytearray, or a tuple that begins with one.
 */

#include "stream.h"
#include <shoal/reply.h>

enum shoalpy_reply_flag {
    SHOALPY_AS_TEXT = 1, /* str instead of bytes, where it is UTF-8 */
    SHOALPY_CLASSIC = 2, /* list instead of set, string instead of a big number */
    SHOALPY_INTO = 4,    /* not for writers: a large string went into a shoalpy_into_t,
                            and None is written in its place */
};

typedef struct shoalpy_level shoalpy_level_t;

/* One reply at a time, at the end of a stream. */
typedef struct shoalpy_writer {
    shoalpy_stream_t *stream;
    unsigned flags;
    bool needs_help; /* of Python, so far */
    bool is_under_way;
    bool was_broken;         /* the stream, before the reply */
    size_t from;             /* where in the stream the reply begins */
    shoalpy_level_t *levels; /* open aggregates */
    size_t depth, capacity;
} shoalpy_writer_t;

/* Zeroed memory is a writer that was never used. */
void shoalpy_writer_release(shoalpy_writer_t *writer);

/* The next reply stands at the end of `stream`, which must not move as a whole. */
void shoalpy_writer_begin(shoalpy_writer_t *writer, unsigned flags,
                          shoalpy_stream_t *stream);

/* What a shoal_sink_t does; the writer was begun. */
void shoalpy_writer_leaf(shoalpy_writer_t *writer, const shoal_reply_t *leaf);
void shoalpy_writer_open(shoalpy_writer_t *writer, shoal_reply_type_t type,
                         size_t count);
void shoalpy_writer_close(shoalpy_writer_t *writer);
/* Drop what was written of the reply. */
void shoalpy_writer_reset(shoalpy_writer_t *writer);

/* The same as a sink: begins by itself with the flags and the stream of the last begin. */
extern const shoal_sink_t shoalpy_writer_sink;

/* Write a reply that is there as a whole.  True: it needs Python's help. */
bool shoalpy_reply_write(shoalpy_writer_t *writer, const shoal_reply_t *reply,
                         unsigned flags, shoalpy_stream_t *stream);

#endif
