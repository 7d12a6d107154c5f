/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/lease_rule.h"
#include "core/result.h"
#include "resp/reply.h"
#include <shoal/errors.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define M SHOAL__LEASE_IN_MULTI
#define W SHOAL__LEASE_WATCHES
#define D SHOAL__LEASE_OTHER_DATABASE
#define C SHOAL__LEASE_CHANGED
#define U SHOAL__LEASE_UNREAD
#define ALL (M | W | D | C | U)

/* ---- outcomes ---- */

static shoal_reply_t reply_of(shoal_reply_type_t type, const char *text)
{
    shoal_reply_t reply = {.type = (uint8_t)type};

    reply.as.text.data = text;
    reply.as.text.bytes = strlen(text);
    return reply;
}

/* clang-format off */
static const struct outcome_case {
    int status;
    shoal_fate_t fate;
    bool has_reply;
    shoal_reply_type_t type;
    const char *text;
    shoal__lease_outcome_t outcome;
} outcomes[] = {
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_STATUS, "OK", SHOAL__LEASE_OK},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_STATUS, "OKAY", SHOAL__LEASE_ANSWERED},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_STATUS, "QUEUED", SHOAL__LEASE_ANSWERED},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_STRING, "OK", SHOAL__LEASE_ANSWERED},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_NIL, "", SHOAL__LEASE_ANSWERED},
    {0, SHOAL_FATE_REPLIED, false, SHOAL_REPLY_NIL, "", SHOAL__LEASE_ANSWERED},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_ERROR, "ERR no", SHOAL__LEASE_REFUSED},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_ERROR, "", SHOAL__LEASE_REFUSED},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_ERROR, "EXECABORT all", SHOAL__LEASE_ABORTED},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_ERROR, "EXECABORTED x", SHOAL__LEASE_REFUSED},
    {SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED, false, SHOAL_REPLY_NIL, "", SHOAL__LEASE_NOT_SENT},
    {SHOAL_ETIMEOUT, SHOAL_FATE_UNKNOWN, false, SHOAL_REPLY_NIL, "", SHOAL__LEASE_SILENT},
    {SHOAL_ECANCELLED, SHOAL_FATE_REPLY_LOST, false, SHOAL_REPLY_NIL, "", SHOAL__LEASE_SILENT},
};
/* clang-format on */

static void test_outcomes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(outcomes); i++) {
        const struct outcome_case *c = &outcomes[i];
        const shoal_reply_t reply = reply_of(c->type, c->text);
        const shoal_result_t result = {.status = c->status,
                                       .fate = c->fate,
                                       .reply = c->has_reply ? &reply : NULL};
        assert_int_equal(shoal__lease_outcome(&result), c->outcome);
    }
}

/* ---- bits ---- */

#define NONE SHOAL__LEASE_NONE
#define MULTI SHOAL__LEASE_MULTI
#define EXEC SHOAL__LEASE_EXEC
#define DISCARD SHOAL__LEASE_DISCARD
#define WATCH SHOAL__LEASE_WATCH
#define UNWATCH SHOAL__LEASE_UNWATCH
#define SELECT SHOAL__LEASE_SELECT
#define OTHER SHOAL__LEASE_OTHER
#define MONITOR SHOAL__LEASE_MONITOR

/* clang-format off */
static const struct bits_case {
    shoal__lease_effect_t effect;
    unsigned before;
    unsigned refused, aborted, ok, answered; /* after an outcome of this kind */
} bits[] = {
    {NONE,    0,     0,     0,     0,     0},
    {NONE,    ALL,   ALL,   ALL,   ALL,   ALL},
    {MULTI,   0,     0,     0,     M,     M},
    {MULTI,   W | D, W | D, W | D, M | W | D, M | W | D},
    {EXEC,    M | W, M | W, 0,     0,     0},   /* answered: an array, or nil */
    {EXEC,    ALL,   ALL,   D | C | U, D | C | U, D | C | U},
    {DISCARD, M | W, M | W, M | W, 0,     0},
    {DISCARD, M | D, M | D, M | D, D,     D},
    {WATCH,   0,     0,     0,     W,     W},
    {WATCH,   M,     M,     M,     M | W, M | W},
    {UNWATCH, W,     W,     W,     0,     W},   /* QUEUED does not unwatch */
    {UNWATCH, M | W, M | W, M | W, M,     M | W},
    {SELECT,  0,     0,     0,     D,     D},   /* QUEUED: the EXEC selects */
    {SELECT,  M,     M,     M,     M | D, M | D},
    {OTHER,   0,     0,     0,     C,     C},
    {MONITOR, 0,     0,     0,     C,     C},
};
/* clang-format on */

static void test_bits_change_with_outcomes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bits); i++) {
        const struct bits_case *c = &bits[i];
        const unsigned want[SHOAL__LEASE_OUTCOMES] = {
            [SHOAL__LEASE_NOT_SENT] = c->before, [SHOAL__LEASE_SILENT] = c->before | U,
            [SHOAL__LEASE_REFUSED] = c->refused, [SHOAL__LEASE_ABORTED] = c->aborted,
            [SHOAL__LEASE_OK] = c->ok,           [SHOAL__LEASE_ANSWERED] = c->answered};
        for (int outcome = 0; outcome < SHOAL__LEASE_OUTCOMES; outcome++) {
            unsigned got = shoal__lease_after(c->before, c->effect,
                                              (shoal__lease_outcome_t)outcome);
            if (got != want[outcome])
                fail_msg("row %zu, outcome %d: bits %x", i, outcome, got);
        }
    }
}

static void test_cleaning_of_every_state(void **state)
{
    (void)state;
    for (unsigned now = 0; now <= ALL; now++) {
        shoal__lease_cleaning_t cleaning = shoal__lease_cleaning(now);
        bool is_fit = !(now & (C | U));

        assert_int_equal(cleaning.is_fit, is_fit);
        assert_int_equal(cleaning.discard, is_fit && (now & M));
        assert_int_equal(cleaning.unwatch, is_fit && (now & W) && !(now & M));
        assert_int_equal(cleaning.select, is_fit && (now & D));
    }
}

/* ---- a blocked command that was to be let go ---- */

/* clang-format off */
static const struct unblocked_case {
    int status;
    shoal_fate_t fate;
    bool has_reply;
    shoal_reply_type_t type;
    const char *text;
    int want_status;
    shoal_fate_t want_fate;
    bool keeps_reply;
} unblocked[] = {
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_ARRAY, "",
     0, SHOAL_FATE_REPLIED, true},
    {0, SHOAL_FATE_REPLIED, false, SHOAL_REPLY_NIL, "", /* a sink took it */
     0, SHOAL_FATE_REPLIED, false},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_NIL, "",
     SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED, false},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_ERROR, "UNBLOCKED client unblocked",
     SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED, false},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_ERROR, "MOVED 1 127.0.0.1:7000",
     SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED, false},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_ERROR, "CLUSTERDOWN The cluster is down",
     SHOAL_ECANCELLED, SHOAL_FATE_NOT_EXECUTED, false},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_ERROR, "UNBLOCKEDX no",
     0, SHOAL_FATE_REPLIED, true},
    {0, SHOAL_FATE_REPLIED, true, SHOAL_REPLY_ERROR, "WRONGTYPE no list",
     0, SHOAL_FATE_REPLIED, true},
    {SHOAL_ETIMEOUT, SHOAL_FATE_UNKNOWN, false, SHOAL_REPLY_NIL, "",
     SHOAL_ECANCELLED, SHOAL_FATE_UNKNOWN, false},
    {SHOAL_ECONN, SHOAL_FATE_UNKNOWN, false, SHOAL_REPLY_NIL, "",
     SHOAL_ECONN, SHOAL_FATE_UNKNOWN, false},
    {SHOAL_ESHUTDOWN, SHOAL_FATE_UNKNOWN, false, SHOAL_REPLY_NIL, "",
     SHOAL_ESHUTDOWN, SHOAL_FATE_UNKNOWN, false},
};
/* clang-format on */

static void check_unblocked(size_t i, bool may_have_run)
{
    const struct unblocked_case *c = &unblocked[i];
    const shoal_reply_t reply = reply_of(c->type, c->text);
    bool is_proof = c->want_fate == SHOAL_FATE_NOT_EXECUTED;
    shoal_fate_t want_fate =
        is_proof && may_have_run ? SHOAL_FATE_UNKNOWN : c->want_fate;
    shoal_result_t result = {.status = c->status,
                             .fate = c->fate,
                             .detail = "before",
                             .reply = c->has_reply ? &reply : NULL};

    shoal__lease_unblocked(&result, SHOAL_ECANCELLED, may_have_run);
    if (result.status != c->want_status || result.fate != want_fate ||
        (result.reply != NULL) != c->keeps_reply)
        fail_msg("row %zu: status %d, fate %u", i, result.status, result.fate);
    assert_int_equal(strcmp(result.detail, "before") != 0, is_proof);
}

static void test_what_a_command_that_was_let_go_means(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(unblocked); i++) {
        check_unblocked(i, false);
        check_unblocked(i, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_bits_change_with_outcomes),
        cmocka_unit_test(test_cleaning_of_every_state),
        cmocka_unit_test(test_what_a_command_that_was_let_go_means),
    };
    return cmocka_run_group_tests_name("core/lease_rule", tests, NULL, NULL);
}
