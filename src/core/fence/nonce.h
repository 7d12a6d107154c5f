/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_NONCE_H
#define SHOAL_CORE_NONCE_H

/*
 * The numbers of the fences.  Neither a server nor a person who can make the server
 * send chosen bytes can foresee them.  A function of the owner gets the numbers from
 * the system's entropy, many at a time.
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
