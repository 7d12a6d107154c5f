/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/blame.h"

#define QUEUED SHOAL__PROGRESS_QUEUED
#define PARTLY SHOAL__PROGRESS_PARTLY
#define WRITTEN SHOAL__PROGRESS_WRITTEN
#define REPLYING SHOAL__PROGRESS_REPLYING

enum { UNIT = 1, REFUSED = 2, OLDEST = 4, CUT = 8, ALONE = 16, LOST = 32, ALL = 63 };

static shoal__blame_t blame(shoal__progress_t progress, unsigned facts)
{
    const shoal__blame_input_t input = {.progress = progress,
                                        .is_unit = (facts & UNIT) != 0,
                                        .is_refused = (facts & REFUSED) != 0,
                                        .is_oldest = (facts & OLDEST) != 0,
                                        .was_cut = (facts & CUT) != 0,
                                        .was_alone = (facts & ALONE) != 0,
                                        .was_lost = (facts & LOST) != 0};
    return shoal__blame(&input);
}

/* clang-format off */
static const struct blame_case {
    shoal__progress_t progress;
    unsigned facts;
    bool is_guilty, is_cut, travels_alone;
    const char *words; /* found in them; NULL: none */
} cases[] = {
    /* what never left has nothing to do with it */
    {QUEUED,   0,                    false, false, false, NULL},
    {QUEUED,   CUT | ALONE | LOST,   false, false, false, NULL},
    /* the first cut is a suspicion, the second one is enough */
    {PARTLY,   0,                    false, true,  true,  NULL},
    {PARTLY,   LOST | ALONE,         false, true,  true,  NULL},
    {PARTLY,   CUT,                  true,  true,  true,  "within the bytes"},
    {REPLYING, OLDEST,               false, true,  true,  NULL},
    {REPLYING, OLDEST | LOST | ALONE, false, true, true,  NULL},
    {REPLYING, OLDEST | CUT,         true,  true,  true,  "within the reply"},
    /* what was refused would be so again */
    {PARTLY,   REFUSED,              true,  true,  true,  "this command ended"},
    {REPLYING, REFUSED | OLDEST,     true,  true,  true,  "the reply to this command ended"},
    /* without a byte of the reply nothing is proved: only its company changes */
    {WRITTEN,  0,                    false, false, false, NULL},
    {WRITTEN,  OLDEST,               false, false, true,  NULL},
    {WRITTEN,  LOST,                 false, false, true,  NULL},
    {WRITTEN,  CUT | LOST,           false, false, true,  NULL},
    {WRITTEN,  OLDEST | LOST | ALONE, false, false, true, "may be the cause"},
    /* parts of a unit leave together */
    {PARTLY,   UNIT,                 false, true,  false, NULL},
    {PARTLY,   UNIT | CUT,           true,  true,  false, "within the bytes"},
    {WRITTEN,  UNIT | OLDEST | LOST, false, false, false, NULL},
};
/* clang-format on */

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct blame_case *c = &cases[i];
        shoal__blame_t blamed = blame(c->progress, c->facts);
        bool has_words = c->words ? blamed.words && strstr(blamed.words, c->words)
                                  : blamed.words == NULL;

        if (blamed.is_guilty != c->is_guilty || blamed.is_cut != c->is_cut ||
            blamed.travels_alone != c->travels_alone || !has_words)
            fail_msg("case %zu: guilty %d, cut %d, alone %d, %s", i, blamed.is_guilty,
                     blamed.is_cut, blamed.travels_alone,
                     blamed.words ? blamed.words : "no words");
    }
}

/* The promise of the header: a cut is remembered, and the next one is the last. */
static void test_no_command_is_cut_three_times(void **state)
{
    (void)state;
    for (unsigned facts = 0; facts <= ALL; facts++) {
        for (int progress = PARTLY; progress <= REPLYING; progress++) {
            shoal__blame_t first = blame((shoal__progress_t)progress, facts);

            if (progress == WRITTEN)
                continue;
            assert_true(first.is_cut);
            assert_true(first.is_guilty ||
                        blame((shoal__progress_t)progress, facts | CUT).is_guilty);
            assert_true(!first.is_guilty || first.words);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_no_command_is_cut_three_times),
    };
    return cmocka_run_group_tests_name("core/blame", tests, NULL, NULL);
}
