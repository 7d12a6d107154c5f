/* SPDX-License-Identifier: MIT */
#include "server/controls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add(controls_t *controls, redisContext *connection)
{
    redisContext **grown =
        realloc(controls->connections, (controls->count + 1) * sizeof *grown);

    if (!grown) {
        redisFree(connection);
        return -1;
    }
    controls->connections = grown;
    controls->connections[controls->count++] = connection;
    return 0;
}

static bool is_known(const controls_t *controls, const char *host, int port)
{
    for (size_t i = 0; i < controls->count; i++) {
        const redisContext *connection = controls->connections[i];
        if (connection->tcp.port == port && strcmp(connection->tcp.host, host) == 0)
            return true;
    }
    return false;
}

static int add_target(controls_t *controls, const target_t *target, char *problem,
                      size_t problem_bytes)
{
    redisContext *connection = target_connect(target, problem, problem_bytes);

    if (!connection)
        return -1;
    if (add(controls, connection) == 0)
        return 0;
    snprintf(problem, problem_bytes, "out of memory");
    return -1;
}

/* A node of a range of slots: host, port, and more.  Without a host it is the one that was
 * asked. */
static int add_node(controls_t *controls, const target_t *seed, const redisReply *node,
                    char *problem, size_t problem_bytes)
{
    target_t target = *seed;

    if (node->type != REDIS_REPLY_ARRAY || node->elements < 2)
        return 0;
    if (node->element[0]->type == REDIS_REPLY_STRING && node->element[0]->len > 0)
        target.host = node->element[0]->str;
    target.port = (int)node->element[1]->integer;
    return is_known(controls, target.host, target.port)
               ? 0
               : add_target(controls, &target, problem, problem_bytes);
}

static int add_nodes(controls_t *controls, const target_t *seed,
                     const redisReply *ranges, char *problem, size_t problem_bytes)
{
    for (size_t i = 0; i < ranges->elements; i++) {
        const redisReply *range = ranges->element[i];
        for (size_t k = 2; k < range->elements; k++)
            if (add_node(controls, seed, range->element[k], problem, problem_bytes) < 0)
                return -1;
    }
    return 0;
}

int controls_open(controls_t *controls, const target_t *target, char *problem,
                  size_t problem_bytes)
{
    redisContext *seed;
    redisReply *ranges;
    int rc = -1;

    *controls = (controls_t){0};
    if (!target->is_cluster)
        return add_target(controls, target, problem, problem_bytes);
    seed = target_connect(target, problem, problem_bytes);
    if (!seed)
        return -1;
    ranges = redisCommand(seed, "CLUSTER SLOTS");
    if (!ranges || ranges->type != REDIS_REPLY_ARRAY || ranges->elements == 0)
        snprintf(problem, problem_bytes, "it is no cluster, or has no slots: %s",
                 ranges && ranges->type == REDIS_REPLY_ERROR ? ranges->str
                                                             : seed->errstr);
    else
        rc = add_nodes(controls, target, ranges, problem, problem_bytes);
    freeReplyObject(ranges);
    redisFree(seed);
    return rc;
}

void controls_close(controls_t *controls)
{
    for (size_t i = 0; i < controls->count; i++)
        redisFree(controls->connections[i]);
    free(controls->connections);
    *controls = (controls_t){0};
}
