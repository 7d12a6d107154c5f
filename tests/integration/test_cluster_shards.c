/* SPDX-License-Identifier: MIT */

/* One node's trouble stays one node's: while a primary is dead or stopped, callers of the
 * other slots go on.  The nodes serve their slots also while others have no owner.
 *
 * Nothing but the test ends a trouble, however busy the machine is: no node takes another one
 * for dead, and a replica takes the place of its primary when it is told to.  So the callers go
 * on during the trouble, or they never do.  How long they were silent is printed. */

#include "support/cluster_load.h"

#include <string.h>

#define BEFORE_US 300000
#define WINDOW 8
#define WHILE 100 /* numbers of each of the others that are taken during a trouble */

static uint64_t worst_us; /* silence of the others */

/* ---- pace ---- */

/* Numbers of the others that were taken. */
typedef struct pace {
    uint64_t at_us;
    size_t taken;
} pace_t;

static pace_t look(const cluster_load_t *load)
{
    return (pace_t){waiting_now_us(), cluster_load_chosen(load)};
}

static double pace_since(const cluster_load_t *load, const pace_t *since)
{
    pace_t now = look(load);

    return (double)(now.taken - since->taken) / (double)(now.at_us - since->at_us);
}

/* Their pace before; from now on their silence counts. */
static double begin_look(cluster_load_t *load, size_t node)
{
    cluster_load_choose(load, 1, node);
    pace_t since = look(load);
    waiting_sleep_us(BEFORE_US);
    double pace = pace_since(load, &since);
    cluster_load_choose(load, 1, node);
    return pace;
}

static void end_look(const cluster_load_t *load, double before, const pace_t *since)
{
    double ratio = pace_since(load, since) / before;
    uint64_t silence_us = cluster_load_silence_us(load);

    print_message("  the others: %.2f of their pace, and silent for %.0f ms at most\n",
                  ratio, (double)silence_us / 1e3);
    worst_us = silence_us > worst_us ? silence_us : worst_us;
}

/* ---- tests ---- */

static cluster_load_t *begin_as(cluster_plan_t plan)
{
    plan.serves_parts = true;
    cluster_rig_t *rig = cluster_rig_start_as(&plan);

    if (!rig)
        skip();
    worst_us = 0;
    return cluster_load_begin(rig, WINDOW);
}

static cluster_load_t *begin(bool has_proxies)
{
    return begin_as((cluster_plan_t){.is_patient = true, .has_proxies = has_proxies});
}

static void check_fates(const cluster_load_t *load, const cluster_tally_t *tally)
{
    assert_int_equal(tally->not_executed, 0);
    assert_int_equal(tally->errors, 0);
    assert_int_equal(tally->inversions, 0);
    assert_true(tally->unknown <= (size_t)WINDOW * load->plan.callers * load->losses);
}

static void finish(cluster_load_t *load)
{
    cluster_tally_t tally = cluster_load_stop(load);

    print_message("the longest silence of the others was %.0f ms\n",
                  (double)worst_us / 1e3);
    check_fates(load, &tally);
    cluster_load_end(load);
}

/* Lists do not grow for ever. */
static void begin_anew(cluster_load_t *load, size_t round)
{
    if (round % 10 != 0)
        return;
    cluster_tally_t tally = cluster_load_stop(load);
    check_fates(load, &tally);
    cluster_load_go_on(load);
}

/* The others go on; then its replica has its place, and this caller of its goes on. */
static void see_failover(cluster_load_t *load, size_t node, size_t caller)
{
    cluster_load_await_chosen(load, WHILE);
    cluster_rig_failover(load->rig, 3 - node, " TAKEOVER");
    cluster_load_note_wait(load, caller, waiting_now_us());
    cluster_load_await_progress(load, 10);
}

static void others_go_on_while_a_primary_is_dead(void **state)
{
    cluster_load_t *load = begin(false);
    (void)state;

    for (size_t round = live_scaled(1); round > 0; round--) {
        size_t dead = cluster_rig_is_primary(load->rig, 0) ? 0 : 3;
        size_t caller = cluster_load_caller_of(load, 1, dead);
        double before = begin_look(load, dead);
        pace_t since = look(load);
        redis_process_kill(load->rig->nodes[dead].server);
        see_failover(load, dead, caller);
        end_look(load, before, &since);
        assert_true(redis_process_restart(load->rig->nodes[dead].server));
        cluster_rig_await_calm(load->rig);
        begin_anew(load, round);
    }
    finish(load);
}

static void others_go_on_while_a_primary_pauses(void **state)
{
    cluster_load_t *load = begin(false);
    (void)state;

    for (size_t round = live_scaled(2); round > 0; round--) {
        double before = begin_look(load, 0);
        pace_t since = look(load);
        redis_process_pause(load->rig->nodes[0].server);
        cluster_load_await_chosen(load, WHILE);
        end_look(load, before, &since);
        redis_process_resume(load->rig->nodes[0].server);
        cluster_load_await_progress(load, 10);
        begin_anew(load, round);
    }
    finish(load);
}

/* Its network is slow, and connections to it are cut again and again. */
static void others_go_on_while_the_way_to_a_primary_is_bad(void **state)
{
    cluster_load_t *load = begin(true);
    fault_proxy_t *proxy = load->rig->nodes[0].proxy;
    const fault_carriage_t slow = {.delay_us = 30000, .jitter_us = 20000}, fast = {0};
    unsigned losses = load->losses;
    (void)state;

    double before = begin_look(load, 0);
    pace_t since = look(load);
    fault_proxy_carry(proxy, FAULT_TO_SERVER, &slow);
    fault_proxy_carry(proxy, FAULT_TO_CLIENT, &slow);
    for (size_t round = live_scaled(5); round > 0; round--) {
        fault_proxy_cut(proxy, FAULT_TO_SERVER,
                        round % 2 ? FAULT_END_RESET : FAULT_END_FIN);
        WAIT_FOR(load->losses > losses);
        losses = load->losses;
        cluster_load_await_chosen(load, WHILE);
        cluster_load_await_progress(load, 1);
    }
    end_look(load, before, &since);
    fault_proxy_carry(proxy, FAULT_TO_SERVER, &fast);
    fault_proxy_carry(proxy, FAULT_TO_CLIENT, &fast);
    finish(load);
}

/* A primary is stopped until long after its replica has its place.  Awake, it executes what
 * it had read; nobody hears of it, and no slot goes back. */
static void stop_for(cluster_load_t *load, uint64_t time_us)
{
    cluster_rig_t *rig = load->rig;
    size_t stopped = cluster_rig_is_primary(rig, 0) ? 0 : 3;
    uint64_t until_us;

    size_t caller = cluster_load_caller_of(load, 1, stopped);
    double before = begin_look(load, stopped);
    pace_t since = look(load);
    until_us = waiting_now_us() + time_us;
    redis_process_pause(rig->nodes[stopped].server);
    see_failover(load, stopped, caller);
    while (waiting_now_us() < until_us)
        waiting_sleep_us(10000);
    end_look(load, before, &since);
    unsigned changes = load->changes;
    redis_process_resume(rig->nodes[stopped].server);
    WAIT_FOR(!cluster_rig_is_primary(rig, stopped));
    cluster_rig_await_calm(rig);
    cluster_load_await_progress(load, 10);
    assert_int_equal(load->changes, changes);
}

static void others_go_on_while_a_primary_is_stopped(void **state)
{
    cluster_load_t *load = begin(false);
    (void)state;

    for (size_t round = live_scaled(1); round > 0; round--) {
        stop_for(load, round % 10 == 0 ? 30000000 : 3000000);
        begin_anew(load, round);
    }
    finish(load);
}

/* The third primary alone cannot tell who is dead, and serves nothing after a while.  Awake,
 * all go on as before. */
static void a_minority_is_waited_for(void **state)
{
    cluster_load_t *load = begin_as((cluster_plan_t){0});
    cluster_rig_t *rig = load->rig;
    char answer[80];
    (void)state;

    for (size_t round = live_scaled(1); round > 0; round--) {
        redis_process_pause(rig->nodes[0].server);
        redis_process_pause(rig->nodes[1].server);
        WAIT_FOR(redis_ask(cluster_rig_port(rig, 2), "GET x", answer, sizeof answer) &&
                 strncmp(answer, "-CLUSTERDOWN", 12) == 0);
        waiting_sleep_us(500000);
        assert_false(cluster_rig_is_primary(rig, 3));
        assert_false(cluster_rig_is_primary(rig, 4));
        redis_process_resume(rig->nodes[0].server);
        redis_process_resume(rig->nodes[1].server);
        cluster_rig_await_calm(rig);
        cluster_load_await_progress(load, 10);
        begin_anew(load, round);
    }
    finish(load);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_go_on_while_a_primary_is_dead),
        cmocka_unit_test(others_go_on_while_a_primary_pauses),
        cmocka_unit_test(others_go_on_while_the_way_to_a_primary_is_bad),
        cmocka_unit_test(others_go_on_while_a_primary_is_stopped),
        cmocka_unit_test(a_minority_is_waited_for),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("cluster_shards", tests, NULL, NULL);
}
