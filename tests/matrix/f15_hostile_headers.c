/* SPDX-License-Identifier: MIT */
/* F15: headers that promise too much, or that are none.  The connection ends, without
 * memory for what was only announced.  (S2 I8) */
#include "matrix/child.h"
#include "matrix/matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALLOCATED_MAX 1048576 /* and 16 for each byte that came */
#define TIMEOUT_US 5000000    /* a header that is waited for fails soon */
#define LANES 6 /* processes: a new connection waits, so many can share a machine */
#define DEEP 100000
#define LONG_LINE 131072

/* clang-format off */
static const char *const hostile[] = {
    "*2147483647\r\n:1\r\n", "*4294967297\r\n:1\r\n", "*-2\r\n",
    "$9223372036854775807\r\nx", "$18446744073709551617\r\nx", "$-2\r\n", "$1 \r\n",
    "%4611686018427387905\r\n:1\r\n", "%9223372036854775807\r\n:1\r\n",
    "~2147483647\r\n", ">2147483647\r\n", "*1\r\n|1\r\n+a\r\n+b\r\n:1\r\n",
    "$?\r\n;1\r\na\r\n;0\r\n", "*?\r\n:1\r\n.\r\n", "$0x1\r\na\r\n", "\r\n", "x\r\n",
    ":99999999999999999999999\r\n", ":1x\r\n", "#x\r\n", "$3\r\nabcd\r\n",
};
/* clang-format on */

/* The text is the answer to a write: the connection ends, the fate is not "replied". */
static void check_answer(matrix_t *m, fake_server_t *server, const char *text)
{
    unsigned desyncs = m->events.lost_desync, ready = m->events.ready;
    size_t before = matrix_memory_now();

    fake_server_forget_rules(server);
    fake_server_rule(server,
                     &(fake_rule_t){.command = m->mode->is_unit ? "EXEC" : "RPUSH",
                                    .times = 1,
                                    .reply = text,
                                    .is_executed = true});
    matrix_command_t *command = matrix_call(m, &(matrix_spec_t){.kind = MATRIX_WRITE});
    if (command->status != SHOAL_EDESYNC || command->has_reply)
        fail_msg("%.40s: %s", text, matrix_describe(command));
    MATRIX_WAIT_FOR(m, m->events.lost_desync > desyncs);
    MATRIX_WAIT_FOR(m, m->events.ready > ready);
    size_t allowed = before + ALLOCATED_MAX + 16 * strlen(text);
    if (matrix_memory_peak() > allowed)
        fail_msg("%.40s: %zu bytes were allocated", text,
                 matrix_memory_peak() - before);
}

static void check_deep(matrix_t *m, fake_server_t *server)
{
    char *text = malloc(DEEP * 4 + 1);

    assert_non_null(text);
    for (size_t i = 0; i < DEEP; i++)
        memcpy(text + i * 4, "*1\r\n", 5);
    check_answer(m, server, text);
    free(text); /* its rule acted once, and never again */
}

/* Only text may be long. */
static void check_long_line(matrix_t *m, fake_server_t *server)
{
    char *text = malloc(LONG_LINE + 1);

    assert_non_null(text);
    memset(text, 'a', LONG_LINE);
    text[0] = ':';
    text[LONG_LINE] = '\0';
    check_answer(m, server, text);
    free(text);
}

typedef struct lane {
    const matrix_mode_t *mode;
    size_t number;
} lane_t;

static void play_lane(void *data)
{
    const lane_t *lane = data;
    matrix_t *m = matrix_begin(lane->mode);
    fake_server_t *server = matrix_fake(m, NULL);

    matrix_to_fake(m, server);
    matrix_set_timeout(m, TIMEOUT_US);
    matrix_open_ready(m);
    for (size_t i = lane->number; i < sizeof hostile / sizeof *hostile; i += LANES)
        check_answer(m, server, hostile[i]);
    if (lane->number == 0)
        check_deep(m, server);
    if (lane->number == 1)
        check_long_line(m, server);
    fake_server_forget_rules(server);
    matrix_expect_works(m);
    matrix_check_fake(m, server);
    matrix_end(m);
}

static void f15(const matrix_mode_t *mode)
{
    pid_t children[LANES];

    for (size_t i = 0; i < LANES; i++)
        children[i] = matrix_child_start(play_lane, &(lane_t){mode, i});
    for (size_t i = 0; i < LANES; i++)
        matrix_child_end(children[i]);
}

MATRIX_ROW(15){
    MATRIX_CELLS_EVERYWHERE(f15),
    MATRIX_ROW_END,
};
