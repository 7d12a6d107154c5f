/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_COMMAND_BOOK_H
#define SHOAL_RESP_COMMAND_BOOK_H

/*
 * What servers told of commands that are not in the library's table.  The first look for a name
 * makes it one that is wanted; one thread asks a server, and writes the answer.
 *
 * Nothing is forgotten or changed before the release, so readers need no lock.  There is room for
 * 256 names; others are never known.
 *
 * Threads: any may look; one at a time does the rest.
 */

#include "resp/learned_keys.h"
#include <stdatomic.h>

#define SHOAL__BOOK_NAMES_MAX 256
#define SHOAL__BOOK_NAME_BYTES 64
#define SHOAL__BOOK_BYTES_MAX 262144 /* of answers, about */
#define SHOAL__BOOK_PLACES 512       /* twice as many: a hash table */

typedef enum shoal__book_state {
    SHOAL__BOOK_WANTED,
    SHOAL__BOOK_ASKED,
    SHOAL__BOOK_ANSWERED
} shoal__book_state_t;

struct shoal__command_book;

typedef struct shoal__book_page {
    struct shoal__command_book *book;
    _Atomic(shoal__learned_t *) learned; /* NULL: not answered, or nobody knows */
    shoal__book_state_t state;
    char name[SHOAL__BOOK_NAME_BYTES]; /* upper case */
} shoal__book_page_t;

typedef struct shoal__command_book {
    _Atomic(shoal__book_page_t *) pages[SHOAL__BOOK_PLACES]; /* a hash table */
    _Atomic unsigned names;  /* that are there, or on their way */
    _Atomic unsigned wanted; /* that nobody has asked for */
    size_t bytes;            /* of the answers */
} shoal__command_book_t;

/* Zeroes are an empty book. */
void shoal__book_release(shoal__command_book_t *book);

/* NULL: not told yet, or nobody knows.  book NULL: no server is asked. */
const shoal__learned_t *shoal__book_look(shoal__command_book_t *book,
                                         shoal__bytes_t name);

/* Is there a name to be asked for? */
static inline bool shoal__book_wants(const shoal__command_book_t *book)
{
    return atomic_load_explicit(&book->wanted, memory_order_relaxed) > 0;
}

/* It is being asked for from now on.  NULL: there is none. */
shoal__book_page_t *shoal__book_ask(shoal__command_book_t *book);
/* No answer came: ask again. */
void shoal__book_ask_again(shoal__book_page_t *page);
/* The answer, which is moved in; NULL: nobody knows. */
void shoal__book_answer(shoal__book_page_t *page, shoal__learned_t *learned);

#endif
