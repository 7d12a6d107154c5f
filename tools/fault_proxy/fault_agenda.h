/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAULT_AGENDA_H
#define SHOAL_TOOLS_FAULT_AGENDA_H

/* Which of many is due next: a binary heap that knows where each entry stands. */

#include <stddef.h>
#include <stdint.h>

typedef struct fault_agenda_entry {
    uint64_t due_ns;
    void *owner;
    size_t place; /* in the heap, from 1; 0: not in it */
} fault_agenda_entry_t;

typedef struct fault_agenda {
    fault_agenda_entry_t **entries;
    size_t count, capacity;
} fault_agenda_t;

void fault_agenda_release(fault_agenda_t *agenda);

/* Put in, move, or with UINT64_MAX take out. */
void fault_agenda_set(fault_agenda_t *agenda, fault_agenda_entry_t *entry,
                      uint64_t due_ns);
/* The one that is due first, or NULL. */
fault_agenda_entry_t *fault_agenda_first(const fault_agenda_t *agenda);

#endif
