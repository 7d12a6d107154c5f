/* SPDX-License-Identifier: MIT */
/* A connection over another kind of stream than a socket: one that holds back what it has
 * read, as decrypted records are held, has errors of its own, and takes little at once.
 * (I1 I2) */
#include "support/fake/fake_server.h"
#include "support/holding_stream.h"
#include "support/waiting.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/clock.h"
#include "net/conn_set.h"
#include "route/config.h"
#include <shoal/shoal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMANDS 100
#define COMMAND_BYTES 23 /* ECHO of three digits */

/* ---- a connection on a loop of the test's own ---- */

static struct rig {
    fake_server_t *server;
    shoal_options_t *options;
    uv_loop_t loop;
    shoal__account_t account;
    shoal__conn_config_t config;
    shoal__endpoint_list_t endpoints;
    shoal__target_t target;
    shoal__conn_set_t set;
    shoal__conn_t conn;
    unsigned answered;    /* commands */
    unsigned ready, lost; /* events */
    int lost_status;
    char detail[256]; /* of the first loss since it was cleared */
} rig;

static void on_result(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result)
{
    char text[8];

    assert_ptr_equal(owner, &rig);
    assert_int_equal(result->status, 0);
    snprintf(text, sizeof text, "%03u", rig.answered++);
    assert_int_equal(request->tag, rig.answered);
    size_t bytes = 0;
    const char *reply = shoal_reply_string(result->reply, &bytes);
    assert_int_equal(bytes, 3);
    assert_memory_equal(reply, text, bytes);
}

static void on_event(void *owner, const shoal_event_t *event)
{
    assert_ptr_equal(owner, &rig);
    rig.ready += event->kind == SHOAL_EVENT_READY;
    if (event->kind != SHOAL_EVENT_LOST && event->kind != SHOAL_EVENT_ATTEMPT_FAILED)
        return;
    rig.lost++;
    rig.lost_status = event->status;
    if (!rig.detail[0])
        snprintf(rig.detail, sizeof rig.detail, "%s", event->detail);
}

static void on_reading(void *owner, uint64_t now_us)
{
    (void)now_us;
    assert_ptr_equal(owner, &rig);
}

static void on_delivered(void *owner)
{
    assert_ptr_equal(owner, &rig);
}

static int set_up(void **state)
{
    static const shoal__conn_hooks_t hooks = {.on_result = on_result,
                                              .on_event = on_event,
                                              .on_reading = on_reading,
                                              .on_delivered = on_delivered};

    (void)state;
    memset(&rig, 0, sizeof rig);
    holding_habits = (holding_habits_t){0};
    holding_sights = (holding_sights_t){0};
    rig.server = fake_server_start(NULL);
    if (shoal_options_new(&rig.options) != 0)
        return -1;
    shoal_options_set_address(rig.options, "127.0.0.1", fake_server_port(rig.server));
    shoal_options_set_stall_timeout_us(rig.options, 60000000);
    shoal_options_set_ping_idle_us(rig.options, 0);
    shoal_options_set_backoff_us(rig.options, 1000, 5000);
    shoal__config_read(rig.options, &rig.config);
    rig.config.dial.stream = &stream_holding;
    shoal__target_read(rig.options, &rig.endpoints, &rig.target);
    if (uv_loop_init(&rig.loop) != 0 ||
        shoal__conn_set_init(&rig.set, 1, &rig.account) != 0)
        return -1;
    rig.set.loop = &rig.loop;
    return shoal__conn_init(&rig.conn, &(shoal__conn_plan_t){.config = &rig.config,
                                                             .target = &rig.target,
                                                             .set = &rig.set,
                                                             .id = 1,
                                                             .hooks = &hooks,
                                                             .owner = &rig});
}

static int tear_down(void **state)
{
    (void)state;
    shoal__conn_close(&rig.conn, shoal__clock_us());
    shoal__conn_release(&rig.conn);
    shoal__conn_set_release(&rig.set);
    uv_run(&rig.loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&rig.loop);
    fake_server_stop(rig.server);
    shoal_options_free(rig.options);
    return rc != 0 || holding_sights.streams_now != 0;
}

/* One iteration.  Before the loop may sleep no stream holds anything: nobody would ever
 * tell. */
static bool turn(void)
{
    shoal__conn_set_turn(&rig.set, shoal__clock_us());
    uv_run(&rig.loop, UV_RUN_NOWAIT);
    if (rig.conn.line->stream)
        assert_int_equal(stream_holding_bytes(rig.conn.line->stream), 0);
    return true;
}

#define TURN_UNTIL(condition) WAIT_FOR(turn() && (condition))

static void open_ready(void)
{
    shoal__conn_open(&rig.conn);
    TURN_UNTIL(rig.ready == 1);
}

static void submit_all(void)
{
    shoal__pipe_t *pipe = &rig.conn.pipe;
    char *at = shoal__pipe_reserve(pipe, (size_t)COMMANDS * COMMAND_BYTES, COMMANDS);

    assert_non_null(at);
    for (unsigned i = 0; i < COMMANDS; i++) {
        const shoal__request_t request = {.tag = i + 1,
                                          .bytes = COMMAND_BYTES,
                                          .command_class = SHOAL__CLASS_RO,
                                          .submitted_us =
                                              SHOAL__REQUEST_TIME(shoal__clock_us()),
                                          .deadline_us = SHOAL__NEVER_US};
        char wire[COMMAND_BYTES + 1];
        snprintf(wire, sizeof wire, "*2\r\n$4\r\nECHO\r\n$3\r\n%03u\r\n", i);
        memcpy(at + (size_t)i * COMMAND_BYTES, wire, COMMAND_BYTES);
        shoal__pipe_push(pipe, &request);
    }
    shoal__conn_touch(&rig.conn);
}

/* ---- */

static void test_a_stream_is_read_until_it_is_dry(void **state)
{
    (void)state;
    open_ready();
    assert_true(holding_sights.pieces > holding_sights.told); /* so was the greeting */
    submit_all();
    TURN_UNTIL(rig.answered == COMMANDS);
    assert_true(holding_sights.pieces >= COMMANDS * 9 / HOLDING_PIECE_BYTES);
    assert_int_equal(holding_sights.told, holding_sights.records);
    assert_int_equal(rig.lost, 0);
}

static bool write_and_read_ahead(void)
{
    shoal__conn_set_turn(&rig.set, shoal__clock_us());
    shoal__conn_read_ahead(&rig.conn);
    return true;
}

/* Without the loop: what is held is taken, too. */
static void test_reading_ahead(void **state)
{
    (void)state;
    open_ready();
    submit_all();
    unsigned told = holding_sights.told;
    WAIT_FOR(write_and_read_ahead() && rig.answered == COMMANDS);
    assert_int_equal(holding_sights.told, told);
}

static void test_nothing_to_read_at_first(void **state)
{
    (void)state;
    holding_habits.is_spurious = true;
    open_ready();
    submit_all();
    TURN_UNTIL(rig.answered == COMMANDS);
    assert_true(holding_sights.empty_reads > 1);
    assert_int_equal(rig.lost, 0);
}

static void test_a_stream_that_takes_little(void **state)
{
    (void)state;
    holding_habits.is_full = true;
    open_ready();
    submit_all();
    TURN_UNTIL(rig.answered == COMMANDS);
    assert_true(holding_sights.refused_writes >=
                COMMANDS * COMMAND_BYTES / HOLDING_WRITE_BYTES);
    assert_int_equal(holding_sights.writables, holding_sights.refused_writes);
    assert_int_equal(fake_server_user_commands(rig.server, 0), COMMANDS);
}

/* What is held comes before the end of the stream. */
static void test_the_end_comes_last(void **state)
{
    const fake_rule_t last = {
        .command = "ECHO", .argument = "099", .times = 1, .then = FAKE_FIN};

    (void)state;
    fake_server_rule(rig.server, &last);
    open_ready();
    submit_all();
    TURN_UNTIL(rig.lost == 1);
    assert_int_equal(rig.answered, COMMANDS);
    assert_string_equal(rig.detail, "the server closed the connection");
    TURN_UNTIL(rig.ready == 2);
}

/* What is held behind it dies with the stream. */
static void test_no_read_behind_the_loss(void **state)
{
    const fake_rule_t junk = {.command = "ECHO",
                              .argument = "050",
                              .times = 1,
                              .reply = "junk\r\n",
                              .is_executed = true};

    (void)state;
    fake_server_rule(rig.server, &junk);
    open_ready();
    submit_all();
    TURN_UNTIL(rig.lost == 1);
    assert_int_equal(rig.answered, 50);
    assert_int_equal(rig.lost_status, SHOAL_EDESYNC);
    TURN_UNTIL(rig.answered == COMMANDS); /* the others over the next one */
    assert_int_equal(rig.ready, 2);
}

/* ---- errors of its own ---- */

static void check_lost(const char *detail)
{
    holding_habits_t healthy = {0};

    TURN_UNTIL(rig.lost > 0);
    assert_string_equal(rig.detail, detail);
    assert_int_equal(rig.lost_status, SHOAL_ECONN);
    unsigned ready = rig.ready;
    holding_habits = healthy;
    TURN_UNTIL(rig.ready > ready);
    submit_all();
    TURN_UNTIL(rig.answered == COMMANDS);
}

static void test_an_error_of_open(void **state)
{
    char detail[SHOAL__TARGET_NAME_BYTES + 64];

    (void)state;
    holding_habits.open_error = HOLDING_BAD_RECORD;
    snprintf(detail, sizeof detail, "connect %s: the record is forged",
             rig.target.name);
    shoal__conn_open(&rig.conn);
    check_lost(detail);
}

static void test_an_error_of_connecting(void **state)
{
    char detail[SHOAL__TARGET_NAME_BYTES + 64];

    (void)state;
    holding_habits.connect_error = HOLDING_BAD_RECORD;
    snprintf(detail, sizeof detail, "connect %s: the record is forged",
             rig.target.name);
    shoal__conn_open(&rig.conn);
    check_lost(detail);
}

static void test_an_error_of_reading(void **state)
{
    (void)state;
    open_ready();
    holding_habits.read_error = HOLDING_BAD_RECORD;
    fake_server_send(rig.server, ">1\r\n+x\r\n");
    check_lost("the record is forged");
}

static void test_an_error_of_writing(void **state)
{
    (void)state;
    holding_habits.write_error = HOLDING_BAD_RECORD;
    shoal__conn_open(&rig.conn);
    check_lost("write: the record is forged");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_stream_is_read_until_it_is_dry),
        TEST(test_reading_ahead),
        TEST(test_nothing_to_read_at_first),
        TEST(test_a_stream_that_takes_little),
        TEST(test_the_end_comes_last),
        TEST(test_no_read_behind_the_loss),
        TEST(test_an_error_of_open),
        TEST(test_an_error_of_connecting),
        TEST(test_an_error_of_reading),
        TEST(test_an_error_of_writing),
    };
    return cmocka_run_group_tests_name("fault/stream", tests, NULL, NULL);
}
