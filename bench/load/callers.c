/* SPDX-License-Identifier: MIT */
#include "load/callers.h"

#include "load/clock.h"

#include <stdlib.h>

int callers_init(callers_t *callers, run_t *run, const caller_way_t *way, size_t count,
                 size_t commands_each)
{
    *callers = (callers_t){.run = run, .way = way};
    callers->list = calloc(count, sizeof *callers->list);
    if (!callers->list)
        return run_fail(run, "out of memory");
    while (callers->count < count) {
        caller_t *caller = &callers->list[callers->count];
        uint64_t seed = run->options->seed + callers->count * commands_each;
        *caller = (caller_t){.callers = callers, .run = run};
        callers->count++;
        if (commands_init(&caller->commands, run->workload, seed, commands_each) < 0)
            return run_fail(run, "out of memory");
    }
    return 0;
}

/* Waits for the caller's next turn; false if the round is over. */
static bool await_turn(caller_t *caller, uint64_t *ret_intended_ns)
{
    callers_t *callers = caller->callers;

    if (callers->is_paced)
        return pacer_take(&callers->pacer, ret_intended_ns);
    if (callers->is_stepping &&
        !stepper_pass(&callers->stepper, (uint64_t)(caller - callers->list)))
        return false;
    *ret_intended_ns = clock_ns();
    return run_phase(callers->run) != RUN_STOPPING;
}

static void *work(void *member)
{
    caller_t *caller = member;
    callers_t *callers = caller->callers;
    const caller_way_t *way = callers->way;
    run_t *run = caller->run;

    while (await_turn(caller, &caller->since_ns)) {
        uint64_t begin_ns = callers->is_paced ? clock_ns() : caller->since_ns;
        for (size_t i = 0; i < caller->commands.count; i++)
            command_next(&caller->commands.list[i], run->workload);
        void *reply = way->call(caller);
        uint64_t end_ns = clock_ns();
        if (!reply)
            break;
        if (way->settle)
            way->settle(caller, reply);
        if (caller->since_ns == 0)
            continue;
        if (run_phase(run) == RUN_MEASURING) {
            histogram_record_shared(run->latency, end_ns - caller->since_ns);
            if (callers->is_paced)
                histogram_record_shared(run->service, end_ns - begin_ns);
        }
        if (callers->is_stepping)
            stepper_count(&callers->stepper, end_ns);
        run_count_shared(run, caller->commands.count);
    }
    return NULL;
}

int callers_start(callers_t *callers)
{
    run_t *run = callers->run;

    callers->is_paced = run->options->rate != 0;
    if (callers->is_paced &&
        pacer_start(&callers->pacer, run, run->options->rate, NULL, NULL) < 0)
        return -1;
    callers->is_stepping = run->options->ladder.count > 0;
    if (callers->is_stepping && stepper_start(&callers->stepper, run) < 0)
        return -1;
    callers->is_popping = run->options->pushes != 0 && !callers->is_paced;
    if (callers->is_popping && pusher_start(&callers->pusher, run) < 0)
        return -1;
    return crew_start(&callers->crew, run, callers->count, work, callers->list,
                      sizeof *callers->list);
}

void callers_join(callers_t *callers)
{
    if (callers->is_paced)
        pacer_stop(&callers->pacer, callers->count);
    if (callers->is_popping)
        pusher_stop(&callers->pusher, callers->count);
    if (callers->is_stepping)
        stepper_stop(&callers->stepper);
    large_stop(&callers->large);
    crew_join(&callers->crew);
    if (callers->is_paced)
        pacer_release_memory(&callers->pacer);
    if (callers->is_popping)
        pusher_release(&callers->pusher);
    if (callers->is_stepping)
        stepper_release(&callers->stepper);
    callers->is_paced = callers->is_popping = callers->is_stepping = false;
}

void callers_release(callers_t *callers)
{
    for (size_t i = 0; i < callers->count; i++)
        commands_release(&callers->list[i].commands);
    free(callers->list);
    large_release(&callers->large);
}

uint64_t callers_foreign_cpu_ns(const callers_t *callers)
{
    if (callers->is_popping)
        return pusher_cpu_ns(&callers->pusher);
    return callers->is_paced ? pacer_idle_cpu_ns(&callers->pacer) : 0;
}
