/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "core/flush/flush_census.h"

#define CYCLES SHOAL__CENSUS_CYCLES

/* A letter and a number.  N: that many commands are outstanding.  C: that many
 * complete, and L are left.  R: the census resumes after that many milliseconds. */
typedef struct step {
    char what; /* 0: end of the steps */
    uint64_t commands;
} step_t;

/* clang-format off */
static const struct census_case {
    const char *name;
    step_t steps[10];
    uint64_t callers;
} census_cases[] = {
    {"nobody has come yet",         {{0, 0}},                                     0},
    {"nothing outstanding is none", {{'N', 0}},                                   0},
    {"one",                         {{'N', 1}},                                   1},
    {"two at once",                 {{'N', 1}, {'N', 2}},                         2},
    {"two in turn are one",         {{'N', 1}, {'C', 1}, {'N', 1}},               1},
    {"fewer do not count down",     {{'N', 9}, {'C', 8}, {'N', 1}},               9},
    {"the peak of a cycle counts",  {{'N', 3}, {'N', 8}, {'C', 6}, {'N', 2}},     8},
    {"no completion is no cycle",   {{'N', 5}, {'C', 0}, {'N', 5}},               5},
    {"a short pause forgets none",  {{'N', 7}, {'C', 7}, {'R', 1}, {'N', 2}},     7},
    {"silence forgets all of them", {{'N', 7}, {'C', 7}, {'R', 10}, {'N', 2}},    2},
    {"a second of it, too",         {{'N', 7}, {'C', 7}, {'R', 1000}, {'N', 1}},  1},
    {"and those of a cycle",        {{'N', 7}, {'C', 3}, {'R', 10}},              0},
};
/* clang-format on */

static uint64_t take(const struct census_case *c, uint64_t now_us)
{
    shoal__flush_census_t census;
    uint64_t outstanding = 0;

    shoal__flush_census_init(&census);
    for (const step_t *step = c->steps; step->what; step++) {
        switch (step->what) {
        case 'N':
            outstanding = step->commands;
            shoal__flush_census_note(&census, outstanding, now_us);
            break;
        case 'C':
            outstanding -= step->commands;
            shoal__flush_census_completed(&census, step->commands, outstanding);
            break;
        case 'R':
            now_us += step->commands * 1000;
            shoal__flush_census_resume(&census, now_us);
            break;
        }
    }
    return shoal__flush_census_callers(&census);
}

static void test_callers_are_counted(void **state)
{
    (void)state;
    const uint64_t starts_us[] = {1, 5000, UINT64_C(1) << 63};

    for (size_t i = 0; i < sizeof census_cases / sizeof *census_cases; i++)
        for (size_t k = 0; k < sizeof starts_us / sizeof *starts_us; k++) {
            uint64_t callers = take(&census_cases[i], starts_us[k]);
            if (callers != census_cases[i].callers)
                fail_msg("%s: %d callers", census_cases[i].name, (int)callers);
        }
}

/* The callers of a closed loop make `cycles` round trips. */
static uint64_t live(shoal__flush_census_t *census, uint64_t callers, unsigned cycles,
                     uint64_t now_us)
{
    for (unsigned i = 0; i < cycles; i++) {
        now_us += 50;
        shoal__flush_census_note(census, callers, now_us);
        shoal__flush_census_completed(census, callers, callers);
    }
    return now_us;
}

static void test_callers_that_left_are_forgotten_after_the_cycles(void **state)
{
    (void)state;
    const uint64_t stay[] = {1, 2, 16, 1023};

    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) {
        shoal__flush_census_t census;

        shoal__flush_census_init(&census);
        uint64_t now_us = live(&census, 1024, 1, 1000);
        shoal__flush_census_completed(&census, 1024 - stay[i], stay[i]);
        now_us = live(&census, stay[i], CYCLES - 1, now_us);
        assert_int_equal(shoal__flush_census_callers(&census), 1024);
        live(&census, stay[i], 2, now_us);
        assert_int_equal(shoal__flush_census_callers(&census), stay[i]);
    }
}

static void test_new_callers_count_at_once(void **state)
{
    (void)state;
    shoal__flush_census_t census;

    shoal__flush_census_init(&census);
    uint64_t now_us = live(&census, 1, 100, 1000);
    assert_int_equal(shoal__flush_census_callers(&census), 1);
    shoal__flush_census_note(&census, 1024, now_us);
    assert_int_equal(shoal__flush_census_callers(&census), 1024);
}

static void test_silence_is_told(void **state)
{
    (void)state;
    shoal__flush_census_t census;

    shoal__flush_census_init(&census);
    uint64_t now_us = live(&census, 64, 3, UINT64_C(1) << 63);
    assert_false(
        shoal__flush_census_resume(&census, now_us)); /* the clock stood still */
    assert_false(shoal__flush_census_resume(&census, now_us - 9)); /* it went back */
    assert_false(shoal__flush_census_resume(&census, now_us + 1000));
    assert_int_equal(shoal__flush_census_callers(&census), 64);
    assert_true(shoal__flush_census_resume(&census, now_us + 10000));
    assert_int_equal(shoal__flush_census_callers(&census), 0);
}

/* The census, built with serial numbers instead: a cycle ends when the youngest command
 * that was outstanding at its start has completed. */
typedef struct model {
    uint64_t submitted, completed;
    uint64_t cycle_until; /* completions that end the cycle; 0: none has begun */
    uint64_t peaks[4096];
    unsigned cycles; /* how many are over; peaks[cycles] is of the present one */
} model_t;

static uint64_t model_callers(const model_t *model)
{
    uint64_t most = 0;
    unsigned first = model->cycles > CYCLES ? model->cycles - CYCLES : 0;

    for (unsigned i = first; i <= model->cycles; i++)
        if (model->peaks[i] > most)
            most = model->peaks[i];
    return most;
}

static void model_note(model_t *model)
{
    uint64_t outstanding = model->submitted - model->completed;

    if (outstanding > model->peaks[model->cycles])
        model->peaks[model->cycles] = outstanding;
    if (model->cycle_until == 0)
        model->cycle_until = model->submitted;
}

static void model_completed(model_t *model, uint64_t commands)
{
    model->completed += commands;
    if (model->completed < model->cycle_until)
        return;
    model->cycles++;
    model->cycle_until = 0;
    if (model->submitted > model->completed)
        model_note(model);
}

static void test_any_history_agrees_with_serial_numbers(void **state)
{
    (void)state;
    static model_t model;
    shoal__flush_census_t census;
    shoal__random_t random;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        memset(&model, 0, sizeof model);
        shoal__flush_census_init(&census);
        shoal__random_init(&random, seed);
        for (uint64_t i = 0; i < 4000; i++) {
            uint64_t outstanding = (model.submitted - model.completed);
            if (outstanding > 0 && shoal__random_below(&random, 2)) {
                uint64_t done = 1 + shoal__random_below(&random, outstanding);
                model_completed(&model, done);
                shoal__flush_census_completed(&census, done, outstanding - done);
            } else {
                outstanding += 1 + shoal__random_below(&random, 1 + seed * 9);
                model.submitted = model.completed + outstanding;
                model_note(&model);
                shoal__flush_census_note(&census, outstanding, i);
                assert_true(shoal__flush_census_callers(&census) >= outstanding);
            }
            assert_int_equal(shoal__flush_census_callers(&census),
                             model_callers(&model));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callers_are_counted),
        cmocka_unit_test(test_callers_that_left_are_forgotten_after_the_cycles),
        cmocka_unit_test(test_new_callers_count_at_once),
        cmocka_unit_test(test_silence_is_told),
        cmocka_unit_test(test_any_history_agrees_with_serial_numbers),
    };
    return cmocka_run_group_tests_name("core/flush/flush_census", tests, NULL, NULL);
}
