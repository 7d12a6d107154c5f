/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_STANDALONE_H
#define SHOAL_ROUTE_STANDALONE_H

/* One server, one connection: every command goes there. */

#include "net/conn.h"
#include "net/loop.h"

typedef struct shoal__standalone {
    shoal__conn_t conn;
} shoal__standalone_t;

/* 0 or SHOAL_ENOMEM; on failure nothing needs to be released. */
int shoal__standalone_init(shoal__standalone_t *route,
                           const shoal__conn_config_t *config, shoal_client_t *client,
                           uint64_t seed, const shoal__conn_hooks_t *hooks,
                           void *owner);
void shoal__standalone_release(shoal__standalone_t *route);

void shoal__standalone_open(shoal__standalone_t *route, shoal__loop_t *loop);
/* Once per loop iteration; returns when to be called again. */
uint64_t shoal__standalone_turn(shoal__standalone_t *route, uint64_t now_us);
/* See shoal__conn_read_ahead(). */
void shoal__standalone_read_ahead(shoal__standalone_t *route);
/* Settle what is outstanding, and be closed. */
void shoal__standalone_close(shoal__standalone_t *route, uint64_t now_us);
/* In the child of a fork. */
void shoal__standalone_forget(shoal__standalone_t *route);

/* The pipe that takes the next command. */
static inline shoal__pipe_t *shoal__standalone_pick(shoal__standalone_t *route)
{
    return &route->conn.pipe;
}

/* Give up on a command; false if it is not outstanding. */
bool shoal__standalone_cancel(shoal__standalone_t *route, uint64_t ticket,
                              uint64_t now_us);

#endif
