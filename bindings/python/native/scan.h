/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_SCAN_H
#define SHOAL_PYTHON_SCAN_H

/* A scan of the library, whose pages one reader waits for: a thread, or an event loop.  One
 * thread at a time uses it. */

#include "core.h"
#include "requests.h"
#include "results.h"
#include <shoal/scan.h>

typedef struct shoalpy_scan shoalpy_scan_t;

/* What is scanned.  Texts with data NULL are not there. */
typedef struct shoalpy_scan_plan {
    int kind; /* of shoal_scan_kind_t */
    shoalpy_buffer_t key, match;
    const char *type; /* NULL: all */
    uint64_t count;
} shoalpy_scan_plan_t;

/* 0 or an error of shoal_scan_new(); SHOAL_ESYSTEM. */
int shoalpy_scan_new(shoalpy_core_t *core, const shoalpy_scan_plan_t *plan,
                     shoalpy_scan_t **ret_scan);
/* The reader gives it up, a page that it waits for as well.  NULL is allowed. */
void shoalpy_scan_free(shoalpy_scan_t *scan);

/* Ask for the next page.  0; 1: the scan is over; below 0: nothing was asked for. */
int shoalpy_scan_ask(shoalpy_scan_t *scan, uint64_t timeout_us, unsigned reply_flags);
/* Readable when the page has come. */
int shoalpy_scan_fd(const shoalpy_scan_t *scan);
/* Wait for the page that was asked for, wait_us at most, or until a signal arrives.
 *
 *   0            it has not come
 *   1            the scan is over
 *   otherwise    the kind of the result (shoalpy_kind) and 8 times the bytes of its stream,
 *                which stands at shoalpy_scan_data() until the next page is asked for
 *   SHOAL_ENOMEM the page is lost */
int64_t shoalpy_scan_take(shoalpy_scan_t *scan, uint64_t wait_us);
const char *shoalpy_scan_data(const shoalpy_scan_t *scan);

#endif
