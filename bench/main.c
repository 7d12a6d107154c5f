/* SPDX-License-Identifier: MIT */

/* shoal-bench: options, server, proxies, plans, reports; in this order. */

#include "interrupt.h"
#include "load/prefill.h"
#include "profile/profile.h"
#include "server/cluster.h"
#include "server/delay_proxy.h"
#include "server/machine.h"
#include "server/server.h"
#include "server/server_info.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXIT_FAILED 1
#define EXIT_USAGE 2

#define PROXIES_MAX ((size_t)2 * OPTIONS_LIST_MAX) /* for each kind of socket */

/* All that main() has to give back. */
typedef struct bench {
    options_t options;
    workload_t workload;
    cluster_t cluster;
    server_t server; /* stopped before the cluster */
    delay_proxy_t proxies[PROXIES_MAX];
    size_t proxies_count;
    controls_t controls;
    controls_t standalone; /* of the server beside a cluster */
    report_context_t context;
    plan_list_t list;
    findings_t findings;
    FILE *out;
} bench_t;

__attribute__((format(printf, 2, 3))) static int fail(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("shoal-bench: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    return code;
}

static int open_workload(bench_t *bench)
{
    const workload_spec_t spec = {
        .argc = bench->options.argc,
        .argv = bench->options.argv,
        .value_bytes = bench->options.value_bytes,
        .value_bytes_max = bench->options.value_bytes_max,
        .sets = bench->options.sets,
        .gets = bench->options.gets,
        .keyspace = bench->options.keyspace,
        .key_pattern = bench->options.key_pattern,
        .is_verified = bench->options.is_verified,
    };
    const char *problem;

    if (workload_init(&bench->workload, &spec, &problem) < 0)
        return fail(EXIT_USAGE, "%s", problem);
    return 0;
}

/* The points of the profile, each checked like what the command line asks for. */
static int prepare(bench_t *bench)
{
    bench->options.profile->prepare(&bench->list, &bench->options);
    if (bench->list.has_failed)
        return fail(EXIT_FAILED, "out of memory");
    for (size_t i = 0; i < bench->list.count; i++) {
        if (!options_agree(bench->list.options[i]))
            return EXIT_USAGE;
    }
    return bench->list.count > 0 ? 0 : fail(EXIT_USAGE, "nothing is left to measure");
}

static bool has_standalone(const bench_t *bench)
{
    for (size_t i = 0; i < bench->list.count; i++) {
        const options_t *options = bench->list.options[i];
        for (size_t k = 0; k < options->strategies_count; k++)
            if (options->strategies[k].is_standalone)
                return true;
    }
    return false;
}

/* The clients' way to a private server by TCP. */
static void set_ports(target_t *target, const server_t *server)
{
    char ca_file[128];

    target_set_text(&target->host, "127.0.0.1");
    target->port = target->is_tls ? server->tls_port : server->port;
    if (!target->is_tls)
        return;
    target->plain_port = server->port;
    snprintf(ca_file, sizeof ca_file, "%s/ca.crt", server->certificates);
    target_set_text(&target->tls.ca_file, ca_file);
}

/* And one server beside it, if a strategy asks for one. */
static int start_cluster(bench_t *bench)
{
    options_t *options = &bench->options;
    target_t *target = &options->target;
    const cluster_plan_t plan = {.primaries = options->nodes,
                                 .replicas = options->replicas,
                                 .cpu = options->server_cpu,
                                 .has_tls = target->is_tls};
    server_plan_t beside = {
        .cpu = options->server_cpu, .has_port = true, .has_tls = target->is_tls};
    char problem[400];

    if (cluster_start(&bench->cluster, &plan, problem, sizeof problem) < 0)
        return fail(EXIT_FAILED, "%s", problem);
    set_ports(target, &bench->cluster.servers[0]);
    if (!has_standalone(bench))
        return 0;
    beside.certificates = bench->cluster.servers[0].certificates;
    if (server_start(&bench->server, &beside, problem, sizeof problem) < 0)
        return fail(EXIT_FAILED, "%s", problem);
    target->standalone_port =
        target->is_tls ? bench->server.tls_port : bench->server.port;
    return 0;
}

static int start_server(bench_t *bench)
{
    options_t *options = &bench->options;
    const server_plan_t plan = {.cpu = options->server_cpu,
                                .has_port = options->is_tcp,
                                .has_tls = options->target.is_tls};
    char problem[400];

    if (!options->is_private)
        return 0;
    if (options->target.is_cluster)
        return start_cluster(bench);
    if (server_start(&bench->server, &plan, problem, sizeof problem) < 0)
        return fail(EXIT_FAILED, "%s", problem);
    if (options->is_tcp)
        set_ports(&options->target, &bench->server);
    if (options->is_unix || !options->is_tcp)
        target_set_text(&options->target.socket_path, bench->server.socket_path);
    return 0;
}

/* The server's own address, as a plan reaches it. */
static target_t server_target(const bench_t *bench, const options_t *options)
{
    target_t target = bench->options.target;

    if (options->is_private && options->is_tcp)
        target.socket_path = NULL;
    return target;
}

/* The proxy of a round trip, started when it is asked for first; NULL: failed. */
static delay_proxy_t *find_proxy(bench_t *bench, const target_t *server,
                                 uint64_t rtt_us)
{
    char problem[400];
    /* With two CPUs the proxy avoids the client's; with more, the system chooses. */
    const delay_proxy_spec_t spec = {.rtt_us = rtt_us,
                                     .link = bench->options.link,
                                     .seed = bench->options.seed,
                                     .cpu = bench->context.machine.cpus > 2
                                                ? MACHINE_NO_CPU
                                                : bench->options.server_cpu};

    for (size_t i = 0; i < bench->proxies_count; i++) {
        bool is_unix = bench->proxies[i].socket_path[0] != '\0';
        if (bench->proxies[i].rtt_us == rtt_us &&
            is_unix == (server->socket_path != NULL))
            return &bench->proxies[i];
    }
    if (bench->proxies_count == PROXIES_MAX)
        return NULL;
    delay_proxy_t *proxy = &bench->proxies[bench->proxies_count];
    if (delay_proxy_start(proxy, server, &spec, problem, sizeof problem) < 0) {
        fail(EXIT_FAILED, "%s", problem);
        return NULL;
    }
    bench->proxies_count++;
    return proxy;
}

/* Where the load of each plan goes.  The control connection leads to the server
 * itself. */
static int set_targets(bench_t *bench)
{
    for (size_t i = 0; i < bench->list.count; i++) {
        options_t *options = bench->list.options[i];
        target_t server = server_target(bench, options);
        target_describe(&server, bench->list.plans[i].url,
                        sizeof bench->list.plans[i].url);
        options->target = server;
        if (!options_have_proxy(options))
            continue;
        delay_proxy_t *proxy = find_proxy(bench, &server, options->rtt_us);
        if (!proxy)
            return EXIT_FAILED;
        options->target = delay_proxy_target(proxy, &server);
    }
    return 0;
}

static int open_controls(bench_t *bench, char *problem, size_t problem_bytes)
{
    target_t standalone = bench->options.target;

    if (controls_open(&bench->controls, &bench->options.target, problem,
                      problem_bytes) < 0)
        return -1;
    if (standalone.standalone_port == 0)
        return 0;
    standalone.is_cluster = false;
    standalone.port = standalone.standalone_port;
    return controls_open(&bench->standalone, &standalone, problem, problem_bytes);
}

/* What commands will read, at the server and at the one beside a cluster. */
static int write_keys(bench_t *bench)
{
    const options_t *options = &bench->options;
    strategy_t strategies[] = {{.mode = MODE_CALLBACK},
                               {.mode = MODE_CALLBACK, .is_standalone = true}};
    char problem[400];

    if (!workload_wants_prefill(&bench->workload) ||
        !(options->is_private || options->is_verified))
        return 0;
    for (size_t i = 0; i < 1 + (bench->standalone.count > 0); i++)
        if (prefill(options, &strategies[i], &bench->workload, problem,
                    sizeof problem) < 0)
            return fail(EXIT_FAILED, "%s", problem);
    return 0;
}

static int open_server(bench_t *bench)
{
    options_t *options = &bench->options;
    char problem[400];
    int code = start_server(bench);

    if (code == 0 && options->target.sentinel &&
        target_find_primary(&options->target, problem, sizeof problem) < 0)
        return fail(EXIT_FAILED, "%s", problem);
    if (code == 0)
        code = set_targets(bench);
    if (code != 0)
        return code;
    if (options->client_cpu != MACHINE_NO_CPU && machine_pin(options->client_cpu) < 0)
        return fail(EXIT_FAILED, "CPU %llu: %s",
                    (unsigned long long)options->client_cpu, strerror(errno));

    target_describe(&options->target, bench->context.url, sizeof bench->context.url);
    if (open_controls(bench, problem, sizeof problem) < 0)
        return fail(EXIT_FAILED, "no server at %s: %s", bench->context.url, problem);
    server_info_version(&bench->controls, bench->context.server_version,
                        sizeof bench->context.server_version);
    return write_keys(bench);
}

/* Rounds of all plans, for what is shown live. */
static void number_steps(bench_t *bench)
{
    size_t steps = 0;

    for (size_t i = 0; i < bench->list.count; i++) {
        const options_t *options = bench->list.options[i];
        bench->list.plans[i].steps_before = steps;
        steps += options->rounds * options->strategies_count;
    }
    for (size_t i = 0; i < bench->list.count; i++)
        bench->list.plans[i].steps = steps;
}

/* Measures one plan and shows it.  Returns EXIT_FAILED if a round failed. */
static int measure(bench_t *bench, plan_t *plan)
{
    const profile_t *profile = bench->options.profile;
    char problem[400];

    plan->workload = &bench->workload;
    plan->controls = &bench->controls;
    plan->standalone = &bench->standalone;
    plan->shows_live = !plan->options->is_quiet && isatty(STDERR_FILENO);
    int rc = plan_measure(plan, problem, sizeof problem);
    if (bench->options.is_csv)
        report_csv(bench->out, plan);
    else if (profile->show)
        profile->show(&bench->findings, plan);
    fflush(bench->out);
    return rc < 0 ? fail(EXIT_FAILED, "%s", problem) : 0;
}

static int measure_all(bench_t *bench)
{
    int code = 0;

    number_steps(bench);
    if (bench->options.is_csv)
        report_csv_head(bench->out);
    for (size_t i = 0; i < bench->list.count && code == 0 && !interrupt_happened(); i++)
        code = measure(bench, &bench->list.plans[i]);
    if (!bench->options.is_csv && bench->options.profile->summarise)
        bench->options.profile->summarise(&bench->findings, &bench->list);
    fflush(bench->out);
    return code;
}

/* Writes the files that were asked for, as far as plans were measured. */
static int write_files(const bench_t *bench)
{
    const options_t *options = &bench->options;
    const plan_t *plans = bench->list.plans;
    size_t count = 0;

    while (count < bench->list.count && plans[count].series_count > 0)
        count++;
    if (options->json_path && report_json(options->json_path, plans, count,
                                          &bench->context, &bench->findings) < 0)
        return fail(EXIT_FAILED, "%s: %s", options->json_path, strerror(errno));
    if (options->hdr_path && report_hdr(options->hdr_path, plans, count) < 0)
        return fail(EXIT_FAILED, "%s: %s", options->hdr_path, strerror(errno));
    return 0;
}

/* What the results are worth, as an exit code. */
static int judge(const bench_t *bench)
{
    double errors = 0;

    for (size_t i = 0; i < bench->list.count; i++)
        errors += plan_errors(&bench->list.plans[i]);
    if (interrupt_happened())
        return fail(EXIT_INTERRUPTED, "interrupted; this is what was measured so far");
    if (errors > 0)
        return fail(EXIT_FAILED, "%.0f commands failed: these are not results", errors);
    if (bench->options.is_strict && bench->findings.failed > 0)
        return fail(EXIT_FAILED, "%zu verdicts failed", bench->findings.failed);
    return 0;
}

static int run(bench_t *bench)
{
    const options_t *options = &bench->options;
    int code = open_workload(bench);

    if (code == 0)
        code = prepare(bench);
    if (code == 0)
        code = open_server(bench);
    if (code != 0)
        return code;
    if (!options->is_quiet && !options->is_csv)
        options->profile->heading(bench->out, options, &bench->context, &bench->list);
    fflush(bench->out);

    int measured = measure_all(bench);
    int written = write_files(bench);
    code = judge(bench);
    if (measured != 0)
        return measured;
    return written != 0 ? written : code;
}

static void release(bench_t *bench)
{
    controls_close(&bench->controls);
    controls_close(&bench->standalone);
    for (size_t i = 0; i < bench->proxies_count; i++)
        delay_proxy_stop(&bench->proxies[i]);
    server_stop(&bench->server);
    cluster_stop(&bench->cluster);
    findings_release(&bench->findings);
    plan_list_release(&bench->list);
    workload_release(&bench->workload);
    options_release(&bench->options);
}

int main(int argc, char **argv)
{
    static bench_t bench; /* too big for the stack of some systems */
    options_t *options = &bench.options;

    switch (options_parse(options, argc, argv)) {
    case OPTIONS_SHOWN:
        options_release(options);
        return 0;
    case OPTIONS_WRONG:
        options_release(options);
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    bench.server.guard = -1;
    bench.out =
        options->json_path && strcmp(options->json_path, "-") == 0 ? stderr : stdout;
    bench.findings.out = bench.out;
    machine_raise_descriptors();
    bench.context.machine = machine_describe();
    if (interrupt_catch() < 0)
        return fail(EXIT_FAILED, "no descriptors left");

    int code = run(&bench);
    release(&bench);
    return code;
}
