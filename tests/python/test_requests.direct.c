/* SPDX-License-Identifier: MIT */
/* Commands that are put one argument at a time, without a stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "requests.h"
#include "scarce_memory.h"
#include <shoal/errors.h>
#include <stdio.h>

static int put_commands(shoalpy_requests_t *requests, int count)
{
    int rc = 0;

    shoalpy_requests_begin(requests);
    for (int i = 0; i < count && rc == 0; i++) {
        rc = shoalpy_requests_add(requests, "SET", 3);
        if (rc == 0)
            rc = shoalpy_requests_add_integer(requests, i);
        if (rc == 0)
            rc = shoalpy_requests_add_float(requests, 0.5);
        if (rc == 0)
            rc = shoalpy_requests_end_command(requests, 3);
    }
    if (rc == 0)
        shoalpy_requests_finish(requests);
    return rc;
}

static void test_commands_without_a_stream(void **state)
{
    shoalpy_requests_t requests = {0};
    int rc = SHOAL_ENOMEM;

    (void)state;
    for (size_t allowed = 0; rc == SHOAL_ENOMEM; allowed++) {
        shoalpy_requests_release(&requests);
        scarce_memory_allow(allowed);
        rc = put_commands(&requests, 200);
        scarce_memory_allow(SCARCE_MEMORY_ENOUGH);
        assert_true(rc == 0 ? allowed > 6 : allowed < 1000);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(put_commands(&requests, 200), 0); /* again, in the same memory */
    assert_int_equal(requests.count, 200);
    for (size_t i = 0; i < 200; i++) {
        const shoal_command_t *command = &requests.commands[i];
        char number[24];
        size_t digits = (size_t)snprintf(number, sizeof number, "%zu", i);

        assert_int_equal(command->argc, 3);
        assert_memory_equal(command->argv[0], "SET", 3);
        assert_int_equal(command->argvlen[1], digits);
        assert_memory_equal(command->argv[1], number, digits);
        assert_int_equal(command->argvlen[2], 3);
        assert_memory_equal(command->argv[2], "0.5", 3);
    }
    assert_int_equal(shoalpy_requests_end_command(&requests, 0), SHOAL_EINVAL);
    shoalpy_requests_release(&requests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands_without_a_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
