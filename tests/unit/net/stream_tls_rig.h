/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_STREAM_TLS_RIG_H
#define SHOAL_TESTS_STREAM_TLS_RIG_H

/* The stream with TLS, over a socket that is played: it takes as many bytes as it is told to, and
 * fails when it is told to. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/net/tls_rig.h"

#include "base/alloc.h"
#include "net/stream.h"

/* ---- the socket ---- */

static struct {
    shoal__stream_t stream; /* first: what its owner holds */
    shoal__stream_hooks_t hooks;
    void *owner;
    bool is_refusing;    /* it cannot be opened */
    size_t takes;        /* so many bytes more; then `failure` */
    int failure;         /* below 0 */
    size_t read_bytes;   /* most of one read */
    int nothing_more;    /* what a read behind the server's last byte gives */
    size_t sent;         /* bytes that it took */
    unsigned waited_for; /* calls of want_write */
    bool is_paused;
    unsigned closed, closed_orderly, forgotten;
} wire;

static inline shoal__stream_t *open_wire(const shoal__stream_kind_t *kind,
                                         const shoal__stream_request_t *request,
                                         int *ret_error)
{
    wire.stream.kind = kind;
    wire.hooks = *request->hooks;
    wire.owner = request->owner;
    *ret_error = ECONNREFUSED;
    return wire.is_refusing ? NULL : &wire.stream;
}

static inline ptrdiff_t write_wire(shoal__stream_t *stream, const shoal__bytes_t *parts,
                                   size_t count, size_t *ret_kept)
{
    size_t bytes = parts->bytes < wire.takes ? parts->bytes : wire.takes;

    assert_ptr_equal(stream, &wire.stream);
    assert_int_equal(count, 1);
    *ret_kept = 0;
    if (bytes == 0)
        return wire.failure;
    give_server(parts->data, bytes);
    wire.takes -= bytes;
    wire.sent += bytes;
    return (ptrdiff_t)bytes;
}

static inline ptrdiff_t read_wire(shoal__stream_t *stream, char *room, size_t bytes,
                                  bool *ret_is_dry)
{
    int got = BIO_read(server.out, room,
                       (int)(bytes < wire.read_bytes ? bytes : wire.read_bytes));

    assert_ptr_equal(stream, &wire.stream);
    *ret_is_dry = true;
    return got > 0 ? got : wire.nothing_more;
}

static inline void want_to_write(shoal__stream_t *stream)
{
    (void)stream;
    wire.waited_for++;
}

static inline void pause_wire(shoal__stream_t *stream, bool is_paused)
{
    (void)stream;
    wire.is_paused = is_paused;
}

static inline const char *words_of_wire(const shoal__stream_t *stream, int code)
{
    (void)stream, (void)code;
    return "the socket's words";
}

static inline void close_wire(shoal__stream_t *stream, bool is_orderly)
{
    (void)stream;
    wire.closed++;
    wire.closed_orderly += is_orderly;
}

static inline void forget_wire(shoal__stream_t *stream)
{
    (void)stream;
    wire.forgotten++;
}

const shoal__stream_kind_t shoal__stream_socket = {
    .open = open_wire,
    .write = write_wire,
    .read = read_wire,
    .want_write = want_to_write,
    .pause = pause_wire,
    .error_text = words_of_wire,
    .close = close_wire,
    .forget = forget_wire,
};

/* ---- the owner ---- */

static shoal__stream_t *stream;

static struct {
    unsigned connected, readable, writable; /* calls */
    int error;                              /* of the connect */
    size_t left;                            /* bytes that on_left told */
    bool is_closing; /* it closes the stream when it is connected */
} owner;

static inline void close_it(bool is_orderly)
{
    stream->kind->close(stream, is_orderly);
    stream = NULL;
}

static inline void on_connected(void *data, int code)
{
    (void)data;
    owner.connected++;
    owner.error = code;
    if (owner.is_closing || code != 0)
        close_it(false);
}

static inline void on_readable(void *data)
{
    (void)data;
    owner.readable++;
}

static inline void on_writable(void *data)
{
    (void)data;
    owner.writable++;
}

static inline void on_left(void *data, size_t bytes)
{
    (void)data;
    owner.left += bytes;
}

static inline shoal__stream_t *try_to_open(const shoal__endpoint_t *endpoint,
                                           int *ret_error)
{
    static const shoal__stream_hooks_t hooks = {.on_connected = on_connected,
                                                .on_readable = on_readable,
                                                .on_writable = on_writable,
                                                .on_left = on_left};
    const shoal__stream_kind_t *kind = shoal__stream_kind(context);
    static shoal__stream_request_t request;

    request = (shoal__stream_request_t){
        .endpoint = endpoint, .tls = context, .hooks = &hooks, .owner = &owner};
    return kind->open(kind, &request, ret_error);
}

static inline void make_context(void)
{
    bool has_last;

    if (!context)
        context = shoal__tls_context_new(&settings);
    assert_non_null(context);
    assert_int_equal(shoal__tls_context_refresh(context, &has_last, why), 0);
}

static inline void open_it(void)
{
    make_context();
    open_server();
    memset(&owner, 0, sizeof owner);
    memset(&wire, 0, sizeof wire);
    wire.takes = wire.read_bytes = SIZE_MAX;
    wire.failure = wire.nothing_more = -EAGAIN;
    stream = try_to_open(&home, &rig_error);
    assert_non_null(stream);
    wire.hooks.on_connected(wire.owner, 0);
}

/* As the loop does while the socket has something to read. */
static inline void go_on(void)
{
    while (owner.connected == 0 && BIO_ctrl_pending(server.out) > 0)
        wire.hooks.on_readable(wire.owner);
}

static inline void read_tickets(void)
{
    char room[16];
    bool is_dry;

    while (BIO_ctrl_pending(server.out) > 0)
        assert_int_equal(stream->kind->read(stream, room, sizeof room, &is_dry),
                         -EINPROGRESS);
    assert_int_equal(stream->kind->read(stream, room, sizeof room, &is_dry), -EAGAIN);
}

/* Connected, and the server has said all. */
static inline void connect_it(void)
{
    open_it();
    go_on();
    assert_int_equal(owner.connected, 1);
    assert_int_equal(owner.error, 0);
    read_tickets();
    wire.sent = 0;
}

/* It takes more again, or fails. */
static inline void go_on_writing(size_t takes, int failure)
{
    wire.takes = takes;
    wire.failure = failure;
    wire.hooks.on_writable(wire.owner);
}

#define BIG 100000
static char text[BIG];

static inline void fill(void)
{
    for (size_t i = 0; i < BIG; i++)
        text[i] = (char)('a' + i % 23 + i / 4099 % 3);
}

#define TEST(name)                                                                     \
    cmocka_unit_test_setup_teardown(name, rig_set_up_tls, rig_tear_down_tls)

#endif
