/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/plan.h"
#include <stdlib.h>

static const shoal_options_t roomy = {
    .bytes_max = UINT64_MAX, .queued_max = SIZE_MAX, .timeout_us = 50};

#define LARGE_BYTES SHOAL_REFERENCE_BYTES_MIN

static void on_release(void *data)
{
    *(unsigned *)data += 1;
}

/* Which arguments stay where they are: large ones, of a caller that waits for them. */
static void test_what_is_not_copied(void **state)
{
    static char value[LARGE_BYTES];
    static const struct large_case {
        const char *name;
        size_t bytes;
        bool is_lent, has_release, has_extra, refers;
    } cases[] = {
        {"a byte too few", LARGE_BYTES - 1, true, false, false, false},
        {"of a blocking call", LARGE_BYTES, true, false, true, true},
        {"nobody waits", LARGE_BYTES, false, false, false, false},
        {"with a release", LARGE_BYTES, false, true, true, true},
        {"a release for nothing", 1, false, true, true, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct large_case *c = &cases[i];
        const char *const set[] = {"SET", "k", value}, *const get[] = {"GET", "k"};
        const size_t set_bytes[] = {3, 1, c->bytes};
        const shoal_command_t commands[] = {
            {2, get, NULL}, {3, set, set_bytes}, {2, get, NULL}};
        unsigned released = 0;
        const shoal__submission_t submission = {.commands = commands,
                                                .count = 3,
                                                .first_tag = 70,
                                                .is_lent = c->is_lent,
                                                .call.on_release =
                                                    c->has_release ? on_release : NULL,
                                                .call.release_data = &released};
        size_t large_bytes = c->bytes < LARGE_BYTES ? 0 : c->bytes;
        shoal__request_t requests[3];
        shoal__plan_t plan;
        char *memory, *at;

        assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), 0);
        if (!plan.extra == c->has_extra || plan.large_bytes != large_bytes ||
            plan.referred_bytes != (c->refers ? large_bytes : 0))
            fail_msg("%s", c->name);
        memory = at = malloc(plan.bytes - plan.referred_bytes);
        assert_non_null(memory);
        for (size_t j = 0; j < 3; j++) {
            shoal__plan_request(&plan, j, 1000, &requests[j]);
            at = shoal__plan_write(&plan, j, at);
            size_t referred = j == 1 ? plan.referred_bytes : 0;
            assert_int_equal(shoal__request_referred_bytes(&requests[j]), referred);
        }
        assert_ptr_equal(at, memory + plan.bytes - plan.referred_bytes);
        for (size_t j = 0; j < 3; j++) {
            assert_int_equal(released, 0);
            shoal__extra_drop(plan.extra);
        }
        assert_int_equal(released, c->has_release);
        free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_copied),
    };
    return cmocka_run_group_tests_name("client/plan.large", tests, NULL, NULL);
}
