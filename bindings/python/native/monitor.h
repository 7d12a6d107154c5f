/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_MONITOR_H
#define SHOAL_PYTHON_MONITOR_H

/*
 * The lines of MONITOR, on their way from the loop thread to one reader.
 *
 * They are kept here until they are taken, up to 16 MiB.  If more come, the later ones
 * are lost, and the reader hears of that when it has taken the others.  One thread at a
 * time uses a monitor.
 */

#include "core.h"
#include "results.h"

#define SHOALPY_MONITOR_BYTES_MAX ((size_t)16 << 20)

typedef struct shoalpy_monitor shoalpy_monitor_t;

/* Send MONITOR on the lease.  0, or an error: it was not sent.  timeout_us is for the
 * answer; 0: the client's. */
int shoalpy_monitor_new(shoalpy_core_t *core, shoal_lease_t *lease, uint64_t timeout_us,
                        shoal_error_t *ret_error, shoalpy_monitor_t **ret_monitor);
/* The reader gives it up.  Close the lease as well: lines come until then. */
void shoalpy_monitor_free(shoalpy_monitor_t *monitor);

/* Readable when there is something to take. */
int shoalpy_monitor_fd(const shoalpy_monitor_t *monitor);
/* Wait for something to take, wait_us at most, or until a signal arrives.
 *
 *   0            nothing has come
 *   above 0      the bytes of a pickled list, which stands at shoalpy_monitor_data()
 *                until the next call: the answer, lines, and last of all, as a tuple (see
 *                shoalpy_kind), why no more come
 *   SHOAL_EFULL  all was taken, and what came then is lost; so it stays
 *   SHOAL_ENOMEM lines are lost */
int64_t shoalpy_monitor_take(shoalpy_monitor_t *monitor, uint64_t wait_us);
const char *shoalpy_monitor_data(const shoalpy_monitor_t *monitor);

#endif
