/* SPDX-License-Identifier: MIT */
/* F10: the connection is reset in the middle of an answer, of a write, of the greeting, in
 * a process that would die of a SIGPIPE.  (I14) */
#include "matrix/child.h"
#include "matrix/matrix.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define BIG_BYTES 12582912 /* more than the kernel's buffers take */

static void reset_in_greeting(matrix_t *m, fake_server_t *server)
{
    fake_server_rule(
        server, &(fake_rule_t){.command = m->mode->protocol == 3 ? "HELLO" : "CLIENT",
                               .connection = 1,
                               .is_cut = true,
                               .cut_bytes = 2,
                               .then = FAKE_RESET});
    fake_server_rule(
        server,
        &(fake_rule_t){.command = FAKE_ON_ACCEPT, .connection = 2, .then = FAKE_RESET});
    matrix_open_ready(m);
    assert_true(m->events.lost >= 1);
    matrix_expect_works(m);
}

static void reset_in_answer(matrix_t *m, fake_server_t *server)
{
    unsigned lost = m->events.lost;

    fake_server_rule(server, &(fake_rule_t){.command = "RPUSH",
                                            .times = 1,
                                            .skip = 5,
                                            .is_cut = true,
                                            .cut_bytes = 1,
                                            .then = FAKE_RESET});
    (void)matrix_submit_many(m, &(matrix_spec_t){.kind = MATRIX_WRITE}, 20);
    MATRIX_WAIT_FOR(m, m->events.lost > lost);
    matrix_wait(m);
    matrix_expect_works(m);
}

/* The server reads no more, the client's write stands half done: what it writes next
 * meets a connection that is gone. */
static void reset_in_write(matrix_t *m, fake_server_t *server)
{
    char *value = malloc(BIG_BYTES);
    const char *const stop[] = {"ECHO", "stop"}, *const set[] = {"SET", "big", value};
    const size_t set_bytes[] = {3, 3, BIG_BYTES};

    assert_non_null(value);
    memset(value, 'v', BIG_BYTES);
    fake_server_rule(server,
                     &(fake_rule_t){.command = m->mode->is_unit ? "EXEC" : "ECHO",
                                    .times = 1,
                                    .then = FAKE_STOP_READING});
    matrix_call(m, &(matrix_spec_t){.kind = MATRIX_OTHER, .command = {2, stop, NULL}});
    matrix_command_t *big = matrix_submit(
        m, &(matrix_spec_t){.kind = MATRIX_OTHER, .command = {3, set, set_bytes}});
    MATRIX_WAIT_FOR(m, fake_server_holds(server, "vvvv"));
    fake_server_cut(server, FAKE_CUT_RESET);
    matrix_expect_value(m, big); /* it was never whole: sent again */
    matrix_expect_works(m);
    free(value);
    assert_int_equal(fake_server_executed(server, 0, "SET", "big"), 1);
}

/* The end of the stream and then a reset, both there before the client looks: a write
 * then meets EPIPE at once.  In the borrowed mode nobody looks meanwhile. */
static void reset_before_write(matrix_t *m, fake_server_t *server)
{
    unsigned ready = m->events.ready;

    fake_server_cut(server, FAKE_CUT_FIN);
    WAIT_FOR(fake_server_is_done(server));
    fake_server_cut(server, FAKE_CUT_RESET);
    (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_WRITE});
    matrix_wait(m);
    MATRIX_WAIT_FOR(m, m->events.ready > ready);
    matrix_expect_works(m);
}

static void run(void *data)
{
    matrix_t *m = matrix_begin(data);
    fake_server_t *server = matrix_fake(m, NULL);
    sigset_t pipe_only;

    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &pipe_only, NULL), 0);
    matrix_to_fake(m, server);
    reset_in_greeting(m, server);
    reset_in_answer(m, server);
    reset_in_write(m, server);
    reset_before_write(m, server);
    matrix_check_fake(m, server);
    matrix_end(m);
}

static void f10(const matrix_mode_t *mode)
{
    matrix_child_end(matrix_child_start(run, (void *)(uintptr_t)mode));
}

MATRIX_ROW(10){
    MATRIX_CELLS_EVERYWHERE(f10),
    MATRIX_ROW_END,
};
