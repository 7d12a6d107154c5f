/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include <errno.h>
#include <string.h>

static shoal_error_t used(void)
{
    shoal_error_t error = SHOAL_ERROR_INIT;

    error.code = SHOAL_EFULL;
    error.system_errno = EMFILE;
    strcpy(error.text, "of the call before");
    return error;
}

static void test_a_call_begins_without_an_error(void **state)
{
    shoal_error_t error = used();

    (void)state;
    assert_true(shoal__error_begin(&error));
    assert_int_equal(error.code, 0);
    assert_int_equal(error.system_errno, 0);
    assert_string_equal(error.text, "");
    assert_true(shoal__error_begin(NULL));
}

/* A size of 0, or another that no version has, means that the caller did not initialise
 * the structure. */
static void test_only_a_known_size_is_written(void **state)
{
    shoal_error_t error = used();

    (void)state;
    error.size = sizeof error - 1;
    assert_false(shoal__error_begin(&error));
    assert_int_equal(error.code, SHOAL_EFULL);
    error.size = 0;
    assert_false(shoal__error_begin(&error));
    error.size = SIZE_MAX;
    assert_false(shoal__error_begin(&error));
}

static void test_fields_of_a_newer_caller_become_0(void **state)
{
    struct {
        shoal_error_t error;
        uint64_t later, behind;
    } theirs = {used(), 7, 7};

    (void)state;
    theirs.error.size = sizeof theirs.error + sizeof theirs.later;
    assert_true(shoal__error_begin(&theirs.error));
    assert_int_equal(theirs.error.size, sizeof theirs.error + sizeof theirs.later);
    assert_string_equal(theirs.error.text, "");
    assert_int_equal(theirs.later, 0);
    assert_int_equal(theirs.behind, 7);
}

static void test_a_reason_is_said_and_stays(void **state)
{
    shoal_error_t error = SHOAL_ERROR_INIT;

    (void)state;
    assert_int_equal(shoal__error_say(&error, SHOAL_EURL, "the port %s", "x"),
                     SHOAL_EURL);
    assert_int_equal(error.code, SHOAL_EURL);
    assert_string_equal(error.text, "the port x");
    assert_int_equal(shoal__error_plain(&error, SHOAL_EURL), SHOAL_EURL);
    assert_string_equal(error.text, "the port x");
}

static void test_a_code_without_a_reason_has_its_text(void **state)
{
    shoal_error_t error = SHOAL_ERROR_INIT;

    (void)state;
    assert_int_equal(shoal__error_plain(&error, SHOAL_ECLOSED), SHOAL_ECLOSED);
    assert_string_equal(error.text, "the client is closed");
    assert_true(shoal__error_begin(&error));
    assert_int_equal(shoal__error_plain(&error, 0), 0);
    assert_string_equal(error.text, "");
}

static void test_a_refusal_of_the_system(void **state)
{
    shoal_error_t error = SHOAL_ERROR_INIT;
    const char *what = "a descriptor: ";

    (void)state;
    assert_int_equal(shoal__error_system(&error, -EMFILE, "a descriptor"),
                     SHOAL_ESYSTEM);
    assert_int_equal(error.system_errno, EMFILE);
    assert_int_equal(error.code, SHOAL_ESYSTEM);
    assert_memory_equal(error.text, what, strlen(what));
    assert_string_equal(error.text + strlen(what), strerror(EMFILE));
    assert_true(shoal__error_begin(&error));
    assert_int_equal(shoal__error_system(&error, SHOAL_ENOMEM, "a thread"),
                     SHOAL_ENOMEM);
    assert_int_equal(error.system_errno, 0);
    assert_string_equal(error.text, "out of memory");
    assert_int_equal(shoal__error_system(&error, 0, "a thread"), 0);
}

static void test_long_reasons_are_cut(void **state)
{
    static char words[1000];
    shoal_error_t error = SHOAL_ERROR_INIT;

    (void)state;
    memset(words, 'w', sizeof words - 1);
    shoal__error_say(&error, SHOAL_EURL, "%s", words);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
}

static void test_nobody_asked(void **state)
{
    (void)state;
    assert_int_equal(shoal__error_say(NULL, SHOAL_EURL, "x"), SHOAL_EURL);
    assert_int_equal(shoal__error_plain(NULL, SHOAL_EURL), SHOAL_EURL);
    assert_int_equal(shoal__error_system(NULL, -EMFILE, "x"), SHOAL_ESYSTEM);
    assert_int_equal(shoal__error_system(NULL, 0, "x"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_begins_without_an_error),
        cmocka_unit_test(test_only_a_known_size_is_written),
        cmocka_unit_test(test_fields_of_a_newer_caller_become_0),
        cmocka_unit_test(test_a_reason_is_said_and_stays),
        cmocka_unit_test(test_a_code_without_a_reason_has_its_text),
        cmocka_unit_test(test_a_refusal_of_the_system),
        cmocka_unit_test(test_long_reasons_are_cut),
        cmocka_unit_test(test_nobody_asked),
    };
    return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
