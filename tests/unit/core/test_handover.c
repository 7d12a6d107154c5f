/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "core/handover.h"
#include "unit/core/pipe/pipe_rig.h"

/* From the rig's pipe to another one.  Slots are sets of letters. */

static shoal__pipe_t other;
static shoal__handover_t handover;
static const char *letters_of[SHOAL__HANDOVER_PENS]; /* that go through each pen */

static bool picks(void *owner, const shoal__pipe_t *pen,
                  const shoal__request_t *request, const char *bytes)
{
    size_t place =
        (size_t)((const shoal__handover_pen_t *)(const void *)pen - handover.pens);

    assert_ptr_equal(owner, &rig);
    assert_int_equal(bytes[8], (char)request->tag);
    return letters_of[place] && strchr(letters_of[place], (char)request->tag);
}

/* Redirects go to the other pipe; LOADING holds; all else goes to the caller. */
static shoal__pipe_verdict_t on_error(void *owner, shoal__pipe_t *pipe,
                                      const shoal__request_t *request,
                                      const char *bytes, shoal__bytes_t error)
{
    const shoal__refused_t refused = shoal__pipe_refused(pipe);
    const shoal__bytes_t none = {NULL, 0};

    (void)owner, (void)request, (void)bytes;
    assert_ptr_equal(pipe, &rig.pipe);
    if (error.data[0] == 'L')
        return shoal__pipe_send_again(pipe, &refused, error);
    if (error.data[0] != 'M')
        return SHOAL__PIPE_SURFACE;
    return shoal__handover_redirect(&other, &refused, none, rig.now_us);
}

static int set_up(void **state)
{
    if (rig_set_up(state) < 0 || rig_init(&other) < 0)
        return -1;
    rig.pipe.hooks.on_error = on_error;
    memset(letters_of, 0, sizeof letters_of);
    return shoal__handover_init(&handover, &rig.pipe, &other, picks, &rig);
}

static int tear_down(void **state)
{
    shoal__test_fail_alloc_never();
    rig.is_deaf = true;
    rig.act = NULL;
    shoal__handover_abandon(&handover, rig.now_us);
    shoal__handover_release(&handover);
    shoal__pipe_abandon(&other, rig.now_us);
    shoal__pipe_release(&other);
    return rig_tear_down(state);
}

static const char *letters_in(const shoal__pipe_t *pipe)
{
    static char letters[64];
    const char *at = shoal__buffer_data(&pipe->log);
    size_t count = 0;

    for (; count * COMMAND_BYTES < shoal__buffer_bytes(&pipe->log); count++)
        letters[count] = at[count * COMMAND_BYTES + 8];
    letters[count] = '\0';
    return letters;
}

/* Submit one command to a pipe. */
static void submit_to(shoal__pipe_t *pipe, char name)
{
    shoal__request_t request = rig_request(name, 0, WRITE);
    char wire[COMMAND_BYTES + 1];

    snprintf(wire, sizeof wire, "*1\r\n$1\r\n%c\r\n", name);
    memcpy(shoal__pipe_reserve(pipe, COMMAND_BYTES, 1), wire, COMMAND_BYTES);
    shoal__pipe_push(pipe, &request);
}

static void submit(const char *letters)
{
    for (; *letters; letters++)
        rig_submit(*letters, 0, WRITE);
}

/* A hand-over of these letters begins.  Returns its pen. */
static shoal__pipe_t *begin(const char *letters)
{
    shoal__pipe_t *pen = shoal__handover_pen(&handover);

    letters_of[pen == &handover.pens[1].pipe] = letters;
    assert_int_equal(shoal__handover_begin(&handover, rig.now_us), 0);
    return pen;
}

static shoal__pipe_t *step(void)
{
    return shoal__handover_step(&handover, rig.now_us);
}

/* ---- the steps ---- */

static void test_the_picture_of_the_header(void **state)
{
    (void)state;
    rig_connect();
    submit("sabcd"); /* s a .. d in flight: s, b and d are of the slot */
    rig_write_all();
    submit("ef"); /* queued: e is of the slot */
    shoal__pipe_t *pen = begin("sbdeg");
    assert_string_equal(letters_in(&rig.pipe), "sabcdf");
    assert_null(step());
    submit_to(pen, 'g');
    assert_string_equal(letters_in(pen), "eg");

    rig_feed("+OK\r\n+OK\r\n-MOVED\r\n+OK\r\n");
    assert_null(step());
    assert_string_equal(letters_in(&other), "b");
    rig_feed("-MOVED\r\n");
    assert_string_equal(letters_in(&other), "bd");
    assert_ptr_equal(step(), pen);
    assert_null(step());
    assert_string_equal(letters_in(&other), "bdeg");
    assert_string_equal(letters_in(&rig.pipe), "f");
    assert_heard("s=+OK a=+OK c=+OK ");
}

static void test_with_nothing_in_flight_it_is_over_at_once(void **state)
{
    (void)state;
    rig_connect();
    submit("ab");
    shoal__pipe_t *pen = begin("b");
    assert_ptr_equal(step(), pen);
    assert_string_equal(letters_in(&other), "b");
    assert_string_equal(rig_write_all(), "a");
}

/* What a loss puts back comes before the pen; what was written and may not be repeated
 * fails. */
static void test_a_loss_ends_it(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('r', 0, RO);
    submit("wx");
    rig_write(2 * COMMAND_BYTES + 3); /* x is begun */
    submit("y");
    begin("rwxy");
    assert_null(step());
    rig_lose();
    assert_heard("w!ECONN/maybe ");
    shoal__handover_lost(&handover, false);
    assert_non_null(step());
    assert_string_equal(letters_in(&other), "rxy");
    assert_string_equal(letters_in(&rig.pipe), "");
}

/* The server might still execute w: the greeting of the next connection prevents that. */
static void test_a_loss_that_must_be_settled(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('r', 0, RO);
    submit("w");
    rig_write_all();
    submit("y");
    begin("rwy");
    rig_lose();
    shoal__handover_lost(&handover, true);
    assert_null(step());
    rig_connect();
    assert_non_null(step());
    assert_string_equal(letters_in(&other), "ry");
    assert_heard("w!ECONN/maybe ");
}

/* Without a connection there is no mark to wait for, but perhaps an earlier loss. */
static void test_it_begins_without_a_connection(void **state)
{
    (void)state;
    rig_connect();
    submit("a");
    rig_write_all();
    rig_feed("+OK\r\n");
    rig_lose();
    submit("s");
    begin("s");
    assert_null(step());
    shoal__handover_lost(&handover, false);
    assert_non_null(step());
    assert_string_equal(letters_in(&other), "s");
    assert_heard("a=+OK ");
}

/* The older pen waits for its own mark; the younger one takes in all that begins
 * meanwhile, and waits for the last mark. */
static void test_two_pens(void **state)
{
    (void)state;
    rig_connect();
    submit("a");
    rig_write_all();
    submit("p");
    shoal__pipe_t *older = begin("p");
    submit("b");
    rig_write_all();
    submit("q");
    shoal__pipe_t *younger = begin("q");
    assert_ptr_not_equal(younger, older);
    submit("c");
    rig_write_all();
    submit("r");
    assert_ptr_equal(begin("qr"), younger);

    rig_feed("+OK\r\n");
    assert_ptr_equal(step(), older);
    assert_null(step());
    assert_string_equal(letters_in(&other), "p");
    submit("s");
    assert_ptr_equal(begin("s"), older); /* it is free again */
    rig_feed("+OK\r\n");
    assert_null(step());
    rig_feed("+OK\r\n");
    assert_ptr_equal(step(), younger);
    assert_ptr_equal(step(), older);
    assert_string_equal(letters_in(&other), "pqrs");
}

/* What a loss put back stands before what is in the pen: nothing may come between. */
static void test_a_pen_that_was_lost_takes_nothing_in(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('r', 0, RO);
    rig_write_all();
    submit("a");
    begin("a");
    submit("s");
    shoal__pipe_t *younger = begin("rs");
    rig_lose();
    shoal__handover_lost(&handover, true);
    submit("t");
    assert_ptr_equal(shoal__handover_pen(&handover), younger);
    letters_of[1] = "rst";
    assert_int_equal(shoal__handover_begin(&handover, rig.now_us), SHOAL_EAGAIN);
    assert_string_equal(letters_in(younger), "s");
    letters_of[1] = "rs";
    rig_connect();
    assert_non_null(step());
    assert_ptr_equal(step(), younger);
    assert_string_equal(letters_in(&other), "ars");
    assert_string_equal(letters_in(&rig.pipe), "t");
    begin("t");
    assert_non_null(step());
    assert_string_equal(letters_in(&other), "arst");
}

/* Nothing is handed over after all: with what a loss put back, and without a loss. */
static void test_it_is_recalled(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('r', 0, RO);
    rig_write_all();
    submit("a");
    begin("ra");
    submit("s");
    shoal__pipe_t *younger = begin("s");
    submit_to(younger, 't');
    rig_lose();
    shoal__handover_recall(&handover);
    submit("b");
    assert_non_null(step());
    assert_ptr_equal(step(), younger);
    assert_null(step());
    assert_string_equal(letters_in(&rig.pipe), "rbast");
    assert_string_equal(letters_in(&other), "");
}

static void test_it_is_recalled_while_commands_are_in_flight(void **state)
{
    (void)state;
    rig_connect();
    submit("a");
    rig_write_all();
    submit("b");
    begin("ab");
    assert_null(step());
    shoal__handover_recall(&handover);
    shoal__test_fail_alloc_after(0);
    shoal__pipe_t *pen = step();
    shoal__test_fail_alloc_never();
    assert_non_null(pen); /* there was room */
    assert_string_equal(rig_write_all(), "b");
    rig_feed("+OK\r\n+OK\r\n");
    assert_heard("a=+OK b=+OK ");
}

/* ---- redirects ---- */

static void test_a_redirected_command_counts_its_hops(void **state)
{
    (void)state;
    rig_connect();
    submit("a");
    rig_write_all();
    rig_feed("-MOVED\r\n");
    assert_heard("");
    shoal__request_t *there = shoal__request_ring_at(&other.ring, other.ring.head);
    assert_int_equal(there->hops, 1);
    assert_int_equal(there->attempts, 0);
    assert_true(there->flags & SHOAL__REQUEST_RETRIED);

    shoal__request_t astray = rig_request('z', 0, WRITE);
    astray.hops = SHOAL__HANDOVER_HOPS_MAX;
    rig_push(&astray);
    rig_write_all();
    rig_feed("-MOVED\r\n");
    assert_heard("z=-MOVED ");
    assert_int_equal(rig.attempts, 1);
}

static void test_parts_of_units_are_not_redirected(void **state)
{
    (void)state;
    rig_connect();
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    rig_write_all();
    rig_feed("+OK\r\n-MOVED\r\n-EXECABORT\r\n");
    assert_heard("m=+OK x=-MOVED e=-EXECABORT ");
    assert_string_equal(letters_in(&other), "");
}

static void test_what_was_given_up_is_not_redirected(void **state)
{
    (void)state;
    rig_connect();
    submit("a");
    rig_write_all();
    assert_true(rig_cancel('a'));
    rig_feed("-MOVED\r\n");
    assert_heard("a!ECANCELLED/maybe ");
    assert_string_equal(letters_in(&other), "");
}

/* ---- commands in a pen ---- */

static void test_deadlines_and_cancels_in_a_pen(void **state)
{
    (void)state;
    rig_connect();
    submit("a");
    rig_write_all();
    shoal__request_t request = rig_request('p', 0, WRITE);
    request.deadline_us = rig.now_us + 500;
    rig_push(&request);
    submit("q");
    begin("pq");
    assert_int_equal(shoal__handover_next_wake_us(&handover), rig.now_us + 500);
    rig.now_us += 500;
    shoal__handover_tick(&handover, rig.now_us);
    assert_heard("p!ETIMEOUT/no ");
    assert_false(rig.is_offline);
    assert_string_equal(
        rig.detail, "not written within the deadline: its slot goes to another node, "
                    "and server:6379 owes 1 reply; the server's last bytes came 500 "
                    "us ago; the command was never sent");
    assert_true(shoal__handover_cancel(&handover, rig.tickets['q' - 'a'], rig.now_us));
    assert_false(shoal__handover_cancel(&handover, rig.tickets['q' - 'a'], rig.now_us));
    assert_heard("q!ECANCELLED/no ");
    assert_int_equal(shoal__handover_next_wake_us(&handover), SHOAL__NEVER_US);

    rig_feed("+OK\r\n");
    assert_non_null(step());
    assert_int_equal(counter(&other.stats.timeouts), 1);
    assert_int_equal(counter(&other.stats.cancels), 1);
    assert_int_equal(counter(&other.stats.completed), 2);
    assert_int_equal(counter(&handover.pens[0].pipe.stats.completed), 0);
}

static void test_a_close_settles_what_is_in_the_pens(void **state)
{
    (void)state;
    rig_connect();
    submit("a");
    rig_write_all();
    submit("p");
    begin("p");
    shoal__handover_abandon(&handover, rig.now_us);
    assert_heard("p!ESHUTDOWN/no ");
    assert_int_equal(counter(&other.stats.failures), 1);
}

/* ---- no memory ---- */

static void test_without_memory_it_does_not_begin(void **state)
{
    (void)state;
    submit("ap");
    letters_of[0] = "p";
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__handover_begin(&handover, rig.now_us), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_string_equal(letters_in(&rig.pipe), "ap");
    assert_null(step());
}

static void test_without_memory_it_ends_later(void **state)
{
    (void)state;
    submit("ap");
    begin("p");
    shoal__handover_lost(&handover, false);
    shoal__test_fail_alloc_after(0);
    assert_null(step());
    shoal__test_fail_alloc_never();
    assert_int_equal(shoal__handover_next_wake_us(&handover), rig.now_us + 1000);
    assert_non_null(step());
    assert_int_equal(shoal__handover_next_wake_us(&handover), SHOAL__NEVER_US);
    assert_string_equal(letters_in(&other), "p");

    /* What is put back cannot move: the pen stays behind it. */
    submit("b");
    begin("bq");
    shoal__handover_lost(&handover, false);
    rig_submit('q', 0, WRITE);
    for (char name = 'c'; name <= 'j'; name++) {
        rig_submit(name, 0, WRITE);
        submit_to(&other, 'x');
    }
    letters_of[1] = "qcdefghij";
    shoal__test_fail_alloc_after(0);
    assert_null(step());
    shoal__test_fail_alloc_never();
    assert_non_null(step());
}

static void test_without_memory_held_commands_go_later(void **state)
{
    (void)state;
    rig_connect();
    submit("a");
    rig_write_all();
    rig_feed("-LOADING x\r\n");
    begin("a");
    shoal__test_fail_alloc_after(0);
    assert_null(step());
    shoal__test_fail_alloc_never();
    assert_non_null(step());
    assert_string_equal(letters_in(&other), "a");
    assert_int_equal(shoal__pipe_held(&rig.pipe), 0);
}

static void test_without_memory_there_are_no_pens(void **state)
{
    (void)state;
    shoal__handover_t none;
    unsigned allowed = 0;

    for (;; allowed++) {
        shoal__test_fail_alloc_after(allowed);
        int rc = shoal__handover_init(&none, &rig.pipe, &other, picks, &rig);
        shoal__test_fail_alloc_never();
        if (rc == 0)
            break;
        assert_int_equal(rc, SHOAL_ENOMEM);
    }
    assert_true(allowed > 1);
    shoal__handover_release(&none);
}

static void test_without_memory_a_redirect_is_the_result(void **state)
{
    (void)state;
    rig_connect();
    submit("a");
    rig_write_all();
    shoal__test_fail_alloc_after(0);
    rig_feed("-MOVED\r\n");
    shoal__test_fail_alloc_never();
    assert_int_equal(shoal__request_ring_length(&other.ring), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_picture_of_the_header),
        TEST(with_nothing_in_flight_it_is_over_at_once),
        TEST(a_loss_ends_it),
        TEST(a_loss_that_must_be_settled),
        TEST(it_begins_without_a_connection),
        TEST(two_pens),
        TEST(a_pen_that_was_lost_takes_nothing_in),
        TEST(it_is_recalled),
        TEST(it_is_recalled_while_commands_are_in_flight),
        TEST(a_redirected_command_counts_its_hops),
        TEST(parts_of_units_are_not_redirected),
        TEST(what_was_given_up_is_not_redirected),
        TEST(deadlines_and_cancels_in_a_pen),
        TEST(a_close_settles_what_is_in_the_pens),
        TEST(without_memory_it_does_not_begin),
        TEST(without_memory_it_ends_later),
        TEST(without_memory_held_commands_go_later),
        TEST(without_memory_there_are_no_pens),
        TEST(without_memory_a_redirect_is_the_result),
    };

    return cmocka_run_group_tests_name("core/handover", tests, NULL, NULL);
}
