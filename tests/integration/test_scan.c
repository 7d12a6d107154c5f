/* SPDX-License-Identifier: MIT */

/* Scans of real servers: what is there all the time comes at least once, whatever else changes
 * meanwhile; and the scan ends. */

#include "resp/key_slot.h"
#include "support/cluster_rig.h"
#include "support/live.h"
#include "support/redis_process.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 1200 /* that stay */
#define COUNT 50
#define PAGES_MAX 1000

static _Atomic unsigned answers;
static unsigned seen[KEYS];

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client, (void)data;
    if (!shoal_result_error(result))
        answers++;
}

/* SET or DEL of so many keys. */
static void change(shoal_client_t *client, const char *format, unsigned first,
                   unsigned count)
{
    unsigned before = answers;

    for (unsigned i = first; i < first + count; i++)
        assert_int_equal(shoal_client_submitf(client, on_result, NULL, format, i), 0);
    WAIT_FOR(answers == before + count);
}

static shoal_scan_t *begin(shoal_client_t *client)
{
    shoal_scan_options_t options = SHOAL_SCAN_OPTIONS_INIT;
    shoal_scan_t *scan;

    memset(seen, 0, sizeof seen);
    options.match = "stay:*";
    options.match_bytes = strlen(options.match);
    options.count = COUNT;
    assert_int_equal(shoal_scan_new(client, &options, &scan), 0);
    return scan;
}

static void note(const shoal_result_t *page)
{
    const shoal_reply_t *found = shoal_result_reply(page);

    if (shoal_result_error(page))
        fail_msg("%s", shoal_result_error(page));
    for (size_t i = 0; i < shoal_reply_count(found); i++) {
        const char *key = shoal_reply_string(shoal_reply_at(found, i), &(size_t){0});
        unsigned number = (unsigned)strtoul(key + strlen("stay:"), NULL, 10);
        assert_true(number < KEYS);
        seen[number]++;
    }
}

/* The next page; false: the scan is over.  ret_node: who had it. */
static bool next(shoal_scan_t *scan, char ret_node[64])
{
    shoal_result_t *page;
    int rc = shoal_scan_next(scan, 0, &page);

    assert_true(rc >= 0);
    if (rc == 0) {
        snprintf(ret_node, 64, "%s", shoal_result_node(page));
        note(page);
    }
    shoal_result_release(page);
    return rc == 0;
}

static void check_all_seen(void)
{
    unsigned total = 0;

    for (unsigned i = 0; i < KEYS; i++) {
        if (seen[i] == 0)
            fail_msg("stay:%u was there, and did not come", i);
        total += seen[i];
    }
    print_message("%d keys came %u times\n", KEYS, total);
}

/* ---- a cluster ---- */

static size_t owners[SHOAL__SLOTS];

static unsigned slot_of(unsigned number, char ret_key[16])
{
    int bytes = snprintf(ret_key, 16, "stay:%u", number);

    return shoal__key_slot((shoal__bytes_t){ret_key, (size_t)bytes});
}

static size_t node_of(const cluster_rig_t *rig, const char *name)
{
    char other[64];

    for (size_t i = 0; i < rig->count; i++) {
        snprintf(other, sizeof other, "127.0.0.1:%d", cluster_rig_client_port(rig, i));
        if (strcmp(name, other) == 0)
            return i;
    }
    fail_msg("%s is no node", name);
    return 0;
}

/* The slot of a key that has not come, of another node than this one. */
static unsigned find_unseen(size_t other, char ret_key[16])
{
    for (unsigned i = 0; i < KEYS; i++) {
        unsigned slot = slot_of(i, ret_key);
        if (seen[i] == 0 && owners[slot] != other)
            return slot;
    }
    fail_msg("all have come");
    return 0;
}

/* Keys that have not come go where everything has come already.  All nodes hear of it: else a
 * replica that takes over may claim the slot, and the keys are gone. */
static void move_behind(const cluster_rig_t *rig, size_t to)
{
    char key[16];
    unsigned slot = find_unseen(to, key);

    cluster_rig_move(rig, slot, owners[slot], to);
    cluster_rig_await_owner(rig, key, to);
    owners[slot] = to;
}

/* The same, but the slot stays: the move has not ended when the scan has. */
static void move_half(const cluster_rig_t *rig, size_t to)
{
    char key[16];
    unsigned slot = find_unseen(to, key);

    cluster_rig_begin_move(rig, slot, owners[slot], to);
    while (cluster_rig_move_keys(rig, slot, owners[slot], to, 1))
        continue;
}

static void slots_move_while_they_are_scanned(void **state)
{
    cluster_rig_t *rig = cluster_rig_start_patient();
    char first[64] = "", node[64];
    unsigned pages = 0, later = 0;
    size_t to = 0, added;
    (void)state;

    if (!rig)
        skip();
    for (unsigned i = 0; i < SHOAL__SLOTS; i++)
        owners[i] = cluster_rig_first_owner(i);
    shoal_client_t *client = live_open(cluster_rig_options(rig, 0));
    change(client, "SET stay:%u x", 0, KEYS);
    shoal_scan_t *scan = begin(client);
    added = cluster_rig_add(rig);
    cluster_rig_join(rig, added);
    while (next(scan, node)) {
        assert_true(++pages < PAGES_MAX);
        if (pages == 1) {
            snprintf(first, sizeof first, "%s", node);
            to = node_of(rig, first);
        }
        if (strcmp(first, node) == 0)
            continue;
        later++;
        if (later <= 4)
            move_behind(rig, to);
        else if (later == 5)
            move_behind(rig, added);
        else if (later == 6)
            move_half(rig, to);
        else if (later == 7) /* the one that is being scanned */
            cluster_rig_failover(rig, node_of(rig, node) + CLUSTER_PRIMARIES,
                                 " TAKEOVER");
    }
    check_all_seen();
    assert_true(later > 7);
    shoal_scan_free(scan);
    live_finish(client);
    cluster_rig_stop(rig);
}

/* ---- one server ---- */

static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "no",
                                      NULL};

/* The server's table grows and shrinks; then it is another server, with the same keys. */
static void a_server_changes_while_it_is_scanned(void **state)
{
    redis_process_t *redis = redis_process_start(durable);
    unsigned pages = 0;
    char node[64];
    (void)state;

    if (!redis)
        skip();
    shoal_client_t *client = live_open(live_options_of_port(redis_process_port(redis)));
    change(client, "SET stay:%u x", 0, KEYS);
    shoal_scan_t *scan = begin(client);
    while (next(scan, node)) {
        assert_true(++pages < PAGES_MAX);
        if (pages <= 10)
            change(client, "SET go:%u x", pages * 500, 500);
        else if (pages <= 20)
            change(client, "DEL go:%u", (pages - 10) * 500, 500);
        if (pages == 15) {
            redis_process_kill(redis);
            assert_true(redis_process_restart(redis));
        }
    }
    check_all_seen();
    assert_true(pages > 20);
    shoal_scan_free(scan);
    live_finish(client);
    redis_process_stop(redis);
}

/* ---- the elements of a key ---- */

typedef struct walk {
    shoal_scan_t *scan;
    size_t found;
    _Atomic bool is_over;
} walk_t;

static void on_page(shoal_client_t *client, const shoal_result_t *page, void *data)
{
    walk_t *walk = data;
    (void)client;

    if (page && !shoal_result_error(page)) {
        walk->found += shoal_reply_count(shoal_result_reply(page));
        if (shoal_scan_submit(walk->scan, 0, on_page, walk) == 0)
            return;
    }
    walk->is_over = true;
}

static void elements_of_each_kind(void **state)
{
    static const struct {
        const char *add;
        shoal_scan_kind_t kind;
        unsigned words; /* for each element */
    } rows[] = {{"HSET key f%u v", SHOAL_SCAN_HASH, 2},
                {"SADD key m%u", SHOAL_SCAN_SET, 1},
                {"ZADD key 1 m%u", SHOAL_SCAN_SORTED_SET, 2}};
    redis_process_t *redis = redis_process_start(NULL);
    (void)state;

    if (!redis)
        skip();
    shoal_client_t *client = live_open(live_options_of_port(redis_process_port(redis)));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shoal_scan_options_t options = SHOAL_SCAN_OPTIONS_INIT;
        walk_t walk = {0};
        change(client, rows[i].add, 0, KEYS);
        options.kind = rows[i].kind;
        options.key = "key";
        options.key_bytes = 3;
        assert_int_equal(shoal_scan_new(client, &options, &walk.scan), 0);
        assert_int_equal(shoal_scan_submit(walk.scan, 0, on_page, &walk), 0);
        WAIT_FOR(walk.is_over);
        assert_in_range(walk.found, KEYS * rows[i].words, 2 * KEYS * rows[i].words);
        shoal_scan_free(walk.scan);
        live_ask(client, "DEL key");
    }
    live_finish(client);
    redis_process_stop(redis);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_move_while_they_are_scanned),
        cmocka_unit_test(a_server_changes_while_it_is_scanned),
        cmocka_unit_test(elements_of_each_kind),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
