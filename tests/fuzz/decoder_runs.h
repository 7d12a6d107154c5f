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
    DECODER_CHUNKS, /* large strings go to a chunk sink; all other replies are trees */
    DECODER_NOWHERE
} decoder_way_t;

typedef struct decoder_input {
    const shoal__decoder_limits_t *limits;
    uint32_t splits;
    const char *wire;
    size_t bytes;
} decoder_input_t;

/* False if the data is too short for the first bytes. */
bool decoder_input_read(decoder_input_t *ret_input, const uint8_t *data, size_t bytes);

/* The size of the next piece in bytes.  The low byte of `splits` bounds all sizes; the
 * other bytes choose each one. */
size_t decoder_next_piece(uint32_t *splits);

/* Decode the stream: in one piece, or split as the input says.  Aborts if the decoder
 * takes too much memory, calls a sink in a wrong order, or changes a reply that was
 * kept. */
void decoder_run(transcript_t *transcript, const decoder_input_t *input,
                 decoder_way_t way, bool is_split);

#endif
