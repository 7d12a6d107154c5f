/* SPDX-License-Identifier: MIT */
/* Reads at the replicas of a cluster: which commands go there, and where they go when a
 * replica refuses them, is lost, or is promoted. */
#include "cluster_scene.h"

#include <shoal/errors.h>

#define LINKED                                                                         \
    "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:6379\r\n$9\r\nconnected\r\n:0\r\n"
#define UNLINKED                                                                       \
    "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:6379\r\n$7\r\nconnect\r\n:-1\r\n"
#define PRIMARY "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"

/* Node 0 is the primary; these are its replicas. */
#define ONE 1
#define OTHER 2

static void answer(size_t node, const char *command, const char *reply)
{
    fake_server_rule(nodes[node], &(fake_rule_t){.command = command, .reply = reply});
}

/* From now on the node says this, and executes the rest. */
static void script_as(size_t node, view_t view, const char *role, const char *readonly)
{
    fake_server_forget_rules(nodes[node]);
    say(node, view);
    answer(node, "ROLE", role);
    answer(node, "READONLY", readonly);
    answer(node, "READWRITE", "+OK\r\n");
}

static void script(size_t node, const char *role)
{
    script_as(node, (view_t){.owner = 0, .epoch = 5}, role, "+OK\r\n");
}

static size_t reads_at(size_t node)
{
    return fake_server_received(nodes[node], 0, "GET", NULL);
}

static bool try_read(scene_t *scene)
{
    outcome_t outcome = scene_call(scene, WORDS("GET", KEY), NULL);

    if (outcome.status < 0 || outcome.has_error)
        fail_msg("%d: %s%s", outcome.status, outcome.detail, outcome.error);
    return true;
}

static void await_reads(scene_t *scene, size_t node)
{
    size_t before = reads_at(node);

    WAIT_FOR(try_read(scene) && reads_at(node) > before);
}

static void read_from(scene_t *scene, shoal_read_from_t from)
{
    assert_int_equal(shoal_options_set_read_from(scene->options, from), 0);
}

/* Both replicas work. */
static void open_reading(scene_t *scene)
{
    script(0, PRIMARY);
    script(ONE, LINKED);
    script(OTHER, LINKED);
    read_from(scene, SHOAL_READ_REPLICA_PREFERRED);
    open_cluster(scene, 0);
    await_reads(scene, ONE);
    await_reads(scene, OTHER);
}

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

static void check_never_read(scene_t *scene, const char *role, const char *readonly)
{
    script(0, PRIMARY);
    script_as(ONE, (view_t){.owner = 0, .epoch = 5}, role, readonly);
    script(OTHER, LINKED);
    read_from(scene, SHOAL_READ_REPLICA_PREFERRED);
    open_cluster(scene, 0);
    await_reads(scene, OTHER);
    WAIT_FOR(fake_server_received(nodes[ONE], 0, "ROLE", NULL) > 0);
    for (unsigned i = 0; i < 50; i++)
        try_read(scene);
    assert_int_equal(reads_at(ONE), 0);
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

    open_reading(scene);
    at_primary = reads_at(0);
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
    if (goes_elsewhere) /* both refused within the last second */
        assert_int_equal(reads_at(ONE) + reads_at(OTHER), tried);
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

/* ---- losses ---- */

#define BATCH 200

/* Reads that one replica has, and does not answer. */
static size_t hold_reads(scene_t *scene, outcome_t *outcomes)
{
    for (size_t node = ONE; node <= OTHER; node++)
        fake_server_hold(nodes[node], "GET");
    for (unsigned i = 0; i < BATCH; i++)
        scene_submit(scene, WORDS("GET", "bar{" KEY "}"), NULL, &outcomes[i]);
    WAIT_FOR(fake_server_received(nodes[ONE], 0, "GET", "bar{" KEY "}") +
                 fake_server_received(nodes[OTHER], 0, "GET", "bar{" KEY "}") >
             0);
    return fake_server_received(nodes[ONE], 0, "GET", "bar{" KEY "}") > 0 ? ONE : OTHER;
}

static void check_all(const outcome_t *outcomes)
{
    for (unsigned i = 0; i < BATCH; i++)
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
}

static void check_loss(scene_t *scene, bool are_both)
{
    outcome_t *outcomes = scene_outcomes(scene, BATCH);
    size_t lost, left, at_primary;

    open_reading(scene);
    at_primary = reads_at(0);
    lost = hold_reads(scene, outcomes);
    left = ONE + OTHER - lost;
    if (!are_both) {
        script(left, LINKED);
        fake_server_release(nodes[left]);
    }
    for (size_t node = ONE; node <= OTHER; node++)
        if (node == lost || are_both) {
            fake_server_refuse(nodes[node], true);
            fake_server_cut(nodes[node], FAKE_CUT_RESET);
        }
    check_all(outcomes);
    if (are_both)
        assert_true(reads_at(0) > at_primary);
    else
        assert_int_equal(reads_at(0), at_primary);
    script(lost, LINKED);
    fake_server_release(nodes[lost]);
    fake_server_refuse(nodes[lost], false);
    await_reads(scene, lost);
}

static void one_that_is_lost(void **state)
{
    check_loss(*state, false);
}

static void all_are_lost(void **state)
{
    check_loss(*state, true);
}

static void one_that_is_lost_and_nothing_may_wait(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_offline_mode(scene->options, SHOAL_OFFLINE_FAIL),
                     0);
    check_loss(scene, false);
}

/* It is silent, and the cluster says that it has failed. */
static void one_that_is_stopped(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, BATCH);
    size_t silent, left;

    open_reading(scene);
    silent = hold_reads(scene, outcomes);
    left = ONE + OTHER - silent;
    script(left, LINKED);
    fake_server_release(nodes[left]);
    check_all(outcomes);
    assert_true(fake_server_received(nodes[silent], 0, "GET", "bar{" KEY "}") > 0);
    assert_true(scene_events(scene).nodes_down > 0);
}

static void reads_go_on_without_the_primary(void **state)
{
    scene_t *scene = *state;

    open_reading(scene);
    fake_server_refuse(nodes[0], true);
    fake_server_cut(nodes[0], FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).lost > 0);
    for (unsigned i = 0; i < 50; i++)
        try_read(scene);
}

/* ---- roles ---- */

/* READWRITE goes ahead: it will not answer reads if it becomes a replica again. */
static void one_that_is_promoted(void **state)
{
    scene_t *scene = *state;
    size_t count, last = 0, write = 0;

    open_reading(scene);
    for (size_t i = 0; i < NODES; i++)
        script_as(i, (view_t){.owner = ONE, .epoch = 6}, i == ONE ? PRIMARY : LINKED,
                  "+OK\r\n");
    answer(0, "SET", redirect_to("MOVED", SLOT, ONE));
    answer(0, "GET", redirect_to("MOVED", SLOT, ONE));
    check_ok(scene, WORDS("SET", KEY, "1"));
    WAIT_FOR(executed(ONE, "SET") == 1);
    count = fake_server_ledger_size(nodes[ONE]);
    for (size_t i = 0; i < count; i++) {
        fake_entry_t entry = fake_server_ledger_at(nodes[ONE], i);
        if (strcmp(entry.args[0], "READWRITE") == 0)
            last = i;
        if (strcmp(entry.args[0], "SET") == 0)
            write = i;
    }
    assert_true(last > 0 && last < write);
    for (unsigned i = 0; i < 50; i++)
        try_read(scene);
    await_reads(scene, OTHER);
}

/* ---- zones ---- */

/* The node says that it is in this zone; NULL: it does not say. */
static void say_zone(size_t node, const char *zone)
{
    char *text = new_text(), info[80];

    snprintf(info, sizeof info, "# Server\r\n%s%s\r\n",
             zone ? "availability_zone:" : "port:1", zone ? zone : "");
    snprintf(text, TEXT_BYTES, "$%zu\r\n%s\r\n", strlen(info), info);
    answer(node, "INFO", text);
}

/* The client is in zone a. */
static void open_zones(scene_t *scene, shoal_read_from_t from, const char *const *zones)
{
    for (size_t i = 0; i < NODES; i++) {
        script(i, i == 0 ? PRIMARY : LINKED);
        say_zone(i, zones[i]);
    }
    read_from(scene, from);
    assert_int_equal(shoal_options_set_zone(scene->options, "a"), 0);
    open_cluster(scene, 0);
}

/* A choice is kept for 50 ms. */
static void read_for_a_while(scene_t *scene)
{
    uint64_t until_us = waiting_now_us() + 300000;

    while (waiting_now_us() < until_us) {
        try_read(scene);
        waiting_sleep_us(1000);
    }
}

/* Wait until the node alone reads, and see that it goes on so. */
static void check_alone(scene_t *scene, size_t node)
{
    size_t before[NODES];

    for (unsigned quiet = 0; quiet < 100;) {
        for (size_t i = 0; i < NODES; i++)
            before[i] = reads_at(i);
        try_read(scene);
        waiting_sleep_us(1000);
        quiet = reads_at(node) > before[node] ? quiet + 1 : 0;
    }
    for (size_t i = 0; i < NODES; i++)
        before[i] = reads_at(i);
    read_for_a_while(scene);
    for (size_t i = 0; i < NODES; i++)
        if (i != node)
            assert_int_equal(reads_at(i), before[i]);
}

static void a_replica_in_the_zone_comes_first(void **state)
{
    scene_t *scene = *state;
    static const char *const zones[NODES] = {"a", "b", "a"};

    open_zones(scene, SHOAL_READ_ZONE, zones);
    check_alone(scene, OTHER);
    /* Another replica comes before the primary, even if that is in the zone. */
    answer(OTHER, "GET", "-LOADING Redis is loading the dataset in memory\r\n");
    await_reads(scene, ONE);
    assert_int_equal(scene_events(scene).zones_unknown, 0);
}

static void the_primary_in_the_zone_comes_second(void **state)
{
    scene_t *scene = *state;
    static const char *const zones[NODES] = {"a", "b", "a"};
    size_t elsewhere;

    open_zones(scene, SHOAL_READ_ZONE_OR_PRIMARY, zones);
    check_alone(scene, OTHER);
    fake_server_refuse(nodes[OTHER], true);
    fake_server_cut(nodes[OTHER], FAKE_CUT_RESET);
    await_reads(scene, 0);
    elsewhere = reads_at(ONE);
    read_for_a_while(scene);
    assert_int_equal(reads_at(ONE), elsewhere);
}

static void a_primary_elsewhere_comes_last(void **state)
{
    scene_t *scene = *state;
    static const char *const zones[NODES] = {"b", "b", "c"};
    size_t at_primary;

    open_zones(scene, SHOAL_READ_ZONE_OR_PRIMARY, zones);
    await_reads(scene, ONE);
    await_reads(scene, OTHER);
    at_primary = reads_at(0);
    read_for_a_while(scene);
    assert_int_equal(reads_at(0), at_primary);
}

static void servers_without_zones_are_all_alike(void **state)
{
    scene_t *scene = *state;
    static const char *const zones[NODES] = {NULL, NULL, NULL};

    open_zones(scene, SHOAL_READ_ZONE, zones);
    await_reads(scene, ONE);
    await_reads(scene, OTHER);
    WAIT_FOR(scene_events(scene).zones_unknown > 0);
    read_for_a_while(scene);
    assert_int_equal(scene_events(scene).zones_unknown, 1);
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
        TEST(one_that_is_lost),
        TEST(all_are_lost),
        TEST(one_that_is_lost_and_nothing_may_wait),
        TEST(one_that_is_stopped),
        TEST(reads_go_on_without_the_primary),
        TEST(one_that_is_promoted),
        TEST(a_replica_in_the_zone_comes_first),
        TEST(the_primary_in_the_zone_comes_second),
        TEST(a_primary_elsewhere_comes_last),
        TEST(servers_without_zones_are_all_alike),
        TEST(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
