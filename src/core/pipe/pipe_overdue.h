/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PIPE_OVERDUE_H
#define SHOAL_CORE_PIPE_OVERDUE_H

/* What a pipe says of a command whose deadline passed, and of one that shall not wait for a
 * connection. */

#include "core/overdue.h"
#include "core/pipe/pipe.h"

/* The text of one deadline, which the next ones share if it would be the same. */
typedef struct shoal__overdue_words {
    bool is_written;
    bool is_unread; /* when the walk began, the socket took no more */
    uint64_t at;    /* a request that the walk has come to ... */
    size_t offset;  /* ... and where its bytes begin in the log */
    shoal__overdue_t facts;
    char text[SHOAL__OVERDUE_BYTES];
} shoal__overdue_words_t;

/* A walk over the commands begins. */
void shoal__pipe_overdue_begin(const shoal__pipe_t *pipe,
                               shoal__overdue_words_t *words);
/* Why the deadline passed of the request at `at`.  The text lives in `words`. */
const char *shoal__pipe_overdue(const shoal__pipe_t *pipe, uint64_t at,
                                shoal__progress_t progress,
                                shoal__overdue_words_t *words);
/* Why there is no connection. */
const char *shoal__pipe_offline(const shoal__pipe_t *pipe,
                                shoal__overdue_words_t *words);

#endif
