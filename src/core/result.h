/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_RESULT_H
#define SHOAL_CORE_RESULT_H

/* The outcome of one command that callbacks receive. */

#include "resp/reply.h"
#include <shoal/result.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct shoal__result_parts shoal__result_parts_t;

struct shoal_result {
    int status; /* 0 or SHOAL_E* */
    shoal_fate_t fate;
    const shoal_reply_t *reply; /* NULL: none, or a sink took it */
    const char *detail;         /* never NULL */
    const char *node;           /* the server that answered; NULL or "": none did */
    uint32_t attempts;
    uint32_t redirects; /* that the command followed */
    unsigned slot_1;    /* 1 + the slot of its keys; 0: not known */
    bool was_reordered; /* the server executed a later command before it */
    bool is_settled;    /* the reply comes from a connection whose predecessors ended */
    bool is_offline;    /* it waited for a connection when its deadline passed */
    uint64_t process;   /* of a reply: a number for the server process that gave it */
    uint64_t tag;       /* as submitted */
    uint64_t ticket;    /* 0: none was given out */

    const shoal__result_parts_t
        *parts; /* of a command that concerned several nodes or slots; or NULL */
};

/* Results that live in one arena, and this with them. */
struct shoal__result_parts {
    shoal__arena_t *arena;
    size_t count;
    shoal_result_t items[]; /* they have no parts */
};

/* Room for so many in the arena, all of them zero; NULL: no memory. */
shoal__result_parts_t *shoal__result_parts_new(shoal__arena_t *arena, size_t count);

/* Copy `from` into `to`; its reply, words and parts go into the arena.  If that fails, the
 * result says so: SHOAL_ENOMEM, the reply is lost. */
void shoal__result_copy(shoal_result_t *to, const shoal_result_t *from,
                        shoal__arena_t *arena);

#endif
