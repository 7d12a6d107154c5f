/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_BELL_H
#define SHOAL_PYTHON_BELL_H

/* A descriptor that is readable while there is something to take: by a thread in poll(), or by
 * an event loop.  Who rings and who stops it do so under a lock of the owner's. */

#include <stdbool.h>
#include <stdint.h>

typedef struct shoalpy_bell {
    int fds[2]; /* a pipe, with one byte in it if is_ringing */
    bool is_ringing;
} shoalpy_bell_t;

bool shoalpy_bell_open(shoalpy_bell_t *bell);
void shoalpy_bell_close(shoalpy_bell_t *bell);

void shoalpy_bell_ring(shoalpy_bell_t *bell);
void shoalpy_bell_stop(shoalpy_bell_t *bell);
/* Does it ring, now or within wait_us?  A signal ends the wait. */
bool shoalpy_bell_wait(const shoalpy_bell_t *bell, uint64_t wait_us);

#endif
