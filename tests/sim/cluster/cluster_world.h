/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SIM_CLUSTER_WORLD_H
#define SHOAL_TESTS_SIM_CLUSTER_WORLD_H

/*
 * The route to a cluster, as it is, among simulated nodes: on a virtual clock, with a dialer
 * and streams of the world's own (cluster_net.c).
 *
 * Each node believes in owners of its own.  It learns of others by gossip, which takes its
 * time.  Slots move key by key (MOVED, ASK, TRYAGAIN), or whole; replicas take the place of
 * their primaries, planned or not; nodes are killed, stopped and cut off, and come back with
 * what they believed before.  The slots are divided into blocks, which move as a whole; each
 * block has one slot with keys that commands are for.
 *
 * The oracles:
 *   O1   a reply belongs to its command
 *   O2   what may not be repeated is executed at most once
 *   O3   each accepted command completes once, and all do at the end
 *   O4   what was reported NOT_EXECUTED is never executed
 *   O5   nothing spins, and nothing sleeps for ever that owes results
 *   O6   in the end nothing is outstanding
 *   O8   while no connection is lost and no node is taken by force, no command fails
 *   O9   commands of a thread for a key, and for a slot whose keys do not move one by one, are
 *        executed in the order of their submission on each lineage of data.  A command may lose
 *        its place if nodes refused it more than once, or for a while, or if the node
 * that sends it away was named as the owner shortly before; if the node that
 *        redirected it took a later one; if the node that a redirect named cannot be reached; and
 *        if it is executed again, or by a connection that
 *        the client gave up
 *   O10  no command follows more than 16 redirects; the client asks for views 10 times a
 *        second at most, but questions to a node that takes no bytes may gather
 *   O11  the client dials no address that one node alone has named
 *   O13  a command for an owner is executed by no replica, also if the client reads there
 *   O12  the result of a command says so if a later one of its key was executed before it, and
 *        has its result; except after a loss
 */

#include "core/options.h"
#include "net/dialer.h"
#include "net/stream.h"
#include "route/cluster.h"
#include "route/route.h"
#include "sim/dice.h"
#include "sim/world.h"

#define CLUSTER_NODES 6
#define CLUSTER_NOBODY 0xffu
#define CLUSTER_BLOCKS 6
#define CLUSTER_KEYS 3 /* of a block, in one slot */
#define CLUSTER_THREADS 4
#define CLUSTER_CALLS_MAX 16384
#define CLUSTER_LINKS 64
#define CLUSTER_STRANGER 99 /* an address where no node is */
#define CLUSTER_HOPS_MAX 16
#define CLUSTER_VIEWS_MAX                                                              \
    16 /* in a second: 10 that begin, and one that waits for each node */

typedef enum cluster_verb {
    CLUSTER_GET,
    CLUSTER_APPEND,
    CLUSTER_LCS,  /* of two keys of one slot */
    CLUSTER_READ, /* ... and this a replica executes, too, after READONLY */
    CLUSTER_MULTI,
    CLUSTER_EXEC,
    CLUSTER_VERBS
} cluster_verb_t;

struct cluster_world;

typedef struct cluster_call {
    struct cluster_world *world;
    uint64_t ticket, submitted_us, deadline_us;
    uint32_t live_index;
    uint32_t unit_first, unit_last; /* 0: no unit */
    uint16_t flags;
    uint8_t verb, block, key, thread;
    bool is_for_replica;     /* it may go to one, and has no place in the order */
    uint8_t executed;        /* times */
    uint8_t redirected;      /* times: MOVED and ASK */
    uint8_t ran_at;          /* the node that executed it last */
    uint8_t sent_away;       /* by this node, the last time */
    uint8_t named;           /* by the last redirect */
    uint32_t named_troubles; /* of that node, then */
    bool
        is_unstable; /* refused for a while, or more than once; or the node that was named
                          had trouble: its place may be lost */
    uint32_t late_by; /* a later one for its key, which ran before; 0: none */
    bool is_done;
    int status;
    shoal_fate_t fate;
} cluster_call_t;

/* One connection: what the client's stream, the network and the node have of it. */
typedef struct cluster_link {
    shoal__stream_t stream; /* first */
    struct cluster_world *world;
    unsigned node;
    uint64_t id; /* among all connections of the world */
    bool is_used;
    bool is_open;   /* the client has it */
    bool is_alive;  /* the node has it: it was accepted, and neither closed nor lost */
    bool wants_out; /* the client waits until it can write */
    bool is_asking, is_readonly;
    uint32_t unit_first; /* inside MULTI; 0: not */
    bool is_unit_rejected;
    const shoal__stream_hooks_t *hooks;
    void *owner;
    char *in; /* bytes from the client; the node has executed the first ones already */
    size_t in_bytes, in_capacity;
    char *out; /* answers that the client has not read */
    size_t out_bytes, out_capacity;
} cluster_link_t;

/* An attempt of the client to connect. */
typedef struct cluster_attempt {
    struct shoal__dialer *dialer; /* NULL: the place is free */
    const shoal__dialer_hooks_t *hooks;
    void *owner;
    const shoal__target_t *target;
    unsigned node;
    uint64_t ready_us; /* when the node answers */
} cluster_attempt_t;

typedef struct cluster_node {
    unsigned index;
    bool is_up, is_stopped;
    uint32_t kills;     /* so many server processes were there before this one */
    bool is_cut;        /* from the client */
    bool is_apart;      /* from the other nodes */
    bool is_paused;     /* a planned failover: it executes nothing */
    uint64_t paused_us; /* since then */
    uint32_t troubles;  /* that began, and ended */
    uint64_t loading_until_us;

    /* What it believes. */
    uint8_t owner[CLUSTER_BLOCKS];
    bool is_unclaimed[CLUSTER_BLOCKS]; /* the owner has said that it is none */
    uint8_t primary_of[CLUSTER_NODES]; /* of each node; itself: it is one */
    uint64_t epoch[CLUSTER_NODES];
    uint8_t migrates_to[CLUSTER_BLOCKS], imports_from[CLUSTER_BLOCKS];

    /* Its data. */
    bool has_key[CLUSTER_BLOCKS][CLUSTER_KEYS];
    uint32_t last[CLUSTER_THREADS][CLUSTER_BLOCKS][CLUSTER_KEYS]; /* that ran */
} cluster_node_t;

typedef struct cluster_rates { /* of 1024, or weights */
    uint32_t events[24];
    uint32_t steps, outstanding_max, burst_max;
    uint32_t read; /* of the commands that may be reads: for replicas */
    uint32_t once, idempotent, write, multi, unit, deadline, partial, resubmit,
        recancel;
    uint32_t
        bulk; /* of commands: for the bulk lanes; 0: nodes tell no processes, either */
    uint64_t deadline_us_max, clock_us_max, dial_us_max;
    uint32_t window;
    bool has_ask;    /* slots move key by key */
    bool is_planned; /* nothing is lost, and nothing is taken by force */
    bool lies;       /* one node may name a stranger */
    bool ends_with_shut;
} cluster_rates_t;

typedef struct cluster_sights {
    uint64_t results[4], errors, moved, asked, tryagain, refused, losses, ghosts, dials,
        views, migrations, keys, atomic, planned, forced, kills, stops, cuts, unstable,
        lies, cancels, units,
        late,  /* commands that a later one for their key overtook */
        reads, /* at replicas */
        bulk;  /* by lanes */
} cluster_sights_t;

typedef struct cluster_world {
    uint64_t seed, step, now_us, hash;
    sim_dice_t dice;
    cluster_rates_t rates;
    const sim_cut_t *cut; /* NULL: nothing is left out */
    bool is_traced, is_calm, is_closing, is_short_of_memory;
    unsigned depth;    /* of callbacks that cause callbacks */
    unsigned restless; /* turns in a row that want another one at once */

    shoal_options_t *options;
    shoal__route_t *route;
    shoal__route_counts_t counts;
    shoal__loop_t loop;
    shoal__mailbox_side_t side;
    uint64_t wake_us;

    cluster_node_t nodes[CLUSTER_NODES];
    uint64_t epoch; /* the highest */
    cluster_link_t links[CLUSTER_LINKS];
    cluster_attempt_t attempts[CLUSTER_LINKS];
    uint64_t views_us[CLUSTER_VIEWS_MAX]; /* when the last ones were asked */
    unsigned views_at;
    uint64_t links_made;
    uint64_t named_us[CLUSTER_BLOCKS]
                     [CLUSTER_NODES]; /* when a redirect last named the node */
    bool has_lied;

    cluster_call_t *calls; /* the first is nobody's */
    uint32_t call_count;
    uint32_t *live;
    uint32_t live_count;
    uint64_t tickets;
    cluster_sights_t sights;

    bool has_failed;
    const char *objection;
    char failure[512];
} cluster_world_t;

cluster_world_t *cluster_world_new(void);
void cluster_world_free(cluster_world_t *world);
/* Live through a seed.  False: see world->failure. */
bool cluster_world_run(cluster_world_t *world, uint64_t seed);
void cluster_world_fail(cluster_world_t *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cluster_world_note(cluster_world_t *world, const char *what, uint64_t a,
                        uint64_t b);
void cluster_sights_print(const cluster_sights_t *sights);

static inline uint32_t cluster_id_of(const cluster_call_t *call)
{
    return (uint32_t)(call - call->world->calls);
}
static inline bool cluster_is_repeatable(const cluster_call_t *call)
{
    if (call->flags & SHOAL__REQUEST_ONCE)
        return false;
    return (call->flags & SHOAL__REQUEST_IDEMPOTENT) ||
           (call->verb != CLUSTER_APPEND && call->unit_first == 0);
}

/* The network, and the clock. (cluster_net.c) */
/* The one that the client is in; NULL: the client is in none. */
void cluster_net_enter(cluster_world_t *world);
/* Those attempts end that can. */
void cluster_net_connect(cluster_world_t *world);
/* The client reads, or hears that it can write. */
void cluster_net_deliver(cluster_world_t *world, cluster_link_t *link);
/* The node loses the connection; what it had not executed it never does. */
void cluster_net_lose(cluster_link_t *link);
/* The node ends the connection with this number.  False: it has none. */
bool cluster_net_end(cluster_world_t *world, unsigned node, uint64_t id);
bool cluster_net_is_idle(const cluster_world_t *world);
uint64_t cluster_net_wake_us(const cluster_world_t *world);
void cluster_net_clear(cluster_world_t *world);

/* Nodes execute. (cluster_server.c) */
void cluster_server_serve(cluster_world_t *world, cluster_link_t *link, size_t bytes);
/* The text of a slot's keys that its block is chosen by. */
const char *cluster_tag(unsigned block);
unsigned cluster_slot(unsigned block);

/* What nodes believe, and how it changes. (cluster_gossip.c) */
void cluster_gossip_begin(cluster_world_t *world);
void cluster_gossip_learn(cluster_world_t *world, unsigned to, unsigned from);
void cluster_gossip_spread(
    cluster_world_t *world); /* a word from one node to another */
void cluster_gossip_migrate(cluster_world_t *world);
void cluster_gossip_move_keys(cluster_world_t *world);
void cluster_gossip_failover(cluster_world_t *world, bool is_forced);
/* Pauses end that are long. */
void cluster_gossip_resume(cluster_world_t *world);
void cluster_gossip_replicate(cluster_world_t *world);
void cluster_gossip_kill(cluster_world_t *world);
void cluster_gossip_stop(cluster_world_t *world);
void cluster_gossip_cut(cluster_world_t *world);
void cluster_gossip_heal(cluster_world_t *world); /* one node */
/* All nodes work, and believe the same; no slot moves. */
void cluster_gossip_settle(cluster_world_t *world);

/* The callers, and what they hear. (cluster_callers.c) */
void cluster_callers_submit(cluster_world_t *world, uint32_t burst_max);
void cluster_callers_cancel(cluster_world_t *world);
void cluster_callers_ask_all(cluster_world_t *world); /* a command for each block */
extern const shoal__route_hooks_t cluster_callers_hooks;

/* The oracles. (cluster_oracles.c) */
void cluster_oracle_executed(cluster_world_t *world, cluster_call_t *call,
                             cluster_node_t *node, bool is_ghost);
void cluster_oracle_redirected(cluster_world_t *world, cluster_call_t *call,
                               unsigned from, unsigned to);
void cluster_oracle_result(cluster_world_t *world, cluster_call_t *call,
                           const shoal_result_t *result);
void cluster_oracle_view(cluster_world_t *world);

#endif
