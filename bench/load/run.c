/* SPDX-License-Identifier: MIT */
#include "load/run.h"

#include "interrupt.h"
#include "load/clock.h"
#include "server/machine.h"
#include "server/server_info.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIVE_NS 250000000u
#define FIRST_COMMAND_NS UINT64_C(30000000000) /* a window may wait so long for one */

/* Every counter at one moment. */
typedef struct snapshot {
    uint64_t at_ns;
    uint64_t ops;
    uint64_t beside_ops;
    uint64_t errors;
    uint64_t large_values;
    uint64_t cpu_ns;
    machine_switches_t switches;
    load_counters_t counters;
    server_info_t server;
    uint64_t server_at_ns; /* when the server was asked */
    uint64_t server_ops;
} snapshot_t;

const run_step_t run_no_step = {(double)NAN, (double)NAN, (double)NAN, (double)NAN,
                                (double)NAN};

static const load_kind_t *kind_of(const run_t *run)
{
    const options_t *options = run->options;

    if (options->beside_rate != 0)
        return &load_mixed;
    switch (run->strategy->mode) {
    case MODE_CALLBACK:
        if (options->is_step)
            return &load_step;
        if (options->rate != 0)
            return &load_callback_paced;
        return options->pushes != 0 ? &load_pops : &load_callback;
    case MODE_BESIDE:
        return &load_callback_paced;
    case MODE_MIXED:
        return &load_mixed;
    case MODE_SYNC:
    case MODE_LEASE:
        return &load_sync;
    case MODE_BORROWED:
        return &load_borrowed;
    case MODE_QUEUE:
        return &load_queue;
    case MODE_EXPLICIT:
        return options_explicit_connections(options) > options->threads
                   ? &load_pipelines
                   : &load_explicit;
    case MODE_POOL:
        return &load_pool;
    case MODE_COLLECTOR:
        return &load_collector;
    case MODE_MUTEX:
        return &load_mutex;
    case MODE_REDISPP:
        return &load_redispp;
    case MODE_PUBLISH:
        return &load_publish;
    case MODE_SUBSCRIBE:
    case MODE_MAILBOX:
        return &load_subscribe;
    case MODE_LISTEN:
        return &load_listen;
    case MODE_RAW:
        break;
    }
    return &load_raw;
}

static void wake(run_t *run)
{
    if (write(run->wake_fds[1], "", 1) < 0) {
        /* The pipe is full: the coordinator is awake anyway. */
    }
}

int run_fail(run_t *run, const char *format, ...)
{
    static atomic_flag lock = ATOMIC_FLAG_INIT;

    while (atomic_flag_test_and_set(&lock)) {
    }
    if (!atomic_load(&run->has_failed)) {
        va_list args;
        va_start(args, format);
        vsnprintf(run->failure, sizeof run->failure, format, args);
        va_end(args);
        atomic_store(&run->has_failed, true);
    }
    atomic_flag_clear(&lock);
    wake(run);
    return -1;
}

void run_note_error(run_t *run, const char *text, size_t bytes)
{
    atomic_fetch_add_explicit(&run->errors, 1, memory_order_relaxed);
    if (atomic_load_explicit(&run->has_error, memory_order_relaxed) ||
        atomic_exchange(&run->has_error, true))
        return;
    snprintf(run->first_error, sizeof run->first_error, "%.*s",
             (int)(bytes > 150 ? 150 : bytes), text);
}

void run_check_reply(run_t *run, const command_t *command, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR)
        run_note_error(run, reply->str, reply->len);
    else if (!command_accepts(command, run->workload, reply->str, reply->len))
        run_note_error(run, "wrong reply", 11);
}

void run_reach(run_t *run, _Atomic uint64_t *limit)
{
    if (atomic_exchange(limit, UINT64_MAX) != UINT64_MAX &&
        atomic_fetch_sub(&run->limits_left, 1) == 1)
        wake(run);
}

static void show_live(const run_t *run, const live_t *live, uint64_t ops, uint64_t ns)
{
    static const double quantiles[] = {0.5, 0.99};
    double us[2];

    histogram_quantiles_us(run->latency, quantiles, 2, us);
    fprintf(stderr, "\r\033[K%zu/%zu  %-20s %10.0f ops/s", live->step, live->steps,
            live->name, ns == 0 ? 0.0 : (double)ops * 1e9 / (double)ns);
    if (!isnan(us[0]))
        fprintf(stderr, "   p50 %.0f us   p99 %.0f us", us[0], us[1]);
    else
        fputs("   warming up", stderr);
}

/* Sleeps until then, or until the round ends before. */
static void wait_until(run_t *run, const live_t *live, uint64_t until_ns)
{
    struct pollfd fds[] = {
        {.fd = run->wake_fds[0], .events = POLLIN},
        {.fd = interrupt_fd(), .events = POLLIN},
    };
    uint64_t shown_ops = atomic_load(&run->ops);
    uint64_t shown_ns = clock_ns();

    for (uint64_t now = shown_ns; now < until_ns && !interrupt_happened();
         now = clock_ns()) {
        uint64_t left_ns = until_ns - now;
        if (left_ns > LIVE_NS)
            left_ns = LIVE_NS;
        const struct timespec timeout = {.tv_sec = (time_t)(left_ns / 1000000000u),
                                         .tv_nsec = (long)(left_ns % 1000000000u)};
        if (ppoll(fds, 2, &timeout, NULL) > 0)
            return;
        now = clock_ns();
        if (live && now - shown_ns >= LIVE_NS) {
            uint64_t ops = atomic_load(&run->ops);
            show_live(run, live, ops - shown_ops, now - shown_ns);
            shown_ops = ops;
            shown_ns = now;
        }
    }
}

/* Those of the load, and those beside it. */
static uint64_t commands_of(run_t *run)
{
    return atomic_load(&run->ops) + atomic_load(&run->beside_ops);
}

static void ask_server(run_t *run, const controls_t *controls, snapshot_t *snapshot)
{
    server_info_get(controls, &snapshot->server);
    snapshot->server_at_ns = clock_ns();
    snapshot->server_ops = commands_of(run);
}

static void take_snapshot(run_t *run, const load_kind_t *kind, snapshot_t *snapshot)
{
    kind->count(run, &snapshot->counters);
    snapshot->errors = atomic_load(&run->errors);
    snapshot->large_values = atomic_load(&run->large_values);
    snapshot->cpu_ns = machine_cpu_ns();
    snapshot->switches = machine_switches();
    snapshot->ops = atomic_load(&run->ops);
    snapshot->beside_ops = atomic_load(&run->beside_ops);
    snapshot->at_ns = clock_ns();
}

static void compute_latency(double *value, const histogram_t *histogram)
{
    static const double quantiles[] = {0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1};

    histogram_quantiles_us(histogram, quantiles, sizeof quantiles / sizeof *quantiles,
                           value);
    value[sizeof quantiles / sizeof *quantiles] = histogram_mean_us(histogram);
}

static void compute_counters(figures_t *figures, const load_counters_t *from,
                             const load_counters_t *to, double ops)
{
    double *value = figures->value;

    if (to->has_calls) {
        value[FIGURE_WRITES] = (double)(to->writes - from->writes) / ops;
        value[FIGURE_READS] = (double)(to->reads - from->reads) / ops;
        value[FIGURE_WAKEUPS] = (double)(to->wakeups - from->wakeups) / ops;
        value[FIGURE_COMMANDS_PER_WRITE] = 1 / value[FIGURE_WRITES];
    }
    if (!to->has_library)
        return;
    value[FIGURE_CALLER_WAKEUPS] =
        (double)(to->caller_wakeups - from->caller_wakeups) / ops;
    value[FIGURE_DIRECT_CALLS] = (double)(to->direct_calls - from->direct_calls) / ops;
    value[FIGURE_HANDOVERS] = (double)(to->handovers - from->handovers) / ops;
    value[FIGURE_ALLOCATIONS] = (double)(to->allocations - from->allocations) / ops;
    figures->has_batches = true;
    for (size_t i = 0; i < SHOAL_STATS_BATCH_BUCKETS; i++)
        figures->batch_histogram[i] = to->batch_histogram[i] - from->batch_histogram[i];
    for (size_t i = 0; i < SHOAL_FLUSH_REASONS; i++)
        figures->flush_reasons[i] = to->flush_reasons[i] - from->flush_reasons[i];
}

static void compute_server(double *value, const snapshot_t *from, const snapshot_t *to)
{
    double ops = (double)(to->server_ops - from->server_ops);
    double cpu_ns = (double)(to->server.cpu_ns - from->server.cpu_ns);

    if (from->server.has_cpu && to->server.has_cpu) {
        value[FIGURE_SERVER_CPU_US] = cpu_ns / 1e3 / ops;
        value[FIGURE_SERVER_CPU_PERCENT] =
            cpu_ns * 100 / (double)(to->server_at_ns - from->server_at_ns);
    }
    if (from->server.has_reads && to->server.has_reads)
        value[FIGURE_COMMANDS_PER_SERVER_READ] =
            ops / (double)(to->server.reads - from->server.reads);
}

/* What the commands of the load, and those beside it, have shown by themselves. */
static void compute_commands(const run_t *run, const snapshot_t *from,
                             const snapshot_t *to, double *value)
{
    double ops = (double)(to->ops - from->ops);
    double beside_ops = (double)(to->beside_ops - from->beside_ops);
    double seconds = (double)(to->at_ns - from->at_ns) / 1e9;

    value[FIGURE_COMMANDS] = ops;
    value[FIGURE_SECONDS] = seconds;
    if (ops > 0)
        value[FIGURE_OPS_PER_S] = ops / seconds;
    compute_latency(&value[FIGURE_LATENCY_P0], run->latency);
    if (run->options->rate != 0)
        compute_latency(&value[FIGURE_SERVICE_P0], run->service);
    if (beside_ops > 0)
        value[FIGURE_BESIDE_PER_S] = beside_ops / seconds;
    compute_latency(&value[FIGURE_BESIDE_P0], run->beside);
    if (run->options->large_bytes != 0)
        value[FIGURE_LARGE_PER_S] =
            (double)(to->large_values - from->large_values) / seconds;
}

static void compute(const run_t *run, const snapshot_t *from, const snapshot_t *to,
                    figures_t *figures)
{
    double *value = figures->value;
    double ops = (double)(to->ops + to->beside_ops - from->ops - from->beside_ops);
    double ns = (double)(to->at_ns - from->at_ns);
    double foreign_ns =
        (double)(to->counters.foreign_cpu_ns - from->counters.foreign_cpu_ns);
    double cpu_ns = (double)(to->cpu_ns - from->cpu_ns) - foreign_ns;

    figures_clear(figures);
    compute_commands(run, from, to, value);
    value[FIGURE_CLIENT_CPU_US] = cpu_ns / 1e3 / ops;
    value[FIGURE_CLIENT_CPU_PERCENT] = cpu_ns * 100 / ns;
    value[FIGURE_SLEEPS] =
        (double)(to->switches.voluntary - from->switches.voluntary) / ops;
    value[FIGURE_PREEMPTIONS] =
        (double)(to->switches.involuntary - from->switches.involuntary) / ops;
    value[FIGURE_PEAK_RSS_BYTES] = (double)machine_peak_rss_bytes();
    value[FIGURE_ERRORS] = (double)to->errors; /* of the warm-up, too */
    if (to->counters.has_messages)
        value[FIGURE_LOST_MESSAGES] = (double)to->counters.lost_messages;
    compute_counters(figures, &from->counters, &to->counters, ops);
    compute_server(value, from, to);
    value[FIGURE_CPU_US] = value[FIGURE_CLIENT_CPU_US] + value[FIGURE_SERVER_CPU_US];
}

/* Whether the load has commands, and whether there are some beside it. */
static bool has_load(const run_t *run)
{
    return run->options->beside_rate == 0 || run->strategy->mode != MODE_CALLBACK;
}

static bool has_beside(const run_t *run)
{
    return run->options->beside_rate != 0 && run->strategy->mode != MODE_SYNC;
}

static bool has_large(const run_t *run)
{
    return run->options->large_bytes != 0;
}

/* The window ends with so many commands of each kind, and a large value. */
static void set_limits(run_t *run, const snapshot_t *from, uint64_t commands)
{
    atomic_store(&run->limits_left, has_load(run) + has_beside(run) + has_large(run));
    if (has_load(run))
        atomic_store(&run->ops_limit, from->ops + commands);
    if (has_beside(run))
        atomic_store(&run->beside_limit, from->beside_ops + commands);
    if (has_large(run))
        atomic_store(&run->large_limit, from->large_values + 1);
}

/* Whether a kind of commands has had none in the window so far. */
static bool lacks_commands(run_t *run, const snapshot_t *from)
{
    return (has_load(run) && atomic_load(&run->ops) == from->ops) ||
           (has_beside(run) && atomic_load(&run->beside_ops) == from->beside_ops) ||
           (has_large(run) && atomic_load(&run->large_values) == from->large_values);
}

/* Warm-up and window; true if there was a window worth a figure. */
static bool measure(run_t *run, const load_kind_t *kind, const controls_t *controls,
                    const live_t *live, figures_t *ret_figures)
{
    snapshot_t from = {0};
    snapshot_t to = {0};
    const options_t *options = run->options;

    wait_until(run, live, clock_ns() + options->warmup_us * 1000);
    if (interrupt_happened() || atomic_load(&run->has_failed))
        return false;

    ask_server(run, controls, &from);
    atomic_store(&run->phase, RUN_MEASURING);
    take_snapshot(run, kind, &from);
    if (options->requests != 0)
        set_limits(run, &from, options->requests);

    wait_until(run, live,
               options->requests != 0 ? UINT64_MAX
                                      : from.at_ns + options->duration_us * 1000);
    if (lacks_commands(run, &from)) {
        /* A short window on a busy machine: it lasts until the first command. */
        set_limits(run, &from, 1);
        wait_until(run, live, clock_ns() + FIRST_COMMAND_NS);
    }
    take_snapshot(run, kind, &to);
    ask_server(run, controls, &to);
    if (to.ops + to.beside_ops == from.ops + from.beside_ops)
        return false;
    compute(run, &from, &to, ret_figures);
    return true;
}

/* What the load has left in the run when it stopped. */
static void compute_ladder(const run_t *run, double *value)
{
    for (size_t i = 0; i < FIGURE_STEPS; i++) {
        value[FIGURE_LADDER_OPS_1 + i] = run->steps[i].ops_per_s;
        value[FIGURE_LADDER_REACHED_1 + i] = run->steps[i].reached_ms;
        value[FIGURE_LADDER_REACHED_MAX_1 + i] = run->steps[i].reached_ms_max;
        value[FIGURE_LADDER_LATE_1 + i] = run->steps[i].late;
        value[FIGURE_LADDER_STALL_1 + i] = run->steps[i].stall_ms;
    }
}

static void prepare(run_t *run)
{
    atomic_store(&run->phase, RUN_WARMING);
    atomic_store(&run->ops, 0);
    atomic_store(&run->errors, 0);
    atomic_store(&run->large_values, 0);
    atomic_store(&run->ops_limit, UINT64_MAX);
    atomic_store(&run->beside_ops, 0);
    atomic_store(&run->beside_limit, UINT64_MAX);
    atomic_store(&run->large_limit, UINT64_MAX);
    atomic_store(&run->limits_left, 0);
    atomic_store(&run->has_failed, false);
    atomic_store(&run->has_error, false);
    run->first_error[0] = '\0';
    run->sampling = 1;
    run->load = NULL;
    run->step_base_us = run->step_settled_ms[0] = run->step_settled_ms[1] = (double)NAN;
    for (size_t i = 0; i < FIGURE_STEPS; i++)
        run->steps[i] = run_no_step;
    histogram_clear(run->latency);
    histogram_clear(run->service);
    histogram_clear(run->beside);
}

int run_round(run_t *run, const controls_t *controls, const live_t *live,
              figures_t *ret_figures, char *problem, size_t problem_bytes)
{
    const load_kind_t *kind = kind_of(run);
    bool measured = false;

    prepare(run);
    if (pipe2(run->wake_fds, O_CLOEXEC | O_NONBLOCK) < 0) {
        snprintf(problem, problem_bytes, "no descriptors left");
        return -1;
    }
    machine_reset_peak_rss();
    if (kind->start(run) == 0)
        measured = measure(run, kind, controls, live, ret_figures);
    atomic_store(&run->phase, RUN_STOPPING);
    kind->stop(run);
    if (measured) {
        compute_ladder(run, ret_figures->value);
        ret_figures->value[FIGURE_STEP_BASE] = run->step_base_us;
        ret_figures->value[FIGURE_STEP_SETTLED] = run->step_settled_ms[0];
        ret_figures->value[FIGURE_STEP_SETTLED_MAX] = run->step_settled_ms[1];
    }
    close(run->wake_fds[0]);
    close(run->wake_fds[1]);

    if (atomic_load(&run->has_failed)) {
        snprintf(problem, problem_bytes, "%s", run->failure);
        return -1;
    }
    if (measured)
        return 0;
    if (interrupt_happened())
        return 1;
    snprintf(problem, problem_bytes, "no command finished");
    return -1;
}
