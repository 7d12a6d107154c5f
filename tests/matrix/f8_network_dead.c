/* SPDX-License-Identifier: MIT */
/* F8: the network between two network namespaces goes dead without a word: the link is
 * down, or one direction leads into a black hole.  The loss is noticed within the stall
 * time and a second, not when the kernel gives up.  (I5)
 *
 * The test's thread lives in one namespace, and so does the thread of the client, which it
 * starts; the server lives in another.  Both go with the processes in them.  It takes
 * the right to make namespaces, and ip and nsenter; else the test is skipped. */
#include "matrix/load.h"
#include "matrix/matrix.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STALL_US 100000
#define NOTICE_US_MAX 1000000 /* beyond the stall time */
#define COMMANDS 20

static const char *const anywhere[] = {
    "--bind",    "0.0.0.0", "--protected-mode", "no", "--cluster-announce-ip",
    "10.77.0.2", NULL};

/* Shell commands; $SERVER is a process of the server's side. */
#define ON_SERVER "nsenter -t $SERVER -n "
static const char *const join_them[] = {
    "ip link set lo up",
    "ip link add left type veth peer name right netns $SERVER",
    "ip address add 10.77.0.1/24 dev left",
    ON_SERVER "ip address add 10.77.0.2/24 dev right",
    ON_SERVER "ip link set right up",
    "ip link set left up",
};

static const struct outage {
    const char *name, *begin, *end;
} outages[] = {
    {"link down", ON_SERVER "ip link set right down", ON_SERVER "ip link set right up"},
    {"requests lost", "ip route add blackhole 10.77.0.2/32",
     "ip route del blackhole 10.77.0.2/32"},
    {"replies lost", ON_SERVER "ip route add blackhole 10.77.0.1/32",
     ON_SERVER "ip route del blackhole 10.77.0.1/32"},
};

static bool run(const char *command)
{
    char line[160];
    snprintf(line, sizeof line, "{ %s; } >/dev/null 2>&1", command);
    return system(line) == 0;
}

/* Back to where the test's thread came from. */
static void go_home(void *data)
{
    int *home = data;

    if (setns(*home, CLONE_NEWNET) != 0)
        abort();
    close(*home);
    unsetenv("SERVER");
}

static void skip_for(const char *reason)
{
    print_message("F8 needs two network namespaces: %s\n", reason);
    skip();
}

/* The test's thread on one side, a server on the other. */
static redis_process_t *separate(matrix_t *m)
{
    static int home;
    char server[16];

    home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (home < 0)
        skip_for("there are none");
    matrix_defer(m, go_home, &home);
    if (unshare(CLONE_NEWNET) != 0)
        skip_for("not permitted");
    if (!run("ip link set lo up"))
        skip_for("ip does not work");
    redis_process_t *redis = matrix_redis(m, anywhere);
    snprintf(server, sizeof server, "%d", (int)redis_process_pid(redis));
    setenv("SERVER", server, 1);
    if (unshare(CLONE_NEWNET) != 0)
        skip_for("not permitted");
    for (size_t i = 0; i < sizeof join_them / sizeof *join_them; i++)
        if (!run(join_them[i]))
            skip_for(join_them[i]);
    return redis;
}

static void check_outage(matrix_t *m, const struct outage *outage)
{
    const matrix_spec_t read = {.kind = MATRIX_READ};
    const matrix_spec_t write = {.kind = MATRIX_WRITE};
    unsigned lost = m->events.lost;

    matrix_expect_works(m);
    assert_true(run(outage->begin));
    uint64_t begun_us = waiting_now_us();
    uint64_t first = matrix_submit_many(m, &write, COMMANDS);
    (void)matrix_submit_many(m, &read, COMMANDS);
    while (m->events.lost == lost && waiting_now_us() - begun_us < WAITING_US_MAX) {
        matrix_pause(m, 10000); /* a client that goes on writing does not prolong it */
        if (m->mode->caller != MATRIX_BY_BLOCKING)
            (void)matrix_submit(m, &read);
    }
    uint64_t noticed_us = waiting_now_us();
    assert_true(run(outage->end));
    matrix_wait(m);
    matrix_expect_works(m);
    print_message("%s: %s noticed after %llu ms\n", m->mode->name, outage->name,
                  (unsigned long long)(noticed_us - begun_us) / 1000);
    assert_true(matrix_is_prompt(m, begun_us + STALL_US, noticed_us, NOTICE_US_MAX));
    for (uint64_t seq = first; seq < first + 2 * COMMANDS; seq++) {
        const matrix_command_t *command = matrix_at(m, seq);
        bool is_read = command->spec.kind == MATRIX_READ && !m->mode->is_unit;
        if (is_read || command->status == 0) /* what is harmless was sent again */
            matrix_expect_value(m, command);
        else
            matrix_expect(m, command, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    }
}

/* O2 and O4: the server's side is where its ledger can be read. */
static void check_ledger(matrix_t *m, redis_process_t *redis)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)redis_process_pid(redis));
    int there = open(path, O_RDONLY | O_CLOEXEC);
    int here = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    bool is_there = setns(there, CLONE_NEWNET) == 0;

    close(there);
    if (is_there)
        matrix_check_redis(m, redis_process_port(redis));
    bool is_here = setns(here, CLONE_NEWNET) == 0;
    close(here);
    assert_true(is_there && is_here);
}

static void f8(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    redis_process_t *redis = separate(m);

    assert_int_equal(
        shoal_options_set_address(m->options, "10.77.0.2", matrix_redis_port(m, redis)),
        0);
    assert_int_equal(shoal_options_set_stall_timeout_us(m->options, STALL_US), 0);
    assert_int_equal(shoal_options_set_connect_timeout_us(m->options, 300000, 300000),
                     0);
    matrix_open_ready(m);
    for (size_t i = 0; i < sizeof outages / sizeof *outages; i++)
        check_outage(m, &outages[i]);
    check_ledger(m, redis);
    matrix_end(m);
}

MATRIX_ROW(8){
    MATRIX_CELLS_EVERYWHERE(f8),
    MATRIX_ROW_END,
};
