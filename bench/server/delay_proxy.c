/* SPDX-License-Identifier: MIT */
#include "server/delay_proxy.h"

#include "fault_proxy/fault_relay.h"
#include "server/machine.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define BACKLOG 4096
#define HELD_BYTES_MAX 67108864u /* of one direction of one connection */

static int find_server(const target_t *server, fault_relay_config_t *engine,
                       char *problem, size_t problem_bytes)
{
    char port[8];
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;

    if (server->socket_path) {
        struct sockaddr_un *address = (struct sockaddr_un *)(void *)&engine->server;
        address->sun_family = AF_UNIX;
        snprintf(address->sun_path, sizeof address->sun_path, "%s",
                 server->socket_path);
        engine->server_bytes = sizeof *address;
        return 0;
    }
    snprintf(port, sizeof port, "%d", server->port);
    int rc = getaddrinfo(server->host, port, &hints, &found);
    if (rc != 0) {
        snprintf(problem, problem_bytes, "%s: %s", server->host, gai_strerror(rc));
        return -1;
    }
    memcpy(&engine->server, found->ai_addr, found->ai_addrlen);
    engine->server_bytes = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static int listen_at(int family, const struct sockaddr *address, socklen_t bytes)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, address, bytes) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int listen_on_path(delay_proxy_t *proxy)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(proxy->folder, sizeof proxy->folder, "/tmp/shoal-bench.XXXXXX");
    if (!mkdtemp(proxy->folder)) {
        proxy->folder[0] = '\0';
        return -1;
    }
    snprintf(proxy->socket_path, sizeof proxy->socket_path, "%s/proxy", proxy->folder);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", proxy->socket_path);
    return listen_at(AF_UNIX, (const struct sockaddr *)&address, sizeof address);
}

static int listen_on_port(delay_proxy_t *proxy)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = listen_at(AF_INET, (const struct sockaddr *)&address, bytes);
    if (fd >= 0 && getsockname(fd, (struct sockaddr *)&address, &bytes) == 0)
        proxy->port = ntohs(address.sin_port);
    return fd;
}

static void remove_folder(const delay_proxy_t *proxy)
{
    if (proxy->folder[0] == '\0')
        return;
    unlink(proxy->socket_path);
    rmdir(proxy->folder);
}

/* Half of the round trip each way, whatever the link adds. */
static void set_ways(fault_relay_config_t *engine, const delay_proxy_spec_t *spec)
{
    engine->ways[FAULT_TO_SERVER] = spec->link;
    engine->ways[FAULT_TO_CLIENT] = spec->link;
    engine->ways[FAULT_TO_SERVER].delay_us += spec->rtt_us / 2;
    engine->ways[FAULT_TO_CLIENT].delay_us += spec->rtt_us - spec->rtt_us / 2;
}

/* Until SIGTERM, which is blocked.  Returns -1 if it cannot begin. */
static int run_engine(fault_relay_config_t *engine)
{
    sigset_t terminate;

    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    engine->stopper = signalfd(-1, &terminate, SFD_CLOEXEC | SFD_NONBLOCK);
    fault_relay_t *relay = engine->stopper < 0 ? NULL : fault_relay_new(engine);
    if (!relay)
        return -1;
    do
        fault_relay_wait(relay);
    while (fault_relay_work(relay));
    fault_relay_free(relay);
    return 0;
}

/* In the child: it keeps no descriptor but the listener, so that others see their pipes
 * closed in time, and it ends with its parent. */
static void become_proxy(const delay_proxy_t *proxy, fault_relay_config_t *engine,
                         uint64_t cpu, pid_t parent)
{
    setsid(); /* Ctrl-C is for the bench alone */
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_DFL); /* blocked: the relay waits for it */
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent)
        raise(SIGTERM);

    if (engine->listener != STDERR_FILENO + 1)
        engine->listener = dup2(engine->listener, STDERR_FILENO + 1);
    close_range(STDERR_FILENO + 2, ~0u, 0);
    if (cpu != MACHINE_NO_CPU)
        machine_pin(cpu);
    int rc = run_engine(engine);
    remove_folder(proxy);
    _exit(rc < 0);
}

int delay_proxy_start(delay_proxy_t *proxy, const target_t *server,
                      const delay_proxy_spec_t *spec, char *problem,
                      size_t problem_bytes)
{
    fault_relay_config_t engine = {.held_bytes_max = HELD_BYTES_MAX,
                                   .seed = spec->seed};
    pid_t parent = getpid();

    *proxy = (delay_proxy_t){.rtt_us = spec->rtt_us};
    set_ways(&engine, spec);
    if (find_server(server, &engine, problem, problem_bytes) < 0)
        return -1;
    engine.listener =
        server->socket_path ? listen_on_path(proxy) : listen_on_port(proxy);
    if (engine.listener < 0) {
        snprintf(problem, problem_bytes, "the delay proxy cannot listen: %s",
                 strerror(errno));
        remove_folder(proxy);
        return -1;
    }

    /* SIGTERM is blocked from the child's first instruction on: it may come before the
     * child waits for it. */
    sigset_t terminate;
    sigset_t former;
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    sigprocmask(SIG_BLOCK, &terminate, &former);
    proxy->pid = fork();
    if (proxy->pid == 0)
        become_proxy(proxy, &engine, spec->cpu, parent);
    sigprocmask(SIG_SETMASK, &former, NULL);
    close(engine.listener);
    if (proxy->pid < 0) {
        snprintf(problem, problem_bytes, "fork: %s", strerror(errno));
        remove_folder(proxy);
        proxy->pid = 0;
        return -1;
    }
    return 0;
}

target_t delay_proxy_target(delay_proxy_t *proxy, const target_t *server)
{
    static char loopback[] = "127.0.0.1";
    target_t target = *server;

    if (target.socket_path)
        target.socket_path = proxy->socket_path;
    else
        target.host = loopback;
    target.port = proxy->port;
    target.plain_port = 0; /* it leads to one port */
    if (!target.tls.server_name)
        target.tls.server_name = server->host;
    return target;
}

void delay_proxy_stop(delay_proxy_t *proxy)
{
    if (proxy->pid <= 0)
        return;
    kill(proxy->pid, SIGTERM);
    while (waitpid(proxy->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    remove_folder(proxy); /* for a proxy that was killed */
    proxy->pid = 0;
}
