/* SPDX-License-Identifier: MIT */
/* F22: an answer of the greeting comes too late, at every step; and servers that refuse
 * a step.  No command of a user goes to a connection that was not greeted whole.  (I12) */
#include "matrix/matrix.h"

#include <string.h>

#define HANDSHAKE_US 250000

/* Late at this command of the greeting, on the first connection that comes so far: it is
 * given up.  The answer is let go when another connection has done the work. */
static void check_late(const matrix_mode_t *mode, const char *step)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);
    size_t rule = fake_server_rule(
        server,
        &(fake_rule_t){.command = step, .times = 1, .is_cut = true, .then = FAKE_HOLD});

    matrix_to_fake(m, server);
    assert_int_equal(shoal_options_set_database(m->options, 1), 0);
    assert_int_equal(shoal_options_set_client_name(m->options, "matrix"), 0);
    assert_int_equal(
        shoal_options_set_connect_timeout_us(m->options, 5000000, HANDSHAKE_US), 0);
    matrix_open(m);
    for (int i = 0; i < 20; i++) {
        (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_READ});
        (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_WRITE});
    }
    matrix_wait(m);
    for (uint64_t seq = 0; seq < matrix_count(m); seq++)
        matrix_expect_value(m, matrix_at(m, seq));
    fake_server_release(server);
    matrix_expect_works(m);
    assert_int_equal(fake_server_hits(server, rule), 1);
    assert_true(m->events.lost >= 1);
    unsigned last = fake_server_accepted(server);
    for (unsigned connection = 1; connection < last; connection++)
        assert_int_equal(fake_server_user_commands(server, connection), 0);
    matrix_check_fake(m, server);
    matrix_end(m);
}

/* A step is answered so, on every connection: the client is of use without it. */
static void check_refused(const matrix_mode_t *mode, const char *step,
                          const char *argument, const char *reply)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);

    fake_server_rule(
        server, &(fake_rule_t){.command = step, .argument = argument, .reply = reply});
    matrix_to_fake(m, server);
    matrix_open_ready(m);
    matrix_expect_works(m);
    matrix_check_fake(m, server);
    matrix_end(m);
}

static void check_kind(const matrix_mode_t *mode, fake_kind_t kind)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server =
        matrix_fake(m, &(fake_config_t){.identity = {.kind = kind}});

    matrix_to_fake(m, server);
    matrix_open_ready(m);
    matrix_expect_works(m);
    matrix_check_fake(m, server);
    matrix_end(m);
}

static void f22(const matrix_mode_t *mode)
{
    check_late(mode, mode->protocol == 3 ? "HELLO" : "CLIENT");
    check_late(mode, "SELECT");
    check_late(mode, "CLIENT");
    check_refused(mode, "CLIENT", NULL, "-ERR unknown subcommand\r\n");
    check_refused(mode, "CLIENT", NULL, "-NOPERM no permissions\r\n");
    check_refused(mode, "HELLO", NULL, "-NOPROTO unsupported protocol version\r\n");
    check_kind(mode, FAKE_RESP2);
    check_kind(mode, FAKE_BARE);
}

MATRIX_ROW(22){
    MATRIX_CELLS_EVERYWHERE(f22),
    MATRIX_ROW_END,
};
