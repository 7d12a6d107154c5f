/* SPDX-License-Identifier: MIT */
#include "resp/string_run.h"

#include "resp/reply.h"
#include <string.h>

/* Longer strings are rare, and not worth a thought here. */
#define DIGITS_MAX 6

/* The text of the string whose length begins at `at`; NULL: it has to be left. */
static inline char *text_of(char *at, const char *end, size_t *ret_bytes)
{
    const char *first = at;
    size_t bytes = 0;

    for (; *at >= '0' && *at <= '9'; at++) /* not beyond `end` */
        bytes = bytes * 10 + (size_t)(*at - '0');
    if (at == first || at - first > DIGITS_MAX || (*first == '0' && at - first > 1))
        return NULL;
    if ((size_t)(end - at) < bytes + 4 || memcmp(at, "\r\n", 2) != 0 ||
        memcmp(at + 2 + bytes, "\r\n", 2) != 0)
        return NULL;
    *ret_bytes = bytes;
    return at + 2;
}

size_t shoal__string_run_give(shoal__string_run_t *run, size_t count_max)
{
    shoal_reply_t leaf = {.type = SHOAL_REPLY_STRING};
    char *at = run->at, *text;
    const char *end = run->end;
    bool has_type = run->has_type;
    size_t count = 0, bytes;

    for (; count < count_max; count++) {
        if (!has_type && *at != '$')
            break;
        text = text_of(has_type ? at : at + 1, end, &bytes);
        if (!text)
            break;
        has_type = false;
        text[bytes] = '\0';
        at = text + bytes + 2;
        leaf.as.text.data = bytes > 0 ? text : "";
        leaf.as.text.bytes = bytes;
        run->sink->on_leaf(&leaf, run->sink_data);
    }
    run->at = at;
    run->has_type = has_type;
    return count;
}
