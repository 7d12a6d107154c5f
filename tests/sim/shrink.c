/* SPDX-License-Identifier: MIT */
#include "sim/shrink.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROBES_MAX 10000
#define SECONDS_MAX 60
#define SEED_SECONDS_MAX 60 /* of one seed, that lasts milliseconds, in a child */

static const char crash[] = "it crashed: signal %d";

/* ---- children ---- */

sim_report_t *sim_report_new(void)
{
    void *memory = mmap(NULL, sizeof(sim_report_t), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void sim_report_tell(sim_report_t *report, uint64_t seed, const sim_ending_t *ending)
{
    report->is_told = true;
    report->has_failed = ending->has_failed;
    report->seed = seed;
    report->step = ending->step;
    report->now_us = ending->now_us;
    report->objection = ending->objection;
    snprintf(report->failure, sizeof report->failure, "%s", ending->failure);
    alarm(SEED_SECONDS_MAX); /* for the next one */
}

void sim_report_from_child(sim_report_t *report, void (*run)(sim_report_t *, void *),
                           void *data)
{
    int status = 0;

    report->is_told = report->has_failed = false;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(SEED_SECONDS_MAX);
        run(report, data);
        fflush(NULL);
        _exit(EXIT_SUCCESS);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        perror("sim: no child");
        exit(EXIT_FAILURE);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
        return;
    /* The seed is the one that was told last, or begun. */
    report->is_told = false;
    report->has_failed = true;
    report->step = report->now_us = 0; /* nobody knows */
    report->signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    report->objection = crash;
    snprintf(report->failure, sizeof report->failure, crash, report->signal_number);
}

/* ---- attempts ---- */

typedef struct attempt {
    const sim_subject_t *subject;
    bool is_traced;
    sim_report_t *report;
    const sim_cut_t *cut;
    const char *objection; /* that is looked for */
    uint64_t seed;
    uint64_t probes;
    time_t until;
    uint32_t kept[SIM_STEPS_MAX]; /* steps */
    uint32_t count;
} attempt_t;

static void run_cut(sim_report_t *report, void *data)
{
    attempt_t *attempt = data;
    const sim_subject_t *subject = attempt->subject;
    sim_ending_t ending;

    if (!attempt->is_traced && !freopen("/dev/null", "w", stderr))
        exit(EXIT_FAILURE);
    if (attempt->is_traced)
        setvbuf(stdout, NULL, _IOLBF, 0); /* it may crash */
    subject->live(subject->world, attempt->seed, attempt->cut, attempt->is_traced,
                  &ending);
    sim_report_tell(report, attempt->seed, &ending);
}

static bool still_fails(attempt_t *attempt)
{
    attempt->probes++;
    sim_report_from_child(attempt->report, run_cut, attempt);
    return attempt->report->has_failed &&
           attempt->report->objection == attempt->objection;
}

static bool is_over(const attempt_t *attempt)
{
    return attempt->probes >= PROBES_MAX || time(NULL) >= attempt->until;
}

static void leave_out(sim_cut_t *cut, const uint32_t *steps, uint32_t count,
                      bool is_out)
{
    for (uint32_t i = 0; i < count; i++)
        cut->is_left_out[steps[i]] = is_out;
}

/* Nothing that comes behind the failure matters. */
static void drop_tail(attempt_t *attempt, sim_cut_t *cut)
{
    const sim_report_t *report = attempt->report;

    while (report->is_told && attempt->count > 0 &&
           attempt->kept[attempt->count - 1] > report->step)
        cut->is_left_out[attempt->kept[--attempt->count]] = true;
}

/* Leave out runs of `size` steps; true if one of them was of no account. */
static bool drop_runs(attempt_t *attempt, sim_cut_t *cut, uint32_t size)
{
    uint32_t at = 0, before = attempt->count;

    while (at < attempt->count && !is_over(attempt)) {
        uint32_t *run = attempt->kept + at;
        uint32_t left = attempt->count - at, count = left < size ? left : size;

        leave_out(cut, run, count, true);
        if (still_fails(attempt)) {
            memmove(run, run + count, (left - count) * sizeof *run);
            attempt->count -= count;
            drop_tail(attempt, cut);
        } else {
            leave_out(cut, run, count, false);
            at += count;
        }
    }
    return attempt->count < before;
}

static void drop_knobs(attempt_t *attempt, sim_cut_t *cut)
{
    for (unsigned i = 0;
         attempt->subject->has_knobs && sim_swarm_knob(i) && !is_over(attempt); i++) {
        cut->knobs_off |= UINT32_C(1) << i;
        if (!still_fails(attempt))
            cut->knobs_off &= ~(UINT32_C(1) << i);
    }
}

static void shrink(attempt_t *attempt, sim_cut_t *cut)
{
    for (uint32_t size = attempt->count / 2; size > 1; size /= 2)
        drop_runs(attempt, cut, size);
    drop_knobs(attempt, cut);
    while (drop_runs(attempt, cut, 1) && !is_over(attempt))
        continue;
}

static void print_history(attempt_t *attempt, const sim_cut_t *cut, uint32_t steps)
{
    attempt->is_traced = true;
    bool is_same = still_fails(attempt);
    attempt->is_traced = false;

    fprintf(stderr,
            "shrunk from %" PRIu32 " steps to %" PRIu32 ", in %" PRIu64
            " attempts; %s: %s\n",
            steps, attempt->count, attempt->probes,
            is_same ? "it still fails" : "BUT IT FAILS OTHERWISE NOW",
            attempt->report->failure);
    fprintf(stderr,
            "replay: SHOAL_SIM_TRACE=1 SHOAL_SIM_STEPS=1 SHOAL_SIM_SEED=%" PRIu64 " ",
            attempt->seed);
    sim_cut_print(cut, stderr);
    fprintf(stderr, "%s\n", attempt->subject->program);
}

void sim_shrink(const sim_subject_t *subject, const sim_report_t *report)
{
    static attempt_t attempt; /* too large for a stack */
    static sim_cut_t cut;

    attempt = (attempt_t){.subject = subject,
                          .report = sim_report_new(),
                          .cut = &cut,
                          .objection = report->objection,
                          .seed = report->seed,
                          .until = time(NULL) + SECONDS_MAX};
    cut = (sim_cut_t){.knobs_off = 0};
    if (!attempt.report)
        return;
    for (uint32_t step = 1; step <= SIM_STEPS_MAX; step++)
        attempt.kept[attempt.count++] = step;
    if (!still_fails(&attempt)) {
        fprintf(stderr, "not shrunk: alone, the seed does not fail like that\n");
        return;
    }
    drop_tail(&attempt, &cut);
    uint32_t steps = attempt.count;
    shrink(&attempt, &cut);
    print_history(&attempt, &cut, steps);
}

/* ---- cuts as text ---- */

void sim_cut_print(const sim_cut_t *cut, FILE *file)
{
    const char *comma = "";

    fprintf(file, "SHOAL_SIM_KEEP=");
    for (uint32_t from = 1; from <= SIM_STEPS_MAX; from++) {
        uint32_t to = from;
        if (cut->is_left_out[from])
            continue;
        while (to < SIM_STEPS_MAX && !cut->is_left_out[to + 1])
            to++;
        fprintf(file, to > from ? "%s%" PRIu32 "-%" PRIu32 : "%s%" PRIu32, comma, from,
                to);
        comma = ",";
        from = to;
    }
    fprintf(file, " SHOAL_SIM_OFF=");
    comma = "";
    for (unsigned i = 0; sim_swarm_knob(i); i++) {
        if (cut->knobs_off >> i & 1) {
            fprintf(file, "%s%s", comma, sim_swarm_knob(i));
            comma = ",";
        }
    }
    fprintf(file, " ");
}

static bool read_knob(sim_cut_t *cut, const char *name, size_t bytes)
{
    for (unsigned i = 0; sim_swarm_knob(i); i++) {
        if (strlen(sim_swarm_knob(i)) == bytes &&
            strncmp(sim_swarm_knob(i), name, bytes) == 0) {
            cut->knobs_off |= UINT32_C(1) << i;
            return true;
        }
    }
    return false;
}

bool sim_cut_read(sim_cut_t *cut, const char *steps, const char *knobs)
{
    memset(cut->is_left_out, true, sizeof cut->is_left_out);
    while (*steps) {
        char *end;
        unsigned long from = strtoul(steps, &end, 10), to = from;
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        if (from < 1 || to < from || to > SIM_STEPS_MAX || (*end && *end != ','))
            return false;
        for (; from <= to; from++)
            cut->is_left_out[from] = false;
        steps = *end ? end + 1 : end;
    }
    while (knobs && *knobs) {
        size_t bytes = strcspn(knobs, ",");
        if (!read_knob(cut, knobs, bytes))
            return false;
        knobs += bytes + (knobs[bytes] == ',');
    }
    return true;
}
