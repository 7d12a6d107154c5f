/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"

#define ONCE SHOAL__REQUEST_ONCE
#define DEADLINE_US 5000

/* ---- the table of outcomes, through the real pipe ---- */

typedef enum ending { TIMEOUT, CANCEL, LOST, LOST_OFFLINE, DESYNC, ABANDON } ending_t;

typedef struct kind {
    const char *name;
    shoal__command_class_t command_class;
    uint16_t flags;
} kind_t;

static const kind_t kinds[] = {
    {"RO", SHOAL__CLASS_RO, 0},
    {"WRITE", SHOAL__CLASS_WRITE, 0},
    {"SCRIPT", SHOAL__CLASS_SCRIPT, 0},
    {"BLOCK", SHOAL__CLASS_BLOCK, 0},
    {"WRITE, idempotent", SHOAL__CLASS_WRITE, IDEMPOTENT},
    {"RO, once", SHOAL__CLASS_RO, ONCE},
};
#define KINDS (sizeof kinds / sizeof *kinds)
#define MAY_REPEAT(kind) ((kind) == 0 || (kind) == 4)

/* What is heard of command b; "" if it stays.  Columns: queued, partly written, written,
 * partly answered.  A row for each ending; what may be repeated and what may not be sent
 * twice have rows of their own. */
/* clang-format off */
static const char *const outcomes[][4] = {
    [TIMEOUT]      = {"b!ETIMEOUT/no ",   "b!ETIMEOUT/maybe ",   "b!ETIMEOUT/maybe ",   "b!ETIMEOUT/lost "},
    [CANCEL]       = {"b!ECANCELLED/no ", "b!ECANCELLED/maybe ", "b!ECANCELLED/maybe ", "b!ECANCELLED/lost "},
    [LOST]         = {"",                 "",                    "b!ECONN/maybe ",      "b!ECONN/lost "},
    [LOST_OFFLINE] = {"b!ECONN/no ",      "b!ECONN/no ",         "b!ECONN/maybe ",      "b!ECONN/lost "},
    [DESYNC]       = {"",                 "",                    "b!EDESYNC/maybe ",    "b!EDESYNC/lost "},
    [ABANDON]      = {"b!ESHUTDOWN/no ",  "b!ESHUTDOWN/no ",     "b!ESHUTDOWN/maybe ",  "b!ESHUTDOWN/lost "},
};
/* clang-format on */

static const char *outcome(ending_t ending, size_t progress, size_t kind)
{
    bool is_loss = ending == LOST || ending == DESYNC;

    if (is_loss && progress >= 2 && MAY_REPEAT(kind))
        return "";
    if (is_loss && progress == 1 && (kinds[kind].flags & ONCE))
        return "b!ECONN/no ";
    return outcomes[ending][progress];
}

static void end(ending_t ending)
{
    switch (ending) {
    case TIMEOUT:
        rig_tick(rig.now_us + DEADLINE_US);
        break;
    case CANCEL:
        assert_true(rig_cancel('b'));
        break;
    case LOST:
    case LOST_OFFLINE:
        rig_lose();
        break;
    case DESYNC:
        shoal__pipe_lost(&rig.pipe, SHOAL_EDESYNC, "@", rig.now_us);
        break;
    case ABANDON:
        shoal__pipe_abandon(&rig.pipe, rig.now_us);
        break;
    }
}

/* The connection goes on, or the next one: c gets its own reply, b only if it stayed. */
static void check_the_rest(ending_t ending, size_t progress, bool has_stayed)
{
    bool is_there = ending == TIMEOUT || ending == CANCEL;

    if (!is_there)
        rig_connect();
    rig_submit('c', 0, WRITE);
    rig_write_all();
    if (is_there && progress == 3)
        rig_feed("x\r\n"); /* the end of b's reply */
    else if (has_stayed || (is_there && progress > 0))
        rig_feed("$2\r\nbb\r\n");
    rig_write_all(); /* b may have travelled alone */
    assert_int_equal(rig_feed("+c\r\n"), 0);
    if (has_stayed) {
        assert_heard("b=$bb c=+c ");
    } else {
        assert_heard("c=+c ");
    }
    assert_int_equal(shoal__request_ring_length(&rig.pipe.ring), 0);
    assert_int_equal(shoal__buffer_bytes(&rig.pipe.log), 0);
}

/* part_bytes: of b, when it is partly written. */
static void check_cell(ending_t ending, size_t progress, size_t kind, size_t part_bytes)
{
    shoal__request_t request =
        rig_request('b', kinds[kind].flags, kinds[kind].command_class);
    const char *expected = outcome(ending, progress, kind);

    rig.config.queue_offline = ending != LOST_OFFLINE;
    rig_connect();
    request.deadline_us = rig.now_us + DEADLINE_US;
    if (progress == 0)
        rig.config.inflight_max = 0;
    rig_push(&request);
    if (progress == 1)
        rig_write(part_bytes);
    else
        rig_write_all();
    rig.config.inflight_max = 100;
    if (progress == 3)
        assert_int_equal(rig_feed("$1\r\n"), 0);
    end(ending);
    if (strcmp(rig.heard, expected) != 0)
        fail_msg("ending %d, progress %zu, %s: %s, not %s", (int)ending, progress,
                 kinds[kind].name, rig.heard, expected);
    rig.heard[0] = '\0';
    check_the_rest(ending, progress, !*expected);
}

static void test_every_cell_of_the_table(void **state)
{
    for (ending_t ending = TIMEOUT; ending <= ABANDON; ending++) {
        for (size_t progress = 0; progress < 4; progress++) {
            for (size_t kind = 0; kind < KINDS; kind++) {
                size_t parts = progress == 1 ? COMMAND_BYTES - 1 : 1;
                for (size_t part = 1; part <= parts; part++) {
                    rig_tear_down(state);
                    rig_set_up(state);
                    check_cell(ending, progress, kind, part);
                }
            }
        }
    }
}

/* What was written and may not be repeated stays given up, also while it is queued
 * again for another reason. */
static void test_maybe_is_never_taken_back(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, RO);
    rig_submit('b', 0, RO);
    rig_write_all();
    rig_lose();
    assert_true(rig_cancel('a')); /* queued, but it may have been executed */
    rig_lose();
    shoal__pipe_abandon(&rig.pipe, rig.now_us);
    assert_heard("a!ECANCELLED/maybe b!ESHUTDOWN/maybe ");
}

static void test_attempts_have_an_end(void **state)
{
    (void)state;
    rig_submit('a', 0, RO);
    for (uint32_t attempt = 1; attempt <= 3; attempt++) {
        assert_heard("");
        rig_connect();
        assert_string_equal(rig_write_all(), "a");
        rig_lose();
    }
    assert_heard("a!ECONN/maybe ");
    assert_int_equal(rig.attempts, 3);
}

static void test_order_is_kept_across_a_loss(void **state)
{
    (void)state;
    rig_connect();
    for (const char *name = "abcde"; *name; name++)
        rig_submit(*name, 0, *name == 'b' ? WRITE : RO);
    rig_write(3 * COMMAND_BYTES + 4);
    rig_submit('f', 0, WRITE);
    rig_lose();
    assert_heard("b!ECONN/maybe ");
    rig_connect();
    /* The oldest unanswered one travels alone, and so does the one that was cut. */
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "c");
    assert_string_equal(rig_write_all(), "");
    rig_feed("+c\r\n");
    assert_string_equal(rig_write_all(), "d");
    rig_feed("+d\r\n");
    assert_string_equal(rig_write_all(), "ef");
}

/* ---- offline ---- */

static void test_without_a_connection_all_fails_at_once(void **state)
{
    (void)state;
    rig.config.queue_offline = false;
    rig_submit('a', 0, WRITE); /* before the first attempt: waits for it */
    rig_tick(rig.now_us);
    assert_heard("");
    rig_lose();
    assert_heard("a!ECONN/no ");
    rig_submit('b', 0, WRITE);
    rig_tick(rig.now_us);
    assert_heard("b!ECONN/no ");
    rig_connect();
    rig_submit('c', 0, WRITE);
    rig_tick(rig.now_us);
    assert_heard("");
}

/* Reads that a replica had wait: another server executes them. */
static void test_reads_at_a_replica_wait_all_the_same(void **state)
{
    shoal__request_t request = rig_request('a', 0, RO);
    (void)state;

    rig.config.queue_offline = false;
    rig_connect();
    request.is_at_replica = 1;
    rig_push(&request);
    rig_submit('b', 0, RO);
    rig_write_all();
    request = rig_request('c', 0, RO);
    request.is_at_replica = 1;
    rig_push(&request);
    rig_lose();
    assert_heard("b!ECONN/maybe ");
    assert_int_equal(shoal__pipe_queued(&rig.pipe), 2);
    rig_connect();
    rig_write_all();
    rig_feed("+a\r\n");
    rig_write_all();
    rig_feed("+c\r\n");
    assert_heard("a=+a c=+c ");
}

/* Also what is held; and after that there is nothing to fail. */
static void test_without_a_connection_held_commands_fail_too(void **state)
{
    (void)state;
    rig.config.queue_offline = false;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_write_all();
    rig_feed("-LOADING x\r\n");
    rig_lose();
    assert_heard("a!ECONN/no ");
    assert_int_equal(rig.attempts, 0);
    rig_tick(rig.now_us);
    assert_int_equal(counter(&rig.pipe.stats.completed), 1);
}

/* Where nothing waits for a connection, all losses are alike. */
static void test_rejected_credentials_and_no_queue(void **state)
{
    (void)state;
    rig.config.queue_offline = false;
    rig_submit('a', 0, WRITE);
    shoal__pipe_lost(&rig.pipe, SHOAL_EAUTH, "WRONGPASS", rig.now_us);
    assert_heard("a!ECONN/no ");
    assert_string_equal(rig.detail, "WRONGPASS");
}

static void test_rejected_credentials_fail_the_queue(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, RO);
    rig_submit('c', 0, WRITE);
    rig_write(2 * COMMAND_BYTES);
    rig_feed("-LOADING x\r\n"); /* a waits for its retry */
    rig_lose();
    shoal__pipe_lost(&rig.pipe, SHOAL_EAUTH, "WRONGPASS", rig.now_us);
    assert_heard("a!EAUTH/no b!EAUTH/maybe c!EAUTH/no ");
    assert_string_equal(rig.detail, "WRONGPASS");
}

/* A server that nobody knows fails what waits; one that worked may work again. */
static void test_a_server_that_is_refused_fails_the_queue(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    shoal__pipe_lost(&rig.pipe, SHOAL_ETLS, "a forged record", rig.now_us);
    assert_heard("");
    shoal__pipe_lost(&rig.pipe, SHOAL_ETLS, "expired", rig.now_us);
    assert_heard("a!ETLS/no ");
    assert_string_equal(rig.detail, "expired");
}

/* ---- commands of the owner ---- */

static unsigned own_lost;

static void hear_own(void *owner, const shoal__request_t *request,
                     const shoal_result_t *result)
{
    (void)owner;
    assert_int_equal(request->tag, 'o');
    assert_int_equal(result->status, SHOAL_ECONN);
    own_lost++;
}

/* The owner hears that its own commands will have no answer. */
static void test_the_owners_commands_are_lost(void **state)
{
    (void)state;
    own_lost = 0;
    rig.pipe.hooks.on_own = hear_own;
    rig_connect();
    for (int i = 0; i < 2; i++) {
        rig_submit('o', SHOAL__REQUEST_INTERNAL, RO);
        if (i == 0)
            rig_write_all();
    }
    rig_lose();
    assert_int_equal(own_lost, 2);
    rig_connect();
    assert_string_equal(rig_write_all(), "");
    rig_submit('o', SHOAL__REQUEST_INTERNAL, RO);
    shoal__pipe_abandon(&rig.pipe, rig.now_us);
    assert_int_equal(own_lost, 3);
    assert_heard("");
}

/* ---- sinks ---- */

static void test_a_sink_hears_of_the_cut_before_the_result(void **state)
{
    (void)state;
    rig_connect();
    rig_submit_with_sink('a', WRITE);
    rig_submit('b', 0, WRITE);
    rig_write_all();
    rig_feed("*2\r\n:1\r\n");
    assert_true(rig_cancel('a'));
    assert_heard("a(begin) a(leaf) a(reset) a!ECANCELLED/lost ");
    rig_feed(":2\r\n+b\r\n");
    assert_heard("b=+b ");

    rig_submit_with_sink('c', WRITE);
    rig_submit_with_sink('d', RO);
    rig_write_all();
    rig_feed("*2\r\n:1\r\n");
    rig_lose();
    assert_heard("c(begin) c(leaf) c(reset) c!ECONN/lost ");
    rig_connect();
    rig_write_all();
    rig_feed("*1\r\n");
    rig_lose(); /* d is kept for a third attempt, and its sink */
    rig_connect();
    rig_write_all();
    rig_feed("*0\r\n");
    assert_heard("d(begin) d(reset) d(begin) d(end) d=sink ");
}

/* A server that answers MULTI with an aggregate is broken, but its sink is not fed behind
 * the result. */
static void test_a_sink_of_a_unit_hears_nothing_behind_the_result(void **state)
{
    (void)state;
    shoal__request_t request =
        rig_request('m', SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_FIRST, WRITE);

    request.extra = shoal__malloc(sizeof *request.extra);
    *request.extra =
        (shoal__extra_t){.sink = &rig_sink, .sink_data = rig_name('m'), .owners = 1};
    rig_connect();
    rig_push(&request);
    request = rig_request('e', SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_LAST, WRITE);
    rig_push(&request);
    rig_write(COMMAND_BYTES);
    rig_feed("*2\r\n:1\r\n");
    assert_true(rig_cancel('m'));
    assert_heard("m(begin) m(leaf) m(reset) m!ECANCELLED/maybe ");
    rig_write_all();
    rig_feed(":2\r\n*0\r\n");
    assert_heard("e=*0 ");
}

/* ---- calls from callbacks; more are in pipe_unit_tests.h ---- */

static void submit_z(void)
{
    rig_submit('z', 0, WRITE);
}

static void test_submitting_from_every_callback(void **state)
{
    (void)state;
    rig.acting = 'a';
    rig.act = submit_z;
    for (ending_t ending = TIMEOUT; ending <= DESYNC; ending++) {
        rig_tear_down(state);
        rig_set_up(state);
        rig.config.queue_offline = ending != LOST_OFFLINE;
        rig.acting = 'b';
        rig.act = submit_z;
        rig_connect();
        shoal__request_t request = rig_request('b', 0, WRITE);
        request.deadline_us = rig.now_us + DEADLINE_US;
        rig_push(&request);
        rig_write_all();
        end(ending);
        rig.heard[0] = '\0';
        if (rig.pipe.phase == SHOAL__PIPE_DOWN)
            rig_connect();
        else
            rig_feed("+b\r\n");
        assert_string_equal(rig_write_all(), "z");
        rig_feed("+z\r\n");
        assert_heard("z=+z ");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_cell_of_the_table),
        TEST(test_maybe_is_never_taken_back),
        TEST(test_attempts_have_an_end),
        TEST(test_order_is_kept_across_a_loss),
        TEST(test_without_a_connection_all_fails_at_once),
        TEST(test_reads_at_a_replica_wait_all_the_same),
        TEST(test_without_a_connection_held_commands_fail_too),
        TEST(test_rejected_credentials_and_no_queue),
        TEST(test_rejected_credentials_fail_the_queue),
        TEST(test_a_server_that_is_refused_fails_the_queue),
        TEST(test_the_owners_commands_are_lost),
        TEST(test_a_sink_hears_of_the_cut_before_the_result),
        TEST(test_a_sink_of_a_unit_hears_nothing_behind_the_result),
        TEST(test_submitting_from_every_callback),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_endings", tests, NULL, NULL);
}
