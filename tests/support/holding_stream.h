/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SUPPORT_HOLDING_STREAM_H
#define SHOAL_TESTS_SUPPORT_HOLDING_STREAM_H

/* A kind of stream over a socket that holds back what it has read, as decrypted records are
 * held, has errors of its own, and takes little at once. */

#include "net/stream.h"
#include <stdbool.h>
#include <stddef.h>

#define HOLDING_PIECE_BYTES 7   /* of a read, at most */
#define HOLDING_WRITE_BYTES 5   /* of a write to a stream that is full */
#define HOLDING_BAD_RECORD 4711 /* an error of its own: no errno */

/* What the streams do from now on. */
typedef struct holding_habits {
    bool
        is_spurious; /* every other time that the loop tells, there is nothing to read */
    bool is_full;    /* every other write is refused; the others take little */
    int open_error, connect_error, read_error, write_error; /* 0: none */
} holding_habits_t;

/* What happened to all of them. */
typedef struct holding_sights {
    unsigned told; /* by the loop: something is readable */
    unsigned records, pieces, empty_reads, refused_writes, writables, streams_now;
} holding_sights_t;

extern holding_habits_t holding_habits;
extern holding_sights_t holding_sights;

extern const shoal__stream_kind_t stream_holding;

/* Bytes that it has read and not given out. */
size_t stream_holding_bytes(const shoal__stream_t *stream);

#endif
