/* SPDX-License-Identifier: MIT */
#include "core/cluster/topology_rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND_US UINT64_C(1000000)
#define START_US (100 * SECOND_US)

static shoal__random_t random_numbers;

static void answer(shoal__topology_rule_t *rule, uint64_t now_us, bool is_news)
{
    assert_true(shoal__topology_is_due(rule, now_us));
    shoal__topology_begin(rule, 3, now_us, &random_numbers);
    assert_false(shoal__topology_is_due(rule, now_us + 100 * SECOND_US));
    shoal__topology_end(rule, is_news);
}

static void want(shoal__topology_rule_t *rule, shoal__topology_wish_t wish,
                 unsigned nodes, uint64_t now_us)
{
    shoal__topology_want(rule, wish, nodes, now_us, &random_numbers);
}

static void the_first_question_is_due_at_once(void **state)
{
    shoal__topology_rule_t rule = {0};
    (void)state;

    assert_true(shoal__topology_is_due(&rule, START_US));
    assert_int_equal(shoal__topology_next_us(&rule), 0);
}

static void at_rest_it_asks_each_minute(void **state)
{
    uint64_t least_us = UINT64_MAX, most_us = 0;
    (void)state;

    for (int i = 0; i < 200; i++) {
        shoal__topology_rule_t rule = {0};
        answer(&rule, START_US, true);
        uint64_t wait_us = shoal__topology_next_us(&rule) - START_US;
        least_us = wait_us < least_us ? wait_us : least_us;
        most_us = wait_us > most_us ? wait_us : most_us;
    }
    assert_in_range(least_us, 54 * SECOND_US, 55 * SECOND_US);
    assert_in_range(most_us, 65 * SECOND_US, 66 * SECOND_US);
}

/* 300 times each 100 ms, then 200, 400, 800, 1600, 2000, 2000 ms behind the one before. */
static void an_urgent_question_is_repeated(void **state)
{
    static const uint64_t gaps_ms[] = {200, 400, 800, 1600, 2000, 2000, 2000};
    shoal__topology_rule_t rule = {0};
    uint64_t now_us = START_US;
    (void)state;

    answer(&rule, now_us, false);
    for (size_t i = 0; i < 300 + sizeof gaps_ms / sizeof *gaps_ms - 1; i++) {
        uint64_t gap_ms = i < 300 ? 100 : gaps_ms[i - 300];
        want(&rule, SHOAL__TOPOLOGY_URGENT, 3, now_us);
        assert_int_equal(shoal__topology_next_us(&rule), now_us + gap_ms * 1000);
        assert_false(shoal__topology_is_due(&rule, now_us + gap_ms * 1000 - 1));
        now_us += gap_ms * 1000;
        answer(&rule, now_us, false);
    }
    /* News: it begins anew. */
    want(&rule, SHOAL__TOPOLOGY_URGENT, 3, now_us);
    answer(&rule, now_us + 2 * SECOND_US, true);
    now_us += 2 * SECOND_US;
    want(&rule, SHOAL__TOPOLOGY_URGENT, 3, now_us);
    assert_int_equal(shoal__topology_next_us(&rule), now_us + 100000);
}

/* Long after the last one an urgent question does not wait. */
static void an_urgent_question_is_asked_at_once(void **state)
{
    shoal__topology_rule_t rule = {0};
    (void)state;

    answer(&rule, START_US, true);
    want(&rule, SHOAL__TOPOLOGY_URGENT, 1000, START_US + 10 * SECOND_US);
    assert_true(shoal__topology_is_due(&rule, START_US + 10 * SECOND_US));
}

static void soon_is_spread_over_time(void **state)
{
    static const struct {
        unsigned nodes;
        uint64_t most_us;
    } cases[] = {{3, 200000}, {50, 500000}, {500, 5000000}, {1000, 5000000}};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t most_us = 0;
        for (int trial = 0; trial < 200; trial++) {
            shoal__topology_rule_t rule = {0};
            uint64_t now_us = START_US + 20 * SECOND_US;
            answer(&rule, START_US, true);
            want(&rule, SHOAL__TOPOLOGY_SOON, cases[i].nodes, now_us);
            uint64_t wait_us = shoal__topology_next_us(&rule) - now_us;
            most_us = wait_us > most_us ? wait_us : most_us;
        }
        assert_in_range(most_us, cases[i].most_us * 9 / 10, cases[i].most_us);
    }
}

/* A sooner wish is kept; and what brought nothing is not asked again within a second. */
static void soon_does_not_put_anything_off(void **state)
{
    shoal__topology_rule_t rule = {0};
    (void)state;

    answer(&rule, START_US, false);
    want(&rule, SHOAL__TOPOLOGY_SOON, 3, START_US);
    assert_in_range(shoal__topology_next_us(&rule), START_US + SECOND_US,
                    START_US + SECOND_US + 200000);
    want(&rule, SHOAL__TOPOLOGY_URGENT, 3, START_US);
    assert_int_equal(shoal__topology_next_us(&rule), START_US + 100000);
    want(&rule, SHOAL__TOPOLOGY_SOON, 3, START_US);
    assert_int_equal(shoal__topology_next_us(&rule), START_US + 100000);
}

static void a_wish_during_a_question_waits_for_its_end(void **state)
{
    shoal__topology_rule_t rule = {0};
    (void)state;

    shoal__topology_begin(&rule, 3, START_US, &random_numbers);
    want(&rule, SHOAL__TOPOLOGY_URGENT, 3, START_US + 1);
    assert_false(shoal__topology_is_due(&rule, START_US + SECOND_US));
    shoal__topology_end(&rule, true);
    assert_true(shoal__topology_is_due(&rule, START_US + SECOND_US));
}

static void a_node_that_does_not_answer_is_given_up(void **state)
{
    shoal__topology_rule_t rule = {0};
    (void)state;

    shoal__topology_begin(&rule, 3, START_US, &random_numbers);
    assert_int_equal(shoal__topology_next_us(&rule), START_US + 300000);
    assert_false(shoal__topology_is_late(&rule, START_US + 299999));
    assert_true(shoal__topology_is_late(&rule, START_US + 300000));
    shoal__topology_wait_on(&rule, START_US + 300000); /* there is no other one */
    assert_false(shoal__topology_is_late(&rule, START_US + 399999));
    assert_int_equal(shoal__topology_next_us(&rule), START_US + 400000);
    shoal__topology_end(&rule, false);
    assert_false(shoal__topology_is_late(&rule, START_US + SECOND_US));
}

static void a_view_of_another_cluster_is_believed_in_the_end(void **state)
{
    (void)state;

    assert_true(shoal__topology_believes(true, START_US, START_US));
    assert_false(shoal__topology_believes(false, 0, START_US));
    assert_false(shoal__topology_believes(false, START_US, START_US));
    assert_false(
        shoal__topology_believes(false, START_US, START_US + 30 * SECOND_US - 1));
    assert_true(shoal__topology_believes(false, START_US, START_US + 30 * SECOND_US));
}

/* ---- nodes that a view lacks ---- */

static void note_lack(shoal__topology_rule_t *rule, bool lacks_nodes, uint64_t now_us)
{
    shoal__topology_note_lack(rule, lacks_nodes, 3, now_us, &random_numbers);
}

/* It asks soon, less and less often, and then each minute as before. */
static void a_view_that_lacks_nodes_is_asked_for_again(void **state)
{
    static const uint64_t at_s[] = {1, 3, 7, 15, 31};
    shoal__topology_rule_t rule = {0};
    (void)state;

    answer(&rule, START_US, true);
    note_lack(&rule, true, START_US);
    for (size_t i = 0; i < sizeof at_s / sizeof *at_s; i++) {
        uint64_t due_us = START_US + at_s[i] * SECOND_US;
        assert_in_range(shoal__topology_next_us(&rule), due_us, due_us + 200000);
        answer(&rule, due_us + 200000, false);
        note_lack(&rule, true, due_us + 200000);
    }
    for (uint64_t i = 2; i < 10; i++) {
        uint64_t now_us = START_US + i * 70 * SECOND_US;
        answer(&rule, now_us, false);
        note_lack(&rule, true, now_us);
        assert_true(shoal__topology_next_us(&rule) >= now_us + 54 * SECOND_US);
    }
}

/* A question that a lost connection ends, or a view that is refused, ends nothing. */
static void a_question_in_vain_is_followed_by_the_next(void **state)
{
    shoal__topology_rule_t rule = {0};
    (void)state;

    answer(&rule, START_US, true);
    note_lack(&rule, true, START_US);
    answer(&rule, START_US + SECOND_US + 200000, false);
    assert_in_range(shoal__topology_next_us(&rule), START_US + 3 * SECOND_US,
                    START_US + 3 * SECOND_US + 200000);
    shoal__topology_put_off(&rule, START_US + 4 * SECOND_US);
    assert_false(shoal__topology_is_due(&rule, START_US + 4 * SECOND_US));
    assert_true(shoal__topology_is_due(&rule, START_US + 4 * SECOND_US + 100000));
}

/* What is asked for another reason uses none of the questions up; and a view that has all nodes
 * ends this, until one lacks some again. */
static void the_time_counts_since_nodes_are_lacking(void **state)
{
    shoal__topology_rule_t rule = {0};
    uint64_t now_us = START_US;
    (void)state;

    answer(&rule, now_us, true);
    note_lack(&rule, true, now_us);
    for (int i = 0; i < 20; i++, now_us += 100000) {
        want(&rule, SHOAL__TOPOLOGY_URGENT, 3, now_us);
        answer(&rule, now_us + 100000, false);
        note_lack(&rule, true, now_us + 100000);
    }
    assert_in_range(shoal__topology_next_us(&rule), START_US + 3 * SECOND_US,
                    START_US + 3 * SECOND_US + 200000);
    now_us = START_US + 4 * SECOND_US;
    answer(&rule, now_us, false);
    note_lack(&rule, false, now_us);
    assert_true(shoal__topology_next_us(&rule) >= now_us + 54 * SECOND_US);
    now_us += 70 * SECOND_US;
    answer(&rule, now_us, false);
    note_lack(&rule, true, now_us);
    assert_in_range(shoal__topology_next_us(&rule), now_us + SECOND_US,
                    now_us + SECOND_US + 200000);
}

/* A thousand redirects are one reason to ask, at one time. */
static void many_wishes_are_as_late_as_one(void **state)
{
    uint64_t sum_us = 0;
    (void)state;

    for (int trial = 0; trial < 100; trial++) {
        shoal__topology_rule_t rule = {0};
        uint64_t now_us = START_US + 20 * SECOND_US;
        answer(&rule, START_US, true);
        for (int i = 0; i < 1000; i++)
            want(&rule, SHOAL__TOPOLOGY_SOON, 1000, now_us);
        sum_us += shoal__topology_next_us(&rule) - now_us;
    }
    assert_in_range(sum_us / 100, 2 * SECOND_US, 3 * SECOND_US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_question_is_due_at_once),
        cmocka_unit_test(at_rest_it_asks_each_minute),
        cmocka_unit_test(an_urgent_question_is_repeated),
        cmocka_unit_test(an_urgent_question_is_asked_at_once),
        cmocka_unit_test(soon_is_spread_over_time),
        cmocka_unit_test(soon_does_not_put_anything_off),
        cmocka_unit_test(a_wish_during_a_question_waits_for_its_end),
        cmocka_unit_test(a_node_that_does_not_answer_is_given_up),
        cmocka_unit_test(a_view_of_another_cluster_is_believed_in_the_end),
        cmocka_unit_test(a_view_that_lacks_nodes_is_asked_for_again),
        cmocka_unit_test(a_question_in_vain_is_followed_by_the_next),
        cmocka_unit_test(the_time_counts_since_nodes_are_lacking),
        cmocka_unit_test(many_wishes_are_as_late_as_one),
    };

    shoal__random_init(&random_numbers, 7);
    return cmocka_run_group_tests_name("topology_rule", tests, NULL, NULL);
}
