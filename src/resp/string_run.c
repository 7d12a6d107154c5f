/* SPDX-License-Identifier: MIT */
#include "resp/string_run.h"

/* Longer strings are rare, and not worth a thought here. */
#define DIGITS_MAX 6

size_t shoal__string_run_next(shoal__bytes_t arrived, bool has_type,
                              shoal__bytes_t *ret_text)
{
    const char *at = arrived.data, *end = at + arrived.bytes, *first;
    size_t bytes = 0;

    if (!has_type) {
        if (at == end || *at != '$')
            return 0;
        at++;
    }
    first = at;
    while (at < end && *at >= '0' && *at <= '9' && at - first < DIGITS_MAX)
        bytes = bytes * 10 + (size_t)(*at++ - '0');
    if (at == first || (*first == '0' && at - first > 1))
        return 0;
    if ((size_t)(end - at) < bytes + 4 || at[0] != '\r' || at[1] != '\n' ||
        at[2 + bytes] != '\r' || at[3 + bytes] != '\n')
        return 0;
    *ret_text = (shoal__bytes_t){.data = at + 2, .bytes = bytes};
    return (size_t)(at - arrived.data) + bytes + 4;
}
