/* SPDX-License-Identifier: MIT */
#include "pickle_reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pickle_text_add(pickle_text_t *text, const char *data, size_t bytes)
{
    if (text->capacity - text->bytes < bytes + 1) {
        text->capacity = 2 * text->capacity + bytes + 64;
        text->data = realloc(text->data, text->capacity);
        if (!text->data)
            abort();
    }
    if (bytes > 0)
        memcpy(text->data + text->bytes, data, bytes);
    text->bytes += bytes;
    text->data[text->bytes] = '\0';
}

void pickle_text_print(pickle_text_t *text, const char *format, ...)
{
    char line[256];
    va_list arguments;

    va_start(arguments, format);
    int bytes = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (bytes < 0 || (size_t)bytes >= sizeof line)
        abort();
    pickle_text_add(text, line, (size_t)bytes);
}

void pickle_text_quote(pickle_text_t *text, const char *prefix, const char *data,
                       size_t bytes, bool is_str)
{
    pickle_text_print(text, "%s'", prefix);
    for (size_t i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)data[i];
        bool is_plain = byte >= ' ' && byte != 0x7f && byte != '\'' && byte != '\\';
        if (is_plain && (byte < 0x80 || is_str))
            pickle_text_add(text, &data[i], 1);
        else
            pickle_text_print(text, "\\x%02x", byte);
    }
    pickle_text_add(text, "'", 1);
}

void pickle_text_float(pickle_text_t *text, double value)
{
    if (isnan(value))
        pickle_text_print(text, "nan");
    else if (value == floor(value) && fabs(value) < 1e16)
        pickle_text_print(text, "%.1f", value);
    else
        pickle_text_print(text, "%.17g", value);
}

void pickle_text_release(pickle_text_t *text)
{
    free(text->data);
    *text = (pickle_text_t){0};
}

/* Read the character, and see whether it is what so many bytes are needed for. */
bool pickle_is_utf8(const char *data, size_t bytes)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

    for (size_t at = 0, length; at < bytes; at += length) {
        unsigned char lead = (unsigned char)data[at];
        uint32_t point;

        if (lead < 0x80) {
            length = 1;
            continue;
        }
        length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
        if (lead < 0xc0 || lead >= 0xf8 || bytes - at < length)
            return false;
        point = lead & (0x7fu >> length);
        for (size_t i = 1; i < length; i++) {
            unsigned char next = (unsigned char)data[at + i];
            if (next >> 6 != 2)
                return false;
            point = point << 6 | (next & 0x3f);
        }
        if (point < least[length] || point > 0x10ffff || point >> 11 == 0xd800 >> 11)
            return false;
    }
    return true;
}
