/* SPDX-License-Identifier: MIT */
/* F2: every system call writes one byte, and reads one, on both sides. */
#include "matrix/matrix.h"
#include "matrix/transport.h"

#define CONNECT_US_MAX 60000000u

static _Atomic uint64_t sends;

static ssize_t send_one(int fd, const void *data, size_t bytes, int flags)
{
    sends++;
    return matrix_system_send(fd, data, bytes < 1 ? bytes : 1, flags);
}

static ssize_t recv_one(int fd, void *data, size_t bytes, int flags)
{
    return matrix_system_recv(fd, data, bytes < 1 ? bytes : 1, flags);
}

static void unhook(void *data)
{
    (void)data;
    matrix_transport_hook(NULL, NULL);
}

static void f2(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(m, &(fake_config_t){.is_unix = true});

    /* A call for each byte takes its time. */
    matrix_set_timeout(m, SHOAL_TIMEOUT_NEVER);
    assert_int_equal(shoal_options_set_connect_timeout_us(m->options, CONNECT_US_MAX,
                                                          CONNECT_US_MAX),
                     0);
    matrix_to_fake(m, server);
    sends = 0;
    matrix_transport_hook(send_one, recv_one);
    matrix_defer(m, unhook, NULL);
    matrix_open_ready(m);
    for (size_t i = 0; i < matrix_scaled(500); i++) {
        (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_READ});
        (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_WRITE});
        if (i % 1000 == 999)
            matrix_wait(m);
    }
    matrix_wait(m);
    matrix_check_fake(m, server);
    for (uint64_t seq = 0; seq < matrix_count(m); seq++)
        matrix_expect_value(m, matrix_at(m, seq));
    assert_int_equal(m->events.lost, 0);
    assert_true(sends >= matrix_count(m) * 30); /* it did bite */
    matrix_end(m);
}

MATRIX_ROW(2){
    MATRIX_CELLS_EVERYWHERE(f2),
    MATRIX_ROW_END,
};
