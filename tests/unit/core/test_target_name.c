/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/target_name.h"
#include <string.h>

static void test_names(void **state)
{
    static const struct name_row {
        const char *host;
        int port;
        const char *name;
    } rows[] = {{"10.0.0.1", 7000, "10.0.0.1:7000"},
                {"node.example", 1, "node.example:1"},
                {"::1", 65535, "[::1]:65535"}};
    char name[SHOAL__TARGET_NAME_BYTES], host[300];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shoal__target_name(name, rows[i].host, rows[i].port);
        assert_string_equal(name, rows[i].name);
    }
    memset(host, 'a', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    shoal__target_name(name, host, 1);
    assert_int_equal(strlen(name), sizeof name - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
