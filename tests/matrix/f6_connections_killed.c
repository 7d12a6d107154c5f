/* SPDX-License-Identifier: MIT */
/* F6: connections are killed at random, a hundred a second, while several clients count
 * in one counter.  What was answered was counted, and at most what may have been was
 * counted on top.  (I1 I2 I3 I4)
 *
 * Full size, 10^5 increments or more and 2 000 kills, with SHOAL_TEST_SCALE=100. */
#include "matrix/killer.h"
#include "matrix/load.h"
#include "matrix/matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INCREMENTS 1000
#define CLIENTS 6 /* beside the one of the mode */
#define WINDOW 8
#define KILLS 20 /* at least */

static const char *const incr[] = {"INCR", "counter"};

/* What became of increments. */
typedef struct ledger {
    _Atomic uint64_t submitted, ok, maybe, not_executed, wrong;
} ledger_t;

typedef struct neighbour {
    shoal_client_t *client;
    ledger_t ledger;
} neighbour_t;

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    ledger_t *ledger = data;
    const shoal_reply_t *reply = shoal_result_reply(result);
    (void)client;

    if (shoal_result_fate(result) == SHOAL_FATE_NOT_EXECUTED)
        ledger->not_executed++;
    else if (shoal_result_status(result) != 0)
        ledger->maybe++;
    else if (shoal_reply_type(reply) == SHOAL_REPLY_INTEGER)
        ledger->ok++;
    else
        ledger->wrong++;
}

static uint64_t under_way(const ledger_t *ledger)
{
    return ledger->submitted - ledger->ok - ledger->maybe - ledger->not_executed -
           ledger->wrong;
}

/* Increments by the mode's own client, and by its neighbours, until all were made and
 * enough connections were lost meanwhile. */
static void count_up(matrix_t *m, neighbour_t *neighbours, killer_t *killer)
{
    const matrix_spec_t increment = {.kind = MATRIX_OTHER, .command = {2, incr, NULL}};
    uint64_t made = 0, since_us = waiting_now_us();
    size_t wanted = matrix_scaled(INCREMENTS), kills = matrix_scaled(KILLS);

    for (uint64_t age_us = 0; (made < wanted || killer->kills < kills) &&
                              age_us < kills * 100000 + WAITING_US_MAX;
         age_us = waiting_now_us() - since_us) {
        if (made > age_us / 10) { /* at most 100 000 a second */
            matrix_idle(m);
            continue;
        }
        for (; matrix_count(m) - m->completed < WINDOW; made++)
            (void)matrix_submit(m, &increment);
        for (size_t i = 0; i < CLIENTS; i++) {
            neighbour_t *neighbour = &neighbours[i];
            for (; under_way(&neighbour->ledger) < WINDOW; made++) {
                neighbour->ledger.submitted++;
                if (shoal_client_submit(neighbour->client, 2, incr, NULL, on_result,
                                        &neighbour->ledger, NULL) != 0)
                    neighbour->ledger.not_executed++;
            }
        }
        matrix_idle(m);
    }
}

static void add_own(matrix_t *m, ledger_t *total)
{
    for (uint64_t seq = 0; seq < matrix_count(m); seq++) {
        const matrix_command_t *command = matrix_at(m, seq);
        total->ok += command->rc == 0 && command->status == 0 && !command->is_error;
        total->maybe += command->rc == 0 && command->status != 0 &&
                        command->fate != SHOAL_FATE_NOT_EXECUTED;
        total->wrong += command->is_error;
    }
}

static void open_neighbours(matrix_t *m, neighbour_t *neighbours)
{
    shoal_event_cb none = NULL;

    assert_int_equal(shoal_options_set_on_event(m->options, none, NULL), 0);
    for (size_t i = 0; i < CLIENTS; i++)
        assert_int_equal(shoal_client_open(m->options, &neighbours[i].client, NULL), 0);
}

static void f6(const matrix_mode_t *mode)
{
    static neighbour_t neighbours[CLIENTS]; /* outlive a test that fails */
    static killer_t killer;
    ledger_t total = {0};
    matrix_t *m = matrix_begin(mode);
    redis_process_t *redis = matrix_redis(m, NULL);
    load_agent_t *agent = load_agent_new(m);
    char answer[64] = "";

    memset(neighbours, 0, sizeof neighbours);
    killer = (killer_t){
        .port = redis_process_port(redis), .random = 6, .kills_max = UINT64_MAX};
    matrix_to_port(m, killer.port);
    matrix_open_ready(m);
    open_neighbours(m, neighbours);
    load_agent_begin(agent, killer_run, &killer);
    count_up(m, neighbours, &killer);
    killer.is_over = true;
    for (size_t i = 0; i < CLIENTS; i++) {
        ledger_t *ledger = &neighbours[i].ledger;
        int rc = shoal_client_close_and_wait(neighbours[i].client, WAITING_US_MAX);
        shoal_client_release(neighbours[i].client);
        assert_int_equal(rc, 0);
        assert_int_equal(under_way(ledger), 0); /* O3 */
        total.ok += ledger->ok;
        total.maybe += ledger->maybe;
        total.wrong += ledger->wrong;
    }
    matrix_wait(m);
    MATRIX_WAIT_FOR(m, load_agent_is_idle(agent));
    add_own(m, &total);
    assert_true(redis_ask(killer.port, "GET counter", answer, sizeof answer));
    uint64_t value = strtoull(answer, NULL, 10);
    print_message(
        "%s: %llu kills; %llu increments answered, %llu in doubt, value %llu\n",
        mode->name, (unsigned long long)killer.kills, (unsigned long long)total.ok,
        (unsigned long long)total.maybe, (unsigned long long)value);
    assert_true(killer.kills >= matrix_scaled(KILLS));
    assert_int_equal(total.wrong, 0);
    assert_true(total.ok <= value);               /* none is lost */
    assert_true(value <= total.ok + total.maybe); /* none is doubled */
    matrix_end(m);
}

MATRIX_ROW(6){
    MATRIX_CELLS_EVERYWHERE(f6),
    MATRIX_ROW_END,
};
