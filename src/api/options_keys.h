/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_API_OPTIONS_KEYS_H
#define SHOAL_API_OPTIONS_KEYS_H

/*
 * The keys of a URL's query: which option each of them names, and in which unit.
 *
 * A key that is said twice, an unknown key, and a value out of range are errors: nothing is
 * ignored.
 */

#include "core/options.h"
#include <shoal/errors.h>
#include <stdbool.h>

/* The greatest number of keys. */
#define SHOAL__OPTIONS_KEYS_MAX 48

/* What the keys of one URL said.  All zero at first, but for the first two fields. */
typedef struct shoal__options_keys {
    shoal_error_t *error; /* receives the reason; NULL: not asked for */
    const char
        *secret_end; /* in the URL: a piece that begins before it may be a part of
                               the password and is not quoted */
    const char *values[SHOAL__OPTIONS_KEYS_MAX]; /* by the row in the table; NULL: not
                                                    said.  They live as long as the URL */
    shoal_flush_mode_t flush_mode;
    uint64_t pause_us, budget_us;
    bool has_budget;
    const char *cert_file, *key_file;
    const char *sentinel_user, *sentinel_password; /* NULL: not said */
} shoal__options_keys_t;

/* One key, with its decoded value.  0, SHOAL_EURL, SHOAL_EINVAL or SHOAL_ENOMEM. */
int shoal__options_keys_set(shoal__options_keys_t *keys, shoal_options_t *options,
                            const char *name, const char *value);

/* The URL cannot be understood because of one piece of it: "the port 'x' is ...".  Fills
 * keys->error and returns SHOAL_EURL. */
int shoal__options_refuse(const shoal__options_keys_t *keys, const char *what,
                          const char *piece, const char *why);

/* After the last key: what several keys say together.  0, SHOAL_EURL or SHOAL_EINVAL. */
int shoal__options_keys_finish(const shoal__options_keys_t *keys,
                               shoal_options_t *options);

/* Decimal digits only: no sign, no space, not empty, at most `max`. */
bool shoal__options_read_number(const char *text, uint64_t max, uint64_t *ret_number);

#endif
