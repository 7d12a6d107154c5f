/* SPDX-License-Identifier: MIT */
#include "core/zone.h"

#include <string.h>

static const char field[] = "availability_zone:";

shoal__bytes_t shoal__zone_read(shoal__bytes_t info)
{
    while (info.bytes > 0) {
        const char *end = memchr(info.data, '\n', info.bytes);
        shoal__bytes_t line = {info.data, end ? (size_t)(end - info.data) : info.bytes};
        size_t used = end ? line.bytes + 1 : line.bytes;
        if (line.bytes > 0 && line.data[line.bytes - 1] == '\r')
            line.bytes--;
        if (shoal__bytes_start(line, field))
            return (shoal__bytes_t){line.data + sizeof field - 1,
                                    line.bytes - (sizeof field - 1)};
        info = (shoal__bytes_t){info.data + used, info.bytes - used};
    }
    return (shoal__bytes_t){NULL, 0};
}
