/* SPDX-License-Identifier: MIT */
#include "net/stream.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SO_NOSIGPIPE takes its place below */
#endif

#define KEEPALIVE_PROBES 3
#define SECOND_US 1000000
#define UNACKED_MS_MAX 10000

typedef struct socket_stream {
    shoal__stream_t stream; /* first: what the owner holds */
    uv_poll_t poll;
    int fd;
    bool is_connected;
    bool is_paused;   /* reading is */
    bool wants_write; /* want_write was called, on_writable was not */
    shoal__stream_hooks_t hooks;
    void *owner; /* NULL: closed, no hook may run */
} socket_stream_t;

static socket_stream_t *of(shoal__stream_t *stream)
{
    return (socket_stream_t *)stream;
}

static void on_events(uv_poll_t *handle, int status, int events);

static void watch(socket_stream_t *stream, int events)
{
    uv_poll_start(&stream->poll, events, on_events);
}

/* As a connected stream is watched. */
static void watch_for_both(socket_stream_t *stream)
{
    watch(stream, (stream->is_paused ? 0 : UV_READABLE) |
                      (stream->wants_write ? UV_WRITABLE : 0));
}

static void finish_connect(socket_stream_t *stream)
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
    socket_stream_t *stream = handle->data;

    if (!stream->owner)
        return;
    if (!stream->is_connected) {
        finish_connect(stream);
        return;
    }
    /* A read finds the error, behind the bytes that came before it.  libuv has stopped
     * watching. */
    if (status < 0) {
        watch_for_both(stream);
        events = UV_READABLE;
    }
    if (events & UV_WRITABLE) {
        stream->wants_write = false;
        watch_for_both(stream);
        stream->hooks.on_writable(stream->owner);
    }
    if ((events & UV_READABLE) && stream->owner && !stream->is_paused)
        stream->hooks.on_readable(stream->owner);
}

static void set_int(int fd, int level, int name, int value)
{
    /* A failure is ignored: the connection works without the option. */
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

static void keep_alive(int fd, uint64_t idle_us)
{
    int idle_s = (int)((idle_us + SECOND_US - 1) / SECOND_US);

    set_int(fd, SOL_SOCKET, SO_KEEPALIVE, idle_s > 0);
    if (idle_s == 0)
        return;
#ifdef TCP_KEEPIDLE
    set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle_s);
    set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL,
            (idle_s + KEEPALIVE_PROBES - 1) / KEEPALIVE_PROBES);
    set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
#endif
}

static void tune(int fd, int family, uint64_t keepalive_us)
{
#ifdef SO_NOSIGPIPE
    set_int(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
    if (family == AF_UNIX)
        return;
    set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    keep_alive(fd, keepalive_us);
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

/* 0 or an errno. */
static int bind_to(int fd, const shoal__address_t *source, int family)
{
    if (!source || family == AF_UNIX)
        return 0;
    if (source->at.ss_family != family)
        return EAFNOSUPPORT;
#ifdef IP_BIND_ADDRESS_NO_PORT
    set_int(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1); /* connect() picks the port */
#endif
    return bind(fd, (const struct sockaddr *)&source->at, source->bytes) < 0 ? errno
                                                                             : 0;
}

/* 0, or an errno; the descriptor stays with the stream. */
static int begin_connect(socket_stream_t *stream,
                         const shoal__stream_request_t *request)
{
    const shoal__address_t *address = request->address;
    int family = address->at.ss_family, error;

    stream->fd = new_socket(family);
    if (stream->fd < 0)
        return errno;
    tune(stream->fd, family, request->keepalive_us);
    error = bind_to(stream->fd, request->source, family);
    if (error)
        return error;
    /* An interrupted connect() goes on by itself; a second one fails with EALREADY. */
    if (connect(stream->fd, (const struct sockaddr *)&address->at, address->bytes) <
            0 &&
        errno != EINPROGRESS && errno != EINTR)
        return errno;
    return 0;
}

static shoal__stream_t *open_socket(const shoal__stream_kind_t *kind,
                                    const shoal__stream_request_t *request,
                                    int *ret_error)
{
    socket_stream_t *stream = shoal__calloc(1, sizeof *stream);

    if (!stream) {
        *ret_error = ENOMEM;
        return NULL;
    }
    stream->stream.kind = kind;
    stream->hooks = *request->hooks;
    stream->owner = request->owner;
    *ret_error = begin_connect(stream, request);
    if (*ret_error == 0)
        *ret_error = -uv_poll_init(request->loop, &stream->poll, stream->fd);
    if (*ret_error == 0) {
        stream->poll.data = stream;
        /* Also when it is connected already: the hook must not run from in here. */
        watch(stream, UV_WRITABLE);
        return &stream->stream;
    }
    if (stream->fd >= 0)
        close(stream->fd);
    shoal__free(stream);
    return NULL;
}

/* As writev(), but without a signal. */
static ssize_t send_parts(int fd, const shoal__bytes_t *parts, size_t count)
{
    struct iovec ranges[SHOAL__STREAM_PARTS_MAX];
    /* The length is an int in musl, a size_t in glibc. */
    const struct msghdr message = {.msg_iov = ranges, .msg_iovlen = (uint16_t)count};

    for (size_t i = 0; i < count; i++)
        ranges[i] = (struct iovec){(void *)parts[i].data, parts[i].bytes};
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static ptrdiff_t write_socket(shoal__stream_t *stream, const shoal__bytes_t *parts,
                              size_t count, size_t *ret_kept)
{
    int fd = of(stream)->fd;
    ssize_t sent;

    *ret_kept = 0;
    do
        sent = count == 1 ? send(fd, parts->data, parts->bytes, MSG_NOSIGNAL)
                          : send_parts(fd, parts, count);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

static ptrdiff_t read_socket(shoal__stream_t *stream, char *room, size_t bytes,
                             bool *ret_is_dry)
{
    ssize_t got;

    /* The loop reports the bytes that this read leaves in the kernel. */
    *ret_is_dry = true;
    do
        got = recv(of(stream)->fd, room, bytes, 0);
    while (got < 0 && errno == EINTR);
    if (got >= 0)
        return got;
    return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

static void want_write(shoal__stream_t *stream)
{
    /* Reading goes on: a server that is blocked on writing to us would never read. */
    of(stream)->wants_write = true;
    watch_for_both(of(stream));
}

static void pause_socket(shoal__stream_t *stream, bool is_paused)
{
    of(stream)->is_paused = is_paused;
    watch_for_both(of(stream));
}

static const char *error_text(const shoal__stream_t *stream, int error)
{
    (void)stream;
    return abs(error) == -SHOAL_ETIMEOUT ? "timed out" : strerror(abs(error));
}

static uint64_t rtt_us(const shoal__stream_t *stream)
{
#if defined(TCP_INFO) && defined(__linux__)
    const socket_stream_t *socket = (const socket_stream_t *)stream;
    struct tcp_info info;
    socklen_t bytes = sizeof info;

    if (getsockopt(socket->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0)
        return info.tcpi_rtt;
#else
    (void)stream;
#endif
    return SHOAL__NEVER_US;
}

static void on_closed(uv_handle_t *handle)
{
    shoal__free(handle->data);
}

static void close_socket(shoal__stream_t *stream, bool is_orderly)
{
    (void)is_orderly; /* the kernel sends what it has */
    of(stream)->owner = NULL;
    /* In this order: libuv takes the descriptor out of its set by number. */
    uv_close((uv_handle_t *)&of(stream)->poll, on_closed);
    close(of(stream)->fd);
}

static void forget_socket(shoal__stream_t *stream)
{
    close(of(stream)->fd);
    shoal__free(stream);
}

const shoal__stream_kind_t shoal__stream_socket = {
    .open = open_socket,
    .write = write_socket,
    .read = read_socket,
    .want_write = want_write,
    .pause = pause_socket,
    .error_text = error_text,
    .rtt_us = rtt_us,
    .close = close_socket,
    .forget = forget_socket,
};
