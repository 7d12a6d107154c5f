/* SPDX-License-Identifier: MIT */
/* F35: the wall clock jumps by an hour, forth and back, all the time.  Nothing depends on
 * it: deadlines, pauses and stall times are those of CLOCK_MONOTONIC, and the library asks
 * for no other.  TLS alone does: is a certificate valid now?  (I5)
 *
 * This program has its own clock_gettime(), gettimeofday() and time(), which take the
 * place of the C library's in libuv too.  A machine that sleeps stops CLOCK_MONOTONIC with
 * everything else, so there is nothing to see in that. */
#include "matrix/load.h"
#include "matrix/matrix.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define HOUR_S 3600
#define COMMANDS 2000
#define TIMEOUT_US 100000

static _Atomic bool is_jumping;
static _Atomic unsigned looks, monotonic_looks;

/* An hour forth, an hour back. */
static time_t jump(void)
{
    return !is_jumping ? 0 : looks++ % 2 ? HOUR_S : -HOUR_S;
}

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, ret_time);

    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        ret_time->tv_sec += jump();
    else if (is_jumping)
        monotonic_looks++;
    return rc;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
    int rc = (int)syscall(SYS_gettimeofday, ret_time, zone);

    ret_time->tv_sec += jump();
    return rc;
}

time_t time(time_t *ret_time)
{
    struct timeval now = {0};

    (void)gettimeofday(&now, NULL);
    if (ret_time)
        *ret_time = now.tv_sec;
    return now.tv_sec;
}

static void stop_jumping(void *data)
{
    (void)data;
    is_jumping = false;
}

/* The server freezes, and a command in a hurry ends in time (O5).  False: it had not been
 * written, because a thread stood still; so the server owes nothing. */
static bool waits_in_vain(matrix_t *m, fake_server_t *server, unsigned *ret_lost)
{
    matrix_expect_works(m); /* everything is answered */
    *ret_lost = m->events.lost;
    fake_server_freeze(server);
    const matrix_command_t *hurried =
        matrix_call(m, &(matrix_spec_t){.timeout_us = TIMEOUT_US});
    bool is_written = hurried->fate != SHOAL_FATE_NOT_EXECUTED;
    matrix_expect(m, hurried, SHOAL_ETIMEOUT,
                  is_written ? SHOAL_FATE_UNKNOWN : SHOAL_FATE_NOT_EXECUTED);
    if (!is_written)
        fake_server_release(server);
    return is_written;
}

/* A deadline, a pause between connections, a stall: each needs a clock. */
static void check_waits(matrix_t *m, fake_server_t *server)
{
    unsigned lost = 0;

    MATRIX_WAIT_FOR(m, waits_in_vain(m, server, &lost));
    unsigned ready = m->events.ready;
    MATRIX_WAIT_FOR(m, m->events.lost > lost); /* by the stall time */
    fake_server_release(server);
    MATRIX_WAIT_FOR(m, m->events.ready > ready);
}

static void f35(const matrix_mode_t *mode)
{
    const load_plan_t plan = {.threads = 4,
                              .commands = matrix_scaled(COMMANDS),
                              .window = 200,
                              .writes = 20,
                              .hurries = 10,
                              .hurry_us_max = 5000};
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);

    matrix_to_fake(m, server);
    assert_int_equal(shoal_options_set_stall_timeout_us(m->options, 3 * TIMEOUT_US), 0);
    matrix_open_ready(m);
    looks = monotonic_looks = 0;
    matrix_defer(m, stop_jumping, NULL);
    is_jumping = true;
    load_run(m, &plan);
    check_waits(m, server);
    matrix_expect_works(m);
    stop_jumping(NULL);
    matrix_check_fake(m, server);
    print_message("%s: %u looks at the wall clock, %u at the other\n", mode->name,
                  looks, monotonic_looks);
    if (!mode->is_tls)
        assert_int_equal(looks, 0);
    assert_true(monotonic_looks > plan.commands / 10); /* it is ours that is asked */
    matrix_end(m);
}

MATRIX_ROW(35){
    MATRIX_CELLS_EVERYWHERE(f35),
    MATRIX_ROW_END,
};
