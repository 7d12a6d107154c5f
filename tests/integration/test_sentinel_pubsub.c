/* SPDX-License-Identifier: MIT */
/* Subscriptions of a client that knows the sentinels follow the primary: after a failover, of
 * which the sentinels tell; and where nobody tells anything, because probes find that the
 * connection, which works, leads to a server to which nobody publishes any more. */
#include "core/options.h"
#include "support/listener.h"
#include "support/live.h"
#include "support/sentinel_rig.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define PROBE_US 300000 /* the setter wants a second */

typedef struct stage {
    sentinel_rig_t *rig;
    shoal_pubsub_t *pubsub;
    listener_t a;
    _Atomic unsigned gaps, first_reason; /* the reason of the first gap */
} stage_t;

static stage_t stage;

static void note_gap(listener_t *listener, const shoal_item_t *item)
{
    (void)listener;
    if (shoal_item_kind(item) == SHOAL_ITEM_GAP && stage.gaps++ == 0)
        stage.first_reason = shoal_item_reason(item);
}

static bool begin(uint64_t probe_us)
{
    shoal_options_t *options;

    memset(&stage, 0, sizeof stage);
    stage.rig = sentinel_rig_start_patient();
    if (!stage.rig)
        return false;
    options = sentinel_rig_options(stage.rig, RIG_SENTINELS);
    options->probe_us = probe_us;
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 20000), 0);
    assert_int_equal(shoal_pubsub_open(options, &stage.pubsub, NULL), 0);
    shoal_options_free(options);
    stage.a.act = note_gap;
    listener_begin(&stage.a, stage.pubsub, "x");
    listener_wait(&stage.a);
    return true;
}

static void finish(void)
{
    assert_int_equal(listener_stats(stage.pubsub).desyncs, 0);
    listener_end(&stage.a);
    assert_int_equal(shoal_pubsub_close_and_wait(stage.pubsub), 0);
    shoal_pubsub_release(stage.pubsub);
    sentinel_rig_stop(stage.rig);
}

/* A client of this server alone. */
static shoal_client_t *open_client_of(size_t server)
{
    return live_open(
        live_options_of_port(redis_process_port(stage.rig->servers[server])));
}

/* What is published there arrives. */
static void check_follows(shoal_client_t *client, const char *payload)
{
    char text[40], heard[40];

    snprintf(text, sizeof text, "PUBLISH x %s", payload);
    snprintf(heard, sizeof heard, "x=%s ", payload);
    WAIT_FOR((live_ask(client, text), listener_has(&stage.a, heard)));
}

static void test_follows_a_failover(void **state)
{
    shoal_client_t *client;

    (void)state;
    if (!begin(0))
        skip();
    client = open_client_of(0);
    check_follows(client, "before");
    live_finish(client);
    sentinel_rig_failover(stage.rig);
    client = open_client_of(sentinel_rig_await_primary(stage.rig));
    WAIT_FOR(stage.gaps > 0);
    check_follows(client, "behind");
    live_finish(client);
    finish();
}

/* All sentinels stand still while an operator makes another server the primary.  The former one
 * goes on, and answers: nothing but the probes, which the new one takes, shows that it is the
 * wrong one. */
static void test_probes_leave_a_primary_that_was_replaced(void **state)
{
    const redis_process_t *heir;
    shoal_client_t *client;

    (void)state;
    if (!begin(PROBE_US))
        skip();
    heir = stage.rig->servers[1];
    for (size_t i = 0; i < RIG_SENTINELS; i++)
        redis_process_pause(stage.rig->sentinels[i]);
    sentinel_rig_tell(heir, "REPLICAOF NO ONE", "+OK");
    client = open_client_of(1);
    assert_int_equal(shoal_pubsub_set_prober(stage.pubsub, client), 0);
    WAIT_FOR(listener_has(&stage.a, "+x ~ "));
    assert_true(listener_stats(stage.pubsub).probe_restarts > 0);
    for (size_t i = 0; i < RIG_SENTINELS; i++)
        redis_process_resume(stage.rig->sentinels[i]);
    sentinel_rig_monitor(stage.rig, 1);
    sentinel_rig_tell(heir, "REPLICAOF NO ONE", "+OK");
    check_follows(client, "behind");
    assert_int_equal(stage.first_reason, SHOAL_GAP_PROBE);
    assert_int_equal(shoal_pubsub_set_prober(stage.pubsub, NULL), 0);
    live_finish(client);
    finish();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows_a_failover),
        cmocka_unit_test(test_probes_leave_a_primary_that_was_replaced),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("integration/sentinel_pubsub", tests, NULL,
                                       NULL);
}
