/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <shoal/errors.h>

#include "core/settle_rule.h"

#define ENDINGS 8
#define PROGRESSES 4
#define CLASSES 4
#define FLAGS 6

#define NO SHOAL_FATE_NOT_EXECUTED
#define MAYBE SHOAL_FATE_UNKNOWN
#define LOST SHOAL_FATE_REPLY_LOST

/*
 * The oracle: for every ending and progress a short program of cells, tried from left
 * to right; the first whose condition holds is the outcome.
 */
enum condition {
    ALWAYS,
    IF_REPEATABLE,  /* read only or idempotent, attempts left, may queue, not once */
    IF_ONLINE_ONLY, /* nothing is kept while offline */
    IF_ONCE,
    IF_GHOST /* an earlier attempt may have run and may not be repeated */
};

struct cell {
    enum condition condition;
    shoal__settle_action_t action;
    int status;
    shoal_fate_t fate;
};

/* clang-format off */
#define KEEP(condition) {condition, SHOAL__SETTLE_KEEP, 0, 0}
#define RETRY(condition) {condition, SHOAL__SETTLE_RETRY, 0, 0}
#define FAIL(condition, status, fate) {condition, SHOAL__SETTLE_FAIL, SHOAL_##status, fate}
#define ZOMBIE(status, fate) {ALWAYS, SHOAL__SETTLE_ZOMBIE, SHOAL_##status, fate}

static const struct cell oracle[ENDINGS][PROGRESSES][4] = {
    [SHOAL__ENDING_TIMEOUT] = {
        [SHOAL__PROGRESS_QUEUED]   = {FAIL(ALWAYS, ETIMEOUT, NO)},
        [SHOAL__PROGRESS_PARTLY]   = {ZOMBIE(ETIMEOUT, MAYBE)},
        [SHOAL__PROGRESS_WRITTEN]  = {ZOMBIE(ETIMEOUT, MAYBE)},
        [SHOAL__PROGRESS_REPLYING] = {ZOMBIE(ETIMEOUT, LOST)},
    },
    [SHOAL__ENDING_CANCEL] = {
        [SHOAL__PROGRESS_QUEUED]   = {FAIL(ALWAYS, ECANCELLED, NO)},
        [SHOAL__PROGRESS_PARTLY]   = {ZOMBIE(ECANCELLED, MAYBE)},
        [SHOAL__PROGRESS_WRITTEN]  = {ZOMBIE(ECANCELLED, MAYBE)},
        [SHOAL__PROGRESS_REPLYING] = {ZOMBIE(ECANCELLED, LOST)},
    },
    [SHOAL__ENDING_LOST] = {
        [SHOAL__PROGRESS_QUEUED]   = {FAIL(IF_ONLINE_ONLY, ECONN, NO),
                                      FAIL(IF_GHOST, ECONN, NO), KEEP(ALWAYS)},
        [SHOAL__PROGRESS_PARTLY]   = {FAIL(IF_ONCE, ECONN, NO),
                                      FAIL(IF_ONLINE_ONLY, ECONN, NO),
                                      FAIL(IF_GHOST, ECONN, NO), KEEP(ALWAYS)},
        [SHOAL__PROGRESS_WRITTEN]  = {RETRY(IF_REPEATABLE), FAIL(ALWAYS, ECONN, MAYBE)},
        [SHOAL__PROGRESS_REPLYING] = {RETRY(IF_REPEATABLE), FAIL(ALWAYS, ECONN, LOST)},
    },
    [SHOAL__ENDING_RENEWED] = {
        [SHOAL__PROGRESS_QUEUED]   = {FAIL(IF_ONLINE_ONLY, ECONN, NO),
                                      FAIL(IF_GHOST, ECONN, NO), KEEP(ALWAYS)},
        [SHOAL__PROGRESS_PARTLY]   = {FAIL(IF_ONCE, ECONN, NO),
                                      FAIL(IF_ONLINE_ONLY, ECONN, NO),
                                      FAIL(IF_GHOST, ECONN, NO), KEEP(ALWAYS)},
        [SHOAL__PROGRESS_WRITTEN]  = {RETRY(IF_REPEATABLE), FAIL(ALWAYS, ECONN, MAYBE)},
        [SHOAL__PROGRESS_REPLYING] = {RETRY(IF_REPEATABLE), FAIL(ALWAYS, ECONN, LOST)},
    },
    [SHOAL__ENDING_AUTH] = {
        [SHOAL__PROGRESS_QUEUED]   = {FAIL(IF_ONLINE_ONLY, ECONN, NO),
                                      FAIL(IF_GHOST, ECONN, NO), FAIL(ALWAYS, EAUTH, NO)},
        [SHOAL__PROGRESS_PARTLY]   = {FAIL(IF_ONCE, ECONN, NO),
                                      FAIL(IF_ONLINE_ONLY, ECONN, NO),
                                      FAIL(IF_GHOST, ECONN, NO), FAIL(ALWAYS, EAUTH, NO)},
        [SHOAL__PROGRESS_WRITTEN]  = {RETRY(IF_REPEATABLE), FAIL(ALWAYS, ECONN, MAYBE)},
        [SHOAL__PROGRESS_REPLYING] = {RETRY(IF_REPEATABLE), FAIL(ALWAYS, ECONN, LOST)},
    },
    [SHOAL__ENDING_TLS] = {
        [SHOAL__PROGRESS_QUEUED]   = {FAIL(IF_ONLINE_ONLY, ECONN, NO),
                                      FAIL(IF_GHOST, ECONN, NO), FAIL(ALWAYS, ETLS, NO)},
        [SHOAL__PROGRESS_PARTLY]   = {FAIL(IF_ONCE, ECONN, NO),
                                      FAIL(IF_ONLINE_ONLY, ECONN, NO),
                                      FAIL(IF_GHOST, ECONN, NO), FAIL(ALWAYS, ETLS, NO)},
        [SHOAL__PROGRESS_WRITTEN]  = {RETRY(IF_REPEATABLE), FAIL(ALWAYS, ECONN, MAYBE)},
        [SHOAL__PROGRESS_REPLYING] = {RETRY(IF_REPEATABLE), FAIL(ALWAYS, ECONN, LOST)},
    },
    [SHOAL__ENDING_DESYNC] = {
        [SHOAL__PROGRESS_QUEUED]   = {FAIL(IF_ONLINE_ONLY, ECONN, NO),
                                      FAIL(IF_GHOST, ECONN, NO), KEEP(ALWAYS)},
        [SHOAL__PROGRESS_PARTLY]   = {FAIL(IF_ONCE, ECONN, NO),
                                      FAIL(IF_ONLINE_ONLY, ECONN, NO),
                                      FAIL(IF_GHOST, ECONN, NO), KEEP(ALWAYS)},
        [SHOAL__PROGRESS_WRITTEN]  = {RETRY(IF_REPEATABLE), FAIL(ALWAYS, EDESYNC, MAYBE)},
        [SHOAL__PROGRESS_REPLYING] = {RETRY(IF_REPEATABLE), FAIL(ALWAYS, EDESYNC, LOST)},
    },
    [SHOAL__ENDING_SHUTDOWN] = {
        [SHOAL__PROGRESS_QUEUED]   = {FAIL(ALWAYS, ESHUTDOWN, NO)},
        [SHOAL__PROGRESS_PARTLY]   = {FAIL(ALWAYS, ESHUTDOWN, NO)},
        [SHOAL__PROGRESS_WRITTEN]  = {FAIL(ALWAYS, ESHUTDOWN, MAYBE)},
        [SHOAL__PROGRESS_REPLYING] = {FAIL(ALWAYS, ESHUTDOWN, LOST)},
    },
};

/* Which classes may run twice: without a flag, and with IDEMPOTENT. */
static const struct class_row {
    bool alone, alone_in_unit, flagged;
} repeatable[CLASSES] = {
    [SHOAL__CLASS_WRITE]  = {false, false, true},
    [SHOAL__CLASS_RO]     = {true,  false, true},
    [SHOAL__CLASS_SCRIPT] = {false, false, true},
    [SHOAL__CLASS_BLOCK]  = {false, false, true},
};
/* clang-format on */

static bool may_run_twice(const shoal__settle_input_t *input)
{
    const struct class_row *row = &repeatable[input->command_class];

    if (input->is_once)
        return false;
    if (input->is_idempotent)
        return row->flagged;
    return input->is_unit ? row->alone_in_unit : row->alone;
}

static bool holds(enum condition condition, const shoal__settle_input_t *input)
{
    switch (condition) {
    case ALWAYS:
        return true;
    case IF_REPEATABLE:
        return may_run_twice(input) && input->may_retry && input->queue_offline;
    case IF_ONLINE_ONLY:
        return !input->queue_offline;
    case IF_ONCE:
        return input->is_once;
    case IF_GHOST:
        return input->was_written && !may_run_twice(input);
    }
    return false;
}

static shoal__settlement_t expected(const shoal__settle_input_t *input)
{
    const struct cell *cell = oracle[input->ending][input->progress];

    while (!holds(cell->condition, input))
        cell++;
    shoal__settlement_t want = {cell->action, cell->status, cell->fate};
    if (want.status != 0 && want.fate == NO && input->was_written)
        want.fate = MAYBE;
    return want;
}

static shoal__settle_input_t input_of(int ending, int progress, int class, int flags)
{
    return (shoal__settle_input_t){
        .ending = (shoal__ending_t)ending,
        .progress = (shoal__progress_t)progress,
        .command_class = (shoal__command_class_t) class,
        .is_idempotent = flags & 1,
        .is_once = flags & 2,
        .is_unit = flags & 4,
        .was_written = flags & 8,
        .may_retry = flags & 16,
        .queue_offline = flags & 32,
    };
}

typedef void check_fn(const shoal__settle_input_t *input, shoal__settlement_t got);

static void for_every_input(check_fn *check)
{
    for (int ending = 0; ending < ENDINGS; ending++)
        for (int progress = 0; progress < PROGRESSES; progress++)
            for (int class = 0; class < CLASSES; class ++)
                for (int flags = 0; flags < 1 << FLAGS; flags++) {
                    shoal__settle_input_t input =
                        input_of(ending, progress, class, flags);
                    check(&input, shoal__settle(&input));
                }
}

static void check_oracle(const shoal__settle_input_t *input, shoal__settlement_t got)
{
    shoal__settlement_t want = expected(input);
    bool is_over =
        want.action == SHOAL__SETTLE_FAIL || want.action == SHOAL__SETTLE_ZOMBIE;

    if (got.action != want.action ||
        (is_over && (got.status != want.status || got.fate != want.fate)))
        fail_msg("ending %u progress %u class %u idempotent %d once %d unit %d "
                 "was_written %d may_retry %d queue %d: action %u status %d fate %u, "
                 "want %u %d %u",
                 input->ending, input->progress, input->command_class,
                 input->is_idempotent, input->is_once, input->is_unit,
                 input->was_written, input->may_retry, input->queue_offline, got.action,
                 got.status, got.fate, want.action, want.status, want.fate);
}

static void test_every_input_against_the_oracle(void **state)
{
    (void)state;
    for_every_input(check_oracle);
}

/* I4: NOT_EXECUTED is a proof. */
static void check_proof(const shoal__settle_input_t *input, shoal__settlement_t got)
{
    bool is_delivered =
        got.action == SHOAL__SETTLE_FAIL || got.action == SHOAL__SETTLE_ZOMBIE;

    if (!is_delivered || got.fate != NO)
        return;
    assert_true(input->progress == SHOAL__PROGRESS_QUEUED ||
                input->progress == SHOAL__PROGRESS_PARTLY);
    assert_false(input->was_written);
    /* The rest of a zombie's bytes still goes out. */
    assert_int_not_equal(got.action, SHOAL__SETTLE_ZOMBIE);
}

static void test_not_executed_is_proved(void **state)
{
    (void)state;
    for_every_input(check_proof);
}

/* I3: what may have run is not sent again unless that is allowed. */
static void check_repetition(const shoal__settle_input_t *input,
                             shoal__settlement_t got)
{
    bool may_have_run = input->was_written ||
                        input->progress == SHOAL__PROGRESS_WRITTEN ||
                        input->progress == SHOAL__PROGRESS_REPLYING;

    if (got.action == SHOAL__SETTLE_RETRY) {
        assert_true(input->may_retry);
        assert_false(input->is_once);
        if (!input->is_idempotent)
            assert_int_equal(input->command_class, SHOAL__CLASS_RO);
    }
    if (got.action == SHOAL__SETTLE_RETRY || got.action == SHOAL__SETTLE_KEEP) {
        assert_true(input->queue_offline);
        assert_true(input->ending == SHOAL__ENDING_LOST ||
                    input->ending == SHOAL__ENDING_RENEWED ||
                    input->ending == SHOAL__ENDING_DESYNC ||
                    ((input->ending == SHOAL__ENDING_AUTH ||
                      input->ending == SHOAL__ENDING_TLS) &&
                     got.action == SHOAL__SETTLE_RETRY));
        if (may_have_run && !input->is_idempotent) {
            assert_int_equal(input->command_class, SHOAL__CLASS_RO);
            assert_false(input->is_unit);
        }
        if (may_have_run)
            assert_false(input->is_once);
    }
}

static void test_nothing_runs_twice_unasked(void **state)
{
    (void)state;
    for_every_input(check_repetition);
}

/* I1: a slot stays exactly if its connection lives and a byte of it was handed over. */
static void check_slot(const shoal__settle_input_t *input, shoal__settlement_t got)
{
    bool lives =
        input->ending == SHOAL__ENDING_TIMEOUT || input->ending == SHOAL__ENDING_CANCEL;
    bool has_left = input->progress != SHOAL__PROGRESS_QUEUED;

    assert_int_equal(got.action == SHOAL__SETTLE_ZOMBIE, lives && has_left);
    if (got.action == SHOAL__SETTLE_FAIL || got.action == SHOAL__SETTLE_ZOMBIE) {
        assert_true(got.status < 0);
        assert_int_not_equal(got.fate, SHOAL_FATE_REPLIED);
        assert_int_equal(got.fate == LOST, input->progress == SHOAL__PROGRESS_REPLYING);
    }
}

static void test_slots_and_statuses(void **state)
{
    (void)state;
    for_every_input(check_slot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_input_against_the_oracle),
        cmocka_unit_test(test_not_executed_is_proved),
        cmocka_unit_test(test_nothing_runs_twice_unasked),
        cmocka_unit_test(test_slots_and_statuses),
    };
    return cmocka_run_group_tests_name("core/settle_rule", tests, NULL, NULL);
}
