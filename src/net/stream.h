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
 * Threads: the loop thread.  Writing to a dead peer is an error, never a signal.
 */

#include "base/bytes.h"
#include "core/address.h"
#include "core/target.h"
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
    const shoal__endpoint_t
        *endpoint; /* of the target: the server's name, for those that
                                          check it */
    const shoal__stream_hooks_t *hooks;
    void *owner; /* of the hooks */
} shoal__stream_request_t;

struct shoal__stream_kind {
    /* Begin to connect.  On failure returns NULL and an error in ret_error.  No hook
     * runs from inside this call. */
    shoal__stream_t *(*open)(const shoal__stream_kind_t *kind,
                             const shoal__stream_request_t *request, int *ret_error);

    /* Write parts, 1 .. SHOAL__STREAM_PARTS_MAX, one behind the other.  Bytes written;
     * -EAGAIN if the stream takes none for now; else an error below 0. */
    ptrdiff_t (*write)(shoal__stream_t *stream, const shoal__bytes_t *parts,
                       size_t count);
    /* Bytes read; 0 at the end of the stream; -EAGAIN if there are none; else an error
     * below 0.  *ret_is_dry: the loop will tell when there is more; if false, read
     * again before the loop sleeps. */
    ptrdiff_t (*read)(shoal__stream_t *stream, char *room, size_t bytes,
                      bool *ret_is_dry);
    /* Call on_writable when writing can go on; once. */
    void (*want_write)(shoal__stream_t *stream);

    /* An error in words, its sign does not matter; lives until the next call.  `stream`
     * is NULL if it was never opened. */
    const char *(*error_text)(const shoal__stream_t *stream, int error);

    /* No hook runs any more; memory goes later. */
    void (*close)(shoal__stream_t *stream);
    /* In the child of a fork: close the descriptor, tell the peer nothing. */
    void (*forget)(shoal__stream_t *stream);
};

/* TCP or a Unix socket, in the clear.  Reads and writes are plain system calls;
 * writability is watched while a connect or a write is stuck, not otherwise.  Errors
 * are errno's. */
extern const shoal__stream_kind_t shoal__stream_socket;

#endif
