/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PIPE_PIPE_SHARED_H
#define SHOAL_CORE_PIPE_PIPE_SHARED_H

/* The objects that all pipes of one loop share, so that an idle pipe costs little
 * memory.  The pipes can share them, because one thread runs the pipes one after the
 * other. */

#include "base/random.h"
#include "core/fence/nonce.h"
#include "core/heavy.h"
#include "core/overtaken.h"
#include "core/pipe/stage_times.h"
#include "core/scripts.h"

struct shoal__pipe;

typedef struct shoal__pipe_shared {
    shoal__random_t *random;         /* borrowed */
    shoal__nonce_t nonce;            /* of fences */
    shoal__latencies_t latencies;    /* any thread reads */
    shoal__heavy_t heavy;            /* commands with large replies */
    shoal__overtaken_t overtaken;    /* commands that lost their place */
    const shoal__scripts_t *scripts; /* borrowed; NULL: there are none */
    bool wants_bulk; /* a reply was large, or a command was for the bulk lane; until the
                        lane was closed, and nothing is remembered */
    struct shoal__pipe
        *doubtful;           /* pipe_doubt.c: the first one; NULL: there are none */
    uint64_t doubts_changed; /* how often what they doubt changed */
    uint64_t greeted;        /* connections */
} shoal__pipe_shared_t;

static inline void shoal__pipe_shared_init(shoal__pipe_shared_t *shared,
                                           shoal__entropy_fn entropy,
                                           shoal__random_t *random)
{
    *shared = (shoal__pipe_shared_t){.random = random};
    shoal__nonce_init(&shared->nonce, entropy);
}

static inline void shoal__pipe_shared_release(shoal__pipe_shared_t *shared)
{
    shoal__overtaken_release(&shared->overtaken);
}

#endif
