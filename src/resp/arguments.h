/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_ARGUMENTS_H
#define SHOAL_RESP_ARGUMENTS_H

/*
 * One argument of a command after the other, of an encoded one or of a caller's.  A copy of
 * the walk goes on by itself.
 */

#include "base/bytes.h"
#include <shoal/command.h>

typedef struct shoal__arguments {
    size_t count;                   /* of all, the name included */
    size_t taken;                   /* so many were shown */
    const char *at, *end;           /* encoded: what comes next */
    const shoal_command_t *command; /* NULL: they are encoded */
} shoal__arguments_t;

/* False: the bytes begin no command. */
bool shoal__arguments_of_encoded(shoal__arguments_t *arguments, shoal__bytes_t encoded);
/* Of a caller's command, whose arguments were checked (shoal__encoder_bytes()). */
void shoal__arguments_of(shoal__arguments_t *arguments, const shoal_command_t *command);

/* False: there is none, or it is not whole. */
bool shoal__arguments_next(shoal__arguments_t *arguments, shoal__bytes_t *ret);

#endif
