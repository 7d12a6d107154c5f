/* SPDX-License-Identifier: MIT */
/* Reads at the replicas of a cluster: which commands go there, to which replicas, and what
 * their refusals mean. */
#include "reads_scene.h"

/* Commands that a replica must never see. */
static void check_no_write(size_t node)
{
    static const char *const allowed[] = {"GET",  "MGET", "HELLO", "CLIENT",  "CLUSTER",
                                          "INFO", "ECHO", "ROLE",  "READONLY"};
    size_t count = fake_server_ledger_size(nodes[node]);

    for (size_t i = 0; i < count; i++) {
        fake_entry_t entry = fake_server_ledger_at(nodes[node], i);
        bool is_allowed = false;
        for (size_t j = 0; j < sizeof allowed / sizeof *allowed; j++)
            is_allowed = is_allowed || strcmp(entry.args[0], allowed[j]) == 0;
        if (!is_allowed)
            fail_msg("node %zu got %s", node, entry.args[0]);
    }
}

/* ---- which commands ---- */

static void only_reads_go_there(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t primary = {.size = sizeof primary, .flags = SHOAL_CALL_PRIMARY};
    const shoal_call_t owner = {
        .size = sizeof owner, .route = SHOAL_ROUTE_SLOT, .route_slot = 12182};
    const shoal_command_t unit[] = {WORDS("MULTI"), WORDS("GET", KEY), WORDS("EXEC")};
    const shoal_call_t together = {.size = sizeof together,
                                   .flags = SHOAL_CALL_CONTIGUOUS};
    outcome_t outcomes[3] = {0};
    size_t there;

    open_reading(scene);
    there = reads_at(ONE) + reads_at(OTHER);
    check_ok(scene, WORDS("SET", KEY, "1"));
    check_ok(scene, WORDS("PING"));
    scene_call(scene, WORDS("EVAL", "return 1", "1", KEY), NULL);
    scene_call(scene, WORDS("HSCAN", KEY, "0"), NULL);
    assert_int_equal(scene_call(scene, WORDS("GET", KEY), &primary).status, 0);
    assert_int_equal(scene_call(scene, WORDS("GET", KEY), &owner).status, 0);
    scene_call_many(scene, unit, 3, &together, outcomes);
    assert_int_equal(reads_at(ONE) + reads_at(OTHER), there);
    check_no_write(ONE);
    check_no_write(OTHER);
}

static void a_primary_alone_is_read_by_default(void **state)
{
    scene_t *scene = *state;

    agree();
    open_cluster(scene, 0);
    for (unsigned i = 0; i < 20; i++)
        try_read(scene);
    assert_int_equal(reads_at(0), 20);
    assert_int_equal(
        fake_server_accepted(nodes[ONE]) + fake_server_accepted(nodes[OTHER]), 0);
}

static void a_call_asks_for_a_replica(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t replica = {.size = sizeof replica, .flags = SHOAL_CALL_REPLICA};
    size_t at_primary;

    script(0, PRIMARY);
    script(ONE, LINKED);
    script(OTHER, LINKED);
    open_cluster(scene, 0);
    WAIT_FOR(scene_call(scene, WORDS("GET", KEY), &replica).status == 0 &&
             reads_at(ONE) + reads_at(OTHER) > 0);
    at_primary = reads_at(0);
    try_read(scene);
    assert_int_equal(reads_at(0), at_primary + 1);
    assert_true(scene_idle_stats(scene).replica_reads >= 1);
}

static void the_parts_of_a_command_are_reads(void **state)
{
    scene_t *scene = *state;
    const shoal_call_t split = {.size = sizeof split, .flags = SHOAL_CALL_MAY_SPLIT};
    outcome_t outcome;

    open_reading(scene);
    outcome = scene_call(scene, WORDS("MGET", "a", "b", "c"), &split);
    assert_int_equal(outcome.status, 0);
    assert_int_equal(fake_server_received(nodes[0], 0, "MGET", NULL), 0);
    assert_int_equal(fake_server_received(nodes[ONE], 0, "MGET", NULL) +
                         fake_server_received(nodes[OTHER], 0, "MGET", NULL),
                     3);
}

/* ---- which replicas ---- */

static void readonly_comes_before_the_first_read(void **state)
{
    scene_t *scene = *state;
    bool has_said = false;
    size_t count;

    open_reading(scene);
    count = fake_server_ledger_size(nodes[ONE]);
    for (size_t i = 0; i < count; i++) {
        fake_entry_t entry = fake_server_ledger_at(nodes[ONE], i);
        has_said = has_said || strcmp(entry.args[0], "READONLY") == 0;
        assert_true(has_said || strcmp(entry.args[0], "GET") != 0);
    }
    assert_int_equal(fake_server_received(nodes[0], 0, "READONLY", NULL), 0);
}

/* Both are so: of two that can be read one may be preferred. */
static void check_never_read(scene_t *scene, const char *role, const char *readonly)
{
    script(0, PRIMARY);
    for (size_t i = ONE; i <= OTHER; i++)
        script_as(i, (view_t){.owner = 0, .epoch = 5}, role, readonly);
    read_from(scene, SHOAL_READ_REPLICA_PREFERRED);
    open_cluster(scene, 0);
    for (size_t i = ONE; i <= OTHER; i++)
        WAIT_FOR(try_read(scene) &&
                 fake_server_received(nodes[i], 0, "ROLE", NULL) > 0);
    for (unsigned i = 0; i < 50; i++)
        try_read(scene);
    assert_int_equal(reads_at(ONE) + reads_at(OTHER), 0);
}

static void one_that_says_it_is_a_primary(void **state)
{
    check_never_read(*state, PRIMARY, "+OK\r\n");
}

static void one_without_its_primary(void **state)
{
    check_never_read(*state, UNLINKED, "+OK\r\n");
}

static void one_that_refuses_readonly(void **state)
{
    check_never_read(*state, LINKED, "-NOPERM User has no permissions\r\n");
}

/* ---- errors ---- */

static void check_refusal(scene_t *scene, const char *error, bool goes_elsewhere)
{
    size_t at_primary, tried;
    uint64_t since_us;

    open_reading(scene);
    at_primary = reads_at(0);
    since_us = waiting_now_us();
    answer(ONE, "GET", error);
    for (unsigned i = 0; i < 50; i++)
        try_read(scene);
    if (goes_elsewhere)
        assert_int_equal(reads_at(0), at_primary);
    answer(OTHER, "GET", error);
    WAIT_FOR(try_read(scene) && reads_at(0) > at_primary);
    tried = reads_at(ONE) + reads_at(OTHER);
    for (unsigned i = 0; i < 20; i++)
        try_read(scene);
    if (goes_elsewhere) /* one that has refused is tried once a second */
        assert_true(reads_at(ONE) + reads_at(OTHER) - tried <=
                    2 * ((waiting_now_us() - since_us) / 1000000));
    assert_int_equal(scene_idle_stats(scene).error_replies, 0);
}

static void one_that_loads(void **state)
{
    check_refusal(*state, "-LOADING Redis is loading the dataset in memory\r\n", true);
}

static void one_whose_primary_is_down(void **state)
{
    check_refusal(*state, "-MASTERDOWN Link with MASTER is down\r\n", true);
}

static void one_that_says_moved(void **state)
{
    scene_t *scene = *state;

    check_refusal(scene, redirect_to("MOVED", SLOT, ONE), false);
    /* The map is what it was. */
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(executed(0, "SET"), 1);
    assert_int_equal(scene_idle_stats(scene).moved, 0);
}

static void one_that_says_ask(void **state)
{
    scene_t *scene = *state;

    check_refusal(scene, redirect_to("ASK", SLOT, ONE), false);
    for (size_t i = 0; i < NODES; i++)
        assert_int_equal(fake_server_received(nodes[i], 0, "ASKING", NULL), 0);
}

static void one_that_says_tryagain(void **state)
{
    check_refusal(*state, "-TRYAGAIN Multiple keys request during rehashing\r\n",
                  false);
}

static void one_for_which_the_cluster_is_down(void **state)
{
    check_refusal(*state, "-CLUSTERDOWN The cluster is down\r\n", false);
}

static void an_error_of_the_command_is_its_result(void **state)
{
    scene_t *scene = *state;
    outcome_t outcome;

    open_reading(scene);
    answer(ONE, "GET", "-WRONGTYPE no string\r\n");
    answer(OTHER, "GET", "-WRONGTYPE no string\r\n");
    outcome = scene_call(scene, WORDS("GET", KEY), NULL);
    scene_check_error(&outcome, "WRONGTYPE");
}

static void what_makes_no_sense_is_refused(void **state)
{
    scene_t *scene = *state;
    shoal_error_t error = {.size = sizeof error};
    shoal_client_t *client;

    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_CLUSTER),
                     0);
    read_from(scene, SHOAL_READ_REPLICA);
    assert_int_equal(shoal_client_open(scene->options, &client, &error), SHOAL_EINVAL);
    read_from(scene, SHOAL_READ_REPLICA_PREFERRED);
    read_from(scene, SHOAL_READ_ZONE);
    assert_int_equal(shoal_client_open(scene->options, &client, &error), SHOAL_EINVAL);
    read_from(scene, SHOAL_READ_REPLICA_PREFERRED);
    assert_int_equal(shoal_options_add_replica(scene->options, "127.0.0.1", 1), 0);
    assert_int_equal(shoal_client_open(scene->options, &client, &error), SHOAL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_reads_go_there),
        TEST(a_primary_alone_is_read_by_default),
        TEST(a_call_asks_for_a_replica),
        TEST(the_parts_of_a_command_are_reads),
        TEST(readonly_comes_before_the_first_read),
        TEST(one_that_says_it_is_a_primary),
        TEST(one_without_its_primary),
        TEST(one_that_refuses_readonly),
        TEST(one_that_loads),
        TEST(one_whose_primary_is_down),
        TEST(one_that_says_moved),
        TEST(one_that_says_ask),
        TEST(one_that_says_tryagain),
        TEST(one_for_which_the_cluster_is_down),
        TEST(an_error_of_the_command_is_its_result),
        TEST(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
