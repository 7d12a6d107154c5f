/* SPDX-License-Identifier: MIT */
#include "support/fault/fault_rig.h"

#include "support/process_state.h"
#include "support/waiting.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* How long a thread that was joined may still be listed in /proc.  It is gone long
 * before. */
#define LEAVING_US 50000

static void *do_nothing(void *data)
{
    return data;
}

/* ThreadSanitizer starts a thread of its own together with the first thread of a
 * program.  Both must be there before the rig counts threads. */
static void start_first_thread(void)
{
    static bool is_started;
    pthread_t thread;

    if (is_started)
        return;
    is_started = true;
    assert_int_equal(pthread_create(&thread, NULL, do_nothing, NULL), 0);
    pthread_join(thread, NULL);
    waiting_sleep_us(LEAVING_US);
}

int fault_rig_set_up(void **state)
{
    fault_rig_t *rig = calloc(1, sizeof *rig);

    if (!rig)
        return -1;
    start_first_thread();
    rig->descriptors = process_descriptors();
    rig->threads = process_threads();
    rig->listener = rig->client = rig->server = -1;
    *state = rig;
    return 0;
}

int fault_rig_tear_down(void **state)
{
    fault_rig_t *rig = *state;

    fault_rig_stop(rig);
    for (uint64_t since_us = waiting_now_us();
         process_threads() > rig->threads &&
         waiting_now_us() - since_us < WAITING_US_MAX;)
        waiting_sleep_us(200); /* see LEAVING_US */
    bool is_clean =
        rig->descriptors == process_descriptors() && rig->threads >= process_threads();
    if (!is_clean)
        print_error("a descriptor or a thread is left\n");
    free(rig);
    return is_clean ? 0 : -1;
}

static void set_buffers(const fault_rig_t *rig, int fd)
{
    if (rig->buffer_bytes == 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rig->buffer_bytes, sizeof rig->buffer_bytes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &rig->buffer_bytes, sizeof rig->buffer_bytes);
}

static void listen_on_path(fault_rig_t *rig)
{
    static unsigned rigs;
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(rig->path, sizeof rig->path, "/tmp/shoal-rig-%ld-%u.sock", (long)getpid(),
             ++rigs);
    memcpy(address.sun_path, rig->path, strlen(rig->path));
    unlink(rig->path);
    rig->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(rig->listener, (struct sockaddr *)&address, sizeof address),
                     0);
}

static int listen_on_port(fault_rig_t *rig)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;

    rig->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(rig->listener, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(getsockname(rig->listener, (struct sockaddr *)&address, &bytes),
                     0);
    return ntohs(address.sin_port);
}

void fault_rig_start(fault_rig_t *rig, const fault_proxy_config_t *config)
{
    fault_proxy_config_t full = config ? *config : (fault_proxy_config_t){0};

    rig->buffer_bytes = full.buffer_bytes;
    if (full.is_unix || full.server_path) {
        listen_on_path(rig);
        full.server_path = rig->path;
    } else {
        full.server_port = listen_on_port(rig);
    }
    set_buffers(rig, rig->listener);
    assert_int_equal(listen(rig->listener, 64), 0);
    rig->proxy = fault_proxy_start(&full);
    assert_non_null(rig->proxy);
}

static void set_up(int fd, bool is_tcp)
{
    const struct timeval most = {.tv_sec = WAITING_US_MAX / 1000000u};
    const int yes = 1;

    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    if (is_tcp)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void fault_rig_connect_client(fault_rig_t *rig)
{
    const char *path = fault_proxy_path(rig->proxy);
    struct sockaddr_un by_path = {.sun_family = AF_UNIX};
    struct sockaddr_in by_port = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr *address = (const struct sockaddr *)&by_port;
    socklen_t bytes = sizeof by_port;

    by_port.sin_port = htons((uint16_t)fault_proxy_port(rig->proxy));
    if (path) {
        memcpy(by_path.sun_path, path, strlen(path));
        address = (const struct sockaddr *)&by_path;
        bytes = sizeof by_path;
    }
    rig->client = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    set_buffers(rig, rig->client);
    set_up(rig->client, !path);
    assert_int_equal(connect(rig->client, address, bytes), 0);
}

void fault_rig_connect(fault_rig_t *rig)
{
    struct pollfd comes = {.fd = rig->listener, .events = POLLIN};

    fault_rig_connect_client(rig);
    assert_int_equal(poll(&comes, 1, WAITING_US_MAX / 1000), 1);
    rig->server = accept4(rig->listener, NULL, NULL, SOCK_CLOEXEC);
    set_up(rig->server, rig->path[0] == '\0');
}

void fault_rig_stop(fault_rig_t *rig)
{
    fault_proxy_stop(rig->proxy);
    if (rig->client >= 0)
        close(rig->client);
    if (rig->server >= 0)
        close(rig->server);
    if (rig->listener >= 0)
        close(rig->listener);
    if (rig->path[0])
        unlink(rig->path);
    rig->proxy = NULL;
    rig->path[0] = '\0';
    rig->listener = rig->client = rig->server = -1;
}

void fault_rig_send(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t count = send(fd, data, bytes, MSG_NOSIGNAL);
        assert_true(count > 0);
        data += count;
        bytes -= (size_t)count;
    }
}

void fault_rig_send_text(int fd, const char *text)
{
    fault_rig_send(fd, text, strlen(text));
}

void fault_rig_expect(int fd, const char *data, size_t bytes)
{
    char came[4096];

    for (size_t part; bytes > 0; data += part, bytes -= part) {
        part = bytes < sizeof came ? bytes : sizeof came;
        ssize_t count = recv(fd, came, part, MSG_WAITALL);
        if (count != (ssize_t)part)
            print_error("%zd of %zu bytes came\n", count, part);
        assert_int_equal(count, part);
        assert_memory_equal(came, data, part);
    }
}

void fault_rig_expect_text(int fd, const char *text)
{
    fault_rig_expect(fd, text, strlen(text));
}

fault_sight_t fault_rig_sight(int fd)
{
    char byte;
    ssize_t count = recv(fd, &byte, 1, 0);

    if (count > 0)
        return FAULT_SIGHT_BYTES;
    if (count < 0)
        assert_int_equal(errno, ECONNRESET);
    return count == 0 ? FAULT_SIGHT_FIN : FAULT_SIGHT_RESET;
}

bool fault_rig_has_come(int fd)
{
    struct pollfd comes = {.fd = fd, .events = POLLIN};
    return poll(&comes, 1, 0) == 1;
}

bool fault_rig_is_read(int fd)
{
    int unread = 0;
    return ioctl(fd, SIOCOUTQ, &unread) == 0 && unread == 0;
}

unsigned char fault_rig_pattern(uint64_t position)
{
    return (unsigned char)(position * 131 + position / 251);
}
