/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_DESCRIPTION_H
#define SHOAL_CORE_DESCRIPTION_H

/*
 * Reads what servers say about servers: texts, numbers and words in replies, and
 * descriptions.  A description is a map, or, in RESP2, a flat array of names and values.
 */

#include "base/bytes.h"
#include <shoal/reply.h>
#include <stdint.h>

/* The text of a reply; empty: it has none. */
shoal__bytes_t shoal__text_of(const shoal_reply_t *reply);

/* Digits only, 18 at most.  False: it is no number up to `max`. */
bool shoal__text_read_number(shoal__bytes_t text, uint64_t max, uint64_t *ret_number);

/* A word without blanks and control characters that fits, with its NUL. */
bool shoal__text_read_word(shoal__bytes_t text, char *ret_word, size_t room);

/* Is it one of a list between commas? */
bool shoal__text_has_flag(shoal__bytes_t flags, const char *flag);

/* One value of a description; empty: there is none. */
shoal__bytes_t shoal__description_value(const shoal_reply_t *description,
                                        const char *name);

#endif
