/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"

/* ---- the way of a command ---- */

static void test_commands_get_their_replies_in_order(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, RO);
    assert_string_equal(rig_write_all(), "ab");
    rig_submit('c', 0, RO);
    assert_string_equal(rig_write_all(), "c");
    assert_false(pipe_is_idle(&rig.pipe));
    assert_int_equal(rig_feed(":1\r\n$3\r\ntwo\r\n-ERR three\r\n"), 0);
    assert_heard("a=:1 b=$two c=-ERR three ");
    assert_int_equal(rig.attempts, 1);
    assert_true(pipe_is_idle(&rig.pipe));
    assert_int_equal(counter(&rig.pipe.stats.completed), 3);
    assert_int_equal(counter(&rig.pipe.stats.replies), 3);
    assert_int_equal(counter(&rig.pipe.stats.error_replies), 1);
    assert_int_equal(counter(&rig.pipe.stats.flushes), 2);
}

/* Such a command keeps its slot, and counts. */
static void test_a_command_whose_result_nobody_wants(void **state)
{
    (void)state;
    shoal__request_t request = rig_request('a', 0, WRITE);

    request.on_result = NULL;
    rig_connect();
    rig_push(&request);
    rig_submit('b', 0, WRITE);
    rig_write_all();
    assert_int_equal(rig_feed("+a\r\n+b\r\n"), 0);
    assert_heard("b=+b ");
    assert_int_equal(counter(&rig.pipe.stats.completed), 2);
    rig_push(&request);
    rig_write_all();
    rig_lose();
    assert_int_equal(counter(&rig.pipe.stats.failures), 1);
}

static void test_replies_byte_by_byte(void **state)
{
    (void)state;
    static const char replies[] = "$3\r\nx\r\n\r\n*2\r\n:1\r\n*1\r\n+x\r\n-ERR no\r\n";

    rig_connect();
    for (const char *name = "abc"; *name; name++)
        rig_submit(*name, 0, RO);
    rig_write_all();
    for (size_t i = 0; replies[i]; i++)
        assert_int_equal(shoal__pipe_feed(&rig.pipe, &replies[i], 1, rig.now_us), 0);
    assert_heard("a=$x\r\n b=*2 c=-ERR no ");
}

/* ---- protocol ---- */

static void test_what_nobody_waits_for_is_the_end(void **state)
{
    (void)state;
    static const struct {
        const char *wire;
        const char *detail;
    } cases[] = {
        {"+OK\r\n", "nobody waits"},
        {"$1\r\nx\r\n", "nobody waits"},
        {"-ERR max number of clients reached\r\n", "max number of clients"},
        {">1\r\n+x\r\n", "nobody waits"}, /* RESP2 has no pushes */
        {"@\r\n", "Protocol error"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rig_connect();
        assert_int_equal(rig_feed(cases[i].wire), SHOAL_EDESYNC);
        assert_non_null(strstr(rig.pipe.detail, cases[i].detail));
        shoal__pipe_lost(&rig.pipe, rig.pipe.fault, rig.pipe.detail, rig.now_us);
    }
}

/* What else arrives before the owner gives up adds nothing. */
static void test_the_first_reason_stays(void **state)
{
    static const char *const violations[] = {"@\r\n", "-ERR go away\r\n"};

    (void)state;
    for (size_t i = 0; i < sizeof violations / sizeof *violations; i++) {
        rig_connect();
        assert_int_equal(rig_feed(violations[i]), SHOAL_EDESYNC);
        char detail[sizeof rig.pipe.detail];
        memcpy(detail, rig.pipe.detail, sizeof detail);
        assert_true(detail[0] != '\0');
        assert_int_equal(rig_feed("+OK\r\n-ERR no\r\n"), SHOAL_EDESYNC);
        assert_string_equal(rig.pipe.detail, detail);
        shoal__pipe_lost(&rig.pipe, rig.pipe.fault, rig.pipe.detail, rig.now_us);
    }
}

static void test_nothing_is_delivered_behind_a_violation(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    rig_write(COMMAND_BYTES);
    assert_int_equal(rig_feed("+a\r\n+nobody's\r\n+b\r\n"), SHOAL_EDESYNC);
    assert_heard("a=+a ");
}

/* Its first byte is enough: a command that is written now is not what it answers. */
static void test_a_reply_that_begins_before_its_command(void **state)
{
    static const char *const beginnings[] = {"+", "*2\r\n:1\r\n", "$5\r\nhel", ":",
                                             "%1\r\n"};

    (void)state;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        rig_connect();
        rig_submit('a', 0, WRITE);
        rig_write_all();
        char wire[32];
        snprintf(wire, sizeof wire, "+a\r\n%s", beginnings[i]);
        assert_int_equal(rig_feed(wire), SHOAL_EDESYNC);
        assert_heard("a=+a ");
        shoal__pipe_lost(&rig.pipe, rig.pipe.fault, rig.pipe.detail, rig.now_us);
    }
    /* A push may begin whenever it likes. */
    rig_connect();
    rig.pipe.is_resp3 = true;
    assert_int_equal(rig_feed(">1\r\n"), 0);
    assert_int_equal(rig_feed("+x\r\n"), 0);
}

static void test_an_error_with_the_password_is_not_repeated(void **state)
{
    char password[] = "s3cret";

    (void)state;
    rig_connect();
    rig.secret.password = password;
    assert_int_equal(rig_feed("-ERR no s3cret here\r\n"), SHOAL_EDESYNC);
    assert_null(strstr(rig.pipe.detail, "s3c"));
}

/* ---- sinks ---- */

static void test_sinks(void **state)
{
    (void)state;
    rig_connect();
    rig_submit_with_sink('a', RO);
    rig_submit_with_sink('b', RO);
    rig_submit_with_sink('c', RO);
    rig_write_all();
    rig_feed("*2\r\n:1\r\n*0\r\n+leaf\r\n-ERR no\r\n");
    assert_heard("a(begin) a(leaf) a(begin) a(end) a(end) a=sink b(leaf) b=sink "
                 "c=-ERR no ");
}

static void test_a_sink_serves_many(void **state)
{
    (void)state;
    shoal__extra_t *ref = shoal__malloc(sizeof *ref);

    *ref = (shoal__extra_t){.sink = &rig_sink, .sink_data = rig_name('z'), .owners = 3};
    rig_connect();
    for (const char *name = "abc"; *name; name++) {
        shoal__request_t request = rig_request(*name, 0, WRITE);
        request.extra = ref;
        rig_push(&request);
    }
    rig_write(2 * COMMAND_BYTES);
    rig_feed("+a\r\n");
    rig_lose(); /* b fails, c is kept, with the sink */
    rig_connect();
    rig_write_all();
    rig_feed("+c\r\n");
    assert_heard("z(leaf) a=sink b!ECONN/maybe z(leaf) c=sink ");
}

/* Only the ordinary connection serves a sink that commands of several connections share. */
static void check_shared_sink(bool is_ordinary, const char *heard)
{
    shoal__extra_t *ref = shoal__malloc(sizeof *ref);

    *ref = (shoal__extra_t){.sink = &rig_sink,
                            .is_sink_shared = true,
                            .sink_data = rig_name('z'),
                            .owners = 3};
    rig.config.is_ordinary = is_ordinary;
    rig_connect();
    for (const char *name = "abc"; *name; name++) {
        shoal__request_t request = rig_request(*name, 0, RO);
        request.extra = ref;
        rig_push(&request);
    }
    rig_write_all();
    rig_feed("+a\r\n*1\r\n:1\r\n-ERR no\r\n");
    assert_heard(heard);
}

static void test_a_shared_sink(void **state)
{
    (void)state;
    check_shared_sink(true, "z(leaf) a=sink z(begin) z(leaf) z(end) b=sink c=-ERR no ");
}

static void test_a_shared_sink_elsewhere(void **state)
{
    (void)state;
    check_shared_sink(false, "a=+a b=*1 c=-ERR no ");
}

/* ---- hooks ---- */

static struct keeper {
    shoal__pipe_verdict_t verdict; /* on the next errors */
    char asked[64];                /* the names of the commands, and the errors */
    shoal__request_t request;      /* of the last one */
    char bytes[COMMAND_BYTES + 1]; /* and its bytes */
    unsigned pushes;
    char push[32]; /* the first word of the last */
} keeper;

static shoal__pipe_verdict_t keep(void *owner, shoal__pipe_t *pipe,
                                  const shoal__request_t *request, const char *bytes,
                                  shoal__bytes_t error)
{
    size_t count = strlen(keeper.asked);

    assert_ptr_equal(owner, &rig);
    assert_ptr_equal(pipe, &rig.pipe);
    assert_int_equal(request->bytes, COMMAND_BYTES);
    snprintf(keeper.asked + count, sizeof keeper.asked - count, "%c=%.*s ",
             (char)request->tag, (int)error.bytes, error.data);
    memcpy(keeper.bytes, bytes, COMMAND_BYTES);
    keeper.request = *request;
    return keeper.verdict;
}

static void count_push(void *owner, const shoal_reply_t *push)
{
    size_t bytes = 0;

    assert_ptr_equal(owner, &rig);
    const char *word = shoal_reply_string(push, &bytes);
    if (!word) {
        assert_int_equal(shoal_reply_type(push), SHOAL_REPLY_PUSH);
        word = shoal_reply_string(shoal_reply_at(push, 0), &bytes);
    }
    snprintf(keeper.push, sizeof keeper.push, "%.*s", (int)bytes, word);
    keeper.pushes++;
}

static void connect_with_keeper(shoal__pipe_verdict_t verdict)
{
    keeper = (struct keeper){.verdict = verdict};
    rig.pipe.hooks.on_error = keep;
    rig.pipe.hooks.on_push = count_push;
    rig_connect();
}

/* The owner has the command, its bytes and its sink; the pipe is done with it. */
static void test_a_command_that_the_owner_takes(void **state)
{
    (void)state;
    connect_with_keeper(SHOAL__PIPE_TAKEN);
    rig_submit_with_sink('a', WRITE);
    rig_submit('b', 0, WRITE);
    rig_write_all();
    assert_int_equal(rig_feed("-MOVED 1 h:1\r\n"), 0);
    assert_string_equal(keeper.asked, "a=MOVED 1 h:1 ");
    assert_string_equal(keeper.bytes, "*1\r\n$1\r\na\r\n");
    assert_int_equal(keeper.request.ticket, rig.tickets[0]);
    assert_false(rig_cancel('a'));
    assert_heard("");
    assert_int_equal(rig_feed("+b\r\n"), 0);
    assert_heard("b=+b ");
    assert_true(pipe_is_idle(&rig.pipe));
    assert_int_equal(shoal__buffer_bytes(&rig.pipe.log), 0);
    assert_int_equal(counter(&rig.pipe.stats.completed), 1);

    /* It may submit it again, later. */
    keeper.request.flags |= SHOAL__REQUEST_RETRIED;
    rig_push(&keeper.request);
    assert_string_equal(rig_write_all(), "a");
    assert_int_equal(rig_feed("+a\r\n"), 0);
    assert_heard("a(leaf) a=sink ");
}

static void test_an_error_that_surfaces(void **state)
{
    (void)state;
    connect_with_keeper(SHOAL__PIPE_SURFACE);
    rig_submit('a', 0, WRITE);
    rig_write_all();
    assert_int_equal(rig_feed("-LOADING x\r\n"), 0);
    assert_string_equal(keeper.asked, "a=LOADING x ");
    assert_heard("a=-LOADING x ");

    rig.pipe.hooks.on_error = NULL;
    rig_submit('b', 0, WRITE);
    rig_write_all();
    assert_int_equal(rig_feed("-LOADING x\r\n"), 0);
    assert_heard("b=-LOADING x ");
}

/* The owner does not hear of errors to zombies and to our own commands, nor of errors
 * inside a reply. */
static void test_errors_that_the_owner_does_not_hear_of(void **state)
{
    (void)state;
    connect_with_keeper(SHOAL__PIPE_TAKEN);
    rig_submit('a', 0, WRITE);
    rig_submit('p', SHOAL__REQUEST_INTERNAL, RO);
    rig_submit('b', 0, WRITE);
    rig_write_all();
    assert_true(rig_cancel('a'));
    assert_int_equal(rig_feed("-ERR a\r\n-ERR p\r\n*1\r\n-ERR b\r\n"), 0);
    assert_heard("a!ECANCELLED/maybe b=*1 ");
    assert_string_equal(keeper.asked, "");
    assert_int_equal(counter(&rig.pipe.stats.zombies_dropped), 1);
}

static void test_pushes(void **state)
{
    (void)state;
    connect_with_keeper(SHOAL__PIPE_SURFACE);
    rig.pipe.is_resp3 = true;
    assert_int_equal(rig_feed(">2\r\n+invalidate\r\n_\r\n"), 0);
    assert_int_equal(keeper.pushes, 1);
    assert_string_equal(keeper.push, "invalidate");

    rig.pipe.hooks.on_push = NULL;
    assert_int_equal(rig_feed(">1\r\n+x\r\n"), 0);
    assert_int_equal(keeper.pushes, 1);
    assert_int_equal(counter(&rig.pipe.stats.pushes), 2);
    assert_heard("");
}

/* MONITOR was answered: statuses come, for as long as it takes, and nothing else. */
static void test_lines_of_monitor(void **state)
{
    (void)state;
    connect_with_keeper(SHOAL__PIPE_SURFACE);
    shoal__pipe_bind(&rig.pipe, true);
    rig_submit('a', 0, WRITE);
    rig_write_all();
    assert_int_equal(rig_feed("+OK\r\n"), 0);
    assert_heard("a=+OK ");
    rig.pipe.is_monitor = true;
    assert_int_equal(rig_feed("+one\r\n+two\r\n+thr"), 0);
    assert_int_equal(keeper.pushes, 2);
    assert_int_equal(rig_tick(rig.now_us + 3600000000), 0); /* silence is no fault */
    assert_int_equal(rig_feed("ee\r\n"), 0);
    assert_int_equal(keeper.pushes, 3);
    assert_string_equal(keeper.push, "three");
    assert_int_equal(rig_feed("+four\r\n:5\r\n+six\r\n"), SHOAL_EDESYNC);
    assert_int_equal(keeper.pushes, 4);
    assert_string_equal(keeper.push, "four");
    assert_heard("");

    /* The next holder's connection sends no lines. */
    rig_lose();
    shoal__pipe_bind(&rig.pipe, true);
    rig_connect();
    assert_int_equal(rig_feed("+line\r\n"), SHOAL_EDESYNC);
}

/* A reply that went to a sink is no line either. */
static void test_what_a_sink_took_is_no_line(void **state)
{
    (void)state;
    connect_with_keeper(SHOAL__PIPE_SURFACE);
    rig.pipe.is_monitor = true;
    assert_false(shoal__pipe_decoder_hooks.on_reply(&rig.pipe, NULL, false));
    assert_int_equal(rig.pipe.fault, SHOAL_EDESYNC);
    assert_int_equal(keeper.pushes, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_commands_get_their_replies_in_order),
        TEST(test_a_command_whose_result_nobody_wants),
        TEST(test_replies_byte_by_byte),
        TEST(test_what_nobody_waits_for_is_the_end),
        TEST(test_the_first_reason_stays),
        TEST(test_nothing_is_delivered_behind_a_violation),
        TEST(test_a_reply_that_begins_before_its_command),
        TEST(test_an_error_with_the_password_is_not_repeated),
        TEST(test_sinks),
        TEST(test_a_sink_serves_many),
        TEST(test_a_shared_sink),
        TEST(test_a_shared_sink_elsewhere),
        TEST(test_a_command_that_the_owner_takes),
        TEST(test_an_error_that_surfaces),
        TEST(test_errors_that_the_owner_does_not_hear_of),
        TEST(test_pushes),
        TEST(test_lines_of_monitor),
        TEST(test_what_a_sink_took_is_no_line),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_replies", tests, NULL, NULL);
}
