/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fake_bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *fake_must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

void fake_bytes_reserve(fake_bytes_t *bytes, size_t more)
{
    if (bytes->room - bytes->size >= more)
        return;
    size_t room = bytes->room ? bytes->room : 256;
    while (room - bytes->size < more)
        room *= 2;
    bytes->data = fake_must(realloc(bytes->data, room));
    bytes->room = room;
}

void fake_bytes_add(fake_bytes_t *bytes, const void *data, size_t size)
{
    if (size == 0)
        return;
    fake_bytes_reserve(bytes, size);
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void fake_bytes_text(fake_bytes_t *bytes, const char *text)
{
    fake_bytes_add(bytes, text, strlen(text));
}

void fake_bytes_number(fake_bytes_t *bytes, char type, int64_t value)
{
    char line[32];
    int length = snprintf(line, sizeof line, "%c%" PRId64 "\r\n", type, value);
    fake_bytes_add(bytes, line, (size_t)length);
}

void fake_bytes_bulk(fake_bytes_t *bytes, const void *data, size_t size)
{
    fake_bytes_number(bytes, '$', (int64_t)size);
    fake_bytes_add(bytes, data, size);
    fake_bytes_text(bytes, "\r\n");
}

void fake_bytes_consume(fake_bytes_t *bytes, size_t count)
{
    if (count == 0)
        return;
    memmove(bytes->data, bytes->data + count, bytes->size - count);
    bytes->size -= count;
}

void fake_bytes_release(fake_bytes_t *bytes)
{
    free(bytes->data);
    *bytes = (fake_bytes_t){0};
}
