/* SPDX-License-Identifier: MIT */
#include "base/sha1.h"

#include <stdint.h>
#include <string.h>

#define BLOCK_BYTES 64
#define LENGTH_BYTES 8 /* of the text, in bits, at the end of the last block */
#define ROUNDS 80

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return (word << bits) | (word >> (32 - bits));
}

static uint32_t read_word(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The function and the constant of a round: FIPS 180-4, 4.1.1 and 4.2.1. */
static uint32_t mix(unsigned round, const uint32_t state[5])
{
    uint32_t b = state[1], c = state[2], d = state[3];

    if (round < 20)
        return ((b & c) | (~b & d)) + 0x5A827999u;
    if (round < 40)
        return (b ^ c ^ d) + 0x6ED9EBA1u;
    if (round < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDCu;
    return (b ^ c ^ d) + 0xCA62C1D6u;
}

static void take_block(uint32_t hash[5], const unsigned char *block)
{
    uint32_t words[ROUNDS], state[5];

    for (size_t i = 0; i < 16; i++)
        words[i] = read_word(block + 4 * i);
    for (unsigned i = 16; i < ROUNDS; i++)
        words[i] =
            rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    memcpy(state, hash, sizeof state);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint32_t next = rotate(state[0], 5) + mix(i, state) + state[4] + words[i];
        state[4] = state[3];
        state[3] = state[2];
        state[2] = rotate(state[1], 30);
        state[1] = state[0];
        state[0] = next;
    }
    for (unsigned i = 0; i < 5; i++)
        hash[i] += state[i];
}

/* The bytes behind the last whole block, a one, zeros, and the length. */
static void take_end(uint32_t hash[5], shoal__bytes_t rest, uint64_t bits)
{
    unsigned char blocks[2 * BLOCK_BYTES] = {0};
    size_t end =
        rest.bytes + 1 + LENGTH_BYTES <= BLOCK_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;

    if (rest.bytes > 0)
        memcpy(blocks, rest.data, rest.bytes);
    blocks[rest.bytes] = 0x80;
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        blocks[end - 1 - i] = (unsigned char)(bits >> (8 * i));
    for (size_t at = 0; at < end; at += BLOCK_BYTES)
        take_block(hash, blocks + at);
}

void shoal__sha1_hex(shoal__bytes_t text, char ret[SHOAL__SHA1_HEX_BYTES + 1])
{
    static const char digits[] = "0123456789abcdef";
    uint32_t hash[5] = {0x67452301u, 0xEFCDAB89u, 0x98BADCFEu, 0x10325476u,
                        0xC3D2E1F0u};
    uint64_t bits = (uint64_t)text.bytes * 8;

    for (; text.bytes >= BLOCK_BYTES; text.bytes -= BLOCK_BYTES) {
        take_block(hash, (const unsigned char *)text.data);
        text.data += BLOCK_BYTES;
    }
    take_end(hash, text, bits);
    for (unsigned i = 0; i < SHOAL__SHA1_HEX_BYTES; i++)
        ret[i] = digits[(hash[i / 8] >> (28 - 4 * (i % 8))) & 15];
    ret[SHOAL__SHA1_HEX_BYTES] = '\0';
}
