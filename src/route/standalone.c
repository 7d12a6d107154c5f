/* SPDX-License-Identifier: MIT */
#include "route/standalone.h"

int shoal__standalone_init(shoal__standalone_t *route,
                           const shoal__conn_config_t *config, shoal_client_t *client,
                           uint64_t seed, const shoal__conn_hooks_t *hooks, void *owner)
{
    return shoal__conn_init(&route->conn, config, client, seed, hooks, owner);
}

void shoal__standalone_release(shoal__standalone_t *route)
{
    shoal__conn_release(&route->conn);
}

void shoal__standalone_open(shoal__standalone_t *route, shoal__loop_t *loop)
{
    shoal__conn_open(&route->conn, loop->uv);
}

uint64_t shoal__standalone_turn(shoal__standalone_t *route, uint64_t now_us)
{
    return shoal__conn_turn(&route->conn, now_us);
}

void shoal__standalone_read_ahead(shoal__standalone_t *route)
{
    shoal__conn_read_ahead(&route->conn);
}

void shoal__standalone_close(shoal__standalone_t *route, uint64_t now_us)
{
    shoal__conn_close(&route->conn, now_us);
}

void shoal__standalone_forget(shoal__standalone_t *route)
{
    shoal__conn_forget(&route->conn);
}

bool shoal__standalone_cancel(shoal__standalone_t *route, uint64_t ticket,
                              uint64_t now_us)
{
    return shoal__pipe_cancel(&route->conn.pipe, ticket, now_us);
}
