/* SPDX-License-Identifier: MIT */
/* F14: the server talks unasked: before the greeting, while nothing is under way,
 * without end.  The connection ends, little is kept in memory, and no caller gets
 * any of it.  (I8) */
#include "matrix/matrix.h"

#include <shoal/integrity.h>
#include <string.h>

#define FLOOD_BYTES 4194304
#define KEPT_BYTES_MAX 65536

/* Before the first request. */
static void check_before_greeting(matrix_t *m, fake_server_t *server)
{
    fake_server_rule(server, &(fake_rule_t){.command = FAKE_ON_ACCEPT,
                                            .connection = 1,
                                            .reply = "$6\r\nforged\r\n"});
    fake_server_rule(server, &(fake_rule_t){.command = FAKE_ON_ACCEPT,
                                            .connection = 2,
                                            .reply = "-ERR max number of clients "
                                                     "reached\r\n"});
    matrix_open_ready(m);
    assert_true(m->events.lost >= 2);
    assert_int_equal(fake_server_user_commands(server, 1), 0);
    assert_int_equal(fake_server_user_commands(server, 2), 0);
}

/* Nothing is under way.  In a cluster that is so behind the last answer about its view: while
 * the client asks for that, the text would be the beginning of an answer. */
static void check_idle(matrix_t *m, fake_server_t *server, const char *text)
{
    unsigned desyncs = m->events.lost_desync;

    matrix_expect_works(m);
    if (m->mode->is_cluster) {
        fake_server_rule(server, &(fake_rule_t){.command = "CLUSTER",
                                                .argument = "NODES",
                                                .times = 1,
                                                .after = text});
        fake_server_cut(server, FAKE_CUT_FIN); /* it asks again */
    } else {
        fake_server_send(server, text);
    }
    MATRIX_WAIT_FOR(m, m->events.lost_desync > desyncs);
    matrix_expect_works(m);
}

/* Behind an answer, in the same read or the next: never the answer to the next one. */
static void check_behind_answers(matrix_t *m, fake_server_t *server)
{
    unsigned desyncs = m->events.lost_desync;

    fake_server_rule(server,
                     &(fake_rule_t){.command = m->mode->is_unit ? "EXEC" : "ECHO",
                                    .times = 1,
                                    .after = "$6\r\nforged\r\n"});
    matrix_expect_value(m, matrix_call(m, NULL));
    MATRIX_WAIT_FOR(m, m->events.lost_desync > desyncs);
    matrix_expect_works(m);
}

#if MATRIX_ENDS_HALF_FRAMES
/* Half a frame, and the other half looks like the beginning of the next answer: that must
 * not become the value of the command that is submitted in between. */
static void check_half(matrix_t *m, fake_server_t *server)
{
    unsigned lost = m->events.lost;

    matrix_expect_works(m);
    uint64_t before = matrix_stats(m).bytes_in;
    fake_server_send(server, "$6\r\nfor"); /* ... and "$14" */
    MATRIX_WAIT_FOR(m, matrix_stats(m).bytes_in > before || m->events.lost > lost);
    matrix_expect_value(m, matrix_call(m, NULL));
}

static void check_flood(matrix_t *m, fake_server_t *server)
{
    static char flood[FLOOD_BYTES + 1];

    memset(flood, 'x', FLOOD_BYTES);
    memcpy(flood, "$16777216\r\n", 11);
    size_t before = matrix_memory_peak();
    check_idle(m, server, flood);
    if (matrix_memory_peak() > before + KEPT_BYTES_MAX)
        fail_msg("%zu bytes of a flood were kept", matrix_memory_peak() - before);
}

#endif

static void f14(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);

    matrix_to_fake(m, server);
    /* No fences: each byte that comes unasked is the server's own. */
    assert_int_equal(shoal_options_set_integrity(m->options, SHOAL_INTEGRITY_SHAPES),
                     0);
    check_before_greeting(m, server);
    check_idle(m, server, "+OK\r\n");
    check_idle(m, server, "\r\n");
    check_idle(m, server, "$6\r\nforged\r\n$6\r\nforged\r\n");
    check_behind_answers(m, server);
#if MATRIX_ENDS_HALF_FRAMES
    check_half(m, server);
    check_flood(m, server);
#endif
    matrix_check_fake(m, server);
    matrix_end(m);
}

MATRIX_ROW(14){
    MATRIX_CELLS_EVERYWHERE(f14),
    MATRIX_ROW_END,
};
