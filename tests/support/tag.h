/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_TAG_H
#define SHOAL_TESTS_TAG_H

/* Values that say whose they are: "client|thread|seq|crc32".  A reply that belongs to
 * another command, or that is damaged, does not pass the check. */

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TAG_ROOM 64

typedef struct tag {
    unsigned client, thread;
    uint64_t seq;
} tag_t;

/* CRC-32 as in zip: polynomial 0xEDB88320. */
static inline uint32_t tag_crc32(const char *data, size_t bytes)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= (unsigned char)data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

/* Write the NUL-terminated text of a tag; returns its length. */
static inline size_t tag_make(tag_t tag, char text[TAG_ROOM])
{
    int head =
        snprintf(text, TAG_ROOM, "%u|%u|%" PRIu64 "|", tag.client, tag.thread, tag.seq);
    uint32_t crc = tag_crc32(text, (size_t)head);
    return (size_t)(head +
                    snprintf(text + head, TAG_ROOM - (size_t)head, "%08" PRIx32, crc));
}

/* Are these bytes the text of this tag? */
static inline bool tag_matches(tag_t tag, const char *data, size_t bytes)
{
    char text[TAG_ROOM];
    size_t expected = tag_make(tag, text);
    return data && bytes == expected && memcmp(data, text, bytes) == 0;
}

#endif
