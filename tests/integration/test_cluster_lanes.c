/* SPDX-License-Identifier: MIT */

/* The bulk lane of a node: small commands for other slots of the node do not wait for large
 * ones.  Which reply comes first says so, whatever the machine does. */

#include "support/cluster_rig.h"
#include "support/live.h"

#include "resp/key_slot.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_BYTES 10000000
#define ROUNDS 5
#define LARGE_KEY "large"

static char *large;
static char small_key[32]; /* of another slot of the same node */

static unsigned slot_of(const char *key)
{
    return shoal__key_slot((shoal__bytes_t){key, strlen(key)});
}

static void choose_small_key(const cluster_rig_t *rig)
{
    size_t owner = cluster_rig_owner(rig, 0, LARGE_KEY);
    unsigned number = 0;

    do {
        snprintf(small_key, sizeof small_key, "small%u", number++);
    } while (cluster_rig_owner(rig, 0, small_key) != owner ||
             slot_of(small_key) == slot_of(LARGE_KEY));
}

/* ---- replies, in their order ---- */

typedef struct race {
    const shoal_command_t *large_command, *small_command;
    _Atomic unsigned finished;
    unsigned place_of_large, place_of_small;
} race_t;

static void note(race_t *race, unsigned *place, const shoal_result_t *result)
{
    if (shoal_result_status(result) < 0 || shoal_result_error(result))
        abort();
    *place = race->finished + 1;
    race->finished = *place;
}

static void on_large(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    race_t *race = data;

    (void)client;
    note(race, &race->place_of_large, result);
}

static void on_small(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    race_t *race = data;

    (void)client;
    note(race, &race->place_of_small, result);
}

static void submit(shoal_client_t *client, const shoal_command_t *command,
                   shoal_result_cb on_result, race_t *race)
{
    if (shoal_client_submit_many(client, command, 1, NULL, on_result, race, NULL) < 0)
        abort();
}

/* On the loop's thread, which writes nothing in between: else the large one may have its reply
 * before a thread that has to wait for its turn submits the small one. */
static void on_start(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    race_t *race = data;

    (void)result;
    submit(client, race->large_command, on_large, race);
    submit(client, race->small_command, on_small, race);
}

/* A large command, and a small one behind it.  How often does the small one win? */
static unsigned count_wins(shoal_client_t *client, bool is_written, unsigned rounds)
{
    const char *set[] = {"SET", LARGE_KEY, large}, *get[] = {"GET", LARGE_KEY};
    const size_t set_bytes[] = {3, strlen(LARGE_KEY), LARGE_BYTES};
    const char *get_small[] = {"GET", small_key};
    const shoal_command_t small = {2, get_small, NULL};
    const shoal_command_t bulk = is_written ? (shoal_command_t){3, set, set_bytes}
                                            : (shoal_command_t){2, get, NULL};
    unsigned wins = 0;

    for (unsigned i = 0; i < rounds; i++) {
        race_t race = {.large_command = &bulk, .small_command = &small};
        assert_int_equal(shoal_client_submitf(client, on_start, &race, "PING"), 0);
        WAIT_FOR(race.finished == 2);
        wins += race.place_of_small < race.place_of_large;
    }
    return wins;
}

/* ... when the lane is there, if there will be one. */
static void warm_up(shoal_client_t *client, bool has_lane)
{
    (void)count_wins(client, true, 1);
    if (has_lane)
        WAIT_FOR((count_wins(client, true, 1), live_stats(client).bulk > 0));
}

/* ---- order ---- */

typedef struct asked {
    _Atomic bool is_there;
    size_t bytes;
} asked_t;

static void on_length(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    asked_t *asked = data;

    (void)client;
    if (shoal_result_status(result) < 0)
        abort();
    asked->bytes = (size_t)shoal_reply_integer(shoal_result_reply(result));
    asked->is_there = true;
}

/* Small commands for the key of a large one run before and behind it, as they were submitted. */
static void check_order(shoal_client_t *client)
{
    const char *set[] = {"SET", LARGE_KEY, large}, *length[] = {"STRLEN", LARGE_KEY};
    const shoal_command_t strlen_of = {2, length, NULL};
    asked_t asked[3 * ROUNDS] = {0};

    for (size_t i = 0; i < ROUNDS; i++) {
        const size_t bytes[] = {3, strlen(LARGE_KEY), LARGE_BYTES / 10 + i};
        const shoal_command_t bulk = {3, set, bytes};
        assert_int_equal(shoal_client_submitf(client, on_length, &asked[3 * i],
                                              "APPEND " LARGE_KEY " 1"),
                         0);
        assert_int_equal(
            shoal_client_submit_many(client, &bulk, 1, NULL, NULL, NULL, NULL), 0);
        for (size_t j = 1; j < 3; j++)
            assert_int_equal(shoal_client_submit_many(client, &strlen_of, 1, NULL,
                                                      on_length, &asked[3 * i + j],
                                                      NULL),
                             0);
    }
    for (size_t i = 0; i < ROUNDS; i++) {
        for (size_t j = 0; j < 3; j++)
            WAIT_FOR(asked[3 * i + j].is_there);
        assert_int_equal(asked[3 * i + 1].bytes, LARGE_BYTES / 10 + i);
        assert_int_equal(asked[3 * i + 2].bytes, LARGE_BYTES / 10 + i);
        if (i > 0)
            assert_int_equal(asked[3 * i].bytes, LARGE_BYTES / 10 + i);
    }
}

static shoal_client_t *open_client(const cluster_rig_t *rig, bool has_lane)
{
    shoal_options_t *options = cluster_rig_options(rig, 0);

    assert_int_equal(shoal_options_set_bulk_lane(options, has_lane), 0);
    return live_open(options);
}

static void small_commands_do_not_wait_for_large_ones(void **state)
{
    cluster_rig_t *rig = cluster_rig_start_patient();
    (void)state;

    if (!rig)
        skip();
    large = malloc(LARGE_BYTES);
    assert_non_null(large);
    memset(large, 'l', LARGE_BYTES);
    choose_small_key(rig);
    shoal_client_t *plain = open_client(rig, false), *client = open_client(rig, true);
    warm_up(plain, false);
    assert_int_equal(count_wins(plain, true, ROUNDS), 0);
    assert_int_equal(count_wins(plain, false, ROUNDS), 0);
    assert_int_equal(live_stats(plain).bulk, 0);
    warm_up(client, true);
    unsigned written = count_wins(client, true, ROUNDS),
             read = count_wins(client, false, ROUNDS);
    print_message("of %d small commands %u passed a large write, %u a large read\n",
                  ROUNDS, written, read);
    assert_true(written > 0);
    assert_true(read > 0);
    check_order(client);
    live_finish(plain);
    live_finish(client);
    free(large);
    cluster_rig_stop(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_commands_do_not_wait_for_large_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
