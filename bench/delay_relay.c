/* SPDX-License-Identifier: MIT */
#include "delay_relay.h"

#include "clock.h"
#include "delay_line.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_MAX 256

typedef struct link link_t;

/* One end of a connection through the relay, and the line of bytes that leads to it. */
typedef struct end {
    link_t *link;
    struct end *other;
    int fd;
    uint32_t events;     /* that are asked for */
    bool is_read_out;    /* nothing more will come from it */
    bool is_line_ended;  /* the end of its line is due */
    bool is_write_ended; /* nothing more will go to it */
    delay_line_t line;
} end_t;

struct link {
    end_t ends[2];
    uint64_t entries; /* of the queue that name it */
    bool is_closed;
    link_t *next_closed;
};

typedef struct relay {
    const delay_relay_spec_t *spec;
    int epoll;
    int timer;
    int signals;
    delay_queue_t queue;
    uint64_t armed_ns; /* 0: the timer is not */
    link_t *closed;    /* to be freed when the queue does not name them any more */
} relay_t;

/* Asks for what the end can use now. */
static void watch(relay_t *relay, end_t *end)
{
    size_t room;
    size_t ready;
    uint32_t events = 0;

    if (end->link->is_closed)
        return;
    delay_line_room(&end->other->line, &room);
    delay_line_ready(&end->line, &ready);
    if (!end->is_read_out && room > 0)
        events |= EPOLLIN;
    if (ready > 0)
        events |= EPOLLOUT;
    if (events == end->events)
        return;
    end->events = events;
    struct epoll_event event = {.events = events, .data.ptr = end};
    epoll_ctl(relay->epoll, EPOLL_CTL_MOD, end->fd, &event);
}

static void close_link(relay_t *relay, link_t *link)
{
    if (link->is_closed)
        return;
    link->is_closed = true;
    for (int i = 0; i < 2; i++)
        close(link->ends[i].fd);
    link->next_closed = relay->closed;
    relay->closed = link;
}

/* Frees those closed links that nothing names. */
static void bury(relay_t *relay)
{
    link_t **at = &relay->closed;

    while (*at) {
        link_t *link = *at;
        if (link->entries > 0) {
            at = &link->next_closed;
            continue;
        }
        *at = link->next_closed;
        delay_line_free(&link->ends[0].line);
        delay_line_free(&link->ends[1].line);
        free(link);
    }
}

/* Nothing more will go to this end; the link is over when that holds for both. */
static void end_writing(relay_t *relay, end_t *end)
{
    end->is_write_ended = true;
    if (end->other->is_write_ended)
        close_link(relay, end->link);
}

/* Writes what may leave; what can go nowhere is dropped. */
static void push(relay_t *relay, end_t *end)
{
    const char *bytes;
    size_t count;

    while ((bytes = delay_line_ready(&end->line, &count)) != NULL) {
        ssize_t written = end->is_write_ended
                              ? (ssize_t)count
                              : send(end->fd, bytes, count, MSG_NOSIGNAL);
        if (written < 0 && errno == EAGAIN)
            break;
        if (written < 0 && errno != EINTR)
            end_writing(relay, end);
        if (end->link->is_closed)
            return;
        delay_line_take(&end->line, written < 0 ? 0 : (size_t)written);
    }
    if (!bytes && end->is_line_ended && !end->is_write_ended) {
        shutdown(end->fd, SHUT_WR);
        end_writing(relay, end);
    }
    watch(relay, end);
    watch(relay, end->other); /* there may be room again */
}

/* Reads once what has come, to be held from now on. */
static void pull(relay_t *relay, end_t *end)
{
    link_t *link = end->link;
    size_t room;
    char *bytes = delay_line_room(&end->other->line, &room);

    if (room == 0 || end->is_read_out)
        return;
    ssize_t count = read(end->fd, bytes, room);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count < 0 || delay_queue_add(&relay->queue, clock_ns() + relay->spec->delay_ns,
                                     end->other, (size_t)count) < 0) {
        close_link(relay, link);
        return;
    }
    link->entries++;
    delay_line_add(&end->other->line, (size_t)count);
    end->is_read_out = count == 0;
    watch(relay, end);
}

/* Lets everything leave that is due. */
static void release(relay_t *relay)
{
    const delay_entry_t *entry;

    while ((entry = delay_queue_first(&relay->queue)) != NULL &&
           entry->due_ns <= clock_ns()) {
        end_t *end = entry->owner;
        size_t bytes = entry->bytes;

        delay_queue_drop(&relay->queue);
        end->link->entries--;
        delay_line_release(&end->line, bytes);
        end->is_line_ended = end->is_line_ended || bytes == 0;
        if (!end->link->is_closed)
            push(relay, end);
    }
}

/* The timer is set for what is due next; if something is, it is never later. */
static void arm(relay_t *relay)
{
    const delay_entry_t *entry = delay_queue_first(&relay->queue);
    if (!entry || entry->due_ns == relay->armed_ns)
        return;
    relay->armed_ns = entry->due_ns;
    const struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(entry->due_ns / 1000000000u),
                     .tv_nsec = (long)(entry->due_ns % 1000000000u)}};
    timerfd_settime(relay->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static int dial(const delay_relay_spec_t *spec)
{
    const int yes = 1;
    int fd = socket(spec->server.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&spec->server, spec->server_bytes) < 0) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (spec->server.ss_family != AF_UNIX)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

static void open_link(relay_t *relay, int client)
{
    const int yes = 1;
    int server = dial(relay->spec);
    link_t *link = server < 0 ? NULL : calloc(1, sizeof *link);
    if (!link) {
        close(client);
        if (server >= 0)
            close(server);
        return;
    }
    if (relay->spec->server.ss_family != AF_UNIX)
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);

    for (int i = 0; i < 2; i++) {
        end_t *end = &link->ends[i];
        end->link = link;
        end->other = &link->ends[1 - i];
        end->fd = i == 0 ? client : server;
        end->events = EPOLLIN;
        delay_line_init(&end->line, DELAY_LINE_BYTES_MAX);
    }
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &link->ends[i]};
        epoll_ctl(relay->epoll, EPOLL_CTL_ADD, link->ends[i].fd, &event);
    }
}

static void accept_all(relay_t *relay)
{
    for (;;) {
        int client =
            accept4(relay->spec->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client < 0)
            return;
        open_link(relay, client);
    }
}

static void handle(relay_t *relay, const struct epoll_event *event)
{
    end_t *end = event->data.ptr;

    if (end->link->is_closed)
        return;
    if ((event->events & (EPOLLERR | EPOLLHUP)) != 0 && end->is_read_out) {
        /* Gone altogether; what came from it may still be on its way. */
        epoll_ctl(relay->epoll, EPOLL_CTL_DEL, end->fd, NULL);
        end_writing(relay, end);
        return;
    }
    if ((event->events & EPOLLOUT) != 0)
        push(relay, end);
    if (!end->link->is_closed && (event->events & ~(uint32_t)EPOLLOUT) != 0)
        pull(relay, end);
}

static int open_descriptors(relay_t *relay)
{
    int *const own[] = {&relay->timer, &relay->signals};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    relay->epoll = epoll_create1(EPOLL_CLOEXEC);
    relay->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    relay->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (relay->epoll < 0 || relay->timer < 0 || relay->signals < 0)
        return -1;

    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = own[i]};
        if (epoll_ctl(relay->epoll, EPOLL_CTL_ADD, *own[i], &event) < 0)
            return -1;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    return epoll_ctl(relay->epoll, EPOLL_CTL_ADD, relay->spec->listener, &event);
}

/* One wait and everything that it brought; false at the end. */
static bool turn(relay_t *relay)
{
    struct epoll_event events[EVENTS_MAX];
    uint64_t expirations;
    int count = epoll_wait(relay->epoll, events, EVENTS_MAX, -1);

    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == &relay->signals)
            return false;
        if (events[i].data.ptr == NULL) {
            accept_all(relay);
        } else if (events[i].data.ptr == &relay->timer) {
            if (read(relay->timer, &expirations, sizeof expirations) > 0)
                relay->armed_ns = 0;
        } else {
            handle(relay, &events[i]);
        }
    }
    release(relay);
    arm(relay);
    bury(relay);
    return true;
}

int delay_relay_run(const delay_relay_spec_t *spec)
{
    relay_t relay = {.spec = spec};

    fcntl(spec->listener, F_SETFL, O_NONBLOCK);
    if (open_descriptors(&relay) < 0)
        return -1;
    while (turn(&relay)) {
    }
    return 0;
}
