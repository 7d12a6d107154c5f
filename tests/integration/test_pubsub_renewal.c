/* SPDX-License-Identifier: MIT */
/* A subscriber's connection is renewed again and again while numbered messages come at a steady
 * rate: the numbers of each name ascend by 1, none comes twice, and no mark tells of a gap.  A
 * pattern that matches everything shows that the library's own marker reaches no receiver.
 *
 * Then a renewal fails at each of its stages: a number is missing only where a GAP stands, of
 * which each name has one; none if nothing was lost. */
#include "support/live.h"
#include "support/redis_process.h"
#if SHOAL_FAKE_TLS
#include "support/tls/certificate_folder.h"
#endif

#include "client/client.h"
#include "net/clock.h"
#include "route/subscriber/state.h"
#include <pthread.h>
#include <shoal/pubsub.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANNEL "renewal:numbers"
#define NAME "renewed"
#define USER "--user", NAME, "on", "nopass", "allkeys", "allchannels", "+@all"
#define RATE 100000u /* messages in a second, if the machine allows */
#define UNDER_WAY_MAX 2000u
#define STEP_US 200

typedef struct yard {
    redis_process_t *redis;
    shoal_client_t *client;
    shoal_pubsub_t *pubsub;
    shoal_subscription_t *subscription;
    uint64_t next[2]; /* number that is due: by the channel, by the pattern */
    bool has_hole[2]; /* a mark allows that it is skipped */
    unsigned gaps[2], subscribed;
    bool is_suspended;
    char failure[200]; /* "": none */
    _Atomic uint64_t published, under_way;
    _Atomic bool is_over;
    pthread_t thread;
} yard_t;

static yard_t yard;
static const char *const no_disk[] = {"--save", "", USER, NULL};

static void note_failure(const char *what, unsigned long long a, unsigned long long b)
{
    if (!*yard.failure)
        snprintf(yard.failure, sizeof yard.failure, "%s: %llu, due %llu", what, a, b);
}

static void on_message(const shoal_item_t *item, bool is_pattern)
{
    size_t bytes;
    const char *payload = shoal_item_payload(item, &bytes);
    char text[24] = "";

    memcpy(text, payload, bytes < sizeof text ? bytes : sizeof text - 1);
    uint64_t number = strtoull(text, NULL, 10), due = yard.next[is_pattern];
    if (strcmp(shoal_item_channel(item, NULL), CHANNEL) != 0)
        note_failure(shoal_item_channel(item, NULL), 0, 0);
    else if (number < due || (number > due && !yard.has_hole[is_pattern]))
        note_failure(is_pattern ? "by pattern" : "by channel", number, due);
    else if (yard.is_suspended)
        note_failure("it is suspended", number, due);
    yard.has_hole[is_pattern] = false;
    yard.next[is_pattern] = number + 1;
}

static void on_item(const shoal_item_t *item, void *data)
{
    bool is_pattern = shoal_item_name_kind(item) == SHOAL_NAME_PATTERN;

    (void)data;
    if (shoal_item_kind(item) == SHOAL_ITEM_MESSAGE)
        on_message(item, is_pattern);
    else if (shoal_item_kind(item) == SHOAL_ITEM_SUBSCRIBED)
        yard.subscribed++;
    else if (shoal_item_kind(item) == SHOAL_ITEM_SUSPENDED)
        yard.is_suspended = true;
    else if (shoal_item_kind(item) == SHOAL_ITEM_GAP) {
        yard.gaps[is_pattern]++;
        yard.has_hole[is_pattern] = true;
        yard.is_suspended = false; /* the numbers of one name are due at least */
    } else if (shoal_item_kind(item) != SHOAL_ITEM_ENDED)
        note_failure(shoal_item_detail(item), (unsigned)shoal_item_kind(item), 0);
}

static void on_reply(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client, (void)result, (void)data;
    yard.under_way--;
}

static void publish_next(void)
{
    char text[24];
    const char *argv[] = {"PUBLISH", CHANNEL, text};

    snprintf(text, sizeof text, "%llu", (unsigned long long)yard.published++);
    yard.under_way++;
    if (shoal_client_submit(yard.client, 3, argv, NULL, on_reply, NULL, NULL) < 0)
        abort();
}

static void *publish_all(void *data)
{
    uint64_t since_us = waiting_now_us(), due;

    while (!yard.is_over) {
        due = (waiting_now_us() - since_us) * RATE / 1000000;
        while (yard.published < due && yard.under_way < UNDER_WAY_MAX)
            publish_next();
        if (yard.under_way >=
            UNDER_WAY_MAX) /* what the machine cannot do is not caught up */
            since_us = waiting_now_us() - yard.published * 1000000 / RATE;
        waiting_sleep_us(500);
    }
    return data;
}

static shoal__subscriber_t *route(void)
{
    /* A pubsub is a client with another route. */
    return (shoal__subscriber_t *)shoal__client_route((shoal_client_t *)yard.pubsub);
}

static shoal_pubsub_stats_t stats_now(void)
{
    shoal_pubsub_stats_t stats = SHOAL_PUBSUB_STATS_INIT;

    assert_int_equal(shoal_pubsub_stats(yard.pubsub, &stats), 0);
    return stats;
}

static void step(void)
{
    assert_int_equal(shoal_pubsub_step(yard.pubsub, STEP_US), 0);
    if (*yard.failure)
        fail_msg("%s", yard.failure);
}

#define STEP_UNTIL(condition)                                                          \
    for (uint64_t since_us_ = waiting_now_us(); !(condition);) {                       \
        step();                                                                        \
        assert_true(waiting_now_us() - since_us_ < WAITING_US_MAX);                    \
    }

/* Without regard to the second that lies between renewals otherwise. */
static void ask_for_renewal(void)
{
    route()->conn.pipe.renewal.spacing_us = 0;
    route()->route.ops->reconnect(&route()->route, shoal__clock_us());
}

static bool is_renewed(uint64_t connects)
{
    return stats_now().connects == connects &&
           route()->relay.stage == SHOAL__RELAY_NONE;
}

static void renew(void)
{
    uint64_t connects = stats_now().connects;

    ask_for_renewal();
    STEP_UNTIL(is_renewed(connects + 1));
}

static void renew_as_programs_do(size_t number)
{
    uint64_t connects = stats_now().connects;
    char password[32];

    route()->conn.pipe.renewal.spacing_us = 0;
    snprintf(password, sizeof password, "any %zu", number);
    assert_int_equal(number % 2 == 0
                         ? shoal_pubsub_reconnect(yard.pubsub)
                         : shoal_pubsub_set_credentials(yard.pubsub, NAME, password),
                     0);
    STEP_UNTIL(is_renewed(connects + 1));
}

/* Over TLS if there are files for it. */
static void begin_with(const char *const *words, int protocol,
                       const fake_tls_config_t *tls)
{
    static const shoal_name_t names[] = {
        {SHOAL_NAME_CHANNEL, CHANNEL, sizeof CHANNEL - 1},
        {SHOAL_NAME_PATTERN, "*", 1}};
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    shoal_options_t *options;

    memset(&yard, 0, sizeof yard);
    yard.redis = tls ? redis_process_start_tls(words, tls) : redis_process_start(words);
    if (!yard.redis)
        skip();
    options = live_options_of_port(tls ? redis_process_tls_port(yard.redis)
                                       : redis_process_port(yard.redis));
#if SHOAL_FAKE_TLS
    if (tls) {
        assert_int_equal(shoal_options_set_tls(options, true), 0);
        assert_int_equal(
            shoal_options_set_tls_ca_file(options, certificate_path("ca.crt")), 0);
    }
#endif
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 20000), 0);
    assert_int_equal(shoal_options_set_protocol(options, protocol), 0);
    assert_int_equal(shoal_options_set_client_name(options, NAME), 0);
    assert_int_equal(shoal_options_set_auth(options, NAME, "any"), 0);
    assert_int_equal(shoal_pubsub_open_borrowed(options, &yard.pubsub, NULL), 0);
    assert_int_equal(shoal_options_set_client_name(options, NULL), 0);
    assert_int_equal(shoal_options_set_auth(options, NULL, NULL), 0);
    yard.client = live_open(options);
    receiver.on_item = on_item;
    assert_int_equal(
        shoal_pubsub_subscribe(yard.pubsub, names, 2, &receiver, &yard.subscription),
        0);
    STEP_UNTIL(shoal_subscription_wait(yard.subscription, 0) == 0);
    assert_int_equal(pthread_create(&yard.thread, NULL, publish_all, NULL), 0);
}

static void begin(const char *const *words, int protocol)
{
    begin_with(words, protocol, NULL);
}

/* All that was published came, but for what a gap allows to miss. */
static void await_all(void)
{
    yard.is_over = true;
    pthread_join(yard.thread, NULL);
    STEP_UNTIL(yard.next[0] == yard.published && yard.next[1] == yard.published);
    assert_int_equal(yard.subscribed, 2);
}

static void finish(void)
{
    shoal_subscription_close(yard.subscription);
    assert_int_equal(shoal_pubsub_close_and_wait(yard.pubsub), 0);
    shoal_pubsub_release(yard.pubsub);
    live_finish(yard.client);
    redis_process_stop(yard.redis);
}

static void run(size_t renewals, const char *const *words, const fake_tls_config_t *tls)
{
    uint64_t since_us;

    begin_with(words, 3, tls);
    since_us = waiting_now_us();
    for (size_t i = 0; i < renewals; i++)
        renew_as_programs_do(i);
    uint64_t took_us = waiting_now_us() - since_us;
    await_all();
    print_message(
        "%zu renewals in %.1f s, %llu messages (%.0f/s), each by a channel and by "
        "a pattern: none missing, none twice, %llu gaps\n",
        renewals, (double)took_us / 1e6, (unsigned long long)yard.published,
        (double)yard.published * 1e6 / (double)took_us,
        (unsigned long long)stats_now().gaps);
    assert_int_equal(stats_now().gaps, 0);
    assert_int_equal(stats_now().losses, 0);
    assert_int_equal(stats_now().messages, 2 * yard.published);
    finish();
}

static void test_no_message_is_lost_or_comes_twice(void **state)
{
    (void)state;
    run(live_scaled(50), no_disk, NULL);
}

static void test_with_threads_of_the_server(void **state)
{
    static const char *const words[] = {
        "--save", "", "--io-threads", "3", "--io-threads-do-reads", "yes", USER, NULL};

    (void)state;
    run(live_scaled(10), words, NULL);
}

#if SHOAL_FAKE_TLS
static void test_over_tls(void **state)
{
    const fake_tls_config_t tls = {.certificate_file = certificate_path("server.crt"),
                                   .key_file = certificate_path("server.key")};

    (void)state;
    run(live_scaled(10), no_disk, &tls);
}
#endif

/* ---- names that come and go meanwhile ---- */

#define OTHERS 8u

static int64_t count_at(const char *question)
{
    shoal_result_t *result;
    int64_t number;

    assert_int_equal(shoal_client_callf(yard.client, &result, question), 0);
    number = shoal_reply_count(shoal_result_reply(result)) == 2
                 ? shoal_reply_integer(shoal_reply_at(shoal_result_reply(result), 1))
                 : (int64_t)shoal_reply_count(shoal_result_reply(result));
    shoal_result_release(result);
    return number;
}

static void change_name(bool is_wanted[OTHERS], unsigned *random)
{
    unsigned n = live_roll(random) % OTHERS;
    char text[] = "other:0";
    const shoal_name_t name = {SHOAL_NAME_CHANNEL, text, sizeof text - 1};

    text[sizeof text - 2] = (char)('0' + n);
    is_wanted[n] = !is_wanted[n];
    assert_int_equal(is_wanted[n]
                         ? shoal_subscription_add(yard.subscription, &name, 1)
                         : shoal_subscription_remove(yard.subscription, &name, 1),
                     0);
}

static void test_names_that_come_and_go(void **state)
{
    bool is_wanted[OTHERS] = {false};
    unsigned random = 17;

    (void)state;
    begin(no_disk, 3);
    for (size_t i = 0; i < live_scaled(10); i++) {
        uint64_t connects = stats_now().connects;
        ask_for_renewal();
        for (unsigned steps = 0; !is_renewed(connects + 1); steps++) {
            step();
            if (steps % 2 == 0)
                change_name(is_wanted, &random);
            assert_true(steps < 100000);
        }
    }
    STEP_UNTIL(shoal_subscription_wait(yard.subscription, 0) == 0);
    for (unsigned n = 0; n < OTHERS; n++) {
        char question[40];
        snprintf(question, sizeof question, "PUBSUB NUMSUB other:%u", n);
        STEP_UNTIL(count_at(question) == is_wanted[n]);
    }
    STEP_UNTIL(count_at("PUBSUB CHANNELS __shoal:*") == 0);
    yard.subscribed = 2; /* and those of the others */
    await_all();
    assert_int_equal(stats_now().gaps, 0);
    finish();
}

/* ---- renewals that fail ---- */

static void renew_until(shoal__relay_stage_t stage)
{
    ask_for_renewal();
    STEP_UNTIL(route()->relay.stage == stage);
}

/* Of ours.  The server may not know yet that an older one has ended. */
static void kill_connection(bool is_youngest)
{
    shoal_result_t *result;
    const char *line;
    char text[64] = "";
    size_t bytes;

    assert_int_equal(shoal_client_callf(yard.client, &result, "CLIENT LIST"), 0);
    line = shoal_reply_string(shoal_result_reply(result), &bytes);
    for (; line && (is_youngest || !*text); line = strchr(line, '\n')) {
        int length, id;
        line += *line == '\n';
        length = (int)strcspn(line, "\n");
        const char *name = strstr(line, " name=" NAME " ");
        if (name && name < line + length && sscanf(line, "id=%d", &id) == 1)
            snprintf(text, sizeof text, "CLIENT KILL ID %d", id);
    }
    shoal_result_release(result);
    assert_true(*text);
    live_ask(yard.client, text);
}

/* Each name has had so many gaps, and numbers come again. */
static void await_gaps(unsigned gaps)
{
    uint64_t number = yard.published;

    STEP_UNTIL(yard.gaps[0] >= gaps && yard.gaps[1] >= gaps);
    STEP_UNTIL(yard.next[0] > number && yard.next[1] > number &&
               route()->relay.stage == SHOAL__RELAY_NONE);
    assert_int_equal(yard.gaps[0], gaps);
    assert_int_equal(yard.gaps[1], gaps);
}

static void test_the_present_connection_is_lost(void **state)
{
    static const shoal__relay_stage_t stages[] = {
        SHOAL__RELAY_JOINING, SHOAL__RELAY_COUNTING, SHOAL__RELAY_COPYING,
        SHOAL__RELAY_SKIPPING, SHOAL__RELAY_PARTING};

    (void)state;
    begin(no_disk, 3);
    for (unsigned i = 0; i < sizeof stages / sizeof *stages; i++) {
        renew_until(stages[i]);
        kill_connection(stages[i] > SHOAL__RELAY_MARKING);
        await_gaps(i + 1);
    }
    await_all();
    finish();
}

/* Nothing is lost with it: another one follows. */
static void test_the_successor_is_lost(void **state)
{
    (void)state;
    begin(no_disk, 3);
    for (shoal__relay_stage_t stage = SHOAL__RELAY_JOINING;
         stage < SHOAL__RELAY_COPYING; stage++) {
        uint64_t connects = stats_now().connects;
        renew_until(stage);
        kill_connection(true);
        STEP_UNTIL(route()->conn.pipe.renewal.state == SHOAL__RENEWAL_WANTED);
        STEP_UNTIL(route()->relay.stage == SHOAL__RELAY_NONE);
        route()->conn.pipe.renewal.start_us = 0;
        STEP_UNTIL(is_renewed(connects + 1));
    }
    await_all();
    assert_int_equal(stats_now().gaps, 0);
    assert_int_equal(stats_now().losses, 0);
    finish();
}

/* It is read no more before the marker, so its end is found when it carries. */
static void test_the_successor_is_lost_late(void **state)
{
    (void)state;
    begin(no_disk, 3);
    renew_until(SHOAL__RELAY_MARKING);
    kill_connection(true);
    await_gaps(1);
    await_all();
    assert_int_equal(stats_now().losses, 1);
    finish();
}

/* At this stage the marker is another one than that which was published. */
static void lose_marker(shoal__relay_stage_t stage, unsigned gaps)
{
    renew_until(stage);
    route()->relay.marker[0] = '?';
    route()->relay.end_us = shoal__clock_us() + 20000;
    STEP_UNTIL(route()->relay.stage != stage);
    route()->conn.pipe.renewal.start_us = 0;
    await_gaps(gaps);
}

static void test_the_marker_is_lost(void **state)
{
    (void)state;
    begin(no_disk, 3);
    lose_marker(SHOAL__RELAY_MARKING, 1);
    lose_marker(SHOAL__RELAY_SKIPPING, 2);
    renew();
    await_all();
    assert_int_equal(stats_now().gaps, 4);
    finish();
}

static void test_it_takes_too_long(void **state)
{
    (void)state;
    begin(no_disk, 3);
    for (shoal__relay_stage_t stage = SHOAL__RELAY_JOINING;
         stage < SHOAL__RELAY_MARKING; stage++) {
        renew_until(stage);
        route()->relay.end_us = 0;
        STEP_UNTIL(!shoal__relay_holds(route()->relay.stage));
        route()->conn.pipe.renewal.start_us = 0;
        await_gaps(stage - SHOAL__RELAY_JOINING + 1);
    }
    renew();
    await_all();
    assert_int_equal(stats_now().losses, 0);
    finish();
}

static void test_another_process(void **state)
{
    redis_process_t *other = redis_process_start(no_disk);

    shoal_client_t *client;
    shoal_options_t *options;

    (void)state;
    begin(no_disk, 3);
    options = live_options_of_port(redis_process_port(other));
    client = live_open(options);
    route()->endpoints.items[0].port = (uint16_t)redis_process_port(other);
    ask_for_renewal();
    STEP_UNTIL(yard.gaps[0] == 1 && yard.gaps[1] == 1);
    yard.is_over = true;
    pthread_join(yard.thread, NULL);
    while (yard.under_way > 0)
        step();
    live_ask(client, "PUBLISH " CHANNEL " 1000000000");
    STEP_UNTIL(yard.next[0] > 1000000000 && yard.next[1] > 1000000000);
    assert_int_equal(stats_now().gaps, 2);
    assert_int_equal(stats_now().losses, 0);
    live_finish(client);
    finish();
    redis_process_stop(other);
}

/* ... to the user of the subscriber. */
static void test_what_the_server_does_not_allow(void **state)
{
    static const char *const rules[] = {"-publish", "-pubsub"};

    (void)state;
    begin(no_disk, 3);
    for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++) {
        char text[100];
        snprintf(text, sizeof text, "ACL SETUSER " NAME " +@all %s", rules[i]);
        live_ask(yard.client, text);
        renew_until(SHOAL__RELAY_JOINING);
        STEP_UNTIL(!shoal__relay_holds(route()->relay.stage));
        route()->conn.pipe.renewal.start_us = 0;
        await_gaps(i + 1);
    }
    await_all();
    assert_int_equal(stats_now().losses, 0);
    finish();
}

/* Nobody waits for a server that is no primary any more. */
static void test_a_server_that_is_deposed(void **state)
{
    (void)state;
    begin(no_disk, 3);
    ask_for_renewal();
    route()->conn.pipe.renewal.is_deposed = true;
    STEP_UNTIL(stats_now().connects == 2);
    assert_int_equal(route()->relay.end_us, 0); /* there was none */
    await_gaps(1);
    await_all();
    finish();
}

static void test_resp2(void **state)
{
    (void)state;
    begin(no_disk, 2);
    ask_for_renewal();
    await_gaps(1);
    await_all();
    assert_int_equal(stats_now().losses, 0);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_message_is_lost_or_comes_twice),
        cmocka_unit_test(test_with_threads_of_the_server),
#if SHOAL_FAKE_TLS
        cmocka_unit_test(test_over_tls),
#endif
        cmocka_unit_test(test_names_that_come_and_go),
        cmocka_unit_test(test_the_present_connection_is_lost),
        cmocka_unit_test(test_the_successor_is_lost),
        cmocka_unit_test(test_the_successor_is_lost_late),
        cmocka_unit_test(test_the_marker_is_lost),
        cmocka_unit_test(test_it_takes_too_long),
        cmocka_unit_test(test_another_process),
        cmocka_unit_test(test_what_the_server_does_not_allow),
        cmocka_unit_test(test_a_server_that_is_deposed),
        cmocka_unit_test(test_resp2),
    };
    return cmocka_run_group_tests_name("integration/pubsub_renewal", tests, NULL, NULL);
}
