/* SPDX-License-Identifier: MIT */
#include "demo/nodes.h"

#include "load/clock.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX 100
#define AGAIN_NS UINT64_C(5500000000) /* a failover that nobody voted for is given up */
#define PATIENCE_NS UINT64_C(30000000000)

static int port_of(const cluster_t *cluster, size_t node)
{
    return cluster->servers[node].port;
}

/* NULL: it does not answer. */
static redisContext *reach(const cluster_t *cluster, size_t node)
{
    const struct timeval patience = {.tv_sec = 5};
    redisContext *connection =
        redisConnectWithTimeout("127.0.0.1", port_of(cluster, node), patience);

    if (connection && !connection->err &&
        redisSetTimeout(connection, patience) == REDIS_OK)
        return connection;
    if (connection)
        redisFree(connection);
    return NULL;
}

static redisReply *ask(const cluster_t *cluster, size_t node, const char *command)
{
    redisContext *connection = reach(cluster, node);
    redisReply *reply = connection ? redisCommand(connection, command) : NULL;

    if (connection)
        redisFree(connection);
    return reply;
}

/* The number behind `name` in a text of INFO; 0 if it is not there. */
static unsigned long long number_in(const redisReply *reply, const char *name)
{
    const char *at =
        reply && reply->type == REDIS_REPLY_STRING ? strstr(reply->str, name) : NULL;

    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* ---- what they say ---- */

static void count_slots(const cluster_t *cluster, const redisReply *ranges,
                        demo_view_t *view)
{
    if (!ranges || ranges->type != REDIS_REPLY_ARRAY)
        return;
    memset(view->slots, 0, sizeof view->slots);
    for (size_t i = 0; i < ranges->elements; i++) {
        redisReply *const *range = ranges->element[i]->element;
        for (size_t node = 0; node < DEMO_NODES; node++)
            if (range[2]->element[1]->integer == port_of(cluster, node))
                view->slots[node] +=
                    (unsigned)(range[1]->integer - range[0]->integer + 1);
    }
}

/* A node counts the redirects that it sent. */
void demo_nodes_look(const cluster_t *cluster, demo_view_t *view)
{
    static unsigned long long moved[DEMO_NODES], asked[DEMO_NODES];
    redisReply *ranges = ask(cluster, 0, "CLUSTER SLOTS");

    count_slots(cluster, ranges, view);
    freeReplyObject(ranges);
    view->moved = view->asked = 0;
    for (size_t node = 0; node < DEMO_NODES; node++) {
        redisReply *info = ask(cluster, node, "INFO errorstats");
        if (info) {
            moved[node] = number_in(info, "errorstat_MOVED:count=");
            asked[node] = number_in(info, "errorstat_ASK:count=");
        }
        freeReplyObject(info);
        view->moved += moved[node];
        view->asked += asked[node];
    }
}

/* ---- moving slots ---- */

/* The two ends, and all primaries. */
typedef struct move {
    redisContext *ends[DEMO_PRIMARIES];
    char ids[DEMO_PRIMARIES][48];
    size_t from, to;
    int port; /* of `to` */
} move_t;

static bool takes(redisContext *connection, redisReply *reply)
{
    bool is_taken = reply && reply->type == REDIS_REPLY_STATUS;

    if (!is_taken)
        fprintf(stderr, "shoal-demo-cluster: a node says: %s\n",
                reply && reply->type == REDIS_REPLY_ERROR ? reply->str
                                                          : connection->errstr);
    freeReplyObject(reply);
    return is_taken;
}

static bool set_slot(const move_t *move, size_t node, unsigned slot, const char *how,
                     size_t other)
{
    return takes(move->ends[node],
                 redisCommand(move->ends[node], "CLUSTER SETSLOT %u %s %s", slot, how,
                              move->ids[other]));
}

/* Some of the slot's keys go over.  1: there may be more; 0: there were none; -1: refused. */
static int move_keys(const move_t *move, unsigned slot)
{
    redisContext *from = move->ends[move->from];
    const char *words[7 + KEYS_MAX] = {"MIGRATE", "127.0.0.1", NULL,  "",
                                       "0",       "5000",      "KEYS"};
    char port[8];
    size_t count;
    bool is_taken;
    redisReply *keys =
        redisCommand(from, "CLUSTER GETKEYSINSLOT %u %d", slot, KEYS_MAX);

    if (!keys || keys->type != REDIS_REPLY_ARRAY) {
        (void)takes(from, keys); /* says why not */
        return -1;
    }
    snprintf(port, sizeof port, "%d", move->port);
    words[2] = port;
    count = keys->elements;
    for (size_t i = 0; i < count && i < KEYS_MAX; i++)
        words[7 + i] = keys->element[i]->str;
    is_taken =
        count == 0 || takes(from, redisCommandArgv(from, 7 + (int)count, words, NULL));
    freeReplyObject(keys);
    return !is_taken ? -1 : count > 0;
}

static bool move_slot(const move_t *move, unsigned slot)
{
    int more = 1;

    if (!set_slot(move, move->to, slot, "IMPORTING", move->from) ||
        !set_slot(move, move->from, slot, "MIGRATING", move->to))
        return false;
    while (more > 0)
        more = move_keys(move, slot);
    if (more < 0 || !set_slot(move, move->to, slot, "NODE", move->to) ||
        !set_slot(move, move->from, slot, "NODE", move->to))
        return false;
    for (size_t node = 0; node < DEMO_PRIMARIES; node++)
        if (node != move->from && node != move->to &&
            !set_slot(move, node, slot, "NODE", move->to))
            return false;
    return true;
}

static bool open_move(move_t *move, const cluster_t *cluster)
{
    for (size_t node = 0; node < DEMO_PRIMARIES; node++) {
        move->ends[node] = reach(cluster, node);
        redisReply *id =
            move->ends[node] ? redisCommand(move->ends[node], "CLUSTER MYID") : NULL;
        if (!id)
            return false;
        snprintf(move->ids[node], sizeof move->ids[node], "%s", id->str);
        freeReplyObject(id);
    }
    return true;
}

int demo_nodes_move(const cluster_t *cluster, unsigned first, unsigned count,
                    uint64_t until_ns, size_t from, size_t to)
{
    move_t move = {.from = from, .to = to, .port = port_of(cluster, to)};
    bool is_well = open_move(&move, cluster);
    unsigned moved = 0;

    while (is_well && moved < count && clock_ns() < until_ns) {
        is_well = move_slot(&move, first + moved);
        moved += is_well;
    }
    for (size_t node = 0; node < DEMO_PRIMARIES; node++)
        if (move.ends[node])
            redisFree(move.ends[node]);
    return is_well ? (int)moved : -1;
}

/* ---- failing over ---- */

static bool is_primary(const cluster_t *cluster, size_t node)
{
    redisReply *role = ask(cluster, node, "ROLE");
    bool is_so = role && role->type == REDIS_REPLY_ARRAY &&
                 strcmp(role->element[0]->str, "master") == 0;

    freeReplyObject(role);
    return is_so;
}

static void pause_between_looks(void)
{
    const struct timespec pause = {.tv_nsec = 10000000};

    nanosleep(&pause, NULL);
}

bool demo_nodes_fail_over(const cluster_t *cluster, size_t replica)
{
    uint64_t since_ns = clock_ns(), again_ns = 0;

    while (!is_primary(cluster, replica)) {
        uint64_t now_ns = clock_ns();
        if (now_ns - since_ns > PATIENCE_NS)
            return false;
        if (now_ns >= again_ns) {
            redisReply *reply = ask(cluster, replica, "CLUSTER FAILOVER");
            if (reply && reply->type == REDIS_REPLY_STATUS)
                again_ns = now_ns + AGAIN_NS;
            freeReplyObject(reply);
        }
        pause_between_looks();
    }
    return true;
}

bool demo_nodes_kill(const cluster_t *cluster, size_t primary, size_t replica)
{
    uint64_t since_ns = clock_ns();
    redisReply *info = ask(cluster, primary, "INFO server");
    pid_t pid = (pid_t)number_in(info, "process_id:");

    freeReplyObject(info);
    if (pid <= 1 || kill(pid, SIGKILL) < 0)
        return false;
    while (!is_primary(cluster, replica)) {
        if (clock_ns() - since_ns > PATIENCE_NS)
            return false;
        pause_between_looks();
    }
    return true;
}
