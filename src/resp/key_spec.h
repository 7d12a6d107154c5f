/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_KEY_SPEC_H
#define SHOAL_RESP_KEY_SPEC_H

/*
 * Where the keys stand among a command's arguments, of which the name is number 0.
 *
 * Sources: the table of commands (resp/command_info.h), and for what it does not say the key
 * specifications of Redis 7.0 and the servers' own functions that find keys.
 */

#include "resp/command_info.h"
#include <stdbool.h>

/* What a word among the options announces. */
typedef enum shoal__key_option_kind {
    SHOAL__KEY_OPTION_VALUES,  /* values, none of them a key */
    SHOAL__KEY_OPTION_PATTERN, /* of keys that nobody names, if there is a * in it */
    SHOAL__KEY_OPTION_KEY,     /* a key */
    SHOAL__KEY_OPTION_HALF,    /* keys, and as many other arguments behind them */
    SHOAL__KEY_OPTION_REST     /* keys */
} shoal__key_option_kind_t;

typedef struct shoal__key_option {
    const char *word; /* upper case */
    shoal__key_option_kind_t kind;
    unsigned values; /* behind the word */
} shoal__key_option_t;

#define SHOAL__KEY_OPTIONS_MAX 5

/* Options of which one announces keys. */
typedef struct shoal__key_options {
    const char *name;
    unsigned from;   /* the first argument that may be one */
    bool is_instead; /* a key before them may be "", which is none */
    shoal__key_option_t options[SHOAL__KEY_OPTIONS_MAX]; /* NULL ends them */
} shoal__key_options_t;

/* The arguments first, first + step ... last; then those that a count announces, or an
 * option. */
typedef struct shoal__key_spec {
    unsigned first, last, step;          /* first 0: none */
    unsigned count_at;                   /* the argument that counts; 0: none */
    const shoal__key_options_t *options; /* NULL: none */
} shoal__key_spec_t;

typedef enum shoal__keys_kind {
    SHOAL__KEYS_NONE, /* the command has no key */
    SHOAL__KEYS_SOME, /* these */
    SHOAL__KEYS_ANY   /* which ones is not known, or all there are */
} shoal__keys_kind_t;

/* Of a command (NULL: not in the table) with so many arguments.  With SOME the place of its
 * keys is written. */
shoal__keys_kind_t shoal__key_spec_find(const shoal__command_info_t *info,
                                        unsigned count, shoal__key_spec_t *spec);

#endif
