/* SPDX-License-Identifier: MIT */
#include "profile/plan.h"

#include "interrupt.h"
#include "load/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Measures one round of one series.  Returns as run_round() does. */
static int measure_one(plan_t *plan, run_t *run, series_t *series, size_t step,
                       char *problem, size_t problem_bytes)
{
    char name[64];
    strategy_name(&series->strategy, name, sizeof name);
    const live_t live = {
        .step = plan->steps_before + step,
        .steps = plan->steps,
        .name = name,
    };
    char why[200] = "";

    run->strategy = &series->strategy;
    int rc = run_round(
        run, series->strategy.is_standalone ? plan->standalone : plan->controls,
        plan->shows_live ? &live : NULL, &series->rounds[series->rounds_count], why,
        sizeof why);
    if (plan->shows_live)
        fputs("\r\033[K", stderr);
    if (rc < 0)
        snprintf(problem, problem_bytes, "%s: %s", name, why);
    if (rc == 0)
        series->rounds_count++;
    if (rc == 0 && series->latency)
        histogram_add(series->latency, run->latency);
    series->sampling = run->sampling;
    if (series->first_error[0] == '\0')
        snprintf(series->first_error, sizeof series->first_error, "%s",
                 run->first_error);
    return rc;
}

static int measure_all(plan_t *plan, run_t *run, char *problem, size_t problem_bytes)
{
    size_t step = 0;

    for (uint64_t round = 0; round < plan->options->rounds; round++) {
        for (size_t i = 0; i < plan->series_count; i++) {
            size_t index = (i + round) % plan->series_count;
            int rc = measure_one(plan, run, &plan->series[index], ++step, problem,
                                 problem_bytes);
            plan->was_interrupted = interrupt_happened();
            if (rc != 0 || plan->was_interrupted)
                return rc < 0 ? -1 : 0;
        }
    }
    return 0;
}

static int allocate_series(plan_t *plan)
{
    const options_t *options = plan->options;

    plan->series = calloc(options->strategies_count, sizeof *plan->series);
    if (!plan->series)
        return -1;
    plan->series_count = options->strategies_count;
    for (size_t i = 0; i < plan->series_count; i++) {
        plan->series[i].strategy = options->strategies[i];
        plan->series[i].rounds =
            calloc(options->rounds, sizeof *plan->series[i].rounds);
        if (options->hdr_path)
            plan->series[i].latency = calloc(1, sizeof *plan->series[i].latency);
        if (!plan->series[i].rounds || (options->hdr_path && !plan->series[i].latency))
            return -1;
    }
    return 0;
}

int plan_measure(plan_t *plan, char *problem, size_t problem_bytes)
{
    run_t run = {
        .options = plan->options,
        .workload = plan->workload,
        .latency = malloc(sizeof *run.latency),
        .service = malloc(sizeof *run.service),
        .beside = malloc(sizeof *run.beside),
    };
    int rc = -1;

    if (!run.latency || !run.service || !run.beside || allocate_series(plan) < 0)
        snprintf(problem, problem_bytes, "out of memory");
    else
        rc = measure_all(plan, &run, problem, problem_bytes);

    for (size_t i = 0; i < plan->series_count; i++)
        series_summarise(&plan->series[i]);
    free(run.latency);
    free(run.service);
    free(run.beside);
    return rc;
}

void plan_release(plan_t *plan)
{
    for (size_t i = 0; i < plan->series_count; i++) {
        free(plan->series[i].rounds);
        free(plan->series[i].latency);
    }
    free(plan->series);
    plan->series = NULL;
    plan->series_count = 0;
}

double plan_errors(const plan_t *plan)
{
    double errors = 0;
    for (size_t i = 0; i < plan->series_count; i++)
        errors += plan->series[i].median.value[FIGURE_ERRORS];
    return errors;
}
