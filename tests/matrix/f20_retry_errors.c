/* SPDX-License-Identifier: MIT */
/* F20: errors that ask for another try, from a real server where it can be brought to
 * say them, else from a scripted one: which are tried again, how often, and that nothing
 * runs twice.  (I3 I13) */
#include "matrix/matrix.h"

#include <string.h>

#define REJECTIONS 2 /* before the scripted server accepts */

static bool begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* ---- scripted ---- */

/* clang-format off */
static const struct rejection {
    const char *reply, *beginning; /* the second as a result shows it */
    bool is_retried, is_redialed;
} rejections[] = {
    {"-LOADING Redis is loading\r\n",   "LOADING ",    true,  false},
    {"-MASTERDOWN Link with\r\n",       "MASTERDOWN ", true,  false},
    {"-TRYAGAIN Multiple keys\r\n",     "TRYAGAIN ",   true,  false},
    {"-CLUSTERDOWN Hash slot\r\n",      "CLUSTERDOWN ", true, false},
    {"-READONLY You can't write\r\n",   "READONLY ",   true,  true},
    {"-OOM command not allowed\r\n",    "OOM ",        false, false},
    {"-MISCONF Redis is\r\n",           "MISCONF ",    false, false},
    {"-NOREPLICAS Not enough\r\n",      "NOREPLICAS ", false, false},
    {"-BUSY Redis is busy\r\n",         "BUSY ",       false, false},
    {"-NOPERM this user\r\n",           "NOPERM ",     false, false},
};
/* clang-format on */

static void check_rejection(matrix_t *m, fake_server_t *server,
                            const struct rejection *rejection)
{
    const matrix_spec_t write = {.kind = MATRIX_WRITE};
    const matrix_spec_t once = {.kind = MATRIX_WRITE, .flags = SHOAL_CALL_ONCE};
    /* The connection is renewed at once, and then once a second. */
    unsigned times = rejection->is_redialed ? 1 : REJECTIONS;
    const char *command = "RPUSH";
    bool is_retried = rejection->is_retried;
    shoal_stats_t before = matrix_stats(m);

    fake_server_rule(
        server,
        &(fake_rule_t){.command = command, .times = times, .reply = rejection->reply});
    const matrix_command_t *first = matrix_call(m, &write);
    fake_server_forget_rules(server);
    fake_server_rule(
        server,
        &(fake_rule_t){.command = command, .times = 1, .reply = rejection->reply});
    const matrix_command_t *second = matrix_call(m, &once);
    fake_server_forget_rules(server);
    /* The command may have gone through before the new connection is ready. */
    uint64_t redials = is_retried && rejection->is_redialed;
    MATRIX_WAIT_FOR(m, matrix_stats(m).connects - before.connects >= redials);
    shoal_stats_t after = matrix_stats(m);
    assert_int_equal(first->status, 0);
    assert_int_equal(first->attempts, 1); /* a refusal for a while is none */
    assert_true(first->is_error == !is_retried);
    assert_true(!first->is_error || begins(first->error, rejection->beginning));
    assert_int_equal(second->attempts, 1);
    assert_true(begins(second->error, rejection->beginning));
    assert_int_equal(after.retries - before.retries, is_retried ? times : 0);
    assert_int_equal(after.connects - before.connects, redials);
}

static void check_scripted(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);

    matrix_to_fake(m, server);
    matrix_open_ready(m);
    for (size_t i = 0; i < sizeof rejections / sizeof *rejections; i++) {
        check_rejection(m, server, &rejections[i]);
        matrix_expect_value(m, matrix_call(m, &(matrix_spec_t){0}));
    }
    matrix_check_fake(m, server);
    matrix_end(m);
}

/* ---- real ---- */

static void tell(int port, const char *command)
{
    char answer[64] = "";

    if (!redis_ask(port, command, answer, sizeof answer) || answer[0] == '-')
        fail_msg("%s: %s", command, answer);
}

/* What a real server refuses outright is told at once. */
static void check_refused(matrix_t *m, int port, const char *begin, const char *end,
                          const char *error)
{
    tell(port, begin);
    const matrix_command_t *write =
        matrix_call(m, &(matrix_spec_t){.kind = MATRIX_WRITE});
    tell(port, end);
    assert_int_equal(write->status, 0);
    assert_int_equal(write->attempts, 1);
    if (!begins(write->error, error) && !begins(write->error, "EXECABORT "))
        fail_msg("want %s: %s", error, matrix_describe(write));
}

/* A replica that is promoted when it has refused the command once; its primary never
 * answers.  That is waited for; a unit is told at once. */
static void check_healed(matrix_t *m, int port, const matrix_spec_t *spec)
{
    uint64_t retries = matrix_stats(m).retries;

    tell(port, "REPLICAOF 127.0.0.1 1");
    const matrix_command_t *command = matrix_submit(m, spec);
    if (m->mode->is_unit)
        matrix_await(m, command);
    else
        MATRIX_WAIT_FOR(m, matrix_stats(m).retries > retries);
    tell(port, "REPLICAOF NO ONE");
    matrix_await(m, command);
    if (m->mode->is_unit ? !begins(command->error, "EXECABORT ") : command->is_error)
        fail_msg("want %s: %s", m->mode->is_unit ? "EXECABORT" : "a value",
                 matrix_describe(command));
    assert_int_equal(command->status, 0);
    assert_int_equal(command->attempts, 1);
}

static void check_real(const matrix_mode_t *mode)
{
    static const char *const get[] = {"GET", "nothing"};
    const matrix_spec_t read = {.kind = MATRIX_OTHER, .command = {2, get, NULL}};
    const matrix_spec_t write = {.kind = MATRIX_WRITE};
    matrix_t *m = matrix_begin(mode);
    const redis_process_t *redis = matrix_redis(m, NULL);
    int port = redis_process_port(redis);

    matrix_to_redis(m, redis);
    matrix_open_ready(m);
    check_refused(m, port, "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "OOM ");
    check_refused(m, port, "CONFIG SET min-replicas-to-write 1",
                  "CONFIG SET min-replicas-to-write 0", "NOREPLICAS ");
    uint64_t begun_us = waiting_now_us();
    if (!mode->is_cluster) { /* there it is the cluster that promotes replicas */
        check_healed(m, port, &write);
        tell(port, "CONFIG SET replica-serve-stale-data no");
        check_healed(m, port, &read);
    }
    matrix_expect_works(m);
    matrix_check_redis(m, port);
    uint64_t losses = matrix_stats(m).losses;
    uint64_t spent_s = (waiting_now_us() - begun_us) / 1000000;
    assert_true(losses <= 4 + 2 * spent_s); /* a renewal a second, and its try */
    matrix_end(m);
}

static void f20(const matrix_mode_t *mode)
{
    if (!mode->is_unit) /* of a unit EXEC says it, and nothing is tried again */
        check_scripted(mode);
    check_real(mode);
}

MATRIX_ROW(20){
    MATRIX_CELLS_EVERYWHERE(f20),
    MATRIX_ROW_END,
};
