/* SPDX-License-Identifier: MIT */
/* F21: credentials that are refused, withdrawn and changed.  No storm of attempts, no
 * word of them in anything that is told, and what was not sent is proved so.
 * (I4 I12 I13 I14) */
#include "matrix/load.h"
#include "matrix/matrix.h"

#include <stdatomic.h>
#include <string.h>

#define USER "ann-canary"
#define PASSWORD "first-canary"
#define NEXT_PASSWORD "second-canary"
#define QUIET_US 300000
#define HURRY_US 100000

static const char *const with_user[] = {"--user", USER, "on",    ">" PASSWORD,
                                        "~*",     "&*", "+@all", NULL};

/* Everything that is told, by the log. */
static _Atomic unsigned told, secrets;

static void listen(const char *text)
{
    told++;
    secrets += strstr(text, "canary") != NULL;
}

static void on_log(shoal_log_level_t level, const char *line, void *data)
{
    (void)level;
    (void)data;
    listen(line);
}

static void tell(int port, const char *command)
{
    char answer[256] = "";

    if (!redis_ask(port, command, answer, sizeof answer) || answer[0] == '-')
        fail_msg("%s: %s", command, answer);
}

static void cut(int port)
{
    tell(port, "CLIENT KILL TYPE normal SKIPME yes");
}

/* O4, and the texts of the results. */
static void check_told(matrix_t *m, int port)
{
    matrix_check_redis(m, port);
    for (uint64_t seq = 0; seq < matrix_count(m); seq++) {
        listen(matrix_at(m, seq)->detail);
        listen(matrix_at(m, seq)->error);
    }
    assert_true(told > 0);
    assert_int_equal(secrets, 0);
}

static matrix_t *begin(const matrix_mode_t *mode, const char *password, int *ret_port)
{
    matrix_t *m = matrix_begin(mode);

    const redis_process_t *redis = matrix_redis(m, with_user);
    *ret_port = redis_process_port(redis);
    matrix_to_redis(m, redis);
    assert_int_equal(shoal_options_set_auth(m->options, USER, password), 0);
    assert_int_equal(
        shoal_options_set_on_log(m->options, SHOAL_LOG_DEBUG, on_log, NULL), 0);
    return m;
}

/* Refused from the start: attempts are rare, and end nothing but the wait for one. */
static void check_refused(const matrix_mode_t *mode)
{
    int port = 0;
    matrix_t *m = begin(mode, "wrong-canary", &port);

    uint64_t begun_us = waiting_now_us();
    matrix_open(m);
    matrix_command_t *hurried = matrix_submit(
        m, &(matrix_spec_t){.kind = MATRIX_WRITE, .timeout_us = HURRY_US});
    MATRIX_WAIT_FOR(m, m->events.lost_auth > 0);
    if (mode->caller != MATRIX_BY_STEPPING)
        assert_int_equal(shoal_client_wait_ready(m->client, WAITING_US_MAX),
                         SHOAL_EAUTH);
    matrix_pause(m, QUIET_US);
    unsigned lost = m->events.lost;
    uint64_t spent_us = waiting_now_us() - begun_us;
    assert_true(lost <= 1 + spent_us / 100000); /* ten a second */
    matrix_await(m, hurried);
    matrix_close(m, 0);
    assert_int_equal(m->events.lost, m->events.lost_auth);
    assert_int_equal(m->events.ready, 0);
    assert_int_equal(hurried->fate, SHOAL_FATE_NOT_EXECUTED);
    assert_true(hurried->status == SHOAL_ETIMEOUT || hurried->status == SHOAL_EAUTH);
    check_told(m, port);
    matrix_end(m);
}

/* Rights that are taken away are told, and come back. */
static void check_rights(matrix_t *m, int port)
{
    tell(port, "ACL SETUSER " USER " -rpush");
    const matrix_command_t *write =
        matrix_call(m, &(matrix_spec_t){.kind = MATRIX_WRITE});
    if (!write->is_error || (strncmp(write->error, "NOPERM ", 7) != 0 &&
                             strncmp(write->error, "EXECABORT ", 10) != 0))
        fail_msg("want NOPERM: %s", matrix_describe(write));
    assert_int_equal(write->attempts, 1);
    tell(port, "ACL SETUSER " USER " +rpush");
    matrix_expect_value(m, matrix_call(m, &(matrix_spec_t){.kind = MATRIX_WRITE}));
}

/* The password changes: a connection stays; a new one is refused, until it
 * is what it was. */
static void check_rotation(matrix_t *m, int port)
{
    unsigned connects = (unsigned)matrix_stats(m).connects;

    tell(port, "ACL SETUSER " USER " resetpass >" NEXT_PASSWORD);
    matrix_expect_value(m, matrix_call(m, &(matrix_spec_t){.kind = MATRIX_READ}));
    assert_int_equal(matrix_stats(m).connects, connects);
    cut(port);
    MATRIX_WAIT_FOR(m, m->events.lost_auth > 0);
    matrix_command_t *queued = matrix_submit(
        m, &(matrix_spec_t){.kind = MATRIX_WRITE, .timeout_us = HURRY_US});
    matrix_command_t *patient =
        matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_WRITE});
    matrix_await(m, queued);
    assert_int_equal(queued->fate, SHOAL_FATE_NOT_EXECUTED);
    tell(port, "ACL SETUSER " USER " resetpass >" PASSWORD);
    matrix_await(m, patient);
    if (patient->status != 0) /* it may end with the attempt that it waited for */
        matrix_expect(m, patient, SHOAL_EAUTH, SHOAL_FATE_NOT_EXECUTED);
    matrix_expect_works(m);
    assert_int_equal(matrix_stats(m).connects, connects + 1);
}

/* The server hangs up on a user who was deleted.  A client that was refused waits for a
 * second before it tries again, so one column is enough for every day. */
static void check_gone(matrix_t *m, int port)
{
    unsigned lost_auth = m->events.lost_auth;

    tell(port, "ACL DELUSER " USER);
    MATRIX_WAIT_FOR(m, m->events.lost_auth > lost_auth);
    tell(port, "ACL SETUSER " USER " on >" PASSWORD " ~* &* +@all");
    matrix_expect_works(m);
}

static void f21(const matrix_mode_t *mode)
{
    int port = 0;

    told = secrets = 0;
    check_refused(mode);
    matrix_t *m = begin(mode, PASSWORD, &port);
    matrix_open_ready(m);
    check_rights(m, port);
    check_rotation(m, port);
    if (mode->column == MATRIX_RESP3_CALLBACK || matrix_scale() > 1.0)
        check_gone(m, port);
    check_told(m, port);
    matrix_end(m);
}

MATRIX_ROW(21){
    MATRIX_CELLS_EVERYWHERE(f21),
    MATRIX_ROW_END,
};
