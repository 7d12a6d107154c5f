/* SPDX-License-Identifier: MIT */
#include "support/cluster_rig.h"

#include "fault_proxy/fake_bytes.h"
#include "support/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES 256

/* ---- asking ---- */

static bool ask(const cluster_rig_t *rig, size_t node, const char *command,
                char answer[ANSWER_BYTES])
{
    const redis_process_t *server = rig->nodes[node].server;

    answer[0] = '\0';
    return server && redis_process_pid(server) > 0 &&
           redis_ask(redis_process_port(server), command, answer, ANSWER_BYTES);
}

void cluster_rig_tell(const cluster_rig_t *rig, size_t node, const char *command,
                      const char *answer)
{
    char said[ANSWER_BYTES];

    assert_true(ask(rig, node, command, said));
    if (strncmp(said, answer, strlen(answer)) != 0)
        fail_msg("%s: want '%s', got '%s'", command, answer, said);
}

static bool runs(const cluster_rig_t *rig, size_t node)
{
    return redis_process_pid(rig->nodes[node].server) > 0;
}

int cluster_rig_port(const cluster_rig_t *rig, size_t node)
{
    return redis_process_port(rig->nodes[node].server);
}

/* ---- starting ---- */

static bool start_node(cluster_node_t *node)
{
    node->bus = loopback_port_claim();
    snprintf(node->bus_text, sizeof node->bus_text, "%d", node->bus.number);
    cluster_node_options(node->arguments, node->bus_text);
    node->server = redis_process_start(node->arguments);
    return node->server && redis_ask(redis_process_port(node->server), "CLUSTER MYID",
                                     node->id, sizeof node->id);
}

cluster_rig_t *cluster_rig_start(void)
{
    cluster_rig_t *rig = fake_must(calloc(1, sizeof *rig));
    cluster_place_t places[CLUSTER_NODES];

    for (size_t i = 0; i < CLUSTER_NODES; i++) {
        if (!start_node(&rig->nodes[i])) {
            cluster_rig_stop(rig);
            return NULL;
        }
        places[i] =
            (cluster_place_t){cluster_rig_port(rig, i), rig->nodes[i].bus.number};
    }
    assert_true(cluster_nodes_join(places, CLUSTER_NODES, CLUSTER_PRIMARIES));
    return rig;
}

void cluster_rig_stop(cluster_rig_t *rig)
{
    if (!rig)
        return;
    for (size_t i = 0; i < CLUSTER_NODES; i++) {
        redis_process_stop(rig->nodes[i].server);
        loopback_port_release(&rig->nodes[i].bus);
    }
    free(rig);
}

shoal_options_t *cluster_rig_options(const cluster_rig_t *rig, size_t seed)
{
    shoal_options_t *options = live_options_of_port(cluster_rig_port(rig, seed));

    assert_int_equal(shoal_options_set_topology(options, SHOAL_TOPOLOGY_CLUSTER), 0);
    return options;
}

/* ---- what the nodes say ---- */

static size_t node_at(const cluster_rig_t *rig, int port)
{
    size_t node = 0;

    while (node < CLUSTER_NODES && cluster_rig_port(rig, node) != port)
        node++;
    return node;
}

size_t cluster_rig_owner(const cluster_rig_t *rig, size_t by, const char *key)
{
    char command[64], answer[ANSWER_BYTES];
    const char *colon;

    snprintf(command, sizeof command, "TYPE %s", key);
    if (!ask(rig, by, command, answer))
        return CLUSTER_NODES;
    if (answer[0] == '+')
        return by;
    colon = strrchr(answer, ':');
    return strncmp(answer, "-MOVED ", 7) == 0 && colon ? node_at(rig, atoi(colon + 1))
                                                       : CLUSTER_NODES;
}

void cluster_rig_await_owner(const cluster_rig_t *rig, const char *key, size_t owner)
{
    for (size_t i = 0; i < CLUSTER_NODES; i++)
        if (runs(rig, i))
            WAIT_FOR(cluster_rig_owner(rig, i, key) == owner);
}

bool cluster_rig_is_primary(const cluster_rig_t *rig, size_t node)
{
    char role[ANSWER_BYTES] = "";

    return runs(rig, node) &&
           redis_ask_line(cluster_rig_port(rig, node), "ROLE", 3, role, sizeof role) &&
           strcmp(role, "master") == 0;
}

void cluster_rig_await_calm(const cluster_rig_t *rig)
{
    for (size_t i = 0; i < CLUSTER_NODES; i++)
        if (runs(rig, i))
            WAIT_FOR(cluster_node_is_calm(cluster_rig_port(rig, i)));
}

/* ---- what people do ---- */

static void set_slot(const cluster_rig_t *rig, size_t node, unsigned slot,
                     const char *how, size_t other)
{
    char command[120];

    snprintf(command, sizeof command, "CLUSTER SETSLOT %u %s %s", slot, how,
             other < CLUSTER_NODES ? rig->nodes[other].id : "");
    cluster_rig_tell(rig, node, command, "+OK");
}

void cluster_rig_begin_move(const cluster_rig_t *rig, unsigned slot, size_t from,
                            size_t to)
{
    set_slot(rig, to, slot, "IMPORTING", from);
    set_slot(rig, from, slot, "MIGRATING", to);
}

bool cluster_rig_move_key(const cluster_rig_t *rig, unsigned slot, size_t from,
                          size_t to)
{
    char command[160], key[ANSWER_BYTES] = "", said[ANSWER_BYTES];

    snprintf(command, sizeof command, "CLUSTER COUNTKEYSINSLOT %u", slot);
    assert_true(ask(rig, from, command, said));
    if (strcmp(said, ":0") == 0)
        return false;
    snprintf(command, sizeof command, "CLUSTER GETKEYSINSLOT %u 1", slot);
    if (!redis_ask_line(cluster_rig_port(rig, from), command, 3, key, sizeof key))
        return false;
    snprintf(command, sizeof command, "MIGRATE 127.0.0.1 %d %.60s 0 5000",
             cluster_rig_port(rig, to), key);
    assert_true(ask(rig, from, command, said));
    if (strcmp(said, "+OK") != 0 && strcmp(said, "+NOKEY") != 0)
        fail_msg("%s: %s", command, said);
    return true;
}

/* Every other node hears of it by gossip. */
void cluster_rig_end_move(const cluster_rig_t *rig, unsigned slot, size_t from,
                          size_t to, bool is_source_first)
{
    set_slot(rig, is_source_first ? from : to, slot, "NODE", to);
    set_slot(rig, is_source_first ? to : from, slot, "NODE", to);
}

void cluster_rig_cancel_move(const cluster_rig_t *rig, unsigned slot, size_t from,
                             size_t to)
{
    set_slot(rig, from, slot, "STABLE", CLUSTER_NODES);
    set_slot(rig, to, slot, "STABLE", CLUSTER_NODES);
}

void cluster_rig_move(const cluster_rig_t *rig, unsigned slot, size_t from, size_t to)
{
    cluster_rig_begin_move(rig, slot, from, to);
    while (cluster_rig_move_key(rig, slot, from, to))
        continue;
    cluster_rig_end_move(rig, slot, from, to, slot % 2 == 0);
}

/* Other primaries vote for replicas of one primary every 3 s at most; a failover that they did
 * not vote for is given up after 5 s. */
#define FAILOVER_US 5500000

void cluster_rig_failover(const cluster_rig_t *rig, size_t replica, const char *how)
{
    char command[64], said[ANSWER_BYTES];
    uint64_t again_us = 0;

    snprintf(command, sizeof command, "CLUSTER FAILOVER%s", how);
    while (!cluster_rig_is_primary(rig, replica)) {
        if (waiting_now_us() >= again_us && ask(rig, replica, command, said) &&
            strcmp(said, "+OK") == 0)
            again_us = waiting_now_us() + FAILOVER_US;
        waiting_sleep_us(1000);
    }
}
