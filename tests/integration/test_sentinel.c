/* SPDX-License-Identifier: MIT */
/* Sentinels exchange the primary while commands run.  A client that knows the sentinels
 * follows, and writes to no other server than one that is the primary: see
 * support/sentinel_load.h.
 *
 * Each kind of failover happens once, or SHOAL_TEST_SCALE times: 200 of each take some
 * hours. */
#include "support/sentinel_load.h"

#include <stdio.h>

static void test_finds_the_primary(void **state)
{
    sentinel_rig_t *rig = sentinel_rig_start_patient();

    (void)state;
    if (!rig)
        skip();
    sentinel_load_t *load = sentinel_load_begin(rig, 1);
    assert_int_equal(load->changed, 1);
    sentinel_tally_t tally = sentinel_load_end(load);
    assert_int_equal(tally.lost + tally.unknown, 0);
}

static void follow(void (*strike)(sentinel_load_t *load, size_t primary),
                   void (*heal)(sentinel_load_t *load, size_t primary))
{
    sentinel_load_follow(sentinel_rig_start(), &(sentinel_failure_t){strike, heal});
}

/* ---- one server fails, or is exchanged ---- */

static void exchange(sentinel_load_t *load, size_t primary)
{
    (void)primary;
    sentinel_rig_failover(load->rig);
}

static void leave(sentinel_load_t *load, size_t primary)
{
    (void)load, (void)primary;
}

static void test_follows_a_failover(void **state)
{
    (void)state;
    follow(exchange, leave);
}

static void kill_server(sentinel_load_t *load, size_t primary)
{
    redis_process_kill(load->rig->servers[primary]);
}

static void restart_server(sentinel_load_t *load, size_t primary)
{
    assert_true(redis_process_restart(load->rig->servers[primary]));
}

static void test_follows_a_killed_primary(void **state)
{
    (void)state;
    follow(kill_server, restart_server);
}

static void pause_server(sentinel_load_t *load, size_t primary)
{
    redis_process_pause(load->rig->servers[primary]);
}

static void resume_server(sentinel_load_t *load, size_t primary)
{
    redis_process_resume(load->rig->servers[primary]);
}

static void test_follows_a_stopped_primary(void **state)
{
    (void)state;
    follow(pause_server, resume_server);
}

/* ---- no event tells of it ---- */

/* An operator has the sentinels watch another server, and the epoch begins anew.  A sentinel
 * that waits for its turn may make the next primary a replica again. */
static void monitor_the_next(sentinel_load_t *load, size_t primary)
{
    size_t next = (primary + 1) % RIG_SERVERS;

    sentinel_rig_tell(load->rig->servers[next], "REPLICAOF NO ONE", "+OK");
    sentinel_rig_monitor(load->rig, next);
    sentinel_rig_tell(load->rig->servers[next], "REPLICAOF NO ONE", "+OK");
}

static void make_replicas(sentinel_load_t *load, size_t primary)
{
    size_t next = (primary + 1) % RIG_SERVERS;
    const sentinel_rig_t *rig = load->rig;
    char command[64];

    snprintf(command, sizeof command, "REPLICAOF %s %d", rig->hosts[next],
             redis_process_port(rig->servers[next]));
    for (size_t i = 0; i < RIG_SERVERS; i++)
        if (i != next)
            sentinel_rig_tell(rig->servers[i], command, "+OK");
}

static void test_follows_an_operator(void **state)
{
    (void)state;
    follow(monitor_the_next, make_replicas);
}

/* The sentinels' users may not subscribe: the questions every 5 s are enough. */
static void exchange_in_silence(sentinel_load_t *load, size_t primary)
{
    for (size_t i = 0; i < RIG_SENTINELS; i++) {
        sentinel_rig_tell(load->rig->sentinels[i],
                          "ACL SETUSER default -subscribe -psubscribe", "+OK");
        sentinel_rig_tell(load->rig->sentinels[i], "CLIENT KILL TYPE pubsub", ":");
    }
    exchange(load, primary);
}

static void test_follows_without_events(void **state)
{
    (void)state;
    follow(exchange_in_silence, leave);
}

/* ---- sentinels fail ---- */

/* They come and go; the primary that works goes on. */
static void exchange_after_silence(sentinel_load_t *load, size_t primary)
{
    unsigned silent = load->silent, era = load->era;

    for (size_t i = 0; i < RIG_SENTINELS; i++)
        redis_process_kill(load->rig->sentinels[i]);
    WAIT_FOR(load->silent == silent + 1);
    assert_int_equal(load->era, era);
    sentinel_load_count_anew(load);
    sentinel_load_await_progress(load, 10);
    for (size_t i = 0; i < RIG_SENTINELS; i++)
        sentinel_rig_restart_sentinel(load->rig, i);
    exchange(load, primary);
}

static void test_goes_on_without_sentinels(void **state)
{
    (void)state;
    follow(exchange_after_silence, leave);
}

/* One sentinel does not hear of a failover ... */
static void exchange_behind_its_back(sentinel_load_t *load, size_t primary)
{
    redis_process_kill(load->rig->sentinels[2]);
    exchange(load, primary);
}

/* ... and is the only one that is left.  Sentinels of a busy machine may exchange the primary
 * back: then it does not name a former one, and did not hear of one more. */
static size_t leave_one_with_an_old_view(const sentinel_rig_t *rig)
{
    size_t primary = sentinel_rig_await_primary(rig);

    for (;;) {
        for (size_t i = 0; i < 2; i++)
            redis_process_kill(rig->sentinels[i]);
        sentinel_rig_await_silence(rig, primary);
        sentinel_rig_restart_sentinel(rig, 2);
        WAIT_FOR(sentinel_rig_primary(rig, 2) != RIG_SERVERS);
        if (sentinel_rig_primary(rig, 2) != primary)
            return primary;
        redis_process_kill(rig->sentinels[2]);
        for (size_t i = 0; i < 2; i++)
            sentinel_rig_restart_sentinel(rig, i);
        sentinel_rig_failover(rig);
        primary = sentinel_rig_await_primary(rig);
    }
}

/* It names a former primary, with an older epoch.  It is asked, and not believed; what the
 * others said may serve one more dial. */
static void leave_it_alone(sentinel_load_t *load, size_t former)
{
    const sentinel_rig_t *rig = load->rig;
    size_t primary = leave_one_with_an_old_view(rig);
    unsigned changed, unnamed;

    (void)former;
    WAIT_FOR(sentinel_load_leads_to(load, primary));
    changed = load->changed;
    unnamed = load->unnamed;
    WAIT_FOR((sentinel_rig_tell(rig->servers[primary], "CLIENT KILL TYPE normal", ":"),
              load->unnamed > unnamed));
    for (size_t i = 0; i < 2; i++)
        sentinel_rig_restart_sentinel(rig, i);
    WAIT_FOR(sentinel_load_leads_to(load, primary));
    assert_int_equal(load->changed, changed);
}

static void test_stays_although_one_was_cut_off(void **state)
{
    (void)state;
    follow(exchange_behind_its_back, leave_it_alone);
}

/* ---- reads ---- */

static shoal_client_t *reader;

static void read_often(void)
{
    for (int i = 0; i < 100; i++) {
        shoal_result_t *result = NULL;
        assert_int_equal(shoal_client_callf(reader, &result, "LLEN l0"), 0);
        assert_int_equal(shoal_result_status(result), 0);
        assert_null(shoal_result_error(result));
        shoal_result_release(result);
    }
}

/* While there is no primary, and nobody who could make one. */
static void read_without_a_primary(sentinel_load_t *load, size_t primary)
{
    const sentinel_rig_t *rig = load->rig;

    for (size_t i = 0; i < RIG_SENTINELS; i++)
        redis_process_pause(rig->sentinels[i]);
    read_often(); /* from now on it knows a replica */
    kill_server(load, primary);
    read_often();
    for (size_t i = 0; i < RIG_SENTINELS; i++)
        redis_process_resume(rig->sentinels[i]);
}

static void restart_and_read(sentinel_load_t *load, size_t primary)
{
    restart_server(load, primary);
    read_often();
}

static void test_reads_go_on_at_replicas(void **state)
{
    sentinel_rig_t *rig = sentinel_rig_start();
    shoal_options_t *options;

    (void)state;
    if (!rig)
        skip();
    options = sentinel_rig_options(rig, RIG_SENTINELS);
    assert_int_equal(shoal_options_set_read_from(options, SHOAL_READ_REPLICA), 0);
    assert_int_equal(shoal_options_set_timeout_us(options, 60000000), 0);
    reader = live_open(options);
    read_often();
    sentinel_load_follow(
        rig, &(sentinel_failure_t){read_without_a_primary, restart_and_read});
    assert_int_equal(shoal_client_close_and_wait(reader, 0), 0);
    shoal_client_release(reader);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_finds_the_primary),
    cmocka_unit_test(test_follows_a_failover),
    cmocka_unit_test(test_follows_a_killed_primary),
    cmocka_unit_test(test_follows_a_stopped_primary),
    cmocka_unit_test(test_follows_an_operator),
    cmocka_unit_test(test_follows_without_events),
    cmocka_unit_test(test_goes_on_without_sentinels),
    cmocka_unit_test(test_stays_although_one_was_cut_off),
    cmocka_unit_test(test_reads_go_on_at_replicas),
};

SENTINEL_LOAD_MAIN("integration/sentinel", tests)
