/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_PARTIAL_VALUE_H
#define SHOAL_RESP_PARTIAL_VALUE_H

/*
 * A value of which only a part has arrived.  How many bytes will it have, and when is it
 * worth the parser's time to look at it again?
 *
 * Decides that a string may be whole once its announced bytes are there, and a line once a
 * line end is.  So the work is linear in the bytes, however they come.  Knows no parser and
 * keeps no bytes: the caller holds them, and shows them from behind the byte of the type on.
 */

#include "base/bytes.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum shoal__partial_kind {
    SHOAL__PARTIAL_STRING, /* a length, a line end, then as many bytes and a line end */
    SHOAL__PARTIAL_TEXT,   /* a line of text, of 512 MiB at most */
    SHOAL__PARTIAL_LINE,   /* any other line, of 64 KiB at most */
} shoal__partial_kind_t;

/* All zero: no value is partly there. */
typedef struct shoal__partial_value {
    size_t
        missing_bytes; /* that the string still lacks; 0: not known, or it is a line */
    bool awaits_line;  /* a line has begun and not ended */
    bool is_too_long;  /* the line has more bytes than its kind may have */
} shoal__partial_value_t;

/* The parser could not finish a value of this kind, of which `arrived` is there.  Notes what
 * the value lacks.  Returns the bytes that the whole value has at least; 0 if nothing of it
 * is there. */
uint64_t shoal__partial_value_note(shoal__partial_value_t *partial,
                                   shoal__partial_kind_t kind, shoal__bytes_t arrived);

/* More came, and `arrived` is all of the value now; the last `more_bytes` of it are new, and
 * there were others when the value was noted.  True: the value may be whole, and nothing is
 * known of it any more.  False: it is certainly not whole.  The caller notes a line again,
 * because its length is known only as it grows. */
bool shoal__partial_value_grow(shoal__partial_value_t *partial, shoal__bytes_t arrived,
                               size_t more_bytes);

#endif
