/* SPDX-License-Identifier: MIT */
/*
 * shoal-fault-proxy: the fault proxy for tests in other languages.  Its first line says
 * the port it listens on, or with --unix the path; then it takes commands as in
 * fault_proxy/fault_command.h line by line and answers each with a line, until its input
 * ends.
 */
#include "fault_proxy/fault_command.h"
#include "fault_proxy/fault_spec.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2
#define CUTS_MAX 16

typedef struct program {
    fault_proxy_config_t config;
    fake_tls_config_t tls;
    const char *cuts[CUTS_MAX]; /* what follows the command's name */
    size_t cuts_count;
} program_t;

static const char usage[] =
    "usage: shoal-fault-proxy --server-port PORT | --server-path PATH\n"
    "  --to-client SPEC, --to-server SPEC   e.g. delay_us=5000,flip=100\n"
    "  --cut-after \"CONNECTION to-server|to-client BYTES fin|reset|half\"\n"
    "  --seed N      what comes by chance follows from it [0]\n"
    "  --buffer N    socket buffers of so many bytes\n"
    "  --unix        listen on a Unix socket\n"
    "  --tls-cert FILE, --tls-key FILE      speak TLS with clients\n";

static bool read_number(const char *text, uint64_t max, uint64_t *ret_number)
{
    char *end;

    errno = 0;
    *ret_number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 &&
           *ret_number <= max;
}

/* Returns what is wrong, or NULL. */
static const char *take_option(program_t *program, int option, const char *value)
{
    fault_proxy_config_t *config = &program->config;
    uint64_t number = 0;

    switch (option) {
    case 'p':
        if (!read_number(value, 65535, &number))
            return "--server-port: expected 0 .. 65535";
        config->server_port = (int)number;
        return NULL;
    case 'P':
        config->server_path = value;
        return NULL;
    case 's':
        return read_number(value, UINT64_MAX, &config->seed) ? NULL
                                                             : "--seed: no number";
    case 'b':
        if (!read_number(value, 1 << 30, &number))
            return "--buffer: expected 0 .. 1073741824";
        config->buffer_bytes = (int)number;
        return NULL;
    case 'c':
        return fault_spec_parse(value, &config->ways[FAULT_TO_CLIENT]);
    case 'S':
        return fault_spec_parse(value, &config->ways[FAULT_TO_SERVER]);
    case 'u':
        config->is_unix = true;
        return NULL;
    case 't':
        program->tls.certificate_file = value;
        return NULL;
    case 'k':
        program->tls.key_file = value;
        return NULL;
    case 'a':
        if (program->cuts_count == CUTS_MAX)
            return "--cut-after: too many";
        program->cuts[program->cuts_count++] = value;
        return NULL;
    default:
        return "bad option";
    }
}

static bool take_options(program_t *program, int argc, char **argv)
{
    static const struct option options[] = {
        {"server-port", required_argument, NULL, 'p'},
        {"server-path", required_argument, NULL, 'P'},
        {"to-client", required_argument, NULL, 'c'},
        {"to-server", required_argument, NULL, 'S'},
        {"cut-after", required_argument, NULL, 'a'},
        {"seed", required_argument, NULL, 's'},
        {"buffer", required_argument, NULL, 'b'},
        {"unix", no_argument, NULL, 'u'},
        {"tls-cert", required_argument, NULL, 't'},
        {"tls-key", required_argument, NULL, 'k'},
        {0},
    };
    const char *problem = NULL;

    for (int option;
         !problem && (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        problem = take_option(program, option, optarg);
    if (!problem && optind < argc)
        problem = "no operands are expected";
    if (!problem && !program->config.server_path && program->config.server_port == 0)
        problem = "no server is named";
    if (!program->tls.certificate_file != !program->tls.key_file)
        problem = "--tls-cert and --tls-key go together";
    if (program->tls.certificate_file)
        program->config.tls = &program->tls;
    if (problem)
        fprintf(stderr, "shoal-fault-proxy: %s\n%s", problem, usage);
    return !problem;
}

static bool set_cuts(const program_t *program, fault_proxy_t *proxy)
{
    char line[128], answer[FAULT_ANSWER_BYTES];

    for (size_t i = 0; i < program->cuts_count; i++) {
        snprintf(line, sizeof line, "cut-after %s", program->cuts[i]);
        fault_command_run(proxy, line, answer);
        if (strcmp(answer, "ok") != 0) {
            fprintf(stderr, "shoal-fault-proxy: --cut-after: %s\n", answer);
            return false;
        }
    }
    return true;
}

static void converse(fault_proxy_t *proxy)
{
    char *line = NULL, answer[FAULT_ANSWER_BYTES];
    size_t room = 0;

    if (fault_proxy_path(proxy))
        puts(fault_proxy_path(proxy));
    else
        printf("%d\n", fault_proxy_port(proxy));
    fflush(stdout);
    while (getline(&line, &room, stdin) >= 0) {
        fault_command_run(proxy, line, answer);
        puts(answer);
        fflush(stdout);
    }
    free(line);
}

int main(int argc, char **argv)
{
    program_t program = {0};

    if (!take_options(&program, argc, argv))
        return EXIT_USAGE;
    fault_proxy_t *proxy = fault_proxy_start(&program.config);
    if (!proxy) {
        fprintf(stderr, "shoal-fault-proxy: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    bool is_understood = set_cuts(&program, proxy);
    if (is_understood)
        converse(proxy);
    fault_proxy_stop(proxy);
    return is_understood ? EXIT_SUCCESS : EXIT_USAGE;
}
