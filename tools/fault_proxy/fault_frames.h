/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAULT_FRAMES_H
#define SHOAL_TOOLS_FAULT_FRAMES_H

/*
 * Finds where the replies in a stream of RESP2 or RESP3 end, however it is split.  A
 * reply is a top-level frame, pushes included, with the attributes before it.  Only
 * lengths are looked at.  What is no RESP makes it give up for good.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fault_frames_state {
    FAULT_FRAMES_TYPE,   /* the next byte is a type */
    FAULT_FRAMES_LENGTH, /* within the number that follows it */
    FAULT_FRAMES_LINE,   /* within text up to the end of the line */
    FAULT_FRAMES_BLOB,   /* within bytes that were counted */
    FAULT_FRAMES_LOST    /* given up */
} fault_frames_state_t;

typedef struct fault_frames {
    fault_frames_state_t state;
    char type;
    bool is_null;      /* the number is negative */
    bool has_digit;    /* the number is one */
    uint64_t number;   /* so far */
    uint64_t skip;     /* bytes of the blob and its CRLF to come */
    uint64_t children; /* values to come until the reply is whole; 0: between two */
} fault_frames_t;

/* Look at bytes up to the end of a reply.  Returns how many that are. */
size_t fault_frames_feed(fault_frames_t *frames, const char *data, size_t bytes,
                         bool *ret_is_whole);
/* Is the next byte the first of a reply? */
bool fault_frames_is_between(const fault_frames_t *frames);

#endif
