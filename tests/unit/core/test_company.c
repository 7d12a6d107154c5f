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
    uint64_t owed, settled;
} books_t;

static void enter(books_t *books, uint64_t plain, uint64_t others)
{
    shoal__company_enter(&books->company, plain);
    books->owed += plain + others;
}

static void settle(books_t *books, uint64_t plain, uint64_t others)
{
    books->owed -= plain + others;
    books->settled += plain + others;
    shoal__company_look(&books->company, books->settled, plain);
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

static void looks(books_t *books, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        enter(books, 3, 0);
        settle(books, 3, 0);
    }
}

static void test_steady_after_enough_looks(void **state)
{
    (void)state;
    books_t books = {0};

    looks(&books, SHOAL__COMPANY_LOOKS - 1);
    assert_false(shoal__company_is_steady(&books.company));
    settle(&books, 0, 0); /* a look that found nothing says nothing */
    assert_false(shoal__company_is_steady(&books.company));
    looks(&books, 1);
    assert_true(shoal__company_is_steady(&books.company));
    looks(&books, 100);
    settle(&books, 0, 0);
    assert_true(shoal__company_is_steady(&books.company));
}

static void test_one_other_command_starts_the_count_again(void **state)
{
    (void)state;
    books_t books = {0};

    looks(&books, SHOAL__COMPANY_LOOKS);
    enter(&books, 1, 1);
    settle(&books, 1, 1);
    assert_false(shoal__company_is_steady(&books.company));
    looks(&books, SHOAL__COMPANY_LOOKS - 1);
    assert_false(shoal__company_is_steady(&books.company));
    looks(&books, 1);
    assert_true(shoal__company_is_steady(&books.company));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_other_command_that_is_owed_counts),
        cmocka_unit_test(test_steady_after_enough_looks),
        cmocka_unit_test(test_one_other_command_starts_the_count_again),
    };
    return cmocka_run_group_tests_name("core/company", tests, NULL, NULL);
}
