/* SPDX-License-Identifier: MIT */
#include "base/buffer.h"

#include "base/alloc.h"
#include <shoal/errors.h>
#include <stdint.h>
#include <string.h>

#define CAPACITY_MIN 512

void shoal__buffer_init(shoal__buffer_t *buffer)
{
    *buffer = (shoal__buffer_t){0};
}

void shoal__buffer_release(shoal__buffer_t *buffer)
{
    shoal__free(buffer->memory);
    shoal__buffer_init(buffer);
}

/* Twice what is live, at least: then each byte is copied a bounded number of times. */
static char *grow(shoal__buffer_t *buffer, size_t live_bytes, size_t bytes)
{
    size_t capacity = buffer->capacity < CAPACITY_MIN ? CAPACITY_MIN : buffer->capacity;

    while (capacity - live_bytes < bytes || capacity / 2 < live_bytes)
        capacity *= 2;

    char *memory = shoal__malloc(capacity);
    if (!memory)
        return NULL;
    if (live_bytes > 0)
        memcpy(memory, shoal__buffer_data(buffer), live_bytes);
    shoal__free(buffer->memory);
    *buffer =
        (shoal__buffer_t){.memory = memory, .tail = live_bytes, .capacity = capacity};
    return memory + live_bytes;
}

char *shoal__buffer_reserve_slowly(shoal__buffer_t *buffer, size_t bytes)
{
    size_t live_bytes = shoal__buffer_bytes(buffer);

    if (buffer->memory && buffer->capacity - buffer->tail >= bytes)
        return buffer->memory + buffer->tail;
    if (bytes > SIZE_MAX / 8 || live_bytes > SIZE_MAX / 8)
        return NULL;

    /* In a buffer that is more than half full, moving would give little room, and would
     * soon be due again. */
    if (!buffer->memory || live_bytes > buffer->capacity / 2 ||
        buffer->capacity - live_bytes < bytes)
        return grow(buffer, live_bytes, bytes);

    memmove(buffer->memory, shoal__buffer_data(buffer), live_bytes);
    buffer->head = 0;
    buffer->tail = live_bytes;
    return buffer->memory + live_bytes;
}

int shoal__buffer_append(shoal__buffer_t *buffer, const void *data, size_t bytes)
{
    if (bytes == 0)
        return 0;

    char *at = shoal__buffer_reserve(buffer, bytes);
    if (!at)
        return SHOAL_ENOMEM;
    memcpy(at, data, bytes);
    shoal__buffer_commit(buffer, bytes);
    return 0;
}

void shoal__buffer_clear(shoal__buffer_t *buffer)
{
    buffer->head = buffer->tail = 0;
}

void shoal__buffer_shrink(shoal__buffer_t *buffer, size_t keep_bytes)
{
    if (shoal__buffer_bytes(buffer) == 0 && buffer->capacity > keep_bytes)
        shoal__buffer_release(buffer);
}
