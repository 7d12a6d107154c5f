/* SPDX-License-Identifier: MIT */
/* Sentinels exchange the primary while commands run.  A client that knows the sentinels
 * follows, and writes to no other server than one that is the primary: see
 * support/sentinel_load.h.
 *
 * Each kind of failover happens once, or SHOAL_TEST_SCALE times: 200 of each take some
 * hours. */
#include "support/sentinel_load.h"

#define RIG()                                                                          \
    sentinel_rig_start();                                                              \
    (void)state;                                                                       \
    if (!rig)                                                                          \
    skip()

static void test_finds_the_primary(void **state)
{
    sentinel_rig_t *rig = RIG();
    sentinel_load_t *load = sentinel_load_begin(rig, 1);

    assert_int_equal(load->changed, 1);
    sentinel_tally_t tally = sentinel_load_end(load);
    assert_int_equal(tally.lost + tally.unknown, 0);
}

static void exchange(sentinel_rig_t *rig, size_t primary)
{
    (void)primary;
    sentinel_rig_failover(rig);
}

static void leave(sentinel_rig_t *rig, size_t primary)
{
    (void)rig, (void)primary;
}

static void kill_server(sentinel_rig_t *rig, size_t primary)
{
    redis_process_kill(rig->servers[primary]);
}

static void restart_server(sentinel_rig_t *rig, size_t primary)
{
    assert_true(redis_process_restart(rig->servers[primary]));
}

static void pause_server(sentinel_rig_t *rig, size_t primary)
{
    redis_process_pause(rig->servers[primary]);
}

static void resume_server(sentinel_rig_t *rig, size_t primary)
{
    redis_process_resume(rig->servers[primary]);
}

static void test_follows_a_failover(void **state)
{
    (void)state;
    sentinel_load_follow(sentinel_rig_start(), &(sentinel_failure_t){exchange, leave},
                         3);
}

static void test_follows_a_killed_primary(void **state)
{
    (void)state;
    sentinel_load_follow(sentinel_rig_start(),
                         &(sentinel_failure_t){kill_server, restart_server}, 1);
}

static void test_follows_a_stopped_primary(void **state)
{
    (void)state;
    sentinel_load_follow(sentinel_rig_start(),
                         &(sentinel_failure_t){pause_server, resume_server}, 1);
}

/* An operator has the sentinels watch another server: no event tells of it, and the epoch
 * begins anew. */
static void test_follows_an_operator(void **state)
{
    sentinel_rig_t *rig = RIG();
    sentinel_load_t *load = sentinel_load_begin(rig, RIG_SENTINELS);

    sentinel_rig_tell(rig->servers[1], "REPLICAOF NO ONE", "+OK");
    sentinel_rig_monitor(rig, 1);
    WAIT_FOR(sentinel_load_leads_to(load, 1));
    sentinel_load_await_progress(load, 10);
    sentinel_load_end(load);
}

/* The sentinels' users may not subscribe: the questions every 5 s are enough. */
static void test_follows_without_events(void **state)
{
    sentinel_rig_t *rig = RIG();

    for (size_t i = 0; i < RIG_SENTINELS; i++)
        sentinel_rig_tell(rig->sentinels[i], "ACL SETUSER default -subscribe", "+OK");
    sentinel_load_t *load = sentinel_load_begin(rig, 1);
    sentinel_rig_failover(rig);
    sentinel_load_await_switch(load, 0, 1);
    sentinel_load_end(load);
}

/* Sentinels come and go; the primary that works goes on. */
static void test_goes_on_without_sentinels(void **state)
{
    sentinel_rig_t *rig = RIG();
    sentinel_load_t *load = sentinel_load_begin(rig, RIG_SENTINELS);

    for (size_t i = 0; i < RIG_SENTINELS; i++)
        redis_process_kill(rig->sentinels[i]);
    WAIT_FOR(load->silent == 1);
    assert_int_equal(load->era, 1);
    sentinel_load_count_anew(load);
    sentinel_load_await_progress(load, 10);
    for (size_t i = 0; i < RIG_SENTINELS; i++)
        assert_true(redis_process_restart(rig->sentinels[i]));
    sentinel_rig_failover(rig);
    sentinel_load_await_switch(load, 0, 1);
    sentinel_load_end(load);
}

/* One sentinel does not hear of a failover, and is the only one that is left: it names the
 * former primary, with an older epoch. */
static void test_stays_although_one_was_cut_off(void **state)
{
    sentinel_rig_t *rig = RIG();
    sentinel_load_t *load = sentinel_load_begin(rig, RIG_SENTINELS);

    redis_process_kill(rig->sentinels[2]);
    sentinel_rig_failover(rig);
    sentinel_load_await_switch(load, 0, 1);
    size_t primary = sentinel_rig_await_primary(rig, 0);
    WAIT_FOR(sentinel_load_leads_to(load, primary));
    unsigned changed = load->changed; /* a busy server may lose its place at once */
    redis_process_kill(rig->sentinels[0]);
    redis_process_kill(rig->sentinels[1]);
    assert_true(redis_process_restart(rig->sentinels[2]));
    WAIT_FOR(sentinel_rig_primary(rig, 2) == 0);
    /* It is asked, and not believed; what the others said may serve one more dial. */
    WAIT_FOR((sentinel_rig_tell(rig->servers[primary], "CLIENT KILL TYPE normal", ":"),
              load->unnamed > 0));
    for (size_t i = 0; i < 2; i++)
        assert_true(redis_process_restart(rig->sentinels[i]));
    WAIT_FOR(sentinel_load_leads_to(load, primary));
    sentinel_load_await_progress(load, 10);
    assert_int_equal(load->changed, changed);
    sentinel_load_end(load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_the_primary),
        cmocka_unit_test(test_follows_a_failover),
        cmocka_unit_test(test_follows_a_killed_primary),
        cmocka_unit_test(test_follows_a_stopped_primary),
        cmocka_unit_test(test_follows_an_operator),
        cmocka_unit_test(test_follows_without_events),
        cmocka_unit_test(test_goes_on_without_sentinels),
        cmocka_unit_test(test_stays_although_one_was_cut_off),
    };
    return cmocka_run_group_tests_name("integration/sentinel", tests, NULL, NULL);
}
