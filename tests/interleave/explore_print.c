/* SPDX-License-Identifier: MIT */
#include "interleave/explore_parts.h"

#include <inttypes.h>
#include <stdio.h>

#define STEPS_SHOWN 200 /* of a schedule that failed */

void explore_print_failure(const explore_scenario_t *scenario,
                           const explore_report_t *report,
                           const explore_thread_t *threads,
                           const explore_choice_t *choices, unsigned depth)
{
    static const char *const ways[EXPLORE_WAYS] = {"", ", timed out",
                                                   ", for no reason"};
    unsigned first = depth > STEPS_SHOWN ? depth - STEPS_SHOWN : 0;

    fprintf(stderr, "%s: schedule %" PRIu64 ": %s\n", scenario->name,
            report->schedules + report->cut + 1, report->failure);
    for (unsigned i = first; i < depth && !scenario->is_to_fail; i++) {
        uint32_t taken = choices[i].taken;
        fprintf(stderr, "  %4u %-12s %s%s\n", i, threads[taken / EXPLORE_WAY_BITS].name,
                choices[i].what, ways[taken % EXPLORE_WAY_BITS]);
    }
}

void explore_print_report(const explore_scenario_t *scenario,
                          const explore_report_t *report)
{
    char how[40] = "pruned";

    if (scenario->is_raw)
        snprintf(how, sizeof how, "unpruned");
    else if (scenario->is_bounded)
        snprintf(how, sizeof how, "%u preemptions", scenario->preemptions_max);
    printf("%9" PRIu64 " schedules, %9" PRIu64 " cut, %3u steps at most, %s: %s%s\n",
           report->schedules, report->cut, report->depth, how, scenario->name,
           report->has_failed    ? ": a failure"
           : report->is_complete ? ""
                                 : ": not all of them");
    fflush(stdout);
}
