/* SPDX-License-Identifier: MIT */
/* A cluster, which the test plays, whose nodes get other addresses again and again: a client
 * remembers 1024 at a time, and goes on, while another thread looks at them. */
#include "fault/shard_scene.h"
#include "support/live.h"

#include <pthread.h>
#include <stdatomic.h>

#define ROUNDS 5     /* SHOAL_TEST_SCALE=5: 10 000 addresses */
#define REPLICAS 400 /* each with an address that none had before */
#define KNOWN_MAX 1024
#define TEXT_BYTES 24

static script_node_t many[2 + REPLICAS];
static char ids[REPLICAS][TEXT_BYTES], hosts[REPLICAS][TEXT_BYTES];

/* The first two nodes own a half each; all the others are replicas of the first one. */
static void say_round(unsigned round)
{
    plan();
    for (size_t by = 0; by < 2; by++) {
        for (size_t i = 0; i < 2; i++) {
            many[i] = view[i];
            many[i].is_myself = i == by;
        }
        for (unsigned i = 0; i < REPLICAS; i++) {
            snprintf(ids[i], TEXT_BYTES, "r%u-%u", round, i);
            snprintf(hosts[i], TEXT_BYTES, "127.%u.%u.%u", round + 1, i / 200, i % 200);
            many[2 + i] = (script_node_t){
                .id = ids[i], .host = hosts[i], .port = 7000, .primary = "id0"};
        }
        script_say(nodes[by], many, 2 + REPLICAS);
    }
}

static bool knows_round(const scene_t *scene, unsigned round)
{
    shoal_topology_snapshot_t *topology = look(scene);
    const shoal_node_info_t *node;
    unsigned there = 0;
    char host[TEXT_BYTES];

    snprintf(host, sizeof host, "127.%u.", round + 1);
    assert_true(shoal_topology_nodes_count(topology) <= KNOWN_MAX);
    for (size_t i = 0; (node = shoal_topology_node(topology, i)); i++) {
        bool is_new = strncmp(node->host, host, strlen(host)) == 0;
        there += is_new && node->is_listed && node->role == SHOAL_NODE_REPLICA &&
                 node->primary == shoal_topology_owner(topology, 0);
    }
    assert_int_equal(shoal_topology_owner(topology, 0)->port,
                     fake_server_port(nodes[0]));
    assert_int_equal(shoal_topology_owner(topology, SLOT)->port,
                     fake_server_port(nodes[1]));
    shoal_topology_release(topology);
    return there == REPLICAS;
}

/* A node refuses a command for a moment: the client asks for a view. */
static void ask_for_a_view(scene_t *scene)
{
    fake_server_rule(nodes[1],
                     &(fake_rule_t){.command = "SET",
                                    .times = 1,
                                    .reply = "-CLUSTERDOWN The cluster is down\r\n"});
    check_ok(scene, WORDS("SET", KEY, "1"));
}

/* Another thread looks at all that threads may look at. */
typedef struct watcher {
    pthread_t thread;
    const scene_t *scene;
    atomic_bool is_over;
    unsigned nameless, failures;
} watcher_t;

static void *watch(void *data)
{
    watcher_t *watcher = data;
    shoal_client_t *client = watcher->scene->client;

    while (!atomic_load(&watcher->is_over)) {
        shoal_topology_snapshot_t *topology;
        watcher->failures += shoal_topology_get(client, &topology) < 0;
        shoal_topology_release(topology);
        for (uint64_t id = 1; id < 300; id += 7) {
            shoal_connection_info_t info = SHOAL_CONNECTION_INFO_INIT;
            if (shoal_connection_get(client, id, &info) == 0)
                watcher->nameless += info.server[0] == '\0';
        }
    }
    return NULL;
}

static void addresses_change_for_years(void **state)
{
    scene_t *scene = *state;
    watcher_t watcher = {.scene = scene};

    say_round(0);
    open_cluster(scene, 0);
    check_ok(scene, WORDS("SET", KEY, "1"));
    assert_int_equal(pthread_create(&watcher.thread, NULL, watch, &watcher), 0);
    for (unsigned round = 1; round < live_scaled(ROUNDS); round++) {
        say_round(round);
        ask_for_a_view(scene);
        WAIT_FOR(knows_round(scene, round));
        check_ok(scene,
                 WORDS("SET", KEY, "1")); /* the turns after it forget none of them */
        check_ok(scene, WORDS("SET", KEY, "1"));
        assert_true(knows_round(scene, round));
    }
    atomic_store(&watcher.is_over, true);
    pthread_join(watcher.thread, NULL);
    assert_int_equal(watcher.nameless, 0);
    assert_int_equal(watcher.failures, 0);
    check_ok(scene, WORDS("SET", "bar", "1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(addresses_change_for_years),
    };
    return cmocka_run_group_tests_name("fault/cluster_forgets", tests, NULL, NULL);
}
