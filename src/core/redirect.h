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

/* "MOVED slot host:port": a node of a cluster does not own the slot of a command, and names
 * the one that does.  "ASK slot host:port": that one has the keys of this command already.
 * The command was not executed. */
typedef struct shoal__slot_redirect {
    bool is_ask;
    unsigned slot;
    shoal__redirect_t to; /* host "": as the node's that says so; port 0: not known, nor
                             is the host then */
} shoal__slot_redirect_t;

/* False: the text is anything else; *ret is then undefined. */
bool shoal__redirect_read_slot(shoal__bytes_t text, shoal__slot_redirect_t *ret);

#endif
