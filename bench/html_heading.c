/* SPDX-License-Identifier: MIT */
#include "chart_scale.h"
#include "html_page.h"
#include "machine.h"
#include "profile.h"

#include <math.h>
#include <shoal/version.h>
#include <stdarg.h>
#include <string.h>

#define NOISY 0.1    /* rounds that differ by more than this share are worth a word */
#define REACHED 0.95 /* of a rate; random arrivals of a short round may miss a little */

/* One line of the list of facts, escaped. */
__attribute__((format(printf, 3, 4))) static void fact(FILE *out, const char *name,
                                                       const char *format, ...)
{
    char text[1200];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(out, "<dt>%s</dt><dd>", name);
    svg_escape(out, text);
    fputs("</dd>\n", out);
}

__attribute__((format(printf, 2, 3))) static void warn(FILE *out, const char *format,
                                                       ...)
{
    char text[600];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fputs("<p class=\"warn\">", out);
    svg_escape(out, text);
    fputs("</p>\n", out);
}

/* Adds to a text; what does not fit is left out. */
__attribute__((format(printf, 3, 4))) static void add(char *text, size_t text_bytes,
                                                      const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, text_bytes - used, format, args);
    va_end(args);
}

static bool has_profile(const study_t *study)
{
    const profile_t *profile = study->plans[0].options->profile;
    return profile && strcmp(profile->name, profile_plain.name) != 0;
}

void html_title(const study_t *study, char *text, size_t text_bytes)
{
    char command[200];

    if (study->plans_count == 0) {
        snprintf(text, text_bytes, "shoal-bench");
        return;
    }
    report_command(study->plans[0].options, command, sizeof command);
    if (has_profile(study))
        snprintf(text, text_bytes, "shoal-bench, profile %s: %s",
                 study->plans[0].options->profile->name, command);
    else
        snprintf(text, text_bytes, "shoal-bench: %s", command);
}

static void describe_load(const study_t *study, char *text, size_t text_bytes)
{
    const options_t *options = study->plans[0].options;

    report_command(options, text, text_bytes);
    if (options->value_bytes_max > options->value_bytes)
        add(text, text_bytes, ", data of %llu to %llu bytes",
            (unsigned long long)options->value_bytes,
            (unsigned long long)options->value_bytes_max);
    else if (strstr(text, "__data__"))
        add(text, text_bytes, ", data of %llu bytes",
            (unsigned long long)options->value_bytes);
    if (options->keyspace > 1)
        add(text, text_bytes, ", %llu keys (%s)", (unsigned long long)options->keyspace,
            key_pattern_name(options->key_pattern));
    if (options->sets + options->gets > 0)
        add(text, text_bytes, ", SET to GET as %llu to %llu",
            (unsigned long long)options->sets, (unsigned long long)options->gets);
    if (options->is_verified)
        add(text, text_bytes, ", every reply compared");
}

/* "1, 2 and 8 callers" */
static void describe_axis(const study_group_t *group, char *text, size_t text_bytes)
{
    char number[32];

    add(text, text_bytes, "%s, ", group->is_open ? "open loop" : "closed loop");
    for (size_t k = 0; k < group->points; k++) {
        if (group->is_open)
            chart_tick_text((double)group->axis[k], number, sizeof number);
        else
            snprintf(number, sizeof number, "%llu", (unsigned long long)group->axis[k]);
        add(text, text_bytes, "%s%s",
            k == 0                   ? ""
            : k + 1 == group->points ? " and "
                                     : ", ",
            number);
    }
    add(text, text_bytes,
        group->is_open                              ? " commands/s"
        : group->points == 1 && group->axis[0] == 1 ? " caller"
                                                    : " callers");
}

static bool have_one_axis(const study_group_t *a, const study_group_t *b)
{
    return a->is_open == b->is_open && a->points == b->points &&
           memcmp(a->axis, b->axis, a->points * sizeof *a->axis) == 0;
}

/* The points, group by group. */
static void describe_points(const study_t *study, char *text, size_t text_bytes)
{
    char name[160];

    for (size_t i = 0; i < study->groups_count; i++) {
        const study_group_t *group = &study->groups[i];
        study_group_name(study, group, name, sizeof name);
        if (i > 0 && name[0] != '\0' && have_one_axis(group, group - 1)) {
            add(text, text_bytes, "; the same with %s", name);
            continue;
        }
        add(text, text_bytes, "%s", i ? "; " : "");
        describe_axis(group, text, text_bytes);
        if (name[0] != '\0')
            add(text, text_bytes, ", %s", name);
    }
}

static void describe_pinning(const options_t *options, char *text, size_t text_bytes)
{
    text[0] = '\0';
    if (options->server_cpu != MACHINE_NO_CPU)
        add(text, text_bytes, "server on CPU %llu",
            (unsigned long long)options->server_cpu);
    if (options->client_cpu != MACHINE_NO_CPU)
        add(text, text_bytes, "%sclient on CPU %llu", text[0] ? ", " : "",
            (unsigned long long)options->client_cpu);
    if (options->rate != 0 && options->generator_cpu != MACHINE_NO_CPU)
        add(text, text_bytes, ", load generator on CPU %llu",
            (unsigned long long)options->generator_cpu);
    if (text[0] == '\0')
        add(text, text_bytes, "nothing: client and server run where the system likes");
}

static bool was_interrupted(const study_t *study)
{
    for (size_t i = 0; i < study->plans_count; i++) {
        if (study->plans[i].was_interrupted)
            return true;
    }
    return false;
}

/* How often a strategy was measured that was measured most often. */
static size_t most_rounds(const study_t *study)
{
    size_t most = 0;

    for (size_t i = 0; i < study->plans_count; i++) {
        const plan_t *plan = &study->plans[i];
        for (size_t k = 0; k < plan->series_count; k++) {
            if (plan->series[k].rounds_count > most)
                most = plan->series[k].rounds_count;
        }
    }
    return most;
}

static void describe_rounds(const study_t *study, char *text, size_t text_bytes)
{
    const options_t *options = study->plans[0].options;
    double spread = study_spread(study);
    size_t rounds = most_rounds(study);

    if (rounds > 1)
        add(text, text_bytes, "medians of %s%zu rounds, interleaved; ",
            was_interrupted(study) ? "up to " : "", rounds);
    else
        add(text, text_bytes, "a single round: nothing is known of the noise; ");
    if (options->requests)
        add(text, text_bytes, "%llu commands", (unsigned long long)options->requests);
    else
        add(text, text_bytes, "%g s", (double)options->duration_us / 1e6);
    add(text, text_bytes, " each after %g s of warm-up",
        (double)options->warmup_us / 1e6);
    if (rounds > 1)
        add(text, text_bytes,
            ".  The throughput of one strategy's rounds differs by "
            "up to \u00b1%.0f %%",
            spread * 100);
}

/* Linux says in the CPU's flags whether there is a hypervisor below. */
static bool is_virtual_machine(void)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[4096];
    bool result = false;

    while (file && !result && fgets(line, sizeof line, file))
        result = strncmp(line, "flags", 5) == 0 && strstr(line, " hypervisor");
    if (file)
        fclose(file);
    return result;
}

static void describe_server(const options_t *options, const report_context_t *context,
                            char *text, size_t text_bytes)
{
    add(text, text_bytes, "%s, %s", context->server_version,
        !options->is_private ? context->url
        : options->is_tcp    ? "private, on 127.0.0.1 by TCP"
                             : "private, on a Unix socket");
    add(text, text_bytes, ", RESP%d", options->target.resp);
}

static void list_facts(FILE *out, const study_t *study, const report_context_t *context)
{
    const options_t *options = study->plans[0].options;
    char text[1200] = "";

    fputs("<dl>\n", out);
    describe_load(study, text, sizeof text);
    fact(out, "Command", "%s", text);
    text[0] = '\0';
    describe_points(study, text, sizeof text);
    fact(out, "Load", "%s", text);
    text[0] = '\0';
    describe_server(options, context, text, sizeof text);
    fact(out, "Server", "%s", text);
    fact(out, "Machine", "%s, %zu CPU%s, %s%s", context->cpu, context->cpus,
         context->cpus == 1 ? "" : "s", context->system,
         is_virtual_machine() ? ", a virtual machine" : "");
    describe_pinning(study->plans[study->plans_count - 1].options, text, sizeof text);
    fact(out, "Pinned", "%s", text);
    text[0] = '\0';
    describe_rounds(study, text, sizeof text);
    fact(out, "Rounds", "%s", text);
    fact(out, "Versions", "shoal %s, hiredis %d.%d.%d", shoal_version(), HIREDIS_MAJOR,
         HIREDIS_MINOR, HIREDIS_PATCH);
    fputs("</dl>\n", out);
}

static void warn_of_errors(FILE *out, const study_t *study)
{
    for (size_t i = 0; i < study->plans_count; i++) {
        const plan_t *plan = &study->plans[i];
        for (size_t k = 0; k < plan->series_count; k++) {
            const series_t *series = &plan->series[k];
            char name[64];
            if (!(series->median.value[FIGURE_ERRORS] > 0))
                continue;
            strategy_name(&series->strategy, name, sizeof name);
            warn(out,
                 "%.0f commands of %s failed: its figures are not results.  The "
                 "first error: %s",
                 series->median.value[FIGURE_ERRORS], name, series->first_error);
        }
    }
}

/* Whether the load of an open loop was more than a strategy could take. */
static void warn_of_rates(FILE *out, const study_t *study)
{
    char text[600] = "";

    for (size_t i = 0; i < study->groups_count; i++) {
        const study_group_t *group = &study->groups[i];
        for (size_t k = 0; group->is_open && k < group->points; k++) {
            for (size_t line = 0; line < study->lines_count; line++) {
                char asked[32];
                char done[32];
                double ops = study_value(study, group, k, line, FIGURE_OPS_PER_S);
                double rate = (double)group->axis[k];
                if (!(ops < REACHED * rate))
                    continue;
                add(text, sizeof text, "%s%s did %s of %s", text[0] ? "; " : "",
                    study->lines[line].label, chart_number(ops, done, sizeof done),
                    chart_tick_text(rate, asked, sizeof asked));
            }
        }
    }
    if (text[0] != '\0')
        warn(out, "Not every rate was reached, in commands per second: %s.", text);
}

void html_heading(FILE *out, const study_t *study, const report_context_t *context)
{
    char title[400];

    html_title(study, title, sizeof title);
    fputs("<h1>", out);
    svg_escape(out, title);
    fputs("</h1>\n<p class=\"soft\">Throughput, latency, and the CPU of both ends, for "
          "each way of getting commands to the server, measured in one run.</p>\n",
          out);
    if (study->plans_count == 0) {
        warn(out, "Nothing was measured.");
        return;
    }
    list_facts(out, study, context);
    if (was_interrupted(study))
        warn(out, "The run was interrupted: this is what was measured before.");
    warn_of_errors(out, study);
    warn_of_rates(out, study);
    if (study_spread(study) > NOISY)
        warn(out,
             "Rounds of the same strategy differ by up to \u00b1%.0f %%: the "
             "machine was busy with other things, or is shared.  Trust ratios "
             "that are well beyond that, and no absolute figure.",
             study_spread(study) * 100);
}
