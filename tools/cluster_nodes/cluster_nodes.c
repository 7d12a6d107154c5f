/* SPDX-License-Identifier: MIT */
#include "cluster_nodes/cluster_nodes.h"

#include "cluster_nodes/redis_ask.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define ANSWER_BYTES 256
#define NODE_TIMEOUT_MS "1500"
#define LOOKS_MAX 6000
#define LOOK_NS 5000000
#define LOOKS_BETWEEN_MEETINGS 400 /* 2 s: longer than a handshake lasts */

void cluster_node_options(const char *options[CLUSTER_NODE_OPTIONS],
                          const char *bus_text)
{
    const char *const all[CLUSTER_NODE_OPTIONS] = {"--cluster-enabled",
                                                   "yes",
                                                   "--cluster-port",
                                                   bus_text,
                                                   "--cluster-node-timeout",
                                                   NODE_TIMEOUT_MS,
                                                   "--cluster-config-file",
                                                   "nodes.conf",
                                                   "--cluster-announce-ip",
                                                   "127.0.0.1",
                                                   "--repl-diskless-sync-delay",
                                                   "0",
                                                   "--repl-ping-replica-period",
                                                   "1",
                                                   "--protected-mode",
                                                   "no",
                                                   NULL};

    memcpy(options, all, sizeof all);
}

/* ---- what a node says ---- */

static bool takes(int port, const char *command)
{
    char answer[ANSWER_BYTES];

    return redis_ask(port, command, answer, sizeof answer) &&
           strcmp(answer, "+OK") == 0;
}

/* A field of CLUSTER INFO is this. */
static bool has_info(int port, const char *field)
{
    char line[ANSWER_BYTES];

    for (unsigned i = 2; i < 12; i++)
        if (redis_ask_line(port, "CLUSTER INFO", i, line, sizeof line) &&
            strcmp(line, field) == 0)
            return true;
    return false;
}

/* Of a replica's ROLE the fourth word says whether it is in touch with its primary. */
static bool is_in_touch(int port)
{
    char word[ANSWER_BYTES] = "";

    if (redis_ask_line(port, "ROLE", 3, word, sizeof word) &&
        strcmp(word, "master") == 0)
        return true;
    return redis_ask_line(port, "ROLE", 8, word, sizeof word) &&
           strcmp(word, "connected") == 0;
}

bool cluster_node_is_calm(int port)
{
    return has_info(port, "cluster_state:ok") && is_in_touch(port);
}

/* ---- joining ---- */

static void pause_between_looks(void)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};

    nanosleep(&pause, NULL);
}

static bool give_slots(int port, size_t node, size_t primaries)
{
    char command[64];

    snprintf(command, sizeof command, "CLUSTER SET-CONFIG-EPOCH %zu", node + 1);
    if (!takes(port, command))
        return false;
    snprintf(command, sizeof command, "CLUSTER ADDSLOTSRANGE %zu %zu",
             node * CLUSTER_SLOTS / primaries,
             (node + 1) * CLUSTER_SLOTS / primaries - 1);
    return node >= primaries || takes(port, command);
}

static bool meet(int port, const cluster_place_t *other)
{
    char command[96];

    snprintf(command, sizeof command, "CLUSTER MEET 127.0.0.1 %d %d", other->port,
             other->bus);
    return takes(port, command);
}

/* Everybody: what one hears of the others by gossip takes longer. */
static bool introduce(int port, const cluster_place_t *others, size_t count)
{
    bool is_done = true;

    for (size_t i = 0; i < count; i++)
        is_done = is_done && (others[i].port == port || meet(port, &others[i]));
    return is_done;
}

/* The node counts nodes of which a line of CLUSTER NODES has `part`: a Lua pattern.  A node
 * whose handshake is not over does not count: it may be forgotten again. */
static bool counts(int port, const char *part, size_t wanted)
{
    char command[320], answer[24], said[ANSWER_BYTES];

    snprintf(
        command, sizeof command,
        "EVAL \"local n = 0 for line in string.gmatch(redis.call('cluster', 'nodes'), "
        "'[^%%c]+') do if string.find(line, '%s') and not string.find(line, "
        "'handshake') then n = n + 1 end end return n\" 0",
        part);
    snprintf(answer, sizeof answer, ":%zu", wanted);
    return redis_ask(port, command, said, sizeof said) && strcmp(said, answer) == 0;
}

static bool knows(int port, const cluster_place_t *other)
{
    char bus[24];

    snprintf(bus, sizeof bus, "@%d[ ,]", other->bus);
    return counts(port, bus, 1);
}

/* A handshake that takes longer than the node timeout is given up, and nobody begins it anew. */
static void meet_unknown(int port, const cluster_place_t *others, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (others[i].port != port && !knows(port, &others[i]))
            (void)meet(port, &others[i]);
}

/* What is awaited of one node of these. */
typedef struct look {
    bool (*is_so)(const struct look *look);
    int port;
    const char *what;
    const cluster_place_t *places;
    size_t count;
} look_t;

static bool await(const look_t *look)
{
    for (unsigned looks = 1; looks <= LOOKS_MAX; looks++) {
        if (look->is_so(look))
            return true;
        if (looks % LOOKS_BETWEEN_MEETINGS == 0)
            meet_unknown(look->port, look->places, look->count);
        pause_between_looks();
    }
    return false;
}

static bool is_taken(const look_t *look)
{
    return takes(look->port, look->what);
}

/* It refuses until it has heard of the primary. */
static bool follow(const cluster_place_t *places, size_t count, size_t node,
                   size_t primary)
{
    char id[CLUSTER_ID_BYTES], command[80];

    if (!redis_ask(places[primary].port, "CLUSTER MYID", id, sizeof id))
        return false;
    snprintf(command, sizeof command, "CLUSTER REPLICATE %s", id);
    return await(&(look_t){is_taken, places[node].port, command, places, count});
}

/* Does the node list so many replicas: ":3"?  It lists one when it has heard how much that one
 * has copied; before that, clients do not know it. */
static bool lists_replicas(int port, const char *count)
{
    static const char counting[] =
        "EVAL \"local n = 0 for _, range in ipairs(redis.call('cluster', 'slots')) do "
        "n = n + #range - 3 end return n\" 0";
    char said[ANSWER_BYTES];

    return redis_ask(port, counting, said, sizeof said) && strcmp(said, count) == 0;
}

static bool is_calm(const look_t *look)
{
    return cluster_node_is_calm(look->port) && lists_replicas(look->port, look->what);
}

static bool knows_all(const look_t *look)
{
    return counts(look->port, "", look->count);
}

bool cluster_nodes_know_each_other(const cluster_place_t *places, size_t count)
{
    bool is_done = true;

    for (size_t i = 0; i < count; i++)
        is_done =
            is_done && await(&(look_t){knows_all, places[i].port, "", places, count});
    return is_done;
}

bool cluster_nodes_meet(const cluster_place_t *places, size_t count, size_t node)
{
    return introduce(places[node].port, places, count) &&
           cluster_nodes_know_each_other(places, count);
}

bool cluster_nodes_join(const cluster_place_t *places, size_t count, size_t primaries)
{
    char replicas[24];
    bool is_done = true;

    snprintf(replicas, sizeof replicas, ":%zu", count - primaries);
    for (size_t i = 0; i < count; i++)
        is_done = is_done && give_slots(places[i].port, i, primaries);
    for (size_t i = 0; i < count; i++)
        is_done = is_done && introduce(places[i].port, places, count);
    is_done = is_done && cluster_nodes_know_each_other(places, count);
    for (size_t i = primaries; i < count; i++)
        is_done = is_done && follow(places, count, i, (i - primaries) % primaries);
    for (size_t i = 0; i < count; i++)
        is_done = is_done &&
                  await(&(look_t){is_calm, places[i].port, replicas, places, count});
    return is_done;
}
