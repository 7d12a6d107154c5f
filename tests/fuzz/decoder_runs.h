/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_DECODER_RUNS_H
#define TESTS_FUZZ_DECODER_RUNS_H

/*
 * The decoder of src/resp on an input of its fuzz target, and what its owner and sinks
 * heard, in the words of decoder_reference.h.
 *
 * The input's first bytes are the limits (an index into decoder_limits) and a number that
 * chooses the splits; the rest is the stream.
 */

#include "decoder_reference.h"
#include <stdint.h>

#define DECODER_HEADER_BYTES 4
#define DECODER_LIMITS 4

extern const shoal__decoder_limits_t decoder_limits[DECODER_LIMITS];

typedef enum decoder_way {
    DECODER_TREE,
    DECODER_SINK,
    DECODER_CHUNKS, /* large strings; all others as trees */
    DECODER_NOWHERE
} decoder_way_t;

typedef struct decoder_input {
    const shoal__decoder_limits_t *limits;
    uint32_t splits;
    const char *wire;
    size_t bytes;
} decoder_input_t;

/* False if there is not even a header. */
bool decoder_input_read(decoder_input_t *ret_input, const uint8_t *data, size_t bytes);

/* The bytes of the next piece.  The low byte of `splits` bounds them all; the others make
 * them differ. */
size_t decoder_next_piece(uint32_t *splits);

/* Decode the stream: in one piece, or split as the input says.  Aborts if a guarantee
 * of a single run is broken: the bound of memory, the order of a sink's calls, a kept
 * reply that changes. */
void decoder_run(transcript_t *transcript, const decoder_input_t *input,
                 decoder_way_t way, bool is_split);

#endif
