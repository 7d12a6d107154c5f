/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_REPORT_FINDINGS_H
#define SHOAL_BENCH_REPORT_FINDINGS_H

/*
 * What the figures of a run mean, sentence by sentence: verdicts on what is asked of the
 * automatic setting, and plain statements.  Each is printed at once, and kept for the
 * JSON.
 */

#include "judge/verdict.h"

#include <stdio.h>

typedef enum finding_kind {
    FINDING_NOTE,    /* a statement */
    FINDING_OK,      /* a verdict that holds */
    FINDING_FAILS,   /* a verdict that does not */
    FINDING_UNKNOWN, /* a verdict without the figures that it needs */
} finding_kind_t;

typedef struct finding {
    finding_kind_t kind;
    char place[120]; /* what it is about: "128 callers"; "": the whole run */
    char text[320];  /* one line */
} finding_t;

typedef struct findings {
    FILE *out; /* where they are printed */
    finding_t *list;
    size_t count;
    size_t failed;   /* verdicts among them that do not hold */
    char place[120]; /* of the next one */
} findings_t;

/* "note", "ok", "fails", "unknown". */
const char *finding_kind_name(finding_kind_t kind);

/* Prints the heading of a point; the next findings are about it. */
__attribute__((format(printf, 2, 3))) void findings_begin(findings_t *findings,
                                                          const char *format, ...);

/* Prints a statement, wrapped at 78 columns. */
__attribute__((format(printf, 2, 3))) void findings_note(findings_t *findings,
                                                         const char *format, ...);

/* Prints a verdict in a line that begins with ok, FAILS or a question mark. */
__attribute__((format(printf, 3, 4))) void
findings_judge(findings_t *findings, const verdict_t *verdict, const char *format, ...);

void findings_release(findings_t *findings);

#endif
