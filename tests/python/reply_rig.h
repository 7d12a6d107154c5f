/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PYTHON_REPLY_RIG_H
#define TESTS_PYTHON_REPLY_RIG_H

/* From RESP to replies, by the library's decoder, and from a pickle stream to text. */

#include "stream.h"
#include <shoal/reply.h>
#include <stddef.h>

#define REPLIES_MAX 16

typedef struct reply_rig {
    const shoal_reply_t *replies[REPLIES_MAX]; /* retained */
    size_t count;
} reply_rig_t;

/* What the wire says; `rig` is empty at first. */
void rig_decode(reply_rig_t *rig, const char *wire, size_t bytes);
void rig_release(reply_rig_t *rig);
/* The stream is ended, and is this value. */
void rig_check(shoalpy_stream_t *stream, const char *expected);

#endif
