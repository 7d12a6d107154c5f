/* SPDX-License-Identifier: MIT */
/* A command that ends each connection it travels on: it fails after few losses and says why;
 * what others sent is answered.  (I13) */
#include "support/scene.h"

#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define BIG_BYTES 4194304

static void check_words(const outcome_t *outcome, const char *words)
{
    if (!strstr(outcome->detail, words))
        fail_msg("%s: not %s", outcome_describe(outcome), words);
}

/* The poison, and another command behind it in the same write. */
static void call_both(scene_t *scene, outcome_t *outcomes)
{
    const shoal_command_t commands[] = {WORDS("GET", "poison"), WORDS("GET", "k")};
    const shoal_call_t call = {.size = sizeof call, .flags = SHOAL_CALL_CONTIGUOUS};

    scene_call_many(scene, commands, 2, &call, outcomes);
}

/* A reply proves what became of its command only where it is in its place. */
static shoal_fate_t fate_in(shoal_integrity_t integrity)
{
    return integrity == SHOAL_INTEGRITY_STRICT ? SHOAL_FATE_UNKNOWN
                                               : SHOAL_FATE_REPLY_LOST;
}

static void check_cut_again(scene_t *scene, shoal_integrity_t integrity)
{
    outcome_t *outcomes = scene_outcomes(scene, 2);

    assert_int_equal(shoal_options_set_attempts_max(scene->options, 100), 0);
    assert_int_equal(shoal_options_set_integrity(scene->options, integrity), 0);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "GET",
                                                   .argument = "poison",
                                                   .reply = "$5\r\nabcde\r\n",
                                                   .is_cut = true,
                                                   .cut_bytes = 6,
                                                   .then = FAKE_FIN});
    scene_open_ready(scene);
    call_both(scene, outcomes);
    scene_check(&outcomes[0], SHOAL_ECONN, fate_in(integrity));
    check_words(&outcomes[0], "the connection ended within the reply to this command");
    assert_int_equal(outcomes[0].attempts, 2);
    assert_int_equal(fake_server_received(scene->server, 0, "GET", "poison"), 2);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(scene_idle_stats(scene).losses, 2);
}

static void test_a_reply_that_is_cut_again(void **state)
{
    check_cut_again(*state, SHOAL_INTEGRITY_DETECT);
}

static void test_a_held_reply_that_is_cut_again(void **state)
{
    check_cut_again(*state, SHOAL_INTEGRITY_STRICT);
}

#define ONES_13                                                                        \
    ":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"
#define ONES_65 ONES_13 ONES_13 ONES_13 ONES_13 ONES_13

/* Elements and depth are judged when the reply is proved. */
static const struct huge {
    const char *reply;
    bool is_judged_late;
} huge[] = {{"$4096\r\n", false},
            {"*65\r\n" ONES_65, true},
            {"*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", true},
            {"*1\r\n$4096\r\n", false}};

static void check_bounds(scene_t *scene, shoal_integrity_t integrity)
{
    assert_int_equal(shoal_options_set_reply_max(scene->options, 4000, 64, 3), 0);
    assert_int_equal(shoal_options_set_integrity(scene->options, integrity), 0);
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        outcome_t *outcomes = scene_outcomes(scene, 2);

        scene_serve(scene, NULL);
        fake_server_rule(scene->server, &(fake_rule_t){.command = "GET",
                                                       .argument = "poison",
                                                       .reply = huge[i].reply});
        scene_open_ready(scene);
        call_both(scene, outcomes);
        scene_check(&outcomes[0], SHOAL_EDESYNC,
                    huge[i].is_judged_late ? SHOAL_FATE_REPLY_LOST
                                           : fate_in(integrity));
        check_words(&outcomes[0], "the reply to this command ended the connection: a");
        assert_int_equal(outcomes[0].attempts, 1);
        assert_int_equal(fake_server_received(scene->server, 0, "GET", "poison"), 1);
        scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
        assert_int_equal(scene_idle_stats(scene).losses, 1);
        scene_close(scene, 0);
    }
}

static void test_a_reply_over_each_bound(void **state)
{
    check_bounds(*state, SHOAL_INTEGRITY_DETECT);
}

static void test_a_held_reply_over_each_bound(void **state)
{
    check_bounds(*state, SHOAL_INTEGRITY_STRICT);
}

/* A server that finds a command too large says so at once, and reads no further.  Without
 * fences: one that goes before the command would stay unanswered.  Without a bulk lane: what
 * the server sends would end that too. */
static void test_a_command_that_is_refused_midway(void **state)
{
    scene_t *scene = *state;
    char *value = malloc(BIG_BYTES);
    const char *const words[] = {"SET", "poison", value};
    const size_t lengths[] = {3, 6, BIG_BYTES};
    outcome_t *outcomes = scene_outcomes(scene, 3);

    assert_non_null(value);
    memset(value, 'x', BIG_BYTES);
    scene_serve(scene, &(fake_config_t){.buffer_bytes = 8192});
    assert_int_equal(
        shoal_options_set_integrity(scene->options, SHOAL_INTEGRITY_SHAPES), 0);
    assert_int_equal(shoal_options_set_bulk_lane(scene->options, false), 0);
    fake_server_rule(scene->server, &(fake_rule_t){.command = "ECHO",
                                                   .argument = "stop",
                                                   .then = FAKE_STOP_READING});
    scene_open_ready(scene);
    scene_submit(scene, WORDS("ECHO", "stop"), NULL, &outcomes[0]);
    scene_await(&outcomes[0]);
    scene_submit(scene, (shoal_command_t){3, words, lengths}, NULL, &outcomes[1]);
    scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[2]);
    WAIT_FOR(fake_server_holds(scene->server, "xxxx"));
    fake_server_send(scene->server, "-ERR Protocol error: invalid bulk length\r\n");
    scene_await(&outcomes[1]);
    scene_check(&outcomes[1], SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    check_words(&outcomes[1], "this command ended the connection: the server said: ERR "
                              "Protocol error: invalid bulk length");
    scene_await(&outcomes[2]);
    scene_check(&outcomes[2], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(scene_idle_stats(scene).losses, 1);
    assert_int_equal(fake_server_received(scene->server, 0, "SET", NULL), 0);
    free(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_reply_that_is_cut_again),
        SCENE_TEST(test_a_held_reply_that_is_cut_again),
        SCENE_TEST(test_a_reply_over_each_bound),
        SCENE_TEST(test_a_held_reply_over_each_bound),
        SCENE_TEST(test_a_command_that_is_refused_midway),
    };
    return cmocka_run_group_tests_name("fault/poison", tests, NULL, NULL);
}
