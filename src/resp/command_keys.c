/* SPDX-License-Identifier: MIT */
#include "resp/command_keys.h"

#include "resp/arguments.h"
#include <limits.h>

/* On the way through the arguments behind the name. */
typedef struct walk {
    shoal__key_spec_t spec;
    unsigned count; /* of arguments, in all */
    unsigned at;    /* this one */
    shoal__keys_fn on_key;
    void *data;
    bool has_key;

    unsigned to;     /* keys that an argument has announced, up to this one; or 0 */
    unsigned values; /* of an option, still to come */
    bool is_pattern; /* they are one */
    bool is_open;    /* a pattern names others */
    bool is_stored;  /* the next argument is the key of an option */
} walk_t;

static void show(walk_t *walk, shoal__bytes_t key)
{
    walk->on_key(walk->data, key);
    walk->has_key = true;
}

static bool is_in_place(const walk_t *walk)
{
    const shoal__key_spec_t *spec = &walk->spec;

    return spec->first > 0 && walk->at >= spec->first && walk->at <= spec->last &&
           (walk->at - spec->first) % spec->step == 0;
}

/* Is nothing behind the last argument of importance? */
static bool is_over(const walk_t *walk)
{
    const shoal__key_spec_t *spec = &walk->spec;

    if (walk->to > 0)
        return walk->at > walk->to;
    return !spec->count_at && !spec->options && walk->at > spec->last;
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

/* So many keys follow.  False: they have no room. */
static bool announce(walk_t *walk, unsigned keys)
{
    if (keys == 0 || keys >= walk->count - walk->at)
        return false;
    walk->to = walk->at + keys;
    return true;
}

static bool take_option(walk_t *walk, const shoal__key_option_t *option)
{
    unsigned rest = walk->count - walk->at - 1;

    switch (option->kind) {
    case SHOAL__KEY_OPTION_HALF:
        return rest % 2 == 0 && announce(walk, rest / 2);
    case SHOAL__KEY_OPTION_REST:
        return announce(walk, rest);
    case SHOAL__KEY_OPTION_KEY:
        walk->is_stored = true;
        break;
    case SHOAL__KEY_OPTION_PATTERN:
    case SHOAL__KEY_OPTION_VALUES:
        walk->values = option->values;
        walk->is_pattern = option->kind == SHOAL__KEY_OPTION_PATTERN;
        break;
    }
    return true;
}

/* An argument that may be an option, or the value of one. */
static bool look_for_option(walk_t *walk, shoal__bytes_t argument)
{
    const shoal__key_option_t *option = walk->spec.options->options;

    if (walk->values > 0) {
        walk->is_open |= walk->is_pattern && argument.bytes > 0 &&
                         memchr(argument.data, '*', argument.bytes);
        walk->values--;
        return true;
    }
    /* Servers look for a word there, too, when they look for keys. */
    if (walk->is_stored)
        show(walk, argument);
    walk->is_stored = false;
    for (size_t i = 0; i < SHOAL__KEY_OPTIONS_MAX && option[i].word; i++)
        if (shoal__bytes_is_word(argument, option[i].word))
            return take_option(walk, &option[i]);
    return true;
}

/* False: it cannot be said which arguments are keys. */
static bool look_at(walk_t *walk, shoal__bytes_t argument)
{
    const shoal__key_spec_t *spec = &walk->spec;
    unsigned number;

    if (walk->to > 0) {
        show(walk, argument);
        return true;
    }
    if (is_in_place(walk) &&
        (argument.bytes > 0 || !spec->options || !spec->options->is_instead))
        show(walk, argument);
    if (walk->at == spec->count_at)
        /* A script without declared keys may touch any. */
        return read_number(argument, &number) && announce(walk, number);
    if (spec->options && walk->at >= spec->options->from)
        return look_for_option(walk, argument);
    return true;
}

static shoal__keys_kind_t look_at_all(walk_t *walk, shoal__arguments_t *arguments)
{
    shoal__bytes_t argument;

    for (walk->at = 1; walk->at < walk->count && !is_over(walk); walk->at++)
        if (!shoal__arguments_next(arguments, &argument) || !look_at(walk, argument))
            return SHOAL__KEYS_ANY;
    if (walk->is_open || (walk->spec.options && !walk->has_key))
        return SHOAL__KEYS_ANY;
    return SHOAL__KEYS_SOME;
}

static shoal__command_keys_t find(shoal__arguments_t *arguments, shoal__keys_fn on_key,
                                  void *data)
{
    shoal__command_keys_t keys = {.kind = SHOAL__KEYS_ANY};
    walk_t walk = {.on_key = on_key, .data = data};

    if (arguments->count > INT_MAX || !shoal__arguments_next(arguments, &keys.name))
        return keys;
    walk.count = (unsigned)arguments->count;
    keys.info = shoal__command_info_find(keys.name);
    keys.kind = shoal__key_spec_find(keys.info, walk.count, &walk.spec);
    if (keys.kind == SHOAL__KEYS_SOME)
        keys.kind = look_at_all(&walk, arguments);
    return keys;
}

shoal__command_keys_t shoal__command_keys(shoal__bytes_t encoded, shoal__keys_fn on_key,
                                          void *data)
{
    shoal__arguments_t arguments;

    if (!shoal__arguments_of_encoded(&arguments, encoded))
        return (shoal__command_keys_t){.kind = SHOAL__KEYS_ANY};
    return find(&arguments, on_key, data);
}

shoal__command_keys_t shoal__command_keys_of(const shoal_command_t *command,
                                             shoal__keys_fn on_key, void *data)
{
    shoal__arguments_t arguments;

    shoal__arguments_of(&arguments, command);
    return find(&arguments, on_key, data);
}
