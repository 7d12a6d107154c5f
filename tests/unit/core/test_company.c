/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/company.h"

/* What a client owes, and has settled. */
typedef struct books {
    shoal__company_t company;
    uint64_t owed;
} books_t;

static void enter(books_t *books, uint64_t plain, uint64_t others)
{
    shoal__company_enter(&books->company, plain);
    books->owed += plain + others;
}

static void settle(books_t *books, uint64_t plain, uint64_t others)
{
    books->owed -= plain + others;
    shoal__company_settle(&books->company, plain);
}

static bool is_plain(const books_t *books)
{
    return shoal__company_is_plain(&books->company, books->owed);
}

static void test_any_other_command_that_is_owed_counts(void **state)
{
    (void)state;
    books_t books = {0};

    assert_true(is_plain(&books)); /* nothing is owed */
    enter(&books, 2, 0);
    assert_true(is_plain(&books));
    enter(&books, 0, 1);
    assert_false(is_plain(&books));
    settle(&books, 1, 0);
    assert_false(is_plain(&books));
    settle(&books, 0, 1);
    assert_true(is_plain(&books)); /* one plain call is left */
    settle(&books, 1, 0);
    assert_true(is_plain(&books));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_other_command_that_is_owed_counts),
    };
    return cmocka_run_group_tests_name("core/company", tests, NULL, NULL);
}
