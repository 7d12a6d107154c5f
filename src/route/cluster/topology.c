/* SPDX-License-Identifier: MIT */
#include "route/cluster/topology.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "base/hash.h"
#include "base/time_us.h"
#include "core/description.h"
#include "net/clock.h"
#include "net/resolver.h"
#include "route/errand.h"
#include <stdio.h>
#include <string.h>

void shoal__topology_init(shoal__topology_t *topology, shoal__nodes_t *nodes)
{
    *topology = (shoal__topology_t){.nodes = nodes};
}

void shoal__topology_release(shoal__topology_t *topology)
{
    shoal__free(topology->view);
}

static void fail(shoal__topology_t *topology)
{
    topology->asked_before = topology->asked;
    topology->asked = NULL;
    topology->serial++;
    shoal__topology_end(&topology->rule, false);
}

/* ---- the view ---- */

/* Where a node is that a view names; NULL: nobody knows, or there is no memory. */
static shoal__node_t *place_of(shoal__topology_t *topology,
                               const shoal__slots_node_t *named)
{
    if (named->port == 0)
        return shoal__nodes_with_id(topology->nodes, named->id);
    return shoal__nodes_identify(topology->nodes, named, topology->asked);
}

static void list_node(shoal__topology_t *topology, const shoal__node_t *node,
                      const char *id)
{
    shoal__view_t *view = topology->view;
    const shoal__node_t *known = shoal__nodes_with_id(topology->nodes, id);

    view->knows_us = view->knows_us || (known && known->is_listed);
    memcpy(view->ids[node->index], id, sizeof view->ids[node->index]);
}

/* Was it named by an address, and not by a name, or by nothing? */
static bool is_address(const shoal__slots_node_t *named)
{
    shoal__addresses_t addresses;

    return named->port > 0 && named->host[0] &&
           shoal__resolver_numeric(named->host, named->port, &addresses);
}

static void read_range(shoal__topology_t *topology, const shoal_reply_t *reply,
                       size_t number)
{
    shoal__slots_range_t range = shoal__slots_reply_range(reply, number);
    shoal__view_t *view = topology->view;

    const shoal__node_t *primary = NULL;

    for (size_t i = 0; i < range.nodes; i++) {
        shoal__slots_node_t named;
        shoal__node_t *node;
        shoal__slots_reply_node(reply, number, i, &named);
        node = place_of(topology, &named);
        if (!node)
            continue;
        list_node(topology, node, named.id);
        if (is_address(&named))
            shoal__nodes_set_hostname(node, named.hostname);
        if (i > 0) {
            if (primary && primary != node)
                view->primaries[node->index] = (uint16_t)primary->index;
            continue;
        }
        primary = node;
        for (unsigned slot = range.first; slot <= range.last; slot++)
            view->slots.owners[slot] = (uint16_t)node->index;
    }
}

static void read_slots(shoal__topology_t *topology, const shoal_reply_t *reply)
{
    shoal__view_t *view = topology->view;

    memset(view, 0, sizeof *view);
    view->slots.by = topology->asked->index;
    view->slots.at_us = shoal__clock_us();
    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++)
        view->slots.owners[slot] = SHOAL__SLOT_NOBODY;
    for (unsigned i = 0; i < SHOAL__NODES_MAX; i++)
        view->primaries[i] = SHOAL__SLOT_NOBODY;
    for (size_t i = 0; i < shoal_reply_count(reply); i++)
        read_range(topology, reply, i);
}

/* Epochs: of the nodes that the view lists.  One that failed is not listed any more. */
static void take_epoch(shoal__topology_t *topology, const shoal__nodes_line_t *line)
{
    shoal__view_t *view = topology->view;
    const shoal__node_t *known = shoal__nodes_with_id(topology->nodes, line->id);
    bool is_there = line->is_failed;

    for (unsigned i = 0; i < shoal__nodes_count(topology->nodes); i++)
        if (strcmp(view->ids[i], line->id) == 0) {
            view->epochs[i] = line->epoch;
            is_there = true;
        }
    view->lacks_nodes = view->lacks_nodes || !is_there;
    if (known)
        view->has_failed[known->index] = line->is_failed;
}

/* A node that answers is one witness, at whichever of its addresses it was asked. */
static void take_self(shoal__topology_t *topology, const shoal__nodes_line_t *line)
{
    shoal__view_t *view = topology->view;
    const shoal__bytes_t id = {line->id, strlen(line->id)};

    view->slots.by = (unsigned)shoal__hash(id, 0);
    memcpy(view->self, line->id, sizeof view->self);
}

static void read_epochs(shoal__topology_t *topology, const shoal_reply_t *reply)
{
    shoal__bytes_t text = shoal__text_of(reply);
    shoal__nodes_line_t line;

    while (shoal__nodes_reply_next(&text, &line)) {
        take_epoch(topology, &line);
        if (line.is_myself)
            take_self(topology, &line);
    }
}

/* ---- answers ---- */

/* The tag of an errand says which question it is of, and which node was asked. */
static uint64_t tag_of(const shoal__topology_t *topology, const shoal__node_t *node)
{
    return topology->serial * SHOAL__NODES_MAX + node->index;
}

/* One that comes when another node was asked already is of no use. */
static bool is_awaited(shoal__topology_t *topology, const shoal_result_t *result)
{
    shoal__nodes_at(topology->nodes, (unsigned)(result->tag % SHOAL__NODES_MAX))
        ->questions--;
    return topology->asked && result->tag == tag_of(topology, topology->asked);
}

static void note_why(shoal__topology_t *topology, const shoal_result_t *result)
{
    bool is_error =
        result->status == 0 && shoal_reply_type(result->reply) == SHOAL_REPLY_ERROR;
    char said[100] = "an answer that is not understood";

    if (result->status < 0) /* the connection tells */
        return;
    if (is_error)
        shoal__escape(said, sizeof said, shoal__text_of(result->reply));
    snprintf(topology->why, sizeof topology->why, "%.80s is no node of a cluster: %s",
             topology->asked->name, said);
}

static void on_slots(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__topology_t *topology = data;

    (void)client;
    if (!is_awaited(topology, result))
        return;
    topology->has_slots =
        result->status == 0 && shoal__slots_reply_is_whole(result->reply);
    if (topology->has_slots) {
        topology->why[0] = '\0';
        read_slots(topology, result->reply);
        return;
    }
    note_why(topology, result);
    if (result->status == 0)
        shoal__counter_add(&topology->refused, 1);
    fail(topology);
}

/* Servers that do not tell the epochs: without them views are believed more slowly. */
static void on_nodes(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__topology_t *topology = data;

    (void)client;
    if (!is_awaited(topology, result) || !topology->has_slots)
        return;
    if (result->status < 0) {
        fail(topology);
        return;
    }
    if (shoal_reply_type(result->reply) != SHOAL_REPLY_ERROR)
        read_epochs(topology, result->reply);
    topology->is_view_ready = true;
    shoal__conn_touch(&topology->asked->conn);
}

void shoal__topology_merged(shoal__topology_t *topology, bool is_refused, bool is_news)
{
    if (is_refused)
        shoal__counter_add(&topology->refused, 1);
    topology->is_view_ready = false;
    topology->asked_before = topology->asked;
    topology->asked = NULL;
    shoal__topology_end(&topology->rule, is_news);
}

/* ---- questions ---- */

static bool ask(shoal__topology_t *topology, shoal__node_t *node, uint64_t now_us)
{
    static const char *const slots_words[] = {"CLUSTER", "SLOTS"};
    static const char *const nodes_words[] = {"CLUSTER", "NODES"};
    static const shoal_command_t slots = {2, slots_words, NULL};
    static const shoal_command_t nodes = {2, nodes_words, NULL};
    const shoal__errand_t of_slots = {
        .on_answer = on_slots, .data = topology, .tag = tag_of(topology, node)};
    const shoal__errand_t of_nodes = {
        .on_answer = on_nodes, .data = topology, .tag = tag_of(topology, node)};

    for (unsigned i = 0; i < 2; i++) {
        if (!shoal__errand_send(&node->conn, i == 0 ? &slots : &nodes,
                                i == 0 ? &of_slots : &of_nodes, now_us))
            return false;
        node->questions++;
    }
    return true;
}

/* A node that owes an answer is not asked again: its questions would gather. */
static shoal__node_t *choose(const shoal__topology_t *topology, shoal__random_t *random)
{
    shoal__node_t *hint = topology->hint, *node;

    if (hint && hint != topology->asked_before && hint->questions == 0 &&
        shoal__node_is_ready(hint))
        return hint;
    node = shoal__nodes_pick(topology->nodes, topology->asked_before, true, random);
    return node ? node : shoal__nodes_pick(topology->nodes, NULL, true, random);
}

void shoal__topology_turn(shoal__topology_t *topology, shoal__random_t *random,
                          uint64_t now_us)
{
    shoal__node_t *node;

    if (topology->is_view_ready)
        return;
    if (shoal__topology_is_late(&topology->rule, now_us) && !choose(topology, random)) {
        shoal__topology_wait_on(&topology->rule, now_us);
    } else if (shoal__topology_is_late(&topology->rule, now_us)) {
        fail(topology);
        shoal__topology_want(&topology->rule, SHOAL__TOPOLOGY_URGENT, 0, now_us,
                             random);
    }
    if (!shoal__topology_is_due(&topology->rule, now_us))
        return;
    node = choose(topology, random);
    if (!topology->view)
        topology->view = shoal__malloc(sizeof *topology->view);
    if (!node || !topology->view) {
        shoal__topology_put_off(&topology->rule, now_us);
        return;
    }
    topology->serial++;
    shoal__counter_add(&topology->asked_count, 1);
    topology->has_slots = false;
    topology->asked = node;
    topology->hint = NULL;
    shoal__topology_begin(&topology->rule, shoal__nodes_count(topology->nodes), now_us,
                          random);
    if (!ask(topology, node, now_us))
        fail(topology);
}

uint64_t shoal__topology_wake_us(const shoal__topology_t *topology)
{
    for (unsigned i = 0; i < shoal__nodes_count(topology->nodes); i++)
        if (shoal__node_is_ready(shoal__nodes_at(topology->nodes, i)))
            return shoal__topology_next_us(&topology->rule);
    return SHOAL__NEVER_US;
}
