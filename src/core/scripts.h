/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_SCRIPTS_H
#define SHOAL_CORE_SCRIPTS_H

/*
 * The scripts of a client: each connection loads them (SCRIPT LOAD) before the first command
 * that it carries, so that EVALSHA finds them.  core/pipe/pipe_scripts.c sends what is
 * written here.
 *
 * A list has numbers that grow: a connection that has loaded all up to a number loads those
 * behind it.
 */

#include "base/bytes.h"
#include "base/sha1.h"
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Of one client. */
#define SHOAL__SCRIPTS_MAX 256
#define SHOAL__SCRIPTS_BYTES_MAX 1048576 /* of all texts */

typedef struct shoal__script {
    _Atomic unsigned references; /* of lists, and of whoever made it */
    unsigned users;              /* of the list that it was registered in */
    uint64_t number;
    char sha1[SHOAL__SHA1_HEX_BYTES + 1];
    size_t text_bytes;
    size_t bytes;
    char load[]; /* SCRIPT LOAD, encoded: `bytes` bytes */
} shoal__script_t;

/* NULL: no memory, or the text is over the bound. */
shoal__script_t *shoal__script_new(shoal__bytes_t text);
void shoal__script_release(shoal__script_t *script); /* NULL is allowed */

/* Initial value: {0}. */
typedef struct shoal__scripts {
    shoal__script_t **items; /* by their numbers */
    size_t count, text_bytes;
    uint64_t newest; /* the last number that was given out */
} shoal__scripts_t;

/* The script with this hash, in any case of its digits; NULL: there is none. */
shoal__script_t *shoal__scripts_find(const shoal__scripts_t *scripts,
                                     shoal__bytes_t sha1);
/* Which script does this encoded command call by its hash (EVALSHA, EVALSHA_RO)?  NULL: none
 * of them. */
shoal__script_t *shoal__scripts_called(const shoal__scripts_t *scripts,
                                       shoal__bytes_t encoded);
/* One more user of a text.  Takes the caller's reference; if the list has the text already, it
 * keeps what it has.  Returns the one in the list, a new reference for the caller; NULL:
 * *ret_error is SHOAL_ENOMEM, or SHOAL_EFULL: a bound is reached. */
shoal__script_t *shoal__scripts_add(shoal__scripts_t *scripts, shoal__script_t *script,
                                    int *ret_error);
/* One user less: the last one takes it out. */
void shoal__scripts_drop(shoal__scripts_t *scripts, shoal__script_t *script);
/* `to` gets what `from` has.  False: no memory, `to` is what it was. */
bool shoal__scripts_copy(shoal__scripts_t *to, const shoal__scripts_t *from);
void shoal__scripts_clear(shoal__scripts_t *scripts);

#endif
