/* SPDX-License-Identifier: MIT */
#include "load/prefill.h"

#include "interrupt.h"
#include "load/shoal_load.h"

#include <stdio.h>
#include <string.h>

#define DEPTH 1000u

static void check(run_t *run, const shoal_result_t *result)
{
    const char *text = shoal_result_error(result);

    if (shoal_result_status(result) != 0)
        text = shoal_strerror(shoal_result_status(result));
    if (text)
        run_note_error(run, text, strlen(text));
}

/* Takes the results of `count` commands. */
static int take(run_t *run, shoal_completions_t *completions, uint64_t count)
{
    shoal_completion_t batch[DEPTH];

    while (count > 0) {
        shoal_completions_wait(completions, SHOAL_LOAD_DRAIN_US);
        size_t taken = shoal_completions_take(completions, batch, DEPTH);
        for (size_t i = 0; i < taken; i++)
            check(run, batch[i].result);
        count -= taken;
    }
    return atomic_load(&run->has_error) ? -1 : 0;
}

/* Writes the values of `count` numbers. */
static int write_some(run_t *run, shoal_client_t *client, command_t *command,
                      shoal_completions_t *completions, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const shoal_command_t one = {command->argc, command->argv, command->argvlen};
        command_fill_number(command, run->workload, first + i);
        int rc = shoal_completions_submit(completions, client, &one, 1, NULL, 0, NULL);
        if (rc != 0)
            return run_fail(run, "%s", shoal_strerror(rc));
    }
    return take(run, completions, count);
}

static int write_all(run_t *run, shoal_client_t *client, command_t *command)
{
    shoal_completions_t *completions;
    uint64_t stamps = run->workload->stamps;
    int rc = 0;

    if (shoal_completions_new(DEPTH, &completions) != 0)
        return run_fail(run, "out of memory");
    for (uint64_t at = 0; at < stamps && rc == 0 && !interrupt_happened(); at += DEPTH)
        rc = write_some(run, client, command, completions, at,
                        stamps - at < DEPTH ? stamps - at : DEPTH);
    shoal_completions_free(completions);
    return rc;
}

static int write_keys(run_t *run)
{
    command_t command;
    shoal_client_t *client = shoal_load_open(run);
    int rc = -1;

    if (!client)
        return -1;
    if (command_init(&command, run->workload, run->options->seed) == 0) {
        rc = write_all(run, client, &command);
        command_release(&command);
    } else {
        run_fail(run, "out of memory");
    }
    shoal_client_close_and_wait(client, SHOAL_LOAD_DRAIN_US);
    shoal_client_release(client);
    return rc;
}

int prefill(const options_t *options, const strategy_t *strategy,
            const workload_t *workload, char *problem, size_t problem_bytes)
{
    workload_t set;
    run_t run = {.options = options,
                 .strategy = strategy,
                 .workload = &set,
                 .wake_fds = {-1, -1}};
    int rc;

    if (workload_prefill_init(&set, workload) < 0) {
        snprintf(problem, problem_bytes, "out of memory");
        return -1;
    }
    rc = write_keys(&run);
    if (rc < 0)
        snprintf(problem, problem_bytes, "the keys to read could not be written: %s",
                 run.failure[0] != '\0' ? run.failure : run.first_error);
    workload_release(&set);
    return rc;
}
