/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_STREAM_H
#define SHOAL_PYTHON_STREAM_H

/* A pickle stream that is being written: plain values in, bytes for pickle.loads() out.
 *
 * Guarantee: once memory runs out the stream is broken: it takes no more, and says so
 * at its end.  Until then nothing has to be checked. */

#include "opcodes.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct shoalpy_stream {
    char *data;
    size_t bytes, capacity;
    bool is_broken; /* memory ran out */
} shoalpy_stream_t;

/* Zeroed memory is an empty one. */
void shoalpy_stream_release(shoalpy_stream_t *stream);

/* More memory than that is not kept for the next stream. */
#define SHOALPY_STREAM_KEPT ((size_t)4 << 20)

/* Begin anew.  The memory of a large reply is given back. */
void shoalpy_stream_begin(shoalpy_stream_t *stream);
/* The stream is complete: false if memory ran out. */
bool shoalpy_stream_end(shoalpy_stream_t *stream);

/* Bytes of another stream. */
void shoalpy_stream_raw(shoalpy_stream_t *stream, const char *data, size_t bytes);
void shoalpy_stream_opcode(shoalpy_stream_t *stream, unsigned char opcode);
void shoalpy_stream_integer(shoalpy_stream_t *stream, int64_t value);
void shoalpy_stream_float(shoalpy_stream_t *stream, double value);
void shoalpy_stream_bytes(shoalpy_stream_t *stream, const char *data, size_t bytes);
void shoalpy_stream_bytearray(shoalpy_stream_t *stream, const char *data, size_t bytes);
/* A str; the data must be UTF-8, see shoalpy_is_text(). */
void shoalpy_stream_text(shoalpy_stream_t *stream, const char *data, size_t bytes);

/* Like memcpy(), without a call for 8 to 16 bytes.  Otherwise it is a call on purpose: what
 * compilers put in place of memcpy() for short strings is slow. */
static inline void shoalpy_copy_short(char *to, const char *from, size_t bytes)
{
    if (bytes < 8 || bytes > 16) {
        memmove(to, from, bytes);
        return;
    }
    memcpy(to, from, 8); /* both pieces may have the bytes in the middle */
    memcpy(to + bytes - 8, from + bytes - 8, 8);
}

/* The same as _bytes: most strings are short, and most streams have room for them. */
static inline void shoalpy_stream_short_bytes(shoalpy_stream_t *stream,
                                              const char *data, size_t bytes)
{
    char *at;

    if (bytes > UINT8_MAX || stream->capacity - stream->bytes < bytes + 2 ||
        stream->is_broken) {
        shoalpy_stream_bytes(stream, data, bytes);
        return;
    }
    at = stream->data + stream->bytes;
    at[0] = OP_SHORT_BINBYTES;
    at[1] = (char)bytes;
    shoalpy_copy_short(at + 2, data, bytes);
    stream->bytes += bytes + 2;
}

/* Is it UTF-8, as Python decodes it? */
bool shoalpy_is_text(const char *data, size_t bytes);

#endif
