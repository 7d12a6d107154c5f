/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_REPLY_H
#define SHOAL_RESP_REPLY_H

/*
 * A reply tree in one arena, and replies without a tree.
 *
 * A top-level leaf is a node on the decoder's side whose bytes are a view into the read
 * buffer: no copy, no allocation.  Anything nested lives in an arena that the decoder
 * reuses for the next reply, unless a caller retained the reply.
 *
 * A NUL follows every text.
 */

#include <shoal/reply.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct shoal__arena shoal__arena_t;

struct shoal_reply {
    uint8_t type;          /* shoal_reply_type_t */
    char verbatim[4];      /* format of a VERBATIM, NUL-terminated */
    shoal__arena_t *arena; /* what keeps it alive; NULL: borrowed from a buffer */
    union {
        int64_t integer; /* INTEGER, BOOL */
        struct {
            const char *data; /* STRING, STATUS, ERROR, BIGNUM, VERBATIM, DOUBLE */
            size_t bytes;
            double number; /* DOUBLE */
        } text;
        struct {
            shoal_reply_t *items; /* contiguous */
            size_t count;         /* announced; all filled once the reply is whole */
            size_t capacity;
        } children;
    } as;
};

/* Memory for one or many reply trees, freed as a whole, counted by reference. */
shoal__arena_t *shoal__arena_new(void); /* one reference; NULL: no memory */
void *shoal__arena_alloc(shoal__arena_t *arena,
                         size_t bytes); /* aligned to 8; or NULL */
/* An object of `bytes_before` bytes gets `bytes`, more than before; it may move.  NULL
 * if memory ran out: then the object is as it was. */
void *shoal__arena_grow(shoal__arena_t *arena, void *memory, size_t bytes_before,
                        size_t bytes);
void shoal__arena_retain(shoal__arena_t *arena);  /* any thread */
void shoal__arena_release(shoal__arena_t *arena); /* any thread; NULL is allowed */
bool shoal__arena_is_shared(const shoal__arena_t *arena); /* more than one reference */
/* Forget the contents, keep up to a block of memory.  Only with one reference. */
void shoal__arena_reset(shoal__arena_t *arena);
/* Bytes that the arena has from the allocator. */
size_t shoal__arena_bytes(const shoal__arena_t *arena);

/* A deep copy in `arena`, iterative (any depth); NULL if memory ran out. */
shoal_reply_t *shoal__reply_copy(const shoal_reply_t *reply, shoal__arena_t *arena);

/* Feed a finished tree to a sink, iteratively. */
void shoal__reply_to_sink(const shoal_reply_t *reply, const shoal_sink_t *sink,
                          void *sink_data);

#endif
