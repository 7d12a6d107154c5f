/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_DELAY_LINE_H
#define SHOAL_BENCH_DELAY_LINE_H

/*
 * Bytes that are held for a while, without I/O or a clock.  A line holds those of one
 * direction of one connection, in their order; the queue knows when the next ones of
 * any line are due.  All are held equally long, so the queue is first in, first out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DELAY_LINE_BYTES_MIN 16384u
#define DELAY_LINE_BYTES_MAX 67108864u

/* A ring; positions only grow, and the place of one is position modulo capacity. */
typedef struct delay_line {
    char *bytes;
    size_t capacity;     /* a power of two; 0 before the first byte */
    size_t capacity_max; /* a power of two */
    uint64_t taken;      /* up to here they have left */
    uint64_t released;   /* up to here they may leave */
    uint64_t added;
} delay_line_t;

void delay_line_init(delay_line_t *line, size_t capacity_max);
void delay_line_free(delay_line_t *line);

/* Where the next bytes go, and how many have room there; none when the line is full.
 * Returns NULL with no room when memory ran out, too. */
char *delay_line_room(delay_line_t *line, size_t *ret_bytes);
void delay_line_add(delay_line_t *line, size_t bytes);

/* Lets the `bytes` oldest of those that are held leave. */
void delay_line_release(delay_line_t *line, size_t bytes);

/* Those that may leave and stand together; none: NULL. */
const char *delay_line_ready(const delay_line_t *line, size_t *ret_bytes);
void delay_line_take(delay_line_t *line, size_t bytes);

/* When bytes of a line are due; `bytes` 0 stands for the end of the line's stream. */
typedef struct delay_entry {
    uint64_t due_ns;
    void *owner;
    size_t bytes;
} delay_entry_t;

typedef struct delay_queue {
    delay_entry_t *entries;
    size_t capacity; /* a power of two, or 0 */
    uint64_t first;
    uint64_t last; /* behind the last one */
} delay_queue_t;

void delay_queue_free(delay_queue_t *queue);

/* `due_ns` is not below that of the former entry.  Returns -1 if memory ran out. */
int delay_queue_add(delay_queue_t *queue, uint64_t due_ns, void *owner, size_t bytes);

/* The next entry, or NULL. */
const delay_entry_t *delay_queue_first(const delay_queue_t *queue);
void delay_queue_drop(delay_queue_t *queue);

#endif
