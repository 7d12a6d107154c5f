/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_SECRET_H
#define SHOAL_CORE_SECRET_H

/*
 * Owns the credentials that connections use.  They are overwritten when others take their
 * place, and at the end.  All targets of a client point to one secret, so all connections
 * greet with the same credentials.
 *
 * Loop thread, while a target points to it.  Another thread may fork at any time: no text is
 * freed while a secret still has it, and none has two owners.
 */

#include <stdbool.h>

typedef struct shoal__secret {
    char *user;      /* NULL: the server's default user */
    char *password;  /* NULL: no authentication */
    bool is_refused; /* a server refused these credentials */
} shoal__secret_t;

/* Copies take the place of what is there.  0, SHOAL_EINVAL (a user without a password) or
 * SHOAL_ENOMEM; then nothing has changed. */
int shoal__secret_set(shoal__secret_t *secret, const char *user, const char *password);

/* What `from` has takes the place of what is there; `from` is empty then. */
void shoal__secret_move(shoal__secret_t *secret, shoal__secret_t *from);

/* The same user and password? */
bool shoal__secret_equals(const shoal__secret_t *one, const shoal__secret_t *other);

/* No credentials. */
void shoal__secret_clear(shoal__secret_t *secret);

/* One that was allocated: cleared, and its memory given back.  NULL is allowed. */
void shoal__secret_free(shoal__secret_t *secret);

/* Overwrite a text and give its memory back; NULL is allowed. */
void shoal__secret_free_text(char *text);

#endif
