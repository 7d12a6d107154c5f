/* SPDX-License-Identifier: MIT */

/* Which connections are open, and what becomes of commands that wait for no node in
 * particular. */

#include "base/time_us.h"
#include "core/pipe/pipe_move.h"
#include "resp/command_slot.h"
#include "route/cluster/log_slot.h"
#include "route/cluster/state.h"
#include <shoal/errors.h>
#include <stdio.h>

#define UNCONFIRMED_US                                                                 \
    2000000 /* so long commands wait for a node that one node named */
#define SLOTLESS_US                                                                    \
    2000000 /* so long commands wait for a node that has no slot and cannot be reached */
#define PEN_BYTES_KEPT 1048576
#define NO_MEMORY_DELAY_US 1000

void shoal__cluster_want_view(shoal__cluster_t *cluster, shoal__topology_wish_t wish,
                              shoal__node_t *hint, uint64_t now_us)
{
    shoal__topology_t *topology = &cluster->topology;

    if (hint)
        topology->hint = hint;
    shoal__topology_want(&topology->rule, wish, shoal__nodes_count(&cluster->nodes),
                         now_us, &cluster->set.random);
    cluster->is_touched = true;
}

void shoal__cluster_tell(const shoal__node_t *node, shoal_event_kind_t kind,
                         const char *detail)
{
    const shoal__cluster_t *cluster = node->owner;
    const shoal_event_t event = {.kind = kind,
                                 .detail = detail,
                                 .epoch = shoal__counter_get(&node->conn.stats.epoch),
                                 .connection = node->conn.id,
                                 .server = node->name};

    cluster->hooks.on_event(cluster->owner, &event);
}

/* ---- moving on ---- */

/* False: no memory; they stay. */
static bool move(shoal__pipe_t *from, shoal__pipe_t *to, shoal__pipe_picks_fn picks,
                 void *data, uint64_t now_us)
{
    return shoal__pipe_move_held(from, to, picks, data, now_us) == 0 &&
           shoal__pipe_move_queued(from, to, picks, data, now_us) == 0;
}

static unsigned log_slot(const shoal__node_t *node, const shoal__request_t *request,
                         const char *bytes)
{
    shoal__cluster_t *cluster = node->owner;

    return shoal__log_slot(request, bytes, &cluster->book);
}

static bool is_keyless(void *data, const shoal__request_t *request, const char *bytes)
{
    const shoal__node_t *node = data;

    return log_slot(node, request, bytes) == SHOAL__SLOT_NONE;
}

/* ... and is no part of a unit, like MULTI, or ASKING. */
static bool goes_anywhere(void *data, const shoal__request_t *request,
                          const char *bytes)
{
    return !(request->flags & SHOAL__REQUEST_UNIT) && is_keyless(data, request, bytes);
}

/* Is it not for this very node; or has the node left the cluster? */
static bool may_leave(void *data, const shoal__request_t *request, const char *bytes)
{
    const shoal__node_t *node = data;

    return !shoal__node_is_known(node) ||
           log_slot(node, request, bytes) != SHOAL__SLOT_SPREAD;
}

/* When the commands of a node that owns no slot go elsewhere, because it cannot be reached;
 * NEVER: it owns some, or can be reached.  A redirect named it: other commands for the same
 * keys would overtake those that leave it at the first failure. */
static uint64_t slotless_us(const shoal__node_t *node)
{
    const shoal__pipe_t *pipe = &node->conn.pipe;

    if (node->slots > 0 || !pipe->is_offline || shoal__node_is_empty(node))
        return SHOAL__NEVER_US;
    if (shoal__cluster_doubts(node))
        return SHOAL__NEVER_US;
    return node->is_listed
               ? shoal__time_max(pipe->offline_since_us, node->given_us) + SLOTLESS_US
               : 0;
}

/* When a node is given up that owes answers, and has left the cluster; or others could give
 * them. */
static uint64_t left_us(const shoal__node_t *node)
{
    return shoal__node_is_known(node) && !shoal__cluster_owes_reads(node)
               ? SHOAL__NEVER_US
               : shoal__node_given_up_us(node, &node->conn);
}

/* The node's commands without a key go to another node; or all of them, but those that were sent
 * to this very node: if it has left the cluster, they end where they are placed. */
static void leave(shoal__cluster_t *cluster, shoal__node_t *node, bool takes_all,
                  uint64_t now_us)
{
    if (shoal__pipe_queued(&node->conn.pipe) + shoal__pipe_held(&node->conn.pipe) == 0)
        return;
    (void)move(&node->conn.pipe, &cluster->waiting,
               takes_all ? may_leave : goes_anywhere, node, now_us);
    cluster->has_waiting_news = true;
    shoal__conn_touch(&node->conn);
}

/* What stays behind for want of memory keeps later commands behind it (placing.c). */
static void empty_waiting(shoal__cluster_t *cluster, uint64_t now_us)
{
    if (!cluster->has_waiting_news || shoal__cluster_is_in_doubt(cluster))
        return;
    if (shoal__cluster_has_waiting(cluster))
        (void)shoal__cluster_place_waiting(cluster, &cluster->route, now_us);
    else
        cluster->has_waiting_news = false;
}

/* Why commands wait although nodes are there. */
static void explain(shoal__cluster_t *cluster)
{
    shoal__pipe_t *waiting = &cluster->waiting;
    const char *why = cluster->topology.why;

    waiting->is_offline = waiting->is_offline && cluster->ready == 0;
    if (cluster->map.owned > 0 || !why[0] || waiting->is_offline)
        return;
    waiting->is_offline = true;
    waiting->offline_since_us = waiting->now_us;
    waiting->attempts_failed = 1;
    snprintf(waiting->detail, sizeof waiting->detail, "%s", why);
}

/* Of a unit the first part that has one says which; the commands stand side by side. */
static unsigned slot_at(const shoal__pipe_t *pipe, uint64_t at, const char *bytes)
{
    const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
    shoal__command_book_t *book = pipe->shared->overtaken.book;
    unsigned slot = shoal__log_slot(request, bytes, book);

    while (slot == SHOAL__SLOT_NONE && request->flags & SHOAL__REQUEST_UNIT &&
           !(request->flags & SHOAL__REQUEST_UNIT_LAST)) {
        bytes += request->bytes;
        request = shoal__request_ring_at(&pipe->ring, ++at);
        slot = shoal__log_slot(request, bytes, book);
    }
    return slot;
}

/* An owner of slots that is not connected; NULL: all are. */
static const shoal__node_t *lost_owner(const shoal__cluster_t *cluster)
{
    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        const shoal__node_t *node = shoal__cluster_node(cluster, i);
        if (node->slots > 0 && !shoal__node_is_ready(node))
            return node;
    }
    return NULL;
}

/* A command without a key waits for the owner of any slot. */
static void say_who_is_lost(const shoal__cluster_t *cluster, shoal__overdue_t *facts)
{
    const shoal__node_t *node = lost_owner(cluster);
    const shoal__pipe_t *pipe = node ? &node->conn.pipe : NULL;

    if (!node)
        return;
    facts->stage = SHOAL__OVERDUE_OFFLINE;
    facts->server = node->name;
    facts->since_us =
        shoal__time_since(pipe->offline_since_us, cluster->waiting.now_us);
    facts->count = pipe->attempts_failed;
    facts->words = pipe->detail;
}

void shoal__cluster_why_waits(void *owner, uint64_t at, const char *bytes,
                              shoal__overdue_t *facts)
{
    const shoal__cluster_t *cluster = owner;
    const shoal__topology_t *topology = &cluster->topology;
    const shoal__node_t *before = topology->asked_before;
    const shoal__node_t *asked = before ? before : topology->asked;
    unsigned slot = slot_at(&cluster->waiting, at, bytes);

    if (cluster->map.owned > 0 && slot >= SHOAL__SLOTS) {
        say_who_is_lost(cluster, facts);
        return;
    }
    facts->stage = SHOAL__OVERDUE_NO_OWNER;
    facts->slot = slot < SHOAL__SLOTS ? slot : SHOAL__OVERDUE_ANY_SLOT;
    facts->server = asked ? asked->name : "";
    facts->words = before ? "was asked last" : "was asked and has not answered";
}

static void turn_waiting(shoal__cluster_t *cluster, uint64_t now_us)
{
    shoal__pipe_t *waiting = &cluster->waiting;

    waiting->now_us = now_us;
    explain(cluster);
    empty_waiting(cluster, now_us);
    shoal__pipe_expire(waiting);
    if (shoal__pipe_has_since(waiting, SHOAL__NEVER_US))
        return;
    if (waiting->ring.gone > 0)
        shoal__pipe_sweep(waiting);
    shoal__buffer_shrink(&waiting->log, PEN_BYTES_KEPT);
}

/* ---- connections ---- */

static uint64_t rtt_us(const shoal__node_t *node)
{
    return node->conn.pipe.flush.learned.tempo.rtt_us;
}

void shoal__cluster_count(shoal__cluster_t *cluster)
{
    cluster->ready = cluster->unready = cluster->down = 0;
    cluster->rtt_us = 0;
    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        const shoal__node_t *node = shoal__cluster_node(cluster, i);
        if (node->slots == 0)
            continue;
        if (shoal__node_is_ready(node))
            cluster->ready++;
        else
            cluster->unready++;
        cluster->down += node->is_down;
        cluster->rtt_us = shoal__time_max(cluster->rtt_us, rtt_us(node));
    }
}

/* Is it up, or down?  The program hears of changes, and all nodes are looked at again. */
static void look_at_health(shoal__cluster_t *cluster, shoal__node_t *node)
{
    const shoal__pipe_t *pipe = &node->conn.pipe;
    bool is_up = shoal__node_is_ready(node) && !node->is_silent;
    bool is_down =
        node->lacks_place || (shoal__node_is_open(node) && !is_up &&
                              (node->is_silent || pipe->attempts_failed > 0));
    char detail[SHOAL__TARGET_NAME_BYTES + 32];

    if (is_up && (!node->was_up || node->is_down)) {
        node->was_up = true;
        node->is_down = false;
        cluster->is_touched = true;
        snprintf(detail, sizeof detail, "%s is up", node->name);
        shoal__cluster_tell(node, SHOAL_EVENT_NODE_UP, detail);
    } else if (is_down && !node->is_down) {
        node->is_down = cluster->is_touched = true;
        snprintf(detail, sizeof detail, "%s does not answer", node->name);
        shoal__cluster_tell(node, SHOAL_EVENT_NODE_DOWN,
                            node->is_silent ? detail : pipe->detail);
    }
}

static void look_at(shoal__cluster_t *cluster, shoal__node_t *node, uint64_t now_us)
{
    bool is_given_up;

    if (now_us >= left_us(node))
        shoal__conn_lose(&node->conn, SHOAL_ETIMEOUT,
                         shoal__node_is_known(node)
                             ? "the replica is silent"
                             : "the node is silent, and has left the cluster");
    is_given_up = now_us >= slotless_us(node);
    if (node->was_lost || is_given_up)
        leave(cluster, node, is_given_up, now_us);
    node->was_lost = false;
    node->is_silent = now_us >= shoal__node_silent_us(node);
    look_at_health(cluster, node);
    shoal__cluster_look_at_reads(cluster, node, now_us);
    shoal__cluster_connect(cluster, node, now_us);
}

static void refuse_stranger(const shoal__cluster_t *cluster, shoal__node_t *node)
{
    char detail[2 * SHOAL__TARGET_NAME_BYTES + 64];

    snprintf(detail, sizeof detail, "%s names %s, which no other node knows",
             shoal__cluster_node(cluster, node->named_by)->name, node->name);
    shoal__counter_add(&node->conn.stats.redirects_refused, 1);
    shoal__cluster_tell(node, SHOAL_EVENT_REDIRECT_REFUSED, detail);
}

/* Nobody else knows the node: whoever owns its slots, it is not this one.  Or a view has given
 * its address to a node that is connected elsewhere: that one gets its commands. */
static void look_at_stranger(shoal__cluster_t *cluster, shoal__node_t *node,
                             uint64_t now_us)
{
    bool is_alias;

    if (!shoal__cluster_doubts(node))
        return;
    is_alias = shoal__nodes_find(&cluster->nodes, node->host, node->endpoint.port,
                                 NULL) != node;
    if (!is_alias && now_us < node->named_us + UNCONFIRMED_US)
        return;
    if (!is_alias)
        refuse_stranger(cluster, node);
    shoal__cluster_disown(cluster, node, now_us);
    leave(cluster, node, true, now_us);
    /* While it has anything left it stays a stranger. */
    node->named_us = node->slots == 0 && shoal__node_is_empty(node) ? 0 : now_us;
}

/* Is a slot without an owner that can be reached, or a node to be confirmed? */
static bool is_incomplete(const shoal__cluster_t *cluster)
{
    if (cluster->map.owned < SHOAL__SLOTS)
        return true;
    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        const shoal__node_t *node = shoal__cluster_node(cluster, i);
        bool is_down = !shoal__node_is_ready(node) && node->conn.pipe.is_offline;
        if ((node->slots > 0 && (is_down || node->is_silent)) ||
            shoal__cluster_doubts(node))
            return true;
    }
    return false;
}

/* When the node is to be looked at, if nothing happens to it before. */
static uint64_t look_us(const shoal__node_t *node, uint64_t now_us)
{
    uint64_t at_us = SHOAL__NEVER_US;

    if (node->idle_us > 0 && shoal__node_is_open(node))
        at_us = node->idle_us + SHOAL__NODE_IDLE_US;
    if (node->slots > 0 && !node->is_silent)
        at_us = shoal__time_min(at_us, shoal__node_silent_us(node));
    if (shoal__cluster_doubts(node))
        at_us = shoal__time_min(at_us, node->named_us + UNCONFIRMED_US);
    at_us = shoal__time_min(at_us, left_us(node));
    at_us = shoal__time_min(at_us, shoal__cluster_ask_us(node));
    if (slotless_us(node) > now_us) /* else memory is short */
        at_us = shoal__time_min(at_us, slotless_us(node));
    return at_us;
}

static void look_at_all(shoal__cluster_t *cluster, uint64_t now_us)
{
    shoal__cluster_mark_leased(cluster, true);
    shoal__cluster_count(cluster);
    cluster->look_us = SHOAL__NEVER_US;
    for (unsigned i = 0; i < shoal__nodes_count(&cluster->nodes); i++) {
        shoal__node_t *node = shoal__cluster_node(cluster, i);
        look_at_stranger(cluster, node, now_us);
        look_at(cluster, node, now_us);
        node->is_leased = false;
        cluster->look_us = shoal__time_min(cluster->look_us, look_us(node, now_us));
    }
    cluster->is_incomplete = is_incomplete(cluster);
    shoal__cluster_forget(cluster, now_us);
}

/* Of connections that something happened to, or that have commands now. */
static void look_at_touched(shoal__cluster_t *cluster, uint64_t now_us)
{
    const shoal__list_t *list = &cluster->set.touched, *at = list->next;

    shoal__cluster_mark_leased(cluster, true);
    while (at != list) {
        shoal__conn_t *conn = SHOAL__LIST_ENTRY(at, shoal__conn_t, touched);
        shoal__node_t *node = shoal__nodes_of(&cluster->nodes, conn);
        at = at->next; /* it may be closed, and stays in the list */
        if (!node)
            continue;
        bool was_silent = node->is_silent;
        look_at(cluster, node, now_us);
        cluster->look_us = shoal__time_min(cluster->look_us, look_us(node, now_us));
        cluster->is_touched |= node->is_silent != was_silent;
        cluster->rtt_us = shoal__time_max(cluster->rtt_us, rtt_us(node));
    }
    shoal__cluster_mark_leased(cluster, false);
}

void shoal__cluster_keep_up(shoal__cluster_t *cluster, bool is_news, uint64_t now_us)
{
    if (is_news || now_us >= cluster->look_us)
        look_at_all(cluster, now_us);
    else
        look_at_touched(cluster, now_us);
    turn_waiting(cluster, now_us);
    shoal__cluster_look_at_roles(cluster, now_us);
    if (cluster->is_incomplete)
        shoal__topology_want(&cluster->topology.rule, SHOAL__TOPOLOGY_URGENT,
                             shoal__nodes_count(&cluster->nodes), now_us,
                             &cluster->set.random);
}

/* ---- commands that cannot leave ---- */

static void count_stuck(const shoal__pipe_t *pipe, uint64_t *queued, uint64_t *bytes)
{
    *queued += shoal__counter_get(&pipe->stats.queued_now);
    *bytes += shoal__counter_get(&pipe->stats.bytes_now);
}

void shoal__cluster_publish_stuck(shoal__cluster_t *cluster)
{
    shoal__route_counts_t *counts = cluster->route.counts;
    bool has_stuck = cluster->is_incomplete && cluster->ready > 0;
    uint64_t queued = 0, bytes = 0;

    for (unsigned i = 0; has_stuck && i < 2 * shoal__nodes_count(&cluster->nodes);
         i++) {
        const shoal__conn_t *conn = shoal__nodes_conn(&cluster->nodes, i);
        if (conn && shoal__cluster_node(cluster, i / 2)->is_down)
            count_stuck(&conn->pipe, &queued, &bytes);
    }
    if (has_stuck)
        count_stuck(&cluster->waiting, &queued, &bytes);
    shoal__counter_set(&counts->stuck.queued, queued);
    shoal__counter_set(&counts->stuck.bytes, bytes);
    atomic_store_explicit(&counts->has_stuck, has_stuck, memory_order_relaxed);
}

bool shoal__cluster_is_stuck(const shoal__cluster_t *cluster, unsigned slot,
                             bool is_read)
{
    unsigned owner = slot < SHOAL__SLOTS ? shoal__slot_map_owner(&cluster->map, slot)
                                         : SHOAL__SLOT_NOBODY;
    const shoal__node_t *node;

    if (owner == SHOAL__SLOT_NOBODY)
        return slot < SHOAL__SLOTS;
    node = shoal__cluster_node(cluster, owner);
    return node->is_down && !(is_read && node->readers.can_read);
}

void shoal__cluster_written(shoal__cluster_t *cluster, uint64_t now_us)
{
    const shoal__conn_set_t *set = &cluster->set;
    uint64_t inflight = shoal__counter_get(&set->account->inflight) + set->inflight;

    if (inflight > 0)
        cluster->look_us =
            shoal__time_min(cluster->look_us, now_us + SHOAL__NODE_SILENT_US);
}

uint64_t shoal__cluster_upkeep_us(const shoal__cluster_t *cluster)
{
    uint64_t wake_us = shoal__pipe_next_wake_us(&cluster->waiting);

    if (cluster->has_waiting_news && shoal__cluster_has_waiting(cluster))
        wake_us = cluster->waiting.now_us + NO_MEMORY_DELAY_US;
    wake_us = shoal__time_min(wake_us, shoal__cluster_roles_us(cluster));
    return shoal__time_min(wake_us, cluster->look_us);
}
