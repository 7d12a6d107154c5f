/* SPDX-License-Identifier: MIT */
#include "load/pacer.h"

#include "load/clock.h"
#include "server/machine.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>

#define SPIN_NS 200000u        /* sleeps while there is more time left than this */
#define PAUSE_NS_MAX 50000000u /* between two looks at the phase */
#define BURST_MAX 256          /* late commands between two looks at the phase */

/* Waits until then; false if the run is over before. */
static bool await(run_t *run, uint64_t due_ns)
{
    for (;;) {
        uint64_t now = clock_ns();
        if (now >= due_ns)
            return true;
        if (run_phase(run) == RUN_STOPPING)
            return false;
        if (due_ns - now > SPIN_NS) {
            uint64_t pause_ns = due_ns - now - SPIN_NS / 2;
            const struct timespec pause = {
                .tv_nsec = (long)(pause_ns < PAUSE_NS_MAX ? pause_ns : PAUSE_NS_MAX)};
            nanosleep(&pause, NULL);
        } else {
            sched_yield();
        }
    }
}

static bool release_one(pacer_t *pacer, uint64_t number)
{
    if (pacer->release)
        return pacer->release(pacer->data, number);
    sem_post(&pacer->due);
    return true;
}

static void *pace(void *member)
{
    pacer_thread_t *self = member;
    pacer_t *pacer = self->pacer;
    const options_t *options = pacer->run->options;
    uint64_t number = self->first;
    uint64_t releasing_ns = 0;

    machine_sleep_precisely();
    if (options->generator_cpu != MACHINE_NO_CPU)
        machine_pin(options->generator_cpu);

    while (await(pacer->run, pacer_due_ns(pacer, number))) {
        uint64_t begin_ns = clock_thread_cpu_ns();
        uint64_t now = clock_ns();
        bool is_taken = true;
        for (int i = 0; i < BURST_MAX && pacer_due_ns(pacer, number) <= now; i++) {
            is_taken = release_one(pacer, number);
            if (!is_taken)
                break;
            number += pacer->threads_count;
        }
        uint64_t end_ns = clock_thread_cpu_ns();
        releasing_ns += end_ns - begin_ns;
        atomic_store_explicit(&self->idle_cpu_ns, end_ns - releasing_ns,
                              memory_order_relaxed);
        if (run_phase(pacer->run) == RUN_STOPPING)
            break;
        if (!is_taken)
            sched_yield();
    }
    return NULL;
}

/* The moments of PACER_MOMENTS commands that come one per interval on average, the
 * gaps distributed exponentially.  NULL if memory ran out. */
static double *draw_moments(uint64_t seed)
{
    double *moments = malloc(PACER_MOMENTS * sizeof *moments);
    unsigned short state[3] = {(unsigned short)seed, (unsigned short)(seed >> 16), 1};
    double at = 0;

    for (size_t i = 0; moments && i < PACER_MOMENTS; i++) {
        moments[i] = at;
        at -= log(1 - erand48(state));
    }
    for (size_t i = 0; moments && i < PACER_MOMENTS; i++)
        moments[i] *= PACER_MOMENTS / at;
    return moments;
}

int pacer_start(pacer_t *pacer, run_t *run, uint64_t rate, pacer_release_cb release,
                void *data)
{
    uint64_t count = run->options->threads;
    double *moments = run->options->is_random ? draw_moments(run->options->seed) : NULL;

    *pacer = (pacer_t){
        .run = run,
        .start_ns = clock_ns() + 1000000,
        .interval_ns = 1e9 / (double)rate,
        .moments = moments,
        .release = release,
        .data = data,
        .threads_count = count,
        .threads = aligned_alloc(64, count * sizeof *pacer->threads),
    };
    sem_init(&pacer->due, 0, 0);
    if (!pacer->threads || (run->options->is_random && !moments))
        return run_fail(run, "out of memory");
    for (uint64_t i = 0; i < count; i++)
        pacer->threads[i] = (pacer_thread_t){.pacer = pacer, .first = i};
    return crew_start(&pacer->crew, run, count, pace, pacer->threads,
                      sizeof *pacer->threads);
}

void pacer_stop(pacer_t *pacer, uint64_t takers)
{
    crew_join(&pacer->crew);
    for (uint64_t i = 0; i < takers; i++)
        sem_post(&pacer->due);
}

void pacer_release_memory(pacer_t *pacer)
{
    free(pacer->threads);
    free(pacer->moments);
    pacer->threads = NULL;
    sem_destroy(&pacer->due);
}

bool pacer_take(pacer_t *pacer, uint64_t *ret_due_ns)
{
    while (sem_wait(&pacer->due) < 0 && errno == EINTR) {
    }
    if (run_phase(pacer->run) == RUN_STOPPING)
        return false;
    uint64_t number = atomic_fetch_add_explicit(&pacer->taken, 1, memory_order_relaxed);
    *ret_due_ns = pacer_due_ns(pacer, number);
    return true;
}

uint64_t pacer_idle_cpu_ns(const pacer_t *pacer)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; pacer->threads && i < pacer->threads_count; i++)
        sum +=
            atomic_load_explicit(&pacer->threads[i].idle_cpu_ns, memory_order_relaxed);
    return sum;
}
