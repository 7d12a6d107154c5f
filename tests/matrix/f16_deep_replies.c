/* SPDX-License-Identifier: MIT */
/* F16: replies that are deep and legal, from a script.  As deep as is allowed they come
 * whole; deeper they cost the connection and nothing else; and however deep they are,
 * they take little of a thread's stack.  (S2 I8) */
#include "matrix/load.h"
#include "matrix/matrix.h"
#include "support/process_state.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define DEPTH_MAX 1024 /* that the library takes; a unit adds one */
#define STACK_BYTES 1048576
#define STACK_BYTES_MAX 65536 /* that may be used */
#define PAINT 0xA5

static const char *const script = "local t = 7 "
                                  "for i = 1, tonumber(ARGV[1]) do t = {t} end "
                                  "return t";

/* Is it so many arrays of one element around a 7? */
static bool is_nest(const shoal_reply_t *reply, void *data)
{
    unsigned depth = *(const unsigned *)data;

    for (; depth > 0; depth--) {
        if (!reply || shoal_reply_type(reply) != SHOAL_REPLY_ARRAY ||
            shoal_reply_count(reply) != 1)
            return false;
        reply = shoal_reply_at(reply, 0);
    }
    return shoal_reply_type(reply) == SHOAL_REPLY_INTEGER &&
           shoal_reply_integer(reply) == 7;
}

static const matrix_command_t *nest(matrix_t *m, unsigned depth)
{
    static char text[16];
    static unsigned wanted;
    static const char *const argv[] = {"EVAL_RO", script, "0", text};

    wanted = depth;
    snprintf(text, sizeof text, "%u", depth);
    return matrix_call(m, &(matrix_spec_t){.kind = MATRIX_OTHER,
                                           .command = {4, argv, NULL},
                                           .is_right = is_nest,
                                           .data = &wanted,
                                           .flags = SHOAL_CALL_ONCE});
}

/* ---- the stack ---- */

typedef struct stepper {
    const shoal_options_t *options;
    unsigned depth;
    bool is_done, is_right;
} stepper_t;

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    stepper_t *stepper = data;
    (void)client;

    stepper->is_done = true;
    stepper->is_right = shoal_result_status(result) == 0 &&
                        is_nest(shoal_result_reply(result), &stepper->depth);
}

/* A stepped client does everything on this very thread. */
static void *step(void *data)
{
    stepper_t *stepper = data;
    shoal_client_t *client = NULL;
    char depth[16];
    const char *const argv[] = {"EVAL_RO", script, "0", depth};

    snprintf(depth, sizeof depth, "%u", stepper->depth);
    if (shoal_client_open_borrowed(stepper->options, &client, NULL) != 0)
        return NULL;
    if (shoal_client_submit(client, 4, argv, NULL, on_result, stepper, NULL) == 0)
        while (!stepper->is_done)
            (void)shoal_client_step(client, SHOAL_TIMEOUT_NEVER);
    (void)shoal_client_close_and_wait(client, 0);
    shoal_client_release(client);
    return NULL;
}

/* Bytes of a painted stack that were used to take in a reply of this depth. */
static size_t stack_used(const shoal_options_t *options, unsigned depth)
{
    stepper_t stepper = {.options = options, .depth = depth};
    pthread_attr_t attributes;
    pthread_t thread;
    size_t untouched = 0;
    unsigned char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(stack != MAP_FAILED);
    memset(stack, PAINT, STACK_BYTES);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK_BYTES);
    assert_int_equal(pthread_create(&thread, &attributes, step, &stepper), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    while (untouched < STACK_BYTES && stack[untouched] == PAINT)
        untouched++;
    munmap(stack, STACK_BYTES);
    assert_true(stepper.is_right);
    return STACK_BYTES - untouched;
}

static void check_stack(matrix_t *m)
{
    if (process_is_sanitized()) /* its frames are not those of the library */
        return;
    assert_int_equal(shoal_options_set_on_event(m->options, NULL, NULL), 0);
    size_t flat = stack_used(m->options, 1);
    size_t deep = stack_used(m->options, DEPTH_MAX - 1);
    print_message("%s: %zu bytes of stack at depth 1, %zu at depth %d\n", m->mode->name,
                  flat, deep, DEPTH_MAX - 1);
    assert_true(deep <= STACK_BYTES_MAX);
}

static void f16(const matrix_mode_t *mode)
{
    matrix_t *m = matrix_begin(mode);
    redis_process_t *redis = matrix_redis(m, NULL);
    unsigned whole = mode->is_unit ? DEPTH_MAX - 1 : DEPTH_MAX;

    matrix_to_redis(m, redis);
    matrix_open_ready(m);
    for (unsigned depth = 1; depth < whole; depth *= 2)
        matrix_expect_value(m, nest(m, depth));
    matrix_expect_value(m, nest(m, whole - 1));
    assert_int_equal(matrix_stats(m).connects, 1);
    for (unsigned i = 1; i <= 3; i++) {
        matrix_expect(m, nest(m, i == 1 ? whole + 1 : 4001), SHOAL_EDESYNC,
                      SHOAL_FATE_REPLY_LOST);
        matrix_expect_works(m);
        assert_int_equal(matrix_stats(m).desyncs, i);
    }
    matrix_check_redis(m, redis_process_port(redis));
    if (mode->caller == MATRIX_BY_STEPPING)
        check_stack(m);
    matrix_end(m);
}

MATRIX_ROW(16){
    MATRIX_CELLS_EVERYWHERE(f16),
    MATRIX_ROW_END,
};
