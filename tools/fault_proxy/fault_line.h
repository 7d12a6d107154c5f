/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAULT_LINE_H
#define SHOAL_TOOLS_FAULT_LINE_H

/*
 * The bytes of one way of one connection that a proxy holds, in their order, and when
 * they are due.  No I/O and no clock.  Running out of memory ends the process.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULT_NEVER_NS UINT64_MAX

typedef struct fault_piece {
    uint64_t due_ns;
    size_t bytes;
} fault_piece_t;

/* Two rings; positions only grow, and the place of one is position modulo capacity. */
typedef struct fault_line {
    char *bytes;
    size_t capacity;   /* a power of two; 0 before the first byte */
    uint64_t taken;    /* up to here they have left */
    uint64_t released; /* up to here they may leave */
    uint64_t added;

    fault_piece_t *pieces; /* of what is not released */
    size_t pieces_capacity;
    uint64_t first;
    uint64_t last; /* behind the last one */

    uint64_t end_ns; /* when the end of the stream is due */
    bool is_ended;   /* it is */
} fault_line_t;

void fault_line_init(fault_line_t *line);
void fault_line_release_memory(fault_line_t *line);

/* How many bytes it holds, due or not. */
size_t fault_line_held(const fault_line_t *line);

/* Where the next bytes may be written to, and how many have room there if the line holds
 * `bound` at most.  None: NULL. */
char *fault_line_room(fault_line_t *line, size_t bound, size_t *ret_bytes);
/* So many bytes stand there now. */
void fault_line_add(fault_line_t *line, size_t bytes, uint64_t due_ns);
/* Add a copy, beyond any bound.  `due_ns` never goes back. */
void fault_line_append(fault_line_t *line, const char *data, size_t bytes,
                       uint64_t due_ns);
/* Nothing is added behind this. */
void fault_line_end(fault_line_t *line, uint64_t due_ns);

/* When something is due next, the end included; FAULT_NEVER_NS: nothing waits. */
uint64_t fault_line_due_ns(const fault_line_t *line);
/* Let everything leave that is due. */
void fault_line_release(fault_line_t *line, uint64_t now_ns);

/* Those that may leave and stand together; none: NULL. */
const char *fault_line_ready(const fault_line_t *line, size_t *ret_bytes);
void fault_line_take(fault_line_t *line, size_t bytes);
/* Everything has left, and the end is due. */
bool fault_line_is_over(const fault_line_t *line);

#endif
