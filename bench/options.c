/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "load/pusher.h"
#include "option_rules.h"
#include "profile/profile.h"
#include "pubsub/message.h"
#include "pubsub/publisher.h"
#include "server/machine.h"

#include <shoal/lease.h>
#include <shoal/tls.h>
#include <shoal/version.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTER_PRIMARIES_DEFAULT 3
#define CLUSTER_KEYS_DEFAULT 100000
#define WINDOW_DEFAULT 8192

bool options_complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("shoal-bench: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    return false;
}

/* The help of one option, wrapped at 80 columns. */
static void print_rule(const rule_t *rule)
{
    char head[40];
    if (rule->kind == RULE_HEADING) {
        printf("\n%s\n", rule->help);
        return;
    }
    const char *operand = rule->operand ? rule->operand : "";

    if (rule->letter)
        snprintf(head, sizeof head, "-%c, --%s %s", rule->letter, rule->name, operand);
    else
        snprintf(head, sizeof head, "    --%s %s", rule->name, operand);
    printf("  %-23s", head);
    report_wrapped(stdout, rule->help, 25, 80);
}

static void print_help(void)
{
    printf("shoal-bench [options] [--] [COMMAND ...]\n\n"
           "Measures throughput, latency, and the CPU of both ends.  Without -u, -h, "
           "-p or\n"
           "-s it starts a private redis-server and stops it again.  The default "
           "command is\n"
           "SET key:__key__ __data__; __rand_int__ is a place, too.\n");
    for (size_t i = 0; i < option_rules_count; i++)
        print_rule(&option_rules[i]);
    printf("\nFor example\n"
           "  shoal-bench --profile demo\n"
           "  shoal-bench -c 128 --rounds 5 --against raw:128,pool,off,fixed:100\n"
           "  shoal-bench --rate 50000 --rounds 3 --against off,fixed:100\n"
           "  shoal-bench --mode sync -c 8 -r 100000 --verify GET key:__key__\n"
           "  shoal-bench --profile sweep --callers-list 1,128 --rtts 0,200\n");
}

static bool read_whole(const rule_t *rule, const char *text, uint64_t *ret_value)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    *ret_value = strtoull(text, &end, 10);
    return *end == '\0' && *ret_value >= rule->min && *ret_value <= rule->max;
}

/* Whole numbers with commas between. */
static bool read_numbers(const rule_t *rule, const char *text, number_list_t *ret_list)
{
    ret_list->count = 0;
    for (;;) {
        char element[24] = "";
        size_t bytes = strcspn(text, ",");
        if (bytes >= sizeof element || ret_list->count == OPTIONS_LIST_MAX)
            return false;
        memcpy(element, text, bytes);
        if (!read_whole(rule, element, &ret_list->numbers[ret_list->count++]))
            return false;
        if (text[bytes] == '\0')
            return true;
        text += bytes + 1;
    }
}

static bool read_seconds(const rule_t *rule, const char *text, uint64_t *ret_us)
{
    char *end;
    if ((*text < '0' || *text > '9') && *text != '.')
        return false;
    double us = strtod(text, &end) * 1e6;
    if (*end != '\0' || !(us >= (double)rule->min) || us > (double)rule->max)
        return false;
    *ret_us = (uint64_t)(us + 0.5);
    return true;
}

static bool apply_number(char *field, const rule_t *rule, const char *shown,
                         const char *text)
{
    uint64_t value;

    if (rule->kind == RULE_WHOLE && !read_whole(rule, text, &value))
        return options_complain("%s %s: expected a whole number of %llu .. %llu", shown,
                                text, (unsigned long long)rule->min,
                                (unsigned long long)rule->max);
    if (rule->kind == RULE_SECONDS && !read_seconds(rule, text, &value))
        return options_complain("%s %s: expected seconds, %g .. %g", shown, text,
                                (double)rule->min / 1e6, (double)rule->max / 1e6);
    memcpy(field, &value, sizeof value);
    return true;
}

/* Says what is wrong and returns false, or applies the option. */
static bool apply(options_t *options, const rule_t *rule, const char *shown,
                  const char *text)
{
    char *field = (char *)options + rule->offset;
    const char *problem;

    switch (rule->kind) {
    case RULE_WHOLE:
    case RULE_SECONDS:
        return apply_number(field, rule, shown, text);
    case RULE_NUMBERS:
        if (read_numbers(rule, text, (number_list_t *)(void *)field))
            return true;
        return options_complain("%s %s: expected at most %d whole numbers of %llu .. "
                                "%llu, with commas between",
                                shown, text, OPTIONS_LIST_MAX,
                                (unsigned long long)rule->min,
                                (unsigned long long)rule->max);
    case RULE_TEXT:
        memcpy(field, &text, sizeof text);
        return true;
    case RULE_COPY:
        if (target_set_text((char **)(void *)field, text) == 0)
            return true;
        return options_complain("%s: out of memory", shown);
    case RULE_SET:
    case RULE_CLEAR:
        *(bool *)field = rule->kind == RULE_SET;
        return true;
    case RULE_CALL:
        problem = rule->apply(options, text);
        return problem ? options_complain("%s %s: %s", shown, text, problem) : true;
    case RULE_HEADING:
        break;
    }
    return false;
}

static const rule_t *find_rule(const char *argument, size_t name_bytes)
{
    for (size_t i = 0; i < option_rules_count; i++) {
        const rule_t *rule = &option_rules[i];
        if (!rule->name)
            continue;
        if (argument[1] != '-' && rule->letter == argument[1])
            return rule;
        if (argument[1] == '-' && strlen(rule->name) == name_bytes - 2 &&
            memcmp(rule->name, argument + 2, name_bytes - 2) == 0)
            return rule;
    }
    return NULL;
}

/* Parses the option at argv[*index] and moves on behind it and its operand. */
static bool parse_one(options_t *options, int argc, char **argv, int *index)
{
    const char *argument = argv[*index];
    bool is_long = argument[1] == '-';
    size_t name_bytes = is_long ? strcspn(argument, "=") : 2;
    const rule_t *rule = find_rule(argument, name_bytes);

    if (!rule)
        return options_complain("%s: unknown option; --help lists them", argument);

    const char *text = NULL;
    if (argument[name_bytes] != '\0')
        text = argument + name_bytes + (is_long ? 1 : 0);
    if (!rule->operand && text)
        return options_complain("%s: takes no operand", argument);
    if (rule->operand && !text) {
        if (*index + 1 >= argc)
            return options_complain("%s: needs %s", argument, rule->operand);
        text = argv[++*index];
    }
    ++*index;
    char shown[40];
    snprintf(shown, sizeof shown, "%.*s", (int)name_bytes, argument);
    return apply(options, rule, shown, text ? text : "");
}

static bool parse_against(options_t *options)
{
    char element[64];
    const char *problem;

    for (const char *text = options->against; text && *text != '\0';) {
        size_t bytes = strcspn(text, ",");
        snprintf(element, sizeof element, "%.*s", (int)bytes, text);
        if (options->strategies_count == OPTIONS_STRATEGIES_MAX)
            return options_complain("--against: more than %d",
                                    OPTIONS_STRATEGIES_MAX - 1);
        if (bytes >= sizeof element ||
            strategy_parse(&options->strategies[options->strategies_count],
                           &options->strategies[0], element, &problem) < 0)
            return options_complain("--against %s: %s", element,
                                    bytes >= sizeof element ? "too long" : problem);
        options->strategies_count++;
        text += bytes + (text[bytes] == ',');
    }
    return true;
}

/* Where each part of the machine runs. */
static bool place(options_t *options)
{
    cpu_plan_t plan = machine_plan_cpus();
    bool chose = options->server_cpu != MACHINE_NO_CPU;

    if (chose && !options->is_private)
        return options_complain("--server-cpu: the server is not ours to pin");
    if (!options->is_pinned) {
        options->server_cpu = options->client_cpu = MACHINE_NO_CPU;
        return true;
    }
    if (!options->is_private && options->client_cpu == MACHINE_NO_CPU)
        return true;
    if (options->is_private && !chose)
        options->server_cpu = plan.server;
    if (options->client_cpu == MACHINE_NO_CPU)
        options->client_cpu = plan.client;
    options->generator_cpu = plan.generator;
    if (plan.generator == options->server_cpu || plan.generator == plan.client)
        options->generator_cpu = options->client_cpu;
    if (options->publisher_cpu == MACHINE_NO_CPU)
        options->publisher_cpu = options->server_cpu;
    return true;
}

static void set_defaults(options_t *options)
{
    static const char *const command[] = {"SET", "key:__key__", "__data__"};

    *options = (options_t){
        .is_private = true,
        .nodes = OPTIONS_UNSET,
        .replicas = OPTIONS_UNSET,
        .callers = OPTIONS_UNSET,
        .threads = 1,
        .connections = 1,
        .duration_us = OPTIONS_UNSET,
        .warmup_us = OPTIONS_UNSET,
        .rounds = OPTIONS_UNSET,
        .seed = 1,
        .strategies_count = 1,
        .value_bytes = 16,
        .argc = sizeof command / sizeof *command,
        .argv = command,
        .is_pinned = true,
        .server_cpu = MACHINE_NO_CPU,
        .client_cpu = MACHINE_NO_CPU,
        .generator_cpu = MACHINE_NO_CPU,
        .publisher_cpu = MACHINE_NO_CPU,
        .window = OPTIONS_UNSET,
        .profile = &profile_plain,
    };
}

static const char *const publish_words[] = {"PUBLISH", "channel:__key__", "__data__"};
static const char *const pop_words[] = {PUSHER_POP};

/* A ladder of threads ends where it begins, and has no more steps than there are figures. */
static bool is_ladder(const number_list_t *rungs)
{
    return rungs->count == 0 ||
           (rungs->count >= 3 && rungs->count <= 1 + FIGURE_STEPS &&
            rungs->numbers[0] == rungs->numbers[rungs->count - 1]);
}

/* With TLS the private server is reached by TCP: on a Unix socket it has none. */
static bool check_tls(options_t *options)
{
    const target_tls_t *tls = &options->target.tls;
    bool has_files = tls->ca_file || tls->cert_file || tls->key_file;

    if (!options->target.is_tls)
        return !has_files && !tls->server_name
                   ? true
                   : options_complain("--ca, --cert, --key, --tls-name: need --tls");
    if (!SHOAL_BENCH_TLS || !shoal_has_tls())
        return options_complain("--tls: this program was built without");
    if (options->is_unix || options->target.socket_path)
        return options_complain("--tls: servers have no TLS on a Unix socket");
    if (options->is_private && has_files)
        return options_complain("--ca, --cert, --key: the private server has its own");
    options->is_tcp = true;
    return true;
}

/* Nodes are reached by TCP; without different keys one of them would have all the work. */
static bool check_cluster(options_t *options)
{
    bool has_numbers =
        options->nodes != OPTIONS_UNSET || options->replicas != OPTIONS_UNSET;

    if (has_numbers && !(options->target.is_cluster && options->is_private))
        return options_complain(
            "--nodes, --replicas: are for --cluster with private servers");
    if (!options->target.is_cluster)
        return true;
    if (options->is_unix || options->target.socket_path || options->target.sentinel)
        return options_complain("--cluster: not with --unix, -s or --sentinel");
    if (options->pushes != 0)
        return options_complain("--pushes: not with --cluster");
    options_default(&options->nodes, CLUSTER_PRIMARIES_DEFAULT);
    options_default(&options->replicas, 0);
    if (options->keyspace == 0)
        options->keyspace = CLUSTER_KEYS_DEFAULT;
    options->is_tcp = true;
    return true;
}

/* A publisher has commands of its own. */
static bool check_messages(options_t *options)
{
    const strategy_t *strategy = &options->strategies[0];

    options_default(&options->window, strategy_receives(strategy) ? WINDOW_DEFAULT : 0);
    if (!strategy_has_messages(strategy))
        return true;
    if (options->profile != &profile_plain)
        return options_complain("--mode: profiles measure commands, not messages");
    if (options->has_command || options->sets + options->gets > 0)
        return options_complain("--mode: the command is PUBLISH");
    if (options->value_bytes < MESSAGE_HEAD_BYTES ||
        options->value_bytes != options->value_bytes_max)
        return options_complain(
            "-d: messages have %u bytes or more, all of them as many",
            MESSAGE_HEAD_BYTES);
    if (options->keyspace > PUBLISHER_CHANNELS_MAX)
        return options_complain("-r: at most %u channels", PUBLISHER_CHANNELS_MAX);
    options->argv = publish_words;
    options->argc = sizeof publish_words / sizeof *publish_words;
    return true;
}

/* Checks that concern several options at once. */
static bool check_together(options_t *options)
{
    if (options->profile == &profile_cluster)
        options->target.is_cluster = true;
    if (!check_tls(options) || !check_cluster(options))
        return false;
    if (options->target.sentinel &&
        (options->is_private || options->target.socket_path ||
         options_have_proxy(options)))
        return options_complain(
            "--sentinel: is for -h and -p, without --rtt and --link");
    if (options->target.user && !options->target.password)
        return options_complain("--user: needs a password, -a");
    if (options->is_private && options->target.password)
        return options_complain(
            "-a: the private server has no password; name a server");
    if (options->value_bytes_max < options->value_bytes)
        options->value_bytes_max = options->value_bytes;
    if (options->profile->has_flushes && !strategy_is_shoal(&options->strategies[0]))
        return options_complain("--mode: the profile %s needs callback, sync, borrowed "
                                "or queue",
                                options->profile->name);
    if (options->is_unix && options->is_tcp && options->profile != &profile_threads &&
        options->profile != &profile_mixed && options->profile != &profile_ladder)
        return options_complain(
            "--unix, --tcp: only the profiles threads, mixed and ladder have both");
    if (options->profile == &profile_step &&
        options->strategies[0].mode != MODE_CALLBACK)
        return options_complain("--mode: the profile step needs callback");
    if (options->pushes != 0 && options->rate == 0) {
        if (options->has_command)
            return options_complain("--pushes: the command is BLPOP");
        options->argv = pop_words;
        options->argc = sizeof pop_words / sizeof *pop_words;
        options_default(&options->callers, SHOAL_LEASE_CONNECTIONS_MAX);
    }
    if (!check_messages(options))
        return false;
    if (options->profile != &profile_plain) {
        if (options->pushes != 0)
            return options_complain("--pushes: the profile chooses what is measured");
        if (options->against)
            return options_complain("--against: the profile chooses what is measured");
        if (options->requests != 0)
            return options_complain("-n: a profile goes by --duration");
        if (options->rate != 0)
            return options_complain("--rate: the profile chooses it; --rates restricts "
                                    "the profile rate");
    }
    if (options->profile == &profile_ladder && !is_ladder(&options->callers_list))
        return options_complain("--callers-list: ladder takes 3 .. %d numbers, and the "
                                "last is the first",
                                1 + FIGURE_STEPS);
    options->profile->set_defaults(options);
    return parse_against(options) && place(options);
}

options_outcome_t options_parse(options_t *options, int argc, char **argv)
{
    int index = 1;

    set_defaults(options);
    if (target_init(&options->target) < 0)
        return OPTIONS_WRONG;
    while (index < argc && argv[index][0] == '-' && argv[index][1] != '\0') {
        if (strcmp(argv[index], "--") == 0) {
            index++;
            break;
        }
        if (!parse_one(options, argc, argv, &index))
            return OPTIONS_WRONG;
    }
    if (options->wants_help) {
        print_help();
        return OPTIONS_SHOWN;
    }
    if (options->wants_version) {
        printf("shoal-bench %s\n", SHOAL_VERSION_STRING);
        return OPTIONS_SHOWN;
    }
    if (index < argc) {
        options->argc = (size_t)(argc - index);
        options->argv = (const char *const *)(argv + index);
        options->has_command = true;
    }
    return check_together(options) ? OPTIONS_RUN : OPTIONS_WRONG;
}

void options_release(options_t *options)
{
    target_release(&options->target);
}
