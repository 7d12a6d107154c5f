/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/sentinel/follow_rule.h"

enum { NOTHING = SHOAL__FOLLOW_NOTHING, RENEW = SHOAL__FOLLOW_RENEW };
enum { LEAVE = SHOAL__FOLLOW_LEAVE, STAY = SHOAL__FOLLOW_STAY };

static void test_the_table(void **state)
{
    static const struct {
        shoal__follow_facts_t facts; /* elsewhere, news, waiting, renewed, following */
        int what;
    } cases[] = {
        {{false, false, false, false, false}, NOTHING},
        {{false, true, false, false, false}, NOTHING},
        {{false, false, false, true, false}, NOTHING}, /* the program asked for it */
        {{false, false, false, true, true}, NOTHING},
        /* its successor may be on the way elsewhere */
        {{false, true, false, true, false}, RENEW},
        {{false, true, false, true, true}, STAY}, /* A, B, A */
        /* it came there after they had spoken */
        {{true, false, false, false, false}, LEAVE},
        {{true, true, false, false, false}, LEAVE},
        {{true, false, false, true, false}, NOTHING}, /* it is under way */
        {{true, false, false, true, true}, NOTHING},
        {{true, true, false, true, false}, LEAVE},
        {{true, true, false, true, true}, LEAVE}, /* A, B, C */
        {{false, false, true, false, false}, NOTHING},
        {{false, true, true, false, false}, RENEW},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if ((int)shoal__follow_rule(&cases[i].facts) != cases[i].what)
            fail_msg("case %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_table)};

    return cmocka_run_group_tests_name("core/sentinel/follow_rule", tests, NULL, NULL);
}
