/* SPDX-License-Identifier: MIT */

/* Publishing alone, for receivers elsewhere.  With --window they write their credits to the
 * standard input. */

#include "pubsub/publisher.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void *work(void *member)
{
    run_t *run = member;
    int credits = run->options->window != 0 ? STDIN_FILENO : -1;

    publisher_run(run, credits);
    if (run_phase(run) != RUN_STOPPING)
        run_fail(run, "the receiver has ended");
    return NULL;
}

static int start(run_t *run)
{
    crew_t *crew = calloc(1, sizeof *crew);

    run->load = crew;
    if (!crew)
        return run_fail(run, "out of memory");
    if (run->options->window != 0 && fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) < 0)
        return run_fail(run, "--window: the standard input is closed");
    return crew_start(crew, run, 1, work, run, 0);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    (void)run;
    *ret_counters = (load_counters_t){0};
}

static void stop(run_t *run)
{
    crew_t *crew = run->load;
    if (!crew)
        return;
    crew_join(crew);
    free(crew);
}

const load_kind_t load_publish = {start, count, stop};
