/* SPDX-License-Identifier: MIT */
/* Reads at the replicas of a cluster, which are lost, stopped, promoted, and far away. */
#include "reads_scene.h"

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

static void check_all(const outcome_t *outcomes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
}

static void lose(size_t node)
{
    fake_server_refuse(nodes[node], true);
    fake_server_cut(nodes[node], FAKE_CUT_RESET);
}

static void await_return(scene_t *scene, size_t node)
{
    script(node, LINKED);
    fake_server_release(nodes[node]);
    fake_server_refuse(nodes[node], false);
    await_reads(scene, node);
}

#define READS_MAX 5000

/* Reads until the replica ONE has some, which it does not answer, and a batch of more; returns
 * how many.  The other one answers all the time: both would be taken for silent on a machine
 * that stands still. */
static size_t hold_reads_at_one(scene_t *scene, outcome_t *outcomes)
{
    size_t count = 0;

    fake_server_hold(nodes[ONE], "GET");
    while (fake_server_received(nodes[ONE], 0, "GET", "bar{" KEY "}") == 0) {
        assert_true(count + BATCH < READS_MAX);
        scene_submit(scene, WORDS("GET", "bar{" KEY "}"), NULL, &outcomes[count++]);
        waiting_sleep_us(1000);
    }
    for (unsigned i = 0; i < BATCH; i++)
        scene_submit(scene, WORDS("GET", "bar{" KEY "}"), NULL, &outcomes[count++]);
    return count;
}

/* Its reads go to the other replica, and not to the primary, unless that replica was silent. */
static void check_loss(scene_t *scene)
{
    outcome_t *outcomes = scene_outcomes(scene, READS_MAX);
    size_t at_primary, count;
    unsigned downs;

    open_reading(scene);
    at_primary = reads_at(0);
    downs = scene_events(scene).nodes_down;
    count = hold_reads_at_one(scene, outcomes);
    lose(ONE);
    check_all(outcomes, count);
    if (scene_events(scene).nodes_down - downs <= 1)
        assert_int_equal(reads_at(0), at_primary);
    await_return(scene, ONE);
}

static void one_that_is_lost(void **state)
{
    check_loss(*state);
}

static void all_are_lost(void **state)
{
    scene_t *scene = *state;
    outcome_t *outcomes = scene_outcomes(scene, BATCH);
    size_t at_primary, first;

    open_reading(scene);
    at_primary = reads_at(0);
    first = hold_reads(scene, outcomes);
    lose(ONE);
    lose(OTHER);
    check_all(outcomes, BATCH);
    assert_true(reads_at(0) > at_primary);
    await_return(scene, first);
}

static void one_that_is_lost_and_nothing_may_wait(void **state)
{
    scene_t *scene = *state;

    assert_int_equal(shoal_options_set_offline_mode(scene->options, SHOAL_OFFLINE_FAIL),
                     0);
    check_loss(scene);
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
    check_all(outcomes, BATCH);
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

/* Did READWRITE come to the node right before this command, the last one of its name? */
static bool is_behind_readwrite(size_t node, const char *name)
{
    size_t count = fake_server_ledger_size(nodes[node]);
    bool is_readwrite = false, found = false;

    for (size_t i = 0; i < count; i++) {
        fake_entry_t entry = fake_server_ledger_at(nodes[node], i);
        if (strncmp(entry.args[0], "READ", 4) == 0)
            is_readwrite = strcmp(entry.args[0], "READWRITE") == 0;
        if (strcmp(entry.args[0], name) == 0)
            found = is_readwrite;
    }
    return found;
}

/* ... so that a replica redirects it that has not taken the slot yet. */
static void one_that_is_asked(void **state)
{
    scene_t *scene = *state;

    open_reading(scene);
    answer(ONE, "ASKING", "+OK\r\n");
    answer(0, "SET", redirect_to("ASK", SLOT, ONE));
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(executed(ONE, "SET"), 1);
    assert_true(is_behind_readwrite(ONE, "ASKING"));
    await_reads(scene, ONE);
}

/* It will not answer reads if it becomes a replica again. */
static void one_that_is_promoted(void **state)
{
    scene_t *scene = *state;

    open_reading(scene);
    for (size_t i = 0; i < NODES; i++)
        script_as(i, (view_t){.owner = ONE, .epoch = 6}, i == ONE ? PRIMARY : LINKED,
                  "+OK\r\n");
    answer(0, "SET", redirect_to("MOVED", SLOT, ONE));
    answer(0, "GET", redirect_to("MOVED", SLOT, ONE));
    check_ok(scene, WORDS("SET", KEY, "1"));
    WAIT_FOR(executed(ONE, "SET") == 1);
    assert_true(is_behind_readwrite(ONE, "SET"));
    for (unsigned i = 0; i < 50; i++)
        try_read(scene);
    await_reads(scene, OTHER);
}

static bool is_listed(const scene_t *scene, size_t node)
{
    shoal_topology_snapshot_t *topology;
    const shoal_node_info_t *at;
    bool found = false;

    assert_int_equal(shoal_topology_get(scene->client, &topology), 0);
    for (size_t i = 0; (at = shoal_topology_node(topology, i)); i++)
        found = found || (at->port == fake_server_port(nodes[node]) && at->is_listed);
    shoal_topology_release(topology);
    return found;
}

/* No replica reads; `knows_one`: all but ONE list the owner alone. */
static void say_nobody_reads(bool knows_one)
{
    for (size_t i = 0; i < NODES; i++) {
        script_as(i,
                  (view_t){.owner = 0, .epoch = 5, .knows_one = knows_one && i != ONE},
                  i == 0 ? PRIMARY : UNLINKED, "+OK\r\n");
        answer(i, "GET", i == 0 ? "$1\r\nv\r\n" : redirect_to("MOVED", SLOT, 0));
    }
}

/* Nobody asks it any more, and the loop sleeps. */
static void one_that_leaves(void **state)
{
    scene_t *scene = *state;
    size_t roles;
    uint64_t before;

    open_reading(scene);
    roles = fake_server_received(nodes[ONE], 0, "ROLE", NULL);
    say_nobody_reads(false);
    /* It has no link: it would be asked soon. */
    fake_server_cut(nodes[ONE], FAKE_CUT_RESET);
    WAIT_FOR(try_read(scene) &&
             fake_server_received(nodes[ONE], 0, "ROLE", NULL) > roles);
    say_nobody_reads(true);
    WAIT_FOR(try_read(scene) && !is_listed(scene, ONE));
    waiting_sleep_us(300000);
    before = scene_stats(scene).turns;
    waiting_sleep_us(400000);
    assert_true(scene_stats(scene).turns - before < 100);
}

/* Its primary has not heard yet how much it has copied, and names the owner alone to those who
 * ask for slots: the client asks again before its minute is over. */
static void one_that_joins_is_known_soon(void **state)
{
    scene_t *scene = *state;

    for (size_t i = 0; i < NODES; i++)
        script_as(i, (view_t){.owner = 0, .epoch = 5, .knows_one = true},
                  i == 0 ? PRIMARY : LINKED, "+OK\r\n");
    open_cluster(scene, 0);
    WAIT_FOR(is_listed(scene, 0));
    assert_false(is_listed(scene, ONE));
    for (size_t i = 0; i < NODES; i++)
        script(i, i == 0 ? PRIMARY : LINKED);
    WAIT_FOR(is_listed(scene, ONE) && is_listed(scene, OTHER));
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
    uint64_t until_us = waiting_now_us() + 150000;

    while (waiting_now_us() < until_us) {
        try_read(scene);
        waiting_sleep_us(1000);
    }
}

/* No node is taken for silent meanwhile: on a machine that stands still it is tried again. */
static void read_quietly(scene_t *scene, size_t before[NODES])
{
    unsigned downs;

    do {
        downs = scene_events(scene).nodes_down;
        for (size_t i = 0; i < NODES; i++)
            before[i] = reads_at(i);
        read_for_a_while(scene);
    } while (scene_events(scene).nodes_down != downs);
}

/* Wait until the node alone reads, and see that it goes on so. */
static void check_alone(scene_t *scene, size_t node)
{
    size_t before[NODES];

    for (unsigned quiet = 0; quiet < 100;) {
        before[node] = reads_at(node);
        try_read(scene);
        waiting_sleep_us(1000);
        quiet = reads_at(node) > before[node] ? quiet + 1 : 0;
    }
    read_quietly(scene, before);
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

    open_zones(scene, SHOAL_READ_ZONE_OR_PRIMARY, zones);
    check_alone(scene, OTHER);
    fake_server_refuse(nodes[OTHER], true);
    fake_server_cut(nodes[OTHER], FAKE_CUT_RESET);
    check_alone(scene, 0);
}

static void a_primary_elsewhere_comes_last(void **state)
{
    scene_t *scene = *state;
    static const char *const zones[NODES] = {"b", "b", "c"};
    size_t before[NODES];

    open_zones(scene, SHOAL_READ_ZONE_OR_PRIMARY, zones);
    await_reads(scene, ONE);
    await_reads(scene, OTHER);
    read_quietly(scene, before);
    assert_int_equal(reads_at(0), before[0]);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_that_is_lost),
        TEST(all_are_lost),
        TEST(one_that_is_lost_and_nothing_may_wait),
        TEST(one_that_is_stopped),
        TEST(reads_go_on_without_the_primary),
        TEST(one_that_is_asked),
        TEST(one_that_is_promoted),
        TEST(one_that_leaves),
        TEST(one_that_joins_is_known_soon),
        TEST(a_replica_in_the_zone_comes_first),
        TEST(the_primary_in_the_zone_comes_second),
        TEST(a_primary_elsewhere_comes_last),
        TEST(servers_without_zones_are_all_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
