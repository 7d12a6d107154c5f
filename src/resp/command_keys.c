/* SPDX-License-Identifier: MIT */
#include "resp/command_keys.h"

#include <limits.h>

/* Commands of which an argument says how many keys follow it. */
static const struct counted {
    const char *name;
    unsigned at; /* that argument */
} counted[] = {
    {"EVAL", 2},        {"EVALSHA", 2},    {"EVAL_RO", 2},    {"EVALSHA_RO", 2},
    {"FCALL", 2},       {"FCALL_RO", 2},   {"ZUNION", 1},     {"ZINTER", 1},
    {"ZDIFF", 1},       {"ZINTERCARD", 1}, {"SINTERCARD", 1}, {"LMPOP", 1},
    {"ZMPOP", 1},       {"BLMPOP", 2},     {"BZMPOP", 2},     {"ZUNIONSTORE", 2},
    {"ZINTERSTORE", 2}, {"ZDIFFSTORE", 2},
};

/* Commands whose second word says what they do, to the key behind it. */
static const char *const containers[] = {"OBJECT", "MEMORY", "XGROUP", "XINFO"};

/* ---- arguments ---- */

typedef struct arguments {
    const char *at, *end;
    unsigned count; /* in all */
} arguments_t;

/* "<mark>123\r\n".  False: it is not that. */
static bool read_count(arguments_t *arguments, char mark, size_t *ret_count)
{
    const char *at = arguments->at;
    size_t count = 0;

    if (at == arguments->end || *at++ != mark || at == arguments->end)
        return false;
    for (; at != arguments->end && *at >= '0' && *at <= '9'; at++) {
        if (count > UINT32_MAX / 10)
            return false;
        count = count * 10 + (size_t)(*at - '0');
    }
    if (arguments->end - at < 2 || at[0] != '\r' || at[1] != '\n')
        return false;
    arguments->at = at + 2;
    *ret_count = count;
    return true;
}

static bool next_argument(arguments_t *arguments, shoal__bytes_t *ret)
{
    const char *behind;
    size_t bytes;

    if (!read_count(arguments, '$', &bytes) ||
        bytes > (size_t)(arguments->end - arguments->at) ||
        (size_t)(arguments->end - arguments->at) - bytes < 2)
        return false;
    behind = arguments->at + bytes;
    if (behind[0] != '\r' || behind[1] != '\n')
        return false;
    *ret = (shoal__bytes_t){arguments->at, bytes};
    arguments->at = behind + 2;
    return true;
}

/* ---- where the keys are ---- */

/* Which arguments are keys: first, first + step ... last; and those that a count
 * announces. */
typedef struct places {
    unsigned first, last, step; /* first 0: none */
    unsigned count_at;          /* 0: no argument counts keys */
} places_t;

static unsigned find_count(const shoal__command_info_t *info)
{
    shoal__bytes_t name = {info->name, info->name_bytes};

    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (shoal__bytes_is_word(name, counted[i].name))
            return counted[i].at;
    return 0;
}

static bool is_container(const shoal__command_info_t *info)
{
    shoal__bytes_t name = {info->name, info->name_bytes};

    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
        if (shoal__bytes_is_word(name, containers[i]))
            return true;
    return false;
}

/* What the table says; ANY: nothing that helps. */
static shoal__keys_kind_t find_places(const shoal__command_info_t *info, unsigned count,
                                      places_t *places)
{
    if (!info)
        return SHOAL__KEYS_ANY;
    if (info->flags & SHOAL__COMMAND_MOVABLEKEYS) {
        places->count_at = find_count(info);
        /* SORT may name others behind its key. */
        if (places->count_at == 0 && (info->first_key != 1 || count > 2))
            return SHOAL__KEYS_ANY;
    }
    if (info->first_key > 0) {
        places->first = (unsigned)info->first_key;
        places->step = info->step > 0 ? (unsigned)info->step : 1;
        places->last = info->last_key >= 0 ? (unsigned)info->last_key
                                           : count - (unsigned)-info->last_key;
    } else if (is_container(info) && count > 2) {
        places->first = places->last = 2;
        places->step = 1;
    } else if (places->count_at == 0) {
        /* Without a key, it writes everywhere: FLUSHALL. */
        return info->flags & SHOAL__COMMAND_WRITE ? SHOAL__KEYS_ANY : SHOAL__KEYS_NONE;
    }
    return SHOAL__KEYS_SOME;
}

static bool is_key(const places_t *places, unsigned at)
{
    return places->first > 0 && at >= places->first && at <= places->last &&
           (at - places->first) % places->step == 0;
}

/* False: that is no number. */
static bool read_number(shoal__bytes_t text, unsigned *ret_number)
{
    *ret_number = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || *ret_number > UINT_MAX / 20)
            return false;
        *ret_number = *ret_number * 10 + (unsigned)(text.data[i] - '0');
    }
    return text.bytes > 0;
}

/* Walk through the arguments behind the name. */
static shoal__keys_kind_t walk(arguments_t *arguments, places_t places,
                               shoal__keys_fn on_key, void *data)
{
    unsigned counted_to = 0; /* the last argument that a count announced */
    unsigned number;
    shoal__bytes_t argument;

    for (unsigned at = 1; at < arguments->count; at++) {
        bool is_counted = places.count_at > 0 && at > places.count_at;
        if (is_counted ? at > counted_to : !places.count_at && at > places.last)
            return SHOAL__KEYS_SOME;
        if (!next_argument(arguments, &argument))
            return SHOAL__KEYS_ANY;
        if (is_counted || is_key(&places, at))
            on_key(data, argument);
        if (at != places.count_at)
            continue;
        /* A script without declared keys may touch any. */
        if (!read_number(argument, &number) || number == 0 ||
            number >= arguments->count - at)
            return SHOAL__KEYS_ANY;
        counted_to = at + number;
    }
    return SHOAL__KEYS_SOME;
}

shoal__command_keys_t shoal__command_keys(shoal__bytes_t encoded, shoal__keys_fn on_key,
                                          void *data)
{
    shoal__command_keys_t keys = {.kind = SHOAL__KEYS_ANY};
    arguments_t arguments = {encoded.data, encoded.data + encoded.bytes, 0};
    places_t places = {0};
    size_t count;

    if (!read_count(&arguments, '*', &count) || count == 0 || count > INT_MAX ||
        !next_argument(&arguments, &keys.name))
        return keys;
    arguments.count = (unsigned)count;
    keys.info = shoal__command_info_find(keys.name);
    keys.kind = find_places(keys.info, arguments.count, &places);
    if (keys.kind == SHOAL__KEYS_SOME)
        keys.kind = walk(&arguments, places, on_key, data);
    return keys;
}
