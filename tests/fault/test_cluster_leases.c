/* SPDX-License-Identifier: MIT */
/* Nodes of a cluster that the test plays: connections of one's own, for leases and for
 * commands that block.  Each node owns half of the slots. */
#include "support/lease_scene.h"
#include "support/lone_caller.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 2
#define TEXT_BYTES 700
#define TEXTS_MAX 32

/* Slot 5061, of node 0, and slot 12182, of node 1. */
#define LOW "bar"
#define LOW_SLOT "5061"
#define HIGH "foo"

#define POPPED "*2\r\n$3\r\nbar\r\n$1\r\nv\r\n"

static fake_server_t *nodes[NODES];
static char texts[TEXTS_MAX][TEXT_BYTES];
static size_t texts_count;

static int tear_down(void **state)
{
    int rc = scene_teardown(state);

    for (size_t i = 0; i < NODES; i++) {
        if (fake_server_broken(nodes[i]) > 0)
            rc = -1;
        fake_server_stop(nodes[i]);
    }
    texts_count = 0;
    return rc;
}

static int set_up(void **state)
{
    for (size_t i = 0; i < NODES; i++)
        nodes[i] = fake_server_start(NULL);
    return scene_setup(state);
}

/* Texts of rules outlive the servers. */
static char *new_text(void)
{
    assert_true(texts_count < TEXTS_MAX);
    return texts[texts_count++];
}

/* "-MOVED 5061 127.0.0.1:port", or with ASK. */
static const char *redirect_to(const char *word, size_t node)
{
    char *to = new_text();

    snprintf(to, TEXT_BYTES, "-%s " LOW_SLOT " 127.0.0.1:%d\r\n", word,
             fake_server_port(nodes[node]));
    return to;
}

/* From now on the node says that the lower half of the slots belongs to this one. */
static void say(size_t node, size_t low, unsigned epoch)
{
    char *slots = new_text(), *view = new_text(), lines[300];
    size_t bytes = (size_t)snprintf(slots, TEXT_BYTES, "*2\r\n");

    for (size_t half = 0; half < 2; half++) {
        size_t owner = half == 0 ? low : 1;
        bytes += (size_t)snprintf(slots + bytes, TEXT_BYTES - bytes,
                                  "*3\r\n:%d\r\n:%d\r\n*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n"
                                  "$4\r\nnod%zu\r\n",
                                  half == 0 ? 0 : 8192, half == 0 ? 8191 : 16383,
                                  fake_server_port(nodes[owner]), owner);
    }
    bytes = 0;
    for (size_t i = 0; i < NODES; i++)
        bytes +=
            (size_t)snprintf(lines + bytes, sizeof lines - bytes,
                             "nod%zu 127.0.0.1:%d@1 master - 0 0 %u connected%s%s\n", i,
                             fake_server_port(nodes[i]), i == low ? epoch : 4,
                             i == low ? " 0-8191" : "", i == 1 ? " 8192-16383" : "");
    snprintf(view, TEXT_BYTES, "$%zu\r\n%s\r\n", bytes, lines);
    fake_server_rule(
        nodes[node],
        &(fake_rule_t){.command = "CLUSTER", .argument = "SLOTS", .reply = slots});
    fake_server_rule(
        nodes[node],
        &(fake_rule_t){.command = "CLUSTER", .argument = "NODES", .reply = view});
}

static void answer(size_t node, const char *command, const char *reply)
{
    fake_server_rule(nodes[node], &(fake_rule_t){.command = command, .reply = reply});
}

static void answer_once(size_t node, const char *command, const char *reply)
{
    fake_server_rule(nodes[node],
                     &(fake_rule_t){.command = command, .times = 1, .reply = reply});
}

/* The command gets no answer, or this one when the node is released. */
static void hold(size_t node, const char *command, const char *reply)
{
    fake_server_rule(nodes[node], &(fake_rule_t){.command = command,
                                                 .reply = reply,
                                                 .times = 1,
                                                 .is_cut = true,
                                                 .then = FAKE_HOLD});
}

static void answer_unblock(size_t node)
{
    fake_server_rule(
        nodes[node],
        &(fake_rule_t){.command = "CLIENT", .argument = "UNBLOCK", .reply = ":1\r\n"});
}

static size_t received(size_t node, const char *command, const char *argument)
{
    return fake_server_received(nodes[node], 0, command, argument);
}

/* Open a client that both nodes have answered. */
static void open_cluster(scene_t *scene)
{
    for (size_t i = 0; i < NODES; i++)
        say(i, 0, 5);
    assert_int_equal(shoal_options_set_address(scene->options, "127.0.0.1",
                                               fake_server_port(nodes[0])),
                     0);
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_CLUSTER),
                     0);
    scene_open(scene);
    outcome_t outcome = scene_call(scene, WORDS("SET", LOW, "1"), NULL);
    scene_check_text(&outcome, "OK");
    outcome = scene_call(scene, WORDS("SET", HIGH, "1"), NULL);
    scene_check_text(&outcome, "OK");
}

static void expect_popped(const outcome_t *outcome)
{
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    if (outcome->type != SHOAL_REPLY_ARRAY)
        fail_msg("%s", outcome->error);
}

static outcome_t *pop(scene_t *scene, const char *key, uint64_t timeout_us,
                      uint64_t *ret_ticket)
{
    outcome_t *outcome = scene_outcomes(scene, 1);

    lease_scene_submit(scene, NULL, WORDS("BLPOP", key, "0"), timeout_us, outcome,
                       ret_ticket);
    return outcome;
}

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

static void lose(size_t node)
{
    fake_server_refuse(nodes[node], true);
    fake_server_cut(nodes[node], FAKE_CUT_RESET);
}

/* The node is down: they wait until their deadlines, take no connection, and those for other
 * nodes do not notice. */
static void a_node_that_is_down_holds_up_its_own_alone(void **state)
{
    scene_t *scene = *state;
    outcome_t *waiting[SHOAL_LEASE_CONNECTIONS_MAX + 10];

    answer(1, "BLPOP", POPPED);
    open_cluster(scene);
    lose(0);
    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        waiting[i] = pop(scene, LOW, 400000, NULL);
    for (int i = 0; i < 10; i++)
        expect_popped(pop(scene, HIGH, 0, NULL));
    assert_false(outcome_is_done(waiting[0]));
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        scene_check(waiting[i], SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
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
    fake_server_forget_rules(nodes[1]);
    answer(1, "BLPOP", POPPED);
    say(1, 1, 6);
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
    fake_server_forget_rules(nodes[1]);
    say(1, 1, 6);
    answer(0, "SET", redirect_to("MOVED", 1));
    outcome_t set = scene_call(scene, WORDS("SET", LOW, "2"), NULL);
    scene_check_text(&set, "OK");
    fake_server_freeze(nodes[0]);
    scene_await(outcome);
    scene_check(outcome, SHOAL_ECONN, SHOAL_FATE_UNKNOWN);
    assert_non_null(strstr(outcome->detail, "silent"));
}

/* ---- leases ---- */

static void expect_text(scene_t *scene, shoal_lease_t *lease, shoal_command_t command,
                        const char *text)
{
    outcome_t outcome = lease_scene_ask(scene, lease, command);

    scene_check_text(&outcome, text);
}

static void a_lease_leads_to_the_node_of_its_first_key(void **state)
{
    scene_t *scene = *state;

    open_cluster(scene);
    shoal_lease_t *low = lease_scene_open(scene), *high = lease_scene_open(scene);
    expect_text(scene, low, WORDS("SET", LOW, "2"), "OK");
    expect_text(scene, high, WORDS("SET", HIGH, "2"), "OK");
    expect_text(scene, low, WORDS("ECHO", "low"), "low");
    expect_text(scene, high, WORDS("ECHO", "high"), "high");
    expect_text(scene, low, WORDS("SET", HIGH, "2"), "OK"); /* it stays */
    assert_int_equal(fake_server_received(nodes[0], 2, "ECHO", "low"), 1);
    assert_int_equal(fake_server_received(nodes[1], 2, "ECHO", "high"), 1);
    assert_int_equal(fake_server_received(nodes[0], 2, "SET", HIGH), 1);
    shoal_lease_close(low);
    shoal_lease_close(high);
    WAIT_FOR(scene_stats(scene).leases_now == 0 &&
             scene_stats(scene).leases_idle_now == 2);
}

/* ... by an argument, or by the commands of its first call. */
static void a_lease_may_be_told_its_node(void **state)
{
    scene_t *scene = *state;
    const shoal_command_t unit[] = {WORDS("MULTI"), WORDS("SET", HIGH, "3"),
                                    WORDS("EXEC")};
    outcome_t *outcomes = scene_outcomes(scene, 3);
    shoal_lease_t *lease;

    open_cluster(scene);
    for (size_t i = 0; i < NODES; i++) {
        const char *key = i == 0 ? LOW : HIGH;
        assert_int_equal(shoal_lease_open_for(scene->client, key, strlen(key), &lease),
                         0);
        expect_text(scene, lease, WORDS("ECHO", key), key);
        assert_int_equal(received(i, "ECHO", key), 1);
        shoal_lease_close(lease);
    }
    shoal_call_t call = SHOAL_CALL_INIT;
    call.lease = lease = lease_scene_open(scene);
    scene_call_many(scene, unit, 3, &call, outcomes);
    scene_check(&outcomes[2], 0, SHOAL_FATE_REPLIED);
    assert_int_equal(received(1, "MULTI", NULL), 1);
    assert_int_equal(received(0, "MULTI", NULL), 0);
    shoal_lease_close(lease);
}

/* What the connection knows cannot follow. */
static void redirects_of_a_lease_are_results(void **state)
{
    scene_t *scene = *state;

    answer(0, "WATCH", redirect_to("MOVED", 1));
    answer(0, "GET", redirect_to("ASK", 1));
    open_cluster(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    outcome_t outcome = lease_scene_ask(scene, lease, WORDS("WATCH", LOW));
    scene_check_error(&outcome, "MOVED");
    outcome = lease_scene_ask(scene, lease, WORDS("GET", LOW));
    scene_check_error(&outcome, "ASK");
    assert_int_equal(received(1, "WATCH", NULL) + received(1, "GET", NULL), 0);
    shoal_lease_close(lease);
}

/* The next holder gets the connection as it was after its greeting, or another one. */
static void a_lease_that_is_returned_dirty_is_clean_for_the_next(void **state)
{
    scene_t *scene = *state;

    answer(0, "WATCH", "+OK\r\n");
    answer(0, "UNWATCH", "+OK\r\n");
    answer(0, "MULTI", "+OK\r\n");
    answer(0, "DISCARD", "+OK\r\n");
    open_cluster(scene);
    shoal_lease_t *lease = lease_scene_open(scene);
    expect_text(scene, lease, WORDS("WATCH", LOW), "OK");
    expect_text(scene, lease, WORDS("SELECT", "1"), "OK");
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    assert_int_equal(fake_server_received(nodes[0], 2, "UNWATCH", NULL), 1);
    lease = lease_scene_open(scene);
    expect_text(scene, lease, WORDS("GET", LOW), "1");
    expect_text(scene, lease, WORDS("MULTI"), "OK");
    shoal_lease_close(lease);
    WAIT_FOR(scene_stats(scene).leases_idle_now == 1);
    assert_int_equal(fake_server_received(nodes[0], 2, "DISCARD", NULL), 1);
    lease = lease_scene_open(scene);
    expect_text(scene, lease, WORDS("GET", LOW), "1");
    expect_text(scene, lease, WORDS("CLIENT", "SETNAME", "mine"), "OK");
    shoal_lease_close(lease);
    WAIT_FOR(fake_server_open_now(nodes[0]) == 1); /* nothing undoes that */
}

static void a_lease_breaks_with_its_node(void **state)
{
    scene_t *scene = *state;

    open_cluster(scene);
    shoal_lease_t *lease = lease_scene_open(scene), *other = lease_scene_open(scene);
    expect_text(scene, lease, WORDS("GET", LOW), "1");
    lose(0);
    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    outcome_t outcome = lease_scene_ask(scene, lease, WORDS("GET", HIGH));
    scene_check(&outcome, SHOAL_ECONN, SHOAL_FATE_NOT_EXECUTED);
    expect_text(scene, other, WORDS("GET", HIGH), "1");
    shoal_lease_close(lease);
    shoal_lease_close(other);
}

/* One that has carried nothing is not bound to a node that is lost. */
static void a_lease_without_state_follows_its_slot(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    open_cluster(scene);
    lose(0);
    WAIT_FOR(scene_events(scene).attempts_failed > 0);
    shoal_lease_t *lease = lease_scene_open(scene);
    lease_scene_submit(scene, lease, WORDS("SET", LOW, "2"), 0, outcome, NULL);
    fake_server_forget_rules(nodes[1]);
    say(1, 1, 6);
    scene_await(outcome);
    scene_check_text(outcome, "OK");
    assert_int_equal(received(1, "SET", LOW), 1);
    shoal_lease_close(lease);
}

/* The bound is one for all nodes: idle connections to others make way. */
static void idle_connections_make_way(void **state)
{
    scene_t *scene = *state;
    static const char *const keys[] = {LOW, HIGH};
    shoal_lease_t *leases[SHOAL_LEASE_CONNECTIONS_MAX];

    open_cluster(scene);
    for (size_t node = 0; node < NODES; node++) {
        for (size_t i = 0; i < SHOAL_LEASE_CONNECTIONS_MAX; i++) {
            leases[i] = lease_scene_open(scene);
            expect_text(scene, leases[i], WORDS("GET", keys[node]), "1");
        }
        assert_int_equal(fake_server_open_now(nodes[node]),
                         SHOAL_LEASE_CONNECTIONS_MAX + 1);
        WAIT_FOR(fake_server_open_now(nodes[1 - node]) == 1);
        for (size_t i = 0; i < SHOAL_LEASE_CONNECTIONS_MAX; i++)
            shoal_lease_close(leases[i]);
        WAIT_FOR(scene_stats(scene).leases_idle_now == SHOAL_LEASE_CONNECTIONS_MAX);
    }
}

/* ---- who drives ---- */

#define CALLS 200

/* A thread that is alone sends and reads itself: no other thread takes part. */
static void a_lone_caller_drives(void **state)
{
    scene_t *scene = *state;

    open_cluster(scene);
    lone_caller_become_direct(scene);
    shoal_stats_t before = scene_stats(scene);
    for (int i = 0; i < CALLS; i++) {
        shoal_command_t command = WORDS("GET", i % 2 == 0 ? LOW : HIGH);
        shoal_result_t *result = NULL;
        assert_int_equal(shoal_client_call(scene->client, command.argc, command.argv,
                                           command.argvlen, &result),
                         0);
        assert_int_equal(shoal_result_status(result), 0);
        shoal_result_release(result);
    }
    shoal_stats_t after = scene_stats(scene);
    print_message("%d calls: %d drove, %d hand-overs, %d wake-ups of callers\n", CALLS,
                  (int)(after.direct_calls - before.direct_calls),
                  (int)(after.handovers - before.handovers),
                  (int)(after.caller_wakeups - before.caller_wakeups));
    /* The library's thread may look after something meanwhile. */
    assert_true(after.direct_calls - before.direct_calls > CALLS / 2);
    assert_true(after.handovers - before.handovers < CALLS / 2);
    assert_true(after.caller_wakeups - before.caller_wakeups < CALLS / 2);
}

/* One descriptor for all connections, those of leases too. */
static void a_borrowed_client_has_one_descriptor(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcome = scene_outcomes(scene, 1);

    answer(1, "BLPOP", POPPED);
    for (size_t i = 0; i < NODES; i++)
        say(i, 0, 5);
    assert_int_equal(shoal_options_set_address(scene->options, "127.0.0.1",
                                               fake_server_port(nodes[0])),
                     0);
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_CLUSTER),
                     0);
    lease_scene_open_stepped(scene);
    lease_scene_submit(scene, NULL, WORDS("BLPOP", HIGH, "0"), 0, outcome, NULL);
    while (!outcome_is_done(outcome)) {
        assert_true(shoal_client_step(scene->client, 0) >= 0);
        struct pollfd ready = {.fd = shoal_client_fd(scene->client), .events = POLLIN};
        if (!outcome_is_done(outcome) && shoal_client_wait_us(scene->client) != 0)
            assert_int_equal(poll(&ready, 1, 20000), 1);
    }
    expect_popped(outcome);
    lease_scene_close_stepped(scene);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
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
        TEST(a_lease_leads_to_the_node_of_its_first_key),
        TEST(a_lease_may_be_told_its_node),
        TEST(redirects_of_a_lease_are_results),
        TEST(a_lease_that_is_returned_dirty_is_clean_for_the_next),
        TEST(a_lease_breaks_with_its_node),
        TEST(a_lease_without_state_follows_its_slot),
        TEST(idle_connections_make_way),
        TEST(a_lone_caller_drives),
        TEST(a_borrowed_client_has_one_descriptor),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_leases", tests, NULL, NULL);
}
