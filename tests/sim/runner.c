/* SPDX-License-Identifier: MIT */
#include "sim/runner.h"

#include "base/alloc.h"
#include "sim/shrink.h"
#include <hiredis/alloc.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#define REPEAT_EVERY 50 /* seeds: is the second time like the first? */

typedef struct run {
    const sim_subject_t *subject;
    const sim_cut_t *cut; /* NULL: nothing is left out */
    bool is_traced;
    uint64_t steps, seeds, commands;
    sim_ending_t ending; /* of the last seed */
} run_t;

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static bool run_seed(run_t *run, sim_report_t *report, uint64_t seed)
{
    const sim_subject_t *subject = run->subject;

    report->seed = seed;
    report->steps = run->steps;
    subject->live(subject->world, seed, run->cut, run->is_traced, &run->ending);
    sim_report_tell(report, seed, &run->ending);
    run->steps += run->ending.step;
    run->commands += run->ending.commands;
    return !run->ending.has_failed;
}

static bool run_seed_again(run_t *run, sim_report_t *report, uint64_t seed)
{
    static const char otherwise[] =
        "O0: the seed gives another history the second time";
    uint64_t hash = run->ending.hash, step = run->ending.step;

    if (!run_seed(run, report, seed))
        return false;
    if (run->ending.hash == hash && run->ending.step == step)
        return true;
    run->ending.has_failed = true;
    run->ending.objection = run->ending.failure = otherwise;
    sim_report_tell(report, seed, &run->ending);
    return false;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool run_regressions(run_t *run, sim_report_t *report)
{
    const sim_subject_t *subject = run->subject;

    for (size_t i = 0; i < subject->regression_count; i++) {
        const sim_regression_t *known = &subject->regressions[i];

        if (!run_seed(run, report, known->seed)) {
            fprintf(stderr, "this seed has failed before, with swarm %u (now %u): %s\n",
                    known->version, subject->version, known->reason);
            return false;
        }
    }
    return true;
}

static void run_all(sim_report_t *report, void *data)
{
    run_t *run = data;
    uint64_t steps_wanted = from_environment("SHOAL_SIM_STEPS", run->subject->steps);
    uint64_t seed = from_environment("SHOAL_SIM_SEED", 0);
    double start = seconds();

    if (seed == 0 && !run_regressions(run, report))
        return;
    for (seed = seed ? seed : 1; run->steps < steps_wanted; seed++) {
        if (!run_seed(run, report, seed))
            return;
        if (run->seeds++ % REPEAT_EVERY == 0 && !run_seed_again(run, report, seed))
            return;
    }
    double took = seconds() - start;
    printf("%" PRIu64 " steps, %" PRIu64 " seeds, %" PRIu64
           " commands, %.2f million steps/s\n",
           run->steps, run->seeds, run->commands, (double)run->steps / took / 1e6);
    run->subject->print(run->subject->world);
}

/* Its memory fails on demand as well. */
static void hook_hiredis(void)
{
    hiredisAllocFuncs hooks = {.mallocFn = shoal__malloc,
                               .callocFn = shoal__calloc,
                               .reallocFn = shoal__realloc,
                               .strdupFn = shoal__strdup,
                               .freeFn = shoal__free};

    hiredisSetAllocators(&hooks);
}

int sim_run(const sim_subject_t *subject)
{
    static sim_cut_t cut;
    const char *kept = getenv("SHOAL_SIM_KEEP");
    sim_report_t *report = sim_report_new();
    run_t run = {.subject = subject, .is_traced = getenv("SHOAL_SIM_TRACE") != NULL};

    if (!subject->world || !report)
        return EXIT_FAILURE;
    hook_hiredis();
    if (kept && !sim_cut_read(&cut, kept, getenv("SHOAL_SIM_OFF"))) {
        fprintf(stderr, "no steps, or unknown rates\n");
        return EXIT_FAILURE;
    }
    run.cut = kept ? &cut : NULL;
    sim_report_from_child(report, run_all, &run);
    if (!report->has_failed)
        return EXIT_SUCCESS;
    fprintf(stderr,
            "seed %" PRIu64 ", step %" PRIu64 ", %" PRIu64 " us: %s\n"
            "found after %" PRIu64 " steps\n",
            report->seed, report->step, report->now_us, report->failure,
            report->steps + report->step);
    if (from_environment("SHOAL_SIM_SHRINK", 1) != 0 && !kept)
        sim_shrink(subject, report);
    return EXIT_FAILURE;
}
