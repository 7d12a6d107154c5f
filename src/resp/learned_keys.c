/* SPDX-License-Identifier: MIT */
#include "resp/learned_keys.h"

/* Numbers of arguments, and sums of them, are smaller. */
#define NUMBER_MAX INT32_MAX

typedef struct walk {
    shoal__arguments_t arguments; /* at the beginning */
    int64_t count;                /* of them */
    shoal__keys_fn on_key;
    void *data;
} walk_t;

static const shoal__learned_entry_t first_argument = {
    .specs_count = 1, .specs = {{.from = 1, .step = 1}}};

/* False: there is no such argument. */
static bool argument_at(const walk_t *walk, int64_t at, shoal__bytes_t *ret)
{
    shoal__arguments_t arguments = walk->arguments;

    if (at < 0 || at >= walk->count)
        return false;
    while (shoal__arguments_next(&arguments, ret))
        if (at-- == 0)
            return true;
    return false;
}

/* Behind the word; -1: it is not there. */
static int64_t find_word(const walk_t *walk, const shoal__learned_spec_t *spec)
{
    shoal__arguments_t arguments = walk->arguments;
    int64_t least = spec->from > 0 ? spec->from : 1, found = -1;
    int64_t most = spec->from > 0 ? walk->count - 1 : walk->count + spec->from;
    shoal__bytes_t argument;

    for (int64_t at = 0; at <= most && shoal__arguments_next(&arguments, &argument);
         at++) {
        if (at < least || !shoal__bytes_is_word(argument, spec->keyword))
            continue;
        found = at + 1;
        if (spec->from > 0)
            break;
    }
    return found;
}

/* False: that is no number. */
static bool read_number(shoal__bytes_t text, int64_t *ret_number)
{
    *ret_number = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || *ret_number > NUMBER_MAX / 20)
            return false;
        *ret_number = *ret_number * 10 + (text.data[i] - '0');
    }
    return text.bytes > 0;
}

/* The ends of the keys.  False: the command is wrong, as its server will say. */
static bool find_ends(const walk_t *walk, const shoal__learned_spec_t *spec,
                      int64_t *ret_first, int64_t *ret_last)
{
    int64_t begin = spec->keyword[0] ? find_word(walk, spec) : spec->from, keys;
    int64_t rest = walk->count - begin;
    shoal__bytes_t number;

    if (begin < 1 || rest < 1)
        return false;
    *ret_first = begin;
    if (spec->is_counted) {
        if (!argument_at(walk, begin + spec->count_at, &number) ||
            !read_number(number, &keys))
            return false;
        *ret_first = begin + spec->first;
        *ret_last = *ret_first + (keys - 1) * spec->step;
    } else if (spec->last >= 0) {
        *ret_last = begin + spec->last;
    } else {
        *ret_last = begin + (spec->limit > 1 ? rest / spec->limit : rest) + spec->last;
    }
    return *ret_last >= *ret_first && *ret_last < walk->count;
}

static void show(const walk_t *walk, const shoal__learned_spec_t *spec)
{
    shoal__arguments_t arguments = walk->arguments;
    shoal__bytes_t argument;
    int64_t first, last;

    if (!find_ends(walk, spec, &first, &last))
        return;
    for (int64_t at = 0; at <= last && shoal__arguments_next(&arguments, &argument);
         at++)
        if (at >= first && (at - first) % spec->step == 0)
            walk->on_key(walk->data, argument);
}

static const shoal__learned_entry_t *entry_of(const walk_t *walk,
                                              const shoal__learned_t *learned)
{
    shoal__bytes_t word;

    if (!learned)
        return &first_argument;
    if (learned->count > 1 && argument_at(walk, 1, &word))
        for (size_t i = 1; i < learned->count; i++)
            if (shoal__bytes_is_word(word, learned->entries[i].name))
                return &learned->entries[i];
    return &learned->entries[0];
}

void shoal__learned_keys(const shoal__learned_t *learned, shoal__arguments_t arguments,
                         shoal__keys_fn on_key, void *data)
{
    const walk_t walk = {arguments, (int64_t)arguments.count, on_key, data};
    const shoal__learned_entry_t *entry = entry_of(&walk, learned);

    for (unsigned i = 0; i < entry->specs_count; i++)
        show(&walk, &entry->specs[i]);
}
