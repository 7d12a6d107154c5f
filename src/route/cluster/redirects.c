/* SPDX-License-Identifier: MIT */

/* A node refuses a command, or a unit: MOVED and ASK name the node that takes it; other errors
 * say that it is to be sent again later. */

#include "core/redirect.h"
#include "resp/command_slot.h"
#include "route/cluster/log_slot.h"
#include "route/cluster/state.h"
#include <stdio.h>

static const char asking[] = "*1\r\n$6\r\nASKING\r\n";
static const shoal__bytes_t ask_first = {asking, sizeof asking - 1};
static const shoal__bytes_t nothing = {NULL, 0};

/* Redirected more often, it waits at each second node: those that name each other as owners
 * learn the truth meanwhile. */
#define QUICK_HOPS 2

/* What a node refused. */
typedef struct refusal {
    shoal__cluster_t *cluster;
    shoal__node_t *from;
    shoal__pipe_t *pipe; /* of its connection, or of its bulk lane */
    shoal__refused_t what;
    const shoal__request_t *first;
    unsigned slot;
    bool
        is_hidden; /* a key may stand behind a large value, which the log does not have */
    bool is_alone; /* no unit */
    bool is_guess; /* the command is not known: which slot it has, the node says */
} refusal_t;

static void find_slot(refusal_t *refusal)
{
    const shoal__refused_t *what = &refusal->what;
    const char *bytes = what->bytes;

    refusal->slot = SHOAL__SLOT_NONE;
    for (uint64_t i = 0; i < what->count && refusal->slot == SHOAL__SLOT_NONE; i++) {
        const shoal__request_t *part =
            shoal__request_ring_at(what->ring, what->first + i);
        refusal->slot = shoal__log_slot(part, bytes, &refusal->cluster->book);
        refusal->is_hidden |= shoal__request_values(part) != NULL;
        bytes += part->bytes;
    }
    refusal->is_hidden = refusal->is_hidden && refusal->slot == SHOAL__SLOT_NONE;
}

/* A redirect gives a command to the node. */
static void note_given(shoal__node_t *to, uint64_t now_us)
{
    shoal__cluster_end_reading(to, now_us);
    if (shoal__node_is_empty(to))
        to->given_us = now_us;
}

/* The owner says that another node owns the slot: the next turn heeds that.  Anybody else
 * may be wrong, and a script can write what it likes. */
void shoal__cluster_hear_moved(shoal__cluster_t *cluster, shoal__node_t *from,
                               unsigned slot, shoal__node_t *to, bool is_script)
{
    bool is_proof = shoal__slot_map_is_at(&cluster->map, slot, from->index) &&
                    !is_script &&
                    !shoal__slot_map_rests(&cluster->map, slot, from->conn.pipe.now_us);

    if (is_proof && cluster->told[slot] == SHOAL__SLOT_NOBODY)
        cluster->told_slots[cluster->told_count++] = (uint16_t)slot;
    if (is_proof)
        cluster->told[slot] = (uint16_t)to->index;
    cluster->is_touched = true;
    shoal__cluster_want_view(cluster, SHOAL__TOPOLOGY_SOON, to, from->conn.pipe.now_us);
}

/* The connection of the node that has the slot's commands, if it has any. */
static shoal__conn_t *conn_at(const shoal__cluster_t *cluster, shoal__node_t *node,
                              unsigned slot)
{
    return shoal__slot_map_word(&cluster->map, slot) == (node->index | SHOAL__SLOT_LANE)
               ? &shoal__node_bulk(node)->conn
               : &node->conn;
}

/* Append it to the node's log; or, while the slot is handed over to another node from the one
 * that refused it, where the others go. */
static shoal__pipe_verdict_t follow(const refusal_t *refusal, shoal__node_t *to,
                                    unsigned slot, shoal__bytes_t ahead)
{
    const shoal__cluster_t *cluster = refusal->cluster;
    const shoal__slot_move_t *move =
        shoal__handovers_move_of(&cluster->handovers, slot);
    shoal__conn_t *conn = ahead.bytes > 0 ? &to->conn : conn_at(cluster, to, slot);
    shoal__pipe_t *pipe = &conn->pipe;

    if (ahead.bytes == 0 && move && move->from == refusal->pipe &&
        !shoal__handovers_are_by_lane(&cluster->handovers, slot)) {
        pipe = move->to;
        conn = move->to_conn;
    }
    if (pipe == refusal->pipe ||
        shoal__handover_redirect(pipe, &refusal->what, ahead, refusal->pipe->now_us) ==
            SHOAL__PIPE_SURFACE)
        return SHOAL__PIPE_SURFACE;
    if (conn)
        shoal__conn_touch(conn);
    shoal__counter_add(ahead.bytes > 0 ? &refusal->pipe->stats.asked
                                       : &refusal->pipe->stats.moved,
                       refusal->what.count);
    return SHOAL__PIPE_TAKEN;
}

/* Does it wait where it is, instead of following? */
static bool must_wait(const refusal_t *refusal, unsigned slot)
{
    const shoal__slot_map_t *map = &refusal->cluster->map;
    const shoal__node_t *from = refusal->from;
    unsigned hops = refusal->first->hops;

    if (hops >= SHOAL__HANDOVER_HOPS_MAX)
        return false;
    return (hops >= QUICK_HOPS && hops % 2 == 1) ||
           (shoal__slot_map_is_at(map, slot, from->index) &&
            shoal__slot_map_rests(map, slot, refusal->pipe->now_us));
}

/* It is not dialed until another node confirms it: what its commands wait for. */
static void note_doubt(shoal__cluster_t *cluster, shoal__node_t *node,
                       const shoal__node_t *from)
{
    shoal__pipe_t *pipe = &node->conn.pipe;

    node->named_us = from->conn.pipe.now_us;
    node->named_by = from->index;
    cluster->is_touched = true;
    if (shoal__node_is_open(node))
        return;
    pipe->offline_since_us = node->named_us;
    pipe->attempts_failed = 0;
    snprintf(pipe->detail, sizeof pipe->detail,
             "%.200s names it, which no other node knows yet", from->name);
}

shoal__node_t *shoal__cluster_named(shoal__cluster_t *cluster, shoal__node_t *from,
                                    const shoal__slot_redirect_t *named)
{
    const char *host = named->to.host[0] ? named->to.host : from->host;
    shoal__node_t *to = NULL;

    if (named->to.port != 0)
        to = shoal__nodes_named(&cluster->nodes, host, named->to.port, from);
    if (to && !to->is_listed && to->named_us == 0)
        note_doubt(cluster, to, from);
    return to;
}

/* Strict order: what the owner redirects waits there, until the hand-over that begins has
 * heard of all that was in flight. */
static bool waits_for_others(const refusal_t *refusal, unsigned slot)
{
    const shoal__cluster_t *cluster = refusal->cluster;
    const shoal__pipe_t *pipe = refusal->pipe;
    const shoal__slot_move_t *move =
        shoal__handovers_move_of(&cluster->handovers, slot);

    return pipe->config->is_strict_order &&
           (shoal__slot_map_is_at(&cluster->map, slot, refusal->from->index) ||
            (move && move->from == pipe));
}

static shoal__pipe_verdict_t redirect(const refusal_t *refusal,
                                      const shoal__slot_redirect_t *named)
{
    static const char text[] = "TRYAGAIN nodes name each other as owners of the slot";
    static const shoal__bytes_t in_circles = {text, sizeof text - 1};
    shoal__cluster_t *cluster = refusal->cluster;
    shoal__node_t *from = refusal->from;
    shoal__pipe_t *pipe = refusal->pipe;
    shoal__refused_t again = refusal->what;
    shoal__node_t *to;

    if (named->to.port == 0) { /* the next view will say */
        shoal__cluster_want_view(cluster, SHOAL__TOPOLOGY_URGENT, NULL, pipe->now_us);
        return shoal__pipe_send_again(pipe, &again, in_circles);
    }
    to = shoal__cluster_named(cluster, from, named);
    if (!to)
        return SHOAL__PIPE_SURFACE;
    note_given(to, pipe->now_us);
    if (!named->is_ask)
        shoal__cluster_hear_moved(
            cluster, from, named->slot, to,
            refusal->is_guess || (refusal->is_alone && refusal->first->command_class ==
                                                           SHOAL__CLASS_SCRIPT));
    if (to == from) /* its name leads elsewhere, or it will be gone soon */
        shoal__renewal_ask(&pipe->renewal,
                           "renewed, because the node redirects to itself", false,
                           pipe->now_us);
    if (to == from || (!named->is_ask && (must_wait(refusal, named->slot) ||
                                          waits_for_others(refusal, named->slot)))) {
        again.hops = 1;
        return shoal__pipe_send_again(pipe, &again, in_circles);
    }
    return follow(refusal, to, named->slot, named->is_ask ? ask_first : nothing);
}

/* A refusal that names nobody.  What was asked goes on where it came from. */
static shoal__pipe_verdict_t put_off(const refusal_t *refusal, shoal__bytes_t error)
{
    shoal__cluster_t *cluster = refusal->cluster;
    uint64_t now_us = refusal->pipe->now_us;
    bool is_asked = refusal->what.own > 0 && refusal->slot < SHOAL__SLOTS;
    unsigned owner = is_asked ? shoal__slot_map_owner(&cluster->map, refusal->slot)
                              : SHOAL__SLOT_NOBODY;
    shoal__conn_t *conn =
        owner != SHOAL__SLOT_NOBODY
            ? conn_at(cluster, shoal__cluster_node(cluster, owner), refusal->slot)
            : SHOAL__LIST_ENTRY(refusal->pipe, shoal__conn_t, pipe);
    shoal__refused_t again = refusal->what;
    shoal__pipe_verdict_t verdict;

    again.hops = again.own > 0 ? -1 : 0; /* it was asked in vain */
    conn->pipe.now_us = now_us;
    verdict = shoal__conn_send_again(conn, &again, error);
    if (verdict == SHOAL__PIPE_SURFACE)
        return verdict;
    shoal__conn_touch(conn);
    if (!shoal__bytes_start(error, "TRYAGAIN"))
        shoal__cluster_want_view(cluster, SHOAL__TOPOLOGY_URGENT, NULL, now_us);
    return verdict;
}

shoal__pipe_verdict_t shoal__cluster_on_error(void *owner, shoal__pipe_t *pipe,
                                              const shoal__request_t *request,
                                              const char *bytes, shoal__bytes_t error)
{
    shoal__node_t *from = owner;
    refusal_t refusal = {.cluster = from->owner,
                         .from = from,
                         .pipe = pipe,
                         .what = shoal__pipe_refused(pipe),
                         .first = request};
    shoal__slot_redirect_t named;

    from->conn.pipe.now_us = pipe->now_us; /* it may be that of the lane */
    if (shoal__cluster_pass_on(from, request, bytes, error))
        return SHOAL__PIPE_TAKEN;
    refusal.is_alone = refusal.what.count == 1;
    refusal.is_guess = refusal.is_alone && !shoal__encoded_is_known(
                                               (shoal__bytes_t){bytes, request->bytes});
    find_slot(&refusal);
    if (!shoal__redirect_read_slot(error, &named))
        return put_off(&refusal, error);
    /* A script can write such a text, and a proxy mix replies up. */
    if ((refusal.slot != named.slot && !refusal.is_hidden && !refusal.is_guess) ||
        (request->flags & SHOAL__REQUEST_ONCE))
        return SHOAL__PIPE_SURFACE;
    return redirect(&refusal, &named);
}
