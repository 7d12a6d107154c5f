/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "machine.h"

#include <shoal/version.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_US 86400000000u

/* How an option's text becomes a value at its offset in options_t. */
typedef enum rule_kind {
    RULE_WHOLE,   /* uint64_t, min .. max */
    RULE_SECONDS, /* decimal seconds to uint64_t microseconds, min .. max of those */
    RULE_TEXT,    /* const char * */
    RULE_SET,     /* bool, true */
    RULE_CLEAR,   /* bool, false */
    RULE_CALL,    /* apply() says what is wrong, or NULL */
} rule_kind_t;

typedef struct rule {
    char letter;         /* 0: none */
    const char *name;    /* NULL: none */
    const char *operand; /* its name in the help; NULL: takes none */
    rule_kind_t kind;
    size_t offset;
    uint64_t min;
    uint64_t max;
    const char *(*apply)(options_t *options, const char *text);
    const char *help;
} rule_t;

static const char *set_url(options_t *options, const char *text)
{
    const char *problem;
    options->is_private = false;
    return target_set_url(&options->target, text, &problem) < 0 ? problem : NULL;
}

static const char *set_host(options_t *options, const char *text)
{
    options->is_private = false;
    target_set_text(&options->target.socket_path, NULL);
    return target_set_text(&options->target.host, text) < 0 ? "out of memory" : NULL;
}

static const char *set_port(options_t *options, const char *text)
{
    char *end;
    long port = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || port < 1 || port > 65535)
        return "expected 1 .. 65535";
    options->is_private = false;
    target_set_text(&options->target.socket_path, NULL);
    options->target.port = (int)port;
    return NULL;
}

static const char *set_socket(options_t *options, const char *text)
{
    options->is_private = false;
    return target_set_text(&options->target.socket_path, text) < 0 ? "out of memory"
                                                                   : NULL;
}

static const char *set_password(options_t *options, const char *text)
{
    return target_set_text(&options->target.password, text) < 0 ? "out of memory"
                                                                : NULL;
}

static const char *set_user(options_t *options, const char *text)
{
    return target_set_text(&options->target.user, text) < 0 ? "out of memory" : NULL;
}

static const char *set_mode(options_t *options, const char *text)
{
    return strategy_parse_mode(&options->strategies[0], text) < 0
               ? "expected callback, sync, borrowed, pool, explicit:N or raw:N"
               : NULL;
}

static const char *set_flush(options_t *options, const char *text)
{
    return strategy_parse_flush(&options->strategies[0], text) < 0
               ? "expected auto, off or fixed:US with 1 .. 1000000 microseconds"
               : NULL;
}

static const char *set_resp(options_t *options, const char *text)
{
    if (strcmp(text, "2") != 0 && strcmp(text, "3") != 0)
        return "expected 2 or 3";
    options->target.resp = text[0] - '0';
    return NULL;
}

static const char *set_arrivals(options_t *options, const char *text)
{
    options->is_random = strcmp(text, "random") == 0;
    return options->is_random || strcmp(text, "even") == 0 ? NULL
                                                           : "expected even or random";
}

static const char *set_profile(options_t *options, const char *text)
{
    options->is_demo = strcmp(text, "demo") == 0;
    return options->is_demo ? NULL : "expected demo";
}

/* clang-format off */
#define AT(field) offsetof(options_t, field)
#define CALL(apply) RULE_CALL, 0, 0, 0, apply

static const rule_t rules[] = {
    {'u', "url", "URL", CALL(set_url), "redis://[[user]:password@]host[:port][/db] or unix://..."},
    {'h', "host", "HOST", CALL(set_host), "the server's name or address [127.0.0.1]"},
    {'p', "port", "PORT", CALL(set_port), "its port [6379]"},
    {'s', "socket", "PATH", CALL(set_socket), "its Unix socket"},
    {'a', "password", "PASSWORD", CALL(set_password), "authenticate"},
    {0, "user", "USER", CALL(set_user), "as this user [the default user]"},

    {'c', "callers", "N", RULE_WHOLE, AT(callers), 1, OPTIONS_CALLERS_MAX, NULL,
     "concurrent callers; each waits for its reply, then sends the next [128]"},
    {'n', "requests", "N", RULE_WHOLE, AT(requests), 1, UINT64_MAX / 2, NULL,
     "end a round after so many commands"},
    {0, "duration", "SECONDS", RULE_SECONDS, AT(duration_us), 10000, DAY_US, NULL,
     "end a round after so long, if there is no -n [5]"},
    {0, "warmup", "SECONDS", RULE_SECONDS, AT(warmup_us), 0, DAY_US, NULL,
     "load before each round that is not counted [1]"},
    {0, "rounds", "N", RULE_WHOLE, AT(rounds), 1, 1000, NULL,
     "measure so often; the table shows medians [1]"},
    {0, "rate", "N", RULE_WHOLE, AT(rate), 1, 100000000, NULL,
     "open loop: N commands per second, however fast replies come; latency counts"
     " from the intended moment"},
    {0, "arrivals", "HOW", CALL(set_arrivals),
     "of --rate: even, or random, a Poisson process [even]"},
    {'t', "threads", "N", RULE_WHOLE, AT(threads), 1, 64, NULL,
     "load threads of explicit, raw, and of --rate [1]"},

    {0, "mode", "MODE", CALL(set_mode),
     "callback|sync|borrowed (shoal), pool|explicit:N (hiredis), raw:N (the limit)"
     " [callback]"},
    {0, "flush", "FLUSH", CALL(set_flush), "auto|off|fixed:US [auto]"},
    {0, "budget", "US", RULE_WHOLE, AT(budget_us), 0, 1000000, NULL,
     "latency budget of --flush auto; 0: the library's default [0]"},
    {0, "against", "LIST", RULE_TEXT, AT(against), 0, 0, NULL,
     "measure these too, interleaved round by round: modes, flush settings of the"
     " mode above, or MODE+FLUSH; for example raw:128,pool,off,fixed:100"},
    {0, "resp", "2|3", CALL(set_resp), "protocol [3]"},

    {'d', "data", "BYTES", RULE_WHOLE, AT(value_bytes), 1, 536870912, NULL,
     "size of __data__ [16]"},
    {'r', "keyspace", "N", RULE_WHOLE, AT(keyspace), 1, 1000000000000, NULL,
     "__key__ and __rand_int__ are random below N [always 0]"},
    {0, "seed", "N", RULE_WHOLE, AT(seed), 0, UINT64_MAX / 2, NULL,
     "of the random numbers [1]"},
    {0, "verify", NULL, RULE_SET, AT(is_verified), 0, 0, NULL,
     "compare every reply with what it must be (GET, ECHO, SET, PING)"},

    {0, "tcp", NULL, RULE_SET, AT(is_tcp), 0, 0, NULL,
     "reach the private server by TCP on 127.0.0.1, not by a Unix socket"},
    {0, "server-cpu", "N", RULE_WHOLE, AT(server_cpu), 0, 1023, NULL,
     "pin the private server [the last CPU, with two or more]"},
    {0, "client-cpu", "N", RULE_WHOLE, AT(client_cpu), 0, 1023, NULL,
     "pin ourselves [the first CPU, if the private server is pinned]"},
    {0, "no-pin", NULL, RULE_CLEAR, AT(is_pinned), 0, 0, NULL, "pin nothing"},

    {0, "profile", "demo", CALL(set_profile), "half a minute that shows what shoal is for"},
    {0, "json", "FILE", RULE_TEXT, AT(json_path), 0, 0, NULL,
     "write everything there; - is standard output"},
    {0, "csv", NULL, RULE_SET, AT(is_csv), 0, 0, NULL, "lines of CSV instead of the table"},
    {'q', "quiet", NULL, RULE_SET, AT(is_quiet), 0, 0, NULL, "the table alone"},
    {0, "help", NULL, RULE_SET, AT(wants_help), 0, 0, NULL, "this text"},
    {0, "version", NULL, RULE_SET, AT(wants_version), 0, 0, NULL, "the version"},
};
/* clang-format on */

#define RULES (sizeof rules / sizeof *rules)

static bool complain(const char *format, ...)
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
    const char *operand = rule->operand ? rule->operand : "";
    int column = 26;

    if (rule->letter)
        snprintf(head, sizeof head, "-%c, --%s %s", rule->letter, rule->name, operand);
    else
        snprintf(head, sizeof head, "    --%s %s", rule->name, operand);
    printf("  %-23s", head);
    for (const char *word = rule->help; *word != '\0';) {
        int bytes = (int)strcspn(word, " ");
        if (column + bytes > 80) {
            printf("\n%25s", "");
            column = 26;
        }
        printf(" %.*s", bytes, word);
        column += bytes + 1;
        word += bytes;
        word += strspn(word, " ");
    }
    printf("\n");
}

static void print_help(void)
{
    printf("shoal-bench [options] [--] [COMMAND ...]\n\n"
           "Measures throughput, latency, and the CPU of both ends.  Without -u, -h, "
           "-p or\n"
           "-s it starts a private redis-server and stops it again.  The default "
           "command is\n"
           "SET key:__key__ __data__; __rand_int__ is a place, too.\n\n");
    for (size_t i = 0; i < RULES; i++)
        print_rule(&rules[i]);
    printf("\nFor example\n"
           "  shoal-bench --profile demo\n"
           "  shoal-bench -c 128 --rounds 5 --against raw:128,pool,off,fixed:100\n"
           "  shoal-bench --rate 50000 --rounds 3 --against off,fixed:100\n"
           "  shoal-bench --mode sync -c 8 -r 100000 --verify GET key:__key__\n");
}

static bool read_whole(const rule_t *rule, const char *text, uint64_t *ret_value)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    *ret_value = strtoull(text, &end, 10);
    return *end == '\0' && *ret_value >= rule->min && *ret_value <= rule->max;
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

/* Says what is wrong and returns false, or applies the option. */
static bool apply(options_t *options, const rule_t *rule, const char *shown,
                  const char *text)
{
    char *field = (char *)options + rule->offset;
    uint64_t value;
    const char *problem;

    switch (rule->kind) {
    case RULE_WHOLE:
        if (!read_whole(rule, text, &value))
            return complain("%s %s: expected a whole number of %llu .. %llu", shown,
                            text, (unsigned long long)rule->min,
                            (unsigned long long)rule->max);
        memcpy(field, &value, sizeof value);
        return true;
    case RULE_SECONDS:
        if (!read_seconds(rule, text, &value))
            return complain("%s %s: expected seconds, %g .. %g", shown, text,
                            (double)rule->min / 1e6, (double)rule->max / 1e6);
        memcpy(field, &value, sizeof value);
        return true;
    case RULE_TEXT:
        memcpy(field, &text, sizeof text);
        return true;
    case RULE_SET:
    case RULE_CLEAR:
        *(bool *)field = rule->kind == RULE_SET;
        return true;
    case RULE_CALL:
        problem = rule->apply(options, text);
        return problem ? complain("%s %s: %s", shown, text, problem) : true;
    }
    return false;
}

static const rule_t *find_rule(const char *argument, size_t name_bytes)
{
    for (size_t i = 0; i < RULES; i++) {
        const rule_t *rule = &rules[i];
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
        return complain("%s: unknown option; --help lists them", argument);

    const char *text = NULL;
    if (argument[name_bytes] != '\0')
        text = argument + name_bytes + (is_long ? 1 : 0);
    if (!rule->operand && text)
        return complain("%s: takes no operand", argument);
    if (rule->operand && !text) {
        if (*index + 1 >= argc)
            return complain("%s: needs %s", argument, rule->operand);
        text = argv[++*index];
    }
    ++*index;
    char shown[40];
    snprintf(shown, sizeof shown, "%.*s", (int)name_bytes, argument);
    return apply(options, rule, shown, text);
}

static bool parse_against(options_t *options)
{
    char element[64];
    const char *problem;

    for (const char *text = options->against; text && *text != '\0';) {
        size_t bytes = strcspn(text, ",");
        snprintf(element, sizeof element, "%.*s", (int)bytes, text);
        if (options->strategies_count == OPTIONS_STRATEGIES_MAX)
            return complain("--against: more than %d", OPTIONS_STRATEGIES_MAX - 1);
        if (bytes >= sizeof element ||
            strategy_parse(&options->strategies[options->strategies_count],
                           &options->strategies[0], element, &problem) < 0)
            return complain("--against %s: %s", element,
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
        return complain("--server-cpu: the server is not ours to pin");
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
    return true;
}

bool options_agree(const options_t *options)
{
    char name[64];

    for (size_t i = 0; i < options->strategies_count; i++) {
        const strategy_t *strategy = &options->strategies[i];
        strategy_mode_name(strategy, name, sizeof name);
        if (options->rate != 0 && strategy->mode != MODE_CALLBACK &&
            strategy->mode != MODE_SYNC && strategy->mode != MODE_POOL)
            return complain("--rate: %s has no open loop; callback, sync and pool have",
                            name);
        if (options->is_verified && strategy->mode == MODE_RAW)
            return complain("--verify: raw skips the replies and cannot compare them");
    }
    return true;
}

static void set_defaults(options_t *options)
{
    static const char *const command[] = {"SET", "key:__key__", "__data__"};

    *options = (options_t){
        .is_private = true,
        .callers = 128,
        .threads = 1,
        .duration_us = 5000000,
        .warmup_us = 1000000,
        .rounds = 1,
        .seed = 1,
        .strategies_count = 1,
        .value_bytes = 16,
        .argc = sizeof command / sizeof *command,
        .argv = command,
        .is_pinned = true,
        .server_cpu = MACHINE_NO_CPU,
        .client_cpu = MACHINE_NO_CPU,
        .generator_cpu = MACHINE_NO_CPU,
    };
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
    }
    if (options->target.user && !options->target.password) {
        complain("--user: needs a password, -a");
        return OPTIONS_WRONG;
    }
    if (options->is_private && options->target.password) {
        complain("-a: the private server has no password; name a server");
        return OPTIONS_WRONG;
    }
    return parse_against(options) && options_agree(options) && place(options)
               ? OPTIONS_RUN
               : OPTIONS_WRONG;
}

void options_release(options_t *options)
{
    target_release(&options->target);
}
