/* SPDX-License-Identifier: MIT */
/* F32: memory runs out at every point of a client's life: from the n-th allocation on
 * there is none, for every n, and then there is again.  What was accepted completes once
 * and truly, and the client is of use afterwards.  (I1 I2 I4) */
#include "matrix/load.h"
#include "matrix/matrix.h"

#include "base/alloc.h"
#include <string.h>

#define POINTS 40
#define COMMANDS 30
#define DRY_US 3000
#define BIG_BYTES 70000 /* more than any buffer has room for */

static void have_memory(void *data)
{
    (void)data;
    shoal__test_fail_alloc_never();
}

/* Right or not there at all. */
static bool is_big(const shoal_reply_t *reply, void *data)
{
    size_t bytes = 0;
    const char *text = shoal_reply_string(reply, &bytes);
    (void)data;
    return text && bytes == BIG_BYTES && text[0] == 'x' && text[bytes - 1] == 'x';
}

static void check_point(matrix_t *m, size_t allowed, const char *big)
{
    static const size_t big_bytes[] = {4, BIG_BYTES};
    const char *const echo[] = {"ECHO", big};
    const matrix_spec_t large = {
        .kind = MATRIX_OTHER, .command = {2, echo, big_bytes}, .is_right = is_big};

    shoal__test_fail_alloc_after(allowed);
    for (int i = 0; i < COMMANDS; i++) {
        const matrix_spec_t spec = {.kind = i % 2 ? MATRIX_WRITE : MATRIX_READ};
        matrix_command_t *command = matrix_submit(m, i % 10 ? &spec : &large);
        if (i % 7 == 0)
            (void)matrix_cancel(m, command);
    }
    matrix_pause(m, DRY_US);
    shoal__test_fail_alloc_never();
    matrix_wait(m);
}

/* Commands for which there was no memory. */
static size_t count_refusals(matrix_t *m)
{
    size_t without = 0;

    for (uint64_t seq = 0; seq < matrix_count(m); seq++) {
        const matrix_command_t *command = matrix_at(m, seq);
        if (command->rc != 0)
            assert_int_equal(command->rc, SHOAL_ENOMEM);
        else if (command->status == SHOAL_ENOMEM)
            assert_int_not_equal(command->fate, SHOAL_FATE_REPLIED);
        without += command->rc != 0 || command->status == SHOAL_ENOMEM;
    }
    return without;
}

/* A blocking call without memory for its result is in no counter of the client; the rig
 * knows by these when all calls that were begun have reached it. */
static void make_up_for_refusals(matrix_t *m)
{
    static const char *const ping[] = {"PING"};

    for (uint64_t i = 0; m->mode->caller == MATRIX_BY_BLOCKING && i < m->refused; i++)
        assert_int_equal(
            shoal_client_submit(m->client, 1, ping, NULL, NULL, NULL, NULL), 0);
}

static void f32(const matrix_mode_t *mode)
{
    static char big[BIG_BYTES];
    size_t without = 0;

    memset(big, 'x', sizeof big);
    for (size_t i = 0; i < matrix_scaled(POINTS); i++) {
        matrix_t *m = matrix_begin(mode); /* a new client has no room to spare yet */
        fake_server_t *server = matrix_fake(m, NULL);
        matrix_defer(m, have_memory, NULL);
        matrix_to_fake(m, server);
        matrix_open_ready(m);
        check_point(m, i % POINTS, big);
        matrix_expect_works(m);
        make_up_for_refusals(m);
        matrix_check_fake(m, server);
        without += count_refusals(m);
        assert_int_equal(fake_server_broken(server), 0);
        matrix_end(m);
    }
    assert_true(without > 0); /* it did run out */
    print_message("%s: %zu commands had no memory\n", mode->name, without);
}

MATRIX_ROW(32){
    MATRIX_CELLS_EVERYWHERE(f32),
    MATRIX_ROW_END,
};
