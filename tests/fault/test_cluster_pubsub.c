/* SPDX-License-Identifier: MIT */
/* Subscriptions in a cluster whose nodes the test plays: names are redirected, dropped with
 * their slot, and refused; an owner is lost. */
#include "fault/cluster_scene.h"
#include "support/listener.h"

#define PUSH(kind, name) ">3\r\n+" kind "\r\n+" name "\r\n:1\r\n"
#define YES(name) PUSH("ssubscribe", name)
#define NO(name) PUSH("sunsubscribe", name)
#define MESSAGE(payload) ">3\r\n+smessage\r\n+foo\r\n+" payload "\r\n"

typedef struct stage {
    scene_t *scene;
    shoal_pubsub_t *pubsub;
    listener_t a, b;
} stage_t;

static stage_t *open_stage(void **state, const char *names)
{
    scene_t *scene = *state;
    stage_t *stage = scene_alloc(scene, sizeof *stage);
    shoal_options_t *options = scene->options;

    stage->scene = scene;
    assert_int_equal(shoal_options_set_on_event(options, NULL, NULL), 0);
    assert_int_equal(
        shoal_options_set_address(options, "127.0.0.1", fake_server_port(nodes[0])), 0);
    assert_int_equal(shoal_options_set_topology(options, SHOAL_TOPOLOGY_CLUSTER), 0);
    assert_int_equal(shoal_pubsub_open(options, &stage->pubsub, NULL), 0);
    listener_begin(&stage->a, stage->pubsub, names);
    return stage;
}

static void close_stage(stage_t *stage)
{
    assert_int_equal(listener_stats(stage->pubsub).desyncs, 0);
    listener_end(&stage->a);
    assert_int_equal(shoal_pubsub_close_and_wait(stage->pubsub), 0);
    shoal_pubsub_release(stage->pubsub);
}

static void answer(size_t node, const char *command, const char *argument,
                   const char *reply, unsigned times)
{
    fake_server_rule(nodes[node], &(fake_rule_t){.command = command,
                                                 .argument = argument,
                                                 .reply = reply,
                                                 .times = times});
}

/* From now on all slots are this node's, which answers the command so.  Whoever asks a node
 * meanwhile finds all its rules, or none of the new ones. */
static void move_all_to(size_t owner, const char *command, const char *reply)
{
    for (size_t i = 0; i < NODES; i++) {
        size_t node = (owner + i) % NODES;
        fake_server_prepare_rules(nodes[node]);
        say(node, (view_t){.owner = owner, .epoch = 9});
        if (node == owner)
            answer(node, command, NULL, reply, 0);
        else
            answer(node, "SSUBSCRIBE", NULL, redirect_to("MOVED", SLOT, owner), 0);
        fake_server_forget_rules(nodes[node]);
    }
}

/* ---- redirects ---- */

static void test_a_name_is_asked_for_where_the_node_says(void **state)
{
    stage_t *stage;

    agree();
    answer(0, "SSUBSCRIBE", KEY, redirect_to("MOVED", SLOT, 1), 0);
    answer(1, "SSUBSCRIBE", KEY, YES(KEY), 0);
    stage = open_stage(state, "s:foo");
    listener_wait(&stage->a);
    LISTENER_HEARS(&stage->a, "+foo ");
    fake_server_send(nodes[1], MESSAGE("1"));
    LISTENER_HEARS(&stage->a, "foo=1 ");
    assert_int_equal(listener_stats(stage->pubsub).rejected, 0);
    close_stage(stage);
}

/* The slot leaves: the node drops the name unasked, and says where it is when asked. */
static void test_a_name_follows_its_slot(void **state)
{
    stage_t *stage;

    agree();
    answer(0, "SSUBSCRIBE", KEY, YES(KEY), 1);
    answer(0, "SSUBSCRIBE", KEY, redirect_to("MOVED", SLOT, 1), 0);
    answer(1, "SSUBSCRIBE", KEY, YES(KEY) MESSAGE("2"), 0);
    stage = open_stage(state, "s:foo");
    listener_wait(&stage->a);
    fake_server_send(nodes[0], MESSAGE("1"));
    fake_server_send(nodes[0], NO(KEY));
    LISTENER_HEARS(&stage->a, "+foo foo=1 ?foo foo=2 ");
    assert_int_equal(stage->a.reason, SHOAL_GAP_MOVED);
    /* The former owner has nothing to say any more. */
    fake_server_send(nodes[0], MESSAGE("no"));
    fake_server_send(nodes[1], MESSAGE("3"));
    LISTENER_HEARS(&stage->a, "foo=3 ");
    WAIT_FOR(listener_stats(stage->pubsub).unwanted == 1);
    assert_int_equal(listener_stats(stage->pubsub).losses, 0);
    assert_int_equal(listener_stats(stage->pubsub).gaps, 1);
    close_stage(stage);
}

/* The slot leaves amid our own requests: what the node drops is no answer to them. */
static void test_a_slot_leaves_around_our_own_requests(void **state)
{
    static const char *const befores[] = {NO("{foo}1") NO("{foo}2"), NULL,
                                          NO("{foo}2")};
    static const char *const afters[] = {NULL, NO("{foo}1") NO("{foo}2"), NO("{foo}1")};
    stage_t *stage;

    agree();
    for (size_t i = 0; i < 3; i++) {
        answer(0, "SSUBSCRIBE", "{foo}1", YES("{foo}1") YES("{foo}2"), 1);
        fake_server_rule(nodes[0],
                         &(fake_rule_t){.command = "SUNSUBSCRIBE",
                                        .before = befores[i],
                                        .reply = redirect_to("MOVED", SLOT, 1),
                                        .after = afters[i]});
        answer(0, "SSUBSCRIBE", "{foo}2", redirect_to("MOVED", SLOT, 1), 0);
        answer(1, "SSUBSCRIBE", "{foo}2", YES("{foo}2"), 0);
        stage = open_stage(state, "s:{foo}1 s:{foo}2");
        listener_wait(&stage->a);
        listener_remove(&stage->a, "s:{foo}1");
        LISTENER_HEARS(&stage->a, "+{foo}1 +{foo}2 ?{foo}2 ");
        assert_int_equal(stage->a.reason, SHOAL_GAP_MOVED);
        assert_int_equal(listener_stats(stage->pubsub).names_confirmed_now, 1);
        close_stage(stage);
        fake_server_forget_rules(nodes[0]);
        fake_server_forget_rules(nodes[1]);
        agree();
    }
}

/* One node alone names another one: it gets not a byte before a view lists it. */
static void test_a_stranger_is_told_no_name(void **state)
{
    size_t rule = say(0, (view_t){.owner = 0, .epoch = 5, .knows_one = true});
    stage_t *stage;

    answer(0, "SSUBSCRIBE", KEY, redirect_to("MOVED", SLOT, 2), 0);
    stage = open_stage(state, "s:foo");
    WAIT_FOR(fake_server_hits(nodes[0], rule) >= 4);
    assert_int_equal(fake_server_accepted(nodes[2]), 0);
    move_all_to(2, "SSUBSCRIBE", YES(KEY));
    LISTENER_HEARS(&stage->a, "+foo ");
    close_stage(stage);
}

/* ---- refusals ---- */

static void test_a_name_that_fails_holds_up_no_other(void **state)
{
    stage_t *stage;

    agree();
    answer(0, "SSUBSCRIBE", KEY, "-CLUSTERDOWN Hash slot not served\r\n", 3);
    answer(0, "SSUBSCRIBE", KEY, YES(KEY), 0);
    answer(0, "SSUBSCRIBE", "bar", YES("bar"), 0);
    stage = open_stage(state, "s:foo s:bar");
    LISTENER_HEARS(&stage->a, "+bar +foo ");
    assert_int_equal(listener_stats(stage->pubsub).rejected, 0);
    assert_int_equal(listener_stats(stage->pubsub).requests, 5);
    close_stage(stage);
}

static void test_a_forbidden_name_is_rejected(void **state)
{
    stage_t *stage;

    agree();
    answer(0, "SSUBSCRIBE", KEY, "-NOPERM no\r\n", 0);
    answer(0, "PSUBSCRIBE", NULL, "-NOPERM no\r\n", 0);
    answer(0, "SSUBSCRIBE", "bar", YES("bar"), 0);
    stage = open_stage(state, "s:foo s:bar k:__keyevent@0__:*");
    WAIT_FOR(listener_has(&stage->a, "!foo ") && listener_has(&stage->a, "+bar ") &&
             listener_has(&stage->a, "!__keyevent@0__:* "));
    assert_int_equal(shoal_subscription_wait(stage->a.subscription, 0), 1);
    assert_int_equal(listener_stats(stage->pubsub).rejected, 2);
    assert_int_equal(listener_stats(stage->pubsub).names_wanted_now, 1);
    close_stage(stage);
}

/* ---- losses and other owners ---- */

static void test_a_lost_owner_suspends_who_had_names_there(void **state)
{
    stage_t *stage;

    agree();
    answer(0, "SSUBSCRIBE", KEY, YES(KEY), 0);
    stage = open_stage(state, "s:foo");
    listener_wait(&stage->a);
    LISTENER_HEARS(&stage->a, "+foo ");
    listener_begin(&stage->b, stage->pubsub, "");
    move_all_to(1, "SSUBSCRIBE", YES(KEY) MESSAGE("1"));
    fake_server_refuse(nodes[0], true);
    fake_server_cut(nodes[0], FAKE_CUT_RESET);
    LISTENER_HEARS(&stage->a, "~ ?foo foo=1 ");
    assert_int_equal(stage->a.reason, SHOAL_GAP_LOST);
    assert_int_equal(stage->b.items, 0);
    listener_end(&stage->b);
    close_stage(stage);
}

/* Nobody says that there is another primary: it is looked for. */
static void test_events_of_keys_follow_the_primaries(void **state)
{
    static const char yes[] = PUSH("psubscribe", "__keyevent@0__:*");
    stage_t *stage;

    agree();
    answer(0, "PSUBSCRIBE", NULL, yes, 0);
    stage = open_stage(state, "k:__keyevent@0__:*");
    listener_wait(&stage->a);
    move_all_to(1, "PSUBSCRIBE", yes);
    LISTENER_HEARS(&stage->a, "+__keyevent@0__:* ?__keyevent@0__:* ");
    assert_int_equal(stage->a.reason, SHOAL_GAP_NODE);
    assert_int_equal(listener_stats(stage->pubsub).losses, 0);
    close_stage(stage);
}

/* SHOAL_TOPOLOGY_AUTO finds a server of its own: all names are there. */
static void test_a_server_of_its_own(void **state)
{
    scene_t *scene = *state;
    shoal_pubsub_t *pubsub;
    listener_t *a = scene_alloc(scene, sizeof *a);

    assert_int_equal(shoal_options_set_on_event(scene->options, NULL, NULL), 0);
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_AUTO),
                     0);
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "SSUBSCRIBE", .reply = YES(KEY)});
    fake_server_rule(scene->server,
                     &(fake_rule_t){.command = "PSUBSCRIBE",
                                    .reply = PUSH("psubscribe", "__keyevent@0__:*")});
    assert_int_equal(shoal_pubsub_open(scene->options, &pubsub, NULL), 0);
    listener_begin(a, pubsub, "k:__keyevent@0__:* s:foo");
    LISTENER_HEARS(a, "+__keyevent@0__:* +foo ");
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(listener_has(a, "?__keyevent@0__:* ") && listener_has(a, "?foo "));
    listener_end(a);
    assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    shoal_pubsub_release(pubsub);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_name_is_asked_for_where_the_node_says),
        TEST(test_a_name_follows_its_slot),
        TEST(test_a_slot_leaves_around_our_own_requests),
        TEST(test_a_stranger_is_told_no_name),
        TEST(test_a_name_that_fails_holds_up_no_other),
        TEST(test_a_forbidden_name_is_rejected),
        TEST(test_a_lost_owner_suspends_who_had_names_there),
        TEST(test_events_of_keys_follow_the_primaries),
        TEST(test_a_server_of_its_own),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
