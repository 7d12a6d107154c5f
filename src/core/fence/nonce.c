/* SPDX-License-Identifier: MIT */
#include "core/fence/nonce.h"

void shoal__nonce_init(shoal__nonce_t *nonce, shoal__entropy_fn entropy)
{
    *nonce = (shoal__nonce_t){.entropy = entropy};
}

void shoal__nonce_write(shoal__nonce_t *nonce, char *digits)
{
    if (nonce->count == 0) {
        nonce->entropy(nonce->kept, sizeof nonce->kept);
        nonce->count = SHOAL__NONCES_KEPT;
    }
    uint64_t number = nonce->kept[--nonce->count];
    nonce->kept[nonce->count] = 0;
    for (unsigned i = 0; i < SHOAL__NONCE_BYTES; i++, number >>= 4)
        digits[i] = "0123456789abcdef"[number & 15];
}
