/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_RESP_TRANSCRIPT_H
#define TESTS_UNIT_RESP_TRANSCRIPT_H

/* Writes down what a sink is told, as a line of text that a test can compare:
 *
 *     [2 $hello %[2 +a :1 ] ] for an array of a string and a map
 */

#include <shoal/reply.h>
#include <stddef.h>

typedef struct transcript {
    char text[1 << 16]; /* NUL-terminated; the rest is cut */
    size_t bytes;
} transcript_t;

void transcript_clear(transcript_t *transcript);
void transcript_add(transcript_t *transcript, const char *data, size_t bytes);
__attribute__((format(printf, 2, 3))) void transcript_print(transcript_t *transcript,
                                                            const char *format, ...);

/* Its data is a transcript_t. */
extern const shoal_sink_t transcript_sink;

#endif
