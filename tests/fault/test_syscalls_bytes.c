/* SPDX-License-Identifier: MIT */
/* Reads and writes that stop after each number of bytes there is: short, interrupted,
 * without effect, or the end of the connection.  (F33: I1 to I4, I7, I8, I12) */
#include "support/failing/failing_trial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COMMANDS 6

static const int harmless[] = {EAGAIN, EINTR};
static const int fatal[] = {ECONNRESET, EPIPE, ETIMEDOUT, ENOBUFS, ENOMEM};

static void open_with(trial_t *trial, shoal_integrity_t integrity, bool is_stepped)
{
    trial_begin(trial);
    assert_int_equal(shoal_options_set_integrity(trial->scene->options, integrity), 0);
    trial_open_ready(trial, is_stepped);
}

static const char *name_of(size_t index)
{
    return index % 3 == 2 ? "ECHO" : "INCR";
}

/* In one batch, of which every byte is known. */
static void submit_batch(trial_t *trial)
{
    for (size_t i = 0; i < COMMANDS; i++)
        assert_int_equal(trial_submit(trial, name_of(i), NULL)->rc, 0);
}

/* "*2\r\n$4\r\nINCR\r\n$2\r\nk1\r\n" and ":1\r\n", or "$2\r\nk3\r\n" */
static size_t written_bytes(const trial_command_t *command)
{
    return 20 + strlen(command->key);
}

static size_t read_bytes(const trial_command_t *command)
{
    return strcmp(command->name, "INCR") == 0 ? 4 : 6 + strlen(command->key);
}

static size_t total_bytes(size_t (*bytes_of)(const trial_command_t *))
{
    const trial_command_t of_name[] = {{.name = "INCR", .key = "k1"},
                                       {.name = "ECHO", .key = "k1"}};
    size_t bytes = 0;

    for (size_t i = 0; i < COMMANDS; i++)
        bytes += bytes_of(&of_name[strcmp(name_of(i), "ECHO") == 0]);
    return bytes;
}

/* ---- nothing is lost ---- */

static void check_unharmed(trial_t *trial)
{
    trial_settle(trial);
    for (size_t i = 0; i < trial->count; i++) {
        scene_check(&trial->commands[i].outcome, 0, SHOAL_FATE_REPLIED);
        assert_int_equal(trial->commands[i].outcome.attempts, 1);
    }
    assert_int_equal(trial->lost, 0);
    assert_int_equal(fake_server_accepted(trial->scene->server), 1);
}

static void run_unharmed(trial_t *trial, failing_call_t call,
                         const failing_plan_t *plan, bool is_stepped)
{
    open_with(trial, SHOAL_INTEGRITY_SHAPES, is_stepped);
    failing_calls_plan(call, plan);
    submit_batch(trial);
    check_unharmed(trial);
    if (plan->times > 0)
        assert_true(failing_calls_hits(call) > 0);
    trial_check_works(trial);
    trial_end(trial);
}

static void stop_at_each_byte(trial_t *trial, failing_call_t call, size_t bytes)
{
    for (size_t cut = 0; cut < bytes; cut++)
        for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
            run_unharmed(trial, call,
                         &(failing_plan_t){.after_bytes = cut,
                                           .times = 1 + (unsigned)cut % 3,
                                           .error = harmless[i]},
                         cut % 4 != 0);
}

static void test_a_write_stops_after_each_byte(void **state)
{
    stop_at_each_byte(*state, FAILING_SEND, total_bytes(written_bytes));
}

static void test_a_read_stops_after_each_byte(void **state)
{
    stop_at_each_byte(*state, FAILING_RECV, total_bytes(read_bytes));
}

static void test_pieces_of_each_size(void **state)
{
    for (size_t bytes = 1; bytes <= 32; bytes++) {
        const failing_plan_t plan = {.bytes_max = bytes};
        run_unharmed(*state, FAILING_SEND, &plan, bytes % 2);
        run_unharmed(*state, FAILING_RECV, &plan, bytes % 2);
    }
}

/* Ready, says the poll, and it is not; again and again. */
static void test_spurious_readiness(void **state)
{
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        const failing_plan_t plan = {.times = 50, .error = harmless[i]};
        for (int is_stepped = 0; is_stepped < 2; is_stepped++) {
            run_unharmed(*state, FAILING_SEND, &plan, is_stepped);
            run_unharmed(*state, FAILING_RECV, &plan, is_stepped);
        }
    }
}

/* ---- the connection is lost ---- */

/* Whole on the wire: unknown, or sent again, unless its reply had come.  Else: kept, and
 * executed once. */
static void check_after_write(const trial_t *trial, size_t cut)
{
    size_t end = 0;

    for (size_t i = 0; i < COMMANDS; i++) {
        const trial_command_t *command = &trial->commands[i];
        end += written_bytes(command);
        bool is_replied = command->outcome.status == 0;
        bool is_again = command->outcome.attempts == 2;
        if (end <= cut && !command->is_repeatable && !is_replied)
            scene_check(&command->outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
        else
            scene_check(&command->outcome, 0, SHOAL_FATE_REPLIED);
        assert_int_equal(command->outcome.attempts,
                         is_again && end <= cut && command->is_repeatable ? 2 : 1);
    }
}

/* Whole: delivered.  Begun: lost.  Not begun: unknown.  Or sent again. */
static void check_after_read(const trial_t *trial, size_t cut)
{
    size_t start = 0, end;

    for (size_t i = 0; i < COMMANDS; i++, start = end) {
        const trial_command_t *command = &trial->commands[i];
        end = start + read_bytes(command);
        if (end <= cut || command->is_repeatable)
            scene_check(&command->outcome, 0, SHOAL_FATE_REPLIED);
        else
            scene_check(&command->outcome, SHOAL_ECONN,
                        start < cut ? SHOAL_FATE_REPLY_LOST : SHOAL_FATE_UNKNOWN);
    }
}

static void lose_at_each_byte(trial_t *trial, failing_call_t call, size_t bytes)
{
    for (size_t cut = 0; cut < bytes; cut++) {
        int error = fatal[cut % (sizeof fatal / sizeof *fatal)];
        open_with(trial, SHOAL_INTEGRITY_SHAPES, true);
        failing_calls_plan(
            call, &(failing_plan_t){.after_bytes = cut, .times = 1, .error = error});
        submit_batch(trial);
        trial_settle(trial);
        TRIAL_WAIT(trial, trial->lost == 1);
        assert_non_null(strstr(trial->detail, strerror(error)));
        if (call == FAILING_SEND)
            check_after_write(trial, cut);
        else
            check_after_read(trial, cut);
        trial_check_works(trial);
        assert_int_equal(trial->lost, 1);
        trial_end(trial);
    }
}

static void test_the_connection_is_lost_after_each_byte_written(void **state)
{
    lose_at_each_byte(*state, FAILING_SEND, total_bytes(written_bytes));
}

static void test_the_connection_is_lost_after_each_byte_read(void **state)
{
    lose_at_each_byte(*state, FAILING_RECV, total_bytes(read_bytes));
}

/* With fences among the commands: trial_end() looks whether the outcomes are true. */
static void test_the_same_with_strict_integrity(void **state)
{
    static const failing_call_t ways[] = {FAILING_SEND, FAILING_RECV};
    trial_t *trial = *state;

    for (size_t way = 0; way < 2; way++)
        for (size_t cut = 0, hits = 1; hits > 0; cut++) {
            open_with(trial, SHOAL_INTEGRITY_STRICT, true);
            failing_calls_plan(
                ways[way],
                &(failing_plan_t){.after_bytes = cut, .times = 1, .error = ECONNRESET});
            submit_batch(trial);
            trial_settle(trial);
            hits = failing_calls_hits(ways[way]);
            assert_true(hits > 0 || cut >= total_bytes(read_bytes));
            failing_calls_reset();
            trial_check_works(trial);
            trial_end(trial);
        }
}

/* ---- within the greeting ---- */

static void set_credentials(trial_t *trial)
{
    scene_serve(trial->scene,
                &(fake_config_t){.identity = {.user = "user", .password = "secret"}});
    assert_int_equal(shoal_options_set_auth(trial->scene->options, "user", "secret"),
                     0);
    assert_int_equal(shoal_options_set_database(trial->scene->options, 3), 0);
}

/* No command of a user came before the last of the greeting's own. */
static void check_greeting_came_first(trial_t *trial)
{
    size_t size = fake_server_ledger_size(trial->scene->server);
    unsigned greeted = 0; /* the connection whose greeting is over */

    for (size_t i = 0; i < size; i++) {
        fake_entry_t entry = fake_server_ledger_at(trial->scene->server, i);
        if (strcmp(entry.args[0], "SELECT") == 0)
            greeted = entry.connection;
        if (strcmp(entry.args[0], "INCR") == 0)
            assert_int_equal(entry.connection, greeted);
    }
}

/* Returns whether the greeting has so many bytes. */
static bool greet_with(trial_t *trial, failing_call_t call, const failing_plan_t *plan)
{
    trial_begin(trial);
    set_credentials(trial);
    failing_calls_plan(call, plan);
    assert_int_equal(trial_open(trial, true), 0);
    TRIAL_WAIT(trial, trial->is_up || trial->lost > 0);
    bool is_hit = failing_calls_hits(call) > 0;
    failing_calls_plan(call, &(failing_plan_t){.times = 0});
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
    scene_check(&trial->commands[0].outcome, 0, SHOAL_FATE_REPLIED);
    if (plan->error == EAGAIN)
        assert_int_equal(trial->lost, 0);
    check_greeting_came_first(trial);
    assert_null(strstr(trial->detail, "secret"));
    trial_check_works(trial);
    trial_end(trial);
    return is_hit;
}

static void greet_at_each_byte(trial_t *trial, failing_call_t call)
{
    static const int errors[] = {EAGAIN, ECONNRESET};

    for (size_t i = 0; i < 2; i++) {
        size_t cut = 0;
        while (greet_with(
            trial, call,
            &(failing_plan_t){.after_bytes = cut, .times = 1, .error = errors[i]}))
            cut++;
        assert_true(cut > 50); /* it does have bytes */
    }
}

static void test_a_greeting_stops_after_each_byte_written(void **state)
{
    greet_at_each_byte(*state, FAILING_SEND);
}

static void test_a_greeting_stops_after_each_byte_read(void **state)
{
    greet_at_each_byte(*state, FAILING_RECV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRIAL_TEST(test_a_write_stops_after_each_byte),
        TRIAL_TEST(test_a_read_stops_after_each_byte),
        TRIAL_TEST(test_pieces_of_each_size),
        TRIAL_TEST(test_spurious_readiness),
        TRIAL_TEST(test_the_connection_is_lost_after_each_byte_written),
        TRIAL_TEST(test_the_connection_is_lost_after_each_byte_read),
        TRIAL_TEST(test_the_same_with_strict_integrity),
        TRIAL_TEST(test_a_greeting_stops_after_each_byte_written),
        TRIAL_TEST(test_a_greeting_stops_after_each_byte_read),
    };

    failing_memory_install();
    return cmocka_run_group_tests_name("fault/syscalls_bytes", tests, NULL, NULL);
}
