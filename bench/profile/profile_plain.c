/* SPDX-License-Identifier: MIT */

/* No profile: what the options say, at one point. */

#include "profile/profile.h"

static void set_defaults(options_t *options)
{
    options_default(&options->callers, 128);
    profile_set_times(options, 1, 1000000, 5000000);
}

static void prepare(plan_list_t *list, const options_t *options)
{
    plan_list_add(list, options);
}

static void heading(FILE *out, const options_t *options,
                    const report_context_t *context, const plan_list_t *list)
{
    (void)list;
    report_heading(out, options, context);
}

static void show(findings_t *findings, const plan_t *plan)
{
    report_table(findings->out, plan);
    if (plan->options->is_quiet)
        return;
    report_flushes(findings->out, plan);
    profile_note_standalone(findings, plan);
}

const profile_t profile_plain = {"plain", false, set_defaults, prepare,
                                 heading, show,  NULL};
