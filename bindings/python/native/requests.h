/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_REQUESTS_H
#define SHOAL_PYTHON_REQUESTS_H

/*
 * Commands from Python: a pickled tuple of arguments, or a pickled list of such tuples,
 * becomes an array of commands.  Strings are not copied; large ones need not be in the
 * stream at all.  Knows no client and no interpreter.
 *
 * Guarantee: accepts bytes, bytearray, str, int of 64 bits and float, which is what the
 * server can be sent without a doubt, and nothing else; str must be UTF-8 without
 * surrogates.  Any bytes may come in.
 */

#include <shoal/command.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct shoalpy_block shoalpy_block_t;

/* An argument that is not in the stream. */
typedef struct shoalpy_buffer {
    const char *data;
    size_t bytes;
} shoalpy_buffer_t;

typedef struct shoalpy_requests {
    shoal_command_t *commands; /* into argv and argvlen; strings into the stream */
    size_t count, commands_capacity;
    const char **argv;
    size_t *argvlen;
    size_t arguments, arguments_capacity;
    shoalpy_block_t *numbers;  /* as text */
    bool has_large;            /* an argument of SHOAL_REFERENCE_BYTES_MIN or more */
    shoalpy_buffer_t *buffers; /* of the next stream, or of this one */
    size_t buffers_count, buffers_taken;
} shoalpy_requests_t;

/* Zeroed memory is an empty one. */
void shoalpy_requests_release(shoalpy_requests_t *requests);

/* The buffers that the next stream asks for by OP_NEXT_BUFFER, in order.  They must
 * outlive its commands.  0 or SHOAL_ENOMEM. */
int shoalpy_requests_lend(shoalpy_requests_t *requests, const shoalpy_buffer_t *buffers,
                          size_t count);

/* Instead of a stream: begin, then the arguments of each command and its end, then finish.
 * Strings are not copied, and must outlive the commands.  0; SHOAL_EINVAL: a command
 * without arguments; SHOAL_ENOMEM. */
void shoalpy_requests_begin(shoalpy_requests_t *requests);
int shoalpy_requests_add(shoalpy_requests_t *requests, const char *data, size_t bytes);
int shoalpy_requests_add_integer(shoalpy_requests_t *requests, int64_t value);
int shoalpy_requests_add_float(shoalpy_requests_t *requests, double value);
int shoalpy_requests_end_command(shoalpy_requests_t *requests, size_t arguments);
void shoalpy_requests_finish(shoalpy_requests_t *requests);

/* Read a whole stream, which must outlive the commands.  0; SHOAL_EINVAL: command number
 * `count` is not acceptable; SHOAL_ENOMEM. */
int shoalpy_requests_read(shoalpy_requests_t *requests, const char *stream,
                          size_t bytes);

#endif
