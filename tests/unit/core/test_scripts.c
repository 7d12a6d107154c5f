/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/scripts.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <stdlib.h>

static const char one[] = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"; /* return 1 */

static shoal__scripts_t scripts;

static int tear_down(void **state)
{
    (void)state;
    shoal__test_fail_alloc_never();
    shoal__scripts_clear(&scripts);
    return 0;
}

static shoal__bytes_t bytes(const char *text)
{
    return (shoal__bytes_t){text, strlen(text)};
}

static shoal__script_t *add(const char *text, int expected)
{
    shoal__script_t *script = shoal__script_new(bytes(text));
    int rc;

    assert_non_null(script);
    script = shoal__scripts_add(&scripts, script, &rc);
    assert_int_equal(rc, expected);
    return script;
}

static void drop(shoal__script_t *script)
{
    shoal__scripts_drop(&scripts, script);
    shoal__script_release(script);
}

static void test_a_script_knows_its_command_and_its_name(void **state)
{
    shoal__script_t *script = add("return 1", 0);
    static const char load[] = "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$8\r\nreturn 1\r\n";

    (void)state;
    assert_string_equal(script->sha1, one);
    assert_int_equal(script->bytes, sizeof load - 1);
    assert_memory_equal(script->load, load, sizeof load - 1);
    drop(script);
}

static void test_calls_by_hash_are_known(void **state)
{
    static const struct {
        const char *name, *sha1;
        bool is_known;
    } calls[] = {
        {"EVALSHA", one, true},
        {"evalsha_ro", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", true},
        {"EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8dc", false},
        {"EVALSHA", "e0e1", false},
        {"EVAL", one, false},
    };
    shoal__script_t *script = add("return 1", 0);
    char encoded[128];

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int length = snprintf(
            encoded, sizeof encoded, "*3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n$1\r\n0\r\n",
            strlen(calls[i].name), calls[i].name, strlen(calls[i].sha1), calls[i].sha1);
        shoal__script_t *called =
            shoal__scripts_called(&scripts, (shoal__bytes_t){encoded, (size_t)length});
        assert_ptr_equal(called, calls[i].is_known ? script : NULL);
    }
    assert_null(shoal__scripts_called(&scripts, bytes("*1\r\n$7\r\nEVALSHA\r\n")));
    assert_null(shoal__scripts_called(&scripts, bytes("")));
    drop(script);
    assert_null(
        shoal__scripts_called(&scripts, bytes("*2\r\n$7\r\nEVALSHA\r\n$1\r\n0\r\n")));
}

static void test_a_text_counts_its_users(void **state)
{
    shoal__script_t *first = add("return 1", 0), *again = add("return 1", 0);
    shoal__script_t *other = add("return 2", 0);

    (void)state;
    assert_ptr_equal(first, again);
    assert_int_equal(scripts.count, 2);
    assert_int_equal(scripts.text_bytes, 16);
    assert_int_equal(other->number, 2);
    drop(first);
    assert_ptr_equal(shoal__scripts_find(&scripts, bytes(one)), again);
    drop(again);
    assert_null(shoal__scripts_find(&scripts, bytes(one)));
    assert_int_equal(scripts.count, 1);
    again = add("return 1", 0); /* a connection that had it loads it once more */
    assert_int_equal(again->number, 3);
    drop(again);
    drop(other);
    assert_int_equal(scripts.text_bytes, 0);
}

static void test_there_are_bounds(void **state)
{
    static char text[SHOAL__SCRIPTS_BYTES_MAX + 2];
    char small[16];
    shoal__script_t *items[SHOAL__SCRIPTS_MAX];

    (void)state;
    for (unsigned i = 0; i < SHOAL__SCRIPTS_MAX; i++) {
        snprintf(small, sizeof small, "%u", 100 + i);
        items[i] = add(small, 0);
    }
    assert_null(add("one more", SHOAL_EFULL));
    for (unsigned i = 0; i < SHOAL__SCRIPTS_MAX; i++)
        drop(items[i]);
    memset(text, 'x', sizeof text - 1);
    assert_null(shoal__script_new(bytes(text)));
    text[SHOAL__SCRIPTS_BYTES_MAX] = '\0';
    items[0] = add(text, 0);
    assert_null(add("y", SHOAL_EFULL));
    drop(items[0]);
}

static void test_a_copy_stays(void **state)
{
    shoal__scripts_t copy = {0};
    shoal__script_t *script = add("return 1", 0);

    (void)state;
    assert_true(shoal__scripts_copy(&copy, &scripts));
    drop(script);
    assert_non_null(shoal__scripts_find(&copy, bytes(one)));
    assert_true(shoal__scripts_copy(&copy, &scripts));
    assert_int_equal(copy.count, 0);
    assert_int_equal(copy.newest, 1);
    shoal__scripts_clear(&copy);
}

static void test_memory_runs_out(void **state)
{
    shoal__scripts_t copy = {0};
    shoal__script_t *script = add("return 1", 0), *other;
    int rc;

    (void)state;
    shoal__test_fail_alloc_after(0);
    assert_null(shoal__script_new(bytes("x")));
    shoal__test_fail_alloc_after(0);
    assert_false(shoal__scripts_copy(&copy, &scripts));
    shoal__test_fail_alloc_never();
    other = shoal__script_new(bytes("x"));
    shoal__test_fail_alloc_after(0);
    assert_null(shoal__scripts_add(&scripts, other, &rc));
    assert_int_equal(rc, SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    drop(script);
    shoal__script_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_script_knows_its_command_and_its_name,
                                  tear_down),
        cmocka_unit_test_teardown(test_calls_by_hash_are_known, tear_down),
        cmocka_unit_test_teardown(test_a_text_counts_its_users, tear_down),
        cmocka_unit_test_teardown(test_there_are_bounds, tear_down),
        cmocka_unit_test_teardown(test_a_copy_stays, tear_down),
        cmocka_unit_test_teardown(test_memory_runs_out, tear_down),
    };
    return cmocka_run_group_tests_name("core/scripts", tests, NULL, NULL);
}
