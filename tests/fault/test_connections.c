/* SPDX-License-Identifier: MIT */

/* Which connection, and which server: what events say, and the figures of one
 * connection. */

#include "support/lone_caller.h"
#include <pthread.h>
#include <shoal/events.h>
#include <stdio.h>
#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define PAGES_MAX 16

/* ---- events ---- */

typedef struct page {
    shoal_event_kind_t kind;
    uint64_t connection, epoch;
    char server[128], detail[256];
} page_t;

typedef struct diary {
    pthread_mutex_t lock;
    unsigned count;
    page_t pages[PAGES_MAX];
} diary_t;

static void note(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    diary_t *diary = data;
    page_t *page;
    (void)client;

    pthread_mutex_lock(&diary->lock);
    if (diary->count < PAGES_MAX) {
        page = &diary->pages[diary->count++];
        page->kind = shoal_event_kind(event);
        page->connection = shoal_event_connection(event);
        page->epoch = shoal_event_epoch(event);
        snprintf(page->server, sizeof page->server, "%s", shoal_event_server(event));
        snprintf(page->detail, sizeof page->detail, "%s", shoal_event_detail(event));
    }
    pthread_mutex_unlock(&diary->lock);
}

/* How often `kind` was noted. */
static unsigned noted(diary_t *diary, shoal_event_kind_t kind)
{
    unsigned count = 0;

    pthread_mutex_lock(&diary->lock);
    for (unsigned i = 0; i < diary->count; i++)
        count += diary->pages[i].kind == kind;
    pthread_mutex_unlock(&diary->lock);
    return count;
}

static diary_t *keep_diary(scene_t *scene)
{
    diary_t *diary = scene_alloc(scene, sizeof *diary);

    pthread_mutex_init(&diary->lock, NULL);
    assert_int_equal(shoal_options_set_on_event(scene->options, note, diary), 0);
    return diary;
}

/* Close the client, and hold the diary against what each event must say. */
static void check_diary(scene_t *scene, diary_t *diary, const char *server)
{
    uint64_t epoch = 0;

    scene_close(scene, 0);
    assert_true(diary->count > 0);
    for (unsigned i = 0; i < diary->count; i++) {
        const page_t *page = &diary->pages[i];

        epoch += i == 0 || page[-1].kind == SHOAL_EVENT_RETRYING;
        assert_int_equal(page->connection, 1);
        assert_string_equal(page->server, server);
        assert_int_equal(page->epoch, epoch);
    }
    pthread_mutex_destroy(&diary->lock);
}

static void write_address(const scene_t *scene, char *to, size_t bytes)
{
    snprintf(to, bytes, "127.0.0.1:%d", fake_server_port(scene->server));
}

/* The connection keeps its number through all its attempts. */
static void test_events_name_one_connection(void **state)
{
    scene_t *scene = *state;
    diary_t *diary = keep_diary(scene);
    char address[32];

    write_address(scene, address, sizeof address);
    scene_open_ready(scene);
    for (unsigned i = 2; i <= 3; i++) {
        fake_server_cut(scene->server, FAKE_CUT_RESET);
        WAIT_FOR(noted(diary, SHOAL_EVENT_READY) == i);
    }
    check_diary(scene, diary, address);
    assert_int_equal(diary->pages[diary->count - 1].epoch, 3);
}

/* What the server says it is, from the ordinary connection alone. */
static void test_a_node_of_a_cluster_is_named_so(void **state)
{
    scene_t *scene = *state;
    char address[32], said[128];

    for (int is_cluster = 0; is_cluster <= 1; is_cluster++) {
        diary_t *diary = keep_diary(scene);
        unsigned ready = 0;
        scene_serve(scene, &(fake_config_t){.identity.is_cluster = is_cluster});
        write_address(scene, address, sizeof address);
        scene_open_ready(scene);
        scene_close(scene, 0);
        snprintf(said, sizeof said, "%s%s", address,
                 is_cluster ? ", a node of a cluster: it answers MOVED" : "");
        for (unsigned i = 0; i < diary->count; i++) {
            const page_t *page = &diary->pages[i];
            if (page->kind != SHOAL_EVENT_READY)
                continue;
            ready++;
            assert_string_equal(page->server, address);
            if (is_cluster)
                assert_non_null(strstr(page->detail, said));
            else
                assert_string_equal(page->detail, said);
        }
        assert_int_equal(ready, 1);
        pthread_mutex_destroy(&diary->lock);
    }
}

static void test_a_unix_socket_is_named_by_its_path(void **state)
{
    scene_t *scene = *state;

    scene_serve(scene, &(fake_config_t){.is_unix = true});
    diary_t *diary = keep_diary(scene);
    scene_open_ready(scene);
    check_diary(scene, diary, fake_server_path(scene->server));
}

/* No server listens there: failed attempts are told with the same words. */
static void test_a_server_that_refuses_is_named(void **state)
{
    scene_t *scene = *state;
    diary_t *diary = keep_diary(scene);
    char address[32];

    write_address(scene, address, sizeof address);
    fake_server_refuse(scene->server, true);
    scene_open(scene);
    WAIT_FOR(noted(diary, SHOAL_EVENT_ATTEMPT_FAILED) >= 3);
    assert_int_equal(noted(diary, SHOAL_EVENT_LOST), 0);
    check_diary(scene, diary, address);
}

/* A thread in a blocking call meets the loss, and the background thread tells it later. */
static void test_a_held_event_keeps_its_words(void **state)
{
    scene_t *scene = *state;
    diary_t *diary = keep_diary(scene);
    char address[32];

    write_address(scene, address, sizeof address);
    lone_caller_open(scene);
    lone_caller_t *caller = lone_caller_begin(scene, WORDS("INCR", "k"), 0);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    fake_server_release(scene->server);
    lone_caller_end(caller);
    assert_int_equal(noted(diary, SHOAL_EVENT_LOST), 1);
    WAIT_FOR(noted(diary, SHOAL_EVENT_READY) == 2);
    check_diary(scene, diary, address);
}

/* ---- figures ---- */

static int read_share(scene_t *scene, uint64_t connection, shoal_stats_t *stats)
{
    if (stats)
        stats->size = sizeof *stats;
    return shoal_stats_get_connection(scene->client, connection, stats);
}

/* What is counted for the client as a whole, and for no connection. */
static void forget_what_is_the_clients(shoal_stats_t *stats)
{
    stats->commands = stats->refused = 0;
    stats->wakeups = stats->caller_wakeups = 0;
    stats->direct_calls = stats->handovers = stats->turns = 0;
    memset(stats->latency, 0, sizeof stats->latency);
}

/* Are both the same, once the client's own figures are left out of the whole? */
static bool is_the_whole(scene_t *scene)
{
    shoal_stats_t whole = scene_idle_stats(scene), share;

    assert_int_equal(read_share(scene, 1, &share), 0);
    forget_what_is_the_clients(&whole);
    return memcmp(&whole, &share, sizeof whole) == 0;
}

static void test_a_connection_has_its_share(void **state)
{
    scene_t *scene = *state;
    shoal_stats_t whole, share;

    /* Nothing then moves on an idle connection. */
    assert_int_equal(
        shoal_options_set_integrity(scene->options, SHOAL_INTEGRITY_SHAPES), 0);
    lone_caller_open(scene);
    for (unsigned i = 0; i < 100; i++)
        scene_check_works(scene);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(scene_events(scene).ready == 2);
    scene_check_works(scene);
    assert_int_equal(
        shoal_client_submit(scene->client, 0, NULL, NULL, NULL, NULL, NULL),
        SHOAL_EINVAL);
    WAIT_FOR(is_the_whole(scene));

    whole = scene_stats(scene);
    assert_true(whole.commands > 100 && whole.refused == 1 && whole.turns > 0);
    assert_true(whole.direct_calls > 0 && whole.handovers > 0);
    assert_int_equal(read_share(scene, 1, &share), 0);
    assert_int_equal(share.completed, whole.commands);
    assert_int_equal(share.connects, 2);
    assert_int_equal(share.losses, 1);
    assert_true(share.writes > 0 && share.bytes_in > 0 && share.flushes > 0);
    assert_true(shoal_stats_latency_us(&whole, SHOAL_STAGE_TOTAL, 1000) > 0);
}

/* It is there from the start. */
static void test_a_connection_before_it_is_made(void **state)
{
    scene_t *scene = *state;
    shoal_stats_t share;

    fake_server_refuse(scene->server, true);
    scene_open(scene);
    assert_int_equal(read_share(scene, 1, &share), 0);
    assert_int_equal(share.connects, 0);
    WAIT_FOR(read_share(scene, 1, &share) == 0 && share.attempts_failed >= 2);
    assert_int_equal(share.losses, 0);
}

static void test_connections_that_are_not_there(void **state)
{
    static const uint64_t numbers[] = {0, 2, UINT64_MAX};
    scene_t *scene = *state;
    const shoal_stats_t nothing = SHOAL_STATS_INIT;
    shoal_stats_t share;

    scene_open_ready(scene);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        memset(&share, 0x5a, sizeof share);
        assert_int_equal(read_share(scene, numbers[i], &share), SHOAL_ENOENT);
        assert_memory_equal(&share, &nothing, sizeof share);
    }
    assert_int_equal(read_share(scene, 1, NULL), SHOAL_EINVAL);
    assert_int_equal(read_share(scene, 2, NULL), SHOAL_EINVAL);
}

/* A caller of another version knows fewer fields, or more. */
static void test_callers_of_other_versions(void **state)
{
    static const size_t no_sizes[] = {0, offsetof(shoal_stats_t, commands), 65537,
                                      SIZE_MAX};
    struct {
        shoal_stats_t known;
        uint64_t later[4];
    } stats, before;
    const size_t fewer = offsetof(shoal_stats_t, replies);
    scene_t *scene = *state;

    scene_open_ready(scene);
    scene_check_works(scene);
    WAIT_FOR(scene_idle_stats(scene).completed == 1);

    memset(&stats, 0x5a, sizeof stats);
    memcpy(&before, &stats, sizeof stats);
    stats.known.size = fewer;
    assert_int_equal(shoal_stats_get_connection(scene->client, 1, &stats.known), 0);
    assert_int_equal(stats.known.size, fewer);
    assert_int_equal(stats.known.completed, 1);
    assert_memory_equal((char *)&stats + fewer, (char *)&before + fewer,
                        sizeof stats - fewer);

    stats.known.size = sizeof stats;
    assert_int_equal(shoal_stats_get_connection(scene->client, 1, &stats.known), 0);
    assert_int_equal(stats.known.size, sizeof stats);
    assert_int_equal(stats.known.commands, 0);
    assert_int_equal(stats.known.connects, 1);
    for (size_t i = 0; i < sizeof stats.later / sizeof *stats.later; i++)
        assert_int_equal(stats.later[i], 0);

    for (size_t i = 0; i < sizeof no_sizes / sizeof *no_sizes; i++) {
        stats.known.size = no_sizes[i];
        memcpy(&before, &stats, sizeof stats);
        assert_int_equal(shoal_stats_get(scene->client, &stats.known), SHOAL_EINVAL);
        assert_int_equal(shoal_stats_get_connection(scene->client, 1, &stats.known),
                         SHOAL_EINVAL);
        assert_memory_equal(&stats, &before, sizeof stats);
    }
}

/* ---- readiness ---- */

/* What another thread is told about readiness, while the loop tells what comes after the
 * loss. */
typedef struct asker {
    shoal_client_t *client;
    int rc;
    _Atomic unsigned asked;
} asker_t;

static void *ask(void *data)
{
    asker_t *asker = data;

    asker->rc = shoal_client_wait_ready(asker->client, 0);
    return NULL;
}

static void ask_when_retrying(shoal_client_t *client, const shoal_event_t *event,
                              void *data)
{
    asker_t *asker = data;
    pthread_t thread;

    if (shoal_event_kind(event) != SHOAL_EVENT_RETRYING || asker->asked)
        return;
    asker->client = client;
    assert_int_equal(pthread_create(&thread, NULL, ask, asker), 0);
    pthread_join(thread, NULL);
    asker->asked++;
}

/* Once a loss was told, the client is not ready. */
static void test_a_lost_connection_is_not_ready(void **state)
{
    scene_t *scene = *state;
    asker_t *asker = scene_alloc(scene, sizeof *asker);

    asker->rc = 1;
    assert_int_equal(
        shoal_options_set_on_event(scene->options, ask_when_retrying, asker), 0);
    scene_open(scene);
    assert_int_equal(shoal_client_wait_ready(scene->client, WAITING_US_MAX), 0);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR(asker->asked > 0);
    assert_int_equal(asker->rc, SHOAL_ETIMEOUT);
    scene_close(scene, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_events_name_one_connection),
        SCENE_TEST(test_a_node_of_a_cluster_is_named_so),
        SCENE_TEST(test_a_unix_socket_is_named_by_its_path),
        SCENE_TEST(test_a_server_that_refuses_is_named),
        SCENE_TEST(test_a_held_event_keeps_its_words),
        SCENE_TEST(test_a_connection_has_its_share),
        SCENE_TEST(test_a_connection_before_it_is_made),
        SCENE_TEST(test_connections_that_are_not_there),
        SCENE_TEST(test_callers_of_other_versions),
        SCENE_TEST(test_a_lost_connection_is_not_ready),
    };
    return cmocka_run_group_tests_name("connections", tests, NULL, NULL);
}
