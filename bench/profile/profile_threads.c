/* SPDX-License-Identifier: MIT */

/* Threads in blocking calls, few and many, over both kinds of sockets: shoal on one
 * connection against a plain connection for each thread, and against a mutex queue in
 * front of hiredis' asynchronous interface. */

#include "judge/thread_bars.h"
#include "profile/profile.h"

#include <math.h>

/* The pool comes first: the others are compared with it. */
#define POOL 0u
#define MUTEX 1u

static void set_defaults(options_t *options)
{
    profile_set_times(options, 5, 200000, 500000);
    profile_default_transports(options);
}

/* Pool, mutex queue, then shoal with each flush setting, and redis-plus-plus if it is
 * there. */
static void set_strategies(options_t *point)
{
    const strategy_t given = point->strategies[0];
    size_t flushes = point->flushes.count;
    size_t count = MUTEX + 1;

    point->strategies[POOL] = (strategy_t){.mode = MODE_POOL};
    point->strategies[MUTEX] = (strategy_t){.mode = MODE_MUTEX};
    for (size_t i = 0; i < (flushes ? flushes : 1); i++) {
        strategy_t *strategy = &point->strategies[count++];
        *strategy = flushes ? point->flushes.strategies[i] : given;
        strategy->mode = MODE_SYNC;
        strategy->homes = given.homes;
    }
    point->strategies[count] = (strategy_t){.mode = MODE_REDISPP};
    count += strategy_is_available(&point->strategies[count]);
    point->strategies_count = count;
}

static void add_points(plan_list_t *list, const options_t *options, bool is_tcp)
{
    static const uint64_t all_threads[] = {1, 2, 4, 8, 16, 32, 128};
    static const uint64_t all_rtts[] = {0, 200};
    number_list_t rtts = profile_rtts(options, all_rtts, 2);
    number_list_t threads = profile_callers(options, all_threads, 7);

    for (size_t i = 0; i < rtts.count; i++) {
        for (size_t k = 0; k < threads.count; k++) {
            options_t *point = plan_list_add(list, options);
            profile_set_transport(point, is_tcp);
            point->rtt_us = rtts.numbers[i];
            point->callers = threads.numbers[k];
            set_strategies(point);
        }
    }
}

static void prepare(plan_list_t *list, const options_t *options)
{
    for (int is_tcp = 0; is_tcp < 2; is_tcp++) {
        if (profile_has_transport(options, is_tcp))
            add_points(list, options, is_tcp);
    }
}

static double ratio(const plan_t *plan, size_t series, size_t reference,
                    figure_t figure)
{
    if (series >= plan->series_count || reference >= plan->series_count)
        return (double)NAN;
    return series_ratio(&plan->series[series], &plan->series[reference], figure);
}

/* Judges a ratio of one series; nothing is said where nothing is asked. */
static void judge_ratio(findings_t *findings, const plan_t *plan, size_t series,
                        size_t reference, figure_t figure, const char *what,
                        double least, double most)
{
    char names[2][64];
    double value = ratio(plan, series, reference, figure);
    bool is_floor = !isnan(least);
    double bar = is_floor ? least : most;
    verdict_t verdict =
        is_floor ? verdict_at_least(value, bar) : verdict_at_most(value, bar);

    if (verdict.is_known)
        findings_judge(findings, &verdict, "%s: %s %.3f of %s (%s %.2f)", what,
                       profile_series_name(plan, series, names[0], sizeof names[0]),
                       value,
                       profile_series_name(plan, reference, names[1], sizeof names[1]),
                       is_floor ? ">=" : "<=", bar);
}

static void judge(findings_t *findings, const plan_t *plan, size_t series)
{
    const double none = (double)NAN;
    thread_bars_t bars = thread_bars(plan->options->callers);

    judge_ratio(findings, plan, series, POOL, FIGURE_OPS_PER_S, "throughput",
                bars.throughput_min, none);
    judge_ratio(findings, plan, series, MUTEX, FIGURE_OPS_PER_S, "throughput",
                bars.mutex_throughput_min, none);
    judge_ratio(findings, plan, series, POOL, FIGURE_LATENCY_P50, "p50", none,
                bars.p50_max);
    judge_ratio(findings, plan, series, POOL, FIGURE_LATENCY_P99, "p99", none,
                bars.p99_max);
    judge_ratio(findings, plan, series, POOL, FIGURE_CPU_US, "CPU of both ends", none,
                bars.cpu_max);
}

static void show(findings_t *findings, const plan_t *plan)
{
    static const column_t columns[] = {
        {"", "ops/s", FIGURE_OPS_PER_S, 7, COLUMN_MEDIAN},
        {"to", "pool", FIGURE_OPS_PER_S, 5, COLUMN_RATIO},
        {"p50", "us", FIGURE_LATENCY_P50, 6, COLUMN_MEDIAN},
        {"p99", "us", FIGURE_LATENCY_P99, 6, COLUMN_MEDIAN},
        {"client", "us/op", FIGURE_CLIENT_CPU_US, 6, COLUMN_MEDIAN},
        {"server", "us/op", FIGURE_SERVER_CPU_US, 6, COLUMN_MEDIAN},
        {"both to", "pool", FIGURE_CPU_US, 7, COLUMN_RATIO},
        {"sleeps", "/op", FIGURE_SLEEPS, 6, COLUMN_MEDIAN},
        {"preempt", "/op", FIGURE_PREEMPTIONS, 7, COLUMN_MEDIAN},
    };
    const options_t *options = plan->options;

    findings_begin(findings, "%llu blocking %s, %s, added round trip %llu us",
                   (unsigned long long)options->callers,
                   options->callers == 1 ? "thread" : "threads",
                   profile_transport(options), (unsigned long long)options->rtt_us);
    report_columns(findings->out, plan, columns, sizeof columns / sizeof *columns);
    if (options->is_verbose)
        report_flushes(findings->out, plan);
    for (size_t i = MUTEX + 1; i < plan->series_count; i++) {
        if (strategy_is_shoal(&plan->series[i].strategy))
            judge(findings, plan, i);
    }
    fputs("\n", findings->out);
}

/* A line of the summary: one series at all points from `first` on, as ratios. */
static void print_ratios(FILE *out, const plan_list_t *list, size_t first, size_t count,
                         size_t series, size_t reference, figure_t figure)
{
    for (size_t i = first; i < first + count; i++) {
        char text[32];
        report_number(ratio(&list->plans[i], series, reference, figure), text,
                      sizeof text);
        fprintf(out, " %6s", text);
    }
    fputs("\n", out);
}

/* How many points from `first` on differ in nothing but their threads. */
static size_t count_alike(const plan_list_t *list, size_t first)
{
    size_t count = 0;

    while (first + count < list->count &&
           list->options[first + count]->is_tcp == list->options[first]->is_tcp &&
           list->options[first + count]->rtt_us == list->options[first]->rtt_us)
        count++;
    return count;
}

/* The table of one socket and one round trip, threads by column. */
static void summarise_group(FILE *out, const plan_list_t *list, size_t first,
                            size_t count)
{
    static const struct {
        const char *name;
        size_t reference;
        figure_t figure;
    } lines[] = {
        {"throughput to pool", POOL, FIGURE_OPS_PER_S},
        {"throughput to mutex", MUTEX, FIGURE_OPS_PER_S},
        {"p50 to pool", POOL, FIGURE_LATENCY_P50},
        {"p99 to pool", POOL, FIGURE_LATENCY_P99},
        {"CPU of both to pool", POOL, FIGURE_CPU_US},
    };
    const plan_t *plan = &list->plans[first];

    fprintf(out, "%s, added round trip %llu us\n%-34s",
            profile_transport(plan->options), (unsigned long long)plan->options->rtt_us,
            "threads");
    for (size_t i = first; i < first + count; i++)
        fprintf(out, " %6llu", (unsigned long long)list->options[i]->callers);
    fputs("\n", out);
    for (size_t series = MUTEX + 1; series < plan->series_count; series++) {
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            char name[64];
            fprintf(out, "%-13s%-21s",
                    profile_series_name(plan, series, name, sizeof name),
                    lines[i].name);
            print_ratios(out, list, first, count, series, lines[i].reference,
                         lines[i].figure);
        }
    }
}

static void summarise(findings_t *findings, const plan_list_t *list)
{
    const strategy_t redispp = {.mode = MODE_REDISPP};

    if (!strategy_is_available(&redispp))
        findings_note(findings,
                      "redis-plus-plus was not installed when this program was "
                      "built: it has no row.");
    for (size_t first = 0; first < list->count;) {
        size_t count = count_alike(list, first);
        if (count > 1)
            summarise_group(findings->out, list, first, count);
        first += count;
    }
}

const profile_t profile_threads = {"threads",       false, set_defaults, prepare,
                                   profile_heading, show,  summarise};
