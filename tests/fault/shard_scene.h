/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SHARD_SCENE_H
#define SHOAL_TESTS_SHARD_SCENE_H

/* Two shards of a cluster that the test plays, each with a replica, and a client of it. */

#include "support/cluster_script.h"
#include "support/scene.h"

#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define NODES 4

#define KEY "foo"
#define SLOT 12182

static fake_server_t *nodes[NODES];
static script_node_t view[NODES];

/* Nodes 0 and 1 own a half each; 2 is a replica of 0, and 3 of 1. */
static inline void plan(void)
{
    static const char *const ids[NODES] = {"id0", "id1", "id2", "id3"};

    for (size_t i = 0; i < NODES; i++)
        view[i] = (script_node_t){.id = ids[i],
                                  .port = fake_server_port(nodes[i]),
                                  .primary = i < 2 ? NULL : ids[i - 2],
                                  .first = i == 1 ? 8192 : 0,
                                  .last = i == 0 ? 8191 : 16383,
                                  .epoch = 5};
}

static inline void say(size_t by)
{
    for (size_t i = 0; i < NODES; i++)
        view[i].is_myself = i == by;
    script_say(nodes[by], view, NODES);
}

/* All nodes have this view. */
static inline void agree(void)
{
    for (size_t i = 0; i < NODES; i++)
        say(i);
}

/* All but this node have the view, and none of them lists it. */
static inline void agree_without(size_t gone)
{
    script_node_t left[NODES - 1];

    for (size_t by = 0; by < NODES; by++) {
        size_t count = 0;
        for (size_t i = 0; i < NODES; i++) {
            view[i].is_myself = i == by;
            if (i != gone)
                left[count++] = view[i];
        }
        if (by != gone)
            script_say(nodes[by], left, count);
    }
}

static inline int tear_down(void **state)
{
    int rc = scene_teardown(state);

    for (size_t i = 0; i < NODES; i++) {
        fake_server_stop(nodes[i]);
        nodes[i] = NULL;
    }
    script_forget();
    return rc;
}

static inline int set_up(void **state)
{
    for (size_t i = 0; i < NODES; i++)
        nodes[i] = fake_server_start(NULL);
    plan();
    return scene_setup(state);
}

static inline void open_cluster(scene_t *scene, size_t seed)
{
    assert_int_equal(shoal_options_set_address(scene->options, "127.0.0.1",
                                               fake_server_port(nodes[seed])),
                     0);
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_CLUSTER),
                     0);
    scene_open(scene);
}

static inline void check_ok(scene_t *scene, shoal_command_t command)
{
    outcome_t outcome = scene_call(scene, command, NULL);

    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    if (outcome.has_error)
        fail_msg("%s", outcome.error);
}

static inline shoal_topology_snapshot_t *look(const scene_t *scene)
{
    shoal_topology_snapshot_t *topology;

    assert_int_equal(shoal_topology_get(scene->client, &topology), 0);
    return topology;
}

/* By its port; NULL: none. */
static inline const shoal_node_info_t *find(const shoal_topology_snapshot_t *topology,
                                            size_t node)
{
    const shoal_node_info_t *found = NULL, *at;

    for (size_t i = 0; (at = shoal_topology_node(topology, i)); i++)
        if (at->port == fake_server_port(nodes[node])) {
            assert_null(found);
            found = at;
        }
    return found;
}

static inline bool is_down(const scene_t *scene, size_t node)
{
    shoal_topology_snapshot_t *topology = look(scene);
    bool down = find(topology, node)->is_down;

    shoal_topology_release(topology);
    return down;
}

static inline shoal_node_role_t role_of(const scene_t *scene, size_t node)
{
    shoal_topology_snapshot_t *topology = look(scene);
    const shoal_node_info_t *found = find(topology, node);
    shoal_node_role_t role = found ? found->role : SHOAL_NODE_UNKNOWN;

    shoal_topology_release(topology);
    return role;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
