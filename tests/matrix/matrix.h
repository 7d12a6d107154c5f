/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_MATRIX_MATRIX_H
#define SHOAL_TESTS_MATRIX_MATRIX_H

/*
 * The fault matrix: every fault in every mode of use.  A fault is one function that runs
 * in each mode where the fault can happen; where it cannot, the cell says why.  The
 * program matrix_cells fails if a cell is missing, doubled or has an empty reason.
 *
 * Each cell runs in three ways: plainly, over TLS, and with a client of a cluster.  With TLS
 * what acts on sockets meets what is encrypted; what a scripted server says or leaves out, it
 * does inside.  In a cluster the server is its only node.  A row that cannot run so has
 * NOT_OVER_TLS("why") or NOT_IN_CLUSTER("why").  With sanitizers each fault runs over TLS in
 * one column only; in a cluster it does so unless SHOAL_TEST_SCALE is above 1.
 *
 * To add a fault: a line in MATRIX_FAULTS, and a file f<number>_<fault>.c like this:
 *
 *     #include "matrix/matrix.h"
 *
 *     static void f3(const matrix_mode_t *mode)
 *     {
 *         matrix_t *m = matrix_begin(mode);        the tools are in matrix/rig.h
 *         ...
 *         matrix_end(m);
 *     }
 *
 *     MATRIX_ROW(3){
 *         MATRIX_CELL(RESP3_CALLBACK, f3),
 *         NOT_APPLICABLE(UNITS, "why it cannot happen there"),
 *         ...
 *         MATRIX_ROW_END,
 *     };
 */

#include "matrix/rig.h"
#include <stdbool.h>
#include <stddef.h>

/* Does the library have shoal_options_set_integrity()? */
#define MATRIX_HAS_INTEGRITY 1

/* clang-format off */
#define MATRIX_FAULTS(X)                                                               \
    X(1,  "nothing but random delays, cancels and deadlines, many callers")            \
    X(2,  "writes and reads of one byte")                                              \
    X(3,  "cut after every byte, both ways, by FIN and RST")                           \
    X(4,  "kill -9 of the server, restart")                                            \
    X(5,  "SIGSTOP, SIGCONT")                                                          \
    X(6,  "CLIENT KILL of random connections")                                         \
    X(7,  "CLIENT PAUSE, DEBUG SLEEP, BUSY script")                                    \
    X(8,  "link down, black hole, one direction dropped")                              \
    X(9,  "half-close by server, by client")                                           \
    X(10, "RST in mid-reply, in mid-write, in the greeting")                           \
    X(11, "bytes of replies flipped, lost, inserted")                                  \
    X(12, "replies dropped, repeated, added, swapped")                                 \
    X(13, "replies injected or left out by a real server")                             \
    X(14, "unsolicited bytes, floods, before the first request")                       \
    X(15, "hostile headers")                                                           \
    X(16, "deep but legal replies")                                                    \
    X(17, "pushes at every position")                                                  \
    X(18, "big values both ways through small buffers")                                \
    X(19, "slow link")                                                                 \
    X(20, "error replies that ask for another try")                                    \
    X(21, "credentials refused or changed")                                            \
    X(22, "greeting delayed, refused in part")                                         \
    X(23, "too many clients, accept and close, full backlog")                          \
    X(32, "allocation failure at every point")                                         \
    X(33, "system calls that fail or do less")                                         \
    X(35, "clocks that jump")                                                          \
    X(36, "close from everywhere, twice, with full queues")                            \
    X(37, "fork under load")                                                           \
    X(39, "slow consumer")                                                             \
    X(40, "too little processor and memory")                                           \
    X(41, "CLIENT KILL under leases")                                                  \
    X(42, "CLIENT KILL under the bulk lane")
/* clang-format on */

/* 0 until the first byte of a frame that nobody asked for ends the connection, not the
 * last. */
#define MATRIX_ENDS_HALF_FRAMES 1

/* One cell. */
typedef struct matrix_cell {
    bool is_there;          /* false ends a row */
    matrix_column_t column; /* MATRIX_COLUMN_COUNT + a way: the whole row, that way */
    void (*run)(const matrix_mode_t *mode); /* NULL: cannot happen there ... */
    const char *reason;                     /* ... and this is why */
} matrix_cell_t;

#define MATRIX_CELL(column, function)                                                  \
    {                                                                                  \
        true, MATRIX_##column, function, NULL                                          \
    }
#define NOT_APPLICABLE(column, reason)                                                 \
    {                                                                                  \
        true, MATRIX_##column, NULL, reason                                            \
    }
/* Of the whole row. */
#define MATRIX_NOT_BY(way, reason)                                                     \
    {                                                                                  \
        true, (matrix_column_t)((int)MATRIX_COLUMN_COUNT + (int)(way)), NULL, reason   \
    }
#define NOT_OVER_TLS(reason) MATRIX_NOT_BY(MATRIX_TLS, reason)
#define NOT_IN_CLUSTER(reason) MATRIX_NOT_BY(MATRIX_CLUSTER, reason)
#define MATRIX_ROW_END                                                                 \
    {                                                                                  \
        false, MATRIX_COLUMN_COUNT, NULL, NULL                                         \
    }
/* All columns. */
#define MATRIX_CELLS_EVERYWHERE(function)                                              \
    MATRIX_CELL(RESP3_CALLBACK, function), MATRIX_CELL(RESP3_SYNC, function),          \
        MATRIX_CELL(RESP3_BORROWED, function), MATRIX_CELL(RESP2, function),           \
        MATRIX_CELL(UNITS, function)

/* Defines the row of a fault; its cells follow in braces. */
#define MATRIX_ROW(fault)                                                              \
    extern const matrix_cell_t matrix_row_##fault[];                                   \
    const matrix_cell_t matrix_row_##fault[] =

/* One fault of the list. */
typedef struct matrix_fault {
    unsigned number;
    const char *name;
    const matrix_cell_t *cells; /* NULL: its file is not linked in */
} matrix_fault_t;

extern const matrix_fault_t matrix_faults[];
extern const size_t matrix_faults_count;

/* Why this fault does not run that way; NULL: it does. */
const char *matrix_excuse(const matrix_fault_t *fault, matrix_way_t way);

#endif
