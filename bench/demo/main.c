/* SPDX-License-Identifier: MIT */

/* shoal-demo-cluster: a cluster changes under load, and a line each second tells what the
 * load notices of it. */

#include "demo/load.h"
#include "demo/nodes.h"
#include "load/clock.h"
#include "server/machine.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4u
#define CALLERS ((uint64_t)THREADS * DEMO_CALLERS)
#define SLOTS 16384u
#define MOVE_NS UINT64_C(10000000000) /* for the slots of one primary */
#define SLOTS_MAX 5000u               /* of each primary, which has 5461 */

typedef struct demo {
    cluster_t cluster;
    demo_load_t *load;
    unsigned slots;  /* that each primary gives to the next one */
    double second_s; /* between two lines */
    uint64_t since_ns;
    atomic_bool is_over;
    pthread_t reporter;
    unsigned failed_verdicts;
} demo_t;

/* What a scene begins with. */
typedef struct scene {
    demo_counts_t counts;
    uint64_t since_ns;
} scene_t;

static void sleep_s(double seconds)
{
    const struct timespec pause = {.tv_sec = (time_t)seconds,
                                   .tv_nsec = (long)(fmod(seconds, 1) * 1e9)};

    nanosleep(&pause, NULL);
}

/* ---- the line of each second ---- */

static const char *slots_of(const demo_view_t *view, char *text, size_t text_bytes)
{
    static const char names[DEMO_NODES + 1] = "ABCabc";
    size_t at = 0;

    text[0] = '\0';
    for (size_t node = 0; node < DEMO_NODES && at < text_bytes; node++)
        if (view->slots[node] > 0)
            at += (size_t)snprintf(text + at, text_bytes - at, "  %c %u", names[node],
                                   view->slots[node]);
    return text;
}

static void *report(void *data)
{
    demo_t *demo = data;
    demo_view_t view = {0};
    demo_counts_t former = {0};
    uint64_t former_ns = clock_ns();
    char slots[80];

    while (!demo->is_over) {
        sleep_s(demo->second_s);
        demo_nodes_look(&demo->cluster, &view);
        demo_counts_t now = demo_load_counts(demo->load);
        uint64_t now_ns = clock_ns();
        double p99_us = demo_load_p99_us(demo->load);
        printf("%5.1f %10.0f %8.1f %8llu %8llu %7llu %7llu %s\n",
               (double)(now_ns - demo->since_ns) / 1e9,
               (double)(now.done - former.done) * 1e9 / (double)(now_ns - former_ns),
               p99_us / 1e3, view.moved, view.asked,
               (unsigned long long)now.failed + now.wrong,
               (unsigned long long)now.unknown, slots_of(&view, slots, sizeof slots));
        fflush(stdout);
        former = now;
        former_ns = now_ns;
    }
    return NULL;
}

static void print_head(void)
{
    printf("A, B and C are primaries, a, b and c their replicas.  %u threads with %u "
           "callers each\nincrement %u keys, and compare each answer with the one "
           "before.\n\n%5s %10s %8s %8s %8s %7s %7s   slots of\n%5s %10s %8s %8s %8s "
           "%7s %7s   each primary\n",
           THREADS, DEMO_CALLERS, THREADS * DEMO_CALLERS * DEMO_KEYS, "", "commands",
           "p99", "MOVED", "ASK", "", "", "s", "/s", "ms", "so far", "so far", "failed",
           "unknown");
}

/* ---- scenes ---- */

static scene_t begin(const demo_t *demo, const char *title)
{
    printf("-- %s\n", title);
    fflush(stdout);
    return (scene_t){demo_load_counts(demo->load), clock_ns()};
}

/* Up to `unknown_max` commands may have been sent and never answered. */
static void judge(demo_t *demo, const scene_t *scene, bool is_done, const char *what,
                  uint64_t unknown_max)
{
    demo_counts_t now = demo_load_counts(demo->load);
    double seconds = (double)(clock_ns() - scene->since_ns) / 1e9;
    uint64_t failed = now.failed - scene->counts.failed;
    uint64_t wrong = now.wrong - scene->counts.wrong;
    uint64_t unknown = now.unknown - scene->counts.unknown;
    bool is_well = is_done && failed + wrong == 0 && unknown <= unknown_max;

    sleep_s(demo->second_s); /* its line comes first */
    printf("%s %s in %.1f s: %llu commands, %llu failed, %llu wrong answers, %llu of "
           "unknown fate\n",
           is_well ? "ok   " : "FAILS", what, seconds,
           (unsigned long long)(now.done - scene->counts.done),
           (unsigned long long)failed, (unsigned long long)wrong,
           (unsigned long long)unknown);
    fflush(stdout);
    demo->failed_verdicts += !is_well;
}

static void reshard(demo_t *demo)
{
    scene_t scene = begin(demo, "each primary gives slots to the next one, key by key");
    int moved = 0, total = 0;
    char what[80];

    for (size_t from = 0; moved >= 0 && from < DEMO_PRIMARIES; from++) {
        moved = demo_nodes_move(
            &demo->cluster, (unsigned)(from * SLOTS / DEMO_PRIMARIES), demo->slots,
            clock_ns() + MOVE_NS, from, (from + 1) % DEMO_PRIMARIES);
        total += moved;
    }
    snprintf(what, sizeof what, "%d slots moved", total);
    judge(demo, &scene, moved > 0, what, 0);
}

static void fail_over(demo_t *demo)
{
    scene_t scene = begin(demo, "CLUSTER FAILOVER: b takes the place of B");
    bool is_done = demo_nodes_fail_over(&demo->cluster, 1 + DEMO_PRIMARIES);

    judge(demo, &scene, is_done, "planned failover", 0);
}

/* The dead primary may have acknowledged numbers that its replica does not have: so it is
 * with asynchronous replication. */
static void kill_primary(demo_t *demo)
{
    scene_t scene = begin(demo, "kill -9 of C: its replica c has to notice");

    demo_load_expect_loss(demo->load);
    bool is_done = demo_nodes_kill(&demo->cluster, 2, 2 + DEMO_PRIMARIES);
    sleep_s(demo->second_s);
    judge(demo, &scene, is_done, "primary killed and replaced", CALLERS);
    printf("      acknowledged by C, and unknown to c: %llu\n",
           (unsigned long long)demo_load_counts(demo->load).lost);
}

static int play(demo_t *demo)
{
    print_head();
    demo->since_ns = clock_ns();
    demo->load = demo_load_start(demo->cluster.servers[0].port, THREADS);
    if (pthread_create(&demo->reporter, NULL, report, demo) != 0)
        return 1;
    sleep_s(3 * demo->second_s);
    reshard(demo);
    fail_over(demo);
    sleep_s(demo->second_s);
    kill_primary(demo);
    sleep_s(2 * demo->second_s);
    demo->is_over = true;
    pthread_join(demo->reporter, NULL);
    demo_counts_t counts = demo_load_counts(demo->load);
    printf("%s %llu commands, %llu failed, %llu wrong answers\n",
           demo->failed_verdicts == 0 ? "ok   " : "FAILS",
           (unsigned long long)counts.done, (unsigned long long)counts.failed,
           (unsigned long long)counts.wrong);
    if (counts.failed > 0)
        printf("      %s\n", demo_load_first_error(demo->load));
    demo_load_stop(demo->load);
    return demo->failed_verdicts > 0;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: shoal-demo-cluster [--slots N] [--second S] [--no-pin]\n"
            "  N: how many each primary gives away, 1 .. %u [400]\n"
            "  S: between two lines, 0.05 .. 10 [1]\n",
            SLOTS_MAX);
    return 2;
}

static bool parse(demo_t *demo, bool *ret_is_pinned, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-pin") == 0)
            *ret_is_pinned = false;
        else if (i + 1 < argc && strcmp(argv[i], "--slots") == 0)
            demo->slots = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--second") == 0)
            demo->second_s = strtod(argv[++i], NULL);
        else
            return false;
    }
    return demo->slots >= 1 && demo->slots <= SLOTS_MAX && demo->second_s >= 0.05 &&
           demo->second_s <= 10;
}

int main(int argc, char **argv)
{
    static demo_t demo = {.slots = 400, .second_s = 1};
    cpu_plan_t plan = machine_plan_cpus();
    bool is_pinned = true;
    char problem[400];

    if (!parse(&demo, &is_pinned, argc, argv))
        return usage();
    if (!is_pinned)
        plan.server = plan.client = MACHINE_NO_CPU;
    const cluster_plan_t cluster = {
        .primaries = DEMO_PRIMARIES, .replicas = 1, .cpu = plan.server};
    if (cluster_start(&demo.cluster, &cluster, problem, sizeof problem) < 0) {
        fprintf(stderr, "shoal-demo-cluster: %s\n", problem);
        return 1;
    }
    if (plan.client != MACHINE_NO_CPU)
        machine_pin(plan.client);
    int code = play(&demo);
    cluster_stop(&demo.cluster);
    return code;
}
