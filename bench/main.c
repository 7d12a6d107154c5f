/* SPDX-License-Identifier: MIT */

/* shoal-bench: options, server, plans, reports; in this order. */

#include "interrupt.h"
#include "machine.h"
#include "plan.h"
#include "profile_demo.h"
#include "report.h"
#include "server.h"
#include "server_info.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXIT_FAILED 1
#define EXIT_USAGE 2

/* All that main() has to give back. */
typedef struct bench {
    options_t options;
    workload_t workload;
    server_t server;
    redisContext *control;
    report_context_t context;
    plan_t plans[DEMO_PLANS];
    size_t plans_count;
    demo_t demo;
    FILE *out;
} bench_t;

static int fail(int code, const char *format, ...)
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
        .keyspace = bench->options.keyspace,
        .is_verified = bench->options.is_verified,
    };
    const char *problem;

    if (workload_init(&bench->workload, &spec, &problem) < 0)
        return fail(EXIT_USAGE, "%s", problem);
    return 0;
}

static int open_server(bench_t *bench)
{
    options_t *options = &bench->options;
    char problem[400];

    if (options->is_private) {
        if (server_start(&bench->server, options->server_cpu, options->is_tcp, problem,
                         sizeof problem) < 0)
            return fail(EXIT_FAILED, "%s", problem);
        if (options->is_tcp) {
            target_set_text(&options->target.host, "127.0.0.1");
            options->target.port = bench->server.port;
        } else {
            target_set_text(&options->target.socket_path, bench->server.socket_path);
        }
    }
    if (options->client_cpu != MACHINE_NO_CPU && machine_pin(options->client_cpu) < 0)
        return fail(EXIT_FAILED, "CPU %llu: %s",
                    (unsigned long long)options->client_cpu, strerror(errno));

    target_describe(&options->target, bench->context.url, sizeof bench->context.url);
    bench->control = target_connect(&options->target, problem, sizeof problem);
    if (!bench->control)
        return fail(EXIT_FAILED, "no server at %s: %s", bench->context.url, problem);
    server_info_version(bench->control, bench->context.server_version,
                        sizeof bench->context.server_version);

    bool wants_keys = workload_wants_prefill(&bench->workload) &&
                      (options->is_private || options->is_verified);
    if (wants_keys && plan_prefill(options, &bench->workload, bench->control, problem,
                                   sizeof problem) < 0)
        return fail(EXIT_FAILED, "%s", problem);
    return 0;
}

/* Measures one plan.  Returns EXIT_FAILED if a round failed. */
static int measure(bench_t *bench, size_t index, const options_t *options)
{
    char problem[400];
    plan_t *plan = &bench->plans[index];

    *plan = (plan_t){
        .options = options,
        .workload = &bench->workload,
        .control = bench->control,
        .shows_live = !options->is_quiet && isatty(STDERR_FILENO),
    };
    bench->plans_count = index + 1;
    return plan_measure(plan, problem, sizeof problem) < 0
               ? fail(EXIT_FAILED, "%s", problem)
               : 0;
}

static int measure_all(bench_t *bench)
{
    if (!bench->options.is_demo)
        return measure(bench, 0, &bench->options);

    demo_prepare(&bench->demo, &bench->options);
    int code = 0;
    for (size_t i = 0; i < DEMO_PLANS && code == 0 && !interrupt_happened(); i++)
        code = measure(bench, i, &bench->demo.options[i]);
    return code;
}

static void show(bench_t *bench)
{
    const options_t *options = &bench->options;

    if (options->is_csv) {
        for (size_t i = 0; i < bench->plans_count; i++)
            report_csv(bench->out, &bench->plans[i]);
        return;
    }
    if (!options->is_demo) {
        report_table(bench->out, &bench->plans[0]);
        return;
    }
    memcpy(bench->demo.plans, bench->plans, sizeof bench->plans);
    demo_report(bench->out, &bench->demo);
}

/* What the results are worth, as an exit code. */
static int judge(const bench_t *bench)
{
    double errors = 0;

    for (size_t i = 0; i < bench->plans_count; i++)
        errors += plan_errors(&bench->plans[i]);
    if (interrupt_happened())
        return fail(EXIT_INTERRUPTED, "interrupted; this is what was measured so far");
    if (errors > 0)
        return fail(EXIT_FAILED, "%.0f commands failed: these are not results", errors);
    return 0;
}

static int run(bench_t *bench)
{
    const options_t *options = &bench->options;
    int code = open_workload(bench);

    if (code == 0)
        code = open_server(bench);
    if (code != 0)
        return code;
    if (!options->is_quiet && !options->is_csv)
        (options->is_demo ? demo_heading : report_heading)(bench->out, options,
                                                           &bench->context);
    fflush(bench->out);

    int measured = measure_all(bench);
    show(bench);
    fflush(bench->out);
    if (options->json_path && report_json(options->json_path, bench->plans,
                                          bench->plans_count, &bench->context) < 0)
        return fail(EXIT_FAILED, "%s: %s", options->json_path, strerror(errno));
    code = judge(bench);
    return measured != 0 ? measured : code;
}

int main(int argc, char **argv)
{
    static bench_t bench; /* too big for the stack of some systems */

    switch (options_parse(&bench.options, argc, argv)) {
    case OPTIONS_SHOWN:
        options_release(&bench.options);
        return 0;
    case OPTIONS_WRONG:
        options_release(&bench.options);
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    bench.server.guard = -1;
    bench.out = bench.options.json_path && strcmp(bench.options.json_path, "-") == 0
                    ? stderr
                    : stdout;
    machine_raise_descriptors();
    machine_describe(bench.context.system, bench.context.cpu,
                     sizeof bench.context.system);
    bench.context.cpus = machine_cpus();
    if (interrupt_catch() < 0)
        return fail(EXIT_FAILED, "no descriptors left");

    int code = run(&bench);

    if (bench.control)
        redisFree(bench.control);
    server_stop(&bench.server);
    for (size_t i = 0; i < bench.plans_count; i++)
        plan_release(&bench.plans[i]);
    workload_release(&bench.workload);
    options_release(&bench.options);
    return code;
}
