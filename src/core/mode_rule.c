/* SPDX-License-Identifier: MIT */
#include "core/mode_rule.h"

#include <stddef.h>

shoal__mode_t shoal__mode_read(shoal__bytes_t word)
{
    if (shoal__bytes_is_word(word, "CLUSTER"))
        return SHOAL__MODE_CLUSTER;
    if (shoal__bytes_is_word(word, "SENTINEL"))
        return SHOAL__MODE_SENTINEL;
    return SHOAL__MODE_STANDALONE;
}

/* Up to the end of the line. */
static shoal__bytes_t line_of(shoal__bytes_t text)
{
    size_t bytes = 0;

    while (bytes < text.bytes && text.data[bytes] != '\r' && text.data[bytes] != '\n')
        bytes++;
    return (shoal__bytes_t){text.data, bytes};
}

/* What stands behind `key`; without data: the line does not begin with it. */
static shoal__bytes_t value_of(shoal__bytes_t line, const char *key)
{
    size_t bytes = strlen(key);

    if (!shoal__bytes_start(line, key))
        return (shoal__bytes_t){NULL, 0};
    return (shoal__bytes_t){line.data + bytes, line.bytes - bytes};
}

shoal__mode_t shoal__mode_read_info(shoal__bytes_t info, shoal__mode_t otherwise)
{
    while (info.bytes > 0) {
        shoal__bytes_t line = line_of(info);
        shoal__bytes_t value = value_of(line, "redis_mode:");
        if (!value.data)
            value = value_of(line, "server_mode:"); /* Valkey */
        if (value.data)
            return shoal__mode_read(value);
        info.data += line.bytes;
        info.bytes -= line.bytes;
        if (info.bytes > 0) { /* the end of the line */
            info.data++;
            info.bytes--;
        }
    }
    return otherwise;
}

const char *shoal__mode_advice(shoal__mode_t mode)
{
    switch (mode) {
    case SHOAL__MODE_CLUSTER:
        return "a node of a cluster: it answers MOVED for keys of other nodes "
               "(redis+cluster:// is for all of them)";
    case SHOAL__MODE_SENTINEL:
        return "a sentinel: it has no keys (redis+sentinel:// is for the primary "
               "that it knows)";
    case SHOAL__MODE_STANDALONE:
        break;
    }
    return NULL;
}
