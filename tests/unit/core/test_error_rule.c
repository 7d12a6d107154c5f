/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/error_rule.h"

#define SURFACE SHOAL__ERROR_SURFACE
#define HOLD SHOAL__ERROR_HOLD
#define HOLD_ALONE SHOAL__ERROR_HOLD_ALONE
#define REDIAL SHOAL__ERROR_REDIAL
#define REDIAL_ROLE SHOAL__ERROR_REDIAL_ROLE

/* clang-format off */
static const struct error_case {
    const char *text;
    shoal__error_verdict_t verdict; /* for a write, authenticated */
} cases[] = {
    {"LOADING Redis is loading the dataset in memory", HOLD},
    {"LOADING", HOLD},
    {"LOADINGX is not it", SURFACE},
    {"LOADING\tis not it", SURFACE},
    {"LOADIN", SURFACE},
    {"loading in lower case is not it", SURFACE},
    {" LOADING after a blank is not it", SURFACE},
    {"TRYAGAIN Multiple keys request during rehashing of slot", HOLD_ALONE},
    {"CLUSTERDOWN Hash slot not served", HOLD_ALONE},
    {"CLUSTERDOWN The cluster is down", HOLD},
    {"CLUSTERDOWN", HOLD},
    {"MASTERDOWN Link with MASTER is down", HOLD},
    {"READONLY You can't write against a read only replica.", REDIAL_ROLE},
    {"READONLY", REDIAL_ROLE},
    {"READONLYX is not it", SURFACE},
    {"NOAUTH Authentication required.", REDIAL},
    {"ERR LOADING as the second word is not it", SURFACE},
    {"ERR unknown command", SURFACE},
    {"WRONGTYPE Operation against a key holding the wrong kind of value", SURFACE},
    {"BUSY Redis is busy running a script.", SURFACE},
    {"OOM command not allowed when used memory > 'maxmemory'.", SURFACE},
    {"MISCONF Redis is configured to save RDB snapshots", SURFACE},
    {"NOREPLICAS Not enough good replicas to write.", SURFACE},
    {"NOPERM this user has no permissions", SURFACE},
    {"WRONGPASS invalid username-password pair", SURFACE},
    {"EXECABORT Transaction discarded because of previous errors.", SURFACE},
    {"NOSCRIPT No matching script.", SURFACE},
    {"UNBLOCKED client unblocked via CLIENT UNBLOCK", SURFACE},
    {"MOVED 3999 127.0.0.1:6381", SURFACE},
    {"ASK 3999 127.0.0.1:6381", SURFACE},
    {"", SURFACE},
};
/* clang-format on */

static shoal__error_input_t input_of(const char *text)
{
    return (shoal__error_input_t){.text = {text, strlen(text)},
                                  .command_class = SHOAL__CLASS_WRITE,
                                  .has_credentials = true};
}

static void test_codes(void **state)
{
    (void)state;
    const shoal__command_class_t classes[] = {SHOAL__CLASS_WRITE, SHOAL__CLASS_RO,
                                              SHOAL__CLASS_BLOCK};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t k = 0; k < sizeof classes / sizeof *classes; k++) {
            shoal__error_input_t input = input_of(cases[i].text);
            input.command_class = classes[k];
            if (shoal__error_rule(&input) != cases[i].verdict)
                fail_msg("%s: verdict %u", cases[i].text, shoal__error_rule(&input));
        }
    }
}

/* A script may have written before it failed with any of these texts.  (I3) */
static void test_what_always_surfaces(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__error_input_t script = input_of(cases[i].text), once = script,
                             unit = script;
        script.command_class = SHOAL__CLASS_SCRIPT;
        once.is_once = true;
        unit.is_unit = true;
        assert_int_equal(shoal__error_rule(&script), SURFACE);
        assert_int_equal(shoal__error_rule(&once), SURFACE);
        assert_int_equal(shoal__error_rule(&unit), SURFACE);
    }
}

static void test_noauth_is_no_surprise_without_credentials(void **state)
{
    (void)state;
    shoal__error_input_t input = input_of("NOAUTH Authentication required.");
    input.has_credentials = false;
    assert_int_equal(shoal__error_rule(&input), SURFACE);
}

static void test_texts_need_no_terminator(void **state)
{
    (void)state;
    shoal__error_input_t input = input_of("LOADINGX");
    input.text.bytes = 7;
    assert_int_equal(shoal__error_rule(&input), HOLD);
    input.text = (shoal__bytes_t){NULL, 0};
    assert_int_equal(shoal__error_rule(&input), SURFACE);
}

/* A server that loses its role lets go what is blocked on it. */
static void test_unblocked_by_the_server_itself(void **state)
{
    static const char forced[] =
        "UNBLOCKED force unblock from blocking operation, instance state changed";
    shoal__error_input_t input = input_of(forced);

    (void)state;
    input.command_class = SHOAL__CLASS_BLOCK;
    assert_int_equal(shoal__error_rule(&input), REDIAL_ROLE);
    input.is_once = true;
    assert_int_equal(shoal__error_rule(&input), SURFACE);
    input = input_of(forced); /* of a command that does not block */
    assert_int_equal(shoal__error_rule(&input), SURFACE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unblocked_by_the_server_itself),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_what_always_surfaces),
        cmocka_unit_test(test_noauth_is_no_surprise_without_credentials),
        cmocka_unit_test(test_texts_need_no_terminator),
    };
    return cmocka_run_group_tests_name("core/error_rule", tests, NULL, NULL);
}
