/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const profile_t *profile_find(const char *name)
{
    static const profile_t *const all[] = {
        &profile_demo,   &profile_sweep,  &profile_rate,    &profile_latency,
        &profile_matrix, &profile_step,   &profile_threads, &profile_mixed,
        &profile_ladder, &profile_cluster};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    }
    return NULL;
}

static bool grow(plan_list_t *list)
{
    size_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
    plan_t *plans = realloc(list->plans, capacity * sizeof *plans);
    if (plans)
        list->plans = plans;
    options_t **options = realloc(list->options, capacity * sizeof *options);
    if (options)
        list->options = options;
    if (!plans || !options)
        return false;
    list->capacity = capacity;
    return true;
}

options_t *plan_list_add(plan_list_t *list, const options_t *base)
{
    static options_t nobody; /* for the caller to write to when memory ran out */
    options_t *copy = NULL;

    if (list->count < list->capacity || grow(list))
        copy = malloc(sizeof *copy);
    if (!copy) {
        list->has_failed = true;
        copy = &nobody;
    } else {
        list->plans[list->count] = (plan_t){.options = copy};
        list->options[list->count++] = copy;
    }
    *copy = *base;
    return copy;
}

void plan_list_release(plan_list_t *list)
{
    for (size_t i = 0; i < list->count; i++) {
        plan_release(&list->plans[i]);
        free(list->options[i]);
    }
    free(list->plans);
    free(list->options);
    *list = (plan_list_t){0};
}

void profile_set_times(options_t *options, uint64_t rounds, uint64_t warmup_us,
                       uint64_t duration_us)
{
    options_default(&options->rounds, rounds);
    options_default(&options->warmup_us, warmup_us);
    options_default(&options->duration_us, duration_us);
}

void profile_heading(FILE *out, const options_t *options,
                     const report_context_t *context, const plan_list_t *list)
{
    double seconds = 0;
    size_t cells = 0;

    report_machine(out, options, context);
    for (size_t i = 0; i < list->count; i++) {
        const options_t *part = list->options[i];
        double round_us = (double)(part->warmup_us + part->duration_us) + 50000;
        seconds += round_us / 1e6 * (double)(part->strategies_count * part->rounds);
        cells += part->strategies_count;
    }
    fprintf(out,
            "profile %s: %zu points, %zu settings in all, %llu interleaved rounds; ",
            options->profile->name, list->count, cells,
            (unsigned long long)options->rounds);
    if (seconds < 100)
        fprintf(out, "about %.0f seconds\n\n", ceil(seconds));
    else
        fprintf(out, "about %.0f minutes\n\n", ceil(seconds / 60));
}

number_list_t profile_numbers(const number_list_t *given, const uint64_t *fallback,
                              size_t count)
{
    number_list_t list = *given;

    if (list.count > 0)
        return list;
    list.count = count;
    memcpy(list.numbers, fallback, count * sizeof *fallback);
    return list;
}

number_list_t profile_callers(const options_t *options, const uint64_t *fallback,
                              size_t count)
{
    if (options->callers != OPTIONS_UNSET && options->callers_list.count == 0)
        return (number_list_t){1, {options->callers}};
    return profile_numbers(&options->callers_list, fallback, count);
}

number_list_t profile_rtts(const options_t *options, const uint64_t *fallback,
                           size_t count)
{
    if (options->rtt_us != 0 && options->rtts.count == 0)
        return (number_list_t){1, {options->rtt_us}};
    return profile_numbers(&options->rtts, fallback, count);
}

void profile_default_transports(options_t *options)
{
    if (options->is_private && !options->is_tcp && !options->is_unix)
        options->is_tcp = options->is_unix = true;
}

bool profile_has_transport(const options_t *options, bool is_tcp)
{
    if (!options->is_private)
        return !is_tcp;
    return is_tcp ? options->is_tcp : options->is_unix;
}

void profile_set_transport(options_t *point, bool is_tcp)
{
    point->is_tcp = is_tcp;
    point->is_unix = !is_tcp;
}

const char *profile_transport(const options_t *options)
{
    return options->target.socket_path ? "Unix socket" : "TCP";
}

void profile_set_flushes(options_t *options)
{
    static const uint64_t pauses[] = {20, 50, 100, 150, 1000};
    const strategy_t mode = options->strategies[0];
    size_t count = options->flushes.count;

    memcpy(options->strategies, options->flushes.strategies,
           count * sizeof *options->strategies);
    if (count == 0) {
        options->strategies[count++] = (strategy_t){.flush = SHOAL_FLUSH_OFF};
        for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++)
            options->strategies[count++] =
                (strategy_t){.flush = SHOAL_FLUSH_FIXED, .pause_us = pauses[i]};
        options->strategies[count++] = (strategy_t){.flush = SHOAL_FLUSH_AUTO};
    }
    for (size_t i = 0; i < count; i++) {
        options->strategies[i].mode = mode.mode;
        options->strategies[i].depth = mode.depth;
    }
    options->strategies_count = count;
}

size_t profile_find_flush(const plan_t *plan, shoal_flush_mode_t flush)
{
    for (size_t i = 0; i < plan->series_count; i++) {
        const strategy_t *strategy = &plan->series[i].strategy;
        if (strategy_is_shoal(strategy) && strategy->flush == flush)
            return i;
    }
    return VERDICT_NONE;
}

double profile_figure(const plan_t *plan, size_t series, figure_t figure)
{
    if (series >= plan->series_count || plan->series[series].rounds_count == 0)
        return (double)NAN;
    return plan->series[series].median.value[figure];
}

const char *profile_series_name(const plan_t *plan, size_t series, char *text,
                                size_t text_bytes)
{
    snprintf(text, text_bytes, "nothing");
    if (series < plan->series_count)
        strategy_name(&plan->series[series].strategy, text, text_bytes);
    return text;
}

void profile_show_table(FILE *out, const plan_t *plan)
{
    report_table(out, plan);
    if (plan->options->is_verbose)
        report_flushes(out, plan);
}

void profile_begin_point(findings_t *findings, const plan_t *plan, const char *remark)
{
    const options_t *options = plan->options;

    findings_begin(findings, "%llu %s, added round trip %llu us%s",
                   (unsigned long long)options->callers,
                   options->callers == 1 ? "caller" : "callers",
                   (unsigned long long)options->rtt_us, remark);
}

verdict_t profile_throughput(const plan_t *plan, size_t subject)
{
    double ops[OPTIONS_STRATEGIES_MAX];

    for (size_t i = 0; i < plan->series_count; i++)
        ops[i] = profile_figure(plan, i, FIGURE_OPS_PER_S);
    return verdict_throughput(ops, plan->series_count, subject);
}

void profile_judge_throughput(findings_t *findings, const plan_t *plan)
{
    char names[2][64];
    size_t subject = profile_find_flush(plan, SHOAL_FLUSH_AUTO);
    verdict_t verdict = profile_throughput(plan, subject);

    if (verdict.is_known)
        findings_judge(
            findings, &verdict,
            "throughput: %s %.3f of %s, the best other one (>= %.2f)",
            profile_series_name(plan, subject, names[0], sizeof names[0]),
            verdict.ratio,
            profile_series_name(plan, verdict.best, names[1], sizeof names[1]),
            VERDICT_THROUGHPUT_MIN);
}

void profile_judge_latency(findings_t *findings, const plan_t *plan, size_t subject,
                           size_t reference, const char *reference_name)
{
    char name[64];
    double p50_us[OPTIONS_STRATEGIES_MAX];

    for (size_t i = 0; i < plan->series_count; i++)
        p50_us[i] = profile_figure(plan, i, FIGURE_LATENCY_P50);
    verdict_t verdict = verdict_latency(p50_us, subject, reference);
    if (verdict.is_known)
        findings_judge(findings, &verdict, "p50: %s %.3f of %s (<= %.2f)",
                       profile_series_name(plan, subject, name, sizeof name),
                       verdict.ratio, reference_name, VERDICT_LONE_LATENCY_MAX);
}

size_t profile_find_standalone(const plan_t *plan, size_t series)
{
    char name[64], other[64];
    strategy_t twin = plan->series[series].strategy;

    if (twin.is_standalone || !strategy_is_shoal(&twin))
        return VERDICT_NONE;
    twin.is_standalone = true;
    strategy_name(&twin, name, sizeof name);
    for (size_t i = 0; i < plan->series_count; i++) {
        strategy_name(&plan->series[i].strategy, other, sizeof other);
        if (strcmp(name, other) == 0)
            return i;
    }
    return VERDICT_NONE;
}

void profile_note_standalone(findings_t *findings, const plan_t *plan)
{
    char name[64];

    for (size_t i = 0; i < plan->series_count; i++) {
        size_t twin = profile_find_standalone(plan, i);
        if (twin == VERDICT_NONE)
            continue;
        findings_note(
            findings,
            "%s: the cluster has %.2f of the throughput of one server, at %.2f of the "
            "client's CPU per command and %.2f of the servers'.",
            profile_series_name(plan, i, name, sizeof name),
            series_ratio(&plan->series[i], &plan->series[twin], FIGURE_OPS_PER_S),
            series_ratio(&plan->series[i], &plan->series[twin], FIGURE_CLIENT_CPU_US),
            series_ratio(&plan->series[i], &plan->series[twin], FIGURE_SERVER_CPU_US));
    }
}
