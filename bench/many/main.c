/* SPDX-License-Identifier: MIT */

/*
 * What do many connections of one client cost?  An internal bench: it opens a client over a
 * route of its own.
 *
 *   shoal-bench-many SOCKET [CONNECTIONS [ROUNDS]]
 *
 * Memory: what is allocated for each connection beyond the first, after every one of them
 * answered a command and then rested.  It fails above 4 KiB.
 *
 * Turns: the CPU time of one loop turn while one connection works for 32 callers, alone and
 * beside the idle ones; rounds of both in turn, medians.  It judges nothing: a busy machine
 * makes it differ.
 */

#include "client/client.h"
#include "client/life.h"
#include "many/crowd.h"
#include "net/conn.h"
#include <errno.h>
#include <malloc.h>
#include <shoal/shoal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BYTES_MAX 4096
#define CALLERS 32
#define COMMANDS 100000
#define ROUNDS_MAX 99
#define READY_S_MAX 30

static struct {
    unsigned left;     /* commands to submit */
    unsigned answered; /* results that came */
} load;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "shoal-bench-many: %s: %s\n", what, why);
    exit(1);
}

static uint64_t time_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t cpu_ns(void)
{
    return time_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    static const char *const words[] = {"SET", "key:1", "value:1234567890"};

    (void)data;
    if (shoal_result_status(result) != 0)
        fail("a command failed", shoal_result_detail(result));
    load.answered++;
    if (load.left == 0)
        return;
    load.left--;
    if (shoal_client_submit(client, 3, words, NULL, on_result, NULL, NULL) < 0)
        fail("submit", "refused");
}

/* So many commands by so many callers. */
static void run_load(shoal_client_t *client, unsigned callers, unsigned commands)
{
    static const char *const words[] = {"PING"};

    load.left = commands - callers;
    load.answered = 0;
    for (unsigned i = 0; i < callers; i++)
        if (shoal_client_submit(client, 1, words, NULL, on_result, NULL, NULL) < 0)
            fail("submit", "refused");
    while (load.answered < commands)
        shoal_client_step(client, SHOAL_TIMEOUT_NEVER);
}

static shoal_client_t *open_crowd(const char *path, unsigned connections)
{
    const shoal__client_plan_t plan = {.drive = SHOAL__DRIVE_STEPS,
                                       .new_route = crowd_new};
    shoal_options_t *options;
    shoal_client_t *client;

    if (shoal_options_new(&options) < 0 ||
        shoal_options_set_unix_path(options, path) < 0)
        fail(path, "no path of a socket");
    crowd_expect(connections);
    if (shoal__client_open(&plan, options, &client) < 0)
        fail("open", "no memory or descriptors");
    shoal_options_free(options);
    uint64_t since_ns = time_ns(CLOCK_MONOTONIC);
    while (crowd_ready(shoal__client_route(client)) < connections) {
        if (time_ns(CLOCK_MONOTONIC) - since_ns > READY_S_MAX * UINT64_C(1000000000))
            fail(path, "the connections do not become ready");
        shoal_client_step(client, 100000);
    }
    return client;
}

/* Every connection works, then all of them rest. */
static void use_all(shoal_client_t *client, unsigned connections)
{
    for (unsigned i = 0; i < connections; i++) {
        crowd_aim(shoal__client_route(client), i);
        run_load(client, CALLERS, 2 * CALLERS);
    }
    crowd_aim(shoal__client_route(client), 0);
    while (crowd_at_rest(shoal__client_route(client)) < connections)
        shoal_client_step(client, 10000);
}

/* Large blocks are counted apart. */
static size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static size_t allocated_with(const char *path, unsigned connections)
{
    size_t before = allocated();
    shoal_client_t *client = open_crowd(path, connections);

    use_all(client, connections);
    size_t bytes = allocated() - before;
    shoal_client_close_and_wait(client, 0);
    shoal_client_release(client);
    return bytes;
}

static double turn_ns(shoal_client_t *client)
{
    uint64_t turns = shoal__counter_get(&client->turns), since_ns = cpu_ns();

    run_load(client, CALLERS, COMMANDS);
    return (double)(cpu_ns() - since_ns) /
           (double)(shoal__counter_get(&client->turns) - turns);
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static void compare_turns(const char *path, unsigned connections, unsigned rounds)
{
    static double alone_ns[ROUNDS_MAX], beside_ns[ROUNDS_MAX], ratio[ROUNDS_MAX];
    shoal_client_t *alone = open_crowd(path, 1);
    shoal_client_t *beside = open_crowd(path, connections + 1);

    use_all(beside, connections + 1);
    for (unsigned i = 0; i < rounds; i++) {
        alone_ns[i] = turn_ns(alone);
        beside_ns[i] = turn_ns(beside);
        ratio[i] = beside_ns[i] / alone_ns[i];
    }
    printf("a turn, CPU: alone %.0f ns, beside %u idle connections %.0f ns: %.3f\n",
           median(alone_ns, rounds), connections, median(beside_ns, rounds),
           median(ratio, rounds));
    shoal_client_close_and_wait(alone, 0);
    shoal_client_release(alone);
    shoal_client_close_and_wait(beside, 0);
    shoal_client_release(beside);
}

static int usage(FILE *out, int code)
{
    fputs("usage: shoal-bench-many SOCKET [CONNECTIONS [ROUNDS]]\n", out);
    return code;
}

int main(int argc, char **argv)
{
    unsigned connections = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000;
    unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 9;
    struct rlimit files;

    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout, 0);
    if (argc < 2 || argv[1][0] == '-' || connections < 2 || rounds < 1 ||
        rounds > ROUNDS_MAX)
        return usage(stderr, 2);
    if (access(argv[1], R_OK | W_OK) < 0)
        fail(argv[1], strerror(errno));
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    /* The first client of a process takes memory of its libraries, too. */
    allocated_with(argv[1], 1);
    size_t one = allocated_with(argv[1], 1);
    size_t many = allocated_with(argv[1], connections);
    size_t each = (many - one + connections - 2) / (connections - 1);
    printf("memory: %zu bytes with 1 connection, %zu with %u: %zu for each idle one "
           "(struct: %zu)\n",
           one, many, connections, each, sizeof(shoal__conn_t));
    compare_turns(argv[1], connections, rounds);
    if (each <= BYTES_MAX)
        return 0;
    fprintf(stderr, "an idle connection takes more than %d bytes\n", BYTES_MAX);
    return 1;
}
