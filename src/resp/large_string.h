/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_LARGE_STRING_H
#define SHOAL_RESP_LARGE_STRING_H

/*
 * A reply that is one large string, on its way past the parser: straight to a chunk
 * sink, or with one copy at most into the memory of the reply.
 *
 * The decoder finds the header.  What follows it, the string and its line end, is given
 * here in pieces of any size.  Guarantees: as frame.h; the memory grows with the bytes
 * received, not with the length announced; chunks are the caller's bytes, not copied.
 */

#include "resp/frame.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: there is none. */
typedef struct shoal__large_string {
    bool is_open;
    uint64_t bytes;    /* of the string */
    uint64_t received; /* of it and its line end */
    char line_end[2];  /* what of that came */
    /* For a tree only: */
    shoal_reply_t *node; /* its text has room for `capacity` bytes */
    char *text;
    size_t capacity;
} shoal__large_string_t;

typedef enum shoal__large_took {
    SHOAL__LARGE_MORE,
    SHOAL__LARGE_WHOLE,  /* it was delivered, and there is none any more */
    SHOAL__LARGE_BROKEN, /* no line end follows it */
    SHOAL__LARGE_NO_MEMORY
} shoal__large_took_t;

/* A reply begins that is a string of `bytes` bytes: ask where it goes.  `at_hand` bytes
 * of it have arrived and are about to be given.  False: no memory. */
bool shoal__large_string_begin(shoal__large_string_t *large, shoal__frame_t *frame,
                               uint64_t bytes, size_t at_hand);

/* Take what belongs to it of the next bytes; *ret_taken: so many.  Those that stand in
 * the room already are not copied. */
shoal__large_took_t shoal__large_string_take(shoal__large_string_t *large,
                                             shoal__frame_t *frame, const char *data,
                                             size_t bytes, size_t *ret_taken);

/* Where its next bytes can be put; none of the bytes behind it have room there.  NULL:
 * nowhere in particular.  Valid until the next call. */
char *shoal__large_string_room(shoal__large_string_t *large, shoal__frame_t *frame,
                               size_t *ret_bytes);

#endif
