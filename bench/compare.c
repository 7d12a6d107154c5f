/* SPDX-License-Identifier: MIT */
#include "compare.h"

#include "json_reader.h"
#include "noise.h"
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_WORSE 1
#define EXIT_UNREADABLE 2
#define ROUNDS_MAX 1000
#define FILE_BYTES_MAX 1073741824u

/* A figure that is compared. */
typedef struct compared {
    const char *group; /* NULL: stands by itself */
    const char *key;
    const char *name;
    bool more_is_better;
} compared_t;

static const compared_t figures[] = {
    {NULL, "ops_per_s", "commands/s", true},
    {"latency_us", "p50", "p50, us", false},
    {"latency_us", "p99", "p99, us", false},
    {NULL, "client_cpu_us_per_op", "client CPU, us", false},
    {NULL, "server_cpu_us_per_op", "server CPU, us", false},
};

#define FIGURES (sizeof figures / sizeof *figures)

/* What makes two runs the same measurement. */
static const char *const config_keys[] = {
    "mode",      "flush",    "callers",         "threads",  "connections",
    "budget_us", "command",  "value_bytes",     "keyspace", "key_pattern",
    "sets",      "gets",     "value_bytes_max", "verify",   "resp",
    "rate",      "arrivals", "rtt_us",          "requests", "private_server",
    "link",
};

typedef struct tally {
    size_t runs;
    size_t better;
    size_t worse;
    size_t unknown;
} tally_t;

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t bytes = 0;
    size_t got = 1;

    while (file && got > 0 && bytes < FILE_BYTES_MAX) {
        char *grown = realloc(text, bytes + 65536 + 1);
        if (!grown)
            break;
        text = grown;
        got = fread(text + bytes, 1, 65536, file);
        bytes += got;
        text[bytes] = '\0';
    }
    bool failed = !file || got > 0 || ferror(file);
    if (file)
        fclose(file);
    if (failed) {
        free(text);
        return NULL;
    }
    return text;
}

static json_value_t *read_file(const char *path)
{
    char problem[160];
    char *text = read_whole(path);
    if (!text) {
        fprintf(stderr, "shoal-bench: %s: %s\n", path,
                errno != 0 ? strerror(errno) : "cannot be read");
        return NULL;
    }
    json_value_t *value = json_read(text, problem, sizeof problem);
    free(text);
    if (!value)
        fprintf(stderr, "shoal-bench: %s: %s\n", path, problem);
    else if (!json_member(value, "runs"))
        fprintf(stderr, "shoal-bench: %s: is not a file of --json\n", path);
    else
        return value;
    json_free(value);
    return NULL;
}

/* Both absent counts as equal: an older file knows fewer keys. */
static bool is_same_value(const json_value_t *left, const json_value_t *right)
{
    if (!left || !right)
        return true;
    if (left->type != right->type)
        return false;
    switch (left->type) {
    case JSON_NUMBER:
        return !(left->number < right->number) && !(left->number > right->number);
    case JSON_TEXT:
        return strcmp(left->text, right->text) == 0;
    case JSON_BOOL:
        return left->is_true == right->is_true;
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return true;
}

static bool is_same_run(const json_value_t *left, const json_value_t *right)
{
    const json_value_t *left_config = json_member(left, "config");
    const json_value_t *right_config = json_member(right, "config");

    for (size_t i = 0; i < sizeof config_keys / sizeof *config_keys; i++) {
        if (!is_same_value(json_member(left_config, config_keys[i]),
                           json_member(right_config, config_keys[i])))
            return false;
    }
    return left_config && right_config;
}

static double value_of(const json_value_t *holder, const compared_t *figure)
{
    if (figure->group)
        holder = json_member(holder, figure->group);
    return json_number(holder, figure->key, (double)NAN);
}

static noise_rounds_t rounds_of(const json_value_t *run, const compared_t *figure)
{
    double values[ROUNDS_MAX];
    size_t count = 0;
    const json_value_t *rounds = json_member(run, "rounds");

    for (const json_value_t *round = rounds ? rounds->first : NULL;
         round && count < ROUNDS_MAX; round = round->next)
        values[count++] = value_of(round, figure);
    return noise_rounds_of(value_of(run, figure), values, count);
}

static const char *word_of(noise_verdict_t verdict, tally_t *tally)
{
    switch (verdict) {
    case NOISE_UNKNOWN:
        tally->unknown++;
        return "? one round";
    case NOISE_SAME:
        return "within the noise";
    case NOISE_BETTER:
        tally->better++;
        return "BETTER";
    case NOISE_WORSE:
        tally->worse++;
        break;
    }
    return "WORSE";
}

static void compare_figure(const json_value_t *before, const json_value_t *after,
                           const compared_t *figure, tally_t *tally)
{
    char text[2][24];
    noise_rounds_t old_rounds = rounds_of(before, figure);
    noise_rounds_t new_rounds = rounds_of(after, figure);

    if (isnan(old_rounds.median) || isnan(new_rounds.median))
        return;
    report_number(old_rounds.median, text[0], sizeof text[0]);
    report_number(new_rounds.median, text[1], sizeof text[1]);
    noise_verdict_t verdict =
        noise_judge(&old_rounds, &new_rounds, figure->more_is_better);
    printf("  %-16s %8s %8s  %+7.1f %%  %s\n", figure->name, text[0], text[1],
           (new_rounds.median / old_rounds.median - 1) * 100, word_of(verdict, tally));
}

static void print_run(const json_value_t *run)
{
    const json_value_t *config = json_member(run, "config");
    double rate = json_number(config, "rate", 0);
    double rtt_us = json_number(config, "rtt_us", 0);

    printf("%s, %.0f callers", json_text(run, "strategy", "?"),
           json_number(config, "callers", 0));
    if (rate > 0)
        printf(", %.0f/s", rate);
    if (rtt_us > 0)
        printf(", %.0f us of added round trip", rtt_us);
    printf("; %s\n", json_text(config, "command", "?"));
}

/* The first run of the other file that is the same measurement. */
static const json_value_t *find_run(const json_value_t *runs,
                                    const json_value_t *wanted)
{
    const json_value_t *run = runs->first;
    while (run && !is_same_run(run, wanted))
        run = run->next;
    return run;
}

static tally_t compare_runs(const json_value_t *before, const json_value_t *after)
{
    tally_t tally = {0};
    const json_value_t *old_runs = json_member(before, "runs");
    const json_value_t *new_runs = json_member(after, "runs");

    for (const json_value_t *run = new_runs->first; run; run = run->next) {
        const json_value_t *former = find_run(old_runs, run);
        if (!former)
            continue;
        tally.runs++;
        print_run(run);
        for (size_t i = 0; i < FIGURES; i++)
            compare_figure(former, run, &figures[i], &tally);
    }
    if (tally.runs < new_runs->count || tally.runs < old_runs->count)
        printf("%zu of %zu old and %zu new runs belong together\n", tally.runs,
               old_runs->count, new_runs->count);
    return tally;
}

int compare_files(const char *old_path, const char *new_path, bool is_strict)
{
    json_value_t *before = read_file(old_path);
    json_value_t *after = before ? read_file(new_path) : NULL;
    int code = EXIT_UNREADABLE;

    if (after) {
        printf("%-18s %8s %8s  %9s\n", "", "old", "new", "change");
        tally_t tally = compare_runs(before, after);
        printf(
            "%zu better, %zu worse beyond the noise: the medians differ by more than "
            "the rounds\nof both files do among themselves, and by more than %.0f %%\n",
            tally.better, tally.worse, NOISE_FLOOR * 100);
        if (tally.runs == 0)
            fprintf(stderr, "shoal-bench: no run of the one file is in the other\n");
        else
            code = is_strict && tally.worse > 0 ? EXIT_WORSE : 0;
    }
    json_free(before);
    json_free(after);
    return code;
}
