/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_RESULTS_H
#define SHOAL_PYTHON_RESULTS_H

/*
 * Many results as one pickled list, for one pickle.loads():
 *
 *     [number, what, number, what, ...]
 *
 * `what` is a list of replies that need no help, of the commands `number`, `number` + 1,
 * ...; or a tuple on the one command `number`: see shoalpy_kind.  Numbers are tickets
 * without the bit that tells which thread submitted.
 */

#include "replies.h"
#include "stream.h"
#include <shoal/result.h>

enum shoalpy_kind {
    SHOALPY_PLAIN = 0,  /* a reply that needs no help */
    SHOALPY_HELP = 1,   /* (1, reply) */
    SHOALPY_ERROR = 2,  /* (2, text of an error reply, as bytes) */
    SHOALPY_FAILURE = 3 /* (3, status, fate, detail as bytes, attempts) */
};

typedef struct shoalpy_results {
    shoalpy_stream_t stream;
    shoalpy_walk_t walk;
    uint64_t next; /* number that continues the list of replies */
    bool is_begun; /* there are results */
    bool in_list;
} shoalpy_results_t;

/* Zeroed memory is an empty one. */
void shoalpy_results_release(shoalpy_results_t *results);

/* Forget the results, begin anew. */
void shoalpy_results_clear(shoalpy_results_t *results);
void shoalpy_results_add(shoalpy_results_t *results, const shoal_result_t *result,
                         unsigned reply_flags);
/* The stream is complete; what was added is in it.  Its length, 0 if there is nothing, or
 * SHOAL_ENOMEM: the results are lost. */
int64_t shoalpy_results_end(shoalpy_results_t *results);

/* One result by itself, without its number: a whole stream of the value.  Its kind. */
enum shoalpy_kind shoalpy_result_write(const shoal_result_t *result,
                                       unsigned reply_flags, shoalpy_walk_t *walk,
                                       shoalpy_stream_t *stream);

/* The number of a ticket. */
uint64_t shoalpy_number(uint64_t ticket);

#endif
