/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_BUFFER_H
#define SHOAL_BASE_BUFFER_H

/*
 * Growable bytes, appended at the end and consumed at the front, always contiguous.
 * Consuming moves a cursor; the bytes are moved to the front only when room runs out
 * at the end, so that a buffer in steady state neither allocates nor copies much.
 *
 * Guarantee: a failed reservation changes nothing.
 */

#include <stddef.h>

typedef struct shoal__buffer {
    char *memory;
    size_t head;     /* first live byte */
    size_t tail;     /* one past the last live byte */
    size_t capacity; /* of memory, in bytes */
} shoal__buffer_t;

/* No allocation happens before the first reservation. */
void shoal__buffer_init(shoal__buffer_t *buffer);
void shoal__buffer_release(shoal__buffer_t *buffer);

/* Make room for `bytes` more.  Returns where they go, or NULL if memory ran out.
 * Existing pointers into the buffer die. */
char *shoal__buffer_reserve_slowly(shoal__buffer_t *buffer, size_t bytes);
static inline char *shoal__buffer_reserve(shoal__buffer_t *buffer, size_t bytes)
{
    if (buffer->memory && bytes <= buffer->capacity - buffer->tail)
        return buffer->memory + buffer->tail;
    return shoal__buffer_reserve_slowly(buffer, bytes);
}

/* `bytes` of what was reserved were written. */
static inline void shoal__buffer_commit(shoal__buffer_t *buffer, size_t bytes)
{
    buffer->tail += bytes;
}

/* Reserve, copy, commit.  0 or SHOAL_ENOMEM. */
int shoal__buffer_append(shoal__buffer_t *buffer, const void *data, size_t bytes);

static inline size_t shoal__buffer_bytes(const shoal__buffer_t *buffer)
{
    return buffer->tail - buffer->head;
}

static inline char *shoal__buffer_data(const shoal__buffer_t *buffer)
{
    return buffer->head == 0 ? buffer->memory : buffer->memory + buffer->head;
}

/* Drop `bytes` from the front. */
static inline void shoal__buffer_consume(shoal__buffer_t *buffer, size_t bytes)
{
    buffer->head += bytes;
    if (buffer->head == buffer->tail)
        buffer->head = buffer->tail = 0;
}

/* Drop everything; memory stays. */
void shoal__buffer_clear(shoal__buffer_t *buffer);

/* If the buffer is empty and holds more than `keep_bytes`, give the memory back. */
void shoal__buffer_shrink(shoal__buffer_t *buffer, size_t keep_bytes);

#endif
