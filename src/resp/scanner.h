/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_SCANNER_H
#define SHOAL_RESP_SCANNER_H

/*
 * Finds where each top-level frame ends, without building or judging anything, so that
 * replies can be held back and counted before the decoder sees them.
 *
 * The owner keeps the bytes in one piece and calls next with all of them; positions count
 * from their beginning.  When it drops bytes from the front it says so.  Guarantees: the
 * work is linear in the bytes however they come; no memory; the frames are those of the
 * decoder, or the decoder rejects the bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum shoal__scan {
    SHOAL__SCAN_MORE,     /* the frame under way is not whole */
    SHOAL__SCAN_FRAME,    /* a frame is whole: see begin, end, type */
    SHOAL__SCAN_BROKEN,   /* these bytes are no RESP */
    SHOAL__SCAN_TOO_LARGE /* the frame, or a line of it, is over the limit */
} shoal__scan_t;

typedef struct shoal__scanner {
    uint64_t bytes_max; /* of one frame */
    size_t begin;       /* of the frame under way, or of the one that is whole */
    size_t end;         /* of the frame that is whole */
    char type;          /* its first byte */
    size_t at;          /* here the next value begins, or the rest of a string */
    size_t searched;    /* no line end is between `at` and here */
    uint64_t skip;      /* bytes of a string, with its line end, not seen yet */
    uint64_t pending;   /* values that the frame still lacks */
    bool is_inside;     /* a frame has begun and not ended */
} shoal__scanner_t;

void shoal__scanner_init(shoal__scanner_t *scanner, uint64_t bytes_max);

/* Go on, in `bytes` bytes from `data` on.  After BROKEN and TOO_LARGE do
 * not go on. */
shoal__scan_t shoal__scanner_next(shoal__scanner_t *scanner, const char *data,
                                  size_t bytes);

/* Has a frame begun and not ended that is a reply, no push and no attribute?  Holds its
 * value after BROKEN and TOO_LARGE. */
static inline bool shoal__scanner_is_mid_reply(const shoal__scanner_t *scanner)
{
    return scanner->is_inside && scanner->type != '>' && scanner->type != '|';
}

/* The first `bytes` bytes are dropped; they end with a frame. */
void shoal__scanner_drop(shoal__scanner_t *scanner, size_t bytes);

#endif
