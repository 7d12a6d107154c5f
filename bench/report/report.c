/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include "load/large.h"
#include "server/machine.h"

#include <math.h>
#include <string.h>

void report_command(const options_t *options, char *text, size_t text_bytes)
{
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < options->argc && at < text_bytes; i++)
        at += (size_t)snprintf(text + at, text_bytes - at, "%s%s", i ? " " : "",
                               options->argv[i]);
}

static void describe_pinning(FILE *out, const options_t *options)
{
    if (options->server_cpu != MACHINE_NO_CPU)
        fprintf(out, ", on CPU %llu", (unsigned long long)options->server_cpu);
    if (options->client_cpu != MACHINE_NO_CPU)
        fprintf(out, "; client on CPU %llu", (unsigned long long)options->client_cpu);
    if (options->server_cpu != MACHINE_NO_CPU)
        fputs(" (--no-pin leaves both free)", out);
}

static void describe_cluster(FILE *out, const options_t *options)
{
    fprintf(out, "private cluster of %llu %s", (unsigned long long)options->nodes,
            options->nodes == 1 ? "primary" : "primaries");
    if (options->replicas > 0)
        fprintf(out, " with %llu %s each", (unsigned long long)options->replicas,
                options->replicas == 1 ? "replica" : "replicas");
}

void report_machine(FILE *out, const options_t *options,
                    const report_context_t *context)
{
    bool is_cluster = options->is_private && options->target.is_cluster;

    fprintf(out, "%s, %s%s", context->server_version,
            is_cluster                            ? ""
            : !options->is_private                ? context->url
            : options->is_tcp && options->is_unix ? "private, Unix socket and TCP"
            : options->target.is_tls              ? "private, TLS over TCP"
            : options->is_tcp                     ? "private, TCP"
                                                  : "private, Unix socket",
            options->is_private ? "" : ", not ours");
    if (is_cluster)
        describe_cluster(out, options);
    describe_pinning(out, options);
    fprintf(out, "\n%s, %zu CPUs; %s\n", context->machine.cpu, context->machine.cpus,
            context->machine.system);
}

static void describe_commands(FILE *out, const options_t *options)
{
    char command[200];
    report_command(options, command, sizeof command);

    fprintf(out, "%s", command);
    if (strstr(command, "__data__"))
        fprintf(out, ", %llu", (unsigned long long)options->value_bytes);
    if (strstr(command, "__data__") && options->value_bytes_max > options->value_bytes)
        fprintf(out, " .. %llu", (unsigned long long)options->value_bytes_max);
    if (strstr(command, "__data__"))
        fputs(" bytes", out);
    if (options->keyspace > 1)
        fprintf(out, ", %llu keys, %s", (unsigned long long)options->keyspace,
                key_pattern_name(options->key_pattern));
    if (options->sets + options->gets > 0)
        fprintf(out, ", %llu to %llu GET", (unsigned long long)options->sets,
                (unsigned long long)options->gets);
}

void report_heading(FILE *out, const options_t *options,
                    const report_context_t *context)
{
    report_machine(out, options, context);
    describe_commands(out, options);
    if (options->rate)
        fprintf(out, "; open loop, %llu/s, %s,", (unsigned long long)options->rate,
                options->is_random ? "at random moments" : "evenly spaced");
    else
        fputs(";", out);
    if (options->pushes)
        fprintf(out, " %llu elements/s,", (unsigned long long)options->pushes);
    if (!strategy_has_messages(&options->strategies[0]))
        fprintf(out, " %llu callers", (unsigned long long)options->callers);
    else if (options->rate == 0 && options->window != 0)
        fprintf(out, " %llu messages on their way",
                (unsigned long long)options->window);
    else
        fputs(" no bound of messages on their way", out);
    if (options->large_bytes)
        fprintf(out, ", beside %d with values of %llu bytes", LARGE_CALLERS,
                (unsigned long long)options->large_bytes);
    if (options->connections > 1)
        fprintf(out, ", %llu connections", (unsigned long long)options->connections);
    if (options->rtt_us > 0)
        fprintf(out, "; %llu us of added round trip",
                (unsigned long long)options->rtt_us);
    if (options->link_text)
        fprintf(out, "; a link of %s", options->link_text);
    if (options->requests)
        fprintf(out, "; %llu commands", (unsigned long long)options->requests);
    else
        fprintf(out, "; %g s", (double)options->duration_us / 1e6);
    fprintf(out, " after %g s of warm-up", (double)options->warmup_us / 1e6);
    if (options->rounds > 1)
        fprintf(out, ", medians of %llu rounds", (unsigned long long)options->rounds);
    fprintf(out, "%s\n\n", options->is_verified ? ", replies compared" : "");
}

static void print_csv_row(FILE *out, const plan_t *plan, const strategy_t *strategy,
                          size_t round, const figures_t *figures)
{
    char mode[40];
    char flush[40];

    strategy_mode_name(strategy, mode, sizeof mode);
    strategy_flush_name(strategy, flush, sizeof flush);
    fprintf(out, "%s,%s,%llu,%llu,%llu,%zu", mode, flush,
            (unsigned long long)plan->options->callers,
            (unsigned long long)plan->options->rate,
            (unsigned long long)plan->options->rtt_us, round);
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        if (isfinite(figures->value[i]))
            fprintf(out, ",%.6g", figures->value[i]);
        else
            fputs(",", out);
    }
    fputs("\n", out);
}

void report_csv_head(FILE *out)
{
    fputs("mode,flush,callers,rate,rtt_us,round", out);
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        const char *group = figure_group((figure_t)i);
        fprintf(out, ",%s%s%s", group ? group : "", group ? "_" : "",
                figure_key((figure_t)i));
    }
    fputs("\n", out);
}

void report_csv(FILE *out, const plan_t *plan)
{
    for (size_t i = 0; i < plan->series_count; i++) {
        const series_t *series = &plan->series[i];
        for (size_t round = 0; round < series->rounds_count; round++)
            print_csv_row(out, plan, &series->strategy, round + 1,
                          &series->rounds[round]);
    }
}
