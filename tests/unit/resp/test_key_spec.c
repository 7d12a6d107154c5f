/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp/key_spec.h"

#include "resp/command_table.inc"

/* What commands do with it: test_command_keys.c. */
static void test_of_every_command_it_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const shoal__command_info_t *info = &command_rows[i];
        bool is_keyed = info->flags & SHOAL__COMMAND_MOVABLEKEYS || info->first_key > 0;
        shoal__key_spec_t spec;

        /* FLUSHALL and the like write everywhere. */
        if (shoal__key_spec_find(info, 9, &spec) == SHOAL__KEYS_ANY &&
            (is_keyed || !(info->flags & SHOAL__COMMAND_WRITE)))
            fail_msg("%s: unknown", info->name);
        if (is_keyed && spec.first == 0 && spec.count_at == 0 && !spec.options)
            fail_msg("%s: nowhere", info->name);
    }
}

static void test_of_other_commands_nothing_is_known(void **state)
{
    shoal__key_spec_t spec;

    (void)state;
    assert_int_equal(shoal__key_spec_find(NULL, 3, &spec), SHOAL__KEYS_ANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_every_command_it_is_known),
        cmocka_unit_test(test_of_other_commands_nothing_is_known),
    };
    return cmocka_run_group_tests_name("resp/key_spec", tests, NULL, NULL);
}
