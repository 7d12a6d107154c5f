/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_READS_SCENE_H
#define SHOAL_TESTS_READS_SCENE_H

/* A shard with a primary and two replicas that the test plays, and a client that reads there. */

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

static inline void answer(size_t node, const char *command, const char *reply)
{
    fake_server_rule(nodes[node], &(fake_rule_t){.command = command, .reply = reply});
}

/* From now on the node says this, and executes the rest. */
static inline void script_as(size_t node, view_t view, const char *role,
                             const char *readonly)
{
    fake_server_prepare_rules(nodes[node]);
    say(node, view);
    answer(node, "ROLE", role);
    answer(node, "READONLY", readonly);
    answer(node, "READWRITE", "+OK\r\n");
    fake_server_forget_rules(nodes[node]);
}

static inline void script(size_t node, const char *role)
{
    script_as(node, (view_t){.owner = 0, .epoch = 5}, role, "+OK\r\n");
}

static inline size_t reads_at(size_t node)
{
    return fake_server_received(nodes[node], 0, "GET", NULL);
}

static inline bool try_read(scene_t *scene)
{
    outcome_t outcome = scene_call(scene, WORDS("GET", KEY), NULL);

    if (outcome.status < 0 || outcome.has_error)
        fail_msg("%d: %s%s", outcome.status, outcome.detail, outcome.error);
    return true;
}

static inline void await_reads(scene_t *scene, size_t node)
{
    size_t before = reads_at(node);

    WAIT_FOR(try_read(scene) && reads_at(node) > before);
}

static inline void read_from(scene_t *scene, shoal_read_from_t from)
{
    assert_int_equal(shoal_options_set_read_from(scene->options, from), 0);
}

/* Both replicas work. */
static inline void open_reading(scene_t *scene)
{
    script(0, PRIMARY);
    script(ONE, LINKED);
    script(OTHER, LINKED);
    read_from(scene, SHOAL_READ_REPLICA_PREFERRED);
    open_cluster(scene, 0);
    await_reads(scene, ONE);
    await_reads(scene, OTHER);
}

#endif
