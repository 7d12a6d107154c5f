/* SPDX-License-Identifier: MIT */
/* F42: connections are killed at random, a hundred a second, while commands take the bulk
 * lane and the ordinary connection; some are cancelled, some are in a hurry.  The writes of
 * one thread, which are for one key, run in the order of their submission.  (I1 to I4)
 *
 * Full size, 2 000 kills, with SHOAL_TEST_SCALE=100. */
#include "matrix/killer.h"
#include "matrix/load.h"
#include "matrix/matrix.h"

#include <string.h>

#define COMMANDS 40 /* in a round */
#define KILLS 20    /* at least */
/* So many rounds let one more kill happen. */
#define ROUNDS_OF_ONE 300
#define HURRY_US_MAX 2000
#define VALUE_BYTES 150000

static unsigned roll(unsigned *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
}

static bool is_value(const shoal_reply_t *value, void *data)
{
    size_t bytes = 0;

    if (shoal_reply_type(value) == SHOAL_REPLY_NIL)
        return true; /* it was not set yet */
    return shoal_reply_string(value, &bytes) && bytes == *(const size_t *)data;
}

/* A large value, there or back.  It takes the lane. */
static matrix_spec_t large(bool is_set)
{
    static char value[VALUE_BYTES];
    static const char *const argv[] = {"SET", "large", value};
    static const char *const get[] = {"GET", "large"};
    static size_t argvlen[] = {3, 5, VALUE_BYTES};

    if (value[0] == 0) /* later the library may be reading it */
        memset(value, 'v', sizeof value);
    if (is_set)
        return (matrix_spec_t){.kind = MATRIX_OTHER, .command = {3, argv, argvlen}};
    return (matrix_spec_t){.kind = MATRIX_OTHER,
                           .command = {2, get, NULL},
                           .is_right = is_value,
                           .data = &argvlen[2]};
}

static matrix_spec_t choose(unsigned *random)
{
    matrix_spec_t spec = {.kind = roll(random) % 2 ? MATRIX_WRITE : MATRIX_READ};

    if (roll(random) % 10 == 0)
        spec = large(roll(random) % 2);
    if (roll(random) % 8 == 0)
        spec.flags = SHOAL_CALL_BULK;
    if (roll(random) % 16 == 0)
        spec.timeout_us = 1 + roll(random) % HURRY_US_MAX;
    return spec;
}

static void play_round(matrix_t *m, unsigned *random)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        matrix_spec_t spec = choose(random);
        matrix_command_t *command = matrix_submit(m, &spec);
        if (roll(random) % 16 == 0)
            (void)matrix_cancel(m, command);
    }
    matrix_wait(m);
    matrix_pause(m, 1000); /* or there would be millions of commands at full size */
}

/* After matrix_check_redis().  Returns how many were answered. */
static size_t check_order(matrix_t *m)
{
    const matrix_command_t *last = NULL;
    size_t answered = 0;

    for (uint64_t seq = 0; seq < matrix_count(m); seq++) {
        const matrix_command_t *command = matrix_at(m, seq);
        assert_int_equal(command->rc, 0);
        answered += command->status == 0;
        if (command->executed == 0 || m->mode->caller == MATRIX_BY_BLOCKING)
            continue; /* not a write; or which thread's? */
        if (last && command->place < last->place)
            fail_msg("write %llu ran behind write %llu: %s",
                     (unsigned long long)last->seq, (unsigned long long)command->seq,
                     matrix_describe(command));
        last = command;
    }
    return answered;
}

static void f42(const matrix_mode_t *mode)
{
    static killer_t killer; /* outlives a test that fails */
    matrix_t *m = matrix_begin(mode);
    redis_process_t *redis = matrix_redis(m, NULL);
    load_agent_t *agent = load_agent_new(m);
    unsigned random = 42;

    /* On a busy machine each lane may be killed before it carried anything. */
    killer = (killer_t){.port = redis_process_port(redis),
                        .random = 42,
                        .kills_max = matrix_scaled(KILLS)};
    matrix_to_redis(m, redis);
    assert_int_equal(shoal_options_set_bulk_lane(m->options, true), 0);
    matrix_open_ready(m);
    load_agent_begin(agent, killer_run, &killer);
    for (unsigned round = 1;
         killer.kills < matrix_scaled(KILLS) || matrix_stats(m).bulk == 0; round++) {
        play_round(m, &random);
        /* Kills in the middle of HELLO make the client greet without it; such a connection
         * knows no server process, and has no lane beside it, until it is lost. */
        if (round % ROUNDS_OF_ONE == 0)
            killer.kills_max++;
    }
    killer.is_over = true;
    MATRIX_WAIT_FOR(m, load_agent_is_idle(agent));
    matrix_check_redis(m, killer.port);
    size_t answered = check_order(m);
    print_message("%s: %llu kills; %zu of %zu answered, %llu by the lane\n", mode->name,
                  (unsigned long long)killer.kills, answered, (size_t)matrix_count(m),
                  (unsigned long long)matrix_stats(m).bulk);
    assert_true(answered > 0);
    matrix_expect_works(m);
    matrix_end(m);
}

MATRIX_ROW(42){
    MATRIX_CELLS_EVERYWHERE(f42),
    MATRIX_ROW_END,
};
