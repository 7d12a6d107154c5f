/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_CLUSTER_LEASE_SCENE_H
#define SHOAL_TESTS_CLUSTER_LEASE_SCENE_H

/* Two nodes of a cluster that the test plays, each of which owns half of the slots, and a client
 * of it that has connections of its own. */

#include "support/lease_scene.h"

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

static inline int tear_down(void **state)
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

static inline int set_up(void **state)
{
    for (size_t i = 0; i < NODES; i++)
        nodes[i] = fake_server_start(NULL);
    return scene_setup(state);
}

/* Texts of rules outlive the servers. */
static inline char *new_text(void)
{
    assert_true(texts_count < TEXTS_MAX);
    return texts[texts_count++];
}

/* "-MOVED 5061 127.0.0.1:port", or with ASK. */
static inline const char *redirect_to(const char *word, size_t node)
{
    char *to = new_text();

    snprintf(to, TEXT_BYTES, "-%s " LOW_SLOT " 127.0.0.1:%d\r\n", word,
             fake_server_port(nodes[node]));
    return to;
}

/* From now on the node says that the lower half of the slots belongs to this one. */
static inline void say(size_t node, size_t low, unsigned epoch)
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

static inline void answer(size_t node, const char *command, const char *reply)
{
    fake_server_rule(nodes[node], &(fake_rule_t){.command = command, .reply = reply});
}

static inline void answer_once(size_t node, const char *command, const char *reply)
{
    fake_server_rule(nodes[node],
                     &(fake_rule_t){.command = command, .times = 1, .reply = reply});
}

/* The command gets no answer, or this one when the node is released. */
static inline void hold(size_t node, const char *command, const char *reply)
{
    fake_server_rule(nodes[node], &(fake_rule_t){.command = command,
                                                 .reply = reply,
                                                 .times = 1,
                                                 .is_cut = true,
                                                 .then = FAKE_HOLD});
}

static inline void answer_unblock(size_t node)
{
    fake_server_rule(
        nodes[node],
        &(fake_rule_t){.command = "CLIENT", .argument = "UNBLOCK", .reply = ":1\r\n"});
}

static inline size_t received(size_t node, const char *command, const char *argument)
{
    return fake_server_received(nodes[node], 0, command, argument);
}

/* Open a client that both nodes have answered. */
static inline void open_cluster(scene_t *scene)
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

static inline void expect_popped(const outcome_t *outcome)
{
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    if (outcome->type != SHOAL_REPLY_ARRAY)
        fail_msg("%s", outcome->error);
}

static inline outcome_t *pop(scene_t *scene, const char *key, uint64_t timeout_us,
                             uint64_t *ret_ticket)
{
    outcome_t *outcome = scene_outcomes(scene, 1);

    lease_scene_submit(scene, NULL, WORDS("BLPOP", key, "0"), timeout_us, outcome,
                       ret_ticket);
    return outcome;
}

static inline void lose(size_t node)
{
    fake_server_refuse(nodes[node], true);
    fake_server_cut(nodes[node], FAKE_CUT_RESET);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
