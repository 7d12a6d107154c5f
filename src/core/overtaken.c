/* SPDX-License-Identifier: MIT */
#include "core/overtaken.h"

#include "base/alloc.h"
#include "resp/command_slot.h"

#define KEYS 4096u /* a power of two; behind them: no key */
#define PLACES (KEYS + 1)

void shoal__overtaken_release(shoal__overtaken_t *overtaken)
{
    shoal__free(overtaken->until);
    *overtaken = (shoal__overtaken_t){0};
}

/* Large values are not in the log: those behind the first one cannot be read. */
static shoal__bytes_t readable(const shoal__request_t *request, const char *bytes)
{
    const shoal__values_t *values = shoal__request_values(request);
    size_t count =
        values && values->count > 0 ? values->references[0].at : request->bytes;

    return (shoal__bytes_t){bytes, count};
}

unsigned shoal__request_slot(const shoal__request_t *request, const char *bytes,
                             shoal__command_book_t *book)
{
    return shoal__encoded_slot(readable(request, bytes), book);
}

/* ---- the keys of a command ---- */

typedef struct walk {
    uint64_t *until; /* of the ticket's kind */
    shoal__command_book_t *book;
    uint64_t ticket;
    bool is_noting, has_key, was_overtaken;
} walk_t;

static void look(walk_t *walk, size_t place)
{
    uint64_t *until = &walk->until[place];

    if (walk->is_noting)
        *until = *until > walk->ticket ? *until : walk->ticket;
    else
        walk->was_overtaken |= walk->ticket < *until;
}

/* FNV-1a, folded. */
static size_t place_of(shoal__bytes_t key)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < key.bytes; i++)
        hash = (hash ^ (unsigned char)key.data[i]) * 16777619u;
    return (hash ^ (hash >> 14)) & (KEYS - 1);
}

static void look_at_key(void *data, shoal__bytes_t key)
{
    walk_t *walk = data;

    walk->has_key = true;
    look(walk, place_of(key));
}

static void look_at_all(walk_t *walk, const shoal__request_t *request,
                        const char *bytes)
{
    shoal__encoded_keys(readable(request, bytes), walk->book, look_at_key, walk);
    if (!walk->has_key)
        look(walk, KEYS);
}

static unsigned kind_of(const shoal__request_t *request)
{
    return (request->ticket & SHOAL_TICKET_OF_LOOP) != 0;
}

void shoal__overtaken_refused(shoal__overtaken_t *overtaken, shoal__request_t *request)
{
    if (request->was_refused ||
        (request->flags & (SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_GONE)))
        return;
    request->was_refused = 1;
    overtaken->refused_now++;
}

void shoal__overtaken_note(shoal__overtaken_t *overtaken,
                           const shoal__request_t *request, const char *bytes)
{
    walk_t walk = {
        .book = overtaken->book, .ticket = request->ticket, .is_noting = true};
    unsigned kind = kind_of(request);

    if (overtaken->refused_now == 0)
        return;
    if (!overtaken->until)
        overtaken->until = shoal__calloc((size_t)2 * PLACES, sizeof *overtaken->until);
    if (overtaken->until) {
        walk.until = overtaken->until + (size_t)kind * PLACES;
        look_at_all(&walk, request, bytes);
    } else if (overtaken->all_until[kind] < request->ticket) {
        overtaken->all_until[kind] = request->ticket;
    }
}

bool shoal__overtaken_has(const shoal__overtaken_t *overtaken,
                          const shoal__request_t *request, const char *bytes)
{
    walk_t walk = {.book = overtaken->book, .ticket = request->ticket};
    unsigned kind = kind_of(request);

    if (request->flags & SHOAL__REQUEST_GONE)
        return false;
    walk.was_overtaken = request->ticket < overtaken->all_until[kind];
    if (overtaken->until && !walk.was_overtaken) {
        walk.until = overtaken->until + (size_t)kind * PLACES;
        look_at_all(&walk, request, bytes);
    }
    return walk.was_overtaken;
}
