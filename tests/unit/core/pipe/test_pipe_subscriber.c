/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pipe/pipe_move.h"
#include "core/pipe/pipe_subscriber.h"
#include "resp/push.h"
#include "resp/reply_shape.h"
#include "unit/core/pipe/pipe_rig.h"

/* The rig's pipe, as a subscriber: pushes stand in the transcript as <kind name>. */

/* What is fed, and how many payloads were read where they stand in it. */
static shoal__bytes_t fed;
static size_t views;

static void hear_push(void *owner, const shoal__push_t *push)
{
    static const char *const kinds[] = {"other", "message", "yes", "no"};
    char line[128];

    views += fed.data && push->payload.data >= fed.data &&
             push->payload.data < fed.data + fed.bytes;
    assert_ptr_equal(owner, &rig);
    snprintf(line, sizeof line, "<%s %.*s%s%.*s> ", kinds[push->kind],
             (int)push->name.bytes, push->name.data ? push->name.data : "",
             push->payload.data ? "=" : "", (int)push->payload.bytes,
             push->payload.data ? push->payload.data : "");
    rig_hear(line);
    if (push->payload.bytes == 4 && memcmp(push->payload.data, "fail", 4) == 0)
        shoal__pipe_refuse(&rig.pipe, SHOAL_ENOMEM, "as the test wants");
}

/* Does the owner say that pushes answered the request at its turn? */
static bool says_answered;

static bool is_answered(void *owner)
{
    assert_ptr_equal(owner, &rig);
    return says_answered;
}

static int set_up(void **state)
{
    const shoal__pipe_hooks_t hooks = {.on_result = rig_hear_result,
                                       .on_own = rig_hear_result,
                                       .on_message = hear_push,
                                       .is_answered = is_answered};

    says_answered = false;
    rig_set_up(state);
    shoal__pipe_release(&rig.pipe);
    rig.config.is_subscriber = true;
    rig.config.stall_us = SHOAL__NEVER_US;
    rig.config.reply.bytes_max = 1 << 20;
    const shoal__pipe_parts_t parts = {&rig.config, &rig.target, &rig.shared};
    return shoal__pipe_init(&rig.pipe, &parts, &hooks, &rig);
}

static void connect_with(int protocol)
{
    rig_connect();
    rig.pipe.is_resp3 = protocol == 3;
}

/* A request of the library's own.  is_pushed: it is answered by pushes. */
static void send_own(char name, bool is_pushed)
{
    shoal__request_t request = rig_request(name, SHOAL__REQUEST_INTERNAL, RO);

    request.ticket = 0;
    request.shape = is_pushed ? SHOAL__SHAPE_PUSHES : SHOAL__SHAPE_ANY;
    rig_push(&request);
    rig_write_all();
}

#define HELLO "3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$5\r\nhello\r\n"

static void test_requests_that_are_answered_by_pushes(void **state)
{
    (void)state;
    connect_with(3);
    send_own('s', true);
    send_own('p', false);
    assert_int_equal(rig_feed(">" HELLO ">3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n"),
                     0);
    assert_heard("<message x=hello> <yes x> ");
    assert_int_equal(shoal__pipe_inflight(&rig.pipe), 2);
    assert_int_equal(rig_feed("$2\r\nhi\r\n"), 0);
    assert_heard("s=sink p=$hi "); /* the first has no reply */
    assert_true(pipe_is_idle(&rig.pipe));
    /* An error at its turn is its own. */
    send_own('s', true);
    send_own('p', false);
    send_own('t', true);
    send_own('q', false);
    assert_int_equal(rig_feed("-NOPERM no\r\n>" HELLO "+PONG\r\n+PONG\r\n"), 0);
    assert_heard("s=-NOPERM no <message x=hello> p=+PONG t=sink q=+PONG ");
    assert_int_equal(counter(&rig.pipe.stats.pushes), 3);
    /* Nobody waits for a reply now. */
    assert_int_equal(rig_feed("+PONG\r\n"), SHOAL_EDESYNC);
}

static void test_an_error_behind_all_pushes_is_the_next_ones(void **state)
{
    (void)state;
    connect_with(3);
    says_answered = true;
    send_own('s', true);
    send_own('p', false);
    assert_int_equal(
        rig_feed(">3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n-LOADING no\r\n"), 0);
    assert_heard("<yes x> s=sink p=-LOADING no ");
    assert_true(pipe_is_idle(&rig.pipe));
    /* Of a request that takes a reply the error is its own, whatever the owner says. */
    send_own('p', false);
    assert_int_equal(rig_feed("-LOADING no\r\n"), 0);
    assert_heard("p=-LOADING no ");
    assert_int_equal(rig_feed("-ERR bye\r\n"), SHOAL_EDESYNC);
}

/* An owner that does not know. */
static void test_without_the_hook_an_error_is_the_requests_own(void **state)
{
    (void)state;
    connect_with(3);
    rig.pipe.hooks.is_answered = NULL;
    send_own('s', true);
    send_own('p', false);
    assert_int_equal(rig_feed("-LOADING no\r\n+PONG\r\n"), 0);
    assert_heard("s=-LOADING no p=+PONG ");
}

static void test_an_error_that_nobody_waits_for(void **state)
{
    (void)state;
    connect_with(3);
    assert_int_equal(rig_feed("-ERR max number of clients reached\r\n"), SHOAL_EDESYNC);
}

static void test_resp2(void **state)
{
    (void)state;
    connect_with(2);
    send_own('s', true);
    send_own('p', false);
    assert_int_equal(rig_feed("*" HELLO "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n"
                              "*2\r\n$4\r\npong\r\n$2\r\nhi\r\n*" HELLO),
                     0);
    assert_heard("<message x=hello> <yes x> s=sink p=*2 <message x=hello> ");
    /* A message that is cut is no reply that nobody waits for. */
    assert_int_equal(rig_feed("*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$5\r\nhe"), 0);
    assert_int_equal(rig_feed("llo\r\n"), 0);
    assert_heard("<message x=hello> ");
    assert_int_equal(rig_feed("*1\r\n+what\r\n"), SHOAL_EDESYNC);
}

static void test_every_split(void **state)
{
    static const char wire[] =
        ">" HELLO ">3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n"
        "$2\r\nhi\r\n>1\r\n+odd\r\n>0\r\n>" HELLO
        ">4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\nx\r\n$3\r\n\r\n\r\r\n";

    (void)state;
    for (size_t cut = 0; cut < sizeof wire; cut++) {
        rig_tear_down(state);
        set_up(state);
        connect_with(3);
        send_own('s', true);
        send_own('p', false);
        assert_int_equal(shoal__pipe_feed(&rig.pipe, wire, cut, rig.now_us), 0);
        assert_int_equal(
            shoal__pipe_feed(&rig.pipe, wire + cut, sizeof wire - 1 - cut, rig.now_us),
            0);
        assert_heard("<message x=hello> <yes x> s=sink p=$hi <other > <other > "
                     "<message x=hello> <message *=\r\n\r> ");
    }
    rig_tear_down(state);
    set_up(state);
    connect_with(3);
    send_own('s', true);
    send_own('p', false);
    for (size_t i = 0; i < sizeof wire - 1; i++)
        assert_int_equal(shoal__pipe_feed(&rig.pipe, wire + i, 1, rig.now_us), 0);
    assert_heard("<message x=hello> <yes x> s=sink p=$hi <other > <other > "
                 "<message x=hello> <message *=\r\n\r> ");
}

/* Only the message that is cut is put together; those behind it are read where they stand. */
static void test_a_split_is_over_with_its_message(void **state)
{
    static const char wire[] = ">" HELLO ">" HELLO ">" HELLO;

    for (size_t cut = 1; cut < sizeof wire / 3; cut++) {
        rig_tear_down(state);
        set_up(state);
        connect_with(3);
        fed = (shoal__bytes_t){wire, sizeof wire - 1};
        views = 0;
        assert_int_equal(shoal__pipe_feed(&rig.pipe, wire, cut, rig.now_us), 0);
        assert_int_equal(
            shoal__pipe_feed(&rig.pipe, wire + cut, sizeof wire - 1 - cut, rig.now_us),
            0);
        fed.data = NULL;
        assert_heard("<message x=hello> <message x=hello> <message x=hello> ");
        assert_int_equal(views, 2);
    }
}

static void test_long_messages(void **state)
{
    enum { BYTES = 200000 };
    char head[64];
    char *payload = test_malloc(BYTES + 2);

    (void)state;
    connect_with(3);
    memset(payload, '\n', BYTES);
    memcpy(payload + BYTES, "\r\n", 2);
    rig.is_deaf = true;
    snprintf(head, sizeof head, ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$%d\r\n", BYTES);
    assert_int_equal(rig_feed(head), 0);
    for (size_t at = 0; at < BYTES + 2; at += 65536)
        assert_int_equal(
            shoal__pipe_feed(&rig.pipe, payload + at,
                             BYTES + 2 - at < 65536 ? BYTES + 2 - at : 65536,
                             rig.now_us),
            0);
    assert_int_equal(counter(&rig.pipe.stats.pushes), 1);
    assert_true(shoal__decoder_is_at_rest(rig.pipe.decoder));
    /* Over the limit of replies. */
    assert_int_equal(rig_feed(">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$2000000\r\nabc"),
                     SHOAL_EDESYNC);
    test_free(payload);
}

static void test_what_is_no_resp(void **state)
{
    (void)state;
    connect_with(3);
    assert_int_equal(rig_feed(">" HELLO "?" HELLO), SHOAL_EDESYNC);
    assert_heard("<message x=hello> ");
}

/* The owner gives the connection up: nothing behind that is told. */
static void test_an_owner_that_refuses(void **state)
{
    (void)state;
    connect_with(3);
    assert_int_equal(
        rig_feed(">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$4\r\nfail\r\n>" HELLO ">" HELLO),
        SHOAL_ENOMEM);
    assert_heard("<message x=fail> ");
}

static void test_a_notice_of_maintenance_is_no_message(void **state)
{
    (void)state;
    connect_with(3);
    assert_int_equal(rig_feed(">3\r\n+MIGRATING\r\n:1\r\n:2\r\n"), 0);
    assert_heard("");
    assert_non_null(rig.pipe.maintenance);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_requests_that_are_answered_by_pushes),
        CASE(test_an_error_behind_all_pushes_is_the_next_ones),
        CASE(test_without_the_hook_an_error_is_the_requests_own),
        CASE(test_an_error_that_nobody_waits_for),
        CASE(test_resp2),
        CASE(test_every_split),
        CASE(test_a_split_is_over_with_its_message),
        CASE(test_long_messages),
        CASE(test_what_is_no_resp),
        CASE(test_an_owner_that_refuses),
        CASE(test_a_notice_of_maintenance_is_no_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
