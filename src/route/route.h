/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_ROUTE_H
#define SHOAL_ROUTE_ROUTE_H

/*
 * Which connection takes a command?  A route answers, and owns the connections.
 *
 * It is a table of functions, chosen when the client is opened: above this header nothing
 * names a connection or a pipe.  A new topology is a new table.
 *
 * Threads: the loop thread, unless a function says otherwise.
 */

#include "core/account.h"
#include "core/event.h"
#include "core/options.h"
#include "core/request.h"
#include "core/result.h"
#include "net/loop.h"
#include "net/mailbox.h"
#include <shoal/connection.h>
#include <shoal/pubsub.h>
#include <shoal/stats.h>
#include <shoal/topology.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct shoal__route shoal__route_t;
struct shoal__probe_slip;

/* What a route counts for its client, whichever route that has.  The client owns it, and
 * any thread reads it. */
typedef struct shoal__route_counts {
    shoal__account_t account; /* of all connections */
    _Atomic bool has_stuck;   /* commands of some slots cannot leave for now, and others
                                 can: ops->is_stuck says whose */
    shoal__account_t stuck;   /* of those commands: queued, and bytes */
    _Atomic uint32_t leases;  /* open ones, and blocking commands that have no result:
                                 whoever makes one counts it, on any thread; the route
                                 counts it off */
} shoal__route_counts_t;

/* What a route tells its client. */
typedef struct shoal__route_hooks {
    shoal__route_counts_t *counts; /* borrowed until the route is freed */
    const struct shoal__scripts
        *scripts; /* that connections load; borrowed as well; NULL: none */
    /* A command got its result.  Both die with the call. */
    void (*on_result)(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result);
    /* Something happened to a connection.  The event dies with the call. */
    void (*on_event)(void *owner, const shoal_event_t *event);
    /* Bytes of a server were read at now_us; the results in them follow, and after them
     * on_delivered. */
    void (*on_reading)(void *owner, uint64_t now_us);
    /* The results of one read, or of a loss, were delivered. */
    void (*on_delivered)(void *owner);
    /* One more result of a MONITOR that was answered: a line, or the end. */
    void (*on_line)(void *owner, const shoal__request_t *monitor,
                    const shoal_result_t *result);
    /* A subscriber delivered items, in a read or a turn that is over now.  has_news: names
     * were confirmed or refused, or a subscription was changed as was wished. */
    void (*on_heard)(void *owner, bool has_news);
    bool may_hold; /* a turn follows each read at once: it may tell consumers */
    /* A subscriber's: publish to this channel, with SPUBLISH if it is one of a shard, and write
     * on the slip what became of it.  False: nobody can, and the slip was not kept. */
    bool (*on_probe)(void *owner, struct shoal__probe_slip *slip, bool is_shard,
                     const char *channel);
    /* A lease that its holder gave back is over: free it. */
    void (*on_lease_over)(void *owner, shoal_lease_t *lease);
} shoal__route_hooks_t;

/* The state of a route as its client sees it. */
typedef struct shoal__route_view {
    bool is_ready; /* a command that is placed now can leave now; waiting for
                              readiness ends when this is true after an event */
    bool is_idle;  /* nothing is outstanding, and no connection is renewed */
    uint64_t
        wake_after;  /* so many more commands are worth an earlier turn; 1 at least */
    uint64_t rtt_us; /* a round trip; 0: not known */
} shoal__route_view_t;

/* One connection, as any thread sees it. */
typedef struct shoal__route_member {
    shoal_connection_info_t info;
    shoal_stats_t stats; /* its share: fields that are the client's, or that connections
                            have together, are 0 */
} shoal__route_member_t;

typedef void (*shoal__route_visit_fn)(void *data, const shoal__route_member_t *member);

/* What a route has found out about its servers.  Once it is not NOTHING, it stays. */
typedef enum shoal__found {
    SHOAL__FOUND_NOTHING, /* SHOAL_TOPOLOGY_AUTO, before the first server is greeted */
    SHOAL__FOUND_CLUSTER,
    SHOAL__FOUND_ONE_SERVER /* another route is right: bequeath */
} shoal__found_t;

typedef struct shoal__route_ops {
    /* Dial.  From now on `turn` is called once per loop iteration. */
    void (*open)(shoal__route_t *route, shoal__loop_t *loop);

    /* Commands of the loop thread, without a copy.  Reserve room for `count` of them, of
     * `bytes` encoded bytes in all: ret_bytes is where the bytes go, the request returned is
     * the first one's (NULL: no memory, nothing changed).  Fill the request, write its
     * bytes, and push it: that returns the next one's.
     * `slot`, for a route that goes by slots: that of all of them (resp/command_slot.h). */
    shoal__request_t *(*reserve)(shoal__route_t *route, unsigned slot, size_t bytes,
                                 size_t count, char **ret_bytes);
    shoal__request_t *(*push)(shoal__route_t *route);
    /* So many bytes of the commands that are pushed next stand in their callers' memory;
     * between reserve and the first push. */
    void (*refer)(shoal__route_t *route, size_t bytes);
    /* Commands of other threads, of leases, and those that are APART: take all of them in
     * order, or none (false: no memory).
     * The route counts what each waited until now as SHOAL_STAGE_QUEUED; commands that were
     * pushed waited for nothing. */
    bool (*place)(shoal__route_t *route, const shoal__mailbox_side_t *side,
                  uint64_t now_us);

    /* What is due: time-outs, retries, writing.  Returns when to be called again. */
    uint64_t (*turn)(shoal__route_t *route, uint64_t now_us);
    /* Take in everything that has arrived.  For a client that did not poll for a while and
     * is about to write: an unasked reply must not meet the command that follows. */
    void (*read_ahead)(shoal__route_t *route);
    /* Give up one command; false if it is not outstanding. */
    bool (*cancel)(shoal__route_t *route, uint64_t ticket, uint64_t now_us);
    /* The holder of a lease gave it back.  The client is told when it is over. */
    void (*end_lease)(shoal__route_t *route, shoal_lease_t *lease);
    /* Others take the place of the credentials; `secret` is moved in.  Renew the
     * connections, as shoal_client_set_credentials() says. */
    void (*authenticate)(shoal__route_t *route, shoal__secret_t *secret,
                         uint64_t now_us);
    /* Connect anew, as shoal_client_reconnect() says. */
    void (*reconnect)(shoal__route_t *route, uint64_t now_us);

    void (*view)(const shoal__route_t *route, shoal__route_view_t *ret_view);
    /* Is there one ordinary connection and nothing else to be looked at, and does it take
     * what is written?  Then callers may look at it in turns, without a poll. */
    bool (*may_share)(const shoal__route_t *route);
    /* Can commands of this slot not leave for now?  is_read: replicas may execute them.  Any
     * thread; while counts->has_stuck. */
    bool (*is_stuck)(const shoal__route_t *route, unsigned slot, bool is_read);
    /* When a turn is due if nothing but time passes. */
    uint64_t (*next_wake_us)(const shoal__route_t *route);
    /* Bring counts->account up to date: it then counts exactly what was pushed and placed
     * and has no result yet, wherever it is, also in the middle of a turn.  The client
     * forgets its own count of what entered. */
    void (*publish)(shoal__route_t *route);
    /* The figures that the connections have together: the latencies, and how many leases
     * there are.  Any thread: what
     * these functions walk stays until `free`, and so do the figures of a connection
     * that is gone. */
    void (*shared_figures)(const shoal__route_t *route, shoal_stats_t *ret_stats);
    /* Visit every connection. */
    void (*each)(const shoal__route_t *route, shoal__route_visit_fn visit, void *data);
    /* The figures of a pubsub.  Any thread.  NULL for routes of clients. */
    void (*read_pubsub)(const shoal__route_t *route, shoal_pubsub_stats_t *ret_stats);
    /* Add the servers that are known to a snapshot.  Any thread.  0 or SHOAL_ENOMEM. */
    int (*describe)(const shoal__route_t *route, shoal_topology_snapshot_t *snapshot);

    /* FOUND_ONE_SERVER: give all that waits, and the credentials, to `heir`, which is opened
     * then; this one is shut.  False: no memory, nothing changed.  NULL for routes that find
     * nothing out. */
    bool (*bequeath)(shoal__route_t *route, shoal__route_t *heir, uint64_t now_us);

    /* Settle what is outstanding with SHOAL_ESHUTDOWN, and hang up.  Leases that are not
     * over are their holders' alone afterwards. */
    void (*shut)(shoal__route_t *route, uint64_t now_us);
    /* In the child of a fork: drop the descriptors, call nobody. */
    void (*forget)(shoal__route_t *route);
    /* After shut, or before open. */
    void (*free)(shoal__route_t *route);
} shoal__route_ops_t;

struct shoal__route {
    const shoal__route_ops_t *ops;
    shoal__route_counts_t *counts;  /* of the hooks */
    struct shoal__tls_context *tls; /* NULL: in the clear; any thread may reload it */
    struct shoal__keeper
        *keeper; /* of the credentials, for a route before it: bequeath */
    struct shoal__leases *leases; /* likewise */
    shoal__found_t found;
    bool must_place; /* commands of the loop thread come by `place` too: their
                                  keys decide which connection they take */
    bool
        places_all; /* ... also those of a thread that drives the loop itself: always */
    bool goes_by_slot; /* a cluster: those of one slot go together; then */
    struct shoal__command_book *book; /* ... commands that the table lacks; else NULL.
                                         Any thread, until `free` */
    struct shoal__post *post;   /* of a pubsub: what holders of subscriptions wish; else
                                   NULL.  Any thread, until `free` */
    struct shoal__reads *reads; /* of route/reads.c; NULL: nothing goes to replicas */
    uint32_t awake; /* callers that are awake and run the turns (client/awake.h) */
    bool is_still;  /* none of them did anything since the last look of this one */
};

/* How a client gets its route.  `options` is borrowed until the route is freed; `owner` is
 * that of the hooks.  0 or SHOAL_E*; *ret_route is untouched on failure. */
typedef int (*shoal__route_new_fn)(const shoal_options_t *options, uint64_t seed,
                                   const shoal__route_hooks_t *hooks, void *owner,
                                   shoal__route_t **ret_route);

#endif
