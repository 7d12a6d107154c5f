/* SPDX-License-Identifier: MIT */
/* F9: one direction of the connection ends, and the other goes on: the server says no more
 * but takes what comes, or it hears no more from the client.  Either is a connection
 * that is lost. */
#include "matrix/matrix.h"
#include "matrix/with_proxy.h"

#define BATCH 100

static void submit_batch(matrix_t *m)
{
    for (int i = 0; i < BATCH; i++) {
        (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_READ});
        (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_WRITE});
    }
}

/* Under load, then on an idle connection, then at once in the greeting. */
static void check_way(matrix_t *m, fault_proxy_t *proxy, fault_way_t way)
{
    unsigned lost = m->events.lost;

    submit_batch(m);
    fault_proxy_cut(proxy, way, FAULT_END_HALF);
    MATRIX_WAIT_FOR(m, m->events.lost > lost);
    matrix_wait(m);
    matrix_expect_works(m);

    lost = m->events.lost;
    fault_proxy_cut(proxy, way, FAULT_END_HALF);
    MATRIX_WAIT_FOR(m, m->events.lost > lost);
    submit_batch(m);
    matrix_wait(m);
    matrix_expect_works(m);
}

static void f9(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, NULL);
    fault_proxy_t *proxy = matrix_proxy(m, server, (fault_proxy_config_t){.seed = 9});

    matrix_open_ready(m);
    check_way(m, proxy, FAULT_TO_CLIENT);
    check_way(m, proxy, FAULT_TO_SERVER);
    assert_true(fault_proxy_counts(proxy).accepted >= 5);
    matrix_check_fake(m, server);
    matrix_end(m);
}

MATRIX_ROW(9){
    MATRIX_CELLS_EVERYWHERE(f9),
    MATRIX_ROW_END,
};
