/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fault_link.h"

#include "fault_proxy/fault_clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 65536u

static fault_side_t *receiver(const fault_flow_t *flow)
{
    return &flow->link->sides[1 - flow->way];
}

static const fault_carriage_t *carriage_of(const fault_flow_t *flow)
{
    return &flow->link->hub->ways[flow->way];
}

static size_t window(const fault_flow_t *flow)
{
    return fault_pace_window(carriage_of(flow), flow->link->hub->held_bytes_max);
}

static bool wants_more(const fault_flow_t *flow)
{
    return !flow->is_read_out &&
           (flow->is_discarded || (!carriage_of(flow)->is_stopped &&
                                   fault_line_held(&flow->line) < window(flow)));
}

/* The session that ends at a side; NULL: none. */
static fake_tls_session_t *session_of(const fault_side_t *side)
{
    return side->way == FAULT_TO_SERVER ? side->link->tls : NULL;
}

/* Is there something that only waits for room in the socket? */
static bool wants_room(const fault_side_t *side)
{
    const fault_flow_t *flow = &side->link->flows[1 - side->way];
    fake_tls_session_t *tls = session_of(side);
    size_t ready;

    if (tls && !flow->is_over &&
        (fake_tls_out(tls)->size > 0 || !fake_tls_is_open(tls)))
        return fake_tls_out(tls)->size > 0;
    return fault_line_ready(&flow->line, &ready) != NULL;
}

/* A side that can use nothing leaves the set, or its hang-up would be told for ever. */
static void watch(fault_side_t *side)
{
    const fault_link_t *link = side->link;
    uint32_t events = 0;

    if (wants_more(&link->flows[side->way]))
        events |= EPOLLIN;
    if (wants_room(side))
        events |= EPOLLOUT;
    if (events == side->events)
        return;
    int how = events == 0         ? EPOLL_CTL_DEL
              : side->events == 0 ? EPOLL_CTL_ADD
                                  : EPOLL_CTL_MOD;
    struct epoll_event event = {.events = events, .data.ptr = side};
    epoll_ctl(link->hub->epoll, how, side->fd, &event);
    side->events = events;
}

/* Something about the link has changed: what it waits for, too. */
static void settle(fault_link_t *link)
{
    for (int i = 0; i < 2 && !link->is_closed; i++) {
        fault_flow_t *flow = &link->flows[i];
        fault_agenda_set(&link->hub->agenda, &flow->due,
                         fault_line_due_ns(&flow->line));
        watch(&link->sides[i]);
    }
}

static void mark_ended(fault_link_t *link)
{
    if (!link->is_ended)
        link->hub->counts.open_now--;
    link->is_ended = true;
}

/* Not left to close(): a child that was forked meanwhile keeps a copy open, and with it
 * the entry in the set. */
static void close_side(fault_side_t *side, bool with_reset)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (side->events != 0)
        epoll_ctl(side->link->hub->epoll, EPOLL_CTL_DEL, side->fd, NULL);
    if (with_reset)
        setsockopt(side->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(side->fd);
}

static void close_link(fault_link_t *link, bool with_reset)
{
    if (link->is_closed)
        return;
    link->is_closed = true;
    link->next_closed = link->hub->closed;
    link->hub->closed = link;
    mark_ended(link);
    for (int i = 0; i < 2; i++) {
        close_side(&link->sides[i], with_reset);
        fault_agenda_set(&link->hub->agenda, &link->flows[i].due, FAULT_NEVER_NS);
    }
}

/* What this way holds or will read goes nowhere. */
static void discard(fault_flow_t *flow)
{
    flow->is_discarded = true;
    fault_line_release_memory(&flow->line);
}

/* No more comes this way.  A link whose two ways are over reads on until its peers have
 * left: closing a socket that was not read out would be a reset. */
static void finish(fault_flow_t *flow)
{
    fault_link_t *link = flow->link;

    flow->is_over = true;
    discard(flow);
    if (link->flows[0].is_over && link->flows[1].is_over) {
        mark_ended(link);
        if (link->flows[0].is_read_out && link->flows[1].is_read_out)
            close_link(link, false);
    }
}

/* Write what TLS has for a side's peer.  False: some of it is left. */
static bool write_out(const fault_side_t *side)
{
    fake_bytes_t *out = fake_tls_out(session_of(side));
    ssize_t sent;

    while (out->size > 0 &&
           ((sent = send(side->fd, out->data, out->size, MSG_NOSIGNAL)) > 0 ||
            (sent < 0 && errno == EINTR)))
        fake_bytes_consume(out, sent > 0 ? (size_t)sent : 0);
    return out->size == 0;
}

/* As send(): all the bytes are taken, or none. */
static ssize_t send_encrypted(const fault_side_t *side, const char *data, size_t bytes)
{
    fake_tls_session_t *tls = session_of(side);

    if (!fake_tls_is_open(tls)) {
        errno = EAGAIN;
        return -1;
    }
    if (!write_out(side))
        return -1;
    fake_tls_send(tls, data, bytes);
    if (!write_out(side) && errno != EAGAIN)
        return -1;
    return (ssize_t)bytes;
}

static void say_end(fault_flow_t *flow)
{
    if (flow->is_over)
        return;
    fake_tls_session_t *tls = session_of(receiver(flow));
    if (tls) {
        fake_tls_say_end(tls);
        (void)write_out(receiver(flow));
    }
    shutdown(receiver(flow)->fd, SHUT_WR);
    finish(flow);
}

static void end_link(fault_link_t *link, fault_way_t way, fault_end_t how)
{
    switch (how) {
    case FAULT_END_RESET:
        close_link(link, true);
        break;
    case FAULT_END_HALF:
        say_end(&link->flows[way]);
        break;
    case FAULT_END_FIN:
        say_end(&link->flows[FAULT_TO_SERVER]);
        say_end(&link->flows[FAULT_TO_CLIENT]);
        break;
    }
}

/* Returns false if the flow can take no more now. */
static bool write_some(fault_flow_t *flow, const char *data, size_t bytes)
{
    fault_link_t *link = flow->link;
    size_t chunk = carriage_of(flow)->chunk_bytes;

    if (chunk > 0 && bytes > chunk)
        bytes = chunk;
    if (bytes > flow->cut_at - flow->carried)
        bytes = (size_t)(flow->cut_at - flow->carried);
    ssize_t sent = session_of(receiver(flow))
                       ? send_encrypted(receiver(flow), data, bytes)
                       : send(receiver(flow)->fd, data, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
        return true;
    if (sent < 0 && errno == EAGAIN)
        return false;
    if (sent < 0) {
        /* The receiver is gone; what it sent before may still be there to be read. */
        if (errno == ECONNRESET)
            link->flows[1 - flow->way].is_reset = true;
        finish(flow);
        return false;
    }
    fault_line_take(&flow->line, (size_t)sent);
    flow->carried += (uint64_t)sent;
    link->hub->counts.bytes[flow->way] += (uint64_t)sent;
    if (flow->carried == flow->cut_at) {
        end_link(link, flow->way, flow->cut_how);
        return false;
    }
    return chunk == 0; /* else one write each turn, and the receiver may read it */
}

/* Writes what may leave. */
static void push(fault_flow_t *flow)
{
    const char *data;
    size_t bytes;

    while ((data = fault_line_ready(&flow->line, &bytes)) != NULL)
        if (!write_some(flow, data, bytes))
            break;
    if (flow->link->is_closed || flow->is_over)
        return;
    if (session_of(receiver(flow)) && !write_out(receiver(flow)) && errno == EAGAIN)
        return;
    if (!fault_line_is_over(&flow->line))
        return;
    if (flow->is_reset)
        close_link(flow->link, true);
    else
        say_end(flow);
}

/* So many bytes that stand in the line, or that `data` holds, came now. */
static void hold(fault_flow_t *flow, const char *data, size_t bytes)
{
    const fault_carriage_t *carriage = carriage_of(flow);
    size_t most = fault_pace_piece_bytes(carriage);
    uint64_t now_ns = fault_clock_ns();

    for (size_t at = 0, part; at < bytes; at += part) {
        part = bytes - at < most ? bytes - at : most;
        uint64_t due_ns = fault_pace_due_ns(&flow->pace, carriage, part, now_ns);
        if (data)
            fault_line_append(&flow->line, data + at, part, due_ns);
        else
            fault_line_add(&flow->line, part, due_ns);
    }
}

/* Holds what was harmed, and counts the harm. */
static void hold_harmed(fault_flow_t *flow)
{
    fault_hub_t *hub = flow->link->hub;

    hold(flow, hub->harmed.data, hub->harmed.size);
    hub->harmed.size = 0;
    hub->counts.harmed += flow->harm.harmed;
    flow->harm.harmed = 0;
}

/* The sender sends no more: what follows it is due behind what came from it. */
static void read_out(fault_flow_t *flow, bool is_reset)
{
    const fault_carriage_t *carriage = carriage_of(flow);
    fault_link_t *link = flow->link;

    flow->is_read_out = true;
    flow->is_reset = flow->is_reset || is_reset;
    if (flow->is_discarded) {
        if (link->is_ended && link->flows[1 - flow->way].is_read_out)
            close_link(link, false);
        return;
    }
    fault_harm_end(&flow->harm, carriage, &link->hub->harmed);
    hold_harmed(flow);
    fault_line_end(&flow->line,
                   fault_pace_due_ns(&flow->pace, carriage, 0, fault_clock_ns()));
}

/* Where to read to, and how much. */
static char *place_to_read(fault_flow_t *flow, bool is_direct, size_t *ret_bytes)
{
    fault_hub_t *hub = flow->link->hub;

    if (is_direct)
        return fault_line_room(&flow->line, window(flow), ret_bytes);
    *ret_bytes = READ_BYTES;
    if (!flow->is_discarded && window(flow) - fault_line_held(&flow->line) < READ_BYTES)
        *ret_bytes = window(flow) - fault_line_held(&flow->line);
    hub->came.size = 0;
    fake_bytes_reserve(&hub->came, READ_BYTES);
    return hub->came.data;
}

/* Takes so many bytes of TLS: what they say is what came. */
static void pull_encrypted(fault_flow_t *flow, const char *data, size_t bytes)
{
    fault_link_t *link = flow->link;
    fault_hub_t *hub = link->hub;
    const fault_side_t *side = &link->sides[flow->way];

    hub->plain.size = 0;
    fake_tls_receive(link->tls, data, bytes, &hub->plain);
    if (!flow->is_discarded) {
        fault_harm_apply(&flow->harm, carriage_of(flow), hub->plain.data,
                         hub->plain.size, &hub->harmed);
        hold_harmed(flow);
    }
    (void)write_out(side);
    if (fake_tls_is_over(link->tls))
        read_out(flow, false);
    else
        push(&link->flows[1 - flow->way]); /* it may have waited for the handshake */
}

/* Reads once what has come. */
static void pull(fault_flow_t *flow)
{
    fault_hub_t *hub = flow->link->hub;
    const fault_carriage_t *carriage = carriage_of(flow);
    bool is_encrypted = session_of(&flow->link->sides[flow->way]) != NULL;
    bool is_direct = !is_encrypted && !flow->is_discarded &&
                     fault_harm_is_idle(&flow->harm, carriage);
    size_t room;
    char *place = place_to_read(flow, is_direct, &room);

    ssize_t count = read(flow->link->sides[flow->way].fd, place, room);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        read_out(flow, count < 0);
    } else if (is_encrypted) {
        pull_encrypted(flow, place, (size_t)count);
    } else if (is_direct) {
        fault_harm_pass(&flow->harm, place, (size_t)count);
        hold(flow, NULL, (size_t)count);
    } else if (!flow->is_discarded) {
        fault_harm_apply(&flow->harm, carriage, place, (size_t)count, &hub->harmed);
        hold_harmed(flow);
    }
}

fault_link_t *fault_link_new(fault_hub_t *hub, unsigned number, int client, int server)
{
    fault_link_t *link = fake_must(calloc(1, sizeof *link));
    shoal__random_t dice = {hub->seed + number};

    link->hub = hub;
    link->number = number;
    link->tls = hub->tls ? fake_tls_begin(hub->tls) : NULL;
    hub->counts.open_now++;
    for (int i = 0; i < 2; i++) {
        fault_flow_t *flow = &link->flows[i];
        link->sides[i] = (fault_side_t){
            .link = link, .way = (fault_way_t)i, .fd = i ? server : client};
        flow->due.owner = flow;
        flow->link = link;
        flow->way = (fault_way_t)i;
        flow->cut_at = UINT64_MAX;
        fault_line_init(&flow->line);
        flow->pace.dice.state = shoal__random_next(&dice);
        fault_harm_init(&flow->harm, shoal__random_next(&dice),
                        hub->finds_replies && i == FAULT_TO_CLIENT);
    }
    settle(link);
    return link;
}

void fault_link_free(fault_link_t *link)
{
    close_link(link, true);
    for (int i = 0; i < 2; i++) {
        fault_line_release_memory(&link->flows[i].line);
        fault_harm_release(&link->flows[i].harm);
    }
    fake_tls_end(link->tls);
    free(link);
}

void fault_link_serve(fault_side_t *side, uint32_t events)
{
    fault_link_t *link = side->link;
    fault_flow_t *from = &link->flows[side->way];

    if (!link->is_closed && (events & ~(uint32_t)EPOLLIN) != 0)
        push(&link->flows[1 - side->way]);
    if (!link->is_closed && (events & ~(uint32_t)EPOLLOUT) != 0 && wants_more(from))
        pull(from);
    settle(link);
}

void fault_link_release(fault_flow_t *flow, uint64_t now_ns)
{
    fault_line_release(&flow->line, now_ns);
    push(flow);
    settle(flow->link);
}

void fault_link_retune(fault_link_t *link, fault_way_t way)
{
    fault_flow_t *flow = &link->flows[way];

    if (link->is_closed)
        return;
    if (!flow->is_discarded && !flow->is_read_out) {
        fault_harm_let_go(&flow->harm, carriage_of(flow), &link->hub->harmed);
        hold_harmed(flow);
    }
    settle(link);
}

void fault_link_cut(fault_link_t *link, fault_way_t way, fault_end_t how)
{
    if (!link->is_closed)
        end_link(link, way, how);
    settle(link);
}

void fault_link_cut_after(fault_link_t *link, fault_way_t way, uint64_t bytes,
                          fault_end_t how)
{
    fault_flow_t *flow = &link->flows[way];

    flow->cut_how = how;
    flow->cut_at = bytes > flow->carried ? bytes : flow->carried;
    if (flow->cut_at == flow->carried)
        fault_link_cut(link, way, how);
}

void fault_link_inject(fault_link_t *link, fault_way_t way, const char *data,
                       size_t bytes)
{
    fault_flow_t *flow = &link->flows[way];
    uint64_t now_ns = fault_clock_ns();

    if (link->is_closed || flow->is_discarded || flow->is_read_out)
        return;
    if (flow->pace.last_ns < now_ns)
        flow->pace.last_ns = now_ns;
    fault_line_append(&flow->line, data, bytes, flow->pace.last_ns);
    fault_link_release(flow, now_ns);
}
