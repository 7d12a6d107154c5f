/* SPDX-License-Identifier: MIT */
#include "resp/partial_value.h"

#include <assert.h>

/* Of a line of text; hiredis counts in int. */
#define TEXT_BYTES_MAX 536870912
/* Of any other line. */
#define LINE_BYTES_MAX 65536
/* Digits of a length, and CR. */
#define LENGTH_BYTES_MAX 20

/* Bytes of a string from its length on, or 0 if that is not there yet. */
static uint64_t string_bytes(shoal__bytes_t arrived)
{
    const char *text = arrived.data;
    uint64_t bytes = 0;

    for (size_t i = 0; i + 1 < arrived.bytes && i < LENGTH_BYTES_MAX; i++) {
        if (text[i] == '\r')
            return text[i + 1] == '\n' ? i + 2 + bytes + 2 : 0;
        if (text[i] < '0' || text[i] > '9')
            return 0;
        bytes = bytes * 10 + (uint64_t)(text[i] - '0');
    }
    return 0;
}

uint64_t shoal__partial_value_note(shoal__partial_value_t *partial,
                                   shoal__partial_kind_t kind, shoal__bytes_t arrived)
{
    uint64_t line_bytes_max =
        kind == SHOAL__PARTIAL_TEXT ? TEXT_BYTES_MAX : LINE_BYTES_MAX;
    uint64_t known_bytes = kind == SHOAL__PARTIAL_STRING ? string_bytes(arrived) : 0;

    *partial = (shoal__partial_value_t){0};
    if (arrived.bytes == 0)
        return 0;
    if (known_bytes > arrived.bytes) {
        if (known_bytes - arrived.bytes <= SIZE_MAX)
            partial->missing_bytes = (size_t)(known_bytes - arrived.bytes);
        return known_bytes;
    }
    partial->awaits_line = true;
    partial->is_too_long = arrived.bytes >= line_bytes_max + 2;
    return arrived.bytes;
}

/* Does a line end stand among the last `more_bytes`, or begin right before them? */
static bool has_line_end(shoal__bytes_t arrived, size_t more_bytes)
{
    const char *end = arrived.data + arrived.bytes;
    const char *at = end - more_bytes;

    assert(more_bytes < arrived.bytes); /* the line began before */
    for (; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        if (at[-1] == '\r')
            return true;
    return false;
}

bool shoal__partial_value_grow(shoal__partial_value_t *partial, shoal__bytes_t arrived,
                               size_t more_bytes)
{
    if (partial->missing_bytes > more_bytes) {
        partial->missing_bytes -= more_bytes;
        return false;
    }
    if (partial->awaits_line && !has_line_end(arrived, more_bytes))
        return false;
    *partial = (shoal__partial_value_t){0};
    return true;
}
