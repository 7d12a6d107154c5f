/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PUSH_ITEM_H
#define SHOAL_CORE_PUSH_ITEM_H

/* A message or a mark, as its receiver sees it: a view of bytes that somebody else owns. */

#include "base/bytes.h"
#include <shoal/item.h>
#include <stdint.h>

struct shoal_item {
    shoal_item_kind_t kind;
    shoal_name_kind_t name_kind;
    shoal_gap_reason_t reason;
    shoal__bytes_t channel; /* of a message; of a mark: its name.  data NULL: none */
    shoal__bytes_t pattern; /* data NULL: none */
    shoal__bytes_t payload; /* data NULL: none.  No NUL behind it */
    const char *detail;     /* NULL: none */
    uint64_t count;         /* SHOAL_ITEM_DROPPED: messages */
    uint64_t epoch;         /* of the connection; SUSPENDED: of the lost one */
    void *data;             /* the receiver's */
};

#endif
