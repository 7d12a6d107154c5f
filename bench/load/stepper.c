/* SPDX-License-Identifier: MIT */
#include "load/stepper.h"

#include "judge/thread_steps.h"
#include "load/clock.h"
#include "server/machine.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define LOOK_NS 1000000u /* between two looks at the phase */

static void sleep_until(uint64_t until_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                                   .tv_nsec = (long)(until_ns % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void let_through(stepper_t *stepper, uint64_t threads)
{
    pthread_mutex_lock(&stepper->lock);
    atomic_store(&stepper->let_through, threads);
    pthread_cond_broadcast(&stepper->changed);
    pthread_mutex_unlock(&stepper->lock);
}

/* Sleeps until then; false if the run ends before. */
static bool rest(stepper_t *stepper, uint64_t until_ns)
{
    while (run_phase(stepper->run) == RUN_MEASURING) {
        uint64_t now = clock_ns();
        if (now >= until_ns)
            return true;
        sleep_until(until_ns - now > LOOK_NS ? now + LOOK_NS : until_ns);
    }
    return false;
}

static void raise_to(_Atomic uint64_t *highest, uint64_t value)
{
    uint64_t known = atomic_load_explicit(highest, memory_order_relaxed);
    while (known < value && !atomic_compare_exchange_weak(highest, &known, value)) {
    }
}

/* The stage ends: no call ended since the last one did, perhaps in the whole stage. */
static void note_silence(stepper_t *stepper, stepper_stage_t *stage)
{
    uint64_t now_ns = clock_ns(), since_ns = atomic_load(&stage->begin_ns);
    uint64_t last_ns = atomic_load(&stepper->last_ns);

    if (last_ns > since_ns)
        since_ns = last_ns;
    if (now_ns > since_ns)
        raise_to(&stage->gap_ns, now_ns - since_ns);
}

static void *step(void *member)
{
    stepper_t *stepper = member;
    uint64_t stage_ns = stepper->slices_each * THREAD_STEP_SLICE_NS;

    machine_sleep_precisely();
    while (run_phase(stepper->run) == RUN_WARMING)
        sleep_until(clock_ns() + LOOK_NS);
    uint64_t start_ns = clock_ns();
    for (size_t i = 0; i < stepper->stages_count; i++) {
        stepper_stage_t *stage = &stepper->stages[i];
        atomic_store(&stage->begin_ns, clock_ns());
        atomic_store(&stepper->stage, i);
        let_through(stepper, stage->threads);
        bool goes_on = rest(stepper, start_ns + (i + 1) * stage_ns);
        note_silence(stepper, stage);
        if (!goes_on)
            break;
    }
    atomic_store(&stepper->stage, stepper->stages_count);
    return NULL;
}

/* The stages: the base, then all rungs but the first one, so many times. */
static int make_stages(stepper_t *stepper)
{
    const options_t *options = stepper->run->options;
    const number_list_t *ladder = &options->ladder;
    size_t steps = ladder->count - 1;
    size_t count = 1 + steps * STEPPER_TIMES;
    size_t each = options->duration_us * 1000 / count / THREAD_STEP_SLICE_NS;

    stepper->slices_each = each > 0 ? each : 1;
    stepper->stages = calloc(count, sizeof *stepper->stages);
    stepper->slices = calloc(count * stepper->slices_each, sizeof *stepper->slices);
    if (!stepper->stages || !stepper->slices)
        return run_fail(stepper->run, "out of memory");
    stepper->stages_count = count;
    for (size_t i = 0; i < count; i++) {
        stepper_stage_t *stage = &stepper->stages[i];
        stage->step = i == 0 ? STEPPER_BASE : (i - 1) % steps;
        stage->threads = ladder->numbers[i == 0 ? 0 : stage->step + 1];
        stage->slices = &stepper->slices[i * stepper->slices_each];
    }
    return 0;
}

int stepper_start(stepper_t *stepper, run_t *run)
{
    *stepper = (stepper_t){.run = run};
    pthread_mutex_init(&stepper->lock, NULL);
    pthread_cond_init(&stepper->changed, NULL);
    if (make_stages(stepper) < 0)
        return -1;
    atomic_store(&stepper->stage, stepper->stages_count);
    atomic_store(&stepper->let_through, stepper->stages[0].threads);
    return crew_start(&stepper->crew, run, 1, step, stepper, 0);
}

bool stepper_pass(stepper_t *stepper, uint64_t number)
{
    if (number < atomic_load_explicit(&stepper->let_through, memory_order_relaxed))
        return run_phase(stepper->run) != RUN_STOPPING;
    pthread_mutex_lock(&stepper->lock);
    while (number >= atomic_load(&stepper->let_through) && !stepper->is_over)
        pthread_cond_wait(&stepper->changed, &stepper->lock);
    bool is_over = stepper->is_over;
    pthread_mutex_unlock(&stepper->lock);
    return !is_over;
}

void stepper_count(stepper_t *stepper, uint64_t now_ns)
{
    size_t number = atomic_load_explicit(&stepper->stage, memory_order_acquire);
    uint64_t last_ns = atomic_exchange(&stepper->last_ns, now_ns);

    if (number == stepper->stages_count)
        return;
    stepper_stage_t *stage = &stepper->stages[number];
    uint64_t begin_ns = atomic_load_explicit(&stage->begin_ns, memory_order_relaxed);
    if (last_ns != 0 && now_ns > last_ns)
        raise_to(&stage->gap_ns, now_ns - last_ns);
    /* The call may have ended right before the stage began. */
    size_t slice =
        now_ns > begin_ns ? (size_t)((now_ns - begin_ns) / THREAD_STEP_SLICE_NS) : 0;
    if (slice < stepper->slices_each)
        __atomic_fetch_add(&stage->slices[slice], 1, __ATOMIC_RELAXED);
}

void stepper_stop(stepper_t *stepper)
{
    pthread_mutex_lock(&stepper->lock);
    stepper->is_over = true;
    pthread_cond_broadcast(&stepper->changed);
    pthread_mutex_unlock(&stepper->lock);
    crew_join(&stepper->crew);
}

/* What the stages with so many threads are held against. */
static double reference_of(const stepper_t *stepper, uint64_t threads)
{
    double steady[1 + STEPPER_TIMES * OPTIONS_LIST_MAX];
    size_t count = 0;

    for (size_t i = 0; i < stepper->stages_count; i++) {
        const stepper_stage_t *stage = &stepper->stages[i];
        if (stage->threads == threads && atomic_load(&stage->begin_ns) != 0)
            steady[count++] = thread_step_steady(stage->slices, stepper->slices_each);
    }
    return thread_step_reference(steady, count);
}

/* One step of the ladder, over all times. */
static run_step_t conclude(const stepper_t *stepper, size_t step)
{
    double reached_ms[STEPPER_TIMES];
    uint64_t gap_ns = 0;
    size_t count = 0;
    uint64_t threads = stepper->run->options->ladder.numbers[step + 1];
    double reference = reference_of(stepper, threads);

    for (size_t i = 0; i < stepper->stages_count; i++) {
        const stepper_stage_t *stage = &stepper->stages[i];
        if (stage->step != step || atomic_load(&stage->begin_ns) == 0)
            continue;
        reached_ms[count++] =
            thread_step_reached_ms(stage->slices, stepper->slices_each, reference);
        if (atomic_load(&stage->gap_ns) > gap_ns)
            gap_ns = atomic_load(&stage->gap_ns);
    }
    run_step_t result = run_no_step;
    if (count == 0)
        return result;
    figures_sort(reached_ms, count);
    result.ops_per_s = reference * 1e9 / THREAD_STEP_SLICE_NS;
    result.reached_ms = reached_ms[count / 2];
    result.reached_ms_max = reached_ms[count - 1];
    result.late = 0;
    for (size_t i = 0; i < count; i++)
        result.late += reached_ms[i] > THREAD_STEP_LATE_MS;
    result.stall_ms = (double)gap_ns / 1e6;
    return result;
}

void stepper_release(stepper_t *stepper)
{
    run_t *run = stepper->run;

    for (size_t i = 0; i + 1 < run->options->ladder.count && stepper->stages_count > 0;
         i++)
        run->steps[i] = conclude(stepper, i);
    pthread_cond_destroy(&stepper->changed);
    pthread_mutex_destroy(&stepper->lock);
    free(stepper->stages);
    free(stepper->slices);
    *stepper = (stepper_t){0};
}
