/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_OPTIONS_H
#define SHOAL_BENCH_OPTIONS_H

/* What the command line asks for. */

#include "strategy.h"
#include "target.h"
#include "workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_STRATEGIES_MAX 32
#define OPTIONS_CALLERS_MAX 100000u

typedef struct options {
    target_t target;
    bool is_private; /* no server was named: start one */

    uint64_t callers;
    uint64_t threads;     /* of explicit, raw, and of the open loop's generator */
    uint64_t requests;    /* 0: by duration */
    uint64_t duration_us; /* of one round, without the warm-up */
    uint64_t warmup_us;
    uint64_t rounds;
    uint64_t rate;  /* commands per second; 0: closed loop */
    bool is_random; /* the rate's arrivals: a Poisson process, or even */
    uint64_t budget_us;
    uint64_t seed;

    strategy_t strategies[OPTIONS_STRATEGIES_MAX]; /* --mode and --flush, --against */
    size_t strategies_count;

    uint64_t value_bytes;
    uint64_t keyspace; /* 0: one key */
    bool is_verified;
    size_t argc; /* of the command */
    const char *const *argv;

    bool is_pinned;
    bool is_tcp;         /* of the private server */
    uint64_t server_cpu; /* MACHINE_NO_CPU: the plan's */
    uint64_t client_cpu;
    uint64_t generator_cpu;

    const char *against;   /* LIST; options_parse() turns it into strategies */
    const char *json_path; /* NULL: no; "-": standard output */
    bool is_csv;
    bool is_quiet;
    bool is_demo;
    bool wants_help;
    bool wants_version;
} options_t;

typedef enum options_outcome {
    OPTIONS_RUN,
    OPTIONS_SHOWN, /* --help, --version: nothing else to do */
    OPTIONS_WRONG, /* said why on standard error */
} options_outcome_t;

options_outcome_t options_parse(options_t *options, int argc, char **argv);
void options_release(options_t *options);

/* Whether the strategies can do what the other options ask for; says why not. */
bool options_agree(const options_t *options);

#endif
