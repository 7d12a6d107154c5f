/* SPDX-License-Identifier: MIT */
/* F13: servers that put replies of their own into the stream, or leave one out.  Known of
 * valkey-server 8.0.1: FUNCTION LIST repeats what it was told, CR and LF and all, so that
 * one command has three replies; and the error of an AUTH behind other commands is
 * dropped.  Neither ends in a wrong value.  (I1 I8)
 *
 * VALKEY_SERVER names another server than the valkey-server of the path; without any
 * the test is skipped. */
#include "matrix/load.h"
#include "matrix/matrix.h"

#include <shoal/integrity.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 4

static const char *const forged[] = {"FUNCTION", "LIST",
                                     "x\r\n$6\r\nforged\r\n$6\r\nforged\r\n$1"};

/* redis_process_start() starts what REDIS_SERVER names. */
static redis_process_t *start_valkey(const matrix_t *m)
{
    const char *wanted = getenv("VALKEY_SERVER");
    const char *usual = getenv("REDIS_SERVER");
    char kept[256] = "";

    snprintf(kept, sizeof kept, "%s", usual ? usual : "");
    setenv("REDIS_SERVER", wanted ? wanted : "valkey-server", 1);
    redis_process_t *valkey = redis_process_start_tls(NULL, matrix_tls(m));
    if (usual)
        setenv("REDIS_SERVER", kept, 1);
    else
        unsetenv("REDIS_SERVER");
    if (!valkey) {
        print_message("there is no valkey-server to start\n");
        skip();
    }
    return valkey;
}

static void stop_valkey(void *valkey)
{
    redis_process_stop(valkey);
}

/* AUTH never travels behind anything: it is the library's alone, in the greeting. */
static void check_auth_is_refused(matrix_t *m)
{
    static const char *const auth[] = {"AUTH", "bad"};
    const matrix_spec_t spec = {.kind = MATRIX_OTHER, .command = {2, auth, NULL}};
    uint64_t first = matrix_count(m);

    (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_READ});
    const matrix_command_t *refused = matrix_submit(m, &spec);
    (void)matrix_submit(m, &(matrix_spec_t){.kind = MATRIX_READ});
    matrix_wait(m);
    assert_int_equal(refused->rc, SHOAL_EREFUSED);
    matrix_expect_value(m, matrix_at(m, first));
    matrix_expect_value(m, matrix_at(m, first + 2));
}

/* The forger between others: these have their own values, or an error. */
static void check_injection(matrix_t *m)
{
    const matrix_spec_t forger = {
        .kind = MATRIX_OTHER, .command = {3, forged, NULL}, .timeout_us = 2000000};
    const matrix_spec_t reader = {.kind = MATRIX_READ, .timeout_us = 2000000};

    for (size_t round = 0; round < matrix_scaled(ROUNDS); round++) {
        for (int i = 0; i < 4; i++)
            (void)matrix_submit(m, &reader);
        (void)matrix_submit(m, &forger);
        for (int i = 0; i < 4; i++)
            (void)matrix_submit(m, &reader);
        matrix_wait(m);
    }
}

/* Does this server forge at all?  If not there is nothing to be proved. */
static bool is_forging(int port)
{
    char answer[512] = "";
    return redis_ask(port, "FUNCTION LIST \"x\\r\\n$6\\r\\nforged\"", answer,
                     sizeof answer) &&
           strstr(answer, "forged") == NULL;
}

static void f13(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    redis_process_t *valkey = start_valkey(m);
    int port = redis_process_port(valkey);

    matrix_defer(m, stop_valkey, valkey);
    matrix_to_redis(m, valkey);
#if MATRIX_HAS_INTEGRITY
    assert_int_equal(shoal_options_set_integrity(m->options, SHOAL_INTEGRITY_STRICT),
                     0);
#endif
    matrix_open_ready(m);
    check_auth_is_refused(m);
    if (is_forging(port)) {
#if !MATRIX_HAS_INTEGRITY
        m->may_be_wrong = true; /* nothing else would notice well-formed forgeries */
#endif
        check_injection(m);
        assert_true(matrix_stats(m).desyncs > 0);
    }
    print_message("%s: %llu desyncs, %llu wrong values\n", mode->name,
                  (unsigned long long)matrix_stats(m).desyncs,
                  (unsigned long long)m->wrong);
    matrix_end(m);
}

MATRIX_ROW(13){
    MATRIX_CELLS_EVERYWHERE(f13),
    MATRIX_ROW_END,
};
