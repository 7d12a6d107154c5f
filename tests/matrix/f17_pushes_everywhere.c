/* SPDX-License-Identifier: MIT */
/* F17: pushes before and behind every reply, of kinds that nobody knows: each command gets
 * its own reply all the same.  A push inside a reply ends the connection.  (I1 I8) */
#include "matrix/matrix.h"

#define BATCH 8

/* clang-format off */
static const char *const pushes[] = {
    ">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\nkey\r\n",
    ">2\r\n$10\r\ninvalidate\r\n_\r\n",
    ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$6\r\nforged\r\n",
    ">3\r\n$12\r\nsunsubscribe\r\n$1\r\nc\r\n:0\r\n",
    ">1\r\n+unheard-of\r\n",
};
/* clang-format on */

/* Before and behind the reply at every position of a batch. */
static void check_positions(matrix_t *m, fake_server_t *server, const char *push)
{
    static const char *const members[] = {"MULTI", "ECHO", "EXEC"};
    uint64_t before = matrix_stats(m).pushes, first = matrix_count(m), sent = 0;

    fake_server_forget_rules(server);
    for (unsigned i = 0; i < (m->mode->is_unit ? 3 : 1); i++)
        for (unsigned position = 0; position < BATCH; position++) {
            fake_server_rule(
                server, &(fake_rule_t){.command = members[m->mode->is_unit ? i : 1],

                                       .times = 1,
                                       .before = position % 2 ? push : NULL,
                                       .after = position % 3 ? NULL : push});
            sent += position % 2 ? 1u : 0u;
            sent += position % 3 ? 0u : 1u;
        }
    (void)matrix_submit_many(m, NULL, BATCH);
    matrix_wait(m);
    for (uint64_t seq = first; seq < matrix_count(m); seq++)
        matrix_expect_value(m, matrix_at(m, seq));
    MATRIX_WAIT_FOR(m, matrix_stats(m).pushes == before + sent);
}

/* Inside a reply there is no place for one. */
static void check_inside(matrix_t *m, fake_server_t *server)
{
    unsigned desyncs = m->events.lost_desync;

    fake_server_forget_rules(server);
    fake_server_rule(server,
                     &(fake_rule_t){.command = m->mode->is_unit ? "EXEC" : "RPUSH",
                                    .times = 1,
                                    .reply = "*2\r\n>1\r\n+x\r\n:1\r\n",
                                    .is_executed = true});
    matrix_expect(m, matrix_call(m, &(matrix_spec_t){.kind = MATRIX_WRITE}),
                  SHOAL_EDESYNC, SHOAL_FATE_REPLY_LOST);
    /* The loss is told behind the result. */
    MATRIX_WAIT_FOR(m, m->events.lost_desync == desyncs + 1);
}

static void f17(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);

    matrix_to_fake(m, server);
    matrix_open_ready(m);
    for (size_t i = 0; i < sizeof pushes / sizeof *pushes; i++)
        check_positions(m, server, pushes[i]);
    assert_int_equal(m->events.lost, 0);
    check_inside(m, server);
    matrix_expect_works(m);
    matrix_check_fake(m, server);
    matrix_end(m);
}

MATRIX_ROW(17){
    MATRIX_CELL(RESP3_CALLBACK, f17),
    MATRIX_CELL(RESP3_SYNC, f17),
    MATRIX_CELL(RESP3_BORROWED, f17),
    NOT_APPLICABLE(RESP2, "RESP2 has no pushes; the bytes of one are those of F15"),
    MATRIX_CELL(UNITS, f17),
    MATRIX_ROW_END,
};
