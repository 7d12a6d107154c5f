/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/fence/nonce.h"

static unsigned asked;

static void count_up(void *memory, size_t bytes)
{
    uint64_t *words = memory;

    asked++;
    assert_int_equal(bytes, SHOAL__NONCES_KEPT * sizeof *words);
    for (size_t i = 0; i < SHOAL__NONCES_KEPT; i++)
        words[i] = asked * UINT64_C(0x0123456789abcdef) + i;
}

/* The numbers have sixteen hexadecimal digits, and one call of the system gives
 * many. */
static void test_each_number_is_given_out_once(void **state)
{
    enum { COUNT = 3 * SHOAL__NONCES_KEPT };
    static char seen[COUNT][SHOAL__NONCE_BYTES + 1];
    shoal__nonce_t nonce;

    (void)state;
    asked = 0;
    shoal__nonce_init(&nonce, count_up);
    assert_int_equal(asked, 0);
    for (size_t i = 0; i < COUNT; i++) {
        memset(seen[i], '?', sizeof seen[i]);
        shoal__nonce_write(&nonce, seen[i]);
        assert_int_equal(seen[i][SHOAL__NONCE_BYTES], '?'); /* not overrun */
        seen[i][SHOAL__NONCE_BYTES] = '\0';
        assert_int_equal(strspn(seen[i], "0123456789abcdef"), SHOAL__NONCE_BYTES);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(seen[i], seen[j]);
    }
    assert_int_equal(asked, 3);
}

/* A number is erased when it is used, so that memory which leaks does not tell the
 * answer to a fence that is still unanswered. */
static void test_used_numbers_are_forgotten(void **state)
{
    char digits[SHOAL__NONCE_BYTES];
    shoal__nonce_t nonce;

    (void)state;
    shoal__nonce_init(&nonce, count_up);
    shoal__nonce_write(&nonce, digits);
    assert_int_equal(nonce.kept[SHOAL__NONCES_KEPT - 1], 0);
    assert_int_not_equal(nonce.kept[SHOAL__NONCES_KEPT - 2], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_number_is_given_out_once),
        cmocka_unit_test(test_used_numbers_are_forgotten),
    };
    return cmocka_run_group_tests_name("core/fence/nonce", tests, NULL, NULL);
}
