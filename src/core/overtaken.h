/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_OVERTAKEN_H
#define SHOAL_CORE_OVERTAKEN_H

/*
 * Which commands of a client have lost their place.  A server refuses a command, for now or
 * because another server has its slot; and a server executes a later one, before the refused
 * one has its result.  Such a pair has an order only if it has a key in common, or if none has
 * a key.
 *
 * While a refused command has no result, what is executed is noted: for each key the youngest
 * one, by its ticket.  A refused command whose result comes behind that note was overtaken, if
 * it is older.
 * Keys have 12 bits: some others count as the same.  Without memory for the notes all do.
 * Tickets of the loop's thread and those of others are not compared.
 */

#include "core/request.h"
#include "resp/command_book.h"
#include <stdbool.h>

typedef struct shoal__overtaken {
    uint64_t *until; /* tickets of both kinds, by key, the last one for no key; NULL:
                           nothing was noted */
    uint64_t all_until[2]; /* there was no memory: of every key; 0: there was */
    uint64_t refused_now; /* commands of the user that were refused, without a result */
    shoal__command_book_t *book; /* as resp/command_slot.h says; borrowed */
} shoal__overtaken_t;

void shoal__overtaken_release(shoal__overtaken_t *overtaken);

/* The slot of a command, of which the log has these bytes; or SHOAL__SLOT_NONE. */
unsigned shoal__request_slot(const shoal__request_t *request, const char *bytes,
                             shoal__command_book_t *book);

/* A server refuses the command, and it goes again; or it waits, because the server refuses
 * others, and some of those behind it do not wait. */
void shoal__overtaken_refused(shoal__overtaken_t *overtaken, shoal__request_t *request);
/* A command has its result. */
static inline void shoal__overtaken_ended(shoal__overtaken_t *overtaken,
                                          const shoal__request_t *request)
{
    overtaken->refused_now -= request->was_refused;
}

/* The command was executed, or may have been: before those that were refused. */
void shoal__overtaken_note(shoal__overtaken_t *overtaken,
                           const shoal__request_t *request, const char *bytes);

/* Has one of those overtaken this command, which was refused?  Not one that has its result. */
bool shoal__overtaken_has(const shoal__overtaken_t *overtaken,
                          const shoal__request_t *request, const char *bytes);

#endif
