/* SPDX-License-Identifier: MIT */
#include "support/fake/fake_server.h"
#include "support/loopback_port.h"

#include "support/fake/fake_conn.h"
#include "support/waiting.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct fake_server {
    fake_world_t world;
    pthread_t thread;
    pthread_mutex_t lock; /* the thread holds it except while it sleeps */
    int listener, waker;  /* listener -1: refusing */
    loopback_port_t port;
    char path[80];
    bool is_stopping;
    unsigned accepted;
    fake_conn_t *conns;
    struct pollfd *polled; /* waker, listener, then one for each connection */
    size_t polled_room;
};

static void must(bool went_well, const char *what)
{
    if (!went_well) {
        perror(what);
        abort();
    }
}

static void set_buffers(const fake_server_t *server, int fd)
{
    int bytes = server->world.config.buffer_bytes;

    if (bytes == 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

static int listen_unix(fake_server_t *server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    must(fd >= 0, "socket");
    memcpy(address.sun_path, server->path, strlen(server->path));
    unlink(server->path);
    must(bind(fd, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    return fd;
}

static int listen_tcp(fake_server_t *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    must(fd >= 0, "socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (server->port.number == 0)
        server->port = loopback_port_claim();
    address.sin_port = htons((uint16_t)server->port.number);
    /* A connection that has just ended may still hold the port for a moment. */
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
            return fd;
        waiting_sleep_us(10000);
    }
    must(false, "bind");
    return -1;
}

static void start_listening(fake_server_t *server)
{
    server->listener =
        server->world.config.is_unix ? listen_unix(server) : listen_tcp(server);
    set_buffers(server, server->listener); /* accepted sockets inherit them */
    must(listen(server->listener, 256) == 0, "listen");
}

static void accept_all(fake_server_t *server)
{
    int fd, yes = 1;

    while (server->listener >= 0 && (fd = accept4(server->listener, NULL, NULL,
                                                  SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (!server->world.config.is_unix)
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        set_buffers(server, fd);
        fake_conn_t *conn = fake_conn_new(&server->world, fd, ++server->accepted);
        conn->next = server->conns;
        server->conns = conn;
    }
}

static void free_closed(fake_server_t *server)
{
    for (fake_conn_t **link = &server->conns; *link;) {
        fake_conn_t *conn = *link;
        if (conn->fd < 0) {
            *link = conn->next;
            fake_conn_free(conn);
        } else {
            link = &conn->next;
        }
    }
}

/* Fill in `polled` and the longest sleep.  Returns how many descriptors are polled. */
static size_t prepare_poll(fake_server_t *server, int *ret_timeout_ms)
{
    uint64_t now_us = waiting_now_us(), due_us = UINT64_MAX;
    size_t count = 2;

    for (const fake_conn_t *conn = server->conns; conn; conn = conn->next)
        count++;
    if (count > server->polled_room) {
        server->polled =
            fake_must(realloc(server->polled, count * sizeof *server->polled));
        server->polled_room = count;
    }
    server->polled[0] = (struct pollfd){.fd = server->waker, .events = POLLIN};
    server->polled[1] = (struct pollfd){
        .fd = server->world.is_frozen ? -1 : server->listener, .events = POLLIN};
    count = 2;
    for (const fake_conn_t *conn = server->conns; conn; conn = conn->next, count++) {
        short events = fake_conn_events(conn, now_us);
        server->polled[count] =
            (struct pollfd){.fd = events ? conn->fd : -1, .events = events};
        if (fake_conn_due_us(conn) < due_us)
            due_us = fake_conn_due_us(conn);
    }
    *ret_timeout_ms = due_us == UINT64_MAX ? -1
                      : due_us <= now_us   ? 0
                                           : (int)((due_us - now_us) / 1000) + 1;
    return count;
}

static void *run(void *data)
{
    fake_server_t *server = data;
    uint64_t count;
    int timeout_ms;

    pthread_mutex_lock(&server->lock);
    while (!server->is_stopping) {
        free_closed(server);
        size_t polled = prepare_poll(server, &timeout_ms);
        pthread_mutex_unlock(&server->lock);
        (void)poll(server->polled, polled, timeout_ms);
        if (server->polled[0].revents)
            (void)!read(server->waker, &count, sizeof count);
        pthread_mutex_lock(&server->lock);

        size_t i = 2;
        uint64_t now_us = waiting_now_us();
        for (fake_conn_t *conn = server->conns; conn; conn = conn->next, i++) {
            const struct pollfd *slot = &server->polled[i];
            bool is_readable = slot->fd == conn->fd && slot->revents;
            if (conn->fd >= 0)
                fake_conn_work(conn, is_readable, now_us);
        }
        if (server->polled[1].revents)
            accept_all(server);
    }
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

static void wake(fake_server_t *server)
{
    uint64_t one = 1;
    (void)!write(server->waker, &one, sizeof one);
}

/* From begin() to end() the caller holds the lock. */
static void begin(fake_server_t *server)
{
    pthread_mutex_lock(&server->lock);
}

/* The server's thread then looks at what the caller changed. */
static void end(fake_server_t *server)
{
    pthread_mutex_unlock(&server->lock);
    wake(server);
}

fake_server_t *fake_server_start(const fake_config_t *config)
{
    static const fake_config_t usual = {0};
    static unsigned servers;
    fake_server_t *server = fake_must(calloc(1, sizeof *server));
    sigset_t every, before;

    server->world.config = config ? *config : usual;
    server->world.store = fake_store_new(&server->world.config.identity);
    if (server->world.config.tls)
        server->world.tls = fake_must(fake_tls_new(server->world.config.tls));
    snprintf(server->path, sizeof server->path, "/tmp/shoal-fake-%ld-%u.sock",
             (long)getpid(), ++servers);
    pthread_mutex_init(&server->lock, NULL);
    server->waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    must(server->waker >= 0, "eventfd");
    start_listening(server);
    fake_store_announce(server->world.store, server->port.number);
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    must(pthread_create(&server->thread, NULL, run, server) == 0, "pthread_create");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return server;
}

void fake_server_stop(fake_server_t *server)
{
    if (!server)
        return;
    begin(server);
    server->is_stopping = true;
    end(server);
    pthread_join(server->thread, NULL);
    while (server->conns) {
        fake_conn_t *conn = server->conns;
        server->conns = conn->next;
        fake_conn_free(conn);
    }
    if (server->listener >= 0)
        close(server->listener);
    close(server->waker);
    if (server->world.config.is_unix)
        unlink(server->path);
    loopback_port_release(&server->port);
    pthread_mutex_destroy(&server->lock);
    fake_script_release(&server->world.script);
    fake_store_free(server->world.store);
    fake_tls_free(server->world.tls);
    free(server->polled);
    free(server);
}

int fake_server_port(const fake_server_t *server)
{
    return server->port.number;
}

const char *fake_server_path(const fake_server_t *server)
{
    return server->world.config.is_unix ? server->path : NULL;
}

size_t fake_server_rule(fake_server_t *server, const fake_rule_t *rule)
{
    begin(server);
    size_t number = fake_script_add(&server->world.script, rule);
    end(server);
    return number;
}

void fake_server_hold(fake_server_t *server, const char *command)
{
    (void)fake_server_rule(
        server, &(fake_rule_t){.command = command, .is_cut = true, .then = FAKE_HOLD});
}

unsigned fake_server_hits(fake_server_t *server, size_t rule)
{
    begin(server);
    unsigned hits = server->world.script.rules[rule].hits;
    end(server);
    return hits;
}

void fake_server_prepare_rules(fake_server_t *server)
{
    begin(server);
    fake_script_prepare(&server->world.script);
    end(server);
}

void fake_server_forget_rules(fake_server_t *server)
{
    begin(server);
    fake_script_forget(&server->world.script);
    end(server);
}

void fake_server_release(fake_server_t *server)
{
    begin(server);
    server->world.is_frozen = false;
    for (fake_conn_t *conn = server->conns; conn; conn = conn->next)
        fake_conn_release(conn);
    end(server);
}

void fake_server_freeze(fake_server_t *server)
{
    begin(server);
    server->world.is_frozen = true;
    end(server);
}

void fake_server_refuse(fake_server_t *server, bool is_refusing)
{
    begin(server);
    if (is_refusing && server->listener >= 0) {
        /* While the thread polls the listener, close() alone does not end it: it would
         * accept connections until the poll returns. */
        must(shutdown(server->listener, SHUT_RDWR) == 0, "shutdown");
        close(server->listener);
        server->listener = -1;
    } else if (!is_refusing && server->listener < 0) {
        start_listening(server);
    }
    end(server);
}

void fake_server_cut(fake_server_t *server, fake_cut_t how)
{
    fake_server_cut_one(server, 0, how);
}

void fake_server_cut_one(fake_server_t *server, unsigned connection, fake_cut_t how)
{
    begin(server);
    for (fake_conn_t *conn = server->conns; conn; conn = conn->next)
        if (connection == 0 || conn->session.connection == connection)
            fake_conn_cut(conn, how);
    end(server);
}

void fake_server_send(fake_server_t *server, const char *text)
{
    begin(server);
    for (fake_conn_t *conn = server->conns; conn; conn = conn->next)
        fake_conn_send(conn, text);
    end(server);
}

bool fake_server_is_done(fake_server_t *server)
{
    bool is_done = true;

    begin(server);
    for (const fake_conn_t *conn = server->conns; conn; conn = conn->next)
        is_done = is_done && (conn->fd < 0 || conn->acts == NULL);
    end(server);
    return is_done;
}

unsigned fake_server_accepted(fake_server_t *server)
{
    begin(server);
    unsigned accepted = server->accepted;
    end(server);
    return accepted;
}

unsigned fake_server_open_now(fake_server_t *server)
{
    unsigned count = 0;

    begin(server);
    for (const fake_conn_t *conn = server->conns; conn; conn = conn->next)
        count += conn->fd >= 0;
    end(server);
    return count;
}

bool fake_server_holds(fake_server_t *server, const char *text)
{
    bool is_there = false;

    begin(server);
    for (fake_conn_t *conn = server->conns; conn; conn = conn->next)
        is_there = is_there || fake_conn_holds(conn, text);
    end(server);
    return is_there;
}

unsigned fake_server_resumed(fake_server_t *server)
{
    unsigned count = 0;

    begin(server);
    for (const fake_conn_t *conn = server->conns; conn; conn = conn->next)
        count += conn->fd >= 0 && conn->tls && fake_tls_is_resumed(conn->tls);
    end(server);
    return count;
}

void fake_server_rekey(fake_server_t *server)
{
    begin(server);
    for (const fake_conn_t *conn = server->conns; conn; conn = conn->next)
        if (conn->fd >= 0 && conn->tls && fake_tls_is_open(conn->tls))
            fake_tls_rekey(conn->tls);
    end(server);
}

void fake_server_set_tls(fake_server_t *server, const fake_tls_config_t *config)
{
    begin(server);
    fake_tls_free(server->world.tls);
    server->world.tls = fake_must(fake_tls_new(config));
    end(server);
}

void fake_server_set_password(fake_server_t *server, const char *password)
{
    begin(server);
    fake_store_set_password(server->world.store, password);
    end(server);
}

void fake_server_announce(fake_server_t *server, int port)
{
    begin(server);
    fake_store_announce(server->world.store, port);
    end(server);
}

unsigned fake_server_broken(fake_server_t *server)
{
    begin(server);
    unsigned broken = server->world.broken;
    end(server);
    return broken;
}

size_t fake_server_executed(fake_server_t *server, unsigned connection,
                            const char *command, const char *argument)
{
    begin(server);
    size_t count =
        fake_script_count(&server->world.script, connection, command, argument, true);
    end(server);
    return count;
}

size_t fake_server_received(fake_server_t *server, unsigned connection,
                            const char *command, const char *argument)
{
    begin(server);
    size_t count =
        fake_script_count(&server->world.script, connection, command, argument, false);
    end(server);
    return count;
}

size_t fake_server_user_commands(fake_server_t *server, unsigned connection)
{
    begin(server);
    size_t count = fake_script_user_commands(&server->world.script, connection);
    end(server);
    return count;
}

size_t fake_server_ledger_size(fake_server_t *server)
{
    begin(server);
    size_t count = server->world.script.entries_count;
    end(server);
    return count;
}

fake_entry_t fake_server_ledger_at(fake_server_t *server, size_t index)
{
    fake_entry_t entry = {0};

    begin(server);
    if (index < server->world.script.entries_count)
        entry = server->world.script.entries[index];
    end(server);
    return entry;
}

int64_t fake_server_number(fake_server_t *server, int64_t database, const char *key)
{
    begin(server);
    int64_t number = fake_store_number(server->world.store, database, key);
    end(server);
    return number;
}
