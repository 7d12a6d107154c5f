/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fault_line.h"

#include "fault_proxy/fake_bytes.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_MIN 16384u
#define PIECES_MIN 16u

void fault_line_init(fault_line_t *line)
{
    *line = (fault_line_t){.end_ns = FAULT_NEVER_NS};
}

void fault_line_release_memory(fault_line_t *line)
{
    free(line->bytes);
    free(line->pieces);
    fault_line_init(line);
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Bytes from `position` to the end of the ring. */
static size_t until_end(const fault_line_t *line, uint64_t position)
{
    return line->capacity - (size_t)(position & (line->capacity - 1));
}

static char *place(const fault_line_t *line, uint64_t position)
{
    return line->bytes + (position & (line->capacity - 1));
}

/* Doubles the ring; its bytes then stand at its begin. */
static void grow(fault_line_t *line)
{
    size_t capacity = line->capacity == 0 ? BYTES_MIN : line->capacity * 2;
    size_t held = fault_line_held(line);
    char *bytes = fake_must(malloc(capacity));

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
}

static void grow_pieces(fault_line_t *line)
{
    size_t capacity =
        line->pieces_capacity == 0 ? PIECES_MIN : line->pieces_capacity * 2;
    size_t count = (size_t)(line->last - line->first);
    fault_piece_t *pieces = fake_must(malloc(capacity * sizeof *pieces));

    for (size_t i = 0; i < count; i++)
        pieces[i] = line->pieces[(line->first + i) & (line->pieces_capacity - 1)];
    free(line->pieces);
    line->pieces = pieces;
    line->pieces_capacity = capacity;
    line->first = 0;
    line->last = count;
}

static fault_piece_t *piece_at(const fault_line_t *line, uint64_t number)
{
    return &line->pieces[number & (line->pieces_capacity - 1)];
}

size_t fault_line_held(const fault_line_t *line)
{
    return (size_t)(line->added - line->taken);
}

char *fault_line_room(fault_line_t *line, size_t bound, size_t *ret_bytes)
{
    size_t held = fault_line_held(line);

    *ret_bytes = 0;
    if (held >= bound)
        return NULL;
    /* Before it is full: reads should not become small. */
    if (held * 2 >= line->capacity && line->capacity < bound)
        grow(line);
    if (held == line->capacity)
        grow(line);
    *ret_bytes =
        min(min(line->capacity - held, bound - held), until_end(line, line->added));
    return place(line, line->added);
}

void fault_line_add(fault_line_t *line, size_t bytes, uint64_t due_ns)
{
    if (bytes == 0)
        return;
    line->added += bytes;
    if (line->last > line->first && piece_at(line, line->last - 1)->due_ns == due_ns) {
        piece_at(line, line->last - 1)->bytes += bytes;
        return;
    }
    if (line->last - line->first == line->pieces_capacity)
        grow_pieces(line);
    *piece_at(line, line->last++) = (fault_piece_t){due_ns, bytes};
}

void fault_line_append(fault_line_t *line, const char *data, size_t bytes,
                       uint64_t due_ns)
{
    while (line->capacity - fault_line_held(line) < bytes)
        grow(line);
    while (bytes > 0) {
        size_t part = min(bytes, until_end(line, line->added));
        memcpy(place(line, line->added), data, part);
        fault_line_add(line, part, due_ns);
        data += part;
        bytes -= part;
    }
}

void fault_line_end(fault_line_t *line, uint64_t due_ns)
{
    line->end_ns = due_ns;
}

uint64_t fault_line_due_ns(const fault_line_t *line)
{
    if (line->last > line->first)
        return piece_at(line, line->first)->due_ns;
    return line->is_ended ? FAULT_NEVER_NS : line->end_ns;
}

void fault_line_release(fault_line_t *line, uint64_t now_ns)
{
    while (line->last > line->first && piece_at(line, line->first)->due_ns <= now_ns)
        line->released += piece_at(line, line->first++)->bytes;
    if (line->last == line->first && line->end_ns <= now_ns)
        line->is_ended = true;
}

const char *fault_line_ready(const fault_line_t *line, size_t *ret_bytes)
{
    size_t ready = (size_t)(line->released - line->taken);

    *ret_bytes = 0;
    if (ready == 0)
        return NULL;
    *ret_bytes = min(ready, until_end(line, line->taken));
    return place(line, line->taken);
}

void fault_line_take(fault_line_t *line, size_t bytes)
{
    line->taken += bytes;
}

bool fault_line_is_over(const fault_line_t *line)
{
    return line->is_ended && line->taken == line->added;
}
