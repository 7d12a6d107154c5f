/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_RESULT_H
#define SHOAL_CORE_RESULT_H

/* The outcome of one command that callbacks receive. */

#include <shoal/result.h>
#include <stdbool.h>

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
    uint64_t tag;       /* as submitted */
    uint64_t ticket;    /* 0: none was given out */
};

#endif
