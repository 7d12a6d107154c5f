/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_COMMAND_KEYS_H
#define SHOAL_RESP_COMMAND_KEYS_H

/*
 * The keys that a command names.
 *
 * Guarantee: if the answer is not ANY, every key that the command's arguments name was
 * shown.  Bytes that are no whole command are ANY.  Keys that a script does not declare
 * are nobody's.
 */

#include "resp/key_spec.h"
#include <shoal/command.h>

typedef void (*shoal__keys_fn)(void *data, shoal__bytes_t key);

typedef struct shoal__command_keys {
    shoal__keys_kind_t kind;
    shoal__bytes_t name;               /* as the caller wrote it */
    const shoal__command_info_t *info; /* NULL: an unknown command */
} shoal__command_keys_t;

/* Show each key of an encoded command.  With ANY, some may have been shown. */
shoal__command_keys_t shoal__command_keys(shoal__bytes_t encoded, shoal__keys_fn on_key,
                                          void *data);
/* The same of a caller's command, whose arguments were checked (shoal__encoder_bytes()). */
shoal__command_keys_t shoal__command_keys_of(const shoal_command_t *command,
                                             shoal__keys_fn on_key, void *data);

#endif
