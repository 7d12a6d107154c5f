/* SPDX-License-Identifier: MIT */
/* F37: forks under load.  Every call of the child fails, because the client is the
 * parent's.  The child may exit, or become another program; the parent notices nothing.
 * (I14) */
#include "matrix/load.h"
#include "matrix/matrix.h"
#include "support/lone_fork.h"
#include "support/process_state.h"

#include <sys/wait.h>
#include <unistd.h>

#define FORKS 9
#define PATIENCE_S 20 /* of a child that hangs */

/* Calls of the child, which may take no lock of the test.  0, or the number of the call
 * that was not answered as it should be. */
static int use(const matrix_mode_t *mode, shoal_client_t *client)
{
    static const char *const argv[] = {"RPUSH", "child", "x"};
    const shoal_command_t command = {3, argv, NULL};
    const shoal_call_t patient = {.size = sizeof patient,
                                  .flags = SHOAL_CALL_WAIT_FOR_ROOM};
    shoal_result_t *result = NULL;
    shoal_stats_t stats = SHOAL_STATS_INIT;
    const int codes[] = {
        shoal_client_submit(client, 3, argv, NULL, NULL, NULL, NULL),
        shoal_client_submit_many(client, &command, 1, &patient, NULL, NULL, NULL),
        shoal_client_call(client, 3, argv, NULL, &result),
        shoal_client_cancel(client, 1),
        shoal_client_wait_ready(client, 1000),
        shoal_stats_get(client, &stats),
        shoal_client_close(client, 0, NULL, NULL),
        shoal_client_close_and_wait(client, 0),
        mode->caller == MATRIX_BY_STEPPING ? shoal_client_step(client, 0) : SHOAL_EFORK,
    };

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] != SHOAL_EFORK)
            return (int)i + 1;
    return shoal_client_after_fork_child(client) == 0 ? 0 : 100;
}

/* The child: 0 uses the client, 1 leaves at once, 2 becomes another program. */
static void live(const matrix_mode_t *mode, shoal_client_t *client, unsigned kind)
{
    alarm(PATIENCE_S);
    if (kind == 2)
        execl("/bin/true", "true", (char *)NULL);
    busy_fork_exit(kind == 0 ? use(mode, client) : kind == 1 ? 0 : 127);
}

static int fork_once(const matrix_mode_t *mode, shoal_client_t *client, unsigned kind,
                     pid_t *ret_child)
{
    *ret_child = fork();
    if (*ret_child == 0)
        live(mode, client, kind);
    return *ret_child > 0 ? 0 : -1;
}

/* True when the child has ended; *ret_status is then its status. */
static bool has_ended(pid_t child, int *ret_status)
{
    return waitpid(child, ret_status, WNOHANG) == child;
}

static void f37(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    redis_process_t *redis = matrix_redis(m, NULL);
    const load_plan_t plan = {
        .threads = 3, .window = 200, .per_ms = 20, .writes = 30, .cancels = 5};
    int port = redis_process_port(redis), worst = 0;
    char answer[64] = "";

    matrix_to_redis(m, redis);
    uint64_t before = process_descriptor_set();
    matrix_open_ready(m);
    assert_int_equal(process_inherited(before), -1); /* by another program */
    load_t *load = load_start(m, &plan);
    for (size_t i = 0; i < matrix_scaled(FORKS) && worst == 0; i++) {
        uint64_t completed = m->completed;
        pid_t child = 0;
        LOAD_UNTIL(load, m->completed > completed + 20);
        if (fork_once(mode, m->client, (unsigned)i % 3, &child) != 0)
            worst = -1;
        else
            LOAD_UNTIL(load, has_ended(child, &worst));
    }
    load_stop(load);
    if (worst != 0)
        fail_msg("a child ended with status %x", (unsigned)worst);
    for (uint64_t seq = 0; seq < matrix_count(m); seq++)
        if (matrix_at(m, seq)->status != SHOAL_ECANCELLED)
            matrix_expect_value(m, matrix_at(m, seq));
    assert_int_equal(matrix_stats(m).connects, 1);
    assert_true(redis_ask(port, "EXISTS child", answer, sizeof answer));
    assert_string_equal(answer, ":0"); /* not a byte of the children was sent */
    matrix_check_redis(m, port);
    matrix_end(m);
}

MATRIX_ROW(37){
    MATRIX_CELLS_EVERYWHERE(f37),
    MATRIX_ROW_END,
};
