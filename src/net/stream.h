/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_STREAM_H
#define SHOAL_NET_STREAM_H

/*
 * A byte stream to a server, as an interface: the owner of a connection calls through a
 * table of functions, and does not know which kind of stream is behind the table.
 *
 * Reads and writes never block; the hooks tell when they can go on.  A stream may hold
 * bytes that it has read and not handed out, because a decrypted record was longer than
 * the caller's room.  The loop does not report such bytes, so the owner reads until the
 * stream is dry.
 *
 * A stream that encrypts may keep bytes that it took and that have not left.  They leave
 * before all others, in order; it takes none before all have left.
 *
 * Errors are errno's, or one of our codes if the stream has words of its own for it:
 * SHOAL_ETLS (the certificate or the protocol failed), SHOAL_ECONN, SHOAL_ETIMEOUT.
 *
 * Threads: the loop thread.  Writing to a dead peer is an error, never a signal.
 */

#include "base/bytes.h"
#include "core/address.h"
#include "core/target.h"
#include <shoal/errors.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <uv.h>

/* Most parts of one write. */
#define SHOAL__STREAM_PARTS_MAX 16

typedef struct shoal__stream_hooks {
    void (*on_connected)(void *owner, int error); /* 0, or see error_text */
    void (*on_readable)(void *owner);
    void (*on_writable)(void *owner); /* after want_write */
    /* So many of the bytes that `write` kept have left; perhaps from inside a read. */
    void (*on_left)(void *owner, size_t bytes);
} shoal__stream_hooks_t;

typedef struct shoal__stream_kind shoal__stream_kind_t;

/* What every stream begins with. */
typedef struct shoal__stream {
    const shoal__stream_kind_t *kind;
} shoal__stream_t;

typedef struct shoal__stream_request {
    uv_loop_t *loop;
    const shoal__address_t *address;
    const shoal__address_t *source; /* to connect from; NULL: the system chooses */
    uint64_t keepalive_us;          /* silence before the system tests it; 0: never */
    const shoal__target_t *target;
    const shoal__endpoint_t *endpoint; /* of the target: the server's name, for those
                                          that check it */
    struct shoal__tls_context *tls;    /* for those that encrypt; else NULL */
    const shoal__stream_hooks_t *hooks;
    void *owner; /* of the hooks */
} shoal__stream_request_t;

struct shoal__stream_kind {
    /* Begin to connect.  On failure returns NULL and an error in ret_error.  No hook
     * runs from inside this call. */
    shoal__stream_t *(*open)(const shoal__stream_kind_t *kind,
                             const shoal__stream_request_t *request, int *ret_error);

    /* Write parts, 1 .. SHOAL__STREAM_PARTS_MAX, one behind the other.  Bytes taken;
     * -EAGAIN if the stream takes none for now; else an error below 0.  *ret_kept: so many
     * of the bytes, the last ones, have not left; on_left tells of them, and then
     * want_write is due. */
    ptrdiff_t (*write)(shoal__stream_t *stream, const shoal__bytes_t *parts,
                       size_t count, size_t *ret_kept);
    /* Bytes read; 0 at the end of the stream; -EAGAIN if there are none; -EINPROGRESS if
     * some came, of which none can be handed out before more come (a part of an encrypted
     * record); else an error below 0.  *ret_is_dry: the loop will tell when there is more;
     * if false, read again before the loop sleeps. */
    ptrdiff_t (*read)(shoal__stream_t *stream, char *room, size_t bytes,
                      bool *ret_is_dry);
    /* Call on_writable when writing can go on; once. */
    void (*want_write)(shoal__stream_t *stream);
    /* Of a connected stream: from now on on_readable is not called; or it is again.  What
     * arrives meanwhile waits, at both ends. */
    void (*pause)(shoal__stream_t *stream, bool is_paused);

    /* An error in words, its sign does not matter; lives until the next call.  `stream`
     * is NULL if it was never opened.  SHOAL_ETIMEOUT: the time to connect is over. */
    const char *(*error_text)(const shoal__stream_t *stream, int error);
    /* Of a connected stream: did it resume a session, instead of a full handshake?  NULL:
     * there are no sessions. */
    bool (*is_resumed)(const shoal__stream_t *stream);
    /* Of a connected stream: the round trip of its packets, as the system knows it;
     * SHOAL__NEVER_US: not known.  NULL: it is never known. */
    uint64_t (*rtt_us)(const shoal__stream_t *stream);

    /* No hook runs any more; memory goes later.  is_orderly: nothing is under way, and
     * the peer is told of the end, if the stream has a word for it. */
    void (*close)(shoal__stream_t *stream, bool is_orderly);
    /* In the child of a fork: close the descriptor, tell the peer nothing. */
    void (*forget)(shoal__stream_t *stream);
};

/* The status that an error of a stream means. */
static inline int shoal__stream_status(ptrdiff_t error)
{
    if (error == SHOAL_ETLS || error == -SHOAL_ETLS)
        return SHOAL_ETLS;
    return error == SHOAL_ETIMEOUT || error == -SHOAL_ETIMEOUT ? SHOAL_ETIMEOUT
                                                               : SHOAL_ECONN;
}

/* TCP or a Unix socket, in the clear.  Reads and writes are plain system calls;
 * writability is watched while a connect or a write is stuck, not otherwise. */
extern const shoal__stream_kind_t shoal__stream_socket;

/* The same with TLS: connected when the server's certificate was checked. */
extern const shoal__stream_kind_t shoal__stream_tls;

/* The kind for connections of this context; NULL: in the clear. */
const shoal__stream_kind_t *shoal__stream_kind(const struct shoal__tls_context *tls);

#endif
