/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_INTO_H
#define SHOAL_PYTHON_INTO_H

/*
 * A large string goes straight into memory of Python's.
 *
 * Guarantee: after shoalpy_into_detach() nobody writes to that memory any more, even if
 * the command is still under way.  The structure itself must live until the command's
 * result.
 */

#include <shoal/reply.h>
#include <stddef.h>
#include <stdint.h>

typedef struct shoalpy_into shoalpy_into_t;

/* NULL: no memory. */
shoalpy_into_t *shoalpy_into_new(char *data, size_t capacity);
/* NULL is allowed. */
void shoalpy_into_free(shoalpy_into_t *into);

/* Any thread; waits while a chunk is being copied. */
void shoalpy_into_detach(shoalpy_into_t *into);

/* The bytes of the string that came; below 0: none has come as a whole.  If they are more
 * than the capacity, the memory was left alone. */
int64_t shoalpy_into_bytes(shoalpy_into_t *into);

/* Its data is a shoalpy_into_t. */
extern const shoal_chunk_sink_t shoalpy_into_sink;

#endif
