/* SPDX-License-Identifier: MIT */
#include "resp/key_spec.h"

#define VALUES SHOAL__KEY_OPTION_VALUES
#define PATTERN SHOAL__KEY_OPTION_PATTERN
#define KEY SHOAL__KEY_OPTION_KEY
#define HALF SHOAL__KEY_OPTION_HALF
#define REST SHOAL__KEY_OPTION_REST

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

static const shoal__key_options_t searched[] = {
    {"SORT",
     2,
     false,
     {{"LIMIT", VALUES, 2},
      {"GET", PATTERN, 1},
      {"BY", PATTERN, 1},
      {"STORE", KEY, 0}}},
    {"SORT_RO",
     2,
     false,
     {{"LIMIT", VALUES, 2}, {"GET", PATTERN, 1}, {"BY", PATTERN, 1}}},
    {"GEORADIUS", 6, false, {{"STORE", KEY, 0}, {"STOREDIST", KEY, 0}}},
    {"GEORADIUSBYMEMBER", 5, false, {{"STORE", KEY, 0}, {"STOREDIST", KEY, 0}}},
    {"XREAD",
     1,
     false,
     {{"BLOCK", VALUES, 1}, {"COUNT", VALUES, 1}, {"STREAMS", HALF, 0}}},
    {"XREADGROUP",
     1,
     false,
     {{"GROUP", VALUES, 2},
      {"BLOCK", VALUES, 1},
      {"COUNT", VALUES, 1},
      {"STREAMS", HALF, 0}}},
    {"MIGRATE",
     6,
     true,
     {{"AUTH", VALUES, 1}, {"AUTH2", VALUES, 2}, {"KEYS", REST, 0}}},
};

/* Commands whose second word says what they do, to the key behind it. */
static const char *const containers[] = {"OBJECT", "MEMORY", "XGROUP", "XINFO"};

static bool is_named(const shoal__command_info_t *info, const char *name)
{
    shoal__bytes_t own = {info->name, info->name_bytes};

    return shoal__bytes_is_word(own, name);
}

static bool is_container(const shoal__command_info_t *info)
{
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
        if (is_named(info, containers[i]))
            return true;
    return false;
}

/* False: nothing tells where its keys are. */
static bool find_movable(const shoal__command_info_t *info, shoal__key_spec_t *spec)
{
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (is_named(info, counted[i].name)) {
            spec->count_at = counted[i].at;
            return true;
        }
    for (size_t i = 0; i < sizeof searched / sizeof *searched; i++)
        if (is_named(info, searched[i].name)) {
            spec->options = &searched[i];
            return true;
        }
    return false;
}

shoal__keys_kind_t shoal__key_spec_find(const shoal__command_info_t *info,
                                        unsigned count, shoal__key_spec_t *spec)
{
    *spec = (shoal__key_spec_t){0};
    if (!info)
        return SHOAL__KEYS_ANY;
    if (info->flags & SHOAL__COMMAND_MOVABLEKEYS && !find_movable(info, spec))
        return SHOAL__KEYS_ANY;
    if (info->first_key > 0) {
        spec->first = (unsigned)info->first_key;
        spec->step = info->step > 0 ? (unsigned)info->step : 1;
        spec->last = info->last_key >= 0 ? (unsigned)info->last_key
                                         : count - (unsigned)-info->last_key;
    } else if (is_container(info) && count > 2) {
        spec->first = spec->last = 2;
        spec->step = 1;
    } else if (spec->count_at == 0 && !spec->options) {
        /* Without a key, it writes everywhere: FLUSHALL. */
        return info->flags & SHOAL__COMMAND_WRITE ? SHOAL__KEYS_ANY : SHOAL__KEYS_NONE;
    }
    return SHOAL__KEYS_SOME;
}
