/* SPDX-License-Identifier: MIT */
/* F18: big values both ways through sockets of 4 KiB, to a server that reads nothing while
 * it has something to write: a client that stopped reading while it cannot write would
 * wait for ever. */
#include "matrix/matrix.h"

#include <stdlib.h>
#include <string.h>

#define VALUES 6
#define VALUE_BYTES 262144
#define VALUE_BYTES_FULL 67108864
#define BYTES_MAX 1073741824

typedef struct value {
    char *data;
    size_t bytes;
} value_t;

static bool is_same(const shoal_reply_t *reply, void *data)
{
    const value_t *value = data;
    size_t bytes = 0;
    const char *text = shoal_reply_string(reply, &bytes);

    return text && bytes == value->bytes && memcmp(text, value->data, bytes) == 0;
}

static void free_values(void *data)
{
    value_t *values = data;

    for (int i = 0; i < VALUES; i++)
        free(values[i].data);
    free(values);
}

/* Each of another letter. */
static value_t *make_values(matrix_t *m)
{
    value_t *values = calloc(VALUES, sizeof *values);

    /* In a cluster they go by TCP, which is slow through such sockets. */
    bool is_full = matrix_scale() > 1.0 && !m->mode->is_cluster;

    assert_non_null(values);
    matrix_defer(m, free_values, values);
    for (int i = 0; i < VALUES; i++) {
        values[i].bytes = is_full ? VALUE_BYTES_FULL : VALUE_BYTES;
        values[i].data = malloc(values[i].bytes);
        assert_non_null(values[i].data);
        memset(values[i].data, 'a' + i, values[i].bytes);
    }
    return values;
}

static void f18(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    fake_server_t *server = matrix_fake(
        m, &(fake_config_t){
               .is_unix = true, .buffer_bytes = 4096, .is_stubborn = !mode->is_unit});
    value_t *values = make_values(m);
    const char *argv[VALUES][2];
    size_t argvlen[VALUES][2];

    matrix_to_fake(m, server);
    matrix_set_timeout(m, SHOAL_TIMEOUT_NEVER);
    assert_int_equal(
        shoal_options_set_outstanding_max(m->options, 1000, 1000, BYTES_MAX), 0);
    matrix_open_ready(m);
    (void)matrix_submit_many(m, &(matrix_spec_t){.kind = MATRIX_WRITE}, VALUES);
    matrix_wait(m);
    for (int i = 0; i < VALUES; i++) {
        argv[i][0] = "ECHO";
        argv[i][1] = values[i].data;
        argvlen[i][0] = 4;
        argvlen[i][1] = values[i].bytes;
        (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_OTHER,
                                                .command = {2, argv[i], argvlen[i]},
                                                .is_right = is_same,
                                                .data = &values[i]});
    }
    matrix_wait(m);
    for (uint64_t seq = 0; seq < matrix_count(m); seq++)
        matrix_expect_value(m, matrix_at(m, seq));
    assert_int_equal(m->events.lost, 0);
    matrix_check_fake(m, server);
    matrix_end(m);
}

MATRIX_ROW(18){
    MATRIX_CELLS_EVERYWHERE(f18),
    MATRIX_ROW_END,
};
