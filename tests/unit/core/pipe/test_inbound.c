/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pipe/inbound.h"

#define GREETING SHOAL__INBOUND_GREETING
#define REPLY SHOAL__INBOUND_REPLY
#define PUSH SHOAL__INBOUND_PUSH
#define VIOLATION SHOAL__INBOUND_VIOLATION

/* Every case there is. */
/* clang-format off */
static const struct inbound_case {
    bool is_push, is_greeting, is_resp3, is_answer_due;
    shoal__inbound_verdict_t verdict;
} cases[] = {
    /* push  greeting resp3  due */
    {false, false, false, false, VIOLATION},
    {false, false, false, true,  REPLY},
    {false, false, true,  false, VIOLATION},
    {false, false, true,  true,  REPLY},
    {false, true,  false, false, VIOLATION},
    {false, true,  false, true,  GREETING},
    {false, true,  true,  false, VIOLATION},
    {false, true,  true,  true,  GREETING},
    {true,  false, false, false, VIOLATION}, /* RESP2 knows no pushes */
    {true,  false, false, true,  VIOLATION},
    {true,  false, true,  false, PUSH},
    {true,  false, true,  true,  PUSH},      /* and takes no slot */
    {true,  true,  false, false, PUSH},      /* HELLO may just have switched */
    {true,  true,  false, true,  PUSH},
    {true,  true,  true,  false, PUSH},
    {true,  true,  true,  true,  PUSH},
};
/* clang-format on */

static void test_every_frame(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct inbound_case *c = &cases[i];
        shoal__inbound_frame_t frame = {.is_push = c->is_push,
                                        .is_greeting = c->is_greeting,
                                        .is_resp3 = c->is_resp3,
                                        .is_answer_due = c->is_answer_due};
        if (shoal__inbound(&frame) != c->verdict)
            fail_msg("case %zu: %d, not %d", i, (int)shoal__inbound(&frame),
                     (int)c->verdict);

        /* A line of MONITOR: only where nothing was due, and after the greeting. */
        bool is_asked = c->is_push || c->is_greeting || c->is_answer_due;
        frame.is_line = true;
        assert_int_equal(shoal__inbound(&frame), is_asked ? c->verdict : PUSH);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_frame)};
    return cmocka_run_group_tests_name("core/pipe/inbound", tests, NULL, NULL);
}
