/* SPDX-License-Identifier: MIT */

/* What HELLO and INFO say a server is, and what its client is told. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/mode_rule.h"
#include <string.h>

static void test_each_word(void **state)
{
    static const struct {
        const char *word;
        shoal__mode_t mode;
        const char *advice; /* a part of it; NULL: there is none */
    } cases[] = {
        {"standalone", SHOAL__MODE_STANDALONE, NULL},
        {"cluster", SHOAL__MODE_CLUSTER, "redis+cluster://"},
        {"Cluster", SHOAL__MODE_CLUSTER, "redis+cluster://"},
        {"sentinel", SHOAL__MODE_SENTINEL, "redis+sentinel://"},
        {"", SHOAL__MODE_STANDALONE, NULL},
        {"clusters", SHOAL__MODE_STANDALONE, NULL},
        {"proxy", SHOAL__MODE_STANDALONE, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__bytes_t word = {cases[i].word, strlen(cases[i].word)};
        shoal__mode_t mode = shoal__mode_read(word);
        const char *advice = shoal__mode_advice(mode);
        assert_int_equal(mode, cases[i].mode);
        assert_int_equal(!advice, !cases[i].advice);
        if (advice)
            assert_non_null(strstr(advice, cases[i].advice));
    }
}

/* One that does not say is what it was taken for. */
static void test_the_line_of_info(void **state)
{
    static const struct {
        const char *info;
        shoal__mode_t mode;
    } cases[] = {
        {"# Server\r\nredis_version:7.2.4\r\nredis_mode:cluster\r\nos:Linux\r\n",
         SHOAL__MODE_CLUSTER},
        {"redis_mode:standalone\r\n", SHOAL__MODE_STANDALONE},
        {"redis_mode:cluster", SHOAL__MODE_CLUSTER},
        {"server_mode:cluster\n", SHOAL__MODE_CLUSTER},
        {"x:1\n\nserver_mode:standalone\r", SHOAL__MODE_STANDALONE},
        {"redis_mode:\r\n", SHOAL__MODE_STANDALONE},
        {"", SHOAL__MODE_SENTINEL},
        {"\r\n", SHOAL__MODE_SENTINEL},
        {"redis_mod", SHOAL__MODE_SENTINEL},
        {"xredis_mode:cluster\r\n", SHOAL__MODE_SENTINEL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__bytes_t info = {cases[i].info, strlen(cases[i].info)};
        assert_int_equal(shoal__mode_read_info(info, SHOAL__MODE_SENTINEL),
                         cases[i].mode);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_word),
                                       cmocka_unit_test(test_the_line_of_info)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
