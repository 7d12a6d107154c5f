/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_LEARNED_KEYS_H
#define SHOAL_RESP_LEARNED_KEYS_H

/*
 * Where the keys of a command stand that is not in the library's table, as a server told
 * (resp/command_answer.h).
 */

#include "resp/arguments.h"
#include "resp/command_keys.h"

#define SHOAL__LEARNED_WORD_BYTES 32
#define SHOAL__LEARNED_SPECS_MAX 4

/* One of its rules.  Arguments are counted from the name, which is number 0. */
typedef struct shoal__learned_spec {
    char keyword[SHOAL__LEARNED_WORD_BYTES]; /* upper case; keys begin behind it; "": */
    int from; /* ... there.  Else it is looked for from there on; negative: from so
                        far before the end, and towards the beginning */
    bool is_counted; /* else they go on to `last` */
    int last;        /* after the first; negative: so far before the end */
    int limit;       /* 2: up to half of the rest; 0 and 1: all */
    int count_at;    /* the number of keys stands so far behind the beginning ... */
    int first;       /* ... and the first key so far */
    int step;        /* 1 at least */
} shoal__learned_spec_t;

typedef struct shoal__learned_entry {
    char name[SHOAL__LEARNED_WORD_BYTES]; /* of a subcommand, upper case */
    unsigned specs_count;                 /* 0: it has no key */
    shoal__learned_spec_t specs[SHOAL__LEARNED_SPECS_MAX];
} shoal__learned_entry_t;

/* The command itself, and behind it its subcommands. */
typedef struct shoal__learned {
    size_t count; /* 1 at least */
    shoal__learned_entry_t entries[];
} shoal__learned_t;

/* Show the keys.  learned NULL: nobody has told; then the first argument is one.
 * `arguments` is at the beginning. */
void shoal__learned_keys(const shoal__learned_t *learned, shoal__arguments_t arguments,
                         shoal__keys_fn on_key, void *data);

#endif
