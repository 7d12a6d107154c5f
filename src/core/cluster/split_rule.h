/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_SPLIT_RULE_H
#define SHOAL_CORE_SPLIT_RULE_H

/*
 * Which keys of a command make which part, if its keys belong to several slots: a part for
 * each slot, in which its keys keep their order.
 *
 * Source: the tip request_policy:multi_shard of the commands of Redis 7.0.  MSETNX has it, too,
 * but is one step or none.
 */

#include "base/bytes.h"
#include "core/cluster/gather.h"
#include "resp/key_slot.h"
#include <shoal/command.h>

/* A key, and its value if it has one. */
typedef struct shoal__split_key {
    const char *text; /* encoded */
    uint32_t bytes;
    shoal__gather_place_t place;
} shoal__split_key_t;

typedef struct shoal__split_part {
    unsigned slot;
    uint32_t keys;
    uint32_t bytes; /* as a command, encoded */
    char *at;       /* behind what was written of it */
} shoal__split_part_t;

typedef struct shoal__split {
    shoal__gather_policy_t policy; /* what is made of the parts' replies */
    unsigned step;                 /* arguments for each key */
    shoal__bytes_t name;           /* encoded */
    size_t keys_count, parts_count;
    size_t bytes; /* of all parts */
    shoal__split_key_t *keys;
    shoal__split_part_t *parts;
    uint16_t parts_1[SHOAL__SLOTS]; /* 1 + the part of each slot; 0: there is none */
} shoal__split_t;

/* Is it a command that parts can stand for? */
bool shoal__split_may(const shoal_command_t *command);

/* Of an encoded command which may be split (else NULL); it is borrowed.  NULL: no memory. */
shoal__split_t *shoal__split_new(shoal__bytes_t encoded);
void shoal__split_free(shoal__split_t *split);

/* Write the parts' commands to `to`, one behind the other. */
void shoal__split_write(shoal__split_t *split, char *to);

#endif
