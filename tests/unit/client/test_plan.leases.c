/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time_us.h"
#include "unit/client/plan_rig.h"
#include <shoal/errors.h>

/* ---- leases ---- */

/* clang-format off */
static const struct wait_case {
    const char *command;
    bool is_on_lease;
    uint32_t flags;
    uint64_t call_us, timeout_us;
} waits[] = {
    {"PING",        false, 0,                    0,   50},
    {"PING",        true,  0,                    0,   50},
    {"BLPOP k 1",   false, 0,                    0,   3000000},
    {"BLPOP k 0",   false, 0,                    0,   SHOAL_TIMEOUT_NEVER},
    {"BLPOP k 1",   false, 0,                    7,   7},
    {"BLPOP k 1",   false, SHOAL_CALL_MAY_BLOCK, 0,   50},
    {"BLPOP k 1",   true,  0,                    0,   3000000},
    {"BLPOP k 1",   true,  SHOAL_CALL_MAY_BLOCK, 0,   3000000},
    {"BLPOP k 1",   true,  0,                    7,   7},
    {"XREAD STREAMS s 0", false, 0,              0,   50},
};
/* clang-format on */

static void test_how_long_a_command_may_take(void **state)
{
    int lease;

    (void)state;
    for (size_t i = 0; i < COUNT(waits); i++) {
        const struct wait_case *c = &waits[i];
        line_t line;
        shoal__request_t request;
        shoal__plan_t plan;

        parse(&line, c->command);
        const shoal__submission_t submission = {
            .commands = line.commands,
            .count = 1,
            .call = {.flags = c->flags,
                     .timeout_us = c->call_us,
                     .lease = c->is_on_lease ? (shoal_lease_t *)(void *)&lease : NULL}};
        assert_int_equal(
            shoal__plan_timeout_us(line.commands, &submission.call, &roomy),
            c->timeout_us);
        assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), 0);
        shoal__plan_request(&plan, 0, NOW_US, &request);
        if (request.deadline_us != shoal__time_after(NOW_US, c->timeout_us))
            fail_msg("row %zu: %llu", i, (unsigned long long)request.deadline_us);
        shoal__extra_drop(plan.extra);
    }
}

static void test_requests_of_a_lease(void **state)
{
    int lease;
    line_t line;
    shoal__request_t request;
    shoal__plan_t plan;
    static const shoal__lease_effect_t effects[] = {
        SHOAL__LEASE_SELECT, SHOAL__LEASE_MULTI, SHOAL__LEASE_NONE, SHOAL__LEASE_EXEC};

    (void)state;
    parse(&line, "SELECT 1 ; MULTI ; GET k ; EXEC");
    shoal__submission_t submission = {
        .commands = line.commands,
        .count = line.count,
        .call = {.flags = TOGETHER, .lease = (shoal_lease_t *)(void *)&lease}};
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), 0);
    assert_true(shoal__plan_is_leased(&plan));
    assert_int_equal(plan.leases, 0);
    assert_false(plan.is_unit); /* the submission does not begin with MULTI */
    for (size_t i = 0; i < line.count; i++) {
        shoal__plan_request(&plan, i, NOW_US, &request);
        assert_int_equal(request.flags, SHOAL__REQUEST_LEASED | SHOAL__REQUEST_ONCE |
                                            (effects[i] ? SHOAL__REQUEST_STATE : 0));
        assert_int_equal(request.shape, effects[i]);
        assert_ptr_equal(SHOAL__REQUEST_LEASE(&request), &lease);
        shoal__extra_drop(plan.extra);
    }

    parse(&line, "MULTI ; GET k ; EXEC");
    submission.count = line.count;
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), 0);
    assert_true(plan.is_unit);
    shoal__plan_request(&plan, 2, NOW_US, &request);
    assert_int_equal(request.shape, SHOAL__LEASE_EXEC);
    assert_int_equal(request.flags, SHOAL__REQUEST_LEASED | SHOAL__REQUEST_ONCE |
                                        SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_LAST);
    for (size_t i = 0; i < line.count; i++)
        shoal__extra_drop(plan.extra);

    /* Between MULTI and EXEC nothing blocks: a unit has one deadline. */
    parse(&line, "MULTI ; BLPOP k 0 ; EXEC");
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), 0);
    for (size_t i = 0; i < line.count; i++) {
        shoal__plan_request(&plan, i, NOW_US, &request);
        assert_int_equal(request.deadline_us, NOW_US + roomy.timeout_us);
        shoal__extra_drop(plan.extra);
    }

    parse(&line, "GET k ; QUIT");
    submission.count = line.count;
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan),
                     SHOAL_EREFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_how_long_a_command_may_take),
        cmocka_unit_test(test_requests_of_a_lease),
    };
    return cmocka_run_group_tests_name("client/plan.leases", tests, NULL, NULL);
}
