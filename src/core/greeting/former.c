/* SPDX-License-Identifier: MIT */
#include "core/greeting/former.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/hash.h"
#include <string.h>

void shoal__former_init(shoal__former_t *former)
{
    *former = (shoal__former_t){0};
}

/* ---- identities ---- */

/* The value behind `key` in `text`, whose words (or lines) are separated by any byte of
 * `separators`.  The key begins a word, so that "laddr=" is not "addr=". */
static shoal__bytes_t value_of(const char *text, uint64_t bytes, const char *key,
                               const char *separators)
{
    const char *end = text + bytes;
    size_t key_bytes = strlen(key);

    for (const char *word = text; word < end;) {
        const char *stop = word;
        while (stop < end && !strchr(separators, *stop))
            stop++;
        if ((size_t)(stop - word) > key_bytes && memcmp(word, key, key_bytes) == 0)
            return (shoal__bytes_t){word + key_bytes,
                                    (size_t)(stop - word) - key_bytes};
        word = stop < end ? stop + 1 : end;
    }
    return (shoal__bytes_t){"", 0};
}

/* Text that is sent back to the server: printable, and it fits. */
static bool keep(char *to, size_t room, shoal__bytes_t value)
{
    to[0] = '\0';
    if (value.bytes == 0 || value.bytes >= room)
        return false;
    for (size_t i = 0; i < value.bytes; i++)
        if (value.data[i] <= ' ' || value.data[i] > '~')
            return false;
    memcpy(to, value.data, value.bytes);
    to[value.bytes] = '\0';
    return true;
}

bool shoal__identity_read(shoal__identity_t *identity, const char *text, uint64_t bytes)
{
    shoal__bytes_t id = value_of(text, bytes, "id=", " \r\n");
    int64_t number = 0;

    identity->id = 0;
    identity->address[0] = '\0';
    if (id.bytes == 0 || id.bytes > 18)
        return false;
    for (size_t i = 0; i < id.bytes; i++) {
        if (id.data[i] < '0' || id.data[i] > '9')
            return false;
        number = number * 10 + (id.data[i] - '0');
    }
    if (!keep(identity->address, sizeof identity->address,
              value_of(text, bytes, "addr=", " \r\n")))
        return false;
    identity->id = number;
    return number > 0;
}

bool shoal__identity_read_process(shoal__identity_t *identity, const char *text,
                                  uint64_t bytes)
{
    return keep(identity->process, sizeof identity->process,
                value_of(text, bytes, "run_id:", "\r\n"));
}

uint64_t shoal__identity_number(const shoal__identity_t *identity, uint64_t otherwise)
{
    const shoal__bytes_t process = {identity->process, strlen(identity->process)};

    return process.bytes > 0 ? shoal__hash(process, 0) : otherwise;
}

/* ---- the list ---- */

static void give_back(shoal__former_t *former)
{
    shoal__free(former->entries);
    former->entries = NULL;
}

void shoal__former_release(shoal__former_t *former)
{
    give_back(former);
    former->count = 0;
}

static void drop(shoal__former_t *former, unsigned index)
{
    former->count--;
    memmove(&former->entries[index], &former->entries[index + 1],
            (former->count - index) * sizeof former->entries[0]);
}

static bool is_nameless(const shoal__identity_t *identity)
{
    return identity->id == 0 || identity->address[0] == '\0';
}

static void forget_name(shoal__former_entry_t *entry)
{
    entry->identity.id = 0;
    entry->identity.address[0] = '\0';
    entry->elsewhere = SHOAL__FORMER_IN_VAIN;
}

/* The first entry of this process, which is known, from `index` on; former->count: there is
 * none. */
static unsigned find_process(const shoal__former_t *former, unsigned index,
                             const char *process)
{
    while (index < former->count && !shoal__former_is_on(former, index, process))
        index++;
    return index;
}

static bool has_nameless(const shoal__former_t *former, const char *process)
{
    for (unsigned i = 0; i < former->count; i++)
        if (former->entries[i].identity.id == 0 &&
            shoal__former_is_on(former, i, process))
            return true;
    return false;
}

/* Of two entries of one process the older one becomes nameless, and stands for both.
 * False: no process has two. */
static bool make_room(shoal__former_t *former)
{
    for (unsigned i = 0; i < former->count; i++) {
        shoal__former_entry_t *entry = &former->entries[i];
        unsigned other = find_process(former, i + 1, entry->identity.process);
        if (other == former->count)
            continue;
        forget_name(entry);
        drop(former, other);
        return true;
    }
    return false;
}

void shoal__former_add(shoal__former_t *former, const shoal__identity_t *identity)
{
    shoal__former_entry_t entry = {.identity = *identity};

    if (is_nameless(identity)) {
        if (has_nameless(former, identity->process))
            return;
        forget_name(&entry);
    }
    if (!former->entries)
        former->entries = shoal__calloc(SHOAL__FORMER_MAX, sizeof *former->entries);
    if (!former->entries || (is_nameless(identity) && !identity->process[0])) {
        former->has_lost_track = true;
        return;
    }
    if (former->count == SHOAL__FORMER_MAX && !make_room(former)) {
        former->has_lost_track = true;
        drop(former, 0);
    }
    former->entries[former->count++] = entry;
}

void shoal__former_begin(shoal__former_t *former)
{
    for (unsigned i = 0; i < former->count; i++)
        former->entries[i].verdict = SHOAL__FORMER_UNPROVED;
}

void shoal__former_answer(shoal__former_t *former, unsigned index, int64_t killed)
{
    if (killed >= 0 && index < former->count)
        former->entries[index].verdict =
            killed > 0 ? SHOAL__FORMER_KILLED : SHOAL__FORMER_ABSENT;
}

static bool is_other_process(const shoal__identity_t *identity, const char *process)
{
    return process[0] && identity->process[0] &&
           strcmp(process, identity->process) != 0;
}

/* All connections to a Unix socket have the same address, so that only the id, which is
 * given out again after a restart, tells them apart. */
static bool has_own_address(const shoal__identity_t *identity)
{
    size_t bytes = strlen(identity->address);

    return bytes < 2 || strcmp(identity->address + bytes - 2, ":0") != 0;
}

bool shoal__former_may_be_on(const shoal__former_t *former, unsigned index,
                             const char *process)
{
    const shoal__identity_t *identity = &former->entries[index].identity;
    bool is_known = process[0] && identity->process[0];

    return is_known ? !is_other_process(identity, process) : has_own_address(identity);
}

bool shoal__former_may_be_ended(const shoal__former_t *former, unsigned index,
                                const char *process)
{
    return !is_nameless(&former->entries[index].identity) &&
           shoal__former_may_be_on(former, index, process);
}

bool shoal__former_is_on(const shoal__former_t *former, unsigned index,
                         const char *process)
{
    return process[0] && strcmp(former->entries[index].identity.process, process) == 0;
}

/* Entries of different processes may have the same id; only one is asked for. */
static unsigned find_asked(const shoal__former_t *former, int64_t id)
{
    unsigned index = 0;

    while (index < former->count &&
           (former->entries[index].identity.id != id ||
            former->entries[index].elsewhere != SHOAL__FORMER_ASKED))
        index++;
    return index;
}

void shoal__former_ended(shoal__former_t *former, int64_t id, int64_t killed)
{
    unsigned index = find_asked(former, id);

    if (index == former->count)
        return;
    if (killed < 0)
        former->entries[index].elsewhere = SHOAL__FORMER_IN_VAIN;
    else
        drop(former, index);
    if (former->count == 0)
        give_back(former);
}

void shoal__former_put_off(shoal__former_t *former, int64_t id)
{
    unsigned index = find_asked(former, id);

    if (index < former->count)
        former->entries[index].elsewhere = SHOAL__FORMER_NOT_ASKED;
}

bool shoal__former_conclude(shoal__former_t *former, const char *process)
{
    bool is_settled = !former->has_lost_track;

    for (unsigned i = 0; i < former->count;) {
        shoal__former_entry_t *entry = &former->entries[i];
        bool is_known = process[0] && entry->identity.process[0];

        if (is_other_process(&entry->identity, process)) {
            /* The lost connection cannot run anything on this process.  The first
             * connection to this process is not settled, later ones need not doubt.
             * The entry stays, because its own process may be met again. */
            is_settled = is_settled && strcmp(entry->missed_on, process) == 0;
            memcpy(entry->missed_on, process, strlen(process) + 1);
            i++;
        } else if (entry->verdict == SHOAL__FORMER_KILLED ||
                   (entry->verdict == SHOAL__FORMER_ABSENT && is_known)) {
            drop(former, i);
        } else {
            is_settled = false;
            i++;
        }
    }
    if (former->count == 0)
        give_back(former);
    return is_settled;
}
