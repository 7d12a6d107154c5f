/* SPDX-License-Identifier: MIT */

/* How the nodes of a real cluster are called, and what the client tells of them. */

#include "support/cluster_load.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static cluster_rig_t *rig;

static int tear_down(void **state)
{
    (void)state;
    cluster_rig_stop(rig);
    rig = NULL;
    return 0;
}

/* From now on the node calls all nodes so. */
static void call_by(size_t node, const char *type)
{
    char command[80];

    snprintf(command, sizeof command, "CONFIG SET cluster-preferred-endpoint-type %s",
             type);
    cluster_rig_tell(rig, node, command, "+OK");
}

static void all_call_by(const char *type)
{
    for (size_t node = 0; node < CLUSTER_NODES; node++)
        call_by(node, type);
}

static void begin(const cluster_plan_t *plan)
{
    rig = cluster_rig_start_as(plan);
    if (!rig)
        skip();
}

static shoal_client_t *open_client(shoal_event_cb on_event, void *data)
{
    shoal_options_t *options = cluster_rig_options(rig, 0);

    assert_int_equal(shoal_options_set_on_event(options, on_event, data), 0);
    return live_open(options);
}

/* Keys of all primaries. */
static void use(shoal_client_t *client)
{
    char command[40];

    for (unsigned i = 0; i < 100; i++) {
        snprintf(command, sizeof command, "SET key%u %u", i, i);
        live_ask(client, command);
    }
}

static shoal_topology_snapshot_t *look(shoal_client_t *client)
{
    shoal_topology_snapshot_t *topology;

    assert_int_equal(shoal_topology_get(client, &topology), 0);
    return topology;
}

/* By the port; NULL: none. */
static const shoal_node_info_t *find(const shoal_topology_snapshot_t *topology,
                                     size_t node)
{
    const shoal_node_info_t *at;

    for (size_t i = 0; (at = shoal_topology_node(topology, i)); i++)
        if (at->is_listed && at->port == cluster_rig_client_port(rig, node))
            return at;
    return NULL;
}

/* Every node is there under its id; its host is the wanted one. */
static void check_hosts(shoal_client_t *client, const char *host)
{
    shoal_topology_snapshot_t *topology = look(client);

    for (size_t i = 0; i < CLUSTER_NODES; i++) {
        const shoal_node_info_t *node = find(topology, i);
        assert_non_null(node);
        assert_string_equal(node->host, host);
        assert_string_equal(node->id, rig->nodes[i].id);
        assert_int_equal(node->role, i < CLUSTER_PRIMARIES ? SHOAL_NODE_PRIMARY
                                                           : SHOAL_NODE_REPLICA);
        assert_ptr_equal(node->primary, i < CLUSTER_PRIMARIES
                                            ? NULL
                                            : find(topology, i - CLUSTER_PRIMARIES));
    }
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
        assert_ptr_equal(shoal_topology_owner(topology, slot),
                         find(topology, cluster_rig_first_owner(slot)));
    shoal_topology_release(topology);
}

/* Each node lists all nodes; before, it leaves out replicas of which it has not heard that they
 * have data, and perhaps has not heard of the last move. */
static void await_whole_views(void)
{
    static const char count[] =
        "EVAL \"local n=0 for _,r in ipairs(redis.call('cluster','slots')) do n=n+#r-2 "
        "end return n\" 0";
    char answer[8];

    for (size_t node = 0; node < CLUSTER_NODES; node++)
        WAIT_FOR(redis_ask(cluster_rig_port(rig, node), count, answer, sizeof answer) &&
                 strcmp(answer, ":6") == 0);
}

/* A client finds all nodes at this host, in views and by redirects, and connects to each
 * primary once; and perhaps to the first one by the address that the program has. */
static void check_client(const char *host, bool is_first_twice)
{
    shoal_client_t *client;

    await_whole_views();
    client = open_client(NULL, NULL);
    use(client);
    check_hosts(client, host);
    cluster_rig_move(rig, 0, 0, 1);
    live_ask(client, "SET 3560 1"); /* slot 0 */
    live_ask(client, "GET 3560");
    assert_int_equal(live_stats(client).connects, CLUSTER_PRIMARIES + is_first_twice);
    assert_int_equal(live_stats(client).redirects_refused, 0);
    live_finish(client);
    cluster_rig_move(rig, 0, 1, 0);
}

/* By nothing: the host is the one that was asked.  Without a name: the address is told
 * beside "?". */
static void nodes_have_no_names(void **state)
{
    static const char *const types[] = {"ip", "unknown-endpoint", "hostname"};
    (void)state;

    begin(&(cluster_plan_t){.is_patient = true});
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        all_call_by(types[i]);
        check_client("127.0.0.1", false);
    }
}

static void nodes_have_names(void **state)
{
    static const struct {
        const char *type, *host;
    } cases[] = {{"hostname", "localhost"},
                 {"ip", "127.0.0.1"},
                 {"unknown-endpoint", "127.0.0.1"}};
    (void)state;

    begin(&(cluster_plan_t){.is_patient = true, .hostname = "localhost"});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        all_call_by(cases[i].type);
        check_client(cases[i].host, i == 0);
    }
}

static bool has_ipv6(void)
{
    const struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                         .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has =
        fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;

    if (fd >= 0)
        close(fd);
    return has;
}

static void nodes_have_addresses_of_ipv6(void **state)
{
    (void)state;
    if (!has_ipv6()) {
        puts("skipped: this machine has no ::1");
        skip();
    }
    begin(&(cluster_plan_t){.is_patient = true, .address = "::1"});
    check_client("::1", false);
    all_call_by("unknown-endpoint");
    check_client("::1", false);
}

/* What the nodes announce leads past the proxies; the program knows better. */
static void wrong_addresses_are_mapped(void **state)
{
    (void)state;
    begin(&(cluster_plan_t){
        .is_patient = true, .address = "127.1.0.7", .has_proxies = true});
    check_client("127.0.0.1", false);
    for (size_t i = 0; i < CLUSTER_PRIMARIES; i++)
        assert_int_equal(fault_proxy_counts(rig->nodes[i].proxy).accepted, 1);
}

/* ---- under load ---- */

/* The slot of this caller goes to the next primary. */
static void move(const cluster_load_t *load, size_t caller)
{
    const char *key = cluster_load_key(load, caller);
    size_t from = cluster_rig_agreed_owner(rig, key);
    size_t to = (from + 1) % CLUSTER_PRIMARIES;

    cluster_rig_move(rig, cluster_load_slot(load, caller), from, to);
    cluster_rig_await_owner(rig, key, to);
}

#define UNCONFIRMED_US 2500000 /* then the client tells what nobody has confirmed */

/* Nodes get names, of which some hear late, and call each other otherwise than before.  Slots
 * move meanwhile: redirects have names that no view had, or "?". */
static void they_are_called_otherwise_under_load(void **state)
{
    static const char *const types[] = {"ip", "unknown-endpoint", "hostname"};
    size_t caller = 0;
    (void)state;

    begin(&(cluster_plan_t){.is_patient = true});
    cluster_load_t *load = cluster_load_begin(rig, 4);
    all_call_by("hostname");
    for (size_t node = 0; node < CLUSTER_NODES; node++)
        cluster_rig_tell(rig, node, "CONFIG SET cluster-announce-hostname localhost",
                         "+OK");
    for (size_t round = 0; round < live_scaled(3); round++)
        for (size_t node = 0; node < CLUSTER_NODES; node++) {
            move(load, caller++ % CLUSTER_LOAD_CALLERS);
            call_by(node, types[round % 3]);
            cluster_load_await_progress(load, 10);
        }
    uint64_t since_us = waiting_now_us();
    while (waiting_now_us() < since_us + UNCONFIRMED_US)
        waiting_sleep_us(10000);
    cluster_tally_t tally = cluster_load_stop(load);
    assert_int_equal(tally.unknown, 0);
    assert_int_equal(tally.not_executed, 0);
    assert_int_equal(tally.errors, 0);
    assert_int_equal(tally.lost, 0);
    assert_int_equal(tally.inversions, 0);
    assert_int_equal(load->losses, 0);
    assert_int_equal(live_stats(load->client).redirects_refused, 0);
    assert_int_equal(live_stats(load->client).connects, CLUSTER_PRIMARIES);
    rig = NULL;
    cluster_load_end(load);
}

/* ---- events ---- */

typedef struct heard {
    _Atomic bool is_up[CLUSTER_NODES], is_down[CLUSTER_NODES];
    _Atomic unsigned losses; /* nodes that are down, and not because they are silent */
    _Atomic unsigned failovers;
    _Atomic int heir; /* the port of the last one */
} heard_t;

/* A node that a busy machine does not run for a while is silent, and is down until it answers. */
static void note_health(heard_t *heard, const shoal_event_t *event)
{
    bool is_up = shoal_event_kind(event) == SHOAL_EVENT_NODE_UP;
    int port = atoi(strrchr(shoal_event_server(event), ':') + 1);

    heard->losses += !is_up && !strstr(shoal_event_detail(event), "does not answer");
    for (size_t node = 0; node < CLUSTER_NODES; node++)
        if (port == cluster_rig_client_port(rig, node)) {
            heard->is_up[node] = is_up;
            heard->is_down[node] = !is_up;
        }
}

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    heard_t *heard = data;
    (void)client;

    if (shoal_event_kind(event) == SHOAL_EVENT_NODE_UP ||
        shoal_event_kind(event) == SHOAL_EVENT_NODE_DOWN)
        note_health(heard, event);
    if (shoal_event_kind(event) != SHOAL_EVENT_FAILOVER)
        return;
    heard->heir = atoi(strrchr(shoal_event_server(event), ':') + 1);
    heard->failovers++;
}

/* Does the client send the commands for the slots of this primary to that node? */
static bool is_heir_of(shoal_client_t *client, size_t heir, size_t primary)
{
    shoal_topology_snapshot_t *topology = look(client);
    const shoal_node_info_t *node = find(topology, heir);
    bool is = node && node->role == SHOAL_NODE_PRIMARY;

    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
        if (cluster_rig_first_owner(slot) == primary)
            is = is && shoal_topology_owner(topology, slot) == node;
    shoal_topology_release(topology);
    return is;
}

/* One by its own will, and one because the primary is killed.  No node takes another one for
 * dead by itself, as it might on a busy machine: then more failovers would be told. */
static void failovers_are_told(void **state)
{
    heard_t heard = {0};
    (void)state;

    begin(&(cluster_plan_t){.is_patient = true});
    shoal_client_t *client = open_client(on_event, &heard);
    use(client);
    for (size_t node = 0; node < CLUSTER_PRIMARIES; node++)
        WAIT_FOR(heard.is_up[node]);
    cluster_rig_failover(rig, 3, "");
    while (heard.failovers < 1)
        use(client);
    assert_int_equal(heard.heir, cluster_rig_port(rig, 3));
    WAIT_FOR(is_heir_of(client, 3, 0));
    assert_int_equal(heard.losses, 0);

    cluster_rig_await_calm(rig);
    redis_process_kill(rig->nodes[1].server);
    WAIT_FOR(heard.is_down[1]);
    cluster_rig_failover(rig, 4, " TAKEOVER");
    WAIT_FOR(heard.failovers == 2);
    assert_int_equal(heard.heir, cluster_rig_port(rig, 4));
    assert_in_range(heard.losses, 0, 1); /* 0: it was silent at that moment */
    WAIT_FOR(is_heir_of(client, 4, 1));
    use(client);
    live_finish(client);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nodes_have_no_names),
        TEST(nodes_have_names),
        TEST(nodes_have_addresses_of_ipv6),
        TEST(wrong_addresses_are_mapped),
        TEST(they_are_called_otherwise_under_load),
        TEST(failovers_are_told),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_addresses", tests, NULL, NULL);
}
