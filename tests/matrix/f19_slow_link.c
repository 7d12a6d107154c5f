/* SPDX-License-Identifier: MIT */
/* F19: a link of 1 Mbit/s.  Everything completes, and nothing fails while bytes move, even
 * if one answer takes longer than a server may be silent. */
#include "matrix/matrix.h"
#include "matrix/with_proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_PER_S 125000
#define COMMANDS 200
#define STALL_US 2000000 /* a busy machine is silent for less */
#define BIG_BYTES 300000 /* more than two seconds */

static bool is_big(const shoal_reply_t *reply, void *data)
{
    size_t bytes = 0;
    (void)data;
    return shoal_reply_string(reply, &bytes) != NULL && bytes == BIG_BYTES;
}

/* "$300000\r\nvvv...\r\n" */
static char *big_answer(matrix_t *m)
{
    char *text = malloc(BIG_BYTES + 32);

    assert_non_null(text);
    matrix_defer(m, free, text);
    int head = snprintf(text, 32, "$%d\r\n", BIG_BYTES);
    memset(text + head, 'v', BIG_BYTES);
    strcpy(text + head + BIG_BYTES, "\r\n");
    return text;
}

static void f19(const matrix_mode_t *mode)
{
    const char *const get[] = {"GET", "big"};
    matrix_t *m = matrix_begin(mode);
    char *answer = big_answer(m);
    fake_server_t *server = matrix_fake(m, NULL);
    fault_carriage_t slow = {.bytes_per_s = BYTES_PER_S};

    (void)matrix_proxy(m, server,
                       (fault_proxy_config_t){.seed = 19, .ways = {slow, slow}});
    assert_int_equal(shoal_options_set_stall_timeout_us(m->options, STALL_US), 0);
    if (!mode->is_unit) /* there the members answer, not the rule */
        fake_server_rule(server, &(fake_rule_t){.command = "GET", .reply = answer});
    matrix_open_ready(m);
    for (size_t i = 0; i < matrix_scaled(COMMANDS); i++) {
        (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_READ});
        (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_WRITE});
    }
    if (!mode->is_unit)
        (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_OTHER,
                                                .command = {2, get, NULL},
                                                .is_right = is_big});
    matrix_wait(m);
    for (uint64_t seq = 0; seq < matrix_count(m); seq++)
        matrix_expect_value(m, matrix_at(m, seq));
    assert_int_equal(m->events.lost, 0);
    matrix_check_fake(m, server);
    matrix_end(m);
}

MATRIX_ROW(19){
    MATRIX_CELLS_EVERYWHERE(f19),
    MATRIX_ROW_END,
};
