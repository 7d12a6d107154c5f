/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_ERROR_H
#define SHOAL_BASE_ERROR_H

/*
 * Why a call is refused: fills the shoal_error_t of a caller who asked for the reason.
 * Each function takes NULL for "nobody asked" and returns the code, so that a refusal is
 * one statement.
 */

#include <shoal/errors.h>
#include <stdbool.h>

/* The static text of a code; see shoal_strerror(). */
const char *shoal__error_text(int code);

/* A call begins: there is no error yet.  False if the caller set no size: nothing may be
 * written there.  A caller of 0.2 has room for the fields up to `text`: a later field is
 * written only if it lies within the caller's size. */
bool shoal__error_begin(shoal_error_t *error);

/* What does not fit is left out. */
__attribute__((format(printf, 3, 4))) int
shoal__error_say(shoal_error_t *error, int code, const char *format, ...);

/* The code's own text, unless a reason was said before.  0: no error. */
int shoal__error_plain(shoal_error_t *error, int code);

/* The operating system refused `what`.  `system_error` is an errno or one of libuv's, below
 * 0.  Codes of our own pass unchanged, as shoal__error_plain() has them. */
int shoal__error_system(shoal_error_t *error, int system_error, const char *what);

#endif
