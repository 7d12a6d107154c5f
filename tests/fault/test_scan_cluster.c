/* SPDX-License-Identifier: MIT */
/* Scans of a cluster that the test plays: which nodes are scanned, and which again. */
#include "fault/scan_steps.h"
#include "support/cluster_script.h"

#define NODES 3
#define HALF 8192

static fake_server_t *nodes[NODES];
static script_node_t view[NODES];

static int tear_down(void **state)
{
    int rc = scene_teardown(state);

    for (size_t i = 0; i < NODES; i++) {
        fake_server_stop(nodes[i]);
        nodes[i] = NULL;
    }
    script_forget();
    return rc;
}

/* Nodes 0 and 1 own a half each; 2 owns nothing. */
static int set_up(void **state)
{
    static const char *const ids[NODES] = {"id0", "id1", "id2"};

    for (size_t i = 0; i < NODES; i++) {
        nodes[i] = fake_server_start(NULL);
        view[i] = (script_node_t){.id = ids[i],
                                  .port = fake_server_port(nodes[i]),
                                  .first = i == 1 ? HALF : 0,
                                  .last = i == 0 ? HALF - 1 : 16383,
                                  .epoch = 5 + i};
    }
    view[2].first = 1;
    view[2].last = 0;
    return scene_setup(state);
}

static void say_here(size_t by, size_t count)
{
    for (size_t i = 0; i < NODES; i++)
        view[i].is_myself = i == by;
    script_say(nodes[by], view, count);
}

/* Of `count` nodes; all of them know what all have.  Each has one page, with its number. */
static void agree(size_t count)
{
    static const char *const pages[NODES] = {"*2\r\n$1\r\n0\r\n*1\r\n$1\r\n0\r\n",
                                             "*2\r\n$1\r\n0\r\n*1\r\n$1\r\n1\r\n",
                                             "*2\r\n$1\r\n0\r\n*1\r\n$1\r\n2\r\n"};

    for (size_t by = 0; by < NODES; by++) {
        say_here(by, by < count ? count : NODES);
        fake_server_rule(nodes[by],
                         &(fake_rule_t){.command = "SCAN", .reply = pages[by]});
    }
}

static void open_cluster(scene_t *scene, size_t count, size_t seed)
{
    agree(count);
    assert_int_equal(
        shoal_options_set_address(scene->options, "127.0.0.1", view[seed].port), 0);
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_CLUSTER),
                     0);
    scene_open(scene);
    assert_int_equal(shoal_client_wait_ready(scene->client, 30000000), 0);
}

/* Slots 0 .. to - 1 of node 0 are those of node 2; all nodes know. */
static void give_to_third(unsigned to, unsigned long long epoch)
{
    view[0].first = to;
    view[2].first = 0;
    view[2].last = to - 1;
    view[2].epoch = epoch;
    agree(NODES);
}

static void each_primary_is_scanned(void **state)
{
    scene_t *scene = *state;

    open_cluster(scene, NODES, 0);
    shoal_scan_t *scan = new_scan(scene);
    check_next(scan, "0");
    check_next(scan, "1");
    check_over(scan);
    check_over(scan);
    shoal_scan_free(scan);
    assert_int_equal(fake_server_received(nodes[2], 0, "SCAN", NULL), 0);
    walk_t *walk = scene_alloc(scene, sizeof *walk);
    check_walk(scene, walk, "01");
    shoal_scan_free(walk->scan);
}

/* A node that was scanned gets slots: it is scanned again, although the client has not heard of
 * that. */
static void slots_that_moved_are_scanned_again(void **state)
{
    scene_t *scene = *state;

    open_cluster(scene, NODES, 0);
    shoal_scan_t *scan = new_scan(scene);
    check_next(scan, "0");
    view[0].last = 9999;
    view[1].first = 10000; /* the epochs are the same */
    agree(NODES);
    check_next(scan, "1");
    check_next(scan, "0");
    check_over(scan);
    shoal_scan_free(scan);
}

/* They go to a node that the client does not know, unless it happens to ask.  A command for one of
 * them is redirected there. */
static void slots_that_moved_to_an_unknown_node_are_found(void **state)
{
    scene_t *scene = *state;

    open_cluster(scene, 2, 0);
    shoal_scan_t *scan = new_scan(scene);
    check_next(scan, "0");
    give_to_third(4000, 9);
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "EXISTS",
                                              .reply = script_redirect("MOVED", 3999,
                                                                       view[2].port)});
    fake_server_rule(nodes[2], &(fake_rule_t){.command = "EXISTS", .reply = ":0\r\n"});
    check_next(scan, "1");
    check_next(scan, "2");
    check_over(scan);
    shoal_scan_free(scan);
}

/* The others say that node 2 has them; it does not, whether or not the client believes them. */
static void slots_that_nobody_answers_for(void **state)
{
    scene_t *scene = *state;

    open_cluster(scene, 2, 0);
    give_to_third(4000, 9);
    view[2].is_myself = false;
    script_say(nodes[2], view, NODES);
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "EXISTS", .reply = ":0\r\n"});
    fake_server_rule(nodes[2], &(fake_rule_t){.command = "EXISTS", .reply = ":0\r\n"});
    shoal_scan_t *scan = new_scan(scene);
    check_status(scan, 0, SHOAL_ECONN);
    view[0].first = 0;
    view[2].first = 1;
    view[2].last = 0;
    agree(NODES);
    check_next(scan, "0");
    shoal_scan_free(scan);
}

static bool is_known(const scene_t *scene, size_t node)
{
    shoal_topology_snapshot_t *topology;
    const shoal_node_info_t *at;
    bool is_known = false;

    assert_int_equal(shoal_topology_get(scene->client, &topology), 0);
    for (size_t i = 0; (at = shoal_topology_node(topology, i)); i++)
        is_known = is_known || (at->port == view[node].port && at->is_listed);
    shoal_topology_release(topology);
    return is_known;
}

/* In the middle of its scan; the client has learned it. */
static void a_node_that_leaves_is_left(void **state)
{
    scene_t *scene = *state;

    open_cluster(scene, NODES, 1);
    say_here(0, NODES);
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "SCAN", .reply = PAGE_7_A});
    shoal_scan_t *scan = new_scan(scene);
    check_next(scan, "1"); /* the one that the client knew first */
    check_next(scan, "a");
    fake_server_rule(
        nodes[0], &(fake_rule_t){.command = "GET",
                                 .reply = script_redirect("MOVED", 866, view[1].port)});
    view[1].first = 0;
    view[1].epoch = 9;
    view[1].is_myself = true;
    script_say(nodes[1], view + 1, 1);
    fake_server_rule(nodes[1], &(fake_rule_t){.command = "SCAN", .reply = PAGE_0_B});
    outcome_t outcome = scene_call(scene, scene_words("GET", "hello", NULL), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    WAIT_FOR(!is_known(scene, 0));
    check_next(scan, "b");
    check_over(scan);
    shoal_scan_free(scan);
    assert_int_equal(fake_server_received(nodes[0], 0, "SCAN", NULL), 1);
}

static void what_nodes_refuse_to_say(void **state)
{
    scene_t *scene = *state;

    open_cluster(scene, NODES, 0);
    shoal_scan_t *scan = new_scan(scene);
    fake_server_forget_rules(nodes[1]);
    fake_server_rule(nodes[1],
                     &(fake_rule_t){.command = "CLUSTER", .reply = "-NOPERM no\r\n"});
    check_error(scan, "NOPERM no");
    fake_server_forget_rules(nodes[0]);
    fake_server_forget_rules(nodes[1]);
    for (size_t i = 0; i < 2; i++)
        fake_server_rule(nodes[i],
                         &(fake_rule_t){.command = "CLUSTER", .reply = "$1\r\n?\r\n"});
    check_status(scan, 0, SHOAL_ECONN);
    agree(NODES);
    check_next(scan, "0");
    shoal_scan_free(scan);
}

/* A page that needs further commands ends with the next one, when the scan is given back, or when
 * its client is closed. */
static void a_page_that_is_not_wanted_any_more(void **state)
{
    static const int statuses[] = {SHOAL_ECANCELLED, SHOAL_ECLOSED};
    scene_t *scene = *state;

    open_cluster(scene, NODES, 0);
    for (size_t i = 0; i < 2; i++) {
        walk_t *walk = scene_alloc(scene, sizeof *walk);
        walk->scan = new_scan(scene);
        fake_server_freeze(nodes[1]);
        assert_int_equal(shoal_scan_submit(walk->scan, 0, on_page, walk), 0);
        if (i == 1)
            assert_int_equal(shoal_client_close(scene->client, 30000000, NULL, NULL),
                             0);
        else
            shoal_scan_free(walk->scan);
        fake_server_release(nodes[1]);
        WAIT_FOR(walk->ends == 1);
        assert_int_equal(walk->status, statuses[i]);
        assert_int_equal(walk->pages, 1);
        if (i == 1)
            shoal_scan_free(walk->scan);
    }
    shoal_client_release(scene->client);
    scene->client = NULL;
    for (size_t i = 0; i < NODES; i++)
        assert_int_equal(fake_server_received(nodes[i], 0, "SCAN", NULL), 0);
}

/* HSCAN goes by its key; its next owner is another process. */
static void a_key_is_followed(void **state)
{
    scene_t *scene = *state;
    shoal_scan_options_t options = SHOAL_SCAN_OPTIONS_INIT;
    shoal_scan_t *scan;

    open_cluster(scene, NODES, 0);
    fake_server_rule(
        nodes[0], &(fake_rule_t){.command = "INFO", .reply = "$11\r\nrun_id:beef\r\n"});
    fake_server_cut(nodes[0], FAKE_CUT_RESET);
    options.kind = SHOAL_SCAN_HASH;
    options.key = "foo"; /* slot 12182, of node 1 */
    options.key_bytes = 3;
    assert_int_equal(shoal_scan_new(scene->client, &options, &scan), 0);
    fake_server_rule(nodes[1], &(fake_rule_t){.command = "HSCAN", .reply = PAGE_7_A});
    check_next(scan, "a");
    fake_server_forget_rules(nodes[1]);
    fake_server_rule(nodes[1], &(fake_rule_t){.command = "HSCAN",
                                              .reply = script_redirect("MOVED", 12182,
                                                                       view[0].port)});
    fake_server_rule(nodes[0], &(fake_rule_t){.command = "HSCAN", .reply = PAGE_0_B});
    check_next(scan, "b"); /* for the cursor 7, which is none of that node's */
    check_next(scan, "b");
    check_over(scan);
    shoal_scan_free(scan);
}

#define CLUSTER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(each_primary_is_scanned),
        CLUSTER_TEST(slots_that_moved_are_scanned_again),
        CLUSTER_TEST(slots_that_moved_to_an_unknown_node_are_found),
        CLUSTER_TEST(slots_that_nobody_answers_for),
        CLUSTER_TEST(a_node_that_leaves_is_left),
        CLUSTER_TEST(what_nodes_refuse_to_say),
        CLUSTER_TEST(a_page_that_is_not_wanted_any_more),
        CLUSTER_TEST(a_key_is_followed),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("scan_cluster", tests, NULL, NULL);
}
