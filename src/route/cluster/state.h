/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_CLUSTER_STATE_H
#define SHOAL_ROUTE_CLUSTER_STATE_H

/*
 * What the route to a cluster consists of, for its files:
 *
 *     route/cluster.c   the route's table, and the turn
 *     making.c          the beginning, and the memory
 *     placing.c         commands come: which node gets them
 *     spreading.c       ... if several do, or a certain one
 *     reading.c         ... if they only read, and a replica may
 *     hearing.c         what the connections to nodes tell
 *     redirects.c       nodes refuse commands: which node gets them now
 *     slots.c           slots change their owner: hand-overs begin
 *     upkeep.c          which connections are open; commands that no node has
 *     connecting.c      ... and which one has a place
 *     noting.c          commands come: which are for bulk lanes
 *     lanes.c           which slots take the bulk lanes of nodes, and which of those are open
 *     forgetting.c      which nodes are not remembered any more
 *     leasing.c         which node a lease, or a blocking command, belongs to
 *     learning.c        where the keys of commands stand that the table does not know
 */

#include "core/redirect.h"
#include "route/cluster/handovers.h"
#include "route/cluster/spread.h"
#include "route/cluster/topology.h"
#include "route/keeper.h"
#include "route/leases.h"

/* Where commands of a slot go. */
typedef struct shoal__way {
    shoal__pipe_t *pipe;
    shoal__conn_t *conn; /* whose pipe it is; NULL: it is a pen */
} shoal__way_t;

/* What a pipe gets of the commands that are being placed. */
typedef struct shoal__share {
    shoal__pipe_t *pipe;
    shoal__conn_t *conn; /* NULL: a pen */
    size_t commands, bytes;
    char *at; /* room for the bytes that are not there yet */
} shoal__share_t;

typedef struct shoal__shares {
    shoal__share_t *items;
    unsigned count, room;
} shoal__shares_t;

/* The bulk lanes of all nodes. */
typedef struct shoal__bulks {
    shoal__conn_config_t config; /* that of the nodes' connections, but for ... */
    shoal__list_t listed;        /* lanes that are open, or wanted */
    bool is_allowed;             /* by the options */
    bool keeps_writes;           /* WAIT was called */
    uint64_t again_us;           /* there was no memory: the next attempt; else NEVER */
    /* Slots that got bulk commands since the last turn; no slot twice. */
    uint16_t *noted; /* room for all; NULL: there was none */
    unsigned noted_count;
    uint8_t is_noted[SHOAL__SLOTS / 8]; /* a bit for each slot */
} shoal__bulks_t;

struct shoal__cluster {
    shoal__route_t route; /* first: what the client holds */
    shoal__route_hooks_t hooks;
    void *owner; /* of the hooks */
    shoal__conn_config_t config;
    shoal__target_t target; /* whose name stands for the cluster; has the credentials */
    shoal__keeper_t keeper;
    shoal__conn_set_t set;
    shoal__nodes_t nodes;
    shoal__slot_map_t map;
    uint64_t map_changes; /* so often did slots get other owners, or owners that were in
                             doubt did not any more */
    shoal__handovers_t handovers;
    shoal__topology_t topology;
    shoal__command_book_t book; /* of commands that the table does not know */
    shoal__pipe_t waiting;      /* a pen: commands for slots that no known node owns */
    shoal__leases_t leases;
    shoal__bulks_t bulks;
    shoal__shares_t shares;
    shoal__way_t way;            /* of the commands that the loop thread pushes */
    shoal__mailbox_side_t again; /* room for commands that waited and are placed anew */
    shoal__list_t spreads;       /* commands whose parts are under way */
    shoal__list_t spreads_due;   /* those whose results come with the next turn */
    shoal__counter_t surplus;    /* results of parts beyond those of their commands */
    uint64_t now_us;             /* of the turn, or of what it places */
    unsigned keyless;            /* the node that gets commands without a key */
    bool takes_near_primary;     /* one in the zone comes before replicas elsewhere */
    bool has_told_zone;          /* ... of a server that tells none */
    bool has_readers;            /* some reads were for replicas; then: */
    uint64_t roles_us;           /* ask then which replicas there are */
    uint64_t roles_pause_us;     /* ... and after so long again */
    uint64_t sides;              /* that were placed; and of this one: */
    uint64_t side_reads;         /* commands that replicas get, for the first time */
    shoal__counter_t replica_reads; /* that were handed to replicas */
    bool is_touched;                /* the next turn has something to do at once */
    bool has_waiting_news;          /* some that wait may go on */
    /* At the last look: a slot had no owner that is reached, or a node is to be confirmed. */
    bool is_incomplete;
    unsigned ready, unready; /* nodes that own slots; */
    unsigned down;           /* ... of both: lost, or silent; */
    uint64_t rtt_us;         /* ... and the longest round trip to one of them */
    uint64_t look_us;        /* look at all nodes then, if nothing happens before */
    uint64_t
        foreign_us; /* views are of another cluster since then; 0: the last was not */

    /* Redirects that the turn has to heed: slots, and the nodes that were named. */
    uint16_t told[SHOAL__SLOTS]; /* SLOT_NOBODY: nothing was told */
    uint16_t told_slots[SHOAL__SLOTS];
    unsigned told_count;
    shoal__slot_move_t *moves; /* room for those that begin; NULL: none was needed */
};

static inline shoal__node_t *shoal__cluster_node(const shoal__cluster_t *cluster,
                                                 unsigned index)
{
    return shoal__nodes_at(&cluster->nodes, index);
}

/* Is it not known yet that there is a cluster?  Then all commands wait. */
static inline bool shoal__cluster_is_in_doubt(const shoal__cluster_t *cluster)
{
    return cluster->route.found != SHOAL__FOUND_CLUSTER;
}

/* Are there commands that wait for no node in particular? */
static inline bool shoal__cluster_has_waiting(const shoal__cluster_t *cluster)
{
    return cluster->waiting.ring.head != cluster->waiting.ring.tail;
}

/* ---- route/cluster.c ---- */

extern const shoal__route_ops_t shoal__cluster_ops;

/* ---- making.c ---- */

/* As in shoal__route_ops_t. */
void shoal__cluster_free(shoal__route_t *route);

/* ---- placing.c ---- */

/* Where commands of this slot go now; resp/command_slot.h says what else `slot` may be. */
void shoal__cluster_lead(shoal__cluster_t *cluster, unsigned slot, shoal__way_t *ret);
/* As in shoal__route_ops_t. */
bool shoal__cluster_place(shoal__cluster_t *cluster, const shoal__mailbox_side_t *side,
                          uint64_t now_us);
/* Place anew what waits, at this route or at another one.  False: no memory, and it waits on. */
bool shoal__cluster_place_waiting(shoal__cluster_t *cluster, shoal__route_t *route,
                                  uint64_t now_us);
/* A node that takes commands without a key; NULL: there is none now. */
shoal__node_t *shoal__cluster_keyless(shoal__cluster_t *cluster);

/* ---- reading.c ---- */

/* May a replica execute it?  While it is placed; FOR_REPLICA means something else in a
 * pipe. */
static inline bool shoal__cluster_may_read(const shoal__request_t *request)
{
    if (request->flags & SHOAL__REQUEST_RETRIED)
        return request->is_at_replica && !shoal__replica_has_failed(request->attempts);
    return (request->flags & SHOAL__REQUEST_FOR_REPLICA) != 0;
}
/* The replica that takes reads of this slot; NULL: none can.  The first read of a shard has
 * its replicas connected. */
shoal__node_t *shoal__cluster_reader(shoal__cluster_t *cluster, unsigned slot,
                                     uint64_t now_us);
/* A replica refused a read: it goes to another one, or to the owner of its slot.  False: it
 * is none, or nobody else has it; then nothing was done. */
bool shoal__cluster_pass_on(shoal__node_t *from, const shoal__request_t *request,
                            const char *bytes, shoal__bytes_t error);
/* Nodes have other roles. */
void shoal__cluster_list_readers(shoal__cluster_t *cluster, uint64_t now_us);
/* Slots have other owners: nodes may have become replicas, of which no view knows yet. */
void shoal__cluster_doubt_roles(shoal__cluster_t *cluster, uint64_t now_us);
/* Ask for a view, if it is time; and when it is: NEVER, if nobody reads at replicas. */
void shoal__cluster_look_at_roles(shoal__cluster_t *cluster, uint64_t now_us);
uint64_t shoal__cluster_roles_us(const shoal__cluster_t *cluster);
/* The node gets commands that are no reads for a replica: none of them may find it a
 * replica that answers. */
void shoal__cluster_end_reading(shoal__node_t *node, uint64_t now_us);

/* Is the node to be connected, so that it can be read from? */
bool shoal__cluster_reads_at(const shoal__cluster_t *cluster,
                             const shoal__node_t *node);
/* Ask it whether it may be read from; what waits there goes on if it may not. */
void shoal__cluster_look_at_reads(shoal__cluster_t *cluster, shoal__node_t *node,
                                  uint64_t now_us);
/* When it is to be asked again; NEVER. */
uint64_t shoal__cluster_ask_us(const shoal__node_t *node);
/* Is it silent, and owes answers to reads, which another node could give? */
bool shoal__cluster_owes_reads(const shoal__node_t *node);

/* ---- spreading.c ---- */

/* Which node is this command for, and no other?  NULL: none, or it is not known. */
shoal__node_t *shoal__spread_node(const shoal__cluster_t *cluster,
                                  const shoal__request_t *request);

/* The parts of a command, in the bytes of the caller.  If nothing can come of it, it has no
 * parts, and its result comes with the next turn.  NULL: no memory. */
shoal__spread_t *shoal__spread_new(shoal__cluster_t *cluster,
                                   const shoal__request_t *request, const char *bytes);
/* None of its parts was placed. */
void shoal__spread_free(shoal__spread_t *spread);

/* The request of a part. */
shoal__request_t shoal__spread_request(shoal__spread_t *spread, size_t part);
/* Its parts are being placed: from now on it is the cluster's. */
void shoal__spread_enter(shoal__spread_t *spread);

/* Is it a request of a part?  Then its result goes to _take(), with the name of the node that
 * gave it; NULL: none did. */
bool shoal__spread_is_part(const shoal__request_t *request);
void shoal__spread_take(const shoal__request_t *request, const shoal_result_t *result,
                        const char *node);

/* Results that are due. */
void shoal__spreads_turn(shoal__cluster_t *cluster);
/* Is there one with this ticket? */
bool shoal__spreads_have(const shoal__cluster_t *cluster, uint64_t ticket);

/* ---- hearing.c ---- */

/* The hooks of connections to nodes; their owner is the node. */
extern const shoal__conn_hooks_t shoal__cluster_hooks, shoal__cluster_lane_hooks;
/* The hook of the pen of commands that no node has. */
void shoal__cluster_waiting_result(void *owner, const shoal__request_t *request,
                                   const shoal_result_t *result);

/* ---- redirects.c ---- */

/* The hook of connections, whose owner is the node. */
shoal__pipe_verdict_t shoal__cluster_on_error(void *owner, shoal__pipe_t *pipe,
                                              const shoal__request_t *request,
                                              const char *bytes, shoal__bytes_t error);

/* The node that a redirect names; NULL: it does not say, or there are too many. */
shoal__node_t *shoal__cluster_named(shoal__cluster_t *cluster, shoal__node_t *from,
                                    const shoal__slot_redirect_t *named);
/* `from` said MOVED: the map follows in the next turn, if that proves anything. */
void shoal__cluster_hear_moved(shoal__cluster_t *cluster, shoal__node_t *from,
                               unsigned slot, shoal__node_t *to, bool is_script);

/* ---- connecting.c ---- */

#define SHOAL__NODE_IDLE_US 5000000 /* then a connection that nobody needs is closed */

/* Open the node's connection, or close it. */
void shoal__cluster_connect(shoal__cluster_t *cluster, shoal__node_t *node,
                            uint64_t now_us);

/* ---- noting.c ---- */

/* Commands of a side, or a part of one, are about to be placed: the slots of those that are for
 * the bulk lane take it from the next turn on.  Also from hooks. */
void shoal__cluster_note_bulk(shoal__cluster_t *cluster,
                              const shoal__mailbox_side_t *side, uint64_t now_us);
void shoal__cluster_note_part(shoal__cluster_t *cluster,
                              const shoal__spread_part_t *part);

/* ---- lanes.c ---- */

void shoal__cluster_init_lanes(shoal__cluster_t *cluster, bool is_allowed);
/* Slots go to lanes, and back; lanes are opened and closed.  Before anything is written. */
void shoal__cluster_turn_lanes(shoal__cluster_t *cluster, uint64_t now_us);
uint64_t shoal__cluster_lanes_us(const shoal__cluster_t *cluster);
/* Is nothing outstanding on them, and none on its way? */
bool shoal__cluster_lanes_are_idle(const shoal__cluster_t *cluster);
/* Is there anything to look at? */
static inline bool shoal__cluster_has_lanes(const shoal__cluster_t *cluster)
{
    return cluster->set.shared.wants_bulk || cluster->bulks.noted_count > 0 ||
           !shoal__list_is_empty(&cluster->bulks.listed);
}

/* ---- forgetting.c ---- */

/* Forget nodes that nothing needs.  In the turn, when nobody looks at one. */
void shoal__cluster_forget(shoal__cluster_t *cluster, uint64_t now_us);

/* ---- leasing.c ---- */

void shoal__cluster_init_leases(shoal__cluster_t *cluster);
/* Nodes that leases use are to be kept; or nobody says so any more. */
void shoal__cluster_mark_leased(shoal__cluster_t *cluster, bool is_leased);

/* ---- learning.c ---- */

/* Ask for commands that were met for the first time, if a node is ready. */
void shoal__cluster_learn(shoal__cluster_t *cluster, uint64_t now_us);

/* ---- slots.c ---- */

/* Is there room for all moves that may begin? */
bool shoal__cluster_has_moves(shoal__cluster_t *cluster);
/* Heed what redirects told, and a view that is ready. */
void shoal__cluster_heed(shoal__cluster_t *cluster, uint64_t now_us);
/* The node owns nothing any more, and nobody knows who does. */
void shoal__cluster_disown(shoal__cluster_t *cluster, const shoal__node_t *node,
                           uint64_t now_us);

/* ---- upkeep.c ---- */

/* Tell the program of something that happened to a node. */
void shoal__cluster_tell(const shoal__node_t *node, shoal_event_kind_t kind,
                         const char *detail);

/* One node alone has named it: it gets not a byte before another one lists it. */
static inline bool shoal__cluster_doubts(const shoal__node_t *node)
{
    return !node->is_listed && node->named_us > 0;
}

/* Open and close connections; commands that wait for any node, or for an owner, go on.
 * is_news: something happened that may concern any node.  Else a turn looks only at nodes
 * whose connections were touched, until it is time to look at all. */
void shoal__cluster_keep_up(shoal__cluster_t *cluster, bool is_news, uint64_t now_us);
/* Nodes became ready or were lost, or slots have other owners. */
void shoal__cluster_count(shoal__cluster_t *cluster);
/* The turn has written what was due: nodes that owe replies may be silent. */
void shoal__cluster_written(shoal__cluster_t *cluster, uint64_t now_us);
/* The hook of the pen of commands that no node has. */
void shoal__cluster_why_waits(void *owner, uint64_t at, const char *bytes,
                              shoal__overdue_t *facts);
/* Count commands that cannot leave for now; after the account is up to date. */
void shoal__cluster_publish_stuck(shoal__cluster_t *cluster);
/* As in shoal__route_ops_t. */
bool shoal__cluster_is_stuck(const shoal__cluster_t *cluster, unsigned slot,
                             bool is_read);
uint64_t shoal__cluster_upkeep_us(const shoal__cluster_t *cluster);
/* Ask for a new view, because something failed. */
void shoal__cluster_want_view(shoal__cluster_t *cluster, shoal__topology_wish_t wish,
                              shoal__node_t *hint, uint64_t now_us);

#endif
