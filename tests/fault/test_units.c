/* SPDX-License-Identifier: MIT */
/* MULTI ... EXEC as one: contiguous, sent whole or not at all, and again only while it
 * cannot have been executed.  (I3 I15) */
#include "support/scene.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define BIG_BYTES 12582912
#define UNIT_MAX 5

typedef struct unit {
    scene_t *scene;
    outcome_series_t series;
    outcome_t outcomes[UNIT_MAX];
    uint64_t ticket;
} unit_t;

static unit_t *submit_unit(scene_t *scene, const shoal_command_t *commands,
                           size_t count, uint32_t flags)
{
    unit_t *unit = scene_alloc(scene, sizeof *unit);
    shoal_call_t call = {.size = sizeof call, .flags = SHOAL_CALL_CONTIGUOUS | flags};

    unit->scene = scene;
    unit->series = (outcome_series_t){unit->outcomes, 0, count};
    assert_int_equal(shoal_client_submit_many(scene->client, commands, count, &call,
                                              outcome_series_cb, &unit->series,
                                              &unit->ticket),
                     0);
    return unit;
}

static void await_unit(const unit_t *unit)
{
    WAIT_FOR(outcome_series_count(&unit->series) == unit->series.room);
}

static void check_member(const unit_t *unit, size_t index, int status,
                         shoal_fate_t fate)
{
    const outcome_t *outcome = &unit->outcomes[index];
    if (outcome->status != status || outcome->fate != fate)
        fail_msg("member %zu: want %s, %s; got: %s", index, shoal_error_name(status),
                 shoal_fate_name(fate), outcome_describe(outcome));
}

static unit_t *submit_small(scene_t *scene, uint32_t flags)
{
    const shoal_command_t commands[] = {WORDS("MULTI"), WORDS("INCR", "a"),
                                        WORDS("INCR", "a"), WORDS("EXEC")};
    return submit_unit(scene, commands, 4, flags);
}

static void check_executed(const unit_t *unit)
{
    await_unit(unit);
    for (size_t i = 0; i < unit->series.room; i++)
        check_member(unit, i, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(unit->outcomes[unit->series.room - 1].type, SHOAL_REPLY_ARRAY);
}

/* Each EXEC follows its MULTI without a stranger in between, on one connection. */
static void check_ledger_is_contiguous(scene_t *scene)
{
    size_t size = fake_server_ledger_size(scene->server), units = 0;

    for (size_t at = 0; at < size; at++) {
        fake_entry_t multi = fake_server_ledger_at(scene->server, at);
        if (strcmp(multi.args[0], "MULTI") != 0)
            continue;
        for (size_t i = 1; i <= 3; i++) {
            fake_entry_t entry = fake_server_ledger_at(scene->server, at + i);
            assert_int_equal(entry.connection, multi.connection);
            assert_string_equal(entry.args[0], i < 3 ? "INCR" : "EXEC");
            assert_string_equal(entry.args[1], i < 3 ? "a" : "");
        }
        units++;
    }
    assert_true(units > 0);
}

static void *submit_singles(void *data)
{
    scene_t *scene = data;
    const char *const argv[] = {"INCR", "single"};

    for (int i = 0; i < 2000; i++)
        while (shoal_client_submit(scene->client, 2, argv, NULL, NULL, NULL, NULL) != 0)
            waiting_sleep_us(100);
    return NULL;
}

static void test_singles_never_come_between(void **state)
{
    enum { THREADS = 4, UNITS = 200 };
    scene_t *scene = *state;
    unit_t *units[UNITS];
    pthread_t threads[THREADS];

    scene_open_ready(scene);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, submit_singles, scene);
    for (int i = 0; i < UNITS; i++) {
        units[i] = submit_small(scene, 0);
        waiting_sleep_us(50);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < UNITS; i++)
        check_executed(units[i]);
    check_ledger_is_contiguous(scene);
    WAIT_FOR(fake_server_number(scene->server, 0, "single") == THREADS * 2000);
    assert_int_equal(fake_server_number(scene->server, 0, "a"), 2 * UNITS);
}

/* clang-format off */
static const struct malformed {
    const char *names[4];
    bool is_contiguous;
} malformeds[] = {
    {{"MULTI"},                            true},
    {{"EXEC"},                             true},
    {{"MULTI", "INCR"},                    true},
    {{"INCR", "EXEC"},                     true},
    {{"MULTI", "MULTI", "EXEC"},           true},
    {{"MULTI", "EXEC", "INCR"},            true},
    {{"INCR", "MULTI", "EXEC"},            true},
    {{"MULTI", "SUBSCRIBE", "EXEC"},       true},
    {{"MULTI", "BLPOP", "EXEC"},           true},
    {{"MULTI", "SELECT", "EXEC"},          true},
    {{"MULTI", "INCR", "EXEC"},            false},
};
/* clang-format on */

static void test_malformed_units_are_refused(void **state)
{
    scene_t *scene = *state;

    scene_open_ready(scene);
    for (size_t i = 0; i < sizeof malformeds / sizeof *malformeds; i++) {
        const struct malformed *m = &malformeds[i];
        shoal_call_t call = {.size = sizeof call,
                             .flags = m->is_contiguous ? SHOAL_CALL_CONTIGUOUS : 0};
        shoal_command_t commands[4];
        size_t count = 0;
        for (; count < 4 && m->names[count]; count++)
            commands[count] = strlen(m->names[count]) == 4 && m->names[count][0] == 'E'
                                  ? WORDS(m->names[count])
                              : strcmp(m->names[count], "MULTI") == 0
                                  ? WORDS("MULTI")
                                  : WORDS(m->names[count], "a");
        int rc = shoal_client_submit_many(scene->client, commands, count, &call, NULL,
                                          NULL, NULL);
        if (rc != SHOAL_EREFUSED)
            fail_msg("unit %zu: %s", i, shoal_error_name(rc));
    }
    scene_check_works(scene);
    assert_int_equal(fake_server_received(scene->server, 0, "MULTI", NULL), 0);
    assert_int_equal(fake_server_received(scene->server, 0, "EXEC", NULL), 0);
}

/* The answer to member `held`, and all behind it, is never written; all is executed. */
static void check_lost_when_written(scene_t *scene, const char *held, size_t answered,
                                    uint32_t flags)
{
    scene_serve(scene, NULL);
    fake_server_rule(scene->server, &(fake_rule_t){.command = held,
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    scene_open_ready(scene);
    unit_t *unit = submit_small(scene, flags);
    WAIT_FOR(fake_server_executed(scene->server, 1, "EXEC", NULL) == 1);
    WAIT_FOR(outcome_series_count(&unit->series) == answered);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    if (flags & SHOAL_CALL_IDEMPOTENT && answered == 0) {
        check_executed(unit);
        assert_int_equal(fake_server_number(scene->server, 0, "a"), 4);
    } else {
        await_unit(unit);
        for (size_t i = 0; i < 4; i++)
            check_member(unit, i, i < answered ? 0 : SHOAL_ECONN,
                         i < answered ? SHOAL_FATE_REPLIED : SHOAL_FATE_UNKNOWN);
        scene_check_works(scene);
        assert_int_equal(fake_server_number(scene->server, 0, "a"), 2);
        assert_int_equal(fake_server_received(scene->server, 2, "EXEC", NULL), 0);
        assert_int_equal(fake_server_received(scene->server, 2, "MULTI", NULL), 0);
    }
    check_ledger_is_contiguous(scene);
    scene_close(scene, 0);
}

static void test_lost_when_written(void **state)
{
    check_lost_when_written(*state, "MULTI", 0, 0);
    check_lost_when_written(*state, "INCR", 1, 0);
    check_lost_when_written(*state, "EXEC", 3, 0);
    check_lost_when_written(*state, "MULTI", 0, SHOAL_CALL_IDEMPOTENT);
    check_lost_when_written(*state, "EXEC", 3, SHOAL_CALL_IDEMPOTENT);
}

/* The server stops reading at `stop`; the rest of the unit is too big for the buffers. */
static unit_t *write_partly(scene_t *scene, const char *stop)
{
    char *value = scene_alloc(scene, BIG_BYTES);

    memset(value, 'v', BIG_BYTES);
    scene_serve(scene, &(fake_config_t){.buffer_bytes = 8192});
    fake_server_rule(
        scene->server,
        &(fake_rule_t){.command = stop, .connection = 1, .then = FAKE_STOP_READING});
    scene_open_one(scene);
    outcome_t echo = scene_call(scene, WORDS("ECHO", "stop"), NULL);
    scene_check_text(&echo, "stop");
    const char *const set[] = {"SET", "big", value};
    const size_t set_bytes[] = {3, 3, BIG_BYTES};
    const shoal_command_t commands[] = {
        WORDS("MULTI"), WORDS("INCR", "a"), {3, set, set_bytes}, WORDS("EXEC")};
    unit_t *unit = submit_unit(scene, commands, 4, 0);
    WAIT_FOR(fake_server_holds(scene->server, "vvvv"));
    return unit;
}

/* Nothing was answered and EXEC did not leave: the whole goes again. */
static void test_lost_when_partly_written(void **state)
{
    scene_t *scene = *state;
    unit_t *unit = write_partly(scene, "ECHO");

    fake_server_cut(scene->server, FAKE_CUT_RESET);
    check_executed(unit);
    assert_int_equal(fake_server_number(scene->server, 0, "a"), 1);
    assert_int_equal(fake_server_received(scene->server, 2, "MULTI", NULL), 1);
    assert_int_equal(fake_server_received(scene->server, 2, "EXEC", NULL), 1);
}

/* A part was answered: its results are out, so the whole cannot go again. */
static void test_lost_when_partly_answered(void **state)
{
    scene_t *scene = *state;
    unit_t *unit = write_partly(scene, "INCR");

    WAIT_FOR(outcome_series_count(&unit->series) == 2);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    await_unit(unit);
    for (size_t i = 0; i < 4; i++)
        check_member(unit, i, i < 2 ? 0 : SHOAL_ECONN,
                     i < 2 ? SHOAL_FATE_REPLIED : SHOAL_FATE_NOT_EXECUTED);
    scene_check_works(scene);
    assert_int_equal(fake_server_number(scene->server, 0, "a"), 0);
    assert_int_equal(fake_server_received(scene->server, 0, "EXEC", NULL), 0);
}

/* Giving up one member of a unit that has not left gives up the whole. */
static void test_cancelled_when_queued(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "head",
                                                   .is_cut = true,
                                                   .then = FAKE_HOLD});
    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 100, 1, 1000000),
                     0);
    scene_open_ready(scene);
    for (uint64_t member = 0; member < 4; member++) {
        outcome_t *head = scene_outcomes(scene, 1);
        scene_submit(scene, WORDS("ECHO", "head"), NULL, head);
        WAIT_FOR(fake_server_received(scene->server, 0, "ECHO", "head") == member + 1);
        unit_t *unit = submit_small(scene, 0);
        assert_int_equal(shoal_client_cancel(scene->client, unit->ticket + member), 0);
        await_unit(unit);
        for (size_t i = 0; i < 4; i++)
            check_member(unit, i, SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
        fake_server_release(scene->server);
        scene_check_text(head, "head");
    }
    scene_check_works(scene);
    assert_int_equal(fake_server_received(scene->server, 0, "MULTI", NULL), 0);
    assert_int_equal(fake_server_received(scene->server, 0, "EXEC", NULL), 0);
}

/* Errors within a unit are the caller's. */
static void test_errors_surface(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "EXEC",
                                    .times = 1,
                                    .reply = "-EXECABORT discarded\r\n"});
    scene_open_ready(scene);
    unit_t *unit = submit_small(scene, 0);
    await_unit(unit);
    scene_check_error(&unit->outcomes[3], "EXECABORT");
    assert_int_equal(fake_server_received(scene->server, 0, "EXEC", NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_singles_never_come_between),
        SCENE_TEST(test_malformed_units_are_refused),
        SCENE_TEST(test_lost_when_written),
        SCENE_TEST(test_lost_when_partly_written),
        SCENE_TEST(test_lost_when_partly_answered),
        SCENE_TEST(test_cancelled_when_queued),
        SCENE_TEST(test_errors_surface),
    };
    return cmocka_run_group_tests_name("fault/units", tests, NULL, NULL);
}
