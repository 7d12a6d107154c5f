/* SPDX-License-Identifier: MIT */

/* Slots move by the hundred while callers push to lists and write pairs of keys: by hand, in
 * each order of the steps, and by the tools that people use. */

#include "support/cluster_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 24 /* with a caller each; about, because some callers share a slot */
#define SLOTS_MAX 1000
#define QUESTIONS_PER_S 10

static size_t owners[CLUSTER_SLOTS]; /* as the test has moved them */

/* slots: as in cluster_load_plan_t. */
static cluster_load_t *begin(cluster_rig_t *rig, unsigned slots)
{
    size_t callers = live_scaled(SLOTS);

    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
        owners[slot] = cluster_rig_first_owner(slot);
    return cluster_load_begin_as(
        rig,
        &(cluster_load_plan_t){.callers = callers < SLOTS_MAX ? callers : SLOTS_MAX,
                               .window = 4,
                               .has_pairs = true,
                               .slots = slots});
}

typedef struct manner {
    unsigned keys; /* at once */
    bool is_source_first;
} manner_t;

static const manner_t at_once = {CLUSTER_KEYS_MAX, false}, key_by_key = {1, false};

/* Order may be lost where the server changes its mind: commands for several keys of a slot
 * whose keys are divided between two nodes are refused (TRYAGAIN), and later ones may overtake
 * them; and if the source is told first, the two name each other until the target is. */
static void expect_no_failure(const cluster_tally_t *tally, const manner_t *manner)
{
    assert_int_equal(tally->unknown, 0);
    assert_int_equal(tally->not_executed, 0);
    assert_int_equal(tally->errors, 0);
    assert_int_equal(tally->lost, 0);
    assert_int_equal(tally->unmarked, 0);
    if (!manner->is_source_first)
        assert_int_equal(tally->inversions, 0);
    if (!manner->is_source_first && manner->keys > 1)
        assert_int_equal(tally->misread, 0);
}

/* What the client asked and dialed meanwhile. */
typedef struct bounds {
    uint64_t since_us, questions, connects;
} bounds_t;

static bounds_t begin_bounds(const cluster_load_t *load)
{
    return (bounds_t){waiting_now_us(), cluster_rig_questions(load->rig),
                      live_stats(load->client).connects};
}

static void check_bounds(const cluster_load_t *load, const bounds_t *former)
{
    bounds_t now = begin_bounds(load);
    uint64_t most = (now.since_us - former->since_us) * QUESTIONS_PER_S / 1000000 + 1;

    print_message("%.1f s: %llu questions, %llu connections\n",
                  (double)(now.since_us - former->since_us) / 1e6,
                  (unsigned long long)(now.questions - former->questions),
                  (unsigned long long)(now.connects - former->connects));
    assert_in_range(now.questions - former->questions, 0, most);
    assert_in_range(now.connects - former->connects, 0, most);
}

/* The next move waits until all know of this one: else a view that is under way may outlive
 * it at one of the two, and then nobody owns the slot. */
static void move_to(const cluster_load_t *load, size_t caller, size_t to,
                    const manner_t *manner)
{
    const cluster_rig_t *rig = load->rig;
    unsigned slot = cluster_load_slot(load, caller);
    size_t from = owners[slot];

    cluster_rig_begin_move(rig, slot, from, to);
    while (cluster_rig_move_keys(rig, slot, from, to, manner->keys))
        continue;
    cluster_rig_end_move(rig, slot, from, to, manner->is_source_first);
    cluster_rig_await_owner(rig, cluster_load_key(load, caller), to);
    owners[slot] = to;
}

static void move(const cluster_load_t *load, size_t caller, const manner_t *manner)
{
    unsigned slot = cluster_load_slot(load, caller);

    move_to(load, caller, (owners[slot] + 1) % CLUSTER_PRIMARIES, manner);
}

/* The slots of all callers go to the next primary. */
static void reshard(cluster_load_t *load, const manner_t *manner)
{
    bounds_t bounds = begin_bounds(load);
    size_t moved = 0;
    bool *is_moved = calloc(CLUSTER_SLOTS, sizeof *is_moved);

    assert_non_null(is_moved);
    for (size_t i = 0; i < load->plan.callers; i++) {
        unsigned slot = cluster_load_slot(load, i);
        if (!is_moved[slot])
            move(load, i, manner);
        moved += !is_moved[slot];
        is_moved[slot] = true;
    }
    free(is_moved);
    cluster_load_await_progress(load, 10);
    print_message("%zu slots, %u key(s) at once, the %s is told first: ", moved,
                  manner->keys, manner->is_source_first ? "source" : "target");
    check_bounds(load, &bounds);
    cluster_tally_t tally = cluster_load_stop(load);
    expect_no_failure(&tally, manner);
}

/* A slot flaps: it goes to and fro between two nodes, every 50 ms at most. */
#define FLAP_US 50000

static void a_slot_flaps_under_load(void **state)
{
    static const manner_t manners[] = {{CLUSTER_KEYS_MAX, false},
                                       {CLUSTER_KEYS_MAX, true}};
    cluster_rig_t *rig = cluster_rig_start_patient();
    (void)state;

    if (!rig)
        skip();
    cluster_load_t *load = begin(rig, 1);
    unsigned slot = cluster_load_slot(load, 0);
    size_t nodes[2] = {owners[slot], (owners[slot] + 1) % CLUSTER_PRIMARIES};
    for (size_t flap = 0; flap < live_scaled(20); flap++) {
        uint64_t since_us = waiting_now_us();
        move_to(load, 0, nodes[(flap + 1) % 2], &manners[flap / 2 % 2]);
        while (waiting_now_us() < since_us + FLAP_US)
            waiting_sleep_us(1000);
    }
    cluster_load_await_progress(load, 10);
    cluster_tally_t tally = cluster_load_stop(load);
    expect_no_failure(&tally, &manners[1]);
    cluster_load_end(load);
}

static void many_slots_move_under_load(void **state)
{
    static const manner_t manners[] = {
        {1, false}, {1, true}, {CLUSTER_KEYS_MAX, false}, {CLUSTER_KEYS_MAX, true}};
    cluster_rig_t *rig = cluster_rig_start_patient();
    (void)state;

    if (!rig)
        skip();
    cluster_load_t *load = begin(rig, 0);
    for (size_t round = (live_scaled(1) + 3) / 4; round > 0; round--)
        for (size_t i = 0; i < sizeof manners / sizeof *manners; i++) {
            reshard(load, &manners[i]);
            cluster_load_go_on(load);
        }
    (void)cluster_load_stop(load);
    cluster_load_end(load);
}

/* Before a key has moved nothing was executed at the other node, but questions were asked
 * there. */
static void moves_are_cancelled_under_load(void **state)
{
    cluster_rig_t *rig = cluster_rig_start_patient();
    (void)state;

    if (!rig)
        skip();
    cluster_load_t *load = begin(rig, 0);
    for (size_t round = live_scaled(1); round > 0; round--)
        for (size_t i = 0; i < load->plan.callers; i++) {
            unsigned slot = cluster_load_slot(load, i);
            size_t to = (owners[slot] + 1) % CLUSTER_PRIMARIES;
            cluster_rig_begin_move(rig, slot, owners[slot], to);
            cluster_rig_cancel_move(rig, slot, owners[slot], to);
        }
    cluster_load_await_progress(load, 10);
    cluster_tally_t tally = cluster_load_stop(load);
    expect_no_failure(&tally, &at_once);
    cluster_load_end(load);
}

/* The keys that have moved are lost to the cluster: people have to know what they do.  What was
 * pushed before is gone, what is pushed later begins again. */
static void moves_are_cancelled_half_way_under_load(void **state)
{
    cluster_rig_t *rig = cluster_rig_start_patient();
    (void)state;

    if (!rig)
        skip();
    cluster_load_t *load = begin(rig, 0);
    for (size_t i = 0; i < load->plan.callers; i += 2) {
        unsigned slot = cluster_load_slot(load, i);
        size_t to = (owners[slot] + 1) % CLUSTER_PRIMARIES;
        cluster_rig_begin_move(rig, slot, owners[slot], to);
        assert_true(
            cluster_rig_move_keys(rig, slot, owners[slot], to, CLUSTER_KEYS_MAX));
        cluster_load_await_progress(load, 2);
        cluster_rig_cancel_move(rig, slot, owners[slot], to);
    }
    cluster_load_await_progress(load, 10);
    cluster_tally_t tally = cluster_load_stop(load);
    assert_int_equal(tally.unknown, 0);
    assert_int_equal(tally.not_executed, 0);
    assert_int_equal(tally.errors, 0);
    assert_int_equal(tally.inversions, 0);
    assert_true(tally.lost > 0);
    cluster_load_end(load);
}

/* ---- redis-cli --cluster ---- */

static char said[65536]; /* by the tool */

static bool run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool run(const char *format, ...)
{
    char words[300], line[400];
    va_list list;

    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    snprintf(line, sizeof line, "redis-cli --cluster %s 2>&1", words);
    FILE *tool = popen(line, "r");
    assert_non_null(tool);
    said[fread(said, 1, sizeof said - 1, tool)] = '\0';
    while (fgetc(tool) != EOF) /* it writes a line for each slot */
        continue;
    return pclose(tool) == 0;
}

/* It must succeed. */
#define RUN(...)                                                                       \
    do {                                                                               \
        if (!run(__VA_ARGS__)) {                                                       \
            puts(said);                                                                \
            fail();                                                                    \
        }                                                                              \
    } while (0)

/* All nodes name the same owners, and no slot is being moved. */
static void await_sound(const cluster_rig_t *rig)
{
    WAIT_FOR(run("check 127.0.0.1:%d", cluster_rig_port(rig, 0)));
}

static void reshard_by_tool(const cluster_rig_t *rig, size_t from, size_t to,
                            unsigned slots)
{
    await_sound(rig);
    RUN("reshard 127.0.0.1:%d --cluster-from %s --cluster-to %s "
        "--cluster-slots %u --cluster-yes",
        cluster_rig_port(rig, 0), rig->nodes[from].id, rig->nodes[to].id, slots);
}

/* A node comes, gets slots, gives them back, and goes. */
static void add_and_remove_by_tool(cluster_rig_t *rig, unsigned slots)
{
    size_t node = cluster_rig_add(rig);

    RUN("add-node 127.0.0.1:%d 127.0.0.1:%d", cluster_rig_port(rig, node),
        cluster_rig_port(rig, 0));
    cluster_rig_await_known(rig);
    cluster_rig_await_calm(rig);
    reshard_by_tool(rig, 2, node, slots);
    reshard_by_tool(rig, node, 2, slots);
    await_sound(rig);
    assert_true(
        run("del-node 127.0.0.1:%d %s", cluster_rig_port(rig, 0), rig->nodes[node].id));
}

/* Somebody began to move a slot, and went home.  (If a key has moved, the tool gives the slot
 * back to its former owner first, where the key comes into being a second time.) */
static void fix_by_tool(const cluster_load_t *load)
{
    const cluster_rig_t *rig = load->rig;
    unsigned slot = cluster_load_slot(load, 0);

    await_sound(rig);
    size_t from = cluster_rig_agreed_owner(rig, cluster_load_key(load, 0));
    size_t to = (from + 1) % CLUSTER_PRIMARIES;
    cluster_rig_begin_move(rig, slot, from, to);
    RUN("fix 127.0.0.1:%d", cluster_rig_port(rig, 0));
}

static void tools_move_slots_under_load(void **state)
{
    cluster_rig_t *rig = system("redis-cli --version >/dev/null 2>&1") == 0
                             ? cluster_rig_start_patient()
                             : NULL;
    unsigned slots = (unsigned)live_scaled(40);
    (void)state;

    if (!rig)
        skip();
    cluster_load_t *load = begin(rig, slots);
    reshard_by_tool(rig, 0, 1, slots);
    await_sound(rig);
    assert_true(
        run("rebalance 127.0.0.1:%d --cluster-threshold 1", cluster_rig_port(rig, 0)));
    fix_by_tool(load);
    add_and_remove_by_tool(rig, slots);
    await_sound(rig);
    cluster_load_await_progress(load, 10);
    cluster_tally_t tally = cluster_load_stop(load);
    expect_no_failure(&tally, &key_by_key);
    cluster_load_end(load);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_flaps_under_load),
        cmocka_unit_test(many_slots_move_under_load),
        cmocka_unit_test(moves_are_cancelled_under_load),
        cmocka_unit_test(moves_are_cancelled_half_way_under_load),
        cmocka_unit_test(tools_move_slots_under_load),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_reshard", tests, NULL, NULL);
}
