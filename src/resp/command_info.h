/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_COMMAND_INFO_H
#define SHOAL_RESP_COMMAND_INFO_H

/*
 * What is known about a command by its name: the table of tools/gen_command_table.py,
 * made from the server's own metadata and tools/reply_shapes.txt.  Names compare
 * without case.
 */

#include "base/bytes.h"
#include "resp/reply_shape.h"
#include <stdint.h>

enum shoal__command_flag {
    SHOAL__COMMAND_READONLY = 1 << 0,
    SHOAL__COMMAND_WRITE = 1 << 1,
    SHOAL__COMMAND_BLOCKING = 1 << 2,
    SHOAL__COMMAND_PUBSUB = 1 << 3,
    SHOAL__COMMAND_SCRIPT = 1 << 4, /* EVAL, EVALSHA, FCALL and their _RO forms */
    SHOAL__COMMAND_MOVABLEKEYS = 1 << 5,
    SHOAL__COMMAND_FAST = 1 << 6,
    SHOAL__COMMAND_NOSCRIPT = 1 << 7,
    SHOAL__COMMAND_ADMIN = 1 << 8,
    SHOAL__COMMAND_LOADING = 1 << 9
};

typedef struct shoal__command_info {
    const char *name; /* upper case */
    uint64_t word;    /* a name of up to 8 letters as one number, else 0 */
    uint8_t name_bytes;
    int8_t arity;                     /* name included; negative: at least that many */
    uint16_t flags;                   /* of enum shoal__command_flag */
    int8_t first_key, last_key, step; /* as COMMAND gives them; 0: none */
    shoal__reply_shape_t shape;       /* of its replies, outside of MULTI ... EXEC */
} shoal__command_info_t;

/* NULL for a name that is not in the table. */
const shoal__command_info_t *shoal__command_info_find(shoal__bytes_t name);

/* How an outcome without a reply is treated (core/settle_rule.h). */
typedef enum shoal__command_class {
    SHOAL__CLASS_WRITE,  /* zero: of every command of the table that is none of these */
    SHOAL__CLASS_RO,     /* may be sent again */
    SHOAL__CLASS_SCRIPT, /* its error replies do not prove anything */
    SHOAL__CLASS_BLOCK,  /* holds the connection */
} shoal__command_class_t;

/* RO: the server flags the command readonly, and it does not block; this includes the
 * _RO scripts, RANDOMKEY and SCAN.  PING, ECHO, TIME and the like are RO, too.  SCRIPT:
 * EVAL, EVALSHA, FCALL, and names that are not in the table (info NULL). */
shoal__command_class_t shoal__command_info_class(const shoal__command_info_t *info);

#endif
