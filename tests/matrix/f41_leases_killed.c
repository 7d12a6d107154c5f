/* SPDX-License-Identifier: MIT */
/* F41: connections are killed at random, a hundred a second, while commands travel on leases;
 * some are cancelled, some are in a hurry.  A lease that lost its connection carries nothing
 * more: what was written is unknown and never repeated, the rest was not executed.  (I1 to I4)
 *
 * Full size, 2 000 kills, with SHOAL_TEST_SCALE=100. */
#include "matrix/killer.h"
#include "matrix/load.h"
#include "matrix/matrix.h"

#define LEASES 6
#define COMMANDS 8 /* of each lease, in a round */
#define KILLS 20   /* at least */
#define HURRY_US_MAX 2000

typedef struct tally {
    size_t answered, unknown, not_executed;
} tally_t;

static unsigned roll(unsigned *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
}

/* Each lease gets its commands; then all are waited for. */
static void play_round(matrix_t *m, unsigned *random)
{
    shoal_lease_t *leases[LEASES];

    for (size_t i = 0; i < LEASES; i++)
        assert_int_equal(shoal_lease_open(m->client, &leases[i]), 0);
    for (size_t i = 0; i < LEASES * COMMANDS; i++) {
        matrix_spec_t spec = {.kind = roll(random) % 2 ? MATRIX_WRITE : MATRIX_READ,
                              .lease = leases[i % LEASES]};
        if (roll(random) % 8 == 0)
            spec.timeout_us = 1 + roll(random) % HURRY_US_MAX;
        matrix_command_t *command = matrix_submit(m, &spec);
        if (roll(random) % 8 == 0)
            (void)matrix_cancel(m, command);
    }
    matrix_wait(m);
    for (size_t i = 0; i < LEASES; i++)
        shoal_lease_close(leases[i]);
    matrix_pause(m, 1000); /* or there would be millions of commands at full size */
}

static void count(matrix_t *m, tally_t *tally)
{
    for (uint64_t seq = 0; seq < matrix_count(m); seq++) {
        const matrix_command_t *command = matrix_at(m, seq);
        assert_int_equal(command->rc, 0);
        assert_true(command->attempts <= 1); /* nothing is sent twice */
        if (command->status == 0)
            tally->answered++;
        else if (command->fate == SHOAL_FATE_NOT_EXECUTED)
            tally->not_executed++;
        else
            tally->unknown++;
    }
}

static void f41(const matrix_mode_t *mode)
{
    static killer_t killer; /* outlives a test that fails */
    tally_t tally = {0};
    matrix_t *m = matrix_begin(mode);
    redis_process_t *redis = matrix_redis(m, NULL);
    load_agent_t *agent = load_agent_new(m);
    unsigned random = 41;

    killer = (killer_t){
        .port = redis_process_port(redis), .random = 41, .kills_max = UINT64_MAX};
    matrix_to_port(m, killer.port);
    matrix_open_ready(m);
    load_agent_begin(agent, killer_run, &killer);
    uint64_t since_us = waiting_now_us();
    while (killer.kills < matrix_scaled(KILLS) &&
           waiting_now_us() - since_us < matrix_scaled(KILLS) * 100000 + WAITING_US_MAX)
        play_round(m, &random);
    killer.is_over = true;
    MATRIX_WAIT_FOR(m, load_agent_is_idle(agent));
    count(m, &tally);
    print_message("%s: %llu kills; %zu answered, %zu unknown, %zu not executed\n",
                  mode->name, (unsigned long long)killer.kills, tally.answered,
                  tally.unknown, tally.not_executed);
    assert_true(killer.kills >= matrix_scaled(KILLS));
    assert_true(tally.answered > 0);
    MATRIX_WAIT_FOR(m, matrix_stats(m).leases_now == 0);
    matrix_check_redis(m, killer.port);
    matrix_end(m);
}

MATRIX_ROW(41){
    MATRIX_CELLS_EVERYWHERE(f41),
    MATRIX_ROW_END,
};
