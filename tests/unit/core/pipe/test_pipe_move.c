/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "core/pipe/pipe_move.h"
#include "unit/core/pipe/values_rig.h"

/* Commands that move from the rig's pipe to another one, which has the same owner. */

static shoal__pipe_t other;

static int set_up(void **state)
{
    if (rig_set_up(state) < 0)
        return -1;
    return rig_init(&other);
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

/* A filter: the names in the text. */
static bool picks(void *data, const shoal__request_t *request, const char *bytes)
{
    assert_int_equal(bytes[8], (char)request->tag); /* each sees its own bytes */
    return strchr(data, (char)request->tag) != NULL;
}

static int move(const char *letters)
{
    return shoal__pipe_move_queued(&rig.pipe, &other, letters ? picks : NULL,
                                   (void *)(uintptr_t)letters, rig.now_us);
}

/* The letters in a pipe's log, and ring and log agree. */
static const char *letters_in(const shoal__pipe_t *pipe)
{
    static char letters[64];
    const char *log = shoal__buffer_data(&pipe->log);
    size_t count = 0, bytes = 0;

    for (uint64_t at = pipe->ring.head; at != pipe->ring.tail; at++) {
        const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);

        if (!(request->flags & SHOAL__REQUEST_INTERNAL)) {
            assert_int_equal(log[bytes + 8], (char)request->tag);
            letters[count++] = log[bytes + 8];
        }
        bytes += request->bytes;
    }
    assert_int_equal(bytes, shoal__buffer_bytes(&pipe->log));
    letters[count] = '\0';
    return letters;
}

/* ---- adopting ---- */

static void test_a_command_is_adopted_with_all_that_belongs_to_it(void **state)
{
    (void)state;
    shoal__request_t request = rig_request('a', SHOAL__REQUEST_MAYBE, WRITE);

    request.deadline_us = 5000;
    request.attempts = 1;
    assert_int_equal(
        shoal__pipe_adopt(&other, &request, "*1\r\n$1\r\na\r\n", rig.now_us), 0);
    assert_string_equal(letters_in(&other), "a");
    assert_int_equal(shoal__pipe_queued(&other), 1);
    assert_int_equal(other.flush.queued, 1);
    assert_int_equal(other.flush.queued_bytes, COMMAND_BYTES);
    assert_int_equal(shoal__pipe_next_wake_us(&other), 5000);
    shoal__pipe_tick(&other, 5000);
    assert_heard("a!ETIMEOUT/maybe ");
    assert_int_equal(rig.attempts, 1);
}

static void test_an_adopted_command_is_found_behind_younger_ones(void **state)
{
    (void)state;
    shoal__request_t old = rig_request('a', 0, WRITE);

    rig_submit('b', 0, WRITE);
    rig_submit('c', 0, WRITE);
    rig_submit('d', 0, WRITE);
    assert_int_equal(
        shoal__pipe_adopt(&rig.pipe, &old, "*1\r\n$1\r\na\r\n", rig.now_us), 0);
    assert_int_equal(rig.pipe.ring.retried, 1);
    assert_true(rig_cancel('a'));
    assert_true(rig_cancel('d'));
    assert_heard("a!ECANCELLED/no d!ECANCELLED/no ");
}

static void test_without_memory_a_command_is_not_adopted(void **state)
{
    (void)state;
    shoal__request_t request = rig_request('a', 0, WRITE);

    shoal__test_fail_alloc_after(0);
    assert_int_equal(
        shoal__pipe_adopt(&other, &request, "*1\r\n$1\r\na\r\n", rig.now_us),
        SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_string_equal(letters_in(&other), "");
}

static void test_an_adopted_command_that_travels_alone_goes_on_doing_so(void **state)
{
    (void)state;
    rig_connect();
    shoal__request_t request = rig_request('s', SHOAL__REQUEST_ALONE, RO);

    rig_submit('a', 0, RO);
    assert_int_equal(
        shoal__pipe_adopt(&rig.pipe, &request, "*1\r\n$1\r\ns\r\n", rig.now_us), 0);
    rig_submit('b', 0, RO);
    assert_string_equal(rig_write_all(), "a");
}

/* ---- moving ---- */

static void test_what_the_filter_picks_moves_in_order(void **state)
{
    (void)state;
    rig_submit('a', 0, WRITE);
    rig_submit('s', 0, WRITE);
    rig_submit('b', 0, WRITE);
    rig_submit('t', 0, WRITE);
    rig_submit('c', 0, WRITE);
    assert_int_equal(move("st"), 0);
    assert_string_equal(letters_in(&rig.pipe), "abc");
    assert_string_equal(letters_in(&other), "st");
    assert_int_equal(rig.pipe.flush.queued, 3);
    assert_int_equal(rig.pipe.flush.queued_bytes, 3 * COMMAND_BYTES);
    assert_int_equal(other.flush.queued, 2);
    assert_int_equal(other.ring.retried, 2);
    assert_int_equal(move("x"), 0);
    assert_string_equal(letters_in(&rig.pipe), "abc");
    assert_heard("");
}

static void test_everything_moves(void **state)
{
    (void)state;
    rig_submit('a', 0, WRITE);
    rig_submit_with_sink('b', WRITE);
    assert_int_equal(move(NULL), 0);
    assert_string_equal(letters_in(&rig.pipe), "");
    assert_string_equal(letters_in(&other), "ab");
    assert_int_equal(rig.pipe.flush.queued, 0);
    assert_int_equal(move(NULL), 0);
}

/* What is written, and what was begun, stays; authority for more is withdrawn. */
static void test_what_was_handed_over_stays(void **state)
{
    (void)state;
    rig_connect();
    for (const char *at = "abcd"; *at; at++)
        rig_submit(*at, 0, WRITE);
    rig_write(COMMAND_BYTES + 3);
    assert_int_equal(shoal__pipe_watermark(&rig.pipe), rig.pipe.ring.head + 2);
    assert_int_equal(move(NULL), 0);
    assert_string_equal(letters_in(&rig.pipe), "ab");
    assert_string_equal(letters_in(&other), "cd");
    assert_int_equal(rig_output().bytes, COMMAND_BYTES - 3);
    rig_write_all();
    uint64_t mark = shoal__pipe_watermark(&rig.pipe);
    rig_feed("+OK\r\n");
    assert_false(shoal__pipe_has_passed(&rig.pipe, mark));
    rig_feed("+OK\r\n");
    assert_true(shoal__pipe_has_passed(&rig.pipe, mark));
    assert_heard("a=+OK b=+OK ");
}

static void test_what_was_only_authorised_moves(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    assert_int_equal(rig_output().bytes, 2 * COMMAND_BYTES);
    assert_int_equal(move("a"), 0);
    assert_string_equal(rig_write_all(), "b");
    assert_int_equal(shoal__pipe_watermark(&rig.pipe), rig.pipe.ring.tail);
}

static void test_what_was_given_up_does_not_move(void **state)
{
    (void)state;
    rig_submit('a', 0, WRITE);
    rig_submit('b', 0, WRITE);
    assert_true(rig_cancel('a'));
    assert_int_equal(move(NULL), 0);
    assert_string_equal(letters_in(&rig.pipe), "");
    assert_string_equal(letters_in(&other), "b");
    assert_heard("a!ECANCELLED/no ");
}

/* Our own PING stays; the filter is not asked. */
static void test_commands_of_the_library_stay(void **state)
{
    (void)state;
    rig.config.ping_idle_us = 1000;
    rig_connect();
    rig_tick(rig.now_us + 1000);
    assert_int_equal(shoal__pipe_queued(&rig.pipe), 1);
    rig_submit('a', 0, WRITE);
    assert_int_equal(move(NULL), 0);
    assert_string_equal(letters_in(&other), "a");
    assert_int_equal(shoal__pipe_queued(&rig.pipe), 1);
}

/* ---- units ---- */

static void test_a_unit_moves_whole(void **state)
{
    (void)state;
    rig_submit('a', 0, WRITE);
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    rig_submit_unit("nyf", 0, SHOAL__NEVER_US);
    assert_int_equal(move("x"), 0);
    assert_string_equal(letters_in(&rig.pipe), "anyf");
    assert_string_equal(letters_in(&other), "mxe");
}

static void test_a_unit_that_was_begun_stays(void **state)
{
    (void)state;
    rig.config.inflight_max = 1;
    rig_connect();
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    rig_submit('a', 0, WRITE);
    rig_write(3);
    assert_int_equal(shoal__pipe_watermark(&rig.pipe), rig.pipe.ring.head + 3);
    assert_int_equal(move(NULL), 0);
    assert_string_equal(letters_in(&rig.pipe), "mxe");
    assert_string_equal(letters_in(&other), "a");

    rig_submit('b', 0, WRITE);
    rig_write_all(); /* MULTI alone: no more may be in flight */
    assert_int_equal(rig.pipe.part_bytes, 0);
    assert_int_equal(move(NULL), 0);
    assert_string_equal(letters_in(&rig.pipe), "mxe");
    assert_string_equal(letters_in(&other), "ab");
}

/* A unit of which nothing has left, behind what has. */
static void test_a_unit_behind_the_mark_moves(void **state)
{
    (void)state;
    rig.config.inflight_max = 1;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_submit_unit("mxe", 0, SHOAL__NEVER_US);
    rig_write_all();
    assert_int_equal(shoal__pipe_watermark(&rig.pipe), rig.pipe.ring.head + 1);
    assert_int_equal(move("m"), 0);
    assert_string_equal(letters_in(&rig.pipe), "a");
    assert_string_equal(letters_in(&other), "mxe");
}

/* ---- commands that wait to be sent again ---- */

static int move_held(const char *letters)
{
    return shoal__pipe_move_held(&rig.pipe, &other, picks, (void *)(uintptr_t)letters,
                                 rig.now_us);
}

static void test_what_is_held_moves_by_itself(void **state)
{
    (void)state;
    rig_connect();
    assert_int_equal(move_held("b"), 0); /* nothing ever was */
    rig_submit('a', 0, RO);
    rig_submit('b', 0, RO);
    rig_write_all();
    rig_feed("-LOADING\r\n-LOADING\r\n");
    assert_int_equal(shoal__pipe_held(&rig.pipe), 2);
    assert_int_equal(move("b"), 0);
    assert_int_equal(shoal__pipe_held(&rig.pipe), 2);
    assert_int_equal(move_held("b"), 0);
    assert_int_equal(shoal__pipe_held(&rig.pipe), 1);
    assert_string_equal(letters_in(&other), "b");
    assert_true(shoal__pipe_cancel(&other, rig.tickets['b' - 'a'], rig.now_us));
    assert_true(rig_cancel('a'));
    assert_heard("b!ECANCELLED/no a!ECANCELLED/no ");
}

/* What another server refused is asked for here. */
static void ask_for(char name)
{
    static const char asking[] = "*1\r\n$6\r\nASKING\r\n";
    shoal__request_t request = rig_request(name, 0, WRITE);
    char wire[COMMAND_BYTES + 1];

    snprintf(wire, sizeof wire, "*1\r\n$1\r\n%c\r\n", name);
    assert_int_equal(shoal__pipe_adopt(&other, &request, wire, rig.now_us), 0);
    const shoal__refused_t refused = {.ring = &other.ring,
                                      .first = other.ring.head,
                                      .count = 1,
                                      .bytes = shoal__buffer_data(&other.log)};
    assert_int_equal(shoal__pipe_adopt_refused(
                         &rig.pipe, &refused,
                         (shoal__bytes_t){asking, sizeof asking - 1}, rig.now_us),
                     0);
    shoal__pipe_drop_moved(&other, 1, rig.now_us);
}

/* ASKING is the library's own, as PING is; but the command behind it needs it. */
static void test_what_was_held_does_not_part_asking_from_its_command(void **state)
{
    (void)state;
    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_write_all();
    rig_feed("-LOADING\r\n");
    ask_for('b');
    rig_tick(rig.pipe.hold.due_us);
    assert_string_equal(rig_write_all(), "a");
    rig_feed("+a\r\n");
    assert_string_equal(rig_write_all(), "b");
    rig_feed("+OK\r\n+b\r\n");
    assert_heard("a=+a b=+b ");
}

/* ---- no memory ---- */

static void test_without_memory_nothing_moves(void **state)
{
    (void)state;
    for (char name = 'a'; name <= 'z'; name++)
        rig_submit(name, 0, WRITE);
    for (unsigned allowed = 0; allowed < 2; allowed++) {
        shoal__test_fail_alloc_after(allowed);
        assert_int_equal(move("klmnop"), SHOAL_ENOMEM);
        shoal__test_fail_alloc_never();
        assert_string_equal(letters_in(&other), "");
        assert_string_equal(letters_in(&rig.pipe), names);
        assert_int_equal(rig.pipe.flush.queued, 26);
    }
    assert_int_equal(move("klmnop"), 0);
    assert_string_equal(letters_in(&other), "klmnop");
}

/* Their callers' memory belongs to the other pipe then, and counts there. */
static void test_large_values_move_along(void **state)
{
    (void)state;
    rig_connect();
    submit_lent('e', 0, WRITE);
    write_rest();
    rig_feed("-LOADING\r\n"); /* it is held */
    submit_three(0, WRITE);
    assert_int_equal(rig.pipe.pen->referred_bytes, VALUE_BYTES);
    assert_int_equal(move("be"), 0);
    assert_int_equal(move_held("be"), 0);
    assert_string_equal(letters_in(&rig.pipe), "ac");
    assert_string_equal(letters_in(&other), "be");
    assert_int_equal(rig.pipe.referred_bytes, 0);
    assert_int_equal(rig.pipe.flush.queued_bytes, 2 * COMMAND_BYTES);
    assert_int_equal(rig.pipe.pen->referred_bytes, 0);
    assert_int_equal(other.referred_bytes, 2 * VALUE_BYTES);
    assert_int_equal(other.flush.queued_bytes, 2 * LENT_BYTES);
    assert_int_equal(loan_of('b')->released + loan_of('e')->released, 0);
    shoal__pipe_abandon(&rig.pipe, rig.now_us);
    assert_heard("a!ESHUTDOWN/no c!ESHUTDOWN/no ");
    shoal__pipe_abandon(&other, rig.now_us);
    assert_heard("b!ESHUTDOWN/no e!ESHUTDOWN/no ");
    assert_int_equal(loan_of('b')->released, 1);
    assert_int_equal(loan_of('e')->released, 1);
    assert_int_equal(other.referred_bytes, 0);
}

/* ---- taking out ---- */

typedef struct taker {
    char letters[16];
    size_t count, room;
} taker_t;

static int take(void *data, const shoal__request_t *request, const char *bytes)
{
    taker_t *taker = data;

    assert_int_equal(bytes[8], (char)request->tag);
    if (taker->count == taker->room)
        return SHOAL_ENOMEM;
    taker->letters[taker->count++] = bytes[8];
    return 0;
}

static void test_what_was_not_handed_over_is_taken_out(void **state)
{
    (void)state;
    taker_t taker = {.room = 15};

    rig_connect();
    rig_submit('a', 0, WRITE);
    rig_write_all();
    rig_submit('b', 0, WRITE);
    rig_submit('c', 0, WRITE);
    assert_int_equal(shoal__pipe_take_out(&rig.pipe, take, &taker, rig.now_us), 0);
    assert_string_equal(taker.letters, "bc");
    assert_string_equal(letters_in(&rig.pipe), "a");
    assert_int_equal(rig.pipe.flush.queued, 0);
    assert_int_equal(rig.pipe.flush.queued_bytes, 0);
    assert_heard("");
}

static void test_without_memory_nothing_is_taken_out(void **state)
{
    (void)state;
    taker_t taker = {.room = 1};

    rig_submit('b', 0, WRITE);
    rig_submit('c', 0, WRITE);
    assert_int_equal(shoal__pipe_take_out(&rig.pipe, take, &taker, rig.now_us),
                     SHOAL_ENOMEM);
    assert_string_equal(letters_in(&rig.pipe), "bc");
    assert_int_equal(rig.pipe.flush.queued, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_command_is_adopted_with_all_that_belongs_to_it),
        TEST(an_adopted_command_is_found_behind_younger_ones),
        TEST(without_memory_a_command_is_not_adopted),
        TEST(an_adopted_command_that_travels_alone_goes_on_doing_so),
        TEST(what_the_filter_picks_moves_in_order),
        TEST(everything_moves),
        TEST(what_was_handed_over_stays),
        TEST(what_was_only_authorised_moves),
        TEST(what_was_given_up_does_not_move),
        TEST(commands_of_the_library_stay),
        TEST(a_unit_moves_whole),
        TEST(a_unit_that_was_begun_stays),
        TEST(a_unit_behind_the_mark_moves),
        TEST(what_is_held_moves_by_itself),
        TEST(what_was_held_does_not_part_asking_from_its_command),
        TEST(without_memory_nothing_moves),
        TEST(what_was_not_handed_over_is_taken_out),
        TEST(without_memory_nothing_is_taken_out),
        TEST(large_values_move_along),
    };

    return cmocka_run_group_tests_name("core/pipe/pipe_move", tests, NULL, NULL);
}
