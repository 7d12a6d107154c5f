/* SPDX-License-Identifier: MIT */
#include "delay_line.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES_MIN 256u

void delay_line_init(delay_line_t *line, size_t capacity_max)
{
    *line = (delay_line_t){.capacity_max = capacity_max};
}

void delay_line_free(delay_line_t *line)
{
    free(line->bytes);
    *line = (delay_line_t){0};
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Bytes from `position` to the end of the ring. */
static size_t until_end(const delay_line_t *line, uint64_t position)
{
    return line->capacity - (size_t)(position & (line->capacity - 1));
}

static char *place(const delay_line_t *line, uint64_t position)
{
    return line->bytes + (position & (line->capacity - 1));
}

/* Doubles the ring; its bytes then stand at its begin. */
static bool grow(delay_line_t *line)
{
    size_t capacity = line->capacity == 0
                          ? min(DELAY_LINE_BYTES_MIN, line->capacity_max)
                          : line->capacity * 2;
    size_t held = (size_t)(line->added - line->taken);
    char *bytes = malloc(capacity);
    if (!bytes)
        return false;

    if (held > 0) {
        size_t first = min(held, until_end(line, line->taken));
        memcpy(bytes, place(line, line->taken), first);
        memcpy(bytes + first, line->bytes, held - first);
    }
    free(line->bytes);
    line->bytes = bytes;
    line->capacity = capacity;
    line->released -= line->taken;
    line->taken = 0;
    line->added = held;
    return true;
}

char *delay_line_room(delay_line_t *line, size_t *ret_bytes)
{
    size_t held = (size_t)(line->added - line->taken);
    bool is_tight = held * 2 >= line->capacity;

    *ret_bytes = 0;
    if (is_tight && line->capacity < line->capacity_max && !grow(line) &&
        line->capacity == 0)
        return NULL;
    if (held == line->capacity)
        return NULL;
    *ret_bytes = min(line->capacity - held, until_end(line, line->added));
    return place(line, line->added);
}

void delay_line_add(delay_line_t *line, size_t bytes)
{
    line->added += bytes;
}

void delay_line_release(delay_line_t *line, size_t bytes)
{
    line->released += bytes;
}

const char *delay_line_ready(const delay_line_t *line, size_t *ret_bytes)
{
    size_t ready = (size_t)(line->released - line->taken);

    *ret_bytes = 0;
    if (ready == 0)
        return NULL;
    *ret_bytes = min(ready, until_end(line, line->taken));
    return place(line, line->taken);
}

void delay_line_take(delay_line_t *line, size_t bytes)
{
    line->taken += bytes;
}

void delay_queue_free(delay_queue_t *queue)
{
    free(queue->entries);
    *queue = (delay_queue_t){0};
}

static bool grow_queue(delay_queue_t *queue)
{
    size_t capacity = queue->capacity == 0 ? ENTRIES_MIN : queue->capacity * 2;
    size_t count = (size_t)(queue->last - queue->first);
    delay_entry_t *entries = malloc(capacity * sizeof *entries);
    if (!entries)
        return false;

    for (size_t i = 0; i < count; i++)
        entries[i] = queue->entries[(queue->first + i) & (queue->capacity - 1)];
    free(queue->entries);
    *queue = (delay_queue_t){.entries = entries, .capacity = capacity, .last = count};
    return true;
}

int delay_queue_add(delay_queue_t *queue, uint64_t due_ns, void *owner, size_t bytes)
{
    if (queue->last - queue->first == queue->capacity && !grow_queue(queue))
        return -1;
    queue->entries[queue->last++ & (queue->capacity - 1)] =
        (delay_entry_t){due_ns, owner, bytes};
    return 0;
}

const delay_entry_t *delay_queue_first(const delay_queue_t *queue)
{
    if (queue->first == queue->last)
        return NULL;
    return &queue->entries[queue->first & (queue->capacity - 1)];
}

void delay_queue_drop(delay_queue_t *queue)
{
    queue->first++;
}
