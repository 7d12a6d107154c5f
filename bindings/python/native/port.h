/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_PORT_H
#define SHOAL_PYTHON_PORT_H

/*
 * Where the commands of one event loop go in, and their results come out, in batches.
 *
 * The descriptor is readable when shoalpy_port_pump() has something to do.  Either the
 * event loop drives the connection itself (a borrowed core), and pumping reads and
 * writes; or a thread of the library does, and pumping takes the results that it left.
 * One thread at a time uses a port: the event loop's.
 *
 * Submitting and pumping return
 *   below 0      an error; if submitting returns it, nothing was queued
 *   otherwise    the bytes of the results' stream (shoalpy_results_t) at `data`, which lasts
 *                until the next call; times 2, plus 1 if the port is to be pumped again
 *                without waiting for the descriptor
 */

#include "core.h"
#include "into.h"
#include "requests.h"
#include "results.h"
#include "target.h"

/* What Python reads of a port. */
typedef struct shoalpy_port_view {
    const char *data;
    uint64_t first;      /* number of the first command of the last submission */
    size_t refused_at;   /* SHOAL_EINVAL: which command */
    shoal_error_t error; /* why the last submission was refused */
    int fd;
} shoalpy_port_view_t;

/* 0 or an error; the core must outlive the port.  A borrowed core has one at most. */
int shoalpy_port_new(shoalpy_core_t *core, size_t outstanding_max,
                     shoalpy_port_t **ret_port);
/* Results still due are dropped.  The port of a borrowed core is freed with it, by
 * shoalpy_core_free(): until then results may come. */
void shoalpy_port_free(shoalpy_port_t *port);
const shoalpy_port_view_t *shoalpy_port_view(const shoalpy_port_t *port);

/* For a packer, which fills it for the next submission. */
shoalpy_requests_t *shoalpy_port_requests(shoalpy_port_t *port);
/* Submit a pickled list of commands, or without a stream those that a packer has put; and
 * pump, unless more follow.  `target`: NULL: as each command says. */
int64_t shoalpy_port_submit(shoalpy_port_t *port, const char *stream, size_t bytes,
                            uint32_t call_flags, uint64_t timeout_us,
                            unsigned reply_flags, bool more_follow,
                            const shoalpy_target_t *target, shoalpy_into_t *into);
int64_t shoalpy_port_pump(shoalpy_port_t *port);

/* Memory that Python lends for a submission, and keeps until it is back. */
typedef struct shoalpy_loan shoalpy_loan_t;

/* NULL: no memory. */
shoalpy_loan_t *shoalpy_loan_new(void);
/* Once it is back, or when its core is gone. */
void shoalpy_loan_free(shoalpy_loan_t *loan);
bool shoalpy_loan_is_back(const shoalpy_loan_t *loan);

/* The next stream's large arguments, in the stream or in `buffers` (see
 * shoalpy_requests_lend()), are lent: they stay as they are until the loan is back, which
 * is before the last of the results, or at once if nothing was queued.  0 or
 * SHOAL_ENOMEM. */
int shoalpy_port_lend(shoalpy_port_t *port, shoalpy_loan_t *loan,
                      const shoalpy_buffer_t *buffers, size_t count);

/* Cancel the command of that number; a pump follows.  0 or an error. */
int shoalpy_port_cancel(shoalpy_port_t *port, uint64_t number);

#endif
