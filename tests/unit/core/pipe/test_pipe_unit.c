/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "core/pipe/pipe_move.h"
#include "unit/core/pipe/pipe_rig.h"

/* Units of which the replies are kept until EXEC. */

#define ABORT "-EXECABORT Transaction discarded because of previous errors.\r\n"
#define MOVED "-MOVED 7 h:1\r\n"
#define REDIRECTED "MOVED 7 h:1"

static shoal__pipe_t other;
static const shoal__bytes_t nothing = {NULL, 0};
static const shoal__bytes_t ask_first = {"*1\r\n$6\r\nASKING\r\n", 16};
static bool is_asked;
static char words[128]; /* of the last error */

/* Redirects go to the other pipe. */
static shoal__pipe_verdict_t on_error(void *owner, shoal__pipe_t *pipe,
                                      const shoal__request_t *request,
                                      const char *bytes, shoal__bytes_t error)
{
    const shoal__refused_t refused = shoal__pipe_refused(pipe);

    assert_ptr_equal(owner, &rig);
    assert_int_equal(bytes[8], (char)request->tag);
    assert_ptr_equal(bytes, refused.bytes);
    snprintf(words, sizeof words, "%.*s", (int)error.bytes, error.data);
    if (!shoal__bytes_start(error, "MOVED") && !shoal__bytes_start(error, "ASK"))
        return shoal__pipe_send_again(pipe, &refused, error);
    return shoal__pipe_adopt_refused(&other, &refused, is_asked ? ask_first : nothing,
                                     rig.now_us) < 0
               ? SHOAL__PIPE_SURFACE
               : SHOAL__PIPE_TAKEN;
}

static int set_up(void **state)
{
    if (rig_set_up(state) < 0 || rig_init(&other) < 0)
        return -1;
    rig.config.keeps_units = true;
    rig.pipe.hooks.on_error = other.hooks.on_error = on_error;
    is_asked = false;
    words[0] = '\0';
    rig_connect();
    return 0;
}

static int tear_down(void **state)
{
    shoal__test_fail_alloc_never();
    rig.is_deaf = true;
    rig.act = NULL;
    shoal__pipe_abandon(&other, rig.now_us);
    shoal__pipe_release(&other);
    return rig_tear_down(state);
}

static const char *in_log(const shoal__pipe_t *pipe)
{
    static char letters[128];
    size_t count = 0;
    const char *log = shoal__buffer_data(&pipe->log);

    for (size_t i = 0; i < shoal__buffer_bytes(&pipe->log); i++)
        if ((log[i] >= 'a' && log[i] <= 'z') || log[i] == 'A')
            letters[count++] = log[i];
    letters[count] = '\0';
    return letters;
}

/* From now on the rig has the other pipe, and it is connected. */
static void swap(void)
{
    shoal__pipe_t pipe = rig.pipe;

    rig.pipe = other;
    other = pipe;
    shoal__decoder_set_owner(rig.pipe.decoder, &rig.pipe);
    shoal__decoder_set_owner(other.decoder, &other);
    rig_connect();
}

static void submit(void)
{
    rig_submit('a', 0, WRITE);
    rig_submit_unit("mxye", 0, SHOAL__NEVER_US);
    rig_submit('b', 0, WRITE);
    assert_string_equal(rig_write_all(), "amxyeb");
}

/* ---- keeping ---- */

static void test_results_come_together(void **state)
{
    (void)state;
    submit();
    rig_feed("+OK\r\n+OK\r\n+QUEUED\r\n");
    assert_heard("a=+OK ");
    rig_feed("+QUEUED\r\n");
    assert_heard("");
    assert_int_equal(shoal__pipe_inflight(&rig.pipe), 2);
    assert_string_equal(in_log(&rig.pipe), "mxyeb");
    rig_feed("*2\r\n:1\r\n");
    assert_heard("m=+OK x=+QUEUED y=+QUEUED ");
    rig_feed(":2\r\n+OK\r\n");
    assert_heard("e=*2 b=+OK ");
    assert_string_equal(in_log(&rig.pipe), "");
}

static void test_errors_of_the_user_are_results(void **state)
{
    (void)state;
    submit();
    rig_feed("+OK\r\n+OK\r\n+QUEUED\r\n-ERR no\r\n");
    assert_heard("a=+OK ");
    rig_feed(ABORT "+OK\r\n");
    assert_heard("m=+OK x=+QUEUED y=-ERR no e=-EXECABORT Transaction discarded because "
                 "of previous errors. b=+OK ");
    assert_string_equal(words, "");
}

static void test_nil_of_exec(void **state)
{
    (void)state;
    submit();
    rig_feed("+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*-1\r\n");
    assert_heard("a=+OK m=+OK x=+QUEUED y=+QUEUED e=_0 ");
}

/* Nobody knows what became of the unit: what was kept says nothing. */
static void test_exec_has_a_reply_that_it_never_has(void **state)
{
    (void)state;
    rig_submit_unit("mxye", 0, SHOAL__NEVER_US);
    shoal__request_ring_at(&rig.pipe.ring, rig.pipe.ring.tail - 1)->shape =
        SHOAL__SHAPE_EXEC & 63u;
    rig_write_all();
    rig_feed("+OK\r\n+QUEUED\r\n+QUEUED\r\n");
    assert_int_equal(rig_feed(":1\r\n"), SHOAL_EDESYNC);
    assert_heard("");
}

/* The commands run one by one, and nothing is kept. */
static void test_multi_is_rejected(void **state)
{
    (void)state;
    submit();
    rig_feed("+OK\r\n-NOPERM m\r\n:1\r\n");
    assert_heard("a=+OK m=-NOPERM m x=:1 ");
    rig_feed(MOVED "-ERR EXEC without MULTI\r\n+OK\r\n");
    assert_heard("y=-MOVED 7 h:1 e=-ERR EXEC without MULTI b=+OK ");
}

static void test_a_sink_hears_of_all_parts_in_their_order(void **state)
{
    static const char *const letters = "mxe";
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        shoal__request_t request = rig_request(letters[i], SHOAL__REQUEST_UNIT, WRITE);
        request.flags |= i == 0 ? SHOAL__REQUEST_UNIT_FIRST : 0;
        request.flags |= i == 2 ? SHOAL__REQUEST_UNIT_LAST : 0;
        request.extra = shoal__malloc(sizeof *request.extra);
        *request.extra = (shoal__extra_t){
            .sink = &rig_sink, .sink_data = rig_name(letters[i]), .owners = 1};
        rig_push(&request);
    }
    rig_write_all();
    rig_feed("+OK\r\n+QUEUED\r\n");
    assert_heard("");
    rig_feed("*1\r\n:1\r\n");
    assert_heard("m(leaf) m=sink x(leaf) x=sink e(begin) e(leaf) e(end) e=sink ");
}

static void cancel_exec(void)
{
    rig_cancel('e');
}

static void test_a_callback_gives_up_the_rest(void **state)
{
    (void)state;
    submit();
    rig.acting = 'm';
    rig.act = cancel_exec;
    rig_feed("+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*1\r\n:1\r\n+OK\r\n");
    assert_heard("a=+OK m=+OK e!ECANCELLED/lost x=+QUEUED y=+QUEUED b=+OK ");
    assert_string_equal(in_log(&rig.pipe), "");
}

static void test_more_parts_than_may_be_in_flight(void **state)
{
    (void)state;
    rig.config.inflight_max = 1;
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    assert_string_equal(rig_write_all(), "m");
    rig_feed("+OK\r\n");
    assert_string_equal(rig_write_all(), "x");
    rig_feed("+QUEUED\r\n");
    assert_string_equal(rig_write_all(), "e");
    rig_feed("*1\r\n:1\r\n");
    assert_heard("m=+OK x=+QUEUED e=*1 ");
}

static void test_kept_replies_have_a_bound(void **state)
{
    (void)state;
    rig.config.reply.bytes_max = 40;
    rig_submit_unit("mxyze", 0, SHOAL__NEVER_US);
    rig_write_all();
    assert_int_equal(rig_feed("+OK\r\n-ERR 1234567890123456\r\n"), 0);
    assert_int_equal(rig_feed("-ERR 1234567890123456\r\n"), SHOAL_ECONN);
    assert_non_null(strstr(rig.pipe.detail, "too many bytes to be kept"));
}

static void test_no_memory_to_keep_a_reply(void **state)
{
    (void)state;
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    rig_write_all();
    shoal__test_fail_alloc_after(0);
    assert_int_equal(rig_feed("+OK\r\n"), SHOAL_ENOMEM);
}

/* ---- going again ---- */

static void test_a_unit_follows_its_slot(void **state)
{
    (void)state;
    submit();
    rig_feed("+OK\r\n+OK\r\n" MOVED MOVED ABORT "+OK\r\n");
    assert_heard("a=+OK b=+OK ");
    assert_string_equal(words, REDIRECTED);
    assert_string_equal(in_log(&other), "mxye");
    swap();
    assert_string_equal(rig_write_all(), "mxye");
    rig_feed("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:2\r\n");
    assert_heard("m=+OK x=+QUEUED y=+QUEUED e=*2 ");
}

static void test_exec_alone_is_redirected(void **state)
{
    (void)state;
    submit();
    rig_feed("+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n" MOVED "+OK\r\n");
    assert_heard("a=+OK b=+OK ");
    assert_string_equal(in_log(&other), "mxye");
}

static void test_a_unit_waits_and_goes_again(void **state)
{
    (void)state;
    submit();
    rig_feed("+OK\r\n+OK\r\n" MOVED "-TRYAGAIN x\r\n" ABORT "+OK\r\n");
    assert_heard("a=+OK b=+OK ");
    assert_string_equal(words, "TRYAGAIN x");
    assert_string_equal(in_log(&rig.pipe), "");
    rig_tick(rig.now_us + 10000);
    assert_string_equal(rig_write_all(), "mxye");
}

static void test_a_unit_of_which_a_part_was_given_up(void **state)
{
    (void)state;
    submit();
    rig_feed("+OK\r\n+OK\r\n");
    assert_true(rig_cancel('x'));
    rig_feed(MOVED MOVED ABORT);
    assert_heard("a=+OK x!ECANCELLED/maybe m=+OK y=-MOVED 7 h:1 e=-EXECABORT "
                 "Transaction discarded because of previous errors. ");
    assert_string_equal(in_log(&other), "");
}

static void test_no_memory_to_go_again(void **state)
{
    (void)state;
    submit();
    rig_feed("+OK\r\n+OK\r\n" MOVED MOVED);
    shoal__test_fail_alloc_after(0);
    rig_feed(ABORT);
    assert_heard("a=+OK m=+OK x=-MOVED 7 h:1 y=-MOVED 7 h:1 e=-EXECABORT Transaction "
                 "discarded because of previous errors. ");
}

/* ---- ASKING ---- */

static void ask_for_unit(void)
{
    is_asked = true;
    submit();
    rig_feed("+OK\r\n+OK\r\n" MOVED MOVED ABORT "+OK\r\n");
    assert_heard("a=+OK b=+OK ");
    assert_string_equal(in_log(&other), "Amxye");
    swap();
    is_asked = false;
    assert_string_equal(rig_write_all(), "mxye");
}

static void test_asking_goes_before_the_unit(void **state)
{
    (void)state;
    ask_for_unit();
    rig_feed("+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:2\r\n");
    assert_heard("m=+OK x=+QUEUED y=+QUEUED e=*2 ");
    assert_int_equal(counter(&rig.pipe.stats.completed), 4);
}

static void test_a_unit_behind_asking_is_redirected(void **state)
{
    (void)state;
    ask_for_unit();
    rig_feed("+OK\r\n+OK\r\n" MOVED MOVED ABORT);
    assert_heard("");
    assert_string_equal(in_log(&other), "mxye"); /* without ASKING */
    swap();
    rig_write_all();
    rig_feed("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:2\r\n");
    assert_heard("m=+OK x=+QUEUED y=+QUEUED e=*2 ");
}

static void test_multi_behind_asking_is_rejected(void **state)
{
    (void)state;
    ask_for_unit();
    rig_feed("+OK\r\n-NOPERM m\r\n:1\r\n");
    assert_heard("m=-NOPERM m x=:1 ");
}

static void ask_for_command(shoal__command_class_t command_class)
{
    is_asked = true;
    rig_submit('r', 0, command_class);
    rig_write_all();
    rig_feed("-ASK 7 h:1\r\n");
    assert_string_equal(in_log(&other), "Ar");
    swap();
    is_asked = false;
    rig_write_all();
}

static void test_asking_goes_again_with_its_command(void **state)
{
    (void)state;
    ask_for_command(RO);
    rig_feed("+OK\r\n"); /* to ASKING */
    rig_lose();
    assert_heard("");
    rig_connect();
    assert_string_equal(in_log(&rig.pipe), "Ar");
    rig_write_all();
    rig_feed("+OK\r\n:1\r\n");
    assert_heard("r=:1 ");
}

static void test_asking_ends_with_its_command(void **state)
{
    (void)state;
    ask_for_command(WRITE);
    rig_feed("+OK\r\n");
    rig_lose();
    assert_heard("r!ECONN/maybe ");
    assert_string_equal(in_log(&rig.pipe), "");
    assert_int_equal(counter(&rig.pipe.stats.completed), 1);
}

static void test_a_queued_command_is_cancelled_with_its_asking(void **state)
{
    (void)state;
    is_asked = true;
    rig_submit('r', 0, RO);
    rig_write_all();
    rig_feed("-ASK 7 h:1\r\n");
    swap();
    assert_true(rig_cancel('r'));
    assert_heard("r!ECANCELLED/no ");
    assert_string_equal(rig_write_all(), "");
    assert_int_equal(shoal__pipe_queued(&rig.pipe), 0);
}

static void test_a_command_behind_asking_is_a_command(void **state)
{
    (void)state;
    ask_for_command(RO);
    rig_feed("+OK\r\n-TRYAGAIN x\r\n");
    assert_heard("");
    rig_tick(rig.now_us + 10000);
    assert_string_equal(in_log(&rig.pipe), "r");
    rig_write_all();
    rig_feed(":1\r\n");
    assert_heard("r=:1 ");
}

/* ---- endings ---- */

static void test_a_loss_before_exec_was_written(void **state)
{
    (void)state;
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    rig_write(2 * COMMAND_BYTES);
    rig_feed("+OK\r\n");
    rig_lose();
    assert_heard(""); /* nothing of it was executed */
    rig_connect();
    assert_string_equal(rig_write_all(), "mxe");
    rig_feed("+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
    assert_heard("m=+OK x=+QUEUED e=*1 ");
}

static void test_a_loss_behind_exec(void **state)
{
    (void)state;
    submit();
    rig_feed("+OK\r\n+OK\r\n+QUEUED\r\n");
    rig_lose();
    assert_heard("a=+OK m!ECONN/maybe x!ECONN/maybe y!ECONN/maybe e!ECONN/maybe "
                 "b!ECONN/maybe ");
    assert_int_equal(rig.pipe.kept.replies, 0);
}

static void test_a_loss_within_the_reply_to_exec(void **state)
{
    (void)state;
    submit();
    rig_feed("+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n");
    rig_lose();
    assert_heard("a=+OK m=+OK x=+QUEUED y=+QUEUED e!ECONN/lost b!ECONN/maybe ");
}

static void test_deadlines_pass_while_replies_are_kept(void **state)
{
    (void)state;
    rig_submit_unit("mxe", 0, rig.now_us + 100);
    rig_write_all();
    rig_feed("+OK\r\n");
    rig_tick(rig.now_us + 100);
    assert_heard("m!ETIMEOUT/maybe x!ETIMEOUT/maybe e!ETIMEOUT/maybe ");
    rig_feed("+QUEUED\r\n*1\r\n:1\r\n");
    assert_heard("");
    assert_int_equal(counter(&rig.pipe.stats.zombies_dropped), 3);
    assert_string_equal(in_log(&rig.pipe), "");
}

static void test_the_silence_of_a_server_is_heard_within_a_unit(void **state)
{
    (void)state;
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    rig_write(2 * COMMAND_BYTES);
    rig_feed("+OK\r\n+QUEUED\r\n");
    assert_int_equal(rig_tick(rig.now_us + 6000000), 0); /* it owes nothing */
    rig_write_all();
    assert_int_equal(rig_tick(rig.now_us + 6000000), SHOAL_ECONN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_results_come_together),
        TEST(test_errors_of_the_user_are_results),
        TEST(test_nil_of_exec),
        TEST(test_exec_has_a_reply_that_it_never_has),
        TEST(test_multi_is_rejected),
        TEST(test_a_sink_hears_of_all_parts_in_their_order),
        TEST(test_a_callback_gives_up_the_rest),
        TEST(test_more_parts_than_may_be_in_flight),
        TEST(test_kept_replies_have_a_bound),
        TEST(test_no_memory_to_keep_a_reply),
        TEST(test_a_unit_follows_its_slot),
        TEST(test_exec_alone_is_redirected),
        TEST(test_a_unit_waits_and_goes_again),
        TEST(test_a_unit_of_which_a_part_was_given_up),
        TEST(test_no_memory_to_go_again),
        TEST(test_asking_goes_before_the_unit),
        TEST(test_a_unit_behind_asking_is_redirected),
        TEST(test_multi_behind_asking_is_rejected),
        TEST(test_asking_goes_again_with_its_command),
        TEST(test_asking_ends_with_its_command),
        TEST(test_a_queued_command_is_cancelled_with_its_asking),
        TEST(test_a_command_behind_asking_is_a_command),
        TEST(test_a_loss_before_exec_was_written),
        TEST(test_a_loss_behind_exec),
        TEST(test_a_loss_within_the_reply_to_exec),
        TEST(test_deadlines_pass_while_replies_are_kept),
        TEST(test_the_silence_of_a_server_is_heard_within_a_unit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
