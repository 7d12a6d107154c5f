/* SPDX-License-Identifier: MIT */

/* A stream with TLS around a socket stream.  tls_engine.c encrypts; this file carries
 * ciphertext between the engine and the socket. */

#include "net/stream.h"

#include "base/alloc.h"
#include "net/tls_engine.h"
#include <errno.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <stdlib.h>

#if SHOAL_TLS

/* A batch, and what TLS itself has to say: more than that no server that reads leaves. */
#define OUTPUT_BYTES_MAX ((size_t)3 * SHOAL__TLS_AHEAD_BYTES)

typedef struct tls_stream {
    shoal__stream_t stream; /* first: what the owner holds */
    shoal__stream_t *socket;
    shoal__tls_engine_t *engine;
    char *room; /* of the context: for the ciphertext of one read */
    shoal__stream_hooks_t hooks;
    void *owner;
    bool is_reached;   /* the socket is connected */
    bool is_connected; /* the handshake is over */
    bool is_stuck;     /* the socket takes no more for now */
    bool wants_write;  /* the owner waits for on_writable */
    bool is_telling;   /* a hook runs, after which the stream is used: freed later */
    bool is_closed;
    int error; /* of the socket; 0: none */
    char text[SHOAL__TLS_WHY_BYTES];
} tls_stream_t;

static tls_stream_t *of(shoal__stream_t *stream)
{
    return (tls_stream_t *)stream;
}

/* The error of the engine, for the owner. */
static int engine_error(tls_stream_t *tls, int error)
{
    snprintf(tls->text, sizeof tls->text, "%s", shoal__tls_engine_text(tls->engine));
    return error;
}

static int say(tls_stream_t *tls, int error, const char *text)
{
    snprintf(tls->text, sizeof tls->text, "%s", text);
    return error;
}

/* ---- out ---- */

/* Send what the engine has put out.  *ret_left: so much plaintext left.  0, -EAGAIN: not
 * all of it, the socket tells when it takes more; or an errno below 0: nothing leaves any
 * more. */
static int send_output(tls_stream_t *tls, size_t *ret_left)
{
    const shoal__stream_kind_t *kind = tls->socket->kind;

    *ret_left = 0;
    if (tls->error)
        return tls->error;
    while (!tls->is_stuck) {
        shoal__bytes_t output = shoal__tls_engine_output(tls->engine);
        size_t kept;
        if (output.bytes == 0)
            return 0;
        ptrdiff_t sent = kind->write(tls->socket, &output, 1, &kept);
        if (sent >= 0) {
            *ret_left += shoal__tls_engine_sent(tls->engine, (size_t)sent);
        } else if (sent == -EAGAIN) {
            tls->is_stuck = true;
            kind->want_write(tls->socket);
        } else {
            return (int)sent;
        }
    }
    return -EAGAIN;
}

/* The same when the owner does not ask.  A failure is found by the next read or write. */
static void send_and_tell(tls_stream_t *tls)
{
    size_t left;
    int rc = send_output(tls, &left);

    if (rc < 0 && rc != -EAGAIN)
        tls->error = rc;
    if (left > 0)
        tls->hooks.on_left(tls->owner, left);
}

static ptrdiff_t write_tls(shoal__stream_t *stream, const shoal__bytes_t *parts,
                           size_t count, size_t *ret_kept)
{
    tls_stream_t *tls = of(stream);
    size_t left;

    *ret_kept = 0;
    if (tls->error)
        return tls->error;
    if (tls->is_stuck)
        return -EAGAIN;
    ptrdiff_t taken = shoal__tls_engine_write(tls->engine, parts, count);
    if (taken < 0)
        return engine_error(tls, (int)taken);
    int rc = send_output(tls, &left);
    if (rc < 0 && rc != -EAGAIN) {
        tls->error = rc; /* for the next write: the rest never leaves */
        return left > 0 ? (ptrdiff_t)left : rc;
    }
    *ret_kept = (size_t)taken - left;
    return taken;
}

static void want_write_tls(shoal__stream_t *stream)
{
    tls_stream_t *tls = of(stream);

    tls->wants_write = true;
    tls->socket->kind->want_write(tls->socket);
}

static void pause_tls(shoal__stream_t *stream, bool is_paused)
{
    of(stream)->socket->kind->pause(of(stream)->socket, is_paused);
}

/* ---- in ---- */

/* Read ciphertext once, and give it to the engine; what is left of it must be kept.  As
 * `read` of a stream. */
static ptrdiff_t take_in(tls_stream_t *tls)
{
    bool is_dry;
    ptrdiff_t got =
        tls->socket->kind->read(tls->socket, tls->room, SHOAL__TLS_ROOM_BYTES, &is_dry);

    if (got > 0)
        shoal__tls_engine_feed(tls->engine, tls->room, (size_t)got);
    return got;
}

static ptrdiff_t read_tls(shoal__stream_t *stream, char *room, size_t bytes,
                          bool *ret_is_dry)
{
    tls_stream_t *tls = of(stream);
    ptrdiff_t came = 1, got;

    *ret_is_dry = true;
    if (!shoal__tls_engine_has_input(tls->engine))
        came = take_in(tls);
    if (came == 0)
        return say(tls, SHOAL_ECONN, "the connection ended without TLS's close_notify");
    if (came < 0)
        return came;
    got = shoal__tls_engine_read(tls->engine, room, bytes);
    if (shoal__tls_engine_keep(tls->engine) < 0)
        return say(tls, SHOAL_ENOMEM, "no memory");
    *ret_is_dry = !shoal__tls_engine_has_input(tls->engine);
    send_and_tell(tls); /* answers of TLS itself */
    if (shoal__tls_engine_output(tls->engine).bytes > OUTPUT_BYTES_MAX)
        return say(tls, SHOAL_ETLS,
                   "the server asks for answers, and does not read them");
    if (got == -EAGAIN)
        return -EINPROGRESS;
    return got < 0 ? engine_error(tls, (int)got) : got;
}

/* ---- the beginning ---- */

static void free_stream(tls_stream_t *tls)
{
    shoal__tls_engine_free(tls->engine);
    shoal__free(tls);
}

/* The owner may close the stream from its hook. */
static void tell_connected(tls_stream_t *tls)
{
    tls->is_connected = true;
    tls->is_telling = true;
    tls->hooks.on_connected(tls->owner, 0);
    tls->is_telling = false;
    if (tls->is_closed)
        free_stream(tls);
    else if (shoal__tls_engine_has_input(tls->engine))
        tls->hooks.on_readable(tls->owner); /* the poll does not know of it */
}

/* The handshake has come so far. */
static void shake_hands(tls_stream_t *tls, int rc)
{
    size_t left;
    int sent = send_output(tls, &left); /* also of an alert */

    if (rc != 0 && rc != -EAGAIN)
        tls->hooks.on_connected(tls->owner, engine_error(tls, rc));
    else if (sent < 0 && sent != -EAGAIN)
        tls->hooks.on_connected(tls->owner, -sent);
    else if (rc == 0)
        tell_connected(tls);
}

static void read_hands(tls_stream_t *tls)
{
    ptrdiff_t got = take_in(tls);

    if (got == -EAGAIN)
        return;
    if (got == 0)
        got = say(tls, SHOAL_ECONN,
                  "the server closed the connection during the TLS handshake");
    if (got < 0) {
        tls->hooks.on_connected(tls->owner, (int)-got);
        return;
    }
    int rc = shoal__tls_engine_handshake(tls->engine);
    if (shoal__tls_engine_keep(tls->engine) < 0)
        tls->hooks.on_connected(tls->owner, say(tls, SHOAL_ENOMEM, "no memory"));
    else
        shake_hands(tls, rc);
}

static void on_socket_connected(void *owner, int error)
{
    tls_stream_t *tls = owner;

    if (error) {
        tls->hooks.on_connected(tls->owner, error);
        return;
    }
    tls->is_reached = true;
    shake_hands(tls, shoal__tls_engine_handshake(tls->engine));
}

static void on_socket_readable(void *owner)
{
    tls_stream_t *tls = owner;

    if (tls->is_connected)
        tls->hooks.on_readable(tls->owner);
    else
        read_hands(tls);
}

static void on_socket_writable(void *owner)
{
    tls_stream_t *tls = owner;

    tls->is_stuck = false;
    send_and_tell(tls);
    if (tls->is_stuck || !tls->wants_write)
        return;
    tls->wants_write = false;
    tls->hooks.on_writable(tls->owner);
}

static shoal__stream_t *open_tls(const shoal__stream_kind_t *kind,
                                 const shoal__stream_request_t *request, int *ret_error)
{
    static const shoal__stream_hooks_t hooks = {.on_connected = on_socket_connected,
                                                .on_readable = on_socket_readable,
                                                .on_writable = on_socket_writable};
    shoal__stream_request_t inner = *request;
    tls_stream_t *tls = shoal__calloc(1, sizeof *tls);
    int rc;

    *ret_error = ENOMEM;
    if (!tls)
        return NULL;
    tls->stream.kind = kind;
    tls->hooks = *request->hooks;
    tls->owner = request->owner;
    tls->room = shoal__tls_context_room(request->tls);
    tls->engine = shoal__tls_engine_new(request->tls, request->endpoint, &rc);
    if (!tls->engine) {
        *ret_error = rc == SHOAL_ENOMEM ? ENOMEM : rc;
        free_stream(tls);
        return NULL;
    }
    inner.hooks = &hooks;
    inner.owner = tls;
    tls->socket = shoal__stream_socket.open(&shoal__stream_socket, &inner, ret_error);
    if (!tls->socket) {
        free_stream(tls);
        return NULL;
    }
    return &tls->stream;
}

/* ---- the rest ---- */

static uint64_t rtt_us(const shoal__stream_t *stream)
{
    const shoal__stream_t *socket = ((const tls_stream_t *)stream)->socket;

    return socket->kind->rtt_us(socket);
}

static const char *error_text(const shoal__stream_t *stream, int error)
{
    const tls_stream_t *tls = (const tls_stream_t *)stream;
    int code = -abs(error);

    if (tls && code == SHOAL_ETIMEOUT && tls->is_reached)
        return "the TLS handshake was not answered in time: does the server speak TLS "
               "on this port?";
    if (tls && (code == SHOAL_ETLS || code == SHOAL_ECONN || code == SHOAL_ENOMEM))
        return tls->text;
    if (code == SHOAL_ETLS)
        return "no certificate can be for this name (tls_server_name)";
    return shoal__stream_socket.error_text(NULL, error);
}

static bool is_resumed(const shoal__stream_t *stream)
{
    return shoal__tls_engine_is_resumed(((const tls_stream_t *)stream)->engine);
}

static void close_tls(shoal__stream_t *stream, bool is_orderly)
{
    tls_stream_t *tls = of(stream);
    size_t left;

    if (is_orderly) {
        shoal__tls_engine_end(tls->engine);
        (void)send_output(tls, &left); /* not behind anything that did not leave */
    }
    tls->socket->kind->close(tls->socket, is_orderly);
    tls->is_closed = true;
    if (!tls->is_telling)
        free_stream(tls);
}

/* OpenSSL's locks may be held by threads that are not here: its memory stays. */
static void forget_tls(shoal__stream_t *stream)
{
    of(stream)->socket->kind->forget(of(stream)->socket);
}

const shoal__stream_kind_t shoal__stream_tls = {
    .open = open_tls,
    .write = write_tls,
    .read = read_tls,
    .want_write = want_write_tls,
    .pause = pause_tls,
    .error_text = error_text,
    .is_resumed = is_resumed,
    .rtt_us = rtt_us,
    .close = close_tls,
    .forget = forget_tls,
};

const shoal__stream_kind_t *shoal__stream_kind(const struct shoal__tls_context *tls)
{
    return tls ? &shoal__stream_tls : &shoal__stream_socket;
}

#else

const shoal__stream_kind_t *shoal__stream_kind(const struct shoal__tls_context *tls)
{
    (void)tls; /* there is none */
    return &shoal__stream_socket;
}

#endif
