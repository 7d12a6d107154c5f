/* SPDX-License-Identifier: MIT */
/* The bulk lane of a node of a cluster, which the test plays: what takes it, what becomes of it
 * when it is lost, and when its slots get another owner. */
#include "fault/cluster_scene.h"

#define A_SLOT "15495" /* of the key "a"; those of other letters are others */
#define LARGE 70000

static const shoal_call_t *bulk(void)
{
    static shoal_call_t call;

    call = (shoal_call_t)SHOAL_CALL_INIT;
    call.flags = SHOAL_CALL_BULK;
    return &call;
}

/* All slots are those of the first node; its connection 1 is the ordinary one, 2 the lane. */
static void open_lane(scene_t *scene)
{
    agree();
    open_cluster(scene, 0);
    outcome_t first = scene_call(scene, WORDS("SET", "first", "v"), bulk());
    assert_int_equal(first.status, 0);
    WAIT_FOR((scene_call(scene, WORDS("SET", "first", "v"), bulk()),
              scene_stats(scene).bulk > 0));
    assert_int_equal(fake_server_accepted(nodes[0]), 2);
    assert_true(fake_server_executed(nodes[0], 1, "SET", "first") > 0);
    assert_true(fake_server_executed(nodes[0], 2, "SET", "first") > 0);
}

/* The first node executes it there, and nothing more leaves that connection. */
static size_t hold_answers(unsigned connection, const char *command,
                           const char *argument)
{
    return fake_server_rule(nodes[0], &(fake_rule_t){.command = command,
                                                     .argument = argument,
                                                     .connection = connection,
                                                     .is_cut = true,
                                                     .then = FAKE_HOLD});
}

static size_t received(unsigned connection, const char *command, const char *argument)
{
    return fake_server_received(nodes[0], connection, command, argument);
}

/* ---- what takes it ---- */

static void commands_follow_a_bulk_command_of_their_slot(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);

    open_lane(scene);
    size_t held = hold_answers(2, "SET", "a");
    scene_submit(scene, WORDS("SET", "a", "v"), bulk(), &outcomes[0]);
    scene_submit(scene, WORDS("GET", "a"), NULL, &outcomes[1]);
    WAIT_FOR(fake_server_hits(nodes[0], held) > 0);
    check_ok(scene, WORDS("GET", "b")); /* does not wait */
    assert_int_equal(received(1, "GET", "b"), 1);
    assert_false(outcome_is_done(&outcomes[0]));
    assert_false(outcome_is_done(&outcomes[1]));
    fake_server_release(nodes[0]);
    scene_check(&outcomes[0], 0, SHOAL_FATE_REPLIED);
    scene_check_text(&outcomes[1], "v");
    assert_int_equal(received(2, "GET", "a"), 1);
    /* The slot is back. */
    WAIT_FOR((check_ok(scene, WORDS("GET", "a")), received(1, "GET", "a") > 0));
}

static void what_was_before_it_is_answered_first(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    shoal_call_t call = *bulk();

    open_lane(scene);
    size_t held = hold_answers(1, "GET", "a");
    scene_submit(scene, WORDS("GET", "a"), NULL, &outcomes[0]);
    WAIT_FOR(fake_server_hits(nodes[0], held) > 0);
    call.timeout_us = 50000;
    scene_submit(scene, WORDS("SET", "a", "v"), &call, &outcomes[1]);
    scene_check(&outcomes[1], SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    scene_submit(scene, WORDS("SET", "a", "w"), bulk(), &outcomes[1]);
    fake_server_release(nodes[0]);
    scene_await(&outcomes[0]);
    WAIT_FOR(fake_server_executed(nodes[0], 2, "SET", "a") == 1);
    assert_int_equal(received(1, "SET", "a"), 0);
}

static void parts_of_a_large_command_take_it(void **state)
{
    static char value[LARGE + 1];
    scene_t *scene = *state;
    shoal_call_t call = SHOAL_CALL_INIT;

    memset(value, 'v', LARGE);
    open_lane(scene);
    call.flags = SHOAL_CALL_MAY_SPLIT;
    outcome_t outcome =
        scene_call(scene, WORDS("MSET", "a", value, "b", "w", "c", value), &call);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(received(2, "MSET", "a"), 1);
    assert_int_equal(received(1, "MSET", "b"), 1);
    assert_int_equal(received(2, "MSET", "c"), 1);
}

static void reads_that_were_large_take_it(void **state)
{
    enum { BYTES = 300000 };
    static char reply[BYTES + 32];
    scene_t *scene = *state;
    size_t head = (size_t)snprintf(reply, sizeof reply, "$%d\r\n", BYTES);

    memset(reply + head, 'r', BYTES);
    memcpy(reply + head + BYTES, "\r\n", 3);
    open_lane(scene);
    fake_server_rule(nodes[0],
                     &(fake_rule_t){.command = "GET", .argument = "a", .reply = reply});
    check_ok(scene, WORDS("GET", "a"));
    WAIT_FOR((check_ok(scene, WORDS("GET", "a")), received(2, "GET", "a") > 0));
    check_ok(scene, WORDS("GET", "b"));
    assert_int_equal(received(2, "GET", "b"), 0);
}

/* WAIT counts the writes of the connection that it is sent over. */
static void after_wait_writes_stay(void **state)
{
    scene_t *scene = *state;
    shoal_call_t call = SHOAL_CALL_INIT;

    open_lane(scene);
    call.flags = SHOAL_CALL_MAY_BLOCK;
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "WAIT", .reply = ":0\r\n"});
    (void)scene_call(scene, WORDS("WAIT", "0", "1"), &call);
    outcome_t outcome = scene_call(scene, WORDS("SET", "a", "v"), bulk());
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(received(1, "SET", "a"), 1);
    outcome = scene_call(scene, WORDS("GET", "a"), bulk());
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(received(2, "GET", "a"), 1);
}

/* It runs behind what its caller submitted before. */
static void a_blocking_command_waits_for_it(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 2);
    shoal_call_t call = SHOAL_CALL_INIT;

    open_lane(scene);
    size_t held = hold_answers(2, "SET", "a");
    scene_submit(scene, WORDS("SET", "a", "v"), bulk(), &outcomes[0]);
    WAIT_FOR(fake_server_hits(nodes[0], held) > 0);
    call.timeout_us = 100000;
    scene_submit(scene, WORDS("BLPOP", "b", "0"), &call, &outcomes[1]);
    scene_check(&outcomes[1], SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(received(0, "BLPOP", NULL), 0);
    fake_server_release(nodes[0]);
    scene_check(&outcomes[0], 0, SHOAL_FATE_REPLIED);
}

/* ---- no lane ---- */

static void expect_one_connection(scene_t *scene)
{
    for (int i = 0; i < 5; i++) {
        outcome_t outcome = scene_call(scene, WORDS("SET", "a", "v"), bulk());
        scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    }
    assert_int_equal(received(1, "SET", "a"), 5);
    assert_int_equal(fake_server_accepted(nodes[0]), 1);
    assert_int_equal(scene_stats(scene).bulk, 0);
}

static void it_can_be_turned_off(void **state)
{
    scene_t *scene = *state;

    agree();
    assert_int_equal(shoal_options_set_bulk_lane(scene->options, false), 0);
    open_cluster(scene, 0);
    expect_one_connection(scene);
}

static void it_needs_a_place(void **state)
{
    scene_t *scene = *state;

    agree();
    assert_int_equal(shoal_options_set_connections_max(scene->options, 1), 0);
    open_cluster(scene, 0);
    expect_one_connection(scene);
}

/* ... and gives it to a lease. */
static void an_idle_lane_makes_way_for_a_lease(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_connections_max(scene->options, 2), 0);
    open_lane(scene);
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "BLPOP", .reply = "*-1\r\n"});
    check_ok(scene, WORDS("BLPOP", "b", "1"));
    assert_int_equal(received(3, "BLPOP", "b"), 1);
    WAIT_FOR(fake_server_open_now(nodes[0]) == 2);
    check_ok(scene, WORDS("SET", "a", "v"));
}

/* A server that does not say which process it is. */
static void it_needs_a_known_process(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(nodes[0],
                     &(fake_rule_t){.command = "INFO", .reply = "-NOPERM no\r\n"});
    agree();
    open_cluster(scene, 0);
    expect_one_connection(scene);
}

/* ---- a lane that is lost ---- */

/* Where the last command with this first argument stands in the ledger, but for those of one
 * connection. */
static size_t place_of(unsigned not_this, const char *argument)
{
    size_t place = 0;

    for (size_t i = 0; i < fake_server_ledger_size(nodes[0]); i++) {
        fake_entry_t entry = fake_server_ledger_at(nodes[0], i);
        if (entry.connection != not_this && entry.argc > 1 &&
            strcmp(entry.args[1], argument) == 0)
            place = i + 1;
    }
    assert_true(place > 0);
    return place;
}

static void its_commands_wait_for_the_next_one(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3);

    open_lane(scene);
    size_t held = hold_answers(2, "SET", "a");
    scene_submit(scene, WORDS("SET", "a", "v"), bulk(), &outcomes[0]);
    scene_submit(scene, WORDS("GET", "a"), NULL, &outcomes[1]);
    WAIT_FOR(fake_server_hits(nodes[0], held) > 0);
    fake_server_cut_one(nodes[0], 2, FAKE_CUT_RESET);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_check_text(&outcomes[1], "v");
    /* Its successor, or the node's connection, has ended it before; then the slot may go back. */
    assert_int_equal(received(1, "GET", "a") + received(3, "GET", "a"), 1);
    assert_true(place_of(2, "KILL") < place_of(2, "a"));
    assert_true(scene_is_settled(scene));
}

/* The lane is lost with SET a unanswered, and cannot be had again; GET a waits for it. */
static void lose_lane(scene_t *scene, outcome_t *outcomes)
{
    size_t held = hold_answers(2, "SET", "a");

    scene_submit(scene, WORDS("SET", "a", "v"), bulk(), &outcomes[0]);
    scene_submit(scene, WORDS("GET", "a"), NULL, &outcomes[1]);
    WAIT_FOR(fake_server_hits(nodes[0], held) > 0);
    fake_server_refuse(nodes[0], true);
    fake_server_cut_one(nodes[0], 2, FAKE_CUT_RESET);
    scene_check(&outcomes[0], SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(fake_server_executed(nodes[0], 1, "GET", "a"), 1);
    fake_server_refuse(nodes[0], false);
}

static void the_nodes_connection_ends_a_lost_lane(void **state)
{
    scene_t *scene = *state;

    open_lane(scene);
    lose_lane(scene, scene_outcomes(scene, 2));
    assert_int_equal(received(1, "CLIENT", "KILL"), 1);
    assert_true(scene_is_settled(scene));
    /* It can be had again. */
    WAIT_FOR((scene_call(scene, WORDS("SET", "a", "v"), bulk()),
              received(3, "SET", "a") > 0));
}

/* Nothing proves that SET a does not run any more, and nothing will. */
static void a_lost_lane_that_must_not_be_ended(void **state)
{
    scene_t *scene = *state;

    open_lane(scene);
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "CLIENT",
                                              .argument = "KILL",
                                              .reply = "-NOPERM no\r\n"});
    lose_lane(scene, scene_outcomes(scene, 2));
    assert_false(scene_is_settled(scene));
}

/* The node's own connection is lost while a slot waits for what that owes: it stays. */
static void a_slot_stays_if_its_node_is_lost(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 4);

    open_lane(scene);
    size_t held = hold_answers(1, "GET", "a");
    scene_submit(scene, WORDS("GET", "a"), NULL, &outcomes[0]);
    WAIT_FOR(fake_server_hits(nodes[0], held) > 0);
    scene_submit(scene, WORDS("SET", "a", "1"), bulk(), &outcomes[1]);
    scene_submit(scene, WORDS("SET", "a", "2"), NULL, &outcomes[2]);
    WAIT_FOR(scene_stats(scene).queued_now >= 2);
    fake_server_refuse(nodes[0], true);
    unsigned lost = scene_events(scene).lost;
    fake_server_cut_one(nodes[0], 1, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).lost > lost);
    uint64_t turns = scene_stats(scene).turns;
    WAIT_FOR(scene_stats(scene).turns > turns + 1);
    scene_submit(scene, WORDS("SET", "a", "3"), NULL, &outcomes[3]);
    WAIT_FOR(outcome_is_done(&outcomes[3]) || scene_stats(scene).queued_now >= 3);
    fake_server_refuse(nodes[0], false);
    scene_await(&outcomes[0]);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    scene_check(&outcomes[2], 0, SHOAL_FATE_REPLIED);
    scene_check(&outcomes[3], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(received(2, "SET", "a"), 0);
    outcome_t outcome = scene_call(scene, WORDS("GET", "a"), NULL);
    scene_check_text(&outcome, "3");
}

/* Nothing but the lane owes an answer. */
static void a_node_that_is_silent_on_its_lane_is_silent(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    open_lane(scene);
    fake_server_freeze(nodes[0]);
    scene_submit(scene, WORDS("SET", "a", "v"), bulk(), outcome);
    WAIT_FOR(fake_server_holds(nodes[0], "SET"));
    WAIT_FOR(scene_events(scene).nodes_down == 1);
    fake_server_release(nodes[0]);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(received(2, "SET", "a"), 1);
    WAIT_FOR(scene_events(scene).nodes_up > 1);
}

/* ---- another owner ---- */

/* What the lane owes is answered, or redirected, before the new owner gets what came since. */
static void its_slots_get_another_owner(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, 3);

    open_lane(scene);
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "SET",
                                              .argument = "a",
                                              .connection = 2,
                                              .times = 1,
                                              .is_cut = true,
                                              .then = FAKE_HOLD});
    fake_server_rule(nodes[0],
                     &(fake_rule_t){.command = "SET",
                                    .argument = "a",
                                    .reply = redirect_to("MOVED", A_SLOT, 1)});
    scene_submit(scene, WORDS("SET", "a", "v"), bulk(), &outcomes[0]);
    scene_submit(scene, WORDS("SET", "a", "1"), NULL, &outcomes[1]);
    WAIT_FOR(received(2, "SET", "a") == 2); /* nothing of it is answered */
    for (size_t i = 0; i < NODES; i++)
        fake_server_prepare_rules(nodes[i]);
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "GET",
                                              .argument = KEY,
                                              .reply = redirect_to("MOVED", SLOT, 1)});
    for (size_t i = 0; i < NODES; i++)
        say(i, (view_t){.owner = 1, .epoch = 6});
    for (size_t i = 0; i < NODES; i++)
        fake_server_forget_rules(nodes[i]);
    unsigned notices = scene_events(scene).notices;
    check_ok(scene, WORDS("GET", KEY)); /* the client asks for a view */
    WAIT_FOR(scene_events(scene).notices > notices);
    WAIT_FOR((check_ok(scene, WORDS("GET", "b")), executed(1, "GET") > 1));
    scene_submit(scene, WORDS("SET", "a", "2"), NULL, &outcomes[2]);
    check_ok(scene, WORDS("GET", "c"));
    assert_int_equal(executed(1, "SET"), 0);
    fake_server_release(nodes[0]);
    scene_check(&outcomes[0], 0, SHOAL_FATE_REPLIED);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
    scene_check(&outcomes[2], 0, SHOAL_FATE_REPLIED);
    outcome_t outcome = scene_call(scene, WORDS("GET", "a"), NULL);
    scene_check_text(&outcome, "2");
    assert_int_equal(fake_server_executed(nodes[0], 2, "SET", "a"), 1);
    WAIT_FOR(fake_server_open_now(nodes[0]) < 2); /* an empty lane of no owner */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(commands_follow_a_bulk_command_of_their_slot),
        TEST(what_was_before_it_is_answered_first),
        TEST(parts_of_a_large_command_take_it),
        TEST(reads_that_were_large_take_it),
        TEST(after_wait_writes_stay),
        TEST(a_blocking_command_waits_for_it),
        TEST(it_can_be_turned_off),
        TEST(it_needs_a_place),
        TEST(an_idle_lane_makes_way_for_a_lease),
        TEST(it_needs_a_known_process),
        TEST(its_commands_wait_for_the_next_one),
        TEST(the_nodes_connection_ends_a_lost_lane),
        TEST(a_lost_lane_that_must_not_be_ended),
        TEST(a_slot_stays_if_its_node_is_lost),
        TEST(a_node_that_is_silent_on_its_lane_is_silent),
        TEST(its_slots_get_another_owner),
    };

    return cmocka_run_group_tests_name("fault/cluster_lanes", tests, NULL, NULL);
}
