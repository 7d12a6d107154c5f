/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fault_relay.h"

#include "fault_proxy/fault_clock.h"
#include "fault_proxy/fault_link.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_MAX 256
#define DIAL_S_MAX 10

/* An end that connections have ahead of them. */
typedef struct fault_cut {
    unsigned connection; /* 0: every one that is accepted later */
    fault_way_t way;
    fault_end_t how;
    uint64_t bytes;
} fault_cut_t;

struct fault_relay {
    fault_relay_config_t config;
    fault_hub_t hub;
    int timer;
    uint64_t armed_ns; /* 0: the timer is not */
    bool is_turning_away;
    fault_link_t *links; /* the newest first */
    fake_bytes_t cuts;   /* fault_cut_t; the last that fits counts */
    struct epoll_event events[EVENTS_MAX];
    int events_count;
};

/* Its events name it by `what`. */
static int watch_forever(const fault_relay_t *relay, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    return epoll_ctl(relay->hub.epoll, EPOLL_CTL_ADD, fd, &event);
}

fault_relay_t *fault_relay_new(const fault_relay_config_t *config)
{
    fault_relay_t *relay = fake_must(calloc(1, sizeof *relay));

    relay->config = *config;
    relay->hub.seed = config->seed;
    relay->hub.held_bytes_max = config->held_bytes_max;
    relay->hub.finds_replies = config->finds_replies;
    relay->hub.tls = config->tls;
    relay->hub.ways[0] = config->ways[0];
    relay->hub.ways[1] = config->ways[1];
    relay->hub.epoll = epoll_create1(EPOLL_CLOEXEC);
    relay->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (relay->hub.epoll < 0 || relay->timer < 0 ||
        fcntl(config->listener, F_SETFL, O_NONBLOCK) < 0 ||
        watch_forever(relay, config->listener, &relay->config.listener) < 0 ||
        watch_forever(relay, config->stopper, &relay->config.stopper) < 0 ||
        watch_forever(relay, relay->timer, &relay->timer) < 0) {
        fault_relay_free(relay);
        return NULL;
    }
    return relay;
}

static void free_link(fault_relay_t *relay, fault_link_t *link)
{
    if (link->previous)
        link->previous->next = link->next;
    else
        relay->links = link->next;
    if (link->next)
        link->next->previous = link->previous;
    fault_link_free(link);
}

void fault_relay_free(fault_relay_t *relay)
{
    if (!relay)
        return;
    while (relay->links)
        free_link(relay, relay->links);
    if (relay->hub.epoll >= 0)
        close(relay->hub.epoll);
    if (relay->timer >= 0)
        close(relay->timer);
    fault_agenda_release(&relay->hub.agenda);
    fake_bytes_release(&relay->hub.came);
    fake_bytes_release(&relay->hub.plain);
    fake_bytes_release(&relay->hub.harmed);
    fake_bytes_release(&relay->cuts);
    free(relay);
}

static void tune(const fault_relay_t *relay, int fd)
{
    const int yes = 1;
    int bytes = relay->config.buffer_bytes;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* if it is TCP */
    if (bytes == 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

/* By TCP the server's answer is awaited by the epoll set.  A Unix socket does not tell
 * when there is room in the server's backlog again, so here it is waited for. */
static int dial(const fault_relay_t *relay)
{
    const struct timeval most = {.tv_sec = DIAL_S_MAX};
    bool is_tcp = relay->config.server.ss_family != AF_UNIX;
    int nonblock = is_tcp ? SOCK_NONBLOCK : 0;
    int fd = socket(relay->config.server.ss_family,
                    SOCK_STREAM | SOCK_CLOEXEC | nonblock, 0);

    if (fd < 0)
        return -1;
    tune(relay, fd);
    if (!is_tcp)
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    if (connect(fd, (const struct sockaddr *)&relay->config.server,
                relay->config.server_bytes) < 0 &&
        errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

/* The last cut of a way that was asked for counts. */
static void set_cuts(const fault_relay_t *relay, fault_link_t *link)
{
    const fault_cut_t *cuts = (const void *)relay->cuts.data;
    const fault_cut_t *found[2] = {NULL, NULL};

    for (size_t i = 0; i < relay->cuts.size / sizeof *cuts; i++)
        if (cuts[i].connection == 0 || cuts[i].connection == link->number)
            found[cuts[i].way] = &cuts[i];
    for (int i = 0; i < 2; i++)
        if (found[i])
            fault_link_cut_after(link, found[i]->way, found[i]->bytes, found[i]->how);
}

static void open_link(fault_relay_t *relay, int client)
{
    unsigned number = ++relay->hub.counts.accepted;
    int server = relay->is_turning_away ? -1 : dial(relay);

    if (server < 0) {
        close(client);
        return;
    }
    tune(relay, client);
    fault_link_t *link = fault_link_new(&relay->hub, number, client, server);
    link->next = relay->links;
    if (link->next)
        link->next->previous = link;
    relay->links = link;
    set_cuts(relay, link);
}

static void accept_all(fault_relay_t *relay)
{
    int client;

    while ((client = accept4(relay->config.listener, NULL, NULL,
                             SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        open_link(relay, client);
}

/* Lets everything leave that is due, and sets the timer for what is due next; if
 * something is, it is never later. */
static void release(fault_relay_t *relay)
{
    fault_agenda_entry_t *first;
    uint64_t now_ns;

    while ((first = fault_agenda_first(&relay->hub.agenda)) != NULL &&
           first->due_ns <= (now_ns = fault_clock_ns()))
        fault_link_release(first->owner, now_ns);
    if (!first || first->due_ns == relay->armed_ns)
        return;
    relay->armed_ns = first->due_ns;
    const struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(first->due_ns / 1000000000u),
                     .tv_nsec = (long)(first->due_ns % 1000000000u)}};
    timerfd_settime(relay->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

void fault_relay_wait(fault_relay_t *relay)
{
    relay->events_count = epoll_wait(relay->hub.epoll, relay->events, EVENTS_MAX, -1);
}

/* Only here: between wait and work the events may still name a link that was closed. */
static void bury(fault_relay_t *relay)
{
    while (relay->hub.closed) {
        fault_link_t *link = relay->hub.closed;
        relay->hub.closed = link->next_closed;
        free_link(relay, link);
    }
}

bool fault_relay_work(fault_relay_t *relay)
{
    uint64_t expirations;

    for (int i = 0; i < relay->events_count; i++) {
        void *what = relay->events[i].data.ptr;
        if (what == &relay->config.stopper)
            return false;
        if (what == &relay->config.listener) {
            accept_all(relay);
        } else if (what == &relay->timer) {
            if (read(relay->timer, &expirations, sizeof expirations) > 0)
                relay->armed_ns = 0;
        } else {
            fault_link_serve(what, relay->events[i].events);
        }
    }
    release(relay);
    bury(relay);
    return true;
}

void fault_relay_carry(fault_relay_t *relay, fault_way_t way,
                       const fault_carriage_t *carriage)
{
    relay->hub.ways[way] = *carriage;
    for (fault_link_t *link = relay->links; link; link = link->next)
        fault_link_retune(link, way);
    release(relay);
}

void fault_relay_cut(fault_relay_t *relay, fault_way_t way, fault_end_t how)
{
    for (fault_link_t *link = relay->links; link; link = link->next)
        fault_link_cut(link, way, how);
}

void fault_relay_cut_after(fault_relay_t *relay, unsigned connection, fault_way_t way,
                           uint64_t bytes, fault_end_t how)
{
    const fault_cut_t cut = {connection, way, how, bytes};

    fake_bytes_add(&relay->cuts, &cut, sizeof cut);
    for (fault_link_t *link = relay->links; link; link = link->next)
        if (link->number == connection && !link->is_closed)
            fault_link_cut_after(link, way, bytes, how);
}

void fault_relay_inject(fault_relay_t *relay, fault_way_t way, const char *data,
                        size_t bytes)
{
    for (fault_link_t *link = relay->links; link; link = link->next)
        fault_link_inject(link, way, data, bytes);
    release(relay);
}

void fault_relay_turn_away(fault_relay_t *relay, bool is_turning_away)
{
    relay->is_turning_away = is_turning_away;
}

fault_proxy_counts_t fault_relay_counts(const fault_relay_t *relay)
{
    return relay->hub.counts;
}
