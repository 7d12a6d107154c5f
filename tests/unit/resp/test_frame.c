/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "resp/frame.h"
#include "unit/resp/transcript.h"
#include <shoal/errors.h>
#include <string.h>

/* The owner of the frames: writes down what it gets. */
typedef struct owner {
    transcript_t heard;
    shoal__decoder_target_t target;
    bool stops;
    shoal_reply_type_t begun;  /* what on_begin was told last */
    const shoal_reply_t *kept; /* retained if keeps */
    bool keeps;
} owner_t;

static owner_t owner;
static shoal__frame_t frame;

static shoal__decoder_target_t on_begin(void *data, shoal_reply_type_t type)
{
    owner_t *self = data;

    self->begun = type;
    transcript_print(&self->heard, "BEGIN ");
    return self->target;
}

static bool on_reply(void *data, const shoal_reply_t *reply, bool is_push)
{
    owner_t *self = data;

    transcript_print(&self->heard, is_push ? "PUSH " : "REPLY ");
    if (reply)
        shoal__reply_to_sink(reply, &transcript_sink, &self->heard);
    if (self->keeps)
        self->kept = shoal_reply_retain(reply);
    return !self->stops;
}

static int set_up(void **state)
{
    static const shoal__decoder_hooks_t hooks = {on_begin, on_reply};

    (void)state;
    owner = (owner_t){.stops = false};
    return shoal__frame_init(&frame, &hooks, &owner);
}

static int tear_down(void **state)
{
    (void)state;
    shoal__frame_release(&frame);
    shoal_reply_release(owner.kept);
    return 0;
}

static const shoal_reply_t leaf = {.type = SHOAL_REPLY_STRING,
                                   .as.text = {.data = "text", .bytes = 4}};

static shoal__place_t place(void *parent, size_t index, size_t ends)
{
    return (shoal__place_t){.parent = parent, .index = index, .ends = ends};
}

/* [3 $text [0 ] %[2 $text $text ] ], up to the last leaf. */
static void *give_all_but_one(shoal__frame_kind_t kind, shoal__place_t *ret_last)
{
    void *top = shoal__frame_begin(&frame, kind, SHOAL_REPLY_ARRAY, 3);
    assert_non_null(top);
    shoal__place_t at = place(top, 0, 0);
    assert_true(shoal__frame_leaf(&frame, &at, &leaf, 4));
    at = place(top, 1, 0);
    assert_non_null(shoal__frame_aggregate(&frame, &at, SHOAL_REPLY_ARRAY, 0));
    at = place(top, 2, 1);
    void *map = shoal__frame_aggregate(&frame, &at, SHOAL_REPLY_MAP, 2);
    assert_non_null(map);
    at = place(map, 0, 0);
    assert_true(shoal__frame_leaf(&frame, &at, &leaf, 4));
    *ret_last = place(map, 1, 2);
    return top;
}

static void give_all(shoal__frame_kind_t kind)
{
    shoal__place_t last;
    void *top = give_all_but_one(kind, &last);

    assert_true(shoal__frame_leaf(&frame, &last, &leaf, 4));
    shoal__frame_finish(&frame, top);
}

#define ALL "[3 $text [0 ] %[2 $text $text ] ] "

static void test_a_tree_is_delivered_whole(void **state)
{
    (void)state;
    give_all(SHOAL__FRAME_REPLY);
    shoal__frame_only_leaf(&frame, &leaf);
    assert_string_equal(owner.heard.text, "BEGIN REPLY " ALL "BEGIN REPLY $text ");
}

static void test_a_sink_hears_as_it_comes(void **state)
{
    (void)state;
    owner.target =
        (shoal__decoder_target_t){.sink = &transcript_sink, .sink_data = &owner.heard};
    give_all(SHOAL__FRAME_REPLY);
    shoal__frame_only_leaf(&frame, &leaf);
    assert_string_equal(owner.heard.text, "BEGIN " ALL "REPLY BEGIN REPLY $text ");
}

static void test_nowhere_is_told_of_ends_only(void **state)
{
    (void)state;
    owner.target = (shoal__decoder_target_t){.discard = true};
    give_all(SHOAL__FRAME_REPLY);
    shoal__frame_only_leaf(&frame, &leaf);
    assert_string_equal(owner.heard.text, "BEGIN REPLY _ BEGIN REPLY _ ");
}

static void test_pushes_are_trees_and_attributes_nothing(void **state)
{
    (void)state;
    owner.target =
        (shoal__decoder_target_t){.sink = &transcript_sink, .sink_data = &owner.heard};
    shoal__place_t last;
    void *top = give_all_but_one(SHOAL__FRAME_SKIPPED, &last);
    shoal__frame_finish(&frame, top);
    assert_string_equal(owner.heard.text, "");

    top = shoal__frame_begin(&frame, SHOAL__FRAME_PUSH, SHOAL_REPLY_PUSH, 0);
    shoal__frame_finish(&frame, top);
    assert_string_equal(owner.heard.text, "PUSH >[0 ] ");
}

static void test_a_retained_tree_is_left_alone(void **state)
{
    (void)state;
    owner.keeps = true;
    give_all(SHOAL__FRAME_REPLY);
    owner.keeps = false;
    for (int i = 0; i < 10; i++)
        give_all(SHOAL__FRAME_REPLY);

    transcript_clear(&owner.heard);
    shoal__reply_to_sink(owner.kept, &transcript_sink, &owner.heard);
    assert_string_equal(owner.heard.text, ALL);
}

static void test_what_is_given_up_goes_to_nowhere(void **state)
{
    (void)state;
    shoal__place_t last;
    void *top = give_all_but_one(SHOAL__FRAME_REPLY, &last);
    shoal__frame_discard(&frame, true);
    assert_true(shoal__frame_leaf(&frame, &last, &leaf, 4));
    shoal__frame_finish(&frame, top);
    assert_string_equal(owner.heard.text, "BEGIN REPLY _ ");

    transcript_clear(&owner.heard);
    shoal__frame_discard(&frame, false);
    shoal__frame_only_leaf(&frame, &leaf);
    shoal__frame_only_leaf(&frame, &leaf);
    assert_string_equal(owner.heard.text, "BEGIN REPLY _ BEGIN REPLY $text ");
}

static void test_a_sink_that_is_cut_off_is_told_once(void **state)
{
    (void)state;
    shoal__place_t last;

    owner.target =
        (shoal__decoder_target_t){.sink = &transcript_sink, .sink_data = &owner.heard};
    give_all_but_one(SHOAL__FRAME_REPLY, &last);
    shoal__frame_discard(&frame, true);
    shoal__frame_reset(&frame);
    assert_string_equal(owner.heard.text, "BEGIN [3 $text [0 ] %[2 $text RESET ");

    transcript_clear(&owner.heard);
    shoal__frame_reset(&frame);
    shoal__frame_only_leaf(&frame, &leaf);
    shoal__frame_reset(&frame);
    assert_string_equal(owner.heard.text, "BEGIN REPLY $text ");
}

static void test_the_owner_may_stop(void **state)
{
    (void)state;
    owner.stops = true;
    assert_false(frame.is_stopped);
    shoal__frame_only_leaf(&frame, &leaf);
    assert_true(frame.is_stopped);
    shoal__frame_reset(&frame);
    assert_false(frame.is_stopped);
}

/* A count is believed up to a bound; beyond it the bytes received decide. */
static void test_an_announced_count_takes_little_memory(void **state)
{
    (void)state;
    void *parent =
        shoal__frame_begin(&frame, SHOAL__FRAME_REPLY, SHOAL_REPLY_ARRAY, 2147483647);

    for (uint64_t i = 0; i < 100000; i++) {
        shoal__place_t at = {.parent = parent, .index = i, .received_bytes = 3 * i};
        assert_true(shoal__frame_leaf(&frame, &at, &(shoal_reply_t){.type = 0}, 0));
        assert_true(shoal__arena_bytes(frame.arena) <= 16 * 3 * i + 1024 * 1024);
    }
    shoal__frame_reset(&frame);

    uint64_t before = shoal__alloc_count();
    parent = shoal__frame_begin(&frame, SHOAL__FRAME_REPLY, SHOAL_REPLY_ARRAY, 5000);
    for (uint64_t i = 0; i < 5000; i++) {
        shoal__place_t at = {.parent = parent, .index = i};
        assert_true(shoal__frame_leaf(&frame, &at, &(shoal_reply_t){.type = 0}, 0));
    }
    assert_int_equal(shoal__alloc_count() - before, 1); /* believed: one array */
}

static void test_failed_allocations_are_reported(void **state)
{
    (void)state;
    owner.keeps = true;
    give_all(SHOAL__FRAME_REPLY); /* the arena is the owner's now */
    owner.keeps = false;

    shoal__test_fail_alloc_after(0);
    assert_null(shoal__frame_begin(&frame, SHOAL__FRAME_REPLY, SHOAL_REPLY_ARRAY, 1));
    shoal__frame_t other;
    assert_int_equal(shoal__frame_init(&other, &frame.hooks, NULL), SHOAL_ENOMEM);
    shoal__test_fail_alloc_after(1);
    void *top = shoal__frame_begin(&frame, SHOAL__FRAME_REPLY, SHOAL_REPLY_ARRAY, 1000);
    assert_non_null(top);
    shoal__place_t at = place(top, 0, 0);
    assert_false(shoal__frame_leaf(&frame, &at, &leaf, 4));
    assert_null(shoal__frame_aggregate(&frame, &at, SHOAL_REPLY_ARRAY, 2));
    shoal__test_fail_alloc_never();

    /* Room for the child, but none for its text. */
    static const char text[100000];
    const shoal_reply_t large = {.type = SHOAL_REPLY_STRING, .as.text.data = text};
    shoal__frame_reset(&frame);
    top = shoal__frame_begin(&frame, SHOAL__FRAME_REPLY, SHOAL_REPLY_ARRAY, 1);
    at = place(top, 0, 0);
    shoal__test_fail_alloc_after(0);
    assert_false(shoal__frame_leaf(&frame, &at, &large, sizeof text));
    shoal__test_fail_alloc_never();

    shoal__frame_reset(&frame);
    transcript_clear(&owner.heard);
    give_all(SHOAL__FRAME_REPLY);
    assert_string_equal(owner.heard.text, "BEGIN REPLY " ALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_a_tree_is_delivered_whole),
        TEST(test_a_sink_hears_as_it_comes),
        TEST(test_nowhere_is_told_of_ends_only),
        TEST(test_pushes_are_trees_and_attributes_nothing),
        TEST(test_a_retained_tree_is_left_alone),
        TEST(test_what_is_given_up_goes_to_nowhere),
        TEST(test_a_sink_that_is_cut_off_is_told_once),
        TEST(test_the_owner_may_stop),
        TEST(test_an_announced_count_takes_little_memory),
        TEST(test_failed_allocations_are_reported),
    };
    return cmocka_run_group_tests_name("resp/frame", tests, NULL, NULL);
}
