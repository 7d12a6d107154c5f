/* SPDX-License-Identifier: MIT */
#include "resp/command_answer.h"

#include "base/alloc.h"

#define SUBCOMMANDS_MAX 64
#define POSITION_MAX 65536 /* of an argument, either way */

/* Where the fields of an entry stand. */
enum { NAME, ARITY, FLAGS, FIRST, LAST, STEP, CATEGORIES, TIPS, SPECS, SUBCOMMANDS };

static shoal__bytes_t text_of(const shoal_reply_t *reply)
{
    size_t bytes = 0;
    const char *data = shoal_reply_string(reply, &bytes);

    return (shoal__bytes_t){data, data ? bytes : 0};
}

static bool is_text(const shoal_reply_t *reply, const char *text)
{
    return shoal__bytes_equal(text_of(reply), (shoal__bytes_t){text, strlen(text)});
}

/* A map, or a list of the same words and values; NULL: it has no such word. */
static const shoal_reply_t *value_of(const shoal_reply_t *map, const char *word)
{
    for (size_t i = 0; i + 1 < shoal_reply_count(map); i += 2)
        if (is_text(shoal_reply_at(map, i), word))
            return shoal_reply_at(map, i + 1);
    return NULL;
}

static bool has_word(const shoal_reply_t *words, const char *word)
{
    for (size_t i = 0; i < shoal_reply_count(words); i++)
        if (is_text(shoal_reply_at(words, i), word))
            return true;
    return false;
}

/* False: it is none, or none that makes sense. */
static bool read_number(const shoal_reply_t *reply, int least, int *ret_number)
{
    int64_t number = shoal_reply_integer(reply);

    if (shoal_reply_type(reply) != SHOAL_REPLY_INTEGER || number < least ||
        number > POSITION_MAX)
        return false;
    *ret_number = (int)number;
    return true;
}

/* In upper case.  False: it does not fit, or is no word. */
static bool read_word(shoal__bytes_t text, char word[SHOAL__LEARNED_WORD_BYTES])
{
    if (text.bytes == 0 || text.bytes >= SHOAL__LEARNED_WORD_BYTES)
        return false;
    for (size_t i = 0; i < text.bytes; i++) {
        char c = text.data[i];
        if (c <= ' ' || c > '~')
            return false;
        word[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    word[text.bytes] = '\0';
    return true;
}

/* ---- one specification ---- */

/* Where the keys begin. */
static bool read_begin(const shoal_reply_t *begin, shoal__learned_spec_t *spec)
{
    const shoal_reply_t *kind = value_of(begin, "type");
    const shoal_reply_t *how = value_of(begin, "spec");

    if (is_text(kind, "index"))
        return read_number(value_of(how, "index"), 1, &spec->from);
    return is_text(kind, "keyword") &&
           read_word(text_of(value_of(how, "keyword")), spec->keyword) &&
           read_number(value_of(how, "startfrom"), -POSITION_MAX, &spec->from) &&
           spec->from != 0;
}

/* Which ones they are. */
static bool read_find(const shoal_reply_t *find, shoal__learned_spec_t *spec)
{
    const shoal_reply_t *kind = value_of(find, "type");
    const shoal_reply_t *how = value_of(find, "spec");

    spec->is_counted = is_text(kind, "keynum");
    if (spec->is_counted)
        return read_number(value_of(how, "keynumidx"), 0, &spec->count_at) &&
               read_number(value_of(how, "firstkey"), 0, &spec->first) &&
               read_number(value_of(how, "keystep"), 1, &spec->step);
    return is_text(kind, "range") &&
           read_number(value_of(how, "lastkey"), -POSITION_MAX, &spec->last) &&
           read_number(value_of(how, "keystep"), 1, &spec->step) &&
           read_number(value_of(how, "limit"), 0, &spec->limit);
}

/* False: it does not say all. */
static bool read_spec(const shoal_reply_t *map, bool is_movable,
                      shoal__learned_spec_t *spec)
{
    const shoal_reply_t *flags = value_of(map, "flags");

    *spec = (shoal__learned_spec_t){.step = 1};
    if (has_word(flags, "incomplete") ||
        (is_movable && has_word(flags, "variable_flags")))
        return false;
    return read_begin(value_of(map, "begin_search"), spec) &&
           read_find(value_of(map, "find_keys"), spec);
}

/* ---- an entry ---- */

static bool read_specs(const shoal_reply_t *specs, bool is_movable,
                       shoal__learned_entry_t *entry)
{
    size_t count = shoal_reply_count(specs);

    if (count == 0 || count > SHOAL__LEARNED_SPECS_MAX)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!read_spec(shoal_reply_at(specs, i), is_movable, &entry->specs[i]))
            return false;
    entry->specs_count = (unsigned)count;
    return true;
}

/* The fields that all servers have: the arguments first, first + step ... last. */
static bool read_place(const shoal_reply_t *reply, bool is_movable,
                       shoal__learned_entry_t *entry)
{
    shoal__learned_spec_t spec = {.from = 0};

    if (!read_number(shoal_reply_at(reply, FIRST), 0, &spec.from) ||
        !read_number(shoal_reply_at(reply, LAST), -POSITION_MAX, &spec.last) ||
        !read_number(shoal_reply_at(reply, STEP), 0, &spec.step))
        return false;
    if (spec.from == 0 && is_movable)
        spec = (shoal__learned_spec_t){.from = 1, .last = 1}; /* nobody knows */
    if (spec.last > 0)
        spec.last = spec.last > spec.from ? spec.last - spec.from : 0;
    if (spec.step == 0)
        spec.step = 1;
    entry->specs[0] = spec;
    entry->specs_count = spec.from > 0;
    return true;
}

/* False: it is not understood. */
static bool read_entry(const shoal_reply_t *reply, shoal__learned_entry_t *entry)
{
    bool is_movable = has_word(shoal_reply_at(reply, FLAGS), "movablekeys");

    *entry = (shoal__learned_entry_t){.specs_count = 0};
    if (shoal_reply_type(reply) != SHOAL_REPLY_ARRAY)
        return false;
    return read_specs(shoal_reply_at(reply, SPECS), is_movable, entry) ||
           read_place(reply, is_movable, entry);
}

/* "container|name".  False: it has no such name. */
static bool read_name(const shoal_reply_t *reply, shoal__learned_entry_t *entry)
{
    shoal__bytes_t text = text_of(shoal_reply_at(reply, NAME));

    for (size_t i = 0; i < text.bytes; i++)
        if (text.data[i] == '|')
            return read_word((shoal__bytes_t){text.data + i + 1, text.bytes - i - 1},
                             entry->name);
    return false;
}

shoal__learned_t *shoal__command_answer_read(const shoal_reply_t *entry)
{
    const shoal_reply_t *subcommands = shoal_reply_at(entry, SUBCOMMANDS);
    size_t count = shoal_reply_count(subcommands);
    shoal__learned_t *learned;

    if (count > SUBCOMMANDS_MAX)
        count = SUBCOMMANDS_MAX;
    learned = shoal__malloc(sizeof *learned + (1 + count) * sizeof *learned->entries);
    if (!learned)
        return NULL;
    if (!read_entry(entry, &learned->entries[0])) {
        shoal__free(learned);
        return NULL;
    }
    learned->count = 1;
    for (size_t i = 0; i < count; i++) {
        shoal__learned_entry_t *to = &learned->entries[learned->count];
        if (read_entry(shoal_reply_at(subcommands, i), to) &&
            read_name(shoal_reply_at(subcommands, i), to))
            learned->count++;
    }
    return learned;
}
