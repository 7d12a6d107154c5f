/* SPDX-License-Identifier: MIT */
#include "html_page.h"
#include "profile.h"

#include <string.h>

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("_-+=:,./@%", c) != NULL;
}

/* One argument as a shell reads it, escaped for the page. */
static void put_argument(FILE *out, const char *text)
{
    bool needs_quotes = *text == '\0';
    char piece[2] = "";

    for (const char *c = text; *c != '\0'; c++)
        needs_quotes = needs_quotes || !is_plain(*c);
    fputs(needs_quotes ? " '" : " ", out);
    for (const char *c = text; *c != '\0'; c++) {
        piece[0] = *c;
        svg_escape(out, needs_quotes && *c == '\'' ? "'\\''" : piece);
    }
    if (needs_quotes)
        fputs("'", out);
}

static void put_number(FILE *out, const char *name, uint64_t number, uint64_t fallback)
{
    if (number != fallback)
        fprintf(out, " %s %llu", name, (unsigned long long)number);
}

static void put_server(FILE *out, const options_t *options,
                       const report_context_t *context)
{
    if (!options->is_private) {
        fputs(" -u", out);
        put_argument(out, context->url);
    }
    if (options->is_private && options->is_tcp)
        fputs(" --tcp", out);
    if (!options->is_pinned)
        fputs(" --no-pin", out);
    if (options->target.resp == 2)
        fputs(" --resp 2", out);
    put_number(out, "--rtt", options->rtt_us, 0);
    if (options->link_text) {
        fputs(" --link", out);
        put_argument(out, options->link_text);
    }
}

/* The first strategy by --mode and --flush, the others by --against. */
static void put_strategies(FILE *out, const plan_t *plan)
{
    char mode[40];
    char flush[40];

    for (size_t i = 0; i < plan->series_count; i++) {
        const strategy_t *strategy = &plan->series[i].strategy;
        strategy_mode_name(strategy, mode, sizeof mode);
        strategy_flush_name(strategy, flush, sizeof flush);
        if (i == 0)
            fprintf(out, " --mode %s%s%s", mode, *flush ? " --flush " : "", flush);
        else
            fprintf(out, "%s%s%s%s", i == 1 ? " --against " : ",", mode,
                    *flush ? "+" : "", flush);
    }
}

static void put_load(FILE *out, const options_t *options)
{
    fprintf(out, " -c %llu", (unsigned long long)options->callers);
    put_number(out, "--rate", options->rate, 0);
    if (options->rate && options->is_random)
        fputs(" --arrivals random", out);
    put_number(out, "-t", options->threads, 1);
    put_number(out, "--connections", options->connections, 1);
    put_number(out, "--budget", options->budget_us, 0);
    if (options->requests)
        put_number(out, "-n", options->requests, 0);
    else
        fprintf(out, " --duration %g", (double)options->duration_us / 1e6);
    fprintf(out, " --warmup %g --rounds %llu", (double)options->warmup_us / 1e6,
            (unsigned long long)options->rounds);
}

static void put_command(FILE *out, const options_t *options)
{
    if (options->value_bytes_max > options->value_bytes)
        fprintf(out, " --data-range %llu-%llu",
                (unsigned long long)options->value_bytes,
                (unsigned long long)options->value_bytes_max);
    else
        put_number(out, "-d", options->value_bytes, 16);
    put_number(out, "-r", options->keyspace, 0);
    if (options->key_pattern != KEY_UNIFORM)
        fprintf(out, " --key-pattern %s", key_pattern_name(options->key_pattern));
    if (options->sets + options->gets > 0)
        fprintf(out, " --ratio %llu:%llu", (unsigned long long)options->sets,
                (unsigned long long)options->gets);
    put_number(out, "--seed", options->seed, 1);
    if (options->is_verified)
        fputs(" --verify", out);
    fputs(" --", out);
    for (size_t i = 0; i < options->argc; i++)
        put_argument(out, options->argv[i]);
}

static void put_plan(FILE *out, const plan_t *plan, const report_context_t *context)
{
    fputs("shoal-bench", out);
    put_server(out, plan->options, context);
    put_strategies(out, plan);
    put_load(out, plan->options);
    put_command(out, plan->options);
    fputs("\n", out);
}

static void put_list(FILE *out, const char *name, const number_list_t *list)
{
    for (size_t i = 0; i < list->count; i++)
        fprintf(out, "%s%s%llu", i ? "," : name, i ? "" : " ",
                (unsigned long long)list->numbers[i]);
}

/* The profile, and what its points were restricted to. */
static void put_profile(FILE *out, const options_t *options)
{
    char flush[40];

    fprintf(out, "shoal-bench --profile %s", options->profile->name);
    put_list(out, " --callers-list", &options->callers_list);
    put_list(out, " --rates", &options->rates);
    put_list(out, " --rtts", &options->rtts);
    put_list(out, " --batches", &options->batches);
    for (size_t i = 0; i < options->flushes.count; i++) {
        strategy_flush_name(&options->flushes.strategies[i], flush, sizeof flush);
        fprintf(out, "%s%s", i ? "," : " --flushes ", flush);
    }
}

static bool has_steps(const study_t *study)
{
    for (size_t i = 0; i < study->plans_count; i++) {
        if (study->plans[i].options->is_step)
            return true;
    }
    return false;
}

void html_reproduce(FILE *out, const study_t *study, const report_context_t *context)
{
    const profile_t *profile =
        study->plans_count > 0 ? study->plans[0].options->profile : NULL;
    bool is_set = profile && strcmp(profile->name, profile_plain.name) != 0;

    if (study->plans_count == 0)
        return;
    fputs("<section>\n<h2>Measure it again</h2>\n", out);
    if (is_set) {
        fputs("<p class=\"reading\">The whole set:</p>\n<pre>", out);
        put_profile(out, study->plans[0].options);
        fputs("</pre>\n", out);
    }
    if (!has_steps(study)) {
        fprintf(out, "<p class=\"reading\">%s</p>\n<pre>",
                study->plans_count > 1
                    ? "Each point by itself, the same options in full:"
                    : "The same options in full:");
        for (size_t i = 0; i < study->plans_count; i++)
            put_plan(out, &study->plans[i], context);
        fputs("</pre>\n", out);
    }
    fputs("<p class=\"reading\">Credentials, if there were any, are left out.  "
          "<code>--json FILE</code> writes every round of every figure, "
          "<code>--compare</code> says which differences between two such files are "
          "beyond the noise.</p>\n</section>\n",
          out);
}
