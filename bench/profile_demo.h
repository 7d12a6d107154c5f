/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_PROFILE_DEMO_H
#define SHOAL_BENCH_PROFILE_DEMO_H

/* Half a minute that shows what shoal is for. */

#include "plan.h"
#include "report.h"

#include <stdio.h>

#define DEMO_PLANS 3

typedef struct demo {
    options_t options[DEMO_PLANS]; /* many callers; few; at a fixed rate */
    plan_t plans[DEMO_PLANS];
} demo_t;

/* Fills in what is measured, on top of what the command line says. */
void demo_prepare(demo_t *demo, const options_t *options);

/* What is about to happen. */
void demo_heading(FILE *out, const options_t *options, const report_context_t *context);

/* Table, picture and sentences, all from the figures of this run. */
void demo_report(FILE *out, const demo_t *demo);

#endif
