/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/dial_report.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

static shoal__dial_report_t report;

static void add(int status, const char *reason)
{
    shoal__dial_report_add(&report, status, reason);
}

/* `bytes` times a letter. */
static const char *text_of(char letter, size_t bytes)
{
    static char text[300];

    memset(text, letter, bytes);
    text[bytes] = '\0';
    return text;
}

static void test_one_endpoint_is_told_as_it_is(void **state)
{
    (void)state;
    report = (shoal__dial_report_t){0};
    add(SHOAL_ECONN, "connect a:1: refused");
    assert_int_equal(report.status, SHOAL_ECONN);
    assert_string_equal(report.text, "connect a:1: refused");
}

static void test_each_endpoint_is_told(void **state)
{
    (void)state;
    report = (shoal__dial_report_t){0};
    add(SHOAL_ECONN, "connect a:1: refused");
    add(SHOAL_ECONN, "look up b:1: no such name");
    add(SHOAL_ETIMEOUT, "connect c:1: timed out");
    assert_string_equal(report.text, "connect a:1: refused; look up b:1: no such "
                                     "name; connect c:1: timed out");
}

static void test_an_answer_tells_more_than_silence(void **state)
{
    static const struct {
        int first, second, third, whole;
    } cases[] = {
        {SHOAL_ETIMEOUT, SHOAL_ETIMEOUT, SHOAL_ETIMEOUT, SHOAL_ETIMEOUT},
        {SHOAL_ECONN, SHOAL_ETIMEOUT, SHOAL_ETIMEOUT, SHOAL_ECONN},
        {SHOAL_ETIMEOUT, SHOAL_ECONN, SHOAL_ETIMEOUT, SHOAL_ECONN},
        {SHOAL_ETIMEOUT, SHOAL_ETIMEOUT, SHOAL_ECONN, SHOAL_ECONN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        report = (shoal__dial_report_t){0};
        add(cases[i].first, "x");
        add(cases[i].second, "x");
        add(cases[i].third, "x");
        assert_int_equal(report.status, cases[i].whole);
    }
}

/* However long the reasons are: what is told is whole, and the rest is counted. */
static void test_the_room_is_bounded(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes < sizeof report.text; bytes++) {
        unsigned told = 0, more = 0;
        const char *at;

        report = (shoal__dial_report_t){0};
        for (unsigned i = 0; i < 16; i++)
            add(SHOAL_ECONN, text_of('x', bytes));
        for (at = report.text; strspn(at, "x") == bytes; at += 2) {
            told++;
            at += bytes;
            if (strncmp(at, "; x", 3) != 0)
                break;
        }
        if (told == 0) /* the first is cut */
            at = report.text + strspn(report.text, "x"), told = 1;
        if (*at) {
            assert_int_equal(sscanf(at, "; and %u more", &more), 1);
            assert_true(more > 0);
        }
        assert_int_equal(told + more, 16);
        assert_true(strlen(report.text) < sizeof report.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_endpoint_is_told_as_it_is),
        cmocka_unit_test(test_each_endpoint_is_told),
        cmocka_unit_test(test_an_answer_tells_more_than_silence),
        cmocka_unit_test(test_the_room_is_bounded),
    };
    return cmocka_run_group_tests_name("core/dial_report", tests, NULL, NULL);
}
