/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_LANE_LIFE_H
#define SHOAL_CORE_LANE_LIFE_H

/*
 * What is to be done about the bulk lane of a node: a second connection to it, for commands that
 * would hold others up.
 *
 *     wanted ---> opened ---> used ---> idle for a minute ---> closed
 *                   |          |
 *                   |          lost: it waits for its next connection, or is given up
 *                   |          leads to another process than the node's: renewed
 *                   cannot be had: given up, and its commands go back to the node's connection
 */

#include <stdbool.h>
#include <stdint.h>

#define SHOAL__LANE_IDLE_US 60000000

typedef struct shoal__lane_state {
    bool is_open;
    bool is_ready;
    bool has_failed; /* the last attempt to connect did, and the next one is not due */
    bool is_empty;   /* it has no slot, and no command */
    bool is_wanted;  /* a bulk command came, and the lane was not open */
    bool may_open;   /* the node's connection is ready, and leads to a known process */
    bool is_owner;   /* the node owns slots */
    bool is_short;   /* other connections want its place */
    bool is_elsewhere;  /* it and the node's connection lead to different processes */
    bool may_be_proved; /* ... that the node runs nothing of the lane that was lost */
    uint64_t idle_us;   /* since it had something to do */
} shoal__lane_state_t;

typedef enum shoal__lane_deed {
    SHOAL__LANE_REST,
    SHOAL__LANE_OPEN,
    SHOAL__LANE_GIVE_UP, /* what it has goes to the node's connection */
    SHOAL__LANE_RENEW,
    SHOAL__LANE_CLOSE
} shoal__lane_deed_t;

shoal__lane_deed_t shoal__lane_deed(const shoal__lane_state_t *state);

#endif
