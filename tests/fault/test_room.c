/* SPDX-License-Identifier: MIT */
/* Room is counted exactly where the books are behind: in the middle of a turn, of a loss,
 * when no turn follows, and when a connection goes.  (I6) */
#include "client/client.h"
#include "net/conn.h"
#include "net/conn_set.h"
#include "route/config.h"
#include "support/lone_caller.h"

#include <string.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)
#define QUEUED_MAX 10

/* Callbacks that submit again. */
typedef struct again {
    size_t results, accepted, refused, tries;
    int rc; /* of the last refusal */
} again_t;

static const char *const get[] = {"GET", "k"};

static void submit_again(shoal_client_t *client, const shoal_result_t *result,
                         void *data)
{
    again_t *again = data;
    int rc = 0;
    (void)result;

    again->results++;
    for (size_t i = 0; i < again->tries && rc == 0; i++) {
        rc = shoal_client_submit(client, 2, get, NULL, NULL, NULL, NULL);
        again->accepted += rc == 0;
    }
    if (rc != 0) {
        again->refused++;
        again->rc = rc;
    }
}

static void submit_hastily(scene_t *scene, size_t count, again_t *again)
{
    const shoal_command_t command = {2, get, NULL};
    const shoal_call_t hasty = {.size = sizeof hasty, .timeout_us = 20000};

    for (size_t i = 0; i < count; i++)
        assert_int_equal(shoal_client_submit_many(scene->client, &command, 1, &hasty,
                                                  submit_again, again, NULL),
                         0);
}

static void step(scene_t *scene)
{
    assert_int_equal(shoal_client_step(scene->client, 0), 0);
}

static void open_borrowed(scene_t *scene, size_t inflight_max)
{
    assert_int_equal(shoal_options_set_outstanding_max(scene->options, QUEUED_MAX,
                                                       inflight_max, 1000000),
                     0);
    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    step(scene);
}

/* ---- time-outs in a turn ---- */

/* The loop stands still until the hasty commands are over. */
static void let_them_expire(scene_t *scene, const again_t *again, size_t count)
{
    waiting_sleep_us(40000);
    WAIT_FOR((step(scene), again->results == count));
}

/* Each leaves its place to the one that its callback submits. */
static void test_those_that_expire_make_room(void **state)
{
    scene_t *scene = *state;
    again_t *again = scene_alloc(scene, sizeof *again);

    again->tries = 1;
    fake_server_refuse(scene->server, true);
    open_borrowed(scene, 100);
    submit_hastily(scene, QUEUED_MAX, again);
    step(scene); /* the account counts them */
    let_them_expire(scene, again, QUEUED_MAX);
    assert_int_equal(again->accepted, QUEUED_MAX);
    assert_int_equal(again->refused, 0);
    assert_int_equal(scene_stats(scene).queued_now, QUEUED_MAX);
}

/* What entered before the turn, and during it, is counted when the account is looked at
 * again. */
static void test_those_that_expire_make_no_more_room(void **state)
{
    enum { HASTY = 5 };
    scene_t *scene = *state;
    again_t *again = scene_alloc(scene, sizeof *again);

    again->tries = 100;
    fake_server_refuse(scene->server, true);
    open_borrowed(scene, 100);
    submit_hastily(scene, HASTY, again);
    for (size_t i = HASTY; i < QUEUED_MAX; i++)
        assert_int_equal(
            shoal_client_submit(scene->client, 2, get, NULL, NULL, NULL, NULL), 0);
    let_them_expire(scene, again, HASTY);
    assert_int_equal(again->accepted, HASTY);
    assert_int_equal(again->refused, HASTY);
    assert_int_equal(again->rc, SHOAL_EFULL);
    assert_int_equal(scene_stats(scene).queued_now, QUEUED_MAX);
}

/* ---- a loss outside a turn ---- */

/* One was written and ten wait.  The first callback finds all of these ten still queued;
 * each of the others finds the place of its own command. */
static void test_those_that_are_lost_make_room(void **state)
{
    scene_t *scene = *state;
    again_t *again = scene_alloc(scene, sizeof *again);

    again->tries = 1;
    assert_int_equal(shoal_options_set_offline_mode(scene->options, SHOAL_OFFLINE_FAIL),
                     0);
    open_borrowed(scene, 1);
    WAIT_FOR((step(scene), scene_events(scene).ready == 1));
    fake_server_freeze(scene->server);
    for (size_t i = 0; i <= QUEUED_MAX; i++) {
        assert_int_equal(
            shoal_client_submit(scene->client, 2, get, NULL, submit_again, again, NULL),
            0);
        WAIT_FOR((step(scene), scene_stats(scene).inflight_now == 1));
    }
    assert_int_equal(scene_stats(scene).queued_now, QUEUED_MAX);
    fake_server_cut(scene->server, FAKE_CUT_RESET);
    WAIT_FOR((step(scene), scene_events(scene).lost == 1));
    assert_int_equal(again->results, QUEUED_MAX + 1);
    assert_int_equal(again->accepted, QUEUED_MAX);
    assert_int_equal(again->refused, 1);
    assert_int_equal(again->rc, SHOAL_EFULL);
    fake_server_release(scene->server);
}

/* ---- no turn follows ---- */

/* The background thread answers the last lone call before it parks: no turn comes until it
 * has napped, and the caller finds the books up to date all the same. */
static void test_a_parked_client_owes_nothing(void **state)
{
    enum { ROUNDS = 5, CALLS_MAX = 10000 };
    scene_t *scene = *state;
    char *value = scene_alloc(scene, 701);
    const char *const set[] = {"SET", "k", value};

    memset(value, 'v', 700);
    assert_int_equal(shoal_options_set_outstanding_max(scene->options, 100, 100, 1024),
                     0);
    scene_open_ready(scene);
    for (int round = 0; round < ROUNDS; round++) {
        outcome_t *outcome = scene_outcomes(scene, 1);
        shoal_stats_t stats;
        int calls = 0;

        do {
            shoal_result_t *result = NULL;
            assert_true(calls++ < CALLS_MAX);
            /* There is room for one alone.  A turn that still runs counts the last. */
            WAIT_FOR(shoal__ledger_has_room(&scene->client->ledger, 0, 0, 1, 1024));
            assert_int_equal(shoal_client_call(scene->client, 3, set, NULL, &result),
                             0);
            assert_int_equal(shoal_result_status(result), 0);
            shoal_result_release(result);
        } while (atomic_load(&scene->client->seat.driver) != SHOAL__DRIVER_PARKED);
        stats = scene_stats(scene);
        assert_int_equal(stats.bytes_now, 0);
        assert_int_equal(stats.queued_now, 0);
        scene_submit(scene, WORDS("SET", "k", value), NULL, outcome);
        scene_check_text(outcome, "OK");
    }
}

/* ---- a connection that goes ---- */

/* Two connections of one set, never opened. */
typedef struct pair {
    shoal__account_t account;
    shoal__conn_config_t config;
    shoal__target_t target;
    shoal__endpoint_list_t endpoints;
    shoal__conn_set_t set;
    shoal__conn_t conns[2];
    unsigned results;
} pair_t;

static void count_result(void *owner, const shoal__request_t *request,
                         const shoal_result_t *result)
{
    pair_t *pair = owner;
    (void)request;
    (void)result;

    pair->results++;
}

static void ignore_event(void *owner, const shoal_event_t *event)
{
    (void)owner;
    (void)event;
}

static void ignore_reading(void *owner, uint64_t now_us)
{
    (void)owner;
    (void)now_us;
}

static void ignore_delivered(void *owner)
{
    (void)owner;
}

static void make_pair(scene_t *scene, pair_t *pair)
{
    static const shoal__conn_hooks_t hooks = {.on_result = count_result,
                                              .on_event = ignore_event,
                                              .on_reading = ignore_reading,
                                              .on_delivered = ignore_delivered};

    shoal__config_read(scene->options, &pair->config);
    shoal__target_read(scene->options, &pair->endpoints, &pair->target);
    assert_int_equal(shoal__conn_set_init(&pair->set, 1, &pair->account), 0);
    for (unsigned i = 0; i < 2; i++) {
        const shoal__conn_plan_t plan = {.config = &pair->config,
                                         .target = &pair->target,
                                         .set = &pair->set,
                                         .id = i + 1,
                                         .hooks = &hooks,
                                         .owner = pair};
        assert_int_equal(shoal__conn_init(&pair->conns[i], &plan), 0);
    }
}

static void leave_ping(shoal__conn_t *conn)
{
    static const char ping[] = "*1\r\n$4\r\nPING\r\n";
    const shoal__request_t request = {.bytes = sizeof ping - 1,
                                      .deadline_us = SHOAL_TIMEOUT_NEVER};
    char *at = shoal__pipe_reserve(&conn->pipe, request.bytes, 1);

    assert_non_null(at);
    memcpy(at, ping, request.bytes);
    shoal__pipe_push(&conn->pipe, &request);
    shoal__conn_touch(conn);
}

static void check_account(pair_t *pair, uint64_t commands)
{
    shoal__conn_set_publish(&pair->set);
    assert_int_equal(shoal__counter_get(&pair->account.queued), commands);
    assert_int_equal(shoal__counter_get(&pair->account.inflight), 0);
    assert_int_equal(shoal__counter_get(&pair->account.bytes), commands * 14);
}

static void test_a_connection_takes_its_share_along(void **state)
{
    scene_t *scene = *state;
    pair_t *pair = scene_alloc(scene, sizeof *pair);

    make_pair(scene, pair);
    for (int i = 0; i < 3; i++)
        leave_ping(&pair->conns[0]);
    leave_ping(&pair->conns[1]);
    check_account(pair, 4);
    leave_ping(&pair->conns[0]); /* it was not counted yet */
    shoal__conn_close(&pair->conns[0], shoal__clock_us());
    assert_int_equal(pair->results, 4);
    shoal__conn_release(&pair->conns[0]);
    check_account(pair, 1);
    shoal__conn_close(&pair->conns[1], shoal__clock_us());
    check_account(pair, 0); /* it is there, and counted */
    shoal__conn_release(&pair->conns[1]);
    check_account(pair, 0);
    shoal__conn_set_release(&pair->set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_those_that_expire_make_room),
        SCENE_TEST(test_those_that_expire_make_no_more_room),
        SCENE_TEST(test_those_that_are_lost_make_room),
        SCENE_TEST(test_a_parked_client_owes_nothing),
        SCENE_TEST(test_a_connection_takes_its_share_along),
    };
    return cmocka_run_group_tests_name("fault/room", tests, NULL, NULL);
}
