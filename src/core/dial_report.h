/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_DIAL_REPORT_H
#define SHOAL_CORE_DIAL_REPORT_H

/*
 * What is told of an attempt to connect that failed: one piece for each endpoint, as many as
 * there is room for, and the number of the others:
 *
 *     connect a:6379: Connection refused; look up b:6379: no such name; and 3 more
 */

#define SHOAL__DIAL_REPORT_BYTES 256

typedef struct shoal__dial_report {
    int status;                          /* 0: nothing failed yet */
    unsigned untold;                     /* endpoints that are only counted */
    char text[SHOAL__DIAL_REPORT_BYTES]; /* one line */
} shoal__dial_report_t;

/* One endpoint failed, for this reason: SHOAL_ECONN or SHOAL_ETIMEOUT.  The whole is
 * SHOAL_ETIMEOUT only if every endpoint is: what a server answered tells more. */
void shoal__dial_report_add(shoal__dial_report_t *report, int status,
                            const char *reason);

#endif
