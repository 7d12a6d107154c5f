/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fault_agenda.h"

#include "fault_proxy/fake_bytes.h"

#include <stdlib.h>

#define ENTRIES_MIN 64u

void fault_agenda_release(fault_agenda_t *agenda)
{
    free(agenda->entries);
    *agenda = (fault_agenda_t){0};
}

static void put(fault_agenda_t *agenda, size_t place, fault_agenda_entry_t *entry)
{
    agenda->entries[place - 1] = entry;
    entry->place = place;
}

static fault_agenda_entry_t *at(const fault_agenda_t *agenda, size_t place)
{
    return agenda->entries[place - 1];
}

static void rise(fault_agenda_t *agenda, fault_agenda_entry_t *entry)
{
    size_t place = entry->place;

    while (place > 1 && at(agenda, place / 2)->due_ns > entry->due_ns) {
        put(agenda, place, at(agenda, place / 2));
        place /= 2;
    }
    put(agenda, place, entry);
}

static void sink(fault_agenda_t *agenda, fault_agenda_entry_t *entry)
{
    size_t place = entry->place;

    for (size_t child; (child = place * 2) <= agenda->count; place = child) {
        if (child < agenda->count &&
            at(agenda, child + 1)->due_ns < at(agenda, child)->due_ns)
            child++;
        if (at(agenda, child)->due_ns >= entry->due_ns)
            break;
        put(agenda, place, at(agenda, child));
    }
    put(agenda, place, entry);
}

static void take_out(fault_agenda_t *agenda, fault_agenda_entry_t *entry)
{
    size_t place = entry->place;
    fault_agenda_entry_t *last = at(agenda, agenda->count--);

    entry->place = 0;
    if (last == entry)
        return;
    put(agenda, place, last);
    rise(agenda, last);
    sink(agenda, last);
}

void fault_agenda_set(fault_agenda_t *agenda, fault_agenda_entry_t *entry,
                      uint64_t due_ns)
{
    entry->due_ns = due_ns;
    if (due_ns == UINT64_MAX) {
        if (entry->place > 0)
            take_out(agenda, entry);
        return;
    }
    if (entry->place == 0) {
        if (agenda->count == agenda->capacity) {
            agenda->capacity = agenda->capacity ? agenda->capacity * 2 : ENTRIES_MIN;
            agenda->entries = fake_must(
                realloc(agenda->entries, agenda->capacity * sizeof *agenda->entries));
        }
        put(agenda, ++agenda->count, entry);
    }
    rise(agenda, entry);
    sink(agenda, entry);
}

fault_agenda_entry_t *fault_agenda_first(const fault_agenda_t *agenda)
{
    return agenda->count > 0 ? at(agenda, 1) : NULL;
}
