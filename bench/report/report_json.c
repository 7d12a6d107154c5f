/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include "profile/profile.h"
#include "server/machine.h"

#include <errno.h>
#include <math.h>
#include <shoal/stats.h>
#include <shoal/version.h>
#include <string.h>

/* A writer that knows whether a comma is due. */
typedef struct json {
    FILE *out;
    bool needs_comma;
} json_t;

static void begin_value(json_t *json, const char *key)
{
    if (json->needs_comma)
        fputs(", ", json->out);
    json->needs_comma = true;
    if (key)
        fprintf(json->out, "\"%s\": ", key);
}

static void open_bracket(json_t *json, const char *key, char bracket)
{
    begin_value(json, key);
    fputc(bracket, json->out);
    json->needs_comma = false;
}

static void close_bracket(json_t *json, char bracket)
{
    fputc(bracket, json->out);
    json->needs_comma = true;
}

static void put_text(json_t *json, const char *key, const char *text)
{
    begin_value(json, key);
    fputc('"', json->out);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(json->out, "\\%c", c);
        else if (c < 0x20)
            fprintf(json->out, "\\u%04x", c);
        else
            fputc(c, json->out);
    }
    fputc('"', json->out);
}

static void put_number(json_t *json, const char *key, double number)
{
    begin_value(json, key);
    if (!isfinite(number))
        fputs("null", json->out);
    else if (number == floor(number) && fabs(number) < 1e15)
        fprintf(json->out, "%.0f", number);
    else
        fprintf(json->out, "%.6g", number);
}

static void put_whole(json_t *json, const char *key, uint64_t number)
{
    begin_value(json, key);
    fprintf(json->out, "%llu", (unsigned long long)number);
}

static void put_bool(json_t *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

static void put_cpu(json_t *json, const char *key, uint64_t cpu)
{
    put_number(json, key, cpu == MACHINE_NO_CPU ? (double)NAN : (double)cpu);
}

static void put_batches(json_t *json, const figures_t *figures)
{
    if (!figures->has_batches) {
        put_number(json, "batch_histogram", (double)NAN);
        put_number(json, "flush_reasons", (double)NAN);
        return;
    }
    open_bracket(json, "batch_histogram", '[');
    for (size_t i = 0; i < SHOAL_STATS_BATCH_BUCKETS; i++)
        put_whole(json, NULL, figures->batch_histogram[i]);
    close_bracket(json, ']');
    open_bracket(json, "flush_reasons", '{');
    for (size_t i = 0; i < SHOAL_FLUSH_REASONS; i++)
        put_whole(json, shoal_flush_reason_name((shoal_flush_reason_t)i),
                  figures->flush_reasons[i]);
    close_bracket(json, '}');
}

/* The figures, as members of the object that is open. */
static void put_figures(json_t *json, const figures_t *figures,
                        const options_t *options)
{
    const char *group = NULL;

    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        const char *its_group = figure_group((figure_t)i);
        if (options->rate == 0 && i >= FIGURE_SERVICE_P0 && i <= FIGURE_SERVICE_MEAN)
            continue;
        if (options->beside_rate == 0 && i >= FIGURE_BESIDE_P0 &&
            i <= FIGURE_BESIDE_MEAN)
            continue;
        if (group && group != its_group)
            close_bracket(json, '}');
        if (its_group && group != its_group)
            open_bracket(json, its_group, '{');
        group = its_group;
        put_number(json, figure_key((figure_t)i), figures->value[i]);
    }
    put_batches(json, figures);
}

/* How many connections, or how many threads, a strategy uses. */
static uint64_t connections_of(const options_t *options, const strategy_t *strategy)
{
    switch (strategy->mode) {
    case MODE_CALLBACK:
    case MODE_SYNC:
    case MODE_BORROWED:
    case MODE_QUEUE:
    case MODE_LEASE:
    case MODE_BESIDE:
    case MODE_MIXED:
        return options->connections;
    case MODE_EXPLICIT:
        return options_explicit_connections(options);
    case MODE_POOL:
    case MODE_REDISPP:
        return options->callers;
    case MODE_COLLECTOR:
    case MODE_MUTEX:
    case MODE_PUBLISH:
    case MODE_SUBSCRIBE:
    case MODE_MAILBOX:
    case MODE_LISTEN:
        return 1;
    case MODE_RAW:
        break;
    }
    return options->threads;
}

static uint64_t threads_of(const options_t *options, const strategy_t *strategy)
{
    if (strategy->mode == MODE_POOL || strategy->mode == MODE_SYNC ||
        strategy->mode == MODE_MIXED || strategy->mode == MODE_LEASE ||
        strategy->mode == MODE_COLLECTOR || strategy->mode == MODE_MUTEX ||
        strategy->mode == MODE_REDISPP)
        return options->callers;
    if (strategy_has_messages(strategy))
        return 1;
    if (strategy->mode == MODE_BORROWED ||
        (strategy->mode == MODE_CALLBACK && options->rate == 0))
        return options->connections;
    return options->threads;
}

static void put_versions(json_t *json, const report_context_t *context)
{
    char hiredis[32];
    snprintf(hiredis, sizeof hiredis, "%d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR,
             HIREDIS_PATCH);
    open_bracket(json, "versions", '{');
    put_text(json, "shoal", shoal_version());
    put_text(json, "hiredis", hiredis);
    close_bracket(json, '}');
    put_text(json, "server_version", context->server_version);
    open_bracket(json, "machine", '{');
    put_text(json, "system", context->machine.system);
    put_text(json, "cpu", context->machine.cpu);
    put_whole(json, "cpus", context->machine.cpus);
    put_bool(json, "virtual", context->machine.is_virtual);
    close_bracket(json, '}');
}

static void put_load(json_t *json, const options_t *options, const strategy_t *strategy)
{
    char text[256];

    put_whole(json, "callers", options->callers);
    put_whole(json, "threads", threads_of(options, strategy));
    put_whole(json, "connections", connections_of(options, strategy));
    strategy_mode_name(strategy, text, sizeof text);
    put_text(json, "mode", text);
    strategy_flush_name(strategy, text, sizeof text);
    put_text(json, "flush", text);
    put_whole(json, "budget_us", options->budget_us);
    report_command(options, text, sizeof text);
    put_text(json, "command", text);
    put_whole(json, "value_bytes", options->value_bytes);
    put_whole(json, "value_bytes_max", options->value_bytes_max);
    put_whole(json, "keyspace", options->keyspace);
    put_text(json, "key_pattern", key_pattern_name(options->key_pattern));
    put_whole(json, "sets", options->sets);
    put_whole(json, "gets", options->gets);
    put_bool(json, "verify", options->is_verified);
    put_whole(json, "resp", (uint64_t)options->target.resp);
}

static void put_numbers(json_t *json, const char *key, const number_list_t *list)
{
    open_bracket(json, key, '[');
    for (size_t i = 0; i < list->count; i++)
        put_whole(json, NULL, list->numbers[i]);
    close_bracket(json, ']');
}

/* How many nodes a named cluster has is not known. */
static void put_cluster(json_t *json, const options_t *options,
                        const strategy_t *strategy)
{
    bool is_cluster = options->target.is_cluster && !strategy->is_standalone;
    bool is_private = is_cluster && options->is_private;

    put_bool(json, "cluster", is_cluster);
    put_number(json, "nodes", is_private ? (double)options->nodes : (double)NAN);
    put_number(json, "replicas", is_private ? (double)options->replicas : (double)NAN);
}

static void put_config(json_t *json, const plan_t *plan, const series_t *series,
                       const report_context_t *context)
{
    const options_t *options = plan->options;

    open_bracket(json, "config", '{');
    put_load(json, options, &series->strategy);
    put_whole(json, "rate", options->rate);
    put_numbers(json, "ladder", &options->ladder);
    put_whole(json, "beside_rate", options->beside_rate);
    put_whole(json, "pushes", options->pushes);
    put_whole(json, "large_bytes", options->large_bytes);
    put_text(json, "arrivals", options->is_random ? "random" : "even");
    put_whole(json, "requests", options->requests);
    put_number(json, "duration_s", (double)options->duration_us / 1e6);
    put_number(json, "warmup_s", (double)options->warmup_us / 1e6);
    put_whole(json, "rounds", options->rounds);
    put_whole(json, "rtt_us", options->rtt_us);
    put_text(json, "link", options->link_text ? options->link_text : "");
    put_whole(json, "latency_sampling", series->sampling);
    put_text(json, "url", plan->url);
    put_text(json, "transport", options->target.socket_path ? "unix" : "tcp");
    put_bool(json, "tls", options->target.is_tls && !series->strategy.is_plain);
    put_bool(json, "private_server", options->is_private);
    put_cluster(json, options, &series->strategy);
    put_cpu(json, "server_cpu", options->server_cpu);
    put_cpu(json, "client_cpu", options->client_cpu);
    put_cpu(json, "generator_cpu",
            options->rate || options->pushes || options->beside_rate
                ? options->generator_cpu
                : MACHINE_NO_CPU);
    put_whole(json, "seed", options->seed);
    put_versions(json, context);
    close_bracket(json, '}');
}

static void put_series(json_t *json, const plan_t *plan, const series_t *series,
                       const report_context_t *context)
{
    char name[64];

    strategy_name(&series->strategy, name, sizeof name);
    fputs("\n", json->out);
    open_bracket(json, NULL, '{');
    put_text(json, "strategy", name);
    put_figures(json, &series->median, plan->options);
    put_number(json, "ops_per_s_spread", series_spread(series, FIGURE_OPS_PER_S));
    if (series->median.value[FIGURE_ERRORS] > 0)
        put_text(json, "first_error", series->first_error);
    put_config(json, plan, series, context);
    open_bracket(json, "rounds", '[');
    for (size_t i = 0; i < series->rounds_count; i++) {
        open_bracket(json, NULL, '{');
        put_figures(json, &series->rounds[i], plan->options);
        close_bracket(json, '}');
    }
    close_bracket(json, ']');
    close_bracket(json, '}');
}

static void put_findings(json_t *json, const findings_t *findings)
{
    open_bracket(json, "findings", '[');
    for (size_t i = 0; i < findings->count; i++) {
        const finding_t *finding = &findings->list[i];
        open_bracket(json, NULL, '{');
        put_text(json, "kind", finding_kind_name(finding->kind));
        put_text(json, "about", finding->place);
        put_text(json, "text", finding->text);
        close_bracket(json, '}');
    }
    close_bracket(json, ']');
}

int report_json(const char *path, const plan_t *plans, size_t plans_count,
                const report_context_t *context, const findings_t *findings)
{
    bool is_stdout = strcmp(path, "-") == 0;
    json_t json = {.out = is_stdout ? stdout : fopen(path, "we")};
    bool was_interrupted = false;

    if (!json.out)
        return -1;
    for (size_t i = 0; i < plans_count; i++)
        was_interrupted = was_interrupted || plans[i].was_interrupted;
    open_bracket(&json, NULL, '{');
    put_text(&json, "tool", "shoal-bench " SHOAL_VERSION_STRING);
    put_bool(&json, "interrupted", was_interrupted);
    if (plans_count > 0)
        put_text(&json, "profile", plans[0].options->profile->name);
    put_findings(&json, findings);
    open_bracket(&json, "runs", '[');
    for (size_t i = 0; i < plans_count; i++) {
        for (size_t k = 0; k < plans[i].series_count; k++)
            put_series(&json, &plans[i], &plans[i].series[k], context);
    }
    close_bracket(&json, ']');
    close_bracket(&json, '}');
    fputs("\n", json.out);

    int failed = ferror(json.out);
    if (is_stdout)
        failed |= fflush(stdout);
    else
        failed |= fclose(json.out);
    return failed ? -1 : 0;
}
