/* SPDX-License-Identifier: MIT */
/* Subscriptions, against a real server. */
#include "support/listener.h"
#include "support/live.h"
#include "support/lone_fork.h"

#include <shoal/uv.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct stage {
    shoal_pubsub_t *pubsub;
    shoal_client_t *client; /* publishes */
    listener_t a, b;
} stage_t;

static stage_t stage;

static void open_stage(int protocol)
{
    shoal_options_t *options = live_options();

    memset(&stage, 0, sizeof stage);
    assert_int_equal(shoal_options_set_protocol(options, protocol), 0);
    assert_int_equal(shoal_options_set_backoff_us(options, 1000, 10000), 0);
    assert_int_equal(shoal_pubsub_open(options, &stage.pubsub, NULL), 0);
    stage.client = live_open(options);
}

static void close_stage(void)
{
    live_finish(stage.client);
    assert_int_equal(shoal_pubsub_close_and_wait(stage.pubsub), 0);
    shoal_pubsub_release(stage.pubsub);
}

static int64_t ask_number(const char *text)
{
    shoal_result_t *result;
    const shoal_reply_t *reply;
    int64_t number;

    assert_int_equal(shoal_client_callf(stage.client, &result, text), 0);
    assert_int_equal(shoal_result_status(result), 0);
    reply = shoal_result_reply(result);
    if (shoal_reply_count(reply) > 1) /* PUBSUB NUMSUB */
        reply = shoal_reply_at(reply, 1);
    number = shoal_reply_integer(reply);
    shoal_result_release(result);
    return number;
}

/* ---- messages and marks ---- */

static void check_messages(int protocol)
{
    open_stage(protocol);
    assert_int_equal(listener_stats(stage.pubsub).connects, 0);
    listener_begin(&stage.a, stage.pubsub, "news p:n*");
    listener_wait(&stage.a);
    LISTENER_HEARS(&stage.a, "+news +n* ");
    assert_int_equal(ask_number("PUBLISH news hello"), 2);
    LISTENER_HEARS(&stage.a, "news=hello n*>news=hello ");
    live_ask(stage.client, "PUBLISH nobody x");
    live_ask(stage.client, "PUBLISH other x");
    LISTENER_HEARS(&stage.a, "n*>nobody=x ");

    /* Another subscription to a name that is there: the server hears nothing of it. */
    listener_begin(&stage.b, stage.pubsub, "news");
    listener_wait(&stage.b);
    LISTENER_HEARS(&stage.b, "+news ");
    assert_int_equal(ask_number("PUBSUB NUMSUB news"), 1);
    live_ask(stage.client, "PUBLISH news 2");
    LISTENER_HEARS(&stage.a, "news=2 n*>news=2 ");
    LISTENER_HEARS(&stage.b, "news=2 ");

    listener_remove(&stage.a, "news");
    listener_add(&stage.a, "message");
    listener_wait(&stage.a);
    LISTENER_HEARS(&stage.a, "+message ");
    live_ask(stage.client, "PUBLISH message pong");
    live_ask(stage.client, "PUBLISH news 3");
    LISTENER_HEARS(&stage.b, "news=3 ");
    LISTENER_HEARS(&stage.a, "message=pong n*>news=3 ");
    listener_end(&stage.b);
    WAIT_FOR(ask_number("PUBSUB NUMSUB news") == 0);
    assert_int_equal(ask_number("PUBSUB NUMPAT"), 1);
    shoal_pubsub_stats_t stats = listener_stats(stage.pubsub);
    assert_int_equal(stats.names_wanted_now, 2);
    assert_int_equal(stats.names_confirmed_now, 2);
    assert_int_equal(stats.protocol_now, protocol);
    assert_int_equal(stats.connects, 1);
    assert_int_equal(stats.messages, 8);
    listener_end(&stage.a);
    WAIT_FOR(ask_number("PUBSUB NUMPAT") == 0);
    close_stage();
}

static void test_messages_in_resp3(void **state)
{
    (void)state;
    check_messages(3);
}

static void test_messages_in_resp2(void **state)
{
    (void)state;
    check_messages(2);
}

/* Any bytes, in names and payloads. */
static void test_odd_names(void **state)
{
    static const char odd[] = "\r\n\0$3\r\nx";
    const shoal_name_t names[] = {{SHOAL_NAME_CHANNEL, odd, sizeof odd - 1},
                                  {SHOAL_NAME_CHANNEL, NULL, 0},
                                  {SHOAL_NAME_PATTERN, "*", 1}};
    const char *argv[] = {"PUBLISH", odd, odd};
    const size_t argvlen[] = {7, sizeof odd - 1, sizeof odd - 1};
    shoal_result_t *result;

    (void)state;
    for (int protocol = 2; protocol <= 3; protocol++) {
        open_stage(protocol);
        listener_begin(&stage.a, stage.pubsub, "");
        assert_int_equal(shoal_subscription_add(stage.a.subscription, names, 3), 0);
        listener_wait(&stage.a);
        assert_int_equal(shoal_client_call(stage.client, 3, argv, argvlen, &result), 0);
        assert_int_equal(shoal_reply_integer(shoal_result_reply(result)), 2);
        shoal_result_release(result);
        WAIT_FOR(stage.a.items >= 5);
        live_ask(stage.client, "PUBLISH  x"); /* the empty channel */
        listener_end(&stage.a);
        close_stage();
    }
}

static void test_a_name_of_keyspace_events(void **state)
{
    (void)state;
    open_stage(3);
    live_ask(stage.client, "CONFIG SET notify-keyspace-events K$");
    listener_begin(&stage.a, stage.pubsub, "k:__keyspace@0__:k k:__keyspace@0__:a*");
    listener_wait(&stage.a);
    live_ask(stage.client, "SET k 1");
    live_ask(stage.client, "SET ab 1");
    LISTENER_HEARS(&stage.a, "+__keyspace@0__:k +__keyspace@0__:a* "
                             "__keyspace@0__:k=set "
                             "__keyspace@0__:a*>__keyspace@0__:ab=set ");
    live_ask(stage.client, "CONFIG SET notify-keyspace-events ''");
    listener_end(&stage.a);
    close_stage();
}

/* ---- losses ---- */

static void check_losses(int protocol)
{
    open_stage(protocol);
    listener_begin(&stage.a, stage.pubsub, "x p:y*");
    listener_begin(&stage.b, stage.pubsub, "");
    listener_wait(&stage.a);
    LISTENER_HEARS(&stage.a, "+x +y* ");
    for (unsigned i = 1; i <= 3; i++) {
        live_ask(stage.client, "CLIENT KILL TYPE pubsub");
        LISTENER_HEARS(&stage.a, "~ ?x ?y* ");
        listener_wait(&stage.a);
        live_ask(stage.client, "PUBLISH x 1");
        LISTENER_HEARS(&stage.a, "x=1 ");
        assert_int_equal(listener_stats(stage.pubsub).losses, i);
    }
    assert_int_equal(stage.b.items, 0); /* it has no name */
    assert_int_equal(listener_stats(stage.pubsub).gaps, 6);
    listener_end(&stage.b);
    listener_end(&stage.a);
    close_stage();
}

static void test_a_loss_is_told(void **state)
{
    (void)state;
    check_losses(3);
    check_losses(2);
}

/* T1, small: numbers ascend by one, or a gap stands between; none comes twice. */
typedef struct ledger {
    uint64_t last, gaps, holes_untold, twice, before_confirmed, messages;
    bool is_confirmed, has_gap;
} ledger_t;

static void keep_ledger(listener_t *listener, const shoal_item_t *item)
{
    ledger_t *ledger = listener->act_data;
    size_t bytes;
    const char *payload = shoal_item_payload(item, &bytes);

    pthread_mutex_lock(&listener->lock);
    if (shoal_item_kind(item) == SHOAL_ITEM_SUBSCRIBED) {
        ledger->is_confirmed = true;
    } else if (shoal_item_kind(item) == SHOAL_ITEM_GAP) {
        ledger->gaps++;
        ledger->has_gap = true;
    } else if (payload) {
        uint64_t number = 0;
        for (size_t i = 0; i < bytes; i++)
            number = number * 10 + (uint64_t)(payload[i] - '0');
        ledger->before_confirmed += !ledger->is_confirmed;
        ledger->twice += number <= ledger->last;
        ledger->holes_untold +=
            ledger->last > 0 && number != ledger->last + 1 && !ledger->has_gap;
        ledger->last = number;
        ledger->has_gap = false;
        ledger->messages++;
    }
    pthread_mutex_unlock(&listener->lock);
}

static void ignore_result(shoal_client_t *client, const shoal_result_t *result,
                          void *data)
{
    (void)client, (void)result, (void)data;
}

static void test_numbers_ascend_or_a_gap_is_told(void **state)
{
    enum { MESSAGES = 20000 };
    size_t count = live_scaled(MESSAGES);
    ledger_t ledger = {0};
    shoal_call_t call = SHOAL_CALL_INIT;
    uint64_t last = 0;

    (void)state;
    call.flags = SHOAL_CALL_WAIT_FOR_ROOM;
    open_stage(3);
    stage.a.act = keep_ledger;
    stage.a.act_data = &ledger;
    listener_begin(&stage.a, stage.pubsub, "x");
    listener_wait(&stage.a);
    for (size_t i = 1; i <= count; i++) {
        assert_int_equal(shoal_client_submitf_with(stage.client, &call, ignore_result,
                                                   NULL, NULL, "PUBLISH x %u",
                                                   (unsigned)i),
                         0);
        if (i % 1000 == 0)
            live_ask(stage.client, "CLIENT KILL TYPE pubsub");
    }
    listener_wait(&stage.a);
    /* The last kill may have taken the last one. */
    for (size_t i = count + 1; last <= count; i++) {
        char text[32];
        snprintf(text, sizeof text, "PUBLISH x %u", (unsigned)i);
        live_ask(stage.client, text);
        waiting_sleep_us(1000);
        pthread_mutex_lock(&stage.a.lock);
        last = ledger.last;
        pthread_mutex_unlock(&stage.a.lock);
    }
    listener_end(&stage.a);
    assert_int_equal(ledger.twice, 0);
    assert_int_equal(ledger.holes_untold, 0);
    assert_int_equal(ledger.before_confirmed, 0);
    assert_true(ledger.gaps > 0);
    assert_true(ledger.messages > 0);
    close_stage();
}

/* ---- what the server refuses ---- */

static void test_forbidden_names_are_rejected(void **state)
{
    shoal_options_t *options = live_options();
    shoal_pubsub_t *pubsub;

    (void)state;
    open_stage(3);
    live_ask(stage.client, "ACL SETUSER reader on >secret allchannels resetchannels "
                           "&ok* +@all");
    assert_int_equal(shoal_options_set_auth(options, "reader", "secret"), 0);
    assert_int_equal(shoal_pubsub_open(options, &pubsub, NULL), 0);
    listener_begin(&stage.a, pubsub, "ok1 bad1 ok2 ok3 bad2");
    assert_int_equal(shoal_subscription_wait(stage.a.subscription, WAITING_US_MAX), 1);
    live_ask(stage.client, "PUBLISH ok2 x");
    WAIT_FOR(listener_has(&stage.a, "ok2=x"));
    assert_true(listener_has(&stage.a, "!bad1"));
    assert_true(listener_has(&stage.a, "!bad2"));
    assert_true(listener_has(&stage.a, "+ok1"));
    assert_true(listener_has(&stage.a, "+ok2"));
    assert_true(listener_has(&stage.a, "+ok3"));
    assert_int_equal(stage.a.items, 6);
    assert_non_null(strstr(stage.a.detail, "NOPERM"));
    assert_int_equal(listener_stats(pubsub).names_wanted_now, 3);
    assert_int_equal(listener_stats(pubsub).rejected, 2);
    assert_true(listener_stats(pubsub).requests <= 2 * 2 * 3);
    listener_end(&stage.a);
    shoal_pubsub_release(pubsub);
    shoal_options_free(options);
    live_ask(stage.client, "ACL DELUSER reader");
    close_stage();
}

/* ---- callbacks ---- */

static void close_itself(listener_t *listener, const shoal_item_t *item)
{
    if (shoal_item_kind(item) == SHOAL_ITEM_MESSAGE)
        shoal_subscription_close(listener->subscription);
}

static void change_itself(listener_t *listener, const shoal_item_t *item)
{
    (void)item;
    listener->act = NULL;
    listener_add(listener, "second");
    listener_begin(&stage.b, stage.pubsub, "third");
    assert_int_equal(
        shoal_client_submitf(stage.client, ignore_result, NULL, "PUBLISH x fromhere"),
        0);
    assert_int_equal(shoal_subscription_wait(listener->subscription, 1000),
                     SHOAL_ELOOP);
    assert_int_equal(shoal_pubsub_close_and_wait(stage.pubsub), SHOAL_ELOOP);
}

static void test_a_callback_may_do_nearly_everything(void **state)
{
    (void)state;
    open_stage(3);
    stage.a.act = change_itself;
    listener_begin(&stage.a, stage.pubsub, "x");
    WAIT_FOR(listener_has(&stage.a, "x=fromhere"));
    WAIT_FOR(listener_has(&stage.a, "+second"));
    listener_wait(&stage.b);
    LISTENER_HEARS(&stage.b, "+third ");
    listener_end(&stage.b);
    stage.a.act = close_itself;
    /* In one read, so that the second comes right behind it. */
    live_ask(stage.client,
             "EVAL redis.call('PUBLISH','x','1')redis.call('PUBLISH','x','2') 0");
    WAIT_FOR(ask_number("PUBSUB NUMSUB x") == 0);
    assert_true(listener_has(&stage.a, "x=1"));
    assert_false(listener_has(&stage.a, "x=2"));
    close_stage();
}

typedef struct slow {
    _Atomic int is_inside, is_over;
} slow_t;

static void be_slow(listener_t *listener, const shoal_item_t *item)
{
    slow_t *slow = listener->act_data;

    (void)item;
    atomic_store(&slow->is_inside, 1);
    waiting_sleep_us(20000);
    atomic_store(&slow->is_over, 1);
}

static void test_a_close_waits_for_its_callback(void **state)
{
    slow_t slow = {0};

    (void)state;
    open_stage(3);
    stage.a.act = be_slow;
    stage.a.act_data = &slow;
    listener_begin(&stage.a, stage.pubsub, "x");
    listener_begin(&stage.b, stage.pubsub, "x");
    WAIT_FOR(atomic_load(&slow.is_inside));
    shoal_subscription_close(stage.a.subscription);
    assert_true(atomic_load(&slow.is_over));
    listener_wait(&stage.b);
    listener_end(&stage.b);
    close_stage();
}

/* ---- mailboxes ---- */

static size_t take_all(shoal_mailbox_t *mailbox, const shoal_item_t **items,
                       size_t count)
{
    WAIT_FOR(shoal_mailbox_count(mailbox) >= count);
    assert_int_equal(shoal_mailbox_wait(mailbox, 0), 0);
    return shoal_mailbox_take(mailbox, items, 16);
}

static void test_a_mailbox_of_two_subscriptions(void **state)
{
    const shoal_name_t x = {SHOAL_NAME_CHANNEL, "x", 1},
                       y = {SHOAL_NAME_CHANNEL, "y", 1};
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    shoal_subscription_t *first, *second;
    const shoal_item_t *items[16];
    shoal_mailbox_t *mailbox;
    size_t bytes;

    (void)state;
    open_stage(3);
    assert_int_equal(shoal_mailbox_new(0, 0, SHOAL_OVERFLOW_NEWEST, &mailbox), 0);
    receiver.mailbox = mailbox;
    receiver.data = &first;
    assert_int_equal(shoal_pubsub_subscribe(stage.pubsub, &x, 1, &receiver, &first), 0);
    receiver.data = &second;
    assert_int_equal(shoal_pubsub_subscribe(stage.pubsub, &y, 1, &receiver, &second),
                     0);
    assert_int_equal(take_all(mailbox, items, 2), 2);
    live_ask(stage.client, "PUBLISH y 1");
    live_ask(stage.client, "PUBLISH x 2");
    assert_int_equal(take_all(mailbox, items, 2), 2);
    assert_ptr_equal(shoal_item_data(items[0]), &second);
    assert_ptr_equal(shoal_item_data(items[1]), &first);
    assert_memory_equal(shoal_item_payload(items[1], &bytes), "2", 1);
    live_ask(stage.client, "PUBLISH x 3");
    live_ask(stage.client, "PUBLISH y 4");
    WAIT_FOR(shoal_mailbox_count(mailbox) == 2);
    shoal_subscription_close(first); /* what the mailbox has of it is dropped */
    assert_int_equal(shoal_mailbox_count(mailbox), 1);
    assert_int_equal(shoal_mailbox_take(mailbox, items, 16), 1);
    assert_ptr_equal(shoal_item_data(items[0]), &second);
    close_stage();
    assert_int_equal(take_all(mailbox, items, 1), 1);
    assert_int_equal(shoal_item_kind(items[0]), SHOAL_ITEM_ENDED);
    shoal_mailbox_free(mailbox);
    shoal_subscription_close(second);
}

static void test_a_mailbox_that_ends_when_it_is_full(void **state)
{
    const shoal_name_t x = {SHOAL_NAME_CHANNEL, "x", 1};
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    shoal_subscription_t *subscription;
    const shoal_item_t *items[16];
    shoal_mailbox_t *mailbox;
    size_t count = 0;

    (void)state;
    open_stage(3);
    assert_int_equal(shoal_mailbox_new(2, 0, SHOAL_OVERFLOW_END, &mailbox), 0);
    receiver.mailbox = mailbox;
    assert_int_equal(
        shoal_pubsub_subscribe(stage.pubsub, &x, 1, &receiver, &subscription), 0);
    assert_int_equal(shoal_subscription_wait(subscription, WAITING_US_MAX), 0);
    for (int i = 0; i < 5; i++)
        live_ask(stage.client, "PUBLISH x 1");
    WAIT_FOR(ask_number("PUBSUB NUMSUB x") == 0); /* its names are given up */
    while (count == 0 || shoal_item_kind(items[count - 1]) != SHOAL_ITEM_ENDED)
        count = shoal_mailbox_take(mailbox, items, 16);
    shoal_subscription_close(subscription);
    shoal_mailbox_free(mailbox);
    close_stage();
}

/* ---- ends ---- */

static void test_a_pubsub_ends_with_subscriptions(void **state)
{
    (void)state;
    open_stage(3);
    listener_begin(&stage.a, stage.pubsub, "x");
    listener_begin(&stage.b, stage.pubsub, "");
    listener_wait(&stage.a);
    LISTENER_HEARS(&stage.a, "+x ");
    close_stage();
    LISTENER_HEARS(&stage.a, ". ");
    LISTENER_HEARS(&stage.b, ". ");
    const shoal_name_t name = {SHOAL_NAME_CHANNEL, "y", 1};
    assert_int_equal(shoal_subscription_add(stage.a.subscription, &name, 1),
                     SHOAL_ECLOSED);
    assert_int_equal(shoal_subscription_wait(stage.a.subscription, 0), SHOAL_ECLOSED);
    listener_end(&stage.a); /* keeps the memory until now */
    listener_end(&stage.b);
}

static void test_the_last_reference_closes(void **state)
{
    (void)state;
    open_stage(3);
    listener_begin(&stage.a, stage.pubsub, "x");
    listener_wait(&stage.a);
    shoal_pubsub_release(stage.pubsub);
    live_ask(stage.client, "PUBLISH x 1");
    LISTENER_HEARS(&stage.a, "+x x=1 "); /* the subscription keeps it */
    listener_end(&stage.a);
    WAIT_FOR(ask_number("PUBSUB NUMSUB x") == 0);
    live_finish(stage.client);
}

static void test_a_forked_child_leaves_them_alone(void **state)
{
    (void)state;
    open_stage(3);
    listener_begin(&stage.a, stage.pubsub, "x");
    listener_wait(&stage.a);
    pid_t child = fork();
    if (child == 0) {
        const shoal_name_t name = {SHOAL_NAME_CHANNEL, "y", 1};
        bool is_right =
            shoal_subscription_add(stage.a.subscription, &name, 1) == SHOAL_EFORK &&
            shoal_subscription_wait(stage.a.subscription, 0) == SHOAL_EFORK &&
            shoal_pubsub_close(stage.pubsub, NULL, NULL) == SHOAL_EFORK &&
            shoal_pubsub_after_fork_child(stage.pubsub) == 0;
        shoal_subscription_close(stage.a.subscription);
        shoal_pubsub_release(stage.pubsub);
        _exit(is_right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    live_ask(stage.client, "PUBLISH x 1");
    LISTENER_HEARS(&stage.a, "+x x=1 ");
    listener_end(&stage.a);
    close_stage();
}

static int subscribe_into(shoal_mailbox_t *mailbox)
{
    const shoal_name_t name = {SHOAL_NAME_CHANNEL, "x", 1};
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    shoal_subscription_t *subscription;
    shoal_pubsub_t *pubsub;
    int rc;

    if (shoal_pubsub_open_borrowed(NULL, &pubsub, NULL) < 0)
        return 0;
    receiver.mailbox = mailbox;
    rc = shoal_pubsub_subscribe(pubsub, &name, 1, &receiver, &subscription);
    (void)shoal_pubsub_close_and_wait(pubsub);
    shoal_pubsub_release(pubsub);
    return rc;
}

static void test_a_child_cannot_subscribe_into_the_parents_mailbox(void **state)
{
    shoal_mailbox_t *mailbox;
    int status;

    (void)state;
    assert_int_equal(shoal_mailbox_new(0, 0, SHOAL_OVERFLOW_NEWEST, &mailbox), 0);
    pid_t child = lone_fork();
    if (child == 0)
        _exit(subscribe_into(mailbox) == SHOAL_EFORK ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    shoal_mailbox_free(mailbox);
}

/* ---- a loop of the program's ---- */

static void test_a_borrowed_pubsub(void **state)
{
    shoal_options_t *options = live_options();
    shoal_pubsub_t *pubsub;

    (void)state;
    open_stage(3);
    assert_int_equal(shoal_pubsub_open_borrowed(options, &pubsub, NULL), 0);
    shoal_options_free(options);
    assert_true(shoal_pubsub_fd(pubsub) >= 0);
    listener_begin(&stage.a, pubsub, "x");
    assert_int_equal(shoal_subscription_wait(stage.a.subscription, 0), SHOAL_ETIMEOUT);
    while (shoal_subscription_wait(stage.a.subscription, 0) != 0)
        assert_int_equal(shoal_pubsub_step(pubsub, WAITING_US_MAX), 0);
    LISTENER_HEARS(&stage.a, "+x ");
    live_ask(stage.client, "PUBLISH x 1");
    while (!listener_has(&stage.a, "x=1"))
        assert_int_equal(shoal_pubsub_step(pubsub, WAITING_US_MAX), 0);
    assert_true(shoal_pubsub_wait_us(pubsub) != 0);
    listener_end(&stage.a);
    assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    shoal_pubsub_release(pubsub);
    close_stage();
}

static void on_closed(void *data)
{
    *(bool *)data = true;
}

static void test_a_libuv_loop(void **state)
{
    shoal_options_t *options = live_options();
    shoal_pubsub_t *pubsub;
    bool is_closed = false;
    uv_loop_t loop;

    (void)state;
    open_stage(3);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(shoal_pubsub_open_uv(&loop, options, &pubsub, NULL), 0);
    shoal_options_free(options);
    assert_int_equal(shoal_pubsub_fd(pubsub), -1);
    assert_int_equal(shoal_pubsub_step(pubsub, 0), SHOAL_EINVAL);
    listener_begin(&stage.a, pubsub, "x");
    while (!listener_has(&stage.a, "+x "))
        uv_run(&loop, UV_RUN_ONCE);
    live_ask(stage.client, "PUBLISH x 1");
    while (!listener_has(&stage.a, "x=1 "))
        uv_run(&loop, UV_RUN_ONCE);
    listener_end(&stage.a);
    assert_int_equal(shoal_pubsub_close(pubsub, on_closed, &is_closed), 0);
    uv_run(&loop, UV_RUN_DEFAULT); /* nothing keeps it alive then */
    assert_true(is_closed);
    assert_int_equal(uv_loop_close(&loop), 0);
    shoal_pubsub_release(pubsub);
    close_stage();
}

typedef struct given_up {
    shoal_subscription_t *subscriptions[3];
    shoal_mailbox_t *mailboxes[3];
} given_up_t;

static void close_all(listener_t *listener, const shoal_item_t *item)
{
    given_up_t *given_up = listener->act_data;

    (void)item;
    for (size_t i = 1; i < 4; i++) { /* in the midst first */
        shoal_subscription_close(given_up->subscriptions[i % 3]);
        shoal_mailbox_free(given_up->mailboxes[i % 3]);
    }
}

/* One turn confirms the names, because another subscription has them, and ends the
 * subscriptions, because a callback does; then it would tell the consumers. */
static void test_a_close_before_the_consumer_is_told(void **state)
{
    const shoal_name_t x = {SHOAL_NAME_CHANNEL, "x", 1};
    shoal_receiver_t receiver = SHOAL_RECEIVER_INIT;
    shoal_options_t *options = live_options();
    shoal_pubsub_t *pubsub;
    given_up_t given_up;

    (void)state;
    open_stage(3);
    assert_int_equal(shoal_pubsub_open_borrowed(options, &pubsub, NULL), 0);
    shoal_options_free(options);
    listener_begin(&stage.a, pubsub, "x");
    while (shoal_subscription_wait(stage.a.subscription, 0) != 0)
        assert_int_equal(shoal_pubsub_step(pubsub, WAITING_US_MAX), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(
            shoal_mailbox_new(0, 0, SHOAL_OVERFLOW_NEWEST, &given_up.mailboxes[i]), 0);
        receiver.mailbox = given_up.mailboxes[i];
        assert_int_equal(shoal_pubsub_subscribe(pubsub, &x, 1, &receiver,
                                                &given_up.subscriptions[i]),
                         0);
    }
    stage.b.act = close_all;
    stage.b.act_data = &given_up;
    listener_begin(&stage.b, pubsub, "x");
    while (!listener_has(&stage.b, "+x"))
        assert_int_equal(shoal_pubsub_step(pubsub, 0), 0);
    listener_end(&stage.a);
    listener_end(&stage.b);
    assert_int_equal(shoal_pubsub_close_and_wait(pubsub), 0);
    shoal_pubsub_release(pubsub);
    close_stage();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_in_resp3),
        cmocka_unit_test(test_messages_in_resp2),
        cmocka_unit_test(test_odd_names),
        cmocka_unit_test(test_a_name_of_keyspace_events),
        cmocka_unit_test(test_a_loss_is_told),
        cmocka_unit_test(test_numbers_ascend_or_a_gap_is_told),
        cmocka_unit_test(test_forbidden_names_are_rejected),
        cmocka_unit_test(test_a_callback_may_do_nearly_everything),
        cmocka_unit_test(test_a_close_waits_for_its_callback),
        cmocka_unit_test(test_a_mailbox_of_two_subscriptions),
        cmocka_unit_test(test_a_mailbox_that_ends_when_it_is_full),
        cmocka_unit_test(test_a_pubsub_ends_with_subscriptions),
        cmocka_unit_test(test_the_last_reference_closes),
        cmocka_unit_test(test_a_forked_child_leaves_them_alone),
        cmocka_unit_test(test_a_child_cannot_subscribe_into_the_parents_mailbox),
        cmocka_unit_test(test_a_borrowed_pubsub),
        cmocka_unit_test(test_a_libuv_loop),
        cmocka_unit_test(test_a_close_before_the_consumer_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
