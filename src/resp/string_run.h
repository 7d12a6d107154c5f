/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_STRING_RUN_H
#define SHOAL_RESP_STRING_RUN_H

/*
 * Strings of an aggregate that stand one behind the other: on their way to a sink past the
 * parser.
 *
 * Guarantee: what is not whole, or not of the plainest form, is left to the parser, so that
 * it alone judges what is wrong.
 */

#include <shoal/reply.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct shoal__string_run {
    const shoal_sink_t *sink;
    void *sink_data;
    char *at;        /* the first byte that was not given yet */
    const char *end; /* of what has arrived; a NUL stands there */
    bool has_type;   /* the byte of the next string's type was read before */
} shoal__string_run_t;

/* Give strings to the sink while they are whole and of the plainest form, count_max at most.
 * The byte behind each text becomes a NUL.  How many strings the sink got. */
size_t shoal__string_run_give(shoal__string_run_t *run, size_t count_max);

#endif
