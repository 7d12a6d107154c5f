/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_SCAN_RULE_H
#define SHOAL_CORE_SCAN_RULE_H

/*
 * What a scan asks for next.
 *
 *   PAGE  the page at `cursor`; of all keys of a cluster: at one node
 *   LOOK  of all keys of a cluster, at the beginning and at the end: each primary says which
 *         slots it has, and which of them are being moved to it (CLUSTER NODES)
 *   FIND  a slot belongs to a node that was not asked: a command for one of its keys, which is
 *         redirected there, makes the node known; then LOOK
 *   LOST  the same again and again: nobody answers for a slot; or no node speaks of itself.  The
 *         next step is LOOK
 *   OVER
 *
 * A cursor means something to the process that gave it.  A page of another process, for a cursor
 * that is not the first, begins this server anew.
 *
 * In a cluster a node is scanned at a LOOK if it
 *
 *   - has a slot that it did not have at the last LOOK.  Of two nodes that claim a slot the one
 *     with the higher configuration epoch has it;
 *   - has another configuration epoch than then: slots may have gone and come back;
 *   - says of other slots than before that they are being moved there key by key.  That is looked
 *     at when all else is scanned: keys go one way, and where they were is scanned by then.
 *
 * What a node has that does not speak any more is another one's, or must be found.
 *
 * Guarantee: OVER comes when a LOOK brought nothing of this.  So a key that is there from the
 * first LOOK to the last one was in a page of its node, wherever it was.
 */

#include "base/bytes.h"
#include <stdbool.h>
#include <stdint.h>

#define SHOAL__SCAN_CURSOR_BYTES 21 /* an unsigned number of 64 bits, and the NUL */
#define SHOAL__SCAN_KEY_BYTES 12
#define SHOAL__SCAN_FINDS_MAX                                                          \
    16 /* in a row, with as many slots that nobody has claimed */

typedef enum shoal__scan_step {
    SHOAL__SCAN_PAGE,
    SHOAL__SCAN_LOOK,
    SHOAL__SCAN_FIND,
    SHOAL__SCAN_LOST,
    SHOAL__SCAN_OVER
} shoal__scan_step_t;

typedef struct shoal__scan_map shoal__scan_map_t;

typedef struct shoal__scan_rule {
    shoal__scan_step_t step;
    char cursor[SHOAL__SCAN_CURSOR_BYTES]; /* "0": the first */
    uint64_t process;       /* that gave the cursor, unless it is the first */
    unsigned slot;          /* FIND, LOST: that nobody has claimed */
    unsigned finds;         /* in a row */
    shoal__scan_map_t *map; /* of all keys of a cluster; else NULL */
} shoal__scan_rule_t;

/* 0 or SHOAL_ENOMEM. */
int shoal__scan_rule_init(shoal__scan_rule_t *rule, bool is_of_cluster);
void shoal__scan_rule_release(shoal__scan_rule_t *rule);

/* PAGE: the name of the node; NULL: no certain one. */
const char *shoal__scan_rule_node(const shoal__scan_rule_t *rule);
/* PAGE: the page came, with the next cursor.  False: that is none, and nothing changed. */
bool shoal__scan_rule_page(shoal__scan_rule_t *rule, shoal__bytes_t cursor,
                           uint64_t process);
/* PAGE: it did not come.  In a cluster the nodes are looked at before another attempt. */
void shoal__scan_rule_failed(shoal__scan_rule_t *rule);

/* LOOK: the answers begin; what a node said, which has this name; and all have spoken.  _hear
 * returns 0 or SHOAL_ENOMEM; then, and if an answer is missing, it is not _heard. */
void shoal__scan_rule_listen(shoal__scan_rule_t *rule);
int shoal__scan_rule_hear(shoal__scan_rule_t *rule, const char *called,
                          shoal__bytes_t said);
void shoal__scan_rule_heard(shoal__scan_rule_t *rule);

/* FIND: a key of the slot. */
void shoal__scan_rule_key(const shoal__scan_rule_t *rule,
                          char ret_key[SHOAL__SCAN_KEY_BYTES]);
/* FIND: the command was answered.  LOST: that was told. */
void shoal__scan_rule_found(shoal__scan_rule_t *rule);

#endif
