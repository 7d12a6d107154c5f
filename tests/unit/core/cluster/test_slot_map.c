/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/cluster/slot_map.h"
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000u
#define HALF (SHOAL__SLOTS / 2)
#define NOBODY SHOAL__SLOT_NOBODY

/* Nodes A and B own a half each; C and D own nothing. */
enum node { A, B, C, D, NODES };

static shoal__slot_map_t map;
static shoal__slot_view_t view;
static uint64_t epochs[NODES], now_us;
static unsigned changes, last_slot, last_from, last_to;

static void on_changed(void *data, unsigned slot, unsigned from, unsigned to)
{
    assert_ptr_equal(data, &map);
    assert_int_equal(shoal__slot_map_owner(&map, slot), to);
    changes++;
    last_slot = slot;
    last_from = from;
    last_to = to;
}

/* One node says who owns the first and the second half. */
static shoal__slot_merged_t say(unsigned by, unsigned first, unsigned second)
{
    view.by = by;
    view.at_us = now_us;
    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++)
        view.owners[slot] = (uint16_t)(slot < HALF ? first : second);
    changes = 0;
    return shoal__slot_map_merge(&map, &view, epochs, on_changed, &map);
}

static unsigned first_owner(void)
{
    return shoal__slot_map_owner(&map, 0);
}

static int set_up(void **state)
{
    (void)state;
    shoal__slot_map_init(&map);
    now_us = 100 * SECOND;
    for (unsigned node = 0; node < NODES; node++)
        epochs[node] = node + 1;
    return 0;
}

static void know(void)
{
    assert_int_equal(say(A, A, B).changed, SHOAL__SLOTS);
    assert_int_equal(map.owned, SHOAL__SLOTS);
    assert_int_equal(say(B, A, B).changed, 0);
}

static void test_the_first_view_is_the_map(void **state)
{
    (void)state;
    assert_int_equal(first_owner(), NOBODY);
    know();
    assert_int_equal(first_owner(), A);
    assert_int_equal(shoal__slot_map_owner(&map, HALF), B);
}

static void test_a_higher_epoch_is_believed_at_once(void **state)
{
    (void)state;
    know();
    epochs[C] = 7;
    assert_int_equal(say(C, C, B).changed, HALF);
    assert_int_equal(changes, HALF);
    assert_int_equal(last_slot, HALF - 1);
    assert_int_equal(last_from, A);
    assert_int_equal(last_to, C);
    /* The former owner has not heard of it yet: what it says is doubted. */
    assert_int_equal(say(A, A, B).doubtful, HALF);
    assert_int_equal(first_owner(), C);
}

/* Epochs that do not help: equal, lower, or not told. */
static void test_without_an_epoch_two_nodes_must_agree(void **state)
{
    static const uint64_t useless[] = {1, 0};

    for (size_t i = 0; i < sizeof useless / sizeof *useless; i++) {
        set_up(state);
        know();
        epochs[C] = useless[i];
        assert_int_equal(say(C, C, B).doubtful, HALF);
        assert_int_equal(first_owner(), A);
        now_us += SECOND;
        assert_int_equal(say(D, C, B).changed, HALF);
        assert_int_equal(first_owner(), C);
    }
}

/* A primary that was cut off, and its replica, agree on what is over.  They are believed when
 * nobody has said otherwise for long. */
static void test_two_nodes_of_a_lower_epoch_need_time(void **state)
{
    (void)state;
    know();
    epochs[C] = 7;
    assert_int_equal(say(C, C, B).changed, HALF);
    for (unsigned i = 0; i < 40; i++, now_us += SECOND) {
        assert_int_equal(say(A, A, B).doubtful, HALF);
        assert_int_equal(say(D, A, B).doubtful, HALF);
        if (i % 20 == 10) /* the owner is there */
            assert_int_equal(say(C, C, B).changed, 0);
    }
    assert_int_equal(first_owner(), C);
    now_us += SHOAL__SLOT_LOWER_US - 10 * SECOND;
    assert_int_equal(say(A, A, B).doubtful, HALF);
    now_us += SECOND;
    assert_int_equal(say(D, A, B).changed, HALF);
    assert_int_equal(first_owner(), A);
}

static void test_epochs_of_another_cluster_begin_anew(void **state)
{
    (void)state;
    epochs[A] = epochs[B] = 9;
    know();
    shoal__slot_map_forget_epochs(&map);
    assert_int_equal(say(C, C, D).changed, SHOAL__SLOTS);
    assert_int_equal(first_owner(), C);
}

static void test_or_one_node_twice(void **state)
{
    (void)state;
    know();
    epochs[C] = 0;
    for (unsigned i = 0; i < 4; i++, now_us += SECOND / 2)
        assert_int_equal(say(C, C, B).doubtful, HALF);
    assert_int_equal(say(C, C, B).changed, HALF);
}

static void test_what_was_said_long_ago_confirms_nothing(void **state)
{
    (void)state;
    know();
    epochs[C] = 0;
    assert_int_equal(say(C, C, B).doubtful, HALF);
    now_us += SHOAL__SLOT_FORMER_US + 1;
    assert_int_equal(say(D, C, B).doubtful, HALF);
    /* A whole view in between takes the doubt away. */
    assert_int_equal(say(B, A, B).doubtful, 0);
    assert_int_equal(say(C, C, B).doubtful, HALF);
    assert_int_equal(first_owner(), A);
}

/* ---- redirects ---- */

static void test_a_redirect_counts_at_once(void **state)
{
    (void)state;
    know();
    assert_false(shoal__slot_map_patch(&map, 0, A, now_us));
    assert_true(shoal__slot_map_patch(&map, 0, C, now_us));
    assert_int_equal(first_owner(), C);
    /* The former owner says otherwise, and again; then another node does. */
    now_us += SECOND;
    assert_int_equal(say(A, A, B).doubtful, 1);
    now_us += 3 * SECOND;
    assert_int_equal(say(A, A, B).doubtful, 1);
    assert_int_equal(first_owner(), C);
    assert_int_equal(say(B, A, B).changed, 1);
    assert_int_equal(first_owner(), A);
}

static void test_a_redirect_is_not_for_ever(void **state)
{
    (void)state;
    know();
    assert_true(shoal__slot_map_patch(&map, 0, C, now_us));
    now_us += SHOAL__SLOT_PATCHED_US - SECOND;
    assert_int_equal(say(A, A, B).doubtful, 1);
    now_us += 2 * SECOND;
    assert_int_equal(say(A, A, B).changed, 1);
}

/* Two nodes say the same; but one of them said it before the redirect. */
static void test_what_was_said_before_a_redirect_is_no_doubt_of_it(void **state)
{
    (void)state;
    know();
    epochs[C] = 0;
    assert_true(shoal__slot_map_patch(&map, 1, C, now_us));
    now_us += SECOND;
    assert_int_equal(say(C, C, B).doubtful, HALF - 1); /* and A for nothing */
    now_us += SECOND;
    assert_true(shoal__slot_map_patch(&map, HALF, C, now_us)); /* C has said: B's */
    now_us += SECOND;
    assert_int_equal(say(A, A, B).doubtful, 2);
    assert_int_equal(shoal__slot_map_owner(&map, HALF), C);
}

/* ---- slots without an owner ---- */

static void test_a_slot_rests_behind_a_redirect(void **state)
{
    (void)state;
    know();
    assert_false(shoal__slot_map_rests(&map, 0, now_us)); /* a view said so */
    assert_true(shoal__slot_map_patch(&map, 0, C, now_us));
    assert_true(shoal__slot_map_rests(&map, 0, now_us + SHOAL__SLOT_REST_US - 1000));
    assert_false(shoal__slot_map_rests(&map, 0, now_us + SHOAL__SLOT_REST_US));
    assert_false(shoal__slot_map_rests(&map, 1, now_us));
}

static void test_a_smaller_view_needs_a_second(void **state)
{
    (void)state;
    know();
    assert_true(say(C, NOBODY, NOBODY).is_refused); /* it has just joined */
    now_us += 3 * SECOND;
    assert_true(say(C, NOBODY, NOBODY).is_refused);
    assert_int_equal(map.owned, SHOAL__SLOTS);
    now_us += SHOAL__SLOT_FORMER_US + 1; /* that was long ago */
    assert_true(say(D, NOBODY, B).is_refused);
    now_us += SECOND;
    assert_false(say(C, NOBODY, B).is_refused);
    assert_int_equal(first_owner(), A); /* it may come back */
}

static void test_an_owner_is_kept_for_a_while(void **state)
{
    (void)state;
    know();
    say(C, NOBODY, B);
    assert_int_equal(say(D, NOBODY, B).changed, 0);
    now_us += SHOAL__SLOT_ORPHAN_US - 1000;
    say(C, NOBODY, B);
    assert_int_equal(say(D, NOBODY, B).changed, 0);
    now_us += 1000;
    say(C, NOBODY, B);
    assert_int_equal(say(D, NOBODY, B).changed, HALF);
    assert_int_equal(last_to, NOBODY);
    assert_int_equal(map.owned, HALF);
    assert_int_equal(say(A, A, B).changed, HALF); /* whoever owns it then */
}

/* ---- hand-overs ---- */

static void test_a_slot_that_moves_waits(void **state)
{
    (void)state;
    know();
    shoal__slot_map_set_moves(&map, 0, true);
    assert_int_equal(shoal__slot_map_word(&map, 0), A | SHOAL__SLOT_MOVES);
    assert_int_equal(first_owner(), A);
    assert_false(shoal__slot_map_patch(&map, 0, C, now_us));
    epochs[C] = 7;
    shoal__slot_merged_t merged = say(C, C, B);
    assert_int_equal(merged.held, 1);
    assert_int_equal(merged.changed, HALF - 1);
    shoal__slot_map_set_moves(&map, 0, false);
    assert_int_equal(say(C, C, B).changed, 1);
}

static void test_a_slot_takes_a_lane(void **state)
{
    (void)state;
    know();
    assert_true(shoal__slot_map_is_at(&map, 0, A));
    shoal__slot_map_set_lane(&map, 0, true);
    assert_int_equal(shoal__slot_map_word(&map, 0), A | SHOAL__SLOT_LANE);
    assert_int_equal(first_owner(), A);
    assert_true(shoal__slot_map_is_at(&map, 0, A));
    assert_false(shoal__slot_map_is_at(&map, 0, C));
    shoal__slot_map_set_moves(&map, 0, true); /* it goes back */
    assert_int_equal(shoal__slot_map_word(&map, 0), A | SHOAL__SLOT_MOVES);
    assert_false(shoal__slot_map_is_at(&map, 0, A));
    shoal__slot_map_set_moves(&map, 0, false);
    assert_int_equal(shoal__slot_map_word(&map, 0), A);
    shoal__slot_map_set_lane(&map, 0, true);
    shoal__slot_map_set_lane(&map, 0, false);
    assert_int_equal(shoal__slot_map_word(&map, 0), A);
    shoal__slot_map_set_lane(&map, 0, true);
    assert_true(shoal__slot_map_patch(&map, 0, C, now_us)); /* another owner: no lane */
    assert_int_equal(shoal__slot_map_word(&map, 0), C);
    assert_int_equal(map.owned, SHOAL__SLOTS);
    shoal__slot_map_set_lane(&map, HALF - 1, true);
    epochs[C] = 7;
    assert_int_equal(say(C, C, B).changed, HALF - 1);
    assert_int_equal(last_slot, HALF - 1);
    assert_int_equal(last_from, A | SHOAL__SLOT_LANE);
    assert_int_equal(shoal__slot_map_word(&map, HALF - 1), C);
}

/* Milliseconds of 32 bits: they begin anew after 49 days. */
static void test_a_long_time(void **state)
{
    (void)state;
    know();
    now_us = (uint64_t)UINT32_MAX * 1000;
    assert_true(shoal__slot_map_patch(&map, 0, C, now_us));
    now_us += 3 * SECOND;
    say(A, A, B);
    now_us += 3 * SECOND;
    assert_int_equal(say(A, A, B).doubtful, 1);
    now_us += SHOAL__SLOT_PATCHED_US;
    assert_int_equal(say(A, A, B).changed, 1);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_first_view_is_the_map),
        TEST(test_a_higher_epoch_is_believed_at_once),
        TEST(test_without_an_epoch_two_nodes_must_agree),
        TEST(test_two_nodes_of_a_lower_epoch_need_time),
        TEST(test_epochs_of_another_cluster_begin_anew),
        TEST(test_or_one_node_twice),
        TEST(test_what_was_said_long_ago_confirms_nothing),
        TEST(test_a_redirect_counts_at_once),
        TEST(test_what_was_said_before_a_redirect_is_no_doubt_of_it),
        TEST(test_a_redirect_is_not_for_ever),
        TEST(test_a_slot_rests_behind_a_redirect),
        TEST(test_a_smaller_view_needs_a_second),
        TEST(test_an_owner_is_kept_for_a_while),
        TEST(test_a_slot_that_moves_waits),
        TEST(test_a_slot_takes_a_lane),
        TEST(test_a_long_time),
    };
    return cmocka_run_group_tests_name("core/cluster/slot_map", tests, NULL, NULL);
}
