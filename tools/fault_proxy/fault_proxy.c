/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fault_proxy.h"

#include "fault_proxy/fake_bytes.h"
#include "fault_proxy/fault_relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 256
#define HELD_BYTES_MAX 1048576u /* where no socket buffers were asked for */

struct fault_proxy {
    pthread_t thread;
    pthread_mutex_t lock; /* over the relay, but for its wait */
    fault_relay_t *relay;
    fake_tls_t *tls; /* NULL: none */
    int listener, stopper;
    int port;
    char path[80]; /* "": TCP */
};

static void *run(void *data)
{
    fault_proxy_t *proxy = data;
    bool goes_on = true;

    while (goes_on) {
        fault_relay_wait(proxy->relay);
        pthread_mutex_lock(&proxy->lock);
        goes_on = fault_relay_work(proxy->relay);
        pthread_mutex_unlock(&proxy->lock);
    }
    return NULL;
}

static void set_buffers(int fd, int bytes)
{
    if (bytes == 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

static int listen_on_path(fault_proxy_t *proxy)
{
    static atomic_uint proxies;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(proxy->path, sizeof proxy->path, "/tmp/shoal-proxy-%ld-%u.sock",
             (long)getpid(), ++proxies);
    memcpy(address.sun_path, proxy->path, strlen(proxy->path));
    unlink(proxy->path);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int listen_on_port(fault_proxy_t *proxy)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && (bind(fd, (struct sockaddr *)&address, bytes) < 0 ||
                    getsockname(fd, (struct sockaddr *)&address, &bytes) < 0)) {
        close(fd);
        return -1;
    }
    proxy->port = ntohs(address.sin_port);
    return fd;
}

static void name_server(const fault_proxy_config_t *config,
                        fault_relay_config_t *engine)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in port = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    if (config->server_path) {
        snprintf(path.sun_path, sizeof path.sun_path, "%s", config->server_path);
        memcpy(&engine->server, &path, sizeof path);
        engine->server_bytes = sizeof path;
    } else {
        port.sin_port = htons((uint16_t)config->server_port);
        memcpy(&engine->server, &port, sizeof port);
        engine->server_bytes = sizeof port;
    }
}

/* The listener, the relay, and what they need; false if anything is refused. */
static bool open_all(fault_proxy_t *proxy, const fault_proxy_config_t *config)
{
    fault_relay_config_t engine = {.buffer_bytes = config->buffer_bytes,
                                   .held_bytes_max = config->buffer_bytes > 0
                                                         ? (size_t)config->buffer_bytes
                                                         : HELD_BYTES_MAX,
                                   .finds_replies = true,
                                   .seed = config->seed,
                                   .ways = {config->ways[0], config->ways[1]}};

    proxy->listener = config->is_unix ? listen_on_path(proxy) : listen_on_port(proxy);
    proxy->stopper = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (proxy->listener < 0 || proxy->stopper < 0)
        return false;
    set_buffers(proxy->listener, config->buffer_bytes); /* what it accepts inherits */
    if (listen(proxy->listener, BACKLOG) < 0)
        return false;
    if (config->tls && !(proxy->tls = fake_tls_new(config->tls)))
        return false;
    engine.tls = proxy->tls;
    name_server(config, &engine);
    engine.listener = proxy->listener;
    engine.stopper = proxy->stopper;
    proxy->relay = fault_relay_new(&engine);
    return proxy->relay != NULL;
}

static void release(fault_proxy_t *proxy)
{
    fault_relay_free(proxy->relay);
    fake_tls_free(proxy->tls);
    if (proxy->listener >= 0)
        close(proxy->listener);
    if (proxy->stopper >= 0)
        close(proxy->stopper);
    if (proxy->path[0])
        unlink(proxy->path);
    pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}

fault_proxy_t *fault_proxy_start(const fault_proxy_config_t *config)
{
    fault_proxy_t *proxy = fake_must(calloc(1, sizeof *proxy));
    sigset_t every, before;

    pthread_mutex_init(&proxy->lock, NULL);
    if (!open_all(proxy, config)) {
        release(proxy);
        return NULL;
    }
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int rc = pthread_create(&proxy->thread, NULL, run, proxy);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        release(proxy);
        return NULL;
    }
    return proxy;
}

void fault_proxy_stop(fault_proxy_t *proxy)
{
    const uint64_t one = 1;

    if (!proxy)
        return;
    (void)!write(proxy->stopper, &one, sizeof one);
    pthread_join(proxy->thread, NULL);
    release(proxy);
}

int fault_proxy_port(const fault_proxy_t *proxy)
{
    return proxy->port;
}

const char *fault_proxy_path(const fault_proxy_t *proxy)
{
    return proxy->path[0] ? proxy->path : NULL;
}

void fault_proxy_carry(fault_proxy_t *proxy, fault_way_t way,
                       const fault_carriage_t *carriage)
{
    pthread_mutex_lock(&proxy->lock);
    fault_relay_carry(proxy->relay, way, carriage);
    pthread_mutex_unlock(&proxy->lock);
}

void fault_proxy_cut(fault_proxy_t *proxy, fault_way_t way, fault_end_t how)
{
    pthread_mutex_lock(&proxy->lock);
    fault_relay_cut(proxy->relay, way, how);
    pthread_mutex_unlock(&proxy->lock);
}

void fault_proxy_cut_after(fault_proxy_t *proxy, unsigned connection, fault_way_t way,
                           uint64_t bytes, fault_end_t how)
{
    pthread_mutex_lock(&proxy->lock);
    fault_relay_cut_after(proxy->relay, connection, way, bytes, how);
    pthread_mutex_unlock(&proxy->lock);
}

void fault_proxy_inject(fault_proxy_t *proxy, fault_way_t way, const char *data,
                        size_t bytes)
{
    pthread_mutex_lock(&proxy->lock);
    fault_relay_inject(proxy->relay, way, data, bytes);
    pthread_mutex_unlock(&proxy->lock);
}

void fault_proxy_turn_away(fault_proxy_t *proxy, bool is_turning_away)
{
    pthread_mutex_lock(&proxy->lock);
    fault_relay_turn_away(proxy->relay, is_turning_away);
    pthread_mutex_unlock(&proxy->lock);
}

fault_proxy_counts_t fault_proxy_counts(fault_proxy_t *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    fault_proxy_counts_t counts = fault_relay_counts(proxy->relay);
    pthread_mutex_unlock(&proxy->lock);
    return counts;
}
