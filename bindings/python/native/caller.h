/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_CALLER_H
#define SHOAL_PYTHON_CALLER_H

/*
 * One thread's blocking calls.  They come back every now and then without a result, so
 * that the interpreter can look at its signals.
 *
 * A call returns
 *   below 0      SHOAL_EAGAIN: no result yet, come back with shoalpy_caller_resume() or
 *                shoalpy_caller_give_up(); else refused, there is none
 *   otherwise    the kind of the result (shoalpy_kind) and 8 times the bytes of its
 *                stream, which stands at `data` until the next call
 */

#include "core.h"
#include "into.h"
#include "requests.h"
#include "results.h"
#include "target.h"
#include "turnstile.h"
#include <shoal/pending.h>

typedef struct shoalpy_collection shoalpy_collection_t;

typedef struct shoalpy_caller {
    const char *data;     /* the last call's stream */
    size_t refused_at;    /* SHOAL_EINVAL: which command */
    uint64_t first;       /* number of the first of many commands */
    shoal_error_t error;  /* why the last call was refused */
    shoalpy_core_t *core; /* with a call under way; else NULL */
    shoalpy_requests_t requests;
    shoalpy_stream_t stream;
    shoalpy_writer_t writer;
    shoal_pending_t *pending;         /* one command is under way */
    shoalpy_collection_t *collection; /* many are */
    shoalpy_results_t results;        /* of many */
} shoalpy_caller_t;

/* Threads whose calls are over take the GIL in turn from now on.  Before the first call;
 * and in the child of a fork; once more in the same process it does nothing, because
 * threads may wait for their turns.  0 or SHOAL_ESYSTEM. */
int shoalpy_callers_init(void);
/* So many turns came to their ends since. */
unsigned shoalpy_callers_turns(void);

/* NULL: no memory. */
shoalpy_caller_t *shoalpy_caller_new(void);
/* Not with a call under way.  NULL is allowed. */
void shoalpy_caller_free(shoalpy_caller_t *caller);

/* For a packer, which fills it for the next call. */
shoalpy_requests_t *shoalpy_caller_requests(shoalpy_caller_t *caller);

/* One command, given as a pickled tuple, or without a stream the one that a packer has put;
 * the stream of the result is the value or the tuple of its kind.  `target`: where it goes;
 * NULL: the command itself says it.  `into`: where a large string goes; NULL unless
 * reply_flags has SHOALPY_INTO. */
int64_t shoalpy_caller_call(shoalpy_caller_t *caller, shoalpy_core_t *core,
                            const char *stream, size_t bytes, uint32_t call_flags,
                            uint64_t timeout_us, unsigned reply_flags,
                            const shoalpy_target_t *target, shoalpy_into_t *into);
/* Many, given as a pickled list of tuples, or as above; the stream is that of
 * shoalpy_results_t, the kind is SHOALPY_PLAIN. */
int64_t shoalpy_caller_call_many(shoalpy_caller_t *caller, shoalpy_core_t *core,
                                 const char *stream, size_t bytes, uint32_t call_flags,
                                 uint64_t timeout_us, unsigned reply_flags,
                                 const shoalpy_target_t *target);

/* Arguments of the next call that are not in its stream; see shoalpy_requests_lend().
 * They must stay as they are until that call has ended. */
int shoalpy_caller_lend(shoalpy_caller_t *caller, const shoalpy_buffer_t *buffers,
                        size_t count);

int64_t shoalpy_caller_resume(shoalpy_caller_t *caller);
/* Cancel what is under way, and wait for what became of it. */
int64_t shoalpy_caller_give_up(shoalpy_caller_t *caller);

#endif
