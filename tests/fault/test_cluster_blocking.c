/* SPDX-License-Identifier: MIT */
/* Nodes of a cluster that the test plays: commands that block have connections of their own. */
#include "fault/cluster_lease_scene.h"

/* ---- where it goes ---- */

/* Neither of the connections that callers share, which a blocked command would block. */
static void a_blocking_command_has_a_connection_of_its_own(void **state)
{
    scene_t *scene = *state;

    answer(1, "BLPOP", POPPED);
    open_cluster(scene);
    for (int i = 0; i < 3; i++) {
        expect_popped(pop(scene, HIGH, 0, NULL));
        WAIT_FOR(scene_stats(scene).leases_now == 0);
    }
    assert_int_equal(fake_server_received(nodes[1], 1, "BLPOP", NULL), 0);
    assert_int_equal(received(1, "BLPOP", HIGH), 3);
    assert_int_equal(fake_server_accepted(nodes[1]), 2); /* from the pool */
    assert_int_equal(fake_server_accepted(nodes[0]), 1);
}

/* The node that the caller's earlier commands are for has not answered one of them. */
static void it_waits_for_what_was_submitted_before(void **state)
{
    scene_t *scene = *state;
    outcome_t *pushed = scene_outcomes(scene, 1);

    hold(0, "RPUSH", ":1\r\n");
    answer(0, "BLPOP", POPPED);
    answer(1, "BLPOP", POPPED);
    open_cluster(scene);
    scene_submit(scene, WORDS("RPUSH", LOW, "v"), NULL, pushed);
    outcome_t *popped = pop(scene, LOW, 0, NULL);
    expect_popped(pop(scene, HIGH, 0, NULL)); /* another node's are nothing to it */
    WAIT_FOR(received(0, "RPUSH", LOW) == 1);
    assert_int_equal(received(0, "BLPOP", NULL), 0);
    fake_server_release(nodes[0]);
    expect_popped(popped);
    assert_true(pushed->order < popped->order);
}

/* ---- refusals ---- */

static void it_follows_moved(void **state)
{
    scene_t *scene = *state;

    answer(0, "BLPOP", redirect_to("MOVED", 1));
    answer(1, "BLPOP", POPPED);
    open_cluster(scene);
    expect_popped(pop(scene, LOW, 0, NULL));
    assert_int_equal(received(1, "BLPOP", LOW), 1);
    expect_popped(pop(scene, LOW, 0, NULL)); /* the map knows */
    assert_int_equal(received(0, "BLPOP", NULL), 1);
    assert_int_equal(received(1, "BLPOP", LOW), 2);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
}

/* ASKING goes before it, on its connection. */
static void it_follows_ask(void **state)
{
    scene_t *scene = *state;
    fake_entry_t entry = {0};

    answer_once(0, "BLPOP", redirect_to("ASK", 1));
    answer(0, "BLPOP", POPPED);
    answer(1, "BLPOP", POPPED);
    open_cluster(scene);
    expect_popped(pop(scene, LOW, 0, NULL));
    assert_int_equal(received(1, "BLPOP", LOW), 1);
    assert_int_equal(received(1, "ASKING", NULL), 1);
    for (size_t i = 0; i < fake_server_ledger_size(nodes[1]); i++) {
        fake_entry_t next = fake_server_ledger_at(nodes[1], i);
        if (strcmp(next.args[0], "BLPOP") == 0) {
            assert_string_equal(entry.args[0], "ASKING");
            assert_int_equal(entry.connection, next.connection);
        }
        entry = next;
    }
    expect_popped(pop(scene, LOW, 0, NULL)); /* the map is what it was */
    assert_int_equal(received(0, "BLPOP", NULL), 2);
}

/* What its caller submitted before was redirected, and is at the other node. */
static void it_waits_where_it_is_asked(void **state)
{
    scene_t *scene = *state;
    outcome_t *pushed = scene_outcomes(scene, 1);

    answer(0, "RPUSH", redirect_to("ASK", 1));
    answer(0, "BLPOP", redirect_to("ASK", 1));
    hold(1, "RPUSH", ":1\r\n");
    answer(1, "BLPOP", POPPED);
    open_cluster(scene);
    scene_submit(scene, WORDS("RPUSH", LOW, "v"), NULL, pushed);
    outcome_t *popped = pop(scene, LOW, 0, NULL);
    WAIT_FOR(received(0, "BLPOP", LOW) == 1 && received(1, "RPUSH", LOW) == 1);
    WAIT_FOR(scene_stats(scene).leases_waiting_now == 1);
    assert_int_equal(received(1, "BLPOP", NULL), 0);
    fake_server_release(nodes[1]);
    expect_popped(popped);
    assert_true(pushed->order < popped->order);
}

static void hops_are_bounded(void **state)
{
    scene_t *scene = *state;

    answer(0, "BLPOP", redirect_to("MOVED", 1));
    answer(1, "BLPOP", redirect_to("MOVED", 0));
    open_cluster(scene);
    outcome_t *outcome = pop(scene, LOW, 0, NULL);
    scene_await(outcome);
    scene_check_error(outcome, "MOVED " LOW_SLOT);
    assert_int_equal(received(0, "BLPOP", NULL) + received(1, "BLPOP", NULL), 1 + 16);
}

/* Nothing was popped: again, and again, until its deadline, if it has one. */
static void other_refusals_end_by_themselves(void **state)
{
    scene_t *scene = *state;
    static const char demoted[] = "-UNBLOCKED force unblock from blocking operation, "
                                  "instance state changed (master -> replica?)\r\n";
    static const char *const refusals[] = {
        demoted,
        "-CLUSTERDOWN The cluster is down\r\n",
        "-CLUSTERDOWN Hash slot not served\r\n",
        "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
        "-READONLY You can't write against a read only replica.\r\n",
        "-LOADING Redis is loading the dataset in memory\r\n",
    };

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        for (int times = 0; times < 2; times++)
            answer_once(0, "BLPOP", refusals[i]);
    answer_once(0, "BLPOP", POPPED);
    answer(0, "BLPOP", "-CLUSTERDOWN The cluster is down\r\n");
    open_cluster(scene);
    expect_popped(pop(scene, LOW, 0, NULL));
    outcome_t *outcome = pop(scene, LOW, 300000, NULL);
    scene_check(outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
    assert_true(received(0, "BLPOP", NULL) < 30); /* with pauses */
}

/* The caller wants no second attempt; and an error that is the command's own. */
static void some_errors_are_results(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t once = {.size = sizeof once, .flags = SHOAL_CALL_ONCE};

    answer_once(0, "BLPOP", redirect_to("MOVED", 1));
    answer(0, "BLPOP", "-WRONGTYPE no list\r\n");
    open_cluster(scene);
    outcome_t outcome = scene_call(scene, WORDS("BLPOP", LOW, "0"), &once);
    scene_check_error(&outcome, "MOVED");
    outcome = scene_call(scene, WORDS("BLPOP", LOW, "0"), NULL);
    scene_check_error(&outcome, "WRONGTYPE");
    assert_int_equal(received(1, "BLPOP", NULL), 0);
}

/* ---- cancels ---- */

/* It is let go; what the node says then proves that nothing was popped. */
static void expect_let_go(scene_t *scene, const char *reply)
{
    uint64_t ticket;

    hold(0, "BLPOP", reply);
    answer_unblock(0);
    open_cluster(scene);
    outcome_t *outcome = pop(scene, LOW, 0, &ticket);
    WAIT_FOR(received(0, "BLPOP", LOW) == 1);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    WAIT_FOR(fake_server_received(nodes[0], 1, "CLIENT", "UNBLOCK") == 1);
    fake_server_release(nodes[0]);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(received(1, "BLPOP", NULL), 0);
    assert_int_equal(received(1, "CLIENT", "UNBLOCK"), 0);
}

static void a_cancel_lets_it_go(void **state)
{
    expect_let_go(*state, "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
}

static void a_redirect_behind_a_cancel_is_not_followed(void **state)
{
    expect_let_go(*state, redirect_to("MOVED", 1));
}

/* It was let go by one node, goes to the next one, and is cancelled there. */
static void a_cancel_goes_to_the_node_that_has_it(void **state)
{
    scene_t *scene = *state;
    uint64_t ticket;

    answer(0, "BLPOP", redirect_to("MOVED", 1));
    hold(1, "BLPOP", "*-1\r\n");
    answer_unblock(1);
    open_cluster(scene);
    outcome_t *outcome = pop(scene, LOW, 0, &ticket);
    WAIT_FOR(received(1, "BLPOP", LOW) == 1);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    WAIT_FOR(fake_server_received(nodes[1], 1, "CLIENT", "UNBLOCK") == 1);
    assert_int_equal(received(0, "CLIENT", "UNBLOCK"), 0);
    fake_server_release(nodes[1]);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
}

/* ... also if ASKING, which went before it, is not answered. */
static void a_cancel_does_not_wait_for_asking(void **state)
{
    scene_t *scene = *state;
    uint64_t ticket;

    answer(0, "BLPOP", redirect_to("ASK", 1));
    hold(1, "ASKING", "+OK\r\n");
    answer(1, "BLPOP", "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
    answer_unblock(1);
    open_cluster(scene);
    outcome_t *outcome = pop(scene, LOW, 0, &ticket);
    WAIT_FOR(received(1, "BLPOP", LOW) == 1);
    assert_int_equal(shoal_client_cancel(scene->client, ticket), 0);
    WAIT_FOR(fake_server_received(nodes[1], 1, "CLIENT", "UNBLOCK") == 1);
    fake_server_release(nodes[1]);
    scene_check(outcome, SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
}

/* ---- nodes that are lost ---- */

/* The node is down: they wait until their deadlines, take no connection, and those for other
 * nodes do not notice. */
static void a_node_that_is_down_holds_up_its_own_alone(void **state)
{
    enum { WAITING = SHOAL_LEASE_CONNECTIONS_MAX + 10 };
    scene_t *scene = *state;
    outcome_t *waiting[WAITING], *ending[WAITING];
    uint64_t tickets[WAITING];

    answer(1, "BLPOP", POPPED);
    open_cluster(scene);
    lose(0);
    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    for (size_t i = 0; i < WAITING; i++)
        waiting[i] = pop(scene, LOW, SHOAL_TIMEOUT_NEVER, &tickets[i]);
    for (int i = 0; i < 10; i++)
        expect_popped(pop(scene, HIGH, 0, NULL));
    for (size_t i = 0; i < WAITING; i++)
        ending[i] = pop(scene, LOW, 400000, NULL);
    for (size_t i = 0; i < WAITING; i++)
        scene_check(ending[i], SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    for (size_t i = 0; i < WAITING; i++) {
        assert_false(outcome_is_done(waiting[i]));
        assert_int_equal(shoal_client_cancel(scene->client, tickets[i]), 0);
        scene_check(waiting[i], SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED);
    }
    WAIT_FOR(scene_stats(scene).leases_now == 0);
}

/* It blocked there: nobody knows what it did. */
static void what_blocks_on_a_node_that_is_lost_is_unknown(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(nodes[0],
                     &(fake_rule_t){.command = "BLPOP", .is_swallowed = true});
    open_cluster(scene);
    outcome_t *outcome = pop(scene, LOW, 0, NULL);
    WAIT_FOR(received(0, "BLPOP", LOW) == 1);
    lose(0);
    scene_check(outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
}

/* What may be repeated, and what was not sent, goes to the next owner of the slot. */
static void the_next_owner_gets_the_rest(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t idempotent = {.size = sizeof idempotent,
                                     .flags = SHOAL_CALL_IDEMPOTENT};
    outcome_t *repeated = scene_outcomes(scene, 1);

    fake_server_rule(nodes[0],
                     &(fake_rule_t){.command = "BLPOP", .is_swallowed = true});
    answer(1, "BLPOP", POPPED);
    open_cluster(scene);
    scene_submit(scene, WORDS("BLPOP", LOW, "0"), &idempotent, repeated);
    WAIT_FOR(received(0, "BLPOP", LOW) == 1);
    lose(0);
    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    outcome_t *fresh = pop(scene, LOW, 0, NULL);
    fake_server_prepare_rules(nodes[1]);
    answer(1, "BLPOP", POPPED);
    say(1, 1, 6);
    fake_server_forget_rules(nodes[1]);
    expect_popped(repeated);
    expect_popped(fresh);
    WAIT_FOR(scene_stats(scene).leases_now == 0);
}

/* The node is silent, and another one owns the slot by now. */
static void what_blocks_on_a_silent_node_is_given_up(void **state)
{
    scene_t *scene = *state;

    fake_server_rule(nodes[0],
                     &(fake_rule_t){.command = "BLPOP", .is_swallowed = true});
    open_cluster(scene);
    outcome_t *outcome = pop(scene, LOW, 0, NULL);
    WAIT_FOR(received(0, "BLPOP", LOW) == 1);
    fake_server_prepare_rules(nodes[1]);
    say(1, 1, 6);
    fake_server_forget_rules(nodes[1]);
    answer(0, "SET", redirect_to("MOVED", 1));
    outcome_t set = scene_call(scene, WORDS("SET", LOW, "2"), NULL);
    scene_check_text(&set, "OK");
    fake_server_freeze(nodes[0]);
    scene_await(outcome);
    scene_check(outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    assert_non_null(strstr(outcome->detail, "silent"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_blocking_command_has_a_connection_of_its_own),
        TEST(it_waits_for_what_was_submitted_before),
        TEST(it_follows_moved),
        TEST(it_follows_ask),
        TEST(it_waits_where_it_is_asked),
        TEST(hops_are_bounded),
        TEST(other_refusals_end_by_themselves),
        TEST(some_errors_are_results),
        TEST(a_cancel_lets_it_go),
        TEST(a_redirect_behind_a_cancel_is_not_followed),
        TEST(a_cancel_goes_to_the_node_that_has_it),
        TEST(a_cancel_does_not_wait_for_asking),
        TEST(a_node_that_is_down_holds_up_its_own_alone),
        TEST(what_blocks_on_a_node_that_is_lost_is_unknown),
        TEST(the_next_owner_gets_the_rest),
        TEST(what_blocks_on_a_silent_node_is_given_up),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_blocking", tests, NULL, NULL);
}
