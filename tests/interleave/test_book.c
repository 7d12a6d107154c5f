/* SPDX-License-Identifier: MIT */

/* The book of commands, in every schedule: threads that meet a name for the first time, at once,
 * make one page of it, and one question; and whoever looks later finds the answer. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SHIM_IMPLEMENTATION
#include "base/alloc.h"
#include "interleave/shim.h"
#include "resp/command_book.h"

#define LOOKERS_MAX 3

typedef struct book_case {
    const char *name;
    const char *names[LOOKERS_MAX]; /* one for each thread that looks */
    unsigned different;             /* names */
    bool asks;                      /* a thread asks meanwhile, and answers */
} book_case_t;

static const book_case_t *now;
static shoal__command_book_t book;
static unsigned asked;

static shoal__learned_t *new_learned(void)
{
    shoal__learned_t *learned =
        shoal__calloc(1, sizeof *learned + sizeof *learned->entries);

    explore_check(learned != NULL);
    learned->count = 1;
    return learned;
}

static shoal__bytes_t text(const char *name)
{
    return (shoal__bytes_t){name, strlen(name)};
}

static void look(void *data)
{
    const shoal__learned_t *learned = shoal__book_look(&book, text(data));

    explore_check(!learned || (now->asks && learned->count == 1));
}

static void answer_all(void)
{
    shoal__book_page_t *page;

    shim_touch("wants", &book.wanted, false); /* which the header reads */
    while (shoal__book_wants(&book) && (page = shoal__book_ask(&book))) {
        asked++;
        shoal__book_answer(page, new_learned());
    }
}

static void ask(void *data)
{
    (void)data;
    answer_all();
}

static void begin(const void *data)
{
    static const char *const threads[] = {"looks 1", "looks 2", "looks 3"};

    now = data;
    shim_begin();
    book = (shoal__command_book_t){.names = 0};
    asked = 0;
    for (unsigned i = 0; i < LOOKERS_MAX && now->names[i]; i++)
        explore_start(threads[i], look, (void *)(uintptr_t)now->names[i]);
    if (now->asks)
        explore_start("asks", ask, NULL);
}

static void end(void)
{
    unsigned pages = 0;

    for (unsigned i = 0; i < SHOAL__BOOK_PLACES; i++)
        pages += book.pages[i] != NULL;
    explore_check(pages == now->different && book.names == now->different);
    explore_check(book.wanted == now->different - asked);
    answer_all(); /* the turn that takes the last command over */
    explore_check(asked == now->different && book.wanted == 0);
    for (unsigned i = 0; i < LOOKERS_MAX && now->names[i]; i++)
        explore_check(shoal__book_look(&book, text(now->names[i])) != NULL);
    shoal__book_release(&book);
    shim_end();
}

/* AB and IV have the same place in the table. */
static const book_case_t cases[] = {
    {.name = "the same name twice", .names = {"AB", "ab"}, .different = 1},
    {.name = "the same name three times", .names = {"AB", "ab", "AB"}, .different = 1},
    {.name = "names of one place", .names = {"AB", "IV"}, .different = 2},
    {.name = "... and one twice", .names = {"AB", "IV", "AB"}, .different = 2},
    {.name = "asked meanwhile", .names = {"AB", "ab"}, .different = 1, .asks = true},
    {.name = "asked meanwhile, names of one place",
     .names = {"AB", "IV"},
     .different = 2,
     .asks = true},
};

static void test_a_name_has_one_page(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const explore_scenario_t scenario = {
            .name = cases[i].name, .begin = begin, .end = end, .data = &cases[i]};
        shim_expect(&scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_has_one_page),
    };
    return cmocka_run_group_tests_name("interleave/book", tests, NULL, NULL);
}
