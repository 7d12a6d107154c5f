/* SPDX-License-Identifier: MIT */
#include "resp/key_slot.h"

#include <stdint.h>

/* ---- CRC16 of eight bytes at a time ---- */

/* The remainder of a byte with so many bytes behind it.  It is the sum of the remainders of
 * its bits, and those are eight successive powers of x. */
#define BYTE(i, a, b, c, d, e, f, g, h)                                                \
    (((i)&1 ? a : 0) ^ ((i)&2 ? b : 0) ^ ((i)&4 ? c : 0) ^ ((i)&8 ? d : 0) ^           \
     ((i)&16 ? e : 0) ^ ((i)&32 ? f : 0) ^ ((i)&64 ? g : 0) ^ ((i)&128 ? h : 0))
#define FOUR(i, ...)                                                                   \
    BYTE(i, __VA_ARGS__), BYTE(i + 1, __VA_ARGS__), BYTE(i + 2, __VA_ARGS__),          \
        BYTE(i + 3, __VA_ARGS__)
#define SIXTEEN(i, ...)                                                                \
    FOUR(i, __VA_ARGS__), FOUR(i + 4, __VA_ARGS__), FOUR(i + 8, __VA_ARGS__),          \
        FOUR(i + 12, __VA_ARGS__)
#define SIXTY_FOUR(i, ...)                                                             \
    SIXTEEN(i, __VA_ARGS__), SIXTEEN(i + 16, __VA_ARGS__),                             \
        SIXTEEN(i + 32, __VA_ARGS__), SIXTEEN(i + 48, __VA_ARGS__)
#define TABLE(...)                                                                     \
    {                                                                                  \
        SIXTY_FOUR(0, __VA_ARGS__), SIXTY_FOUR(64, __VA_ARGS__),                       \
            SIXTY_FOUR(128, __VA_ARGS__), SIXTY_FOUR(192, __VA_ARGS__)                 \
    }

/* x^16, x^17 ... x^79 modulo x^16 + x^12 + x^5 + 1 */
static const uint16_t remainders[8][256] = {
    TABLE(0x1021, 0x2042, 0x4084, 0x8108, 0x1231, 0x2462, 0x48C4, 0x9188),
    TABLE(0x3331, 0x6662, 0xCCC4, 0x89A9, 0x0373, 0x06E6, 0x0DCC, 0x1B98),
    TABLE(0x3730, 0x6E60, 0xDCC0, 0xA9A1, 0x4363, 0x86C6, 0x1DAD, 0x3B5A),
    TABLE(0x76B4, 0xED68, 0xCAF1, 0x85C3, 0x1BA7, 0x374E, 0x6E9C, 0xDD38),
    TABLE(0xAA51, 0x4483, 0x8906, 0x022D, 0x045A, 0x08B4, 0x1168, 0x22D0),
    TABLE(0x45A0, 0x8B40, 0x06A1, 0x0D42, 0x1A84, 0x3508, 0x6A10, 0xD420),
    TABLE(0xB861, 0x60E3, 0xC1C6, 0x93AD, 0x377B, 0x6EF6, 0xDDEC, 0xABF9),
    TABLE(0x47D3, 0x8FA6, 0x0F6D, 0x1EDA, 0x3DB4, 0x7B68, 0xF6D0, 0xFD81),
};

static unsigned crc16(const unsigned char *at, size_t bytes)
{
    unsigned crc = 0;

    for (; bytes >= 8; at += 8, bytes -= 8)
        crc = (unsigned)remainders[7][(crc >> 8) ^ at[0]] ^
              remainders[6][(crc & 0xFF) ^ at[1]] ^ remainders[5][at[2]] ^
              remainders[4][at[3]] ^ remainders[3][at[4]] ^ remainders[2][at[5]] ^
              remainders[1][at[6]] ^ remainders[0][at[7]];
    if (bytes >= 4) {
        crc = (unsigned)remainders[3][(crc >> 8) ^ at[0]] ^
              remainders[2][(crc & 0xFF) ^ at[1]] ^ remainders[1][at[2]] ^
              remainders[0][at[3]];
        at += 4, bytes -= 4;
    }
    for (; bytes > 0; at++, bytes--)
        crc = ((crc << 8) & 0xFF00) ^ remainders[0][(crc >> 8) ^ at[0]];
    return crc;
}

/* ---- the slot ---- */

static shoal__bytes_t hashed_part(shoal__bytes_t key)
{
    const char *open = key.bytes ? memchr(key.data, '{', key.bytes) : NULL;
    const char *behind = open ? open + 1 : NULL;
    const char *close =
        open ? memchr(behind, '}', (size_t)(key.data + key.bytes - behind)) : NULL;

    if (close && close != behind)
        return (shoal__bytes_t){behind, (size_t)(close - behind)};
    return key;
}

unsigned shoal__key_slot(shoal__bytes_t key)
{
    shoal__bytes_t part = hashed_part(key);

    return crc16((const unsigned char *)part.data, part.bytes) % SHOAL__SLOTS;
}
