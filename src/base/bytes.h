/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_BYTES_H
#define SHOAL_BASE_BYTES_H

/* A view of bytes that somebody else owns. */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct shoal__bytes {
    const char *data;
    size_t bytes;
} shoal__bytes_t;

static inline bool shoal__bytes_equal(shoal__bytes_t a, shoal__bytes_t b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.data, b.data, a.bytes) == 0);
}

/* Does `text` begin with the string `prefix`? */
static inline bool shoal__bytes_start(shoal__bytes_t text, const char *prefix)
{
    size_t prefix_bytes = strlen(prefix);
    return text.bytes >= prefix_bytes && memcmp(text.data, prefix, prefix_bytes) == 0;
}

/* Is `text` the ASCII word `word`, in any case?  `word` is upper case. */
static inline bool shoal__bytes_is_word(shoal__bytes_t text, const char *word)
{
    size_t i = 0;
    for (; i < text.bytes && word[i]; i++) {
        char c = text.data[i];
        if (c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        if (c != word[i])
            return false;
    }
    return i == text.bytes && !word[i];
}

#endif
