/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_PUBSUB_MESSAGE_H
#define SHOAL_BENCH_PUBSUB_MESSAGE_H

/*
 * What is published: eight hexadecimal digits of the message's number, eight of the moment of
 * its publication in microseconds, and x up to the size that was asked for.  Numbers count all
 * messages of one publisher, whatever their channel, from 0.
 */

#include <stdint.h>
#include <string.h>

#define MESSAGE_HEAD_BYTES 16u
#define MESSAGE_CREDIT 1024u /* a receiver says so each time it has this many more */

static inline void message_put(char *text, uint32_t value)
{
    static const char digits[] = "0123456789abcdef";

    for (int shift = 28; shift >= 0; shift -= 4)
        *text++ = digits[(value >> shift) & 15];
}

/* All eight digits at once, each in a byte of one word. */
static inline uint32_t message_get(const char *text)
{
    uint64_t word;

    memcpy(&word, text, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    word = (word & UINT64_C(0x0f0f0f0f0f0f0f0f)) +
           9 * ((word >> 6) & UINT64_C(0x0101010101010101));
    word = (word | word >> 4) & UINT64_C(0x00ff00ff00ff00ff);
    word = (word | word >> 8) & UINT64_C(0x0000ffff0000ffff);
    return (uint32_t)(word | word >> 16);
}

static inline void message_write(char *payload, uint32_t number, uint64_t now_ns)
{
    message_put(payload, number);
    message_put(payload + 8, (uint32_t)(now_ns / 1000));
}

static inline uint32_t message_number(const char *payload)
{
    return message_get(payload);
}

/* How long ago it was published. */
static inline uint64_t message_age_ns(const char *payload, uint64_t now_ns)
{
    uint32_t us = (uint32_t)(now_ns / 1000) - message_get(payload + 8);
    return (uint64_t)us * 1000;
}

#endif
