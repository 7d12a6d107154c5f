/* SPDX-License-Identifier: MIT */
/* F33: system calls that fail, or end early: signals in a hail, no descriptor to be had,
 * a name that nobody knows.  (I1 I2 I5 I11) */
#include "matrix/load.h"
#include "matrix/matrix.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define SIGNALS 200
#define HURRY_US 50000

static _Atomic unsigned signals_caught;

static void on_signal(int number)
{
    (void)number;
    signals_caught++;
}

/* ---- EINTR ---- */

/* Without SA_RESTART every call that blocks ends early. */
static void hail(void *data)
{
    sigset_t ours;
    (void)data;

    sigemptyset(&ours); /* the others shall have them */
    sigaddset(&ours, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
    for (int i = 0; i < SIGNALS; i++) {
        kill(getpid(), SIGUSR1);
        waiting_sleep_us(200);
    }
}

static void check_signals(const matrix_mode_t *mode)
{
    const struct sigaction action = {.sa_handler = on_signal};
    const load_plan_t plan = {.threads = 4, .window = 100, .writes = 30, .per_ms = 50};
    struct sigaction before;
    matrix_t *m = matrix_begin(mode);
    load_agent_t *agent = load_agent_new(m);
    fake_server_t *server = matrix_fake(m, NULL);

    matrix_to_fake(m, server);
    matrix_open_ready(m);
    signals_caught = 0;
    sigaction(SIGUSR1, &action, &before);
    load_t *load = load_start(m, &plan);
    load_agent_begin(agent, hail, NULL);
    LOAD_UNTIL(load, load_agent_is_idle(agent));
    load_stop(load);
    sigaction(SIGUSR1, &before, NULL);
    assert_true(signals_caught > 0);
    for (uint64_t seq = 0; seq < matrix_count(m); seq++)
        matrix_expect_value(m, matrix_at(m, seq));
    assert_int_equal(m->events.lost, 0);
    matrix_check_fake(m, server);
    matrix_end(m);
}

/* ---- EMFILE ---- */

static struct rlimit limit_before;

static void have_descriptors(void *data)
{
    (void)data;
    setrlimit(RLIMIT_NOFILE, &limit_before);
}

/* While there is no descriptor each attempt fails; as soon as there is one, one works. */
static void check_no_descriptor(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);

    matrix_to_fake(m, server);
    matrix_open_ready(m);
    matrix_expect_works(m);
    getrlimit(RLIMIT_NOFILE, &limit_before);
    matrix_defer(m, have_descriptors, NULL);
    struct rlimit none = {3, limit_before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    fake_server_cut(server, FAKE_CUT_RESET);
    MATRIX_WAIT_FOR(m, m->events.lost > 0);
    const matrix_command_t *hurried = matrix_submit(
        m, &(matrix_spec_t){.kind = MATRIX_WRITE, .timeout_us = HURRY_US});
    matrix_command_t *patient =
        matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_WRITE});
    matrix_expect(m, hurried, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    MATRIX_WAIT_FOR(m, m->events.lost >= 4); /* the connection, and attempts */
    have_descriptors(NULL);
    matrix_expect_value(m, patient);
    matrix_expect_works(m);
    assert_int_equal(m->events.ready, 2);
    matrix_check_fake(m, server);
    matrix_end(m);
}

/* ---- getaddrinfo ---- */

static void check_unknown_name(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);

    /* An empty label: no name server is asked. */
    assert_int_equal(shoal_options_set_address(m->options, "no..name", 1), 0);
    size_t memory = matrix_memory_now();
    matrix_open(m);
    const matrix_command_t *hurried = matrix_submit(
        m, &(matrix_spec_t){.kind = MATRIX_WRITE, .timeout_us = HURRY_US});
    MATRIX_WAIT_FOR(m, m->events.lost >= 2);
    matrix_expect(m, hurried, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    matrix_close(m, 0);
    assert_int_equal(m->events.lost, m->events.lost_conn);
    assert_int_equal(m->events.connected, 0);
    WAIT_FOR(matrix_memory_now() ==
             memory); /* a look-up that was given up ends later */
    matrix_end(m);
}

static void f33(const matrix_mode_t *mode)
{
    check_signals(mode);
    check_no_descriptor(mode);
    check_unknown_name(mode);
}

MATRIX_ROW(33){
    MATRIX_CELLS_EVERYWHERE(f33),
    MATRIX_ROW_END,
};
