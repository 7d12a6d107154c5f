/* SPDX-License-Identifier: MIT */
/* F11: bytes of replies are turned, lost and inserted at random; and whole replies.
 * Nothing crashes or hangs, and no write is told a wrong fate.  With strict
 * integrity no caller gets the value of another command, though a value may be
 * damaged.  With TLS the harm is done inside; and then to what is encrypted, where it ends
 * the connection, and no value is wrong. */
#include "matrix/matrix.h"
#include "matrix/with_proxy.h"

#if MATRIX_HAS_INTEGRITY
#include <shoal/integrity.h>
#endif

#define ROUNDS 10
#define BATCH 128
#define TIMEOUT_US 250000
#define LATE_US_MAX 1000000 /* deadlines are only in passing here; F5 measures them */
#define RATE 500            /* of a million bytes */
#define REPLY_RATE 5000     /* of a million replies */

static const fault_carriage_t harms[] = {
    {.flip_rate = RATE},
    {.lose_rate = RATE},
    {.insert_rate = RATE},
    {.flip_rate = RATE, .lose_rate = RATE, .insert_rate = RATE},
    {.drop_rate = REPLY_RATE, .repeat_rate = REPLY_RATE},
};

#define HARMS (sizeof harms / sizeof *harms)
#define ENCRYPTED_HARMS 2 /* the first ones */

static void submit_batch(matrix_t *m)
{
    for (int i = 0; i < BATCH; i++)
        (void)matrix_submit(
            m, &(matrix_spec_t){.kind = i % 4 ? MATRIX_READ : MATRIX_WRITE});
    matrix_wait(m);
}

static void play(matrix_t *m, uint64_t seed)
{
    fake_server_t *server = matrix_fake_plain(m, NULL);
    fault_proxy_t *proxy = matrix_proxy(
        m, server, (fault_proxy_config_t){.seed = seed, .tls = matrix_tls(m)});
    fault_carriage_t unharmed = {0};

    m->may_be_wrong = true;
    m->late_us_max = LATE_US_MAX;
    matrix_set_timeout(m, TIMEOUT_US);
    assert_int_equal(shoal_options_set_stall_timeout_us(m->options, TIMEOUT_US), 0);
    assert_int_equal(
        shoal_options_set_connect_timeout_us(m->options, TIMEOUT_US, TIMEOUT_US), 0);
    matrix_open_ready(m);
    for (size_t i = 0; i < matrix_scaled(ROUNDS); i++) {
        fault_proxy_carry(proxy, FAULT_TO_CLIENT, &harms[i % HARMS]);
        submit_batch(m);
    }
    assert_true(fault_proxy_counts(proxy).harmed > 0);
    fault_proxy_carry(proxy, FAULT_TO_CLIENT, &unharmed);
    fault_proxy_cut(proxy, FAULT_TO_CLIENT, FAULT_END_RESET);
    matrix_expect_works(m);
    matrix_check_fake(m, server);
}

/* What is encrypted is harmed, once the handshake is over: each harm ends the connection. */
static void play_encrypted(matrix_t *m)
{
    fake_server_t *server = matrix_fake(m, NULL);
    fault_proxy_t *proxy = matrix_proxy(m, server, (fault_proxy_config_t){.seed = 3});
    const fault_carriage_t unharmed = {0};

    m->late_us_max = LATE_US_MAX;
    matrix_set_timeout(m, TIMEOUT_US);
    matrix_open_ready(m);
    for (size_t i = 0; i < matrix_scaled(ENCRYPTED_HARMS); i++) {
        unsigned ready = m->events.ready, lost = m->events.lost;
        uint64_t harmed = fault_proxy_counts(proxy).harmed;
        fault_proxy_carry(proxy, FAULT_TO_CLIENT, &harms[i % ENCRYPTED_HARMS]);
        while (fault_proxy_counts(proxy).harmed == harmed)
            submit_batch(m);
        fault_proxy_carry(proxy, FAULT_TO_CLIENT, &unharmed);
        (void)matrix_submit_many(m, &(matrix_spec_t){.kind = MATRIX_READ}, BATCH);
        MATRIX_WAIT_FOR(m, m->events.lost > lost);
        MATRIX_WAIT_FOR(m, m->events.ready > ready);
    }
    matrix_wait(m);
    matrix_expect_works(m);
    matrix_check_fake(m, server);
}

static void f11(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);

#if MATRIX_HAS_INTEGRITY
    assert_int_equal(shoal_options_set_integrity(m->options, SHOAL_INTEGRITY_SHAPES),
                     0);
#endif
    play(m, 11);
    matrix_end(m);
#if MATRIX_HAS_INTEGRITY
    m = matrix_begin(mode);
    assert_int_equal(shoal_options_set_integrity(m->options, SHOAL_INTEGRITY_STRICT),
                     0);
    play(m, 1111);
    assert_int_equal(m->misplaced, 0);
    matrix_end(m);
#endif
    if (mode->is_tls) {
        m = matrix_begin(mode);
        play_encrypted(m);
        matrix_end(m);
    }
}

MATRIX_ROW(11){
    MATRIX_CELLS_EVERYWHERE(f11),
    MATRIX_ROW_END,
};
