/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_TLS_CONTEXT_H
#define SHOAL_NET_TLS_CONTEXT_H

/*
 * What the encrypted connections of a client share: the settings, what was read from their
 * files, and the tickets by which sessions are resumed.
 *
 * The files are read at the first attempt to connect, again when one has changed, and on
 * call.  What was read is a *vault* (tls_vault.h): connections keep the vault that they
 * began with.
 *
 * Threads: the loop thread, but for _reload(), which any thread may call.
 */

#include "core/tls_settings.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct shoal__tls_context shoal__tls_context_t;
struct shoal__tls_vault;

/* Reads no file.  NULL: no memory, or no TLS. */
shoal__tls_context_t *shoal__tls_context_new(const shoal__tls_settings_t *settings);
/* No connection uses it any more.  NULL is allowed. */
void shoal__tls_context_free(shoal__tls_context_t *context);

/* For the bytes of one read, or of one record: whoever uses it is done when its call
 * returns. */
#define SHOAL__TLS_ROOM_BYTES 65536
char *shoal__tls_context_room(shoal__tls_context_t *context);

const shoal__tls_settings_t *
shoal__tls_context_settings(const shoal__tls_context_t *context);

/* An attempt to connect begins: read the files, if that is due.  0, SHOAL_ETLS or
 * SHOAL_ENOMEM: they cannot be used, and why; *ret_has_last: the last good ones stay. */
int shoal__tls_context_refresh(shoal__tls_context_t *context, bool *ret_has_last,
                               char why[SHOAL__TLS_WHY_BYTES]);
/* The present vault, with a reference more; NULL: none was read. */
struct shoal__tls_vault *shoal__tls_context_vault(shoal__tls_context_t *context);

/* Read them now.  0, SHOAL_ETLS or SHOAL_ENOMEM: nothing has changed. */
int shoal__tls_context_reload(shoal__tls_context_t *context,
                              char why[SHOAL__TLS_WHY_BYTES]);

#endif
