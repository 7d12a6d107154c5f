/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_SHRINK_H
#define SHOAL_TESTS_SIM_SHRINK_H

/*
 * From a seed that fails to a short history that fails in the same way: steps and rates
 * are left out as long as the same oracle objects.  Each attempt lives in a process of
 * its own, so that crashes and endless loops are shrunk as well.
 */

#include "sim/runner.h"
#include <stdio.h>

/* How a seed ended, told from the process that lived through it. */
typedef struct sim_report {
    uint64_t seed, step, now_us, steps; /* the last: of all seeds so far */
    bool is_told;                       /* by the world; else that process died */
    bool has_failed;
    int signal_number; /* that it died of */
    const char *objection;
    char failure[sizeof((sim_world_t *)0)->failure];
} sim_report_t;

/* Memory that a child shares; NULL: there is none. */
sim_report_t *sim_report_new(void);
/* What became of a seed. */
void sim_report_tell(sim_report_t *report, uint64_t seed, const sim_ending_t *ending);
/* Run in a child; when it dies of itself, the report says so. */
void sim_report_from_child(sim_report_t *report, void (*run)(sim_report_t *, void *),
                           void *data);

/* Shrink what the report is about, and print the shortest history on stderr. */
void sim_shrink(const sim_subject_t *subject, const sim_report_t *report);

/* A cut as text, and back: "3-7,12" are the steps that stay. */
void sim_cut_print(const sim_cut_t *cut, FILE *file);
/* False: the text is none. */
bool sim_cut_read(sim_cut_t *cut, const char *steps, const char *knobs);

#endif
