/* SPDX-License-Identifier: MIT */
#include "resp/command_book.h"

#include "base/alloc.h"

void shoal__book_release(shoal__command_book_t *book)
{
    for (size_t i = 0; i < SHOAL__BOOK_PLACES; i++) {
        shoal__book_page_t *page = atomic_load(&book->pages[i]);
        if (page)
            shoal__free(atomic_load(&page->learned));
        shoal__free(page);
    }
}

/* ---- looking ---- */

static char upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

/* FNV-1a, folded. */
static size_t place_of(shoal__bytes_t name)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < name.bytes; i++)
        hash = (hash ^ (unsigned char)upper(name.data[i])) * 16777619u;
    return (hash ^ (hash >> 16)) % SHOAL__BOOK_PLACES;
}

static shoal__book_page_t *page_at(shoal__command_book_t *book, size_t place)
{
    return atomic_load_explicit(&book->pages[place], memory_order_acquire);
}

/* The name's page, or the place where it belongs: it is empty. */
static shoal__book_page_t *find(shoal__command_book_t *book, shoal__bytes_t name,
                                size_t *ret_place)
{
    size_t place = place_of(name);
    shoal__book_page_t *page = page_at(book, place);

    while (page && !shoal__bytes_is_word(name, page->name)) {
        place = (place + 1) % SHOAL__BOOK_PLACES;
        page = page_at(book, place);
    }
    *ret_place = place;
    return page;
}

/* Blanks and control characters are in no command's name. */
static bool is_name(shoal__bytes_t name)
{
    for (size_t i = 0; i < name.bytes; i++)
        if (name.data[i] <= ' ' || name.data[i] > '~')
            return false;
    return name.bytes > 0 && name.bytes < SHOAL__BOOK_NAME_BYTES;
}

static shoal__book_page_t *new_page(shoal__command_book_t *book, shoal__bytes_t name)
{
    shoal__book_page_t *page = shoal__calloc(1, sizeof *page);

    for (size_t i = 0; page && i < name.bytes; i++)
        page->name[i] = upper(name.data[i]);
    if (page)
        page->book = book;
    return page;
}

/* Other threads may want the same name, or another one that has the same place. */
static void want(shoal__command_book_t *book, shoal__bytes_t name, size_t place)
{
    shoal__book_page_t *page = NULL, *there = NULL;

    if (atomic_fetch_add(&book->names, 1) < SHOAL__BOOK_NAMES_MAX)
        page = new_page(book, name);
    if (page) {
        atomic_fetch_add(&book->wanted, 1);
        while (!atomic_compare_exchange_strong(&book->pages[place], &there, page)) {
            there = find(book, name, &place);
            if (there)
                break;
        }
    }
    if (page && !there)
        return;
    if (page)
        atomic_fetch_sub(&book->wanted, 1);
    atomic_fetch_sub(&book->names, 1);
    shoal__free(page);
}

const shoal__learned_t *shoal__book_look(shoal__command_book_t *book,
                                         shoal__bytes_t name)
{
    shoal__book_page_t *page;
    size_t place;

    if (!book || !is_name(name))
        return NULL;
    page = find(book, name, &place);
    if (page)
        return atomic_load_explicit(&page->learned, memory_order_acquire);
    if (atomic_load(&book->names) < SHOAL__BOOK_NAMES_MAX)
        want(book, name, place);
    return NULL;
}

/* ---- asking ---- */

shoal__book_page_t *shoal__book_ask(shoal__command_book_t *book)
{
    for (size_t i = 0; i < SHOAL__BOOK_PLACES; i++) {
        shoal__book_page_t *page = page_at(book, i);
        if (!page || page->state != SHOAL__BOOK_WANTED)
            continue;
        page->state = SHOAL__BOOK_ASKED;
        atomic_fetch_sub(&book->wanted, 1);
        return page;
    }
    return NULL;
}

void shoal__book_ask_again(shoal__book_page_t *page)
{
    page->state = SHOAL__BOOK_WANTED;
    atomic_fetch_add(&page->book->wanted, 1);
}

void shoal__book_answer(shoal__book_page_t *page, shoal__learned_t *learned)
{
    shoal__command_book_t *book = page->book;
    size_t bytes = learned ? learned->count * sizeof *learned->entries : 0;

    page->state = SHOAL__BOOK_ANSWERED;
    if (bytes > SHOAL__BOOK_BYTES_MAX - book->bytes) {
        shoal__free(learned);
        return;
    }
    book->bytes += bytes;
    atomic_store_explicit(&page->learned, learned, memory_order_release);
}
