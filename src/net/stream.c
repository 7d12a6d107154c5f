/* SPDX-License-Identifier: MIT */
#include "net/stream.h"

#include "base/alloc.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SO_NOSIGPIPE takes its place below */
#endif

#define KEEPALIVE_IDLE_S 15
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES 3
#define UNACKED_MS_MAX 10000

struct shoal__stream {
    uv_poll_t poll; /* first: the handle's address is the stream's */
    int fd;
    bool is_connected;
    shoal__stream_hooks_t hooks;
    void *owner; /* NULL: closed, no hook may run */
};

static void on_events(uv_poll_t *handle, int status, int events);

static void watch(shoal__stream_t *stream, int events)
{
    uv_poll_start(&stream->poll, events, on_events);
}

static void finish_connect(shoal__stream_t *stream)
{
    int error = 0;
    socklen_t bytes = sizeof error;

    if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0)
        error = errno;
    if (error == 0) {
        stream->is_connected = true;
        watch(stream, UV_READABLE);
    } else {
        uv_poll_stop(&stream->poll);
    }
    stream->hooks.on_connected(stream->owner, error);
}

static void on_events(uv_poll_t *handle, int status, int events)
{
    shoal__stream_t *stream = (shoal__stream_t *)(void *)handle;

    if (!stream->owner)
        return;
    if (!stream->is_connected) {
        finish_connect(stream);
        return;
    }
    /* An error shows itself in a read, behind the bytes that came before it; libuv has
     * stopped watching. */
    if (status < 0) {
        watch(stream, UV_READABLE);
        events = UV_READABLE;
    }
    if (events & UV_WRITABLE) {
        watch(stream, UV_READABLE);
        stream->hooks.on_writable(stream->owner);
    }
    if ((events & UV_READABLE) && stream->owner)
        stream->hooks.on_readable(stream->owner);
}

static void set_int(int fd, int level, int name, int value)
{
    /* Each is an improvement, none is a need. */
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

static void tune(int fd, int family)
{
#ifdef SO_NOSIGPIPE
    set_int(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
    if (family == AF_UNIX)
        return;
    set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef TCP_KEEPIDLE
    set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
    set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
    set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
#endif
#ifdef TCP_USER_TIMEOUT
    set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKED_MS_MAX);
#endif
}

static int new_socket(int family)
{
#ifdef SOCK_NONBLOCK
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
#else
    int fd = socket(family, SOCK_STREAM, 0);
    if (fd >= 0) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    return fd;
#endif
}

shoal__stream_t *shoal__stream_connect(uv_loop_t *loop, const shoal__address_t *address,
                                       const shoal__stream_hooks_t *hooks, void *owner,
                                       int *ret_error)
{
    shoal__stream_t *stream = shoal__calloc(1, sizeof *stream);
    int rc;

    if (!stream) {
        *ret_error = ENOMEM;
        return NULL;
    }
    stream->hooks = *hooks;
    stream->owner = owner;
    stream->fd = new_socket(address->at.ss_family);
    if (stream->fd < 0)
        goto fail;
    tune(stream->fd, address->at.ss_family);
    rc = connect(stream->fd, (const struct sockaddr *)&address->at, address->bytes);
    /* Interrupted, it goes on by itself; calling again would fail with EALREADY. */
    if (rc < 0 && errno != EINPROGRESS && errno != EINTR)
        goto fail;
    rc = uv_poll_init(loop, &stream->poll, stream->fd);
    if (rc < 0) {
        errno = -rc;
        goto fail;
    }
    /* Also when it is connected already: the hook must not run from in here. */
    watch(stream, UV_WRITABLE);
    return stream;

fail:
    *ret_error = errno;
    if (stream->fd >= 0)
        close(stream->fd);
    shoal__free(stream);
    return NULL;
}

ptrdiff_t shoal__stream_write(shoal__stream_t *stream, const char *data, size_t bytes)
{
    ssize_t sent;

    do
        sent = send(stream->fd, data, bytes, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

ptrdiff_t shoal__stream_read(shoal__stream_t *stream, char *room, size_t bytes)
{
    ssize_t got;

    do
        got = recv(stream->fd, room, bytes, 0);
    while (got < 0 && errno == EINTR);
    if (got >= 0)
        return got;
    return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

void shoal__stream_want_write(shoal__stream_t *stream)
{
    /* Reading goes on: a server that is blocked on writing to us would never read. */
    watch(stream, UV_READABLE | UV_WRITABLE);
}

static void on_closed(uv_handle_t *handle)
{
    shoal__free(handle);
}

void shoal__stream_close(shoal__stream_t *stream)
{
    if (!stream)
        return;
    stream->owner = NULL;
    /* In this order: libuv takes the descriptor out of its set by number. */
    uv_close((uv_handle_t *)&stream->poll, on_closed);
    close(stream->fd);
}

void shoal__stream_forget(shoal__stream_t *stream)
{
    if (!stream)
        return;
    close(stream->fd);
    shoal__free(stream);
}
