/* SPDX-License-Identifier: MIT */

/* One node's trouble stays one node's: while a primary is dead or stopped, callers of the
 * other slots go on.  The nodes serve their slots also while others have no owner. */

#include "support/cluster_load.h"

#include <string.h>

/* Of the others, compared with that of a client that knows nothing of a cluster: then it does
 * not matter what else the machine does. */
#define PACE_MIN 0.5
#define BEFORE_US 500000
#define WINDOW 8

#define WORST 1e9    /* none was looked at */
static double worst; /* of the paces, compared with the one before */

/* ---- pace ---- */

#define CONTROL_WINDOW 64

static shoal_client_t *control;
static _Atomic size_t control_taken;
static _Atomic bool control_is_over;

static void on_control(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)result;
    control_taken++;
    if (!control_is_over)
        (void)shoal_client_submitf(client, on_control, data, "PING");
}

static void begin_control(const cluster_rig_t *rig)
{
    control_is_over = false;
    control = live_open(live_options_of_port(cluster_rig_port(rig, 2)));
    for (unsigned i = 0; i < CONTROL_WINDOW; i++)
        assert_int_equal(shoal_client_submitf(control, on_control, NULL, "PING"), 0);
}

static void end_control(void)
{
    control_is_over = true;
    live_finish(control);
}

/* Numbers of the others, and PINGs of the control, that were taken. */
typedef struct pace {
    size_t others, control;
} pace_t;

static pace_t look(const cluster_load_t *load)
{
    return (pace_t){cluster_load_chosen(load), control_taken};
}

/* How many numbers of the others for each PING of the control. */
static double pace_since(const cluster_load_t *load, const pace_t *since)
{
    pace_t now = look(load);

    return (double)(now.others - since->others) /
           (double)(now.control - since->control + 1);
}

static double pace_before(const cluster_load_t *load)
{
    pace_t since = look(load);

    waiting_sleep_us(BEFORE_US);
    return pace_since(load, &since);
}

static void check_pace(const cluster_load_t *load, double before, const pace_t *since)
{
    double ratio = pace_since(load, since) / before;

    print_message("  the others: %.2f of their pace (%.3f of the control's)\n", ratio,
                  before);
    assert_true(ratio >= PACE_MIN);
    worst = ratio < worst ? ratio : worst;
}

/* ---- tests ---- */

static cluster_load_t *begin(bool has_proxies)
{
    cluster_rig_t *rig = cluster_rig_start_as(
        &(cluster_plan_t){.serves_parts = true, .has_proxies = has_proxies});

    if (!rig)
        skip();
    worst = WORST;
    begin_control(rig);
    return cluster_load_begin(rig, WINDOW);
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

    if (worst < WORST)
        print_message("the worst pace was %.2f\n", worst);
    check_fates(load, &tally);
    end_control();
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

/* Until its replica has its place, and the first of its callers goes on. */
static void see_failover(cluster_load_t *load, size_t node)
{
    size_t caller = cluster_load_caller_of(load, 1, node);

    WAIT_FOR(cluster_rig_is_primary(load->rig, 3 - node));
    cluster_load_note_wait(load, caller, waiting_now_us());
    cluster_load_await_progress(load, 10);
}

static void others_go_on_while_a_primary_is_dead(void **state)
{
    cluster_load_t *load = begin(false);
    (void)state;

    for (size_t round = live_scaled(1); round > 0; round--) {
        size_t dead = cluster_rig_is_primary(load->rig, 0) ? 0 : 3;
        cluster_load_choose(load, 1, dead);
        double before = pace_before(load);
        pace_t since = look(load);
        redis_process_kill(load->rig->nodes[dead].server);
        see_failover(load, dead);
        check_pace(load, before, &since);
        assert_true(redis_process_restart(load->rig->nodes[dead].server));
        cluster_rig_await_calm(load->rig);
        begin_anew(load, round);
    }
    finish(load);
}

/* It wakes up before anybody takes it for dead. */
static void others_go_on_while_a_primary_pauses(void **state)
{
    cluster_load_t *load = begin(false);
    (void)state;

    cluster_load_choose(load, 1, 0);
    for (size_t round = live_scaled(2); round > 0; round--) {
        double before = pace_before(load);
        pace_t since = look(load);
        redis_process_pause(load->rig->nodes[0].server);
        waiting_sleep_us(300000);
        check_pace(load, before, &since);
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

    cluster_load_choose(load, 1, 0);
    double before = pace_before(load);
    pace_t since = look(load);
    fault_proxy_carry(proxy, FAULT_TO_SERVER, &slow);
    fault_proxy_carry(proxy, FAULT_TO_CLIENT, &slow);
    for (size_t round = live_scaled(5); round > 0; round--) {
        fault_proxy_cut(proxy, FAULT_TO_SERVER,
                        round % 2 ? FAULT_END_RESET : FAULT_END_FIN);
        WAIT_FOR(load->losses > losses);
        losses = load->losses;
        waiting_sleep_us(100000);
        cluster_load_await_progress(load, 1);
    }
    check_pace(load, before, &since);
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

    cluster_load_choose(load, 1, stopped);
    double before = pace_before(load);
    pace_t since = look(load);
    until_us = waiting_now_us() + time_us;
    redis_process_pause(rig->nodes[stopped].server);
    see_failover(load, stopped);
    while (waiting_now_us() < until_us)
        waiting_sleep_us(10000);
    check_pace(load, before, &since);
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
    cluster_load_t *load = begin(false);
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
