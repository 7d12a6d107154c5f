/* SPDX-License-Identifier: MIT */
/* Reads at the replicas of a real cluster, which are killed, stopped and promoted: each read
 * has the value of its key, none fails, and no write reaches a replica. */
#include "support/cluster_rig.h"
#include "support/live.h"
#include "support/tag.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READERS 4
#define KEYS 60
#define PROGRESS 200

typedef struct scene {
    cluster_rig_t *rig;
    shoal_client_t *client;
    _Atomic bool is_over;
    _Atomic unsigned downs; /* how often the client found a node silent, or lost it */
    _Atomic unsigned at[CLUSTER_NODES]; /* reads, by the node that answered */
} scene_t;

typedef struct reader {
    pthread_t thread;
    scene_t *scene;
    unsigned id;
    _Atomic unsigned reads, writes; /* that were answered */
    _Atomic unsigned failed, wrong;
    char detail[256];
} reader_t;

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    scene_t *scene = data;
    (void)client;

    if (scene && shoal_event_kind(event) == SHOAL_EVENT_NODE_DOWN)
        scene->downs++;
}

static shoal_client_t *open_client(const cluster_rig_t *rig, shoal_read_from_t from,
                                   scene_t *scene)
{
    shoal_options_t *options = cluster_rig_options(rig, 0);

    assert_int_equal(shoal_options_set_on_event(options, on_event, scene), 0);

    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 20000), 0);
    assert_int_equal(shoal_options_set_read_from(options, from), 0);
    return live_open(options);
}

static void fill(const cluster_rig_t *rig)
{
    shoal_client_t *client = open_client(rig, SHOAL_READ_PRIMARY, NULL);
    char value[TAG_ROOM];

    for (unsigned i = 0; i < KEYS; i++) {
        shoal_result_t *result;
        tag_make((tag_t){.client = 1, .seq = i}, value);
        assert_int_equal(
            shoal_client_callf(client, &result, "SET read:%u %s", i, value), 0);
        assert_int_equal(shoal_result_status(result), 0);
        shoal_result_release(result);
    }
    /* Each primary has a replica that has them, too. */
    for (unsigned i = 0; i < KEYS; i++) {
        char command[40];
        snprintf(command, sizeof command, "SET {read:%u}w 1", i);
        live_ask(client, command);
    }
    live_finish(client);
    for (unsigned i = 0; i < CLUSTER_PRIMARIES; i++)
        cluster_rig_tell(rig, i, "WAIT 1 10000", ":1");
}

/* The node of this name; CLUSTER_NODES: none. */
static size_t node_of(const cluster_rig_t *rig, const char *name)
{
    for (size_t i = 0; name && i < CLUSTER_NODES; i++)
        if (atoi(strrchr(name, ':') + 1) == cluster_rig_port(rig, i))
            return i;
    return CLUSTER_NODES;
}

static void read_one(reader_t *reader, unsigned key)
{
    scene_t *scene = reader->scene;
    shoal_result_t *result;
    const shoal_reply_t *reply;
    size_t bytes = 0, node;
    const char *value;

    if (shoal_client_callf(scene->client, &result, "GET read:%u", key) < 0)
        abort();
    reply = shoal_result_reply(result);
    value = shoal_reply_string(reply, &bytes);
    node = node_of(scene->rig, shoal_result_node(result));
    if (shoal_result_status(result) < 0 ||
        shoal_reply_type(reply) != SHOAL_REPLY_STRING) {
        reader->failed++;
        snprintf(reader->detail, sizeof reader->detail, "%s %s",
                 shoal_result_detail(result), value ? value : "");
    } else if (tag_matches((tag_t){.client = 1, .seq = key}, value, bytes) &&
               node < CLUSTER_NODES) {
        reader->reads++;
        scene->at[node]++;
    } else
        reader->wrong++;
    shoal_result_release(result);
}

static void write_one(reader_t *reader, unsigned key)
{
    shoal_result_t *result;

    if (shoal_client_callf(reader->scene->client, &result, "INCR {read:%u}w", key) < 0)
        abort();
    if (shoal_result_status(result) == 0 &&
        shoal_reply_type(shoal_result_reply(result)) == SHOAL_REPLY_INTEGER)
        reader->writes++;
    shoal_result_release(result);
}

static void *run_reader(void *data)
{
    reader_t *reader = data;
    unsigned random = reader->id + 1;

    while (!reader->scene->is_over) {
        read_one(reader, live_roll(&random) % KEYS);
        if (live_roll(&random) % 8 == 0)
            write_one(reader, live_roll(&random) % KEYS);
    }
    return NULL;
}

static void begin(void **state, scene_t *scene, reader_t *readers)
{
    scene->rig = *state;
    if (!scene->rig)
        skip();
    scene->client = open_client(scene->rig, SHOAL_READ_REPLICA_PREFERRED, scene);
    for (unsigned i = 0; i < READERS; i++) {
        readers[i].scene = scene;
        readers[i].id = i;
        assert_int_equal(
            pthread_create(&readers[i].thread, NULL, run_reader, &readers[i]), 0);
    }
}

/* All of them go on. */
static void await_progress(reader_t *readers)
{
    for (unsigned i = 0; i < READERS; i++) {
        unsigned before = readers[i].reads;
        WAIT_FOR(readers[i].reads >= before + PROGRESS);
    }
}

static void await_reads_at(scene_t *scene, size_t node)
{
    unsigned before = scene->at[node];

    WAIT_FOR(scene->at[node] > before + PROGRESS);
}

static void finish(scene_t *scene, reader_t *readers)
{
    unsigned reads = 0;

    scene->is_over = true;
    for (unsigned i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
    for (unsigned i = 0; i < READERS; i++)
        reads += readers[i].reads;
    print_message("%u reads, %llu of them sent to replicas\n", reads,
                  (unsigned long long)live_stats(scene->client).replica_reads);
    for (unsigned i = 0; i < READERS; i++) {
        if (readers[i].failed > 0)
            print_error("a read failed: %s\n", readers[i].detail);
        assert_int_equal(readers[i].failed, 0);
        assert_int_equal(readers[i].wrong, 0);
        assert_true(readers[i].writes > 0);
    }
    live_finish(scene->client);
}

/* Errors that this node answered with. */
static bool has_refused(const scene_t *scene, size_t node, const char *word)
{
    shoal_client_t *client =
        live_open(live_options_of_port(cluster_rig_port(scene->rig, node)));
    shoal_result_t *result;
    size_t bytes;
    bool found;

    assert_int_equal(shoal_client_callf(client, &result, "INFO errorstats"), 0);
    assert_int_equal(shoal_result_status(result), 0);
    found = strstr(shoal_reply_string(shoal_result_reply(result), &bytes), word);
    shoal_result_release(result);
    live_finish(client);
    return found;
}

static unsigned reads_at_primaries(const scene_t *scene)
{
    unsigned reads = 0;

    for (size_t i = 0; i < CLUSTER_PRIMARIES; i++)
        reads += scene->at[i];
    return reads;
}

/* While all replicas answer, a primary reads nothing.  The machine may keep one from that for
 * a while: the client tells when. */
static void check_primaries_rest(scene_t *scene, reader_t *readers)
{
    const uint64_t since_us = waiting_now_us();
    unsigned downs, before;

    for (;;) {
        downs = scene->downs;
        for (size_t i = CLUSTER_PRIMARIES; i < CLUSTER_NODES; i++)
            await_reads_at(scene, i);
        before = reads_at_primaries(scene);
        await_progress(readers);
        before = reads_at_primaries(scene) - before;
        if (scene->downs == downs)
            break;
        waiting_pause(since_us, "all replicas answer for a while", __FILE__, __LINE__);
    }
    assert_int_equal(before, 0);
}

static void reads_go_to_the_replicas(void **state)
{
    scene_t scene = {0};
    reader_t readers[READERS] = {0};

    begin(state, &scene, readers);
    check_primaries_rest(&scene, readers);
    assert_true(live_stats(scene.client).replica_reads >=
                CLUSTER_PRIMARIES * (unsigned)PROGRESS);
    /* A replica refuses a write, and a read without READONLY. */
    for (size_t i = CLUSTER_PRIMARIES; i < CLUSTER_NODES; i++)
        assert_false(has_refused(&scene, i, "MOVED"));
    finish(&scene, readers);
}

static void a_replica_that_is_killed(void **state)
{
    scene_t scene = {0};
    reader_t readers[READERS] = {0};

    begin(state, &scene, readers);
    await_reads_at(&scene, 3);
    for (size_t round = live_scaled(2); round > 0; round--) {
        redis_process_kill(scene.rig->nodes[3].server);
        await_reads_at(&scene, 0);
        await_progress(readers);
        assert_true(redis_process_restart(scene.rig->nodes[3].server));
        await_reads_at(&scene, 3);
    }
    finish(&scene, readers);
}

/* What it has is read elsewhere when it has been silent for a while. */
static void a_replica_that_is_stopped(void **state)
{
    scene_t scene = {0};
    reader_t readers[READERS] = {0};

    begin(state, &scene, readers);
    await_reads_at(&scene, 4);
    redis_process_pause(scene.rig->nodes[4].server);
    await_reads_at(&scene, 1);
    await_progress(readers);
    redis_process_resume(scene.rig->nodes[4].server);
    await_reads_at(&scene, 4);
    finish(&scene, readers);
}

/* Of the two, whichever is one now: a server may take its place back by itself. */
static size_t replica_of(const scene_t *scene, size_t one, size_t other)
{
    return cluster_rig_is_primary(scene->rig, one) ? other : one;
}

static bool has_read(const scene_t *scene, size_t node, const unsigned *before)
{
    return scene->at[node] > before[node] + PROGRESS;
}

static void await_reads_at_replica(scene_t *scene, size_t one, size_t other)
{
    unsigned before[CLUSTER_NODES];

    for (size_t i = 0; i < CLUSTER_NODES; i++)
        before[i] = scene->at[i];
    WAIT_FOR(has_read(scene, replica_of(scene, one, other), before));
}

/* And back. */
static void a_replica_that_is_promoted(void **state)
{
    scene_t scene = {0};
    reader_t readers[READERS] = {0};

    begin(state, &scene, readers);
    await_reads_at_replica(&scene, 2, 5);
    for (size_t round = live_scaled(2); round > 0; round--) {
        cluster_rig_failover(scene.rig, replica_of(&scene, 2, 5), "");
        await_reads_at_replica(&scene, 2, 5);
        await_progress(readers);
        cluster_rig_await_calm(scene.rig);
    }
    finish(&scene, readers);
}

/* Its replica takes its place by itself; started again, it is a replica. */
static void a_primary_that_is_killed(void **state)
{
    scene_t scene = {0};
    reader_t readers[READERS] = {0};

    begin(state, &scene, readers);
    await_reads_at(&scene, 3);
    for (size_t round = live_scaled(1); round > 0; round--) {
        size_t primary = cluster_rig_is_primary(scene.rig, 0) ? 0 : 3;
        size_t replica = 3 - primary;
        redis_process_kill(scene.rig->nodes[primary].server);
        WAIT_FOR(cluster_rig_is_primary(scene.rig, replica));
        await_reads_at(&scene, replica);
        assert_true(redis_process_restart(scene.rig->nodes[primary].server));
        await_reads_at(&scene, primary);
        cluster_rig_await_calm(scene.rig);
    }
    finish(&scene, readers);
}

static int start(void **state)
{
    cluster_rig_t *rig = cluster_rig_start();

    if (rig)
        fill(rig);
    *state = rig;
    return 0;
}

static int stop(void **state)
{
    cluster_rig_stop(*state);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_go_to_the_replicas),
        cmocka_unit_test(a_replica_that_is_killed),
        cmocka_unit_test(a_replica_that_is_stopped),
        cmocka_unit_test(a_replica_that_is_promoted),
        cmocka_unit_test(a_primary_that_is_killed),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_reads", tests, start, stop);
}
