/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <stdlib.h>

#define CAPACITY_FIRST 512
#define HEADER_BYTES 9 /* at most: opcode and length */

void shoalpy_stream_release(shoalpy_stream_t *stream)
{
    free(stream->data);
    *stream = (shoalpy_stream_t){0};
}

static char *grow(shoalpy_stream_t *stream, size_t bytes)
{
    size_t grown = stream->capacity ? stream->capacity : CAPACITY_FIRST;
    char *data;

    if (stream->is_broken || bytes > SIZE_MAX / 4 - stream->bytes)
        goto fail;
    while (grown - stream->bytes < bytes)
        grown *= 2;
    data = realloc(stream->data, grown);
    if (!data)
        goto fail;
    stream->data = data;
    stream->capacity = grown;
    return data + stream->bytes;

fail:
    stream->is_broken = true;
    return NULL;
}

/* Room for so many more bytes; NULL: the stream is broken. */
static inline char *reserve(shoalpy_stream_t *stream, size_t bytes)
{
    if (bytes <= stream->capacity - stream->bytes && !stream->is_broken)
        return stream->data + stream->bytes;
    return grow(stream, bytes);
}

void shoalpy_stream_begin(shoalpy_stream_t *stream)
{
    if (stream->capacity > SHOALPY_STREAM_KEPT)
        shoalpy_stream_release(stream);
    stream->bytes = 0;
    stream->is_broken = false;
    shoalpy_stream_opcode(stream, OP_PROTO);
    shoalpy_stream_opcode(stream, SHOALPY_PROTOCOL);
}

bool shoalpy_stream_end(shoalpy_stream_t *stream)
{
    shoalpy_stream_opcode(stream, OP_STOP);
    return !stream->is_broken;
}

void shoalpy_stream_opcode(shoalpy_stream_t *stream, unsigned char opcode)
{
    char *at = reserve(stream, 1);

    if (!at)
        return;
    *at = (char)opcode;
    stream->bytes++;
}

void shoalpy_stream_raw(shoalpy_stream_t *stream, const char *data, size_t bytes)
{
    char *at = reserve(stream, bytes);

    if (!at || bytes == 0)
        return;
    memcpy(at, data, bytes);
    stream->bytes += bytes;
}

static char *put_number(char *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        *at++ = (char)(value >> 8 * i);
    return at;
}

void shoalpy_stream_integer(shoalpy_stream_t *stream, int64_t value)
{
    char *at = reserve(stream, 10);

    if (!at)
        return;
    if (value >= 0 && value <= UINT8_MAX) {
        *at++ = OP_BININT1;
        at = put_number(at, (uint64_t)value, 1);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        *at++ = OP_BININT;
        at = put_number(at, (uint64_t)value, 4);
    } else {
        *at++ = (char)OP_LONG1;
        *at++ = 8;
        at = put_number(at, (uint64_t)value, 8);
    }
    stream->bytes = (size_t)(at - stream->data);
}

void shoalpy_stream_float(shoalpy_stream_t *stream, double value)
{
    char *at = reserve(stream, 9);
    uint64_t bits;

    if (!at)
        return;
    memcpy(&bits, &value, sizeof bits);
    *at++ = OP_BINFLOAT;
    for (int i = 7; i >= 0; i--) /* big end first */
        *at++ = (char)(bits >> 8 * i);
    stream->bytes += 9;
}

/* The three opcodes of a kind of string differ in the width of the length. */
static void put_string(shoalpy_stream_t *stream, const unsigned char opcodes[3],
                       const char *data, size_t bytes)
{
    char *at = reserve(stream, HEADER_BYTES + bytes);

    if (!at)
        return;
    if (bytes <= UINT8_MAX) {
        *at++ = (char)opcodes[0];
        at = put_number(at, bytes, 1);
    } else if (bytes <= UINT32_MAX) {
        *at++ = (char)opcodes[1];
        at = put_number(at, bytes, 4);
    } else {
        *at++ = (char)opcodes[2];
        at = put_number(at, bytes, 8);
    }
    if (bytes)
        memcpy(at, data, bytes);
    stream->bytes = (size_t)(at - stream->data) + bytes;
}

void shoalpy_stream_bytes(shoalpy_stream_t *stream, const char *data, size_t bytes)
{
    static const unsigned char opcodes[3] = {OP_SHORT_BINBYTES, OP_BINBYTES,
                                             OP_BINBYTES8};
    put_string(stream, opcodes, data, bytes);
}

void shoalpy_stream_text(shoalpy_stream_t *stream, const char *data, size_t bytes)
{
    static const unsigned char opcodes[3] = {OP_SHORT_BINUNICODE, OP_BINUNICODE,
                                             OP_BINUNICODE8};
    put_string(stream, opcodes, data, bytes);
}

void shoalpy_stream_bytearray(shoalpy_stream_t *stream, const char *data, size_t bytes)
{
    char *at = reserve(stream, HEADER_BYTES + bytes);

    if (!at)
        return;
    *at++ = (char)OP_BYTEARRAY8;
    at = put_number(at, bytes, 8);
    if (bytes)
        memcpy(at, data, bytes);
    stream->bytes = (size_t)(at - stream->data) + bytes;
}

/* ---- UTF-8 ---- */

static size_t ascii_prefix(const unsigned char *data, size_t bytes)
{
    size_t at = 0;
    uint64_t word;

    for (; at + sizeof word <= bytes; at += sizeof word) {
        memcpy(&word, data + at, sizeof word);
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    while (at < bytes && data[at] < 0x80)
        at++;
    return at;
}

static bool continues(const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((at[i] & 0xC0) != 0x80)
            return false;
    return true;
}

/* The length of the character that begins with a byte from 0x80 up; 0: there is none.  The
 * table is that of well-formed sequences in the Unicode standard. */
static size_t character(const unsigned char *at, size_t bytes)
{
    unsigned char lead = at[0], second = bytes > 1 ? at[1] : 0;
    size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;

    if (lead < 0xC2 || lead > 0xF4 || bytes < length || !continues(at + 1, length - 1))
        return 0;
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
        return 0;
    return length;
}

bool shoalpy_is_text(const char *data, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;

    for (;;) {
        size_t step = ascii_prefix(at, bytes);
        at += step;
        bytes -= step;
        if (bytes == 0)
            return true;
        step = character(at, bytes);
        if (step == 0)
            return false;
        at += step;
        bytes -= step;
    }
}
