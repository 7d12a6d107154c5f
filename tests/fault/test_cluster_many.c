/* SPDX-License-Identifier: MIT */
/* A cluster of many nodes: what a node costs that has nothing to do, and what becomes of views
 * that differ. */
#include "resp/key_slot.h"
#include "support/cluster_script.h"
#include "support/scene.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FEW 3
#define MANY 200
#define NODE_BYTES_MAX 8192
#define KEYS 1500
#define REST_US 1200000 /* more than two looks at nodes that owe replies are apart */

/* ---- bytes that the library has ---- */

typedef union head {
    size_t bytes;
    max_align_t align;
} head_t;

static _Atomic size_t live;

static void *count_in(head_t *head, size_t bytes)
{
    if (!head)
        return NULL;
    head->bytes = bytes;
    atomic_fetch_add(&live, bytes);
    return head + 1;
}

static void *counted_malloc(size_t bytes)
{
    return count_in(malloc(sizeof(head_t) + bytes), bytes);
}

static void *counted_calloc(size_t count, size_t bytes)
{
    return count_in(calloc(1, sizeof(head_t) + count * bytes), count * bytes);
}

static void counted_free(void *data)
{
    if (!data)
        return;
    head_t *head = (head_t *)data - 1;
    atomic_fetch_sub(&live, head->bytes);
    free(head);
}

static void *counted_realloc(void *data, size_t bytes)
{
    head_t *head = data ? (head_t *)data - 1 : NULL;
    size_t before = head ? head->bytes : 0;

    head_t *grown = realloc(head, sizeof(head_t) + bytes);
    if (grown)
        atomic_fetch_sub(&live, before);
    return count_in(grown, bytes);
}

/* ---- the cluster ---- */

static fake_server_t *servers[MANY];
static script_node_t nodes[MANY];
static char ids[MANY][32];

static void start(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(ids[i], sizeof ids[i], "node%zu", i);
        servers[i] = fake_server_start(NULL);
        nodes[i] = (script_node_t){.id = ids[i],
                                   .port = fake_server_port(servers[i]),
                                   .first = (unsigned)(i * 16384 / count),
                                   .last = (unsigned)((i + 1) * 16384 / count - 1),
                                   .epoch = i + 1};
    }
}

static void agree(size_t count)
{
    for (size_t i = 0; i < count; i++)
        script_say(servers[i], nodes, count);
}

static int tear_down(void **state)
{
    int rc = scene_teardown(state);

    for (size_t i = 0; i < MANY; i++) {
        if (servers[i])
            fake_server_stop(servers[i]);
        servers[i] = NULL;
    }
    script_forget();
    return rc;
}

static void open_client(scene_t *scene)
{
    assert_int_equal(
        shoal_options_set_address(scene->options, "127.0.0.1", nodes[0].port), 0);
    assert_int_equal(shoal_options_set_topology(scene->options, SHOAL_TOPOLOGY_CLUSTER),
                     0);
    scene_open(scene);
    assert_int_equal(shoal_client_wait_ready(scene->client, 30000000), 0);
}

static void open_cluster(scene_t *scene, size_t count)
{
    start(count);
    agree(count);
    open_client(scene);
}

/* Nearly every node gets some. */
static void use_all(scene_t *scene)
{
    outcome_t *outcomes = scene_outcomes(scene, KEYS);
    char key[16];

    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "key%u", i);
        scene_submit(scene, scene_words("SET", key, "1", NULL), NULL, &outcomes[i]);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        scene_check(&outcomes[i], 0, SHOAL_FATE_REPLIED);
        assert_false(outcomes[i].has_error);
    }
}

/* ---- the tests ---- */

static size_t bytes_of_few;

static size_t bytes_since(size_t before)
{
    return atomic_load(&live) - before;
}

/* What a client of few nodes has at rest, as a measure for the next test. */
static void few_nodes_are_measured(void **state)
{
    size_t before = atomic_load(&live), used;

    open_cluster(*state, FEW);
    use_all(*state);
    used = bytes_since(before);
    WAIT_FOR(bytes_since(before) < used); /* they give memory back */
    bytes_of_few = bytes_since(before);
}

static bool is_at_rest(const scene_t *scene)
{
    uint64_t turns = scene_stats(scene).turns;

    usleep(REST_US);
    return scene_stats(scene).turns - turns <= 1;
}

static void nodes_at_rest_have_little_memory_and_no_turns(void **state)
{
    scene_t *scene = *state;
    size_t before = atomic_load(&live);

    open_cluster(scene, MANY);
    use_all(scene);
    WAIT_FOR(bytes_since(before) <=
             bytes_of_few + (MANY - FEW) * (size_t)NODE_BYTES_MAX);
    WAIT_FOR(is_at_rest(scene)); /* the last ones have given memory back */
}

/* ---- views that differ ---- */

#define NEW 20 /* the last nodes, of which some have not heard */
#define ROUNDS 8
#define QUESTIONS_PER_S 10

/* Some take what the new nodes have for the slots of another one, which knows better; some call
 * all nodes by name, and some by nothing. */
static void disagree(void)
{
    script_node_t said[MANY];

    for (size_t i = 0; i < MANY; i++) {
        bool is_old = i % 4 == 0;
        memcpy(said, nodes, sizeof said);
        for (size_t j = 0; j < MANY; j++) {
            said[j].is_myself = j == i;
            said[j].ip = i % 4 < 2 ? NULL : "127.0.0.1";
            said[j].host = i % 4 == 2 ? "localhost" : i % 4 == 3 ? "" : NULL;
        }
        if (is_old)
            said[MANY - NEW - 1].last = 16383;
        script_say(servers[i], said, is_old ? MANY - NEW : MANY);
    }
}

static size_t owner_of(unsigned slot)
{
    size_t node = 0;

    while (slot > nodes[node].last)
        node++;
    return node;
}

static unsigned slot_of(const char *key)
{
    return shoal__key_slot((shoal__bytes_t){key, strlen(key)});
}

/* The former owner redirects what is for the new nodes. */
static void redirect_to_new(void)
{
    static char keys[KEYS][16]; /* they outlive the server */

    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof keys[i], "key%u", i);
        unsigned slot = slot_of(keys[i]);
        size_t owner = owner_of(slot);
        if (owner >= MANY - NEW)
            fake_server_rule(servers[MANY - NEW - 1],
                             &(fake_rule_t){.command = "SET",
                                            .argument = keys[i],
                                            .reply = script_redirect(
                                                "MOVED", slot, nodes[owner].port)});
    }
}

/* Somebody is asked for its view. */
static void want_a_view(scene_t *scene)
{
    unsigned long long asked = scene_stats(scene).views_asked;
    size_t owner = owner_of(slot_of("key0"));

    fake_server_rule(servers[owner], &(fake_rule_t){.command = "GET",
                                                    .reply = "-CLUSTERDOWN it is\r\n",
                                                    .times = 1});
    outcome_t outcome = scene_call(scene, scene_words("GET", "key0", NULL), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
    WAIT_FOR(scene_stats(scene).views_asked > asked);
}

static uint64_t cpu_us(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

/* A node has one connection, whatever it is called; and no command fails. */
static void nodes_that_disagree_have_a_connection_each(void **state)
{
    scene_t *scene = *state;
    uint64_t since_us = waiting_now_us(), used_us;
    size_t executed = 0;

    start(MANY);
    disagree();
    redirect_to_new();
    open_client(scene);
    for (unsigned round = 0; round < ROUNDS; round++) {
        use_all(scene);
        want_a_view(scene);
    }
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(fake_server_accepted(servers[i]), 1);
        executed += fake_server_executed(servers[i], 0, "SET", NULL);
    }
    assert_int_equal(executed, ROUNDS * KEYS);
    assert_int_equal(scene_events(scene).redirects_refused, 0);
    assert_in_range(scene_stats(scene).views_asked, ROUNDS,
                    (waiting_now_us() - since_us) * QUESTIONS_PER_S / 1000000 + 1);
    WAIT_FOR((used_us = cpu_us()) && is_at_rest(scene));
    print_message("%d nodes at rest, the servers as well: %.2f %% of a core\n", MANY,
                  (double)(cpu_us() - used_us) * 100 / REST_US);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(few_nodes_are_measured, scene_setup, tear_down),
        cmocka_unit_test_setup_teardown(nodes_at_rest_have_little_memory_and_no_turns,
                                        scene_setup, tear_down),
        cmocka_unit_test_setup_teardown(nodes_that_disagree_have_a_connection_each,
                                        scene_setup, tear_down),
    };
    const shoal_allocator_t counted = {counted_malloc, counted_calloc, counted_realloc,
                                       counted_free};

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (shoal_allocator_set(&counted) < 0)
        return 1;
    return cmocka_run_group_tests_name("cluster_many", tests, NULL, NULL);
}
