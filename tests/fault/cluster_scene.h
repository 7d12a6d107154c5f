/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_CLUSTER_SCENE_H
#define SHOAL_TESTS_CLUSTER_SCENE_H

/* Nodes of a cluster that the test plays, and a client of it. */

#include "support/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define NODES 3
#define TEXT_BYTES 1200
#define TEXTS_MAX 32

#define KEY "foo" /* slot 12182 */
#define SLOT "12182"

static fake_server_t *nodes[NODES];
static char texts[TEXTS_MAX][TEXT_BYTES];
static size_t texts_count;

static inline int tear_down(void **state)
{
    int rc = scene_teardown(state);

    for (size_t i = 0; i < NODES; i++) {
        fake_server_stop(nodes[i]);
        nodes[i] = NULL;
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

/* ---- views ---- */

/* What a node says: all slots belong to one node, which has this configuration epoch; other
 * nodes own none, and are its replicas. */
typedef struct view {
    size_t owner;
    unsigned epoch;
    const char *host; /* of all; NULL: 127.0.0.1; "": null */
    bool is_foreign;  /* nobody has the id that it has elsewhere */
    bool knows_one;   /* it lists the owner alone */
    bool has_failed;  /* the first node, it says */
} view_t;

static inline size_t write_node(char *to, size_t room, const view_t *view, size_t node)
{
    const char *host = view->host ? view->host : "127.0.0.1";
    char text[64];

    snprintf(text, sizeof text, "$%zu\r\n%s", strlen(host), host);
    return (size_t)snprintf(to, room, "*3\r\n%s\r\n:%d\r\n$4\r\n%s%zu\r\n",
                            host[0] ? text : "$-1", fake_server_port(nodes[node]),
                            view->is_foreign ? "for" : "nod", node);
}

static inline size_t write_range(char *to, size_t room, const view_t *view, int first,
                                 int last)
{
    size_t bytes = (size_t)snprintf(to, room, "*%d\r\n:%d\r\n:%d\r\n",
                                    view->knows_one ? 3 : 2 + NODES, first, last);

    bytes += write_node(to + bytes, room - bytes, view, view->owner);
    for (size_t i = 0; i < NODES && !view->knows_one; i++)
        if (i != view->owner)
            bytes += write_node(to + bytes, room - bytes, view, i);
    return bytes;
}

/* In two ranges. */
static inline const char *write_slots(const view_t *view)
{
    char *to = new_text();
    size_t bytes = (size_t)snprintf(to, TEXT_BYTES, "*2\r\n");

    bytes += write_range(to + bytes, TEXT_BYTES - bytes, view, 0, 8191);
    write_range(to + bytes, TEXT_BYTES - bytes, view, 8192, 16383);
    return to;
}

static inline const char *role_of(const view_t *view, size_t node)
{
    if (node == view->owner)
        return "master";
    return node == 0 && view->has_failed ? "slave,fail" : "slave";
}

static inline const char *write_nodes(const view_t *view)
{
    char *to = new_text(), lines[TEXT_BYTES / 2];
    size_t bytes = 0;

    for (size_t i = 0; i < NODES; i++)
        bytes += (size_t)snprintf(lines + bytes, sizeof lines - bytes,
                                  "%s%zu 127.0.0.1:%d@1 %s %s 0 0 %u connected%s\n",
                                  view->is_foreign ? "for" : "nod", i,
                                  fake_server_port(nodes[i]), role_of(view, i),
                                  i == view->owner ? "-" : "nod0", view->epoch,
                                  i == view->owner ? " 0-16383" : "");
    snprintf(to, TEXT_BYTES, "$%zu\r\n%s\r\n", bytes, lines);
    return to;
}

/* From now on the node says this. */
static inline size_t say(size_t node, view_t view)
{
    size_t rule;

    rule = fake_server_rule(nodes[node], &(fake_rule_t){.command = "CLUSTER",
                                                        .argument = "SLOTS",
                                                        .reply = write_slots(&view)});
    fake_server_rule(nodes[node], &(fake_rule_t){.command = "CLUSTER",
                                                 .argument = "NODES",
                                                 .reply = write_nodes(&view)});
    return rule;
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

/* All nodes agree: the first one owns everything. */
static inline void agree(void)
{
    for (size_t i = 0; i < NODES; i++)
        say(i, (view_t){.owner = 0, .epoch = 5});
}

/* "-MOVED 12182 127.0.0.1:port", or with ASK. */
static inline const char *redirect_to(const char *word, const char *slot, size_t node)
{
    char *to = new_text();

    snprintf(to, TEXT_BYTES, "-%s %s 127.0.0.1:%d\r\n", word, slot,
             fake_server_port(nodes[node]));
    return to;
}

static inline size_t executed(size_t node, const char *command)
{
    return fake_server_executed(nodes[node], 0, command, NULL);
}

static inline void check_ok(scene_t *scene, shoal_command_t command)
{
    outcome_t outcome = scene_call(scene, command, NULL);

    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    if (outcome.has_error)
        fail_msg("%s", outcome.error);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
