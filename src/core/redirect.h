/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_REDIRECT_H
#define SHOAL_CORE_REDIRECT_H

/*
 * "REDIRECT host:port": a Valkey server that is no primary, or will be none in a moment,
 * names the one that is.  It says so only to clients that asked for it (CLIENT CAPA
 * redirect), and has not executed the command.
 *
 * The grammar is exact, because the text says where credentials go.  The port follows the
 * last colon; an IPv6 address may stand in brackets.  A host is a name or an address, and no
 * "?", which servers write if they do not know it.
 */

#include "base/bytes.h"
#include <stdbool.h>

#define SHOAL__REDIRECT_HOST_BYTES 256

typedef struct shoal__redirect {
    char host[SHOAL__REDIRECT_HOST_BYTES]; /* without brackets */
    int port;
} shoal__redirect_t;

/* Take an error text in; false if it is anything else: *ret is then undefined. */
bool shoal__redirect_read(shoal__bytes_t text, shoal__redirect_t *ret);
/* The same with "host:port" alone. */
bool shoal__redirect_read_address(shoal__bytes_t text, shoal__redirect_t *ret);

#endif
