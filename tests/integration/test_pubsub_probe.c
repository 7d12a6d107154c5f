/* SPDX-License-Identifier: MIT */
/* The echo probe: connections that work, and lead to a server that gets no publications any
 * more.  The prober then publishes elsewhere: to a scripted server, or to another real one. */
#include "core/options.h"
#include "support/fake/fake_server.h"
#include "support/listener.h"
#include "support/live.h"
#include "support/redis_process.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INTERVAL_US 40000
/* Of probes that arrive: a server that a busy machine stops between the answer to the prober and
 * the message must be back before. */
#define CALM_US 150000

static shoal_pubsub_t *pubsub;
static shoal_client_t *client; /* of the pubsub's server */
static fake_server_t *elsewhere;
static shoal_client_t *prober; /* of that one */
static listener_t a;

/* Shorter than the setter allows. */
static shoal_options_t *options_of(int protocol, uint64_t probe_us)
{
    shoal_options_t *options = live_options();

    assert_int_equal(shoal_options_set_protocol(options, protocol), 0);
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 1000), 0);
    options->probe_us = probe_us;
    return options;
}

static void open_stage(int protocol, uint64_t probe_us)
{
    shoal_options_t *options = options_of(protocol, probe_us);

    assert_int_equal(shoal_pubsub_open(options, &pubsub, NULL), 0);
    client = live_open(options);
    prober = NULL;
    elsewhere = NULL;
}

/* The prober's server answers each PUBLISH so. */
static void probe_elsewhere(const char *answer)
{
    elsewhere = fake_server_start(NULL);
    assert_non_null(elsewhere);
    fake_server_rule(elsewhere, &(fake_rule_t){.command = "PUBLISH", .reply = answer});
    prober = live_open(live_options_of_port(fake_server_port(elsewhere)));
    assert_int_equal(shoal_pubsub_set_prober(pubsub, prober), 0);
}

static void close_stage(void)
{
    listener_end(&a);
    a.act = NULL;
    assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    shoal_pubsub_release(pubsub);
    live_finish(client);
    if (prober)
        live_finish(prober);
    fake_server_stop(elsewhere);
}

static uint64_t probes(void)
{
    return listener_stats(pubsub).probes;
}

static uint64_t restarts(void)
{
    return listener_stats(pubsub).probe_restarts;
}

/* How many private channels the server knows. */
static size_t private_channels(void)
{
    shoal_result_t *result;
    size_t count;

    assert_int_equal(shoal_client_callf(client, &result, "PUBSUB CHANNELS __shoal:*"),
                     0);
    count = shoal_reply_count(shoal_result_reply(result));
    shoal_result_release(result);
    return count;
}

/* ---- nothing comes ---- */

/* On the loop thread, so that no more happens meanwhile. */
static void stop_probes_at_a_gap(listener_t *listener, const shoal_item_t *item)
{
    (void)listener;
    if (shoal_item_kind(item) == SHOAL_ITEM_GAP)
        shoal_pubsub_set_prober(pubsub, NULL);
}

static void check_silence(int protocol)
{
    uint64_t since_us = waiting_now_us();

    open_stage(protocol, INTERVAL_US);
    probe_elsewhere(":1\r\n");
    a.act = stop_probes_at_a_gap;
    listener_begin(&a, pubsub, "x");
    LISTENER_HEARS(&a, "+x ~ ?x ");
    assert_true(waiting_now_us() - since_us >= 2 * INTERVAL_US);
    assert_int_equal(a.reason, SHOAL_GAP_PROBE);
    assert_string_equal(a.detail,
                        "the server delivered nothing of what was published to it");
    assert_int_equal(listener_stats(pubsub).probes, 1);
    assert_int_equal(listener_stats(pubsub).losses, 1);
    assert_int_equal(listener_stats(pubsub).desyncs, 0);
    /* It works: the client that publishes was the wrong one. */
    live_ask(client, "PUBLISH x 1");
    LISTENER_HEARS(&a, "x=1 ");
    close_stage();
}

static void test_a_server_that_delivers_nothing_is_left(void **state)
{
    (void)state;
    check_silence(3);
}

static void test_in_resp2_as_well(void **state)
{
    (void)state;
    check_silence(2);
}

/* Behind a name for its address stands another server, and the connection still works. */
static void test_another_server_took_the_address(void **state)
{
    const char *const none[] = {NULL};
    redis_process_t *heir = redis_process_start(none);
    char name[64];
    shoal_options_t *options = options_of(3, CALM_US);

    (void)state;
    if (!heir)
        skip();
    snprintf(name, sizeof name, "/tmp/shoal-probe-%d", (int)getpid());
    (void)unlink(name);
    assert_int_equal(symlink(live_socket(), name), 0);
    assert_int_equal(shoal_options_set_unix_path(options, name), 0);
    assert_int_equal(shoal_pubsub_open(options, &pubsub, NULL), 0);
    client = live_open(options);
    prober = live_open(live_options_of_port(redis_process_port(heir)));
    elsewhere = NULL;
    listener_begin(&a, pubsub, "x");
    LISTENER_HEARS(&a, "+x ");
    assert_int_equal(unlink(name), 0);
    assert_int_equal(symlink(redis_process_socket(heir), name), 0);
    live_ask(prober, "PUBLISH x lost");
    assert_int_equal(shoal_pubsub_set_prober(pubsub, prober), 0);
    LISTENER_HEARS(&a, "~ ?x ");
    assert_int_equal(a.reason, SHOAL_GAP_PROBE);
    live_ask(prober, "PUBLISH x 1");
    LISTENER_HEARS(&a, "x=1 ");
    /* Now probes arrive. */
    uint64_t before = probes();
    WAIT_FOR(probes() >= before + 1);
    assert_int_equal(restarts(), 1);
    close_stage();
    redis_process_stop(heir);
    assert_int_equal(unlink(name), 0);
}

#define LOSSES 3

typedef struct losses {
    uint64_t at_us[LOSSES];
    _Atomic unsigned count;
} losses_t;

static void note_losses(listener_t *listener, const shoal_item_t *item)
{
    losses_t *losses = listener->act_data;

    if (shoal_item_kind(item) != SHOAL_ITEM_SUSPENDED)
        return;
    losses->at_us[losses->count] = waiting_now_us();
    if (losses->count + 1 == LOSSES)
        shoal_pubsub_set_prober(pubsub, NULL);
    losses->count++;
}

/* 2 intervals, then 2 + 1, then 2 + 2. */
static void test_restarts_in_a_row_come_later_and_later(void **state)
{
    losses_t losses = {.count = 0};

    (void)state;
    open_stage(3, INTERVAL_US);
    probe_elsewhere(":1\r\n");
    a.act = note_losses;
    a.act_data = &losses;
    listener_begin(&a, pubsub, "x");
    WAIT_FOR(losses.count == LOSSES);
    assert_true(losses.at_us[1] - losses.at_us[0] >= 3 * INTERVAL_US);
    assert_true(losses.at_us[2] - losses.at_us[1] >= 4 * INTERVAL_US);
    assert_int_equal(probes(), LOSSES);
    assert_int_equal(restarts(), LOSSES);
    close_stage();
}

/* ---- what proves nothing ---- */

static void test_a_probe_that_fails_proves_nothing(void **state)
{
    (void)state;
    open_stage(3, INTERVAL_US / 2);
    probe_elsewhere("-ERR not now\r\n");
    listener_begin(&a, pubsub, "x");
    WAIT_FOR(probes() >= 4);
    assert_int_equal(restarts(), 0);
    assert_int_equal(listener_stats(pubsub).is_probe_forbidden_now, 0);
    /* Nobody answers, and then the prober is closed. */
    fake_server_forget_rules(elsewhere);
    size_t rule = fake_server_rule(
        elsewhere, &(fake_rule_t){.command = "PUBLISH", .is_swallowed = true});
    WAIT_FOR(fake_server_hits(elsewhere, rule) == 1);
    shoal_client_t *held = shoal_client_retain(prober);
    live_finish(prober);
    prober = NULL;
    waiting_sleep_us(3 * INTERVAL_US);
    assert_int_equal(restarts(), 0);
    LISTENER_HEARS(&a, "+x ");
    close_stage();
    shoal_client_release(held);
}

/* The probe that the former one has still to answer holds up nothing. */
static void test_another_prober_in_place_of_one_that_is_silent(void **state)
{
    (void)state;
    open_stage(3, CALM_US);
    elsewhere = fake_server_start(NULL);
    size_t rule = fake_server_rule(
        elsewhere, &(fake_rule_t){.command = "PUBLISH", .is_swallowed = true});
    prober = live_open(live_options_of_port(fake_server_port(elsewhere)));
    assert_int_equal(shoal_pubsub_set_prober(pubsub, prober), 0);
    listener_begin(&a, pubsub, "x");
    WAIT_FOR(fake_server_hits(elsewhere, rule) == 1);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, client), 0);
    uint64_t before = probes();
    WAIT_FOR(probes() >= before + 2);
    assert_int_equal(restarts(), 0);
    LISTENER_HEARS(&a, "+x ");
    close_stage();
}

static void test_a_prober_that_is_not_allowed_to(void **state)
{
    (void)state;
    open_stage(3, CALM_US);
    probe_elsewhere("-NOPERM no channels\r\n");
    listener_begin(&a, pubsub, "x");
    WAIT_FOR(listener_stats(pubsub).is_probe_forbidden_now == 1);
    assert_int_equal(probes(), 1);
    /* Another one may be allowed to. */
    assert_int_equal(shoal_pubsub_set_prober(pubsub, client), 0);
    WAIT_FOR(probes() >= 2);
    assert_int_equal(listener_stats(pubsub).is_probe_forbidden_now, 0);
    assert_int_equal(restarts(), 0);
    LISTENER_HEARS(&a, "+x ");
    close_stage();
}

/* The private channel is refused alone. */
static void check_acl(int protocol)
{
    shoal_options_t *options = options_of(protocol, INTERVAL_US / 2);

    client = live_open(options_of(3, 0));
    prober = NULL;
    elsewhere = NULL;
    live_ask(client, "ACL SETUSER probed on nopass resetchannels &x +@all ~*");
    assert_int_equal(shoal_options_set_auth(options, "probed", "p"), 0);
    assert_int_equal(shoal_pubsub_open(options, &pubsub, NULL), 0);
    shoal_options_free(options);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, client), 0);
    listener_begin(&a, pubsub, "x");
    WAIT_FOR(listener_stats(pubsub).is_probe_forbidden_now == 1);
    live_ask(client, "PUBLISH x 1");
    LISTENER_HEARS(&a, "+x x=1 ");
    assert_int_equal(probes(), 0);
    assert_int_equal(listener_stats(pubsub).losses, 0);
    assert_int_equal(listener_stats(pubsub).rejected, 0);
    close_stage();
}

static void test_an_acl_without_the_private_channel(void **state)
{
    (void)state;
    check_acl(3);
    check_acl(2);
}

/* ---- probes that arrive ---- */

static void test_probes_that_arrive_are_seen_by_nobody(void **state)
{
    (void)state;
    open_stage(3, CALM_US);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, client), 0);
    listener_begin(&a, pubsub, "x p:*");
    WAIT_FOR(probes() >= 2);
    assert_int_equal(restarts(), 0);
    LISTENER_HEARS(&a, "+x +* ");
    assert_int_equal(listener_stats(pubsub).names_wanted_now, 2);
    assert_int_equal(listener_stats(pubsub).names_confirmed_now, 2);
    assert_int_equal(listener_stats(pubsub).messages, 0);
    assert_int_equal(private_channels(), 1);
    /* After a loss the channel is another one. */
    live_ask(client, "CLIENT KILL TYPE pubsub");
    uint64_t before = probes();
    WAIT_FOR(probes() >= before + 2);
    assert_int_equal(private_channels(), 1);
    assert_true(listener_has(&a, "?x "));
    assert_int_equal(a.reason, SHOAL_GAP_LOST);
    assert_int_equal(restarts(), 0);
    close_stage();
}

static void test_messages_make_probes_needless(void **state)
{
    bool was_late = false;

    (void)state;
    open_stage(3, 2 * CALM_US);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, client), 0);
    listener_begin(&a, pubsub, "x");
    listener_wait(&a);
    for (unsigned i = 0; i < 12; i++) {
        uint64_t since_us = waiting_now_us();
        live_ask(client, "PUBLISH x 1");
        waiting_sleep_us(CALM_US / 4);
        if (waiting_now_us() - since_us > CALM_US)
            was_late = true; /* this thread stood still: that was silence */
    }
    assert_true(was_late || probes() == 0);
    close_stage();
}

/* Without a prober, and with one server without an interval, the channel is not there. */
static void test_by_default_one_server_is_not_probed(void **state)
{
    (void)state;
    open_stage(3, SHOAL_PROBE_AUTO);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, client), 0);
    listener_begin(&a, pubsub, "x");
    listener_wait(&a);
    assert_int_equal(private_channels(), 0);
    close_stage();
    open_stage(3, INTERVAL_US);
    listener_begin(&a, pubsub, "x");
    listener_wait(&a);
    waiting_sleep_us(2 * INTERVAL_US);
    assert_int_equal(private_channels(), 0);
    close_stage();
}

/* ---- beside a question ---- */

static void count_told(shoal_client_t *of, const shoal_event_t *event, void *data)
{
    (void)of;
    if (shoal_event_kind(event) == SHOAL_EVENT_KEYSPACE_OFF)
        ++*(_Atomic unsigned *)data;
}

/* In RESP2 a connection takes no CONFIG while it subscribes, and if only to the private channel:
 * whether the server sends events of keys is asked over the next one. */
static void test_a_question_waits_for_a_connection_without_the_channel(void **state)
{
    shoal_options_t *options = options_of(2, CALM_US);
    _Atomic unsigned told = 0;

    (void)state;
    client = live_open(options_of(3, 0));
    prober = NULL;
    elsewhere = NULL;
    assert_int_equal(shoal_options_set_on_event(options, count_told, (void *)&told), 0);
    assert_int_equal(shoal_pubsub_open(options, &pubsub, NULL), 0);
    shoal_options_free(options);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, client), 0);
    listener_begin(&a, pubsub, "x");
    WAIT_FOR(private_channels() == 1);
    listener_remove(&a, "x");
    WAIT_FOR(listener_stats(pubsub).names_confirmed_now == 0);
    listener_add(&a, "k:__keyspace@0__:one");
    listener_wait(&a);
    live_ask(client, "CLIENT KILL TYPE pubsub");
    WAIT_FOR(told == 1);
    assert_int_equal(listener_stats(pubsub).desyncs, 0);
    close_stage();
}

/* ---- lives ---- */

static void test_whichever_ends_first(void **state)
{
    (void)state;
    /* The program's references go first: the pubsub's closes the prober. */
    open_stage(3, CALM_US / 2);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, client), 0);
    shoal_client_t *other = live_open(options_of(3, 0));
    assert_int_equal(shoal_pubsub_set_prober(pubsub, other), 0);
    shoal_client_release(other);
    listener_begin(&a, pubsub, "x");
    WAIT_FOR(probes() >= 2);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, NULL), 0);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, NULL), 0);
    uint64_t before = probes();
    waiting_sleep_us(INTERVAL_US);
    assert_int_equal(probes(), before);
    /* A pubsub that is closed takes none; one that is released gives its own back. */
    assert_int_equal(shoal_pubsub_set_prober(pubsub, client), 0);
    shoal_pubsub_retain(pubsub);
    close_stage();
    other = live_open(options_of(3, 0));
    assert_int_equal(shoal_pubsub_set_prober(pubsub, other), SHOAL_ECLOSED);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, NULL), 0);
    shoal_pubsub_release(pubsub);
    live_finish(other);
    open_stage(3, INTERVAL_US);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, client), 0);
    shoal_pubsub_release(pubsub);
    live_finish(client);
}

/* Both are driven by steps of one thread. */
static void test_a_prober_of_the_same_thread(void **state)
{
    shoal_options_t *options = options_of(3, CALM_US);

    (void)state;
    assert_int_equal(shoal_pubsub_open_borrowed(options, &pubsub, NULL), 0);
    assert_int_equal(shoal_client_open_borrowed(options, &prober, NULL), 0);
    shoal_options_free(options);
    assert_int_equal(shoal_pubsub_set_prober(pubsub, prober), 0);
    listener_begin(&a, pubsub, "x");
    WAIT_FOR(shoal_pubsub_step(pubsub, 1000) == 0 &&
             shoal_client_step(prober, 1000) == 0 && probes() >= 2);
    assert_int_equal(restarts(), 0);
    listener_end(&a);
    assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    shoal_pubsub_release(pubsub);
    assert_int_equal(shoal_client_close_and_wait(prober, 0), 0);
    shoal_client_release(prober);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_that_delivers_nothing_is_left),
        cmocka_unit_test(test_in_resp2_as_well),
        cmocka_unit_test(test_another_server_took_the_address),
        cmocka_unit_test(test_restarts_in_a_row_come_later_and_later),
        cmocka_unit_test(test_a_probe_that_fails_proves_nothing),
        cmocka_unit_test(test_another_prober_in_place_of_one_that_is_silent),
        cmocka_unit_test(test_a_prober_that_is_not_allowed_to),
        cmocka_unit_test(test_an_acl_without_the_private_channel),
        cmocka_unit_test(test_probes_that_arrive_are_seen_by_nobody),
        cmocka_unit_test(test_messages_make_probes_needless),
        cmocka_unit_test(test_by_default_one_server_is_not_probed),
        cmocka_unit_test(test_a_question_waits_for_a_connection_without_the_channel),
        cmocka_unit_test(test_whichever_ends_first),
        cmocka_unit_test(test_a_prober_of_the_same_thread),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
