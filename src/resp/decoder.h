/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_DECODER_H
#define SHOAL_RESP_DECODER_H

/*
 * Bytes -> replies, on hiredis' reader with object functions of our own.
 *
 * The owner says for each reply where it goes: into a tree, to a sink, or to nowhere.
 * A large top-level string (large_string.h) goes past the reader.
 * Guarantees: one on_reply per whole top-level frame, in order; a smaller top-level
 * string is a view into the read buffer; memory grows with the bytes received, never with what
 * a header announces; the result does not depend on how the bytes were split.
 *
 * An error is final: the decoder is of no use for the connection any more.
 * Errors: a byte or number that is no RESP; a push or an attribute below the top
 * level; a bound of the limits; a line that is not text over 64 KiB, a line
 * of text over 512 MiB; memory.
 * Top-level attributes are skipped.
 */

#include "resp/decoder_hooks.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct shoal__decoder shoal__decoder_t;

typedef struct shoal__decoder_limits {
    uint64_t bytes_max;    /* of one reply */
    uint64_t elements_max; /* of one aggregate; a map of n pairs has 2n */
    int depth_max;         /* 1: no aggregate inside an aggregate */
} shoal__decoder_limits_t;

/* 0 or SHOAL_ENOMEM; ret_decoder is untouched on failure. */
int shoal__decoder_new(shoal__decoder_t **ret_decoder,
                       const shoal__decoder_limits_t *limits,
                       const shoal__decoder_hooks_t *hooks, void *owner);
void shoal__decoder_free(shoal__decoder_t *decoder); /* NULL is allowed */

/* Decode `bytes` bytes.  0 or SHOAL_EDESYNC, SHOAL_ENOMEM. */
int shoal__decoder_feed(shoal__decoder_t *decoder, const char *data, size_t bytes);

/* Where the next bytes can be put before they are fed, so that they are not copied:
 * *ret_bytes at most.  NULL: nowhere in particular.  Valid until the next call. */
char *shoal__decoder_room(shoal__decoder_t *decoder, size_t *ret_bytes);

/* One line on the error; "" if there is none. */
const char *shoal__decoder_error(const shoal__decoder_t *decoder);

/* Has a frame other than a push or an attribute begun and not ended?  If so the head's
 * reply was cut (SHOAL__PROGRESS_REPLYING).  Holds its value after an error. */
bool shoal__decoder_is_mid_reply(const shoal__decoder_t *decoder);

/* Does the next byte begin a frame?  Not after an error. */
bool shoal__decoder_is_at_rest(const shoal__decoder_t *decoder);

/* So many bytes, at least, follow in the string under way; 0: not known, or there is none. */
size_t shoal__decoder_missing(const shoal__decoder_t *decoder);

/* Is the error that a frame is over a bound? */
bool shoal__decoder_is_over_limit(const shoal__decoder_t *decoder);

/* The reply that is under way goes to nowhere from now on (its command was given up).
 * The sink, if any, gets on_reset. */
void shoal__decoder_discard_current(shoal__decoder_t *decoder);

/* Begin anew for another connection: every byte, frame and error is forgotten;
 * limits, hooks and memory stay.  A sink with a frame under way gets on_reset.
 * 0 or SHOAL_ENOMEM. */
int shoal__decoder_reset(shoal__decoder_t *decoder);

/* The hooks are called with this owner from now on.  Not from a hook. */
void shoal__decoder_set_owner(shoal__decoder_t *decoder, void *owner);

/* Give memory back, if no frame is under way; the next bytes take memory again. */
void shoal__decoder_rest(shoal__decoder_t *decoder);

#endif
