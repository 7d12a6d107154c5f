/* SPDX-License-Identifier: MIT */
#include "resp/command_book.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static shoal__bytes_t text(const char *name)
{
    return (shoal__bytes_t){name, strlen(name)};
}

static shoal__learned_t *new_learned(size_t count)
{
    shoal__learned_t *learned =
        shoal__calloc(1, sizeof *learned + count * sizeof *learned->entries);

    assert_non_null(learned);
    learned->count = count;
    return learned;
}

static void a_name_is_asked_for_once(void **state)
{
    shoal__command_book_t book = {.names = 0};
    shoal__learned_t *learned = new_learned(1);
    shoal__book_page_t *page;
    (void)state;

    assert_false(shoal__book_wants(&book));
    assert_null(shoal__book_ask(&book));
    assert_null(shoal__book_look(&book, text("My.cmd")));
    assert_null(shoal__book_look(&book, text("MY.CMD")));
    assert_true(shoal__book_wants(&book));
    page = shoal__book_ask(&book);
    assert_non_null(page);
    assert_string_equal(page->name, "MY.CMD");
    assert_null(shoal__book_look(&book, text("my.cmd")));
    assert_false(shoal__book_wants(&book));
    assert_null(shoal__book_ask(&book));
    shoal__book_ask_again(page);
    assert_true(shoal__book_wants(&book));
    assert_ptr_equal(shoal__book_ask(&book), page);
    shoal__book_answer(page, learned);
    assert_ptr_equal(shoal__book_look(&book, text("my.cmd")), learned);
    assert_false(shoal__book_wants(&book));
    shoal__book_release(&book);
}

static void what_nobody_knows_is_not_asked_again(void **state)
{
    shoal__command_book_t book = {.names = 0};
    (void)state;

    assert_null(shoal__book_look(&book, text("A")));
    shoal__book_answer(shoal__book_ask(&book), NULL);
    assert_null(shoal__book_look(&book, text("A")));
    assert_false(shoal__book_wants(&book));
    shoal__book_release(&book);
}

static void some_texts_are_no_names(void **state)
{
    static const char *const texts[] = {
        "", "a b", "a\n", "\x7f",
        "a23456789012345678901234567890123456789012345678901234567890123x"};
    shoal__command_book_t book = {.names = 0};
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(shoal__book_look(&book, text(texts[i])));
    assert_null(shoal__book_look(NULL, text("A")));
    assert_false(shoal__book_wants(&book));
}

static void there_is_room_for_so_many(void **state)
{
    shoal__command_book_t book = {.names = 0};
    shoal__book_page_t *page;
    unsigned asked = 0;
    char name[16];
    (void)state;

    for (unsigned i = 0; i < SHOAL__BOOK_NAMES_MAX + 100; i++) {
        snprintf(name, sizeof name, "n%u", i);
        assert_null(shoal__book_look(&book, text(name)));
    }
    while ((page = shoal__book_ask(&book))) {
        shoal__book_answer(page, new_learned(1));
        asked++;
    }
    assert_int_equal(asked, SHOAL__BOOK_NAMES_MAX);
    assert_int_equal(book.names, SHOAL__BOOK_NAMES_MAX);
    for (unsigned i = 0; i < SHOAL__BOOK_NAMES_MAX + 100; i++) {
        snprintf(name, sizeof name, "N%u", i);
        assert_int_equal(shoal__book_look(&book, text(name)) != NULL,
                         i < SHOAL__BOOK_NAMES_MAX);
    }
    assert_false(shoal__book_wants(&book));
    shoal__book_release(&book);
}

static void answers_have_a_bound(void **state)
{
    const size_t count = SHOAL__BOOK_BYTES_MAX / sizeof(shoal__learned_entry_t);
    shoal__command_book_t book = {.names = 0};
    (void)state;

    assert_null(shoal__book_look(&book, text("a")));
    shoal__book_answer(shoal__book_ask(&book), new_learned(count));
    assert_non_null(shoal__book_look(&book, text("a")));
    assert_null(shoal__book_look(&book, text("b")));
    shoal__book_answer(shoal__book_ask(&book), new_learned(1));
    assert_null(shoal__book_look(&book, text("b")));
    assert_false(shoal__book_wants(&book));
    shoal__book_release(&book);
}

static void without_memory_it_is_wanted_later(void **state)
{
    shoal__command_book_t book = {.names = 0};
    (void)state;

    shoal__test_fail_alloc_after(0);
    assert_null(shoal__book_look(&book, text("a")));
    shoal__test_fail_alloc_never();
    assert_false(shoal__book_wants(&book));
    assert_int_equal(book.names, 0);
    assert_null(shoal__book_look(&book, text("a")));
    assert_true(shoal__book_wants(&book));
    shoal__book_release(&book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_asked_for_once),
        cmocka_unit_test(what_nobody_knows_is_not_asked_again),
        cmocka_unit_test(some_texts_are_no_names),
        cmocka_unit_test(there_is_room_for_so_many),
        cmocka_unit_test(answers_have_a_bound),
        cmocka_unit_test(without_memory_it_is_wanted_later),
    };
    return cmocka_run_group_tests_name("resp/command_book", tests, NULL, NULL);
}
