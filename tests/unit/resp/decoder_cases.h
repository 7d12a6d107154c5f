/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_RESP_DECODER_CASES_H
#define TESTS_UNIT_RESP_DECODER_CASES_H

/* What a server may send, and what it may not, as tables. */

#include <stdbool.h>
#include <stddef.h>

#define WIRE(text) text, sizeof text - 1

typedef struct stream {
    const char *name, *wire;
    size_t wire_bytes;
    const char *heard; /* of the whole frames */
} stream_t;
extern const stream_t streams[];
extern const size_t streams_count;

struct refused_case {
    const char *name, *wire;
    size_t wire_bytes;
    const char *heard;
    bool is_mid_reply; /* had the reply begun? */
};
extern const struct refused_case refused_cases[];
extern const size_t refused_cases_count;

/* Much announced or much memory for few bytes; none of them is a whole reply. */
struct greedy_case {
    const char *name, *head, *body;
    size_t count;
};
extern const struct greedy_case greedy_cases[];
extern const size_t greedy_cases_count;

#endif
