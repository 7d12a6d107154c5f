/* SPDX-License-Identifier: MIT */
#include "support/cluster_rig.h"

#include "fault_proxy/fake_bytes.h"
#include "support/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES 4000

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

int cluster_rig_client_port(const cluster_rig_t *rig, size_t node)
{
    const cluster_node_t *at = &rig->nodes[node];

    if (at->proxy)
        return fault_proxy_port(at->proxy);
    return rig->plan.tls ? redis_process_tls_port(at->server)
                         : redis_process_port(at->server);
}

/* Of the two it is told to those that do not speak TLS. */
static int told_port(const cluster_rig_t *rig, size_t node)
{
    return rig->plan.tls || rig->plan.address ? cluster_rig_port(rig, node)
                                              : cluster_rig_client_port(rig, node);
}

/* ---- starting ---- */

static void add_argument(cluster_node_t *node, const char *name, const char *value)
{
    size_t count = 0;

    while (node->arguments[count])
        count++;
    assert_true(count + 2 < CLUSTER_NODE_OPTIONS);
    node->arguments[count] = name;
    node->arguments[count + 1] = value;
}

/* The server says so from now on, and when it is started again. */
static void announce(cluster_rig_t *rig, size_t number, const char *what,
                     const char *value)
{
    cluster_node_t *node = &rig->nodes[number];
    char command[64];

    snprintf(command, sizeof command, "CONFIG SET %s %s", what + 2, value);
    cluster_rig_tell(rig, number, command, "+OK");
    add_argument(node, what, value);
}

static void start_proxy(cluster_rig_t *rig, size_t number)
{
    cluster_node_t *node = &rig->nodes[number];
    bool is_tls = rig->plan.tls != NULL;
    const fault_proxy_config_t config = {
        .server_port = is_tls ? redis_process_tls_port(node->server)
                              : redis_process_port(node->server)};

    node->proxy = fault_proxy_start(&config);
    assert_non_null(node->proxy);
    snprintf(node->proxy_text, sizeof node->proxy_text, "%d",
             fault_proxy_port(node->proxy));
    snprintf(node->port_text, sizeof node->port_text, "%d",
             redis_process_port(node->server));
    if (rig->plan.address)
        return;
    announce(rig, number, "--cluster-announce-port",
             is_tls ? node->port_text : node->proxy_text);
    if (is_tls)
        announce(rig, number, "--cluster-announce-tls-port", node->proxy_text);
}

static bool start_node(cluster_rig_t *rig, size_t number)
{
    cluster_node_t *node = &rig->nodes[number];
    node->bus = loopback_port_claim();
    snprintf(node->bus_text, sizeof node->bus_text, "%d", node->bus.number);
    cluster_node_options(node->arguments, node->bus_text);
    if (rig->plan.serves_parts)
        add_argument(node, "--cluster-require-full-coverage", "no");
    if (rig->plan.keeps_roles)
        add_argument(node, "--cluster-replica-no-failover", "yes");
    if (rig->plan.hostname)
        add_argument(node, "--cluster-announce-hostname", rig->plan.hostname);
    if (rig->plan.address) {
        snprintf(node->bind_text, sizeof node->bind_text, "127.0.0.1 %s",
                 rig->plan.address);
        add_argument(node, "--bind", node->bind_text);
        add_argument(node, "--cluster-announce-ip", rig->plan.address);
    }
    if (rig->plan.tls) {
        add_argument(node, "--tls-cluster", "yes");
        add_argument(node, "--tls-replication", "yes");
        add_argument(node, "--tls-ca-cert-file", rig->plan.ca_file);
    }
    node->server = redis_process_start_tls(node->arguments, rig->plan.tls);
    if (!node->server || !redis_ask(redis_process_port(node->server), "CLUSTER MYID",
                                    node->id, sizeof node->id))
        return false;
    if (rig->plan.has_proxies)
        start_proxy(rig, number);
    return true;
}

/* Only now: nodes that wait long are slow to hear of each other. */
static void make_patient(cluster_rig_t *rig, size_t number)
{
    if (rig->plan.is_patient)
        announce(rig, number, "--cluster-node-timeout", "60000");
}

static void find_places(const cluster_rig_t *rig, cluster_place_t *places)
{
    for (size_t i = 0; i < rig->count; i++)
        places[i] =
            (cluster_place_t){cluster_rig_port(rig, i), rig->nodes[i].bus.number};
}

/* Each node has heard this word of all nodes; NULL: there is none. */
static void await_word(const cluster_rig_t *rig, const char *word)
{
    char command[160], wanted[8], said[ANSWER_BYTES];

    if (!word)
        return;
    snprintf(wanted, sizeof wanted, ":%d", CLUSTER_NODES);
    snprintf(command, sizeof command,
             "EVAL return(select(2,string.gsub(redis.call([[cluster]],[[nodes]]),"
             "[[%s]],[[]]))) 0",
             word);
    for (size_t i = 0; i < CLUSTER_NODES; i++)
        WAIT_FOR(ask(rig, i, command, said) && strcmp(said, wanted) == 0);
}

cluster_rig_t *cluster_rig_start_as(const cluster_plan_t *plan)
{
    cluster_rig_t *rig = fake_must(calloc(1, sizeof *rig));
    cluster_place_t places[CLUSTER_NODES_MAX];

    rig->plan = *plan;
    for (size_t i = 0; i < CLUSTER_NODES; i++) {
        rig->count++;
        if (!start_node(rig, i)) {
            cluster_rig_stop(rig);
            return NULL;
        }
    }
    find_places(rig, places);
    assert_true(cluster_nodes_join(places, CLUSTER_NODES, CLUSTER_PRIMARIES));
    await_word(rig, plan->address);
    await_word(rig, plan->hostname);
    for (size_t i = 0; i < CLUSTER_NODES; i++)
        make_patient(rig, i);
    return rig;
}

cluster_rig_t *cluster_rig_start(void)
{
    return cluster_rig_start_as(&(cluster_plan_t){0});
}

cluster_rig_t *cluster_rig_start_patient(void)
{
    return cluster_rig_start_as(&(cluster_plan_t){.is_patient = true});
}

static void stop_node(cluster_node_t *node)
{
    redis_process_stop(node->server);
    fault_proxy_stop(node->proxy);
    loopback_port_release(&node->bus);
    *node = (cluster_node_t){0};
}

void cluster_rig_stop(cluster_rig_t *rig)
{
    if (!rig)
        return;
    for (size_t i = 0; i < rig->count; i++)
        stop_node(&rig->nodes[i]);
    free(rig);
}

static const char *seed_host(const cluster_rig_t *rig)
{
    if (rig->plan.address && !rig->plan.has_proxies)
        return rig->plan.address;
    return rig->plan.hostname && rig->plan.tls ? rig->plan.hostname : "127.0.0.1";
}

static void map_addresses(const cluster_rig_t *rig, shoal_options_t *options)
{
    for (size_t i = 0; i < rig->count; i++)
        assert_int_equal(shoal_options_map_address(
                             options, rig->plan.address, cluster_rig_port(rig, i),
                             "127.0.0.1", cluster_rig_client_port(rig, i)),
                         0);
}

shoal_options_t *cluster_rig_options(const cluster_rig_t *rig, size_t seed)
{
    shoal_options_t *options = live_options_of_port(cluster_rig_client_port(rig, seed));

    assert_int_equal(shoal_options_set_topology(options, SHOAL_TOPOLOGY_CLUSTER), 0);
    assert_int_equal(shoal_options_set_address(options, seed_host(rig),
                                               cluster_rig_client_port(rig, seed)),
                     0);
    if (rig->plan.address && rig->plan.has_proxies)
        map_addresses(rig, options);
    if (!rig->plan.tls)
        return options;
    assert_int_equal(shoal_options_set_tls(options, true), 0);
    assert_int_equal(shoal_options_set_tls_ca_file(options, rig->plan.ca_file), 0);
    return options;
}

/* ---- what the nodes say ---- */

static size_t node_at(const cluster_rig_t *rig, int port)
{
    size_t node = 0;

    while (node < rig->count && told_port(rig, node) != port)
        node++;
    return node < rig->count ? node : CLUSTER_NODES_MAX;
}

size_t cluster_rig_owner(const cluster_rig_t *rig, size_t by, const char *key)
{
    char command[64], answer[ANSWER_BYTES];
    const char *colon;

    snprintf(command, sizeof command, "TYPE %s", key);
    if (!ask(rig, by, command, answer))
        return CLUSTER_NODES_MAX;
    if (answer[0] == '+')
        return by;
    colon = strrchr(answer, ':');
    return strncmp(answer, "-MOVED ", 7) == 0 && colon ? node_at(rig, atoi(colon + 1))
                                                       : CLUSTER_NODES_MAX;
}

size_t cluster_rig_first_owner(unsigned slot)
{
    size_t node = 0;

    while (slot >= (node + 1) * CLUSTER_SLOTS / CLUSTER_PRIMARIES)
        node++;
    return node;
}

uint64_t cluster_rig_questions(const cluster_rig_t *rig)
{
    static const char count[] =
        "EVAL return(string.match(redis.call([[info]],[[commandstats]]),"
        "[[cluster.slots:calls=(%d+)]])or([[0]])) 0";
    char said[ANSWER_BYTES];
    uint64_t questions = 0;

    for (size_t i = 0; i < rig->count; i++)
        if (runs(rig, i) && ask(rig, i, count, said))
            questions += (uint64_t)atoll(said);
    return questions;
}

static bool agree(const cluster_rig_t *rig, const char *key, size_t owner)
{
    for (size_t i = 0; i < rig->count; i++)
        if (runs(rig, i) && cluster_rig_owner(rig, i, key) != owner)
            return false;
    return owner < CLUSTER_NODES_MAX;
}

void cluster_rig_await_owner(const cluster_rig_t *rig, const char *key, size_t owner)
{
    WAIT_FOR(agree(rig, key, owner));
}

size_t cluster_rig_agreed_owner(const cluster_rig_t *rig, const char *key)
{
    size_t owner;

    WAIT_FOR(agree(rig, key, owner = cluster_rig_owner(rig, 0, key)));
    return owner;
}

bool cluster_rig_is_primary(const cluster_rig_t *rig, size_t node)
{
    char role[ANSWER_BYTES] = "";

    return runs(rig, node) &&
           redis_ask_line(cluster_rig_port(rig, node), "ROLE", 3, role, sizeof role) &&
           strcmp(role, "master") == 0;
}

/* The newest epoch that the node knows, and its own: a replica's is that of its primary. */
static bool say_epochs(const cluster_rig_t *rig, size_t node,
                       unsigned long long *newest, unsigned long long *own)
{
    static const char epochs[] =
        "EVAL return(string.gsub(redis.call([[cluster]],[[info]]),"
        "[[.*current_epoch:(%d+)%c*cluster_my_epoch:(%d+).*]],[[%1/%2]])) 0";
    char said[ANSWER_BYTES];

    return ask(rig, node, epochs, said) && sscanf(said, "%llu/%llu", newest, own) == 2;
}

/* All know the same newest epoch, and primaries have different ones. */
static bool epochs_are_settled(const cluster_rig_t *rig)
{
    unsigned long long newest, own, agreed = 0, taken[CLUSTER_NODES_MAX];
    size_t primaries = 0;

    for (size_t i = 0; i < rig->count; i++) {
        if (!runs(rig, i))
            continue;
        if (!say_epochs(rig, i, &newest, &own) || (agreed && newest != agreed))
            return false;
        agreed = newest;
        if (!cluster_rig_is_primary(rig, i))
            continue;
        for (size_t j = 0; j < primaries; j++)
            if (taken[j] == own)
                return false;
        taken[primaries++] = own;
    }
    return primaries > 0;
}

void cluster_rig_await_calm(const cluster_rig_t *rig)
{
    for (size_t i = 0; i < rig->count; i++)
        if (runs(rig, i))
            WAIT_FOR(cluster_node_is_calm(cluster_rig_port(rig, i)));
}

/* ---- what people do ---- */

static void set_slot(const cluster_rig_t *rig, size_t node, unsigned slot,
                     const char *how, size_t other)
{
    char command[120];

    snprintf(command, sizeof command, "CLUSTER SETSLOT %u %s %s", slot, how,
             other < CLUSTER_NODES_MAX ? rig->nodes[other].id : "");
    cluster_rig_tell(rig, node, command, "+OK");
}

void cluster_rig_begin_move(const cluster_rig_t *rig, unsigned slot, size_t from,
                            size_t to)
{
    WAIT_FOR(epochs_are_settled(rig));
    set_slot(rig, to, slot, "IMPORTING", from);
    set_slot(rig, from, slot, "MIGRATING", to);
}

bool cluster_rig_move_keys(const cluster_rig_t *rig, unsigned slot, size_t from,
                           size_t to, unsigned keys)
{
    char names[ANSWER_BYTES], command[ANSWER_BYTES + 80], said[ANSWER_BYTES];

    assert_true(keys <= CLUSTER_KEYS_MAX);
    snprintf(command, sizeof command,
             "EVAL return(table.concat(redis.call([[cluster]],[[getkeysinslot]],%u,%u),"
             "string.char(32))) 0",
             slot, keys);
    assert_true(ask(rig, from, command, names));
    if (names[0] == '\0')
        return false;
    snprintf(command, sizeof command, "MIGRATE 127.0.0.1 %d \"\" 0 5000 KEYS %s",
             rig->plan.tls ? redis_process_tls_port(rig->nodes[to].server)
                           : cluster_rig_port(rig, to),
             names);
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
    set_slot(rig, from, slot, "STABLE", CLUSTER_NODES_MAX);
    set_slot(rig, to, slot, "STABLE", CLUSTER_NODES_MAX);
}

void cluster_rig_move(const cluster_rig_t *rig, unsigned slot, size_t from, size_t to)
{
    cluster_rig_begin_move(rig, slot, from, to);
    while (cluster_rig_move_keys(rig, slot, from, to, 1))
        continue;
    cluster_rig_end_move(rig, slot, from, to, slot % 2 == 0);
}

/* ---- nodes come and go ---- */

size_t cluster_rig_add(cluster_rig_t *rig)
{
    size_t node = rig->count;

    assert_true(node < CLUSTER_NODES_MAX);
    rig->count++;
    assert_true(start_node(rig, node));
    return node;
}

void cluster_rig_join(cluster_rig_t *rig, size_t node)
{
    cluster_place_t places[CLUSTER_NODES_MAX];

    find_places(rig, places);
    assert_true(cluster_nodes_meet(places, rig->count, node));
    cluster_rig_await_calm(rig);
    make_patient(rig, node);
}

void cluster_rig_await_known(const cluster_rig_t *rig)
{
    cluster_place_t places[CLUSTER_NODES_MAX];

    find_places(rig, places);
    assert_true(cluster_nodes_know_each_other(places, rig->count));
}

void cluster_rig_forget(cluster_rig_t *rig)
{
    size_t node = rig->count - 1;
    char command[80];

    redis_process_kill(rig->nodes[node].server);
    snprintf(command, sizeof command, "CLUSTER FORGET %s", rig->nodes[node].id);
    for (size_t i = 0; i < node; i++)
        cluster_rig_tell(rig, i, command, "+OK");
    stop_node(&rig->nodes[node]);
    rig->count--;
    cluster_rig_await_known(rig);
}

/* ---- failovers ---- */

void cluster_rig_let_take_over(const cluster_rig_t *rig, size_t replica, bool may_it)
{
    cluster_rig_tell(rig, replica,
                     may_it ? "CONFIG SET cluster-replica-no-failover no"
                            : "CONFIG SET cluster-replica-no-failover yes",
                     "+OK");
}

void cluster_rig_set_timeout(const cluster_rig_t *rig, const char *ms)
{
    char command[64];

    snprintf(command, sizeof command, "CONFIG SET cluster-node-timeout %s", ms);
    for (size_t i = 0; i < rig->count; i++)
        if (runs(rig, i))
            cluster_rig_tell(rig, i, command, "+OK");
}

/* Other primaries vote for replicas of one primary every 3 s at most; a failover that they did
 * not vote for is given up after 5 s. */
#define FAILOVER_US 5500000

void cluster_rig_failover(const cluster_rig_t *rig, size_t replica, const char *how)
{
    const uint64_t since_us = waiting_now_us();
    char command[64], said[ANSWER_BYTES];
    uint64_t again_us = 0;

    snprintf(command, sizeof command, "CLUSTER FAILOVER%s", how);
    while (!cluster_rig_is_primary(rig, replica)) {
        if (waiting_now_us() >= again_us && ask(rig, replica, command, said) &&
            strcmp(said, "+OK") == 0)
            again_us = waiting_now_us() + FAILOVER_US;
        waiting_pause(since_us, command, __FILE__, __LINE__);
    }
}
