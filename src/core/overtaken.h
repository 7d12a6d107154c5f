/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_OVERTAKEN_H
#define SHOAL_CORE_OVERTAKEN_H

/*
 * Which commands of a client have lost their place.  A server refuses a command, for now or
 * because another server has its slot, and executes a later one that was in flight behind it.
 * Such a pair has an order only if it has a key in common, or if none has a key.
 *
 * For each key the youngest command is noted that overtook any, by its ticket.  A command that
 * was refused before, and whose result comes behind that note, was overtaken if it is older.
 * Keys have 12 bits: some others count as the same.  Without memory for the notes all do.
 * Tickets of the loop's thread and those of others are not compared.
 */

#include "core/request.h"
#include <stdbool.h>

typedef struct shoal__overtaken {
    uint64_t *until; /* tickets of both kinds, by key, the last one for no key; NULL:
                           nothing was noted */
    uint64_t all_until[2]; /* there was no memory: of every key; 0: there was */
} shoal__overtaken_t;

void shoal__overtaken_release(shoal__overtaken_t *overtaken);

/* The slot of a command, of which the log has these bytes; or SHOAL__SLOT_NONE. */
unsigned shoal__request_slot(const shoal__request_t *request, const char *bytes);

/* The command was executed, or may have been, although an earlier one was refused. */
void shoal__overtaken_note(shoal__overtaken_t *overtaken,
                           const shoal__request_t *request, const char *bytes);

/* Has one of those overtaken this command, which was refused? */
bool shoal__overtaken_has(const shoal__overtaken_t *overtaken,
                          const shoal__request_t *request, const char *bytes);

#endif
