/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json_reader.h"

#include <string.h>

static void test_a_document_is_read(void **state)
{
    (void)state;
    char problem[160];
    json_value_t *value =
        json_read(" {\"a\": [1, -2.5e3, null], \"b\": {\"c\": \"x\\\"\\n\\u00e9\\ud83d"
                  "\\ude00\"}, \"d\": true, \"e\": false, \"f\": {}, \"g\": []}\n",
                  problem, sizeof problem);

    assert_non_null(value);
    const json_value_t *list = json_member(value, "a");
    assert_int_equal(list->count, 3);
    assert_true(list->first->next->number < -2499.9);
    assert_int_equal(list->first->next->next->type, JSON_NULL);
    assert_string_equal(json_text(json_member(value, "b"), "c", ""),
                        "x\"\n\xc3\xa9\xf0\x9f\x98\x80");
    assert_true(json_member(value, "d")->is_true);
    assert_false(json_member(value, "e")->is_true);
    assert_int_equal(json_member(value, "f")->count, 0);
    assert_null(json_member(value, "z"));
    assert_true(json_number(value, "d", 7) > 6.9); /* not a number: the fallback */
    json_free(value);
}

static void test_what_is_no_json_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",          "{",        "[1,",    "[1 2]",   "{\"a\" 1}",
        "{\"a\": }", "{a: 1}",   "\"open", "\"\\x\"", "\"\\u12\"",
        "nul",       "-",        "0x10",   "[1] 2",   "{\"a\": 1,}",
        "nan",       "\"a\nb\"", "\"\\",   "[1]]",    "inf",
    };
    char problem[160];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        problem[0] = '\0';
        if (json_read(texts[i], problem, sizeof problem) != NULL)
            fail_msg("%s was accepted", texts[i]);
        assert_non_null(strstr(problem, "no JSON at byte"));
    }
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    char text[2 * JSON_DEPTH_MAX + 3];
    char problem[160];

    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    text[2 * JSON_DEPTH_MAX] = '\0';
    json_value_t *value = json_read(text, problem, sizeof problem);
    assert_non_null(value);
    json_free(value);

    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    text[2 * JSON_DEPTH_MAX + 2] = '\0';
    assert_null(json_read(text, problem, sizeof problem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_document_is_read),
        cmocka_unit_test(test_what_is_no_json_is_refused),
        cmocka_unit_test(test_depth_is_bounded),
    };
    return cmocka_run_group_tests_name("bench/json_reader", tests, NULL, NULL);
}
