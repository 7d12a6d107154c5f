/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum rule_kind { RULE_TEXT, RULE_WHOLE, RULE_PORT, RULE_SECONDS } rule_kind_t;

typedef struct rule {
    const char *name;
    rule_kind_t kind;
    size_t offset;
    uint64_t min;
    uint64_t max;
} rule_t;

/* clang-format off */
#define AT(field) offsetof(peer_options_t, field)
static const rule_t rules[] = {
    {"--client",      RULE_TEXT,    AT(client),      0, 0},
    {"--socket",      RULE_TEXT,    AT(socket_path), 0, 0},
    {"--host",        RULE_TEXT,    AT(host),        0, 0},
    {"--ca",          RULE_TEXT,    AT(ca_file),     0, 0},
    {"--port",        RULE_PORT,    AT(port),        1, 65535},
    {"--callers",     RULE_WHOLE,   AT(callers),     1, 100000},
    {"--rate",        RULE_WHOLE,   AT(rate),        0, 10000000},
    {"--value-bytes", RULE_WHOLE,   AT(value_bytes), 1, 536870912},
    {"--duration",    RULE_SECONDS, AT(duration_us), 10000, 86400000000},
    {"--warmup",      RULE_SECONDS, AT(warmup_us),   0, 86400000000},
};
/* clang-format on */

static const rule_t *find_rule(const char *name)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(rules[i].name, name) == 0)
            return &rules[i];
    }
    return NULL;
}

/* A whole number, or decimal seconds as microseconds, within the rule's limits. */
static bool read_number(const rule_t *rule, const char *text, uint64_t *ret_number)
{
    char *end;

    if ((*text < '0' || *text > '9') && *text != '.')
        return false;
    if (rule->kind == RULE_SECONDS) {
        double us = strtod(text, &end) * 1e6;
        if (!(us >= (double)rule->min) || us > (double)rule->max)
            return false;
        *ret_number = (uint64_t)(us + 0.5);
    } else {
        *ret_number = strtoull(text, &end, 10);
    }
    return end != text && *end == '\0' && *ret_number >= rule->min &&
           *ret_number <= rule->max;
}

static bool apply(peer_options_t *options, const rule_t *rule, const char *text)
{
    char *field = (char *)options + rule->offset;
    uint64_t number;

    if (rule->kind == RULE_TEXT) {
        memcpy(field, &text, sizeof text);
        return true;
    }
    if (!read_number(rule, text, &number))
        return false;
    if (rule->kind == RULE_PORT) {
        int port = (int)number;
        memcpy(field, &port, sizeof port);
    } else {
        memcpy(field, &number, sizeof number);
    }
    return true;
}

int peer_options_parse(peer_options_t *options, int argc, char **argv)
{
    *options = (peer_options_t){
        .host = "127.0.0.1",
        .port = 6379,
        .callers = 128,
        .value_bytes = 16,
        .duration_us = 5000000,
        .warmup_us = 1000000,
    };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-command") == 0) {
            options->has_no_command = true;
            continue;
        }
        if (strcmp(argv[i], "--cluster") == 0) {
            options->is_cluster = true;
            continue;
        }
        const rule_t *rule = find_rule(argv[i]);
        if (!rule || i + 1 == argc || !apply(options, rule, argv[i + 1])) {
            fprintf(stderr, "peer: %s %s: %s\n", argv[i],
                    rule && i + 1 < argc ? argv[i + 1] : "",
                    !rule           ? "unknown option"
                    : i + 1 == argc ? "needs an operand"
                                    : "out of range or no number");
            return -1;
        }
        i++;
    }
    if (options->has_no_command && options->rate == 0) {
        fprintf(stderr, "peer: --no-command needs --rate\n");
        return -1;
    }
    return 0;
}
