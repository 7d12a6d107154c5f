/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_NONCE_H
#define SHOAL_CORE_NONCE_H

/*
 * Numbers that a server, or who can make it say something, cannot foresee: those of the
 * fences.  They come from the system's entropy by a function of the owner, many at a
 * time.
 */

#include <stddef.h>
#include <stdint.h>

#define SHOAL__NONCE_BYTES 16 /* hexadecimal digits, not terminated */
#define SHOAL__NONCES_KEPT 32

/* Fill memory with unpredictable bytes. */
typedef void (*shoal__entropy_fn)(void *memory, size_t bytes);

typedef struct shoal__nonce {
    shoal__entropy_fn entropy;
    uint64_t kept[SHOAL__NONCES_KEPT];
    unsigned count;
} shoal__nonce_t;

void shoal__nonce_init(shoal__nonce_t *nonce, shoal__entropy_fn entropy);

/* Write the digits of a number that was not used before. */
void shoal__nonce_write(shoal__nonce_t *nonce, char *digits);

#endif
