/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_OPTIONS_H
#define SHOAL_BENCH_OPTIONS_H

/* What the command line asks for. */

#include "fault_proxy/fault_carriage.h"
#include "load/key_pattern.h"
#include "load/strategy.h"
#include "load/target.h"
#include "load/workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_STRATEGIES_MAX 32
#define OPTIONS_CALLERS_MAX 100000u
#define OPTIONS_CONNECTIONS_MAX 100000u
#define OPTIONS_LIST_MAX 16
#define OPTIONS_UNSET UINT64_MAX /* the command line left it to the profile */

/* Of a LIST operand; empty: the profile's. */
typedef struct number_list {
    size_t count;
    uint64_t numbers[OPTIONS_LIST_MAX];
} number_list_t;

typedef struct strategy_list {
    size_t count;
    strategy_t strategies[OPTIONS_LIST_MAX];
} strategy_list_t;

typedef struct options {
    target_t target;
    bool is_private;       /* no server was named: start one */
    uint64_t nodes;        /* primaries of the private cluster */
    uint64_t replicas;     /* of each of them */
    uint64_t rtt_us;       /* added between client and server */
    fault_carriage_t link; /* what else happens to bytes on the way, each way */
    const char *link_text; /* the same as it was given; NULL: nothing else */

    uint64_t callers;
    uint64_t threads;     /* of explicit, raw, and of the open loop's generator */
    uint64_t connections; /* of shoal's modes and of explicit */
    uint64_t explicit_connections; /* of explicit, if not the same; else 0 */
    uint64_t requests;             /* 0: by duration */
    uint64_t duration_us;          /* of one round, without the warm-up */
    uint64_t warmup_us;
    uint64_t rounds;
    uint64_t rate;        /* commands per second; 0: closed loop */
    bool is_random;       /* the rate's arrivals: a Poisson process, or even */
    bool has_arrivals;    /* the command line said which */
    uint64_t beside_rate; /* callbacks per second beside the load; 0: none */
    uint64_t pushes;      /* elements per second that callers wait for; 0: none */
    uint64_t window;      /* messages on their way; 0: as many as the server takes */
    uint64_t large_bytes; /* of values that callers beside the rate use; 0: none */
    bool is_step;         /* the number of callers goes up and down */
    number_list_t ladder; /* of threads that come and go; empty: none */
    uint64_t budget_us;
    uint64_t seed;

    strategy_t strategies[OPTIONS_STRATEGIES_MAX]; /* --mode and --flush, --against */
    size_t strategies_count;

    uint64_t value_bytes;
    uint64_t value_bytes_max; /* above value_bytes: lengths vary between the two */
    uint64_t keyspace;        /* 0: one key */
    key_pattern_kind_t key_pattern;
    uint64_t sets; /* of --ratio; 0 and 0: the command is all there is */
    uint64_t gets;
    bool is_verified;
    size_t argc; /* of the command */
    const char *const *argv;
    bool has_command; /* it is not the default one */

    bool is_pinned;
    bool is_tcp;         /* the private server is reached by TCP */
    bool is_unix;        /* by its Unix socket, as it is without both */
    uint64_t server_cpu; /* MACHINE_NO_CPU: the plan's */
    uint64_t client_cpu;
    uint64_t generator_cpu;
    uint64_t publisher_cpu; /* of the process that publishes */

    const struct profile *profile; /* never NULL after options_parse() */
    number_list_t callers_list;
    number_list_t rates;
    number_list_t rtts;
    number_list_t batches;
    strategy_list_t flushes;
    bool is_strict;

    const char *against;   /* LIST; options_parse() turns it into strategies */
    const char *json_path; /* NULL: no; "-": standard output */
    const char *hdr_path;  /* NULL: no */
    bool is_csv;
    bool is_quiet;
    bool is_verbose;
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

/* Says on standard error what is wrong; returns false. */
__attribute__((format(printf, 1, 2))) bool options_complain(const char *format, ...);

/* Gives an option that the command line left open its value. */
static inline void options_default(uint64_t *field, uint64_t value)
{
    if (*field == OPTIONS_UNSET)
        *field = value;
}

/* Does anything lie between client and server? */
static inline bool options_have_proxy(const options_t *options)
{
    return options->rtt_us != 0 || options->link_text != NULL;
}

/* How many connections explicit pipelines have. */
static inline uint64_t options_explicit_connections(const options_t *options)
{
    uint64_t connections = options->explicit_connections != 0
                               ? options->explicit_connections
                               : options->connections;
    return connections > options->threads ? connections : options->threads;
}

#endif
