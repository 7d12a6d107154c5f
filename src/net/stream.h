/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_STREAM_H
#define SHOAL_NET_STREAM_H

/*
 * A byte stream over TCP or a Unix socket.  Reads and writes are plain non-blocking
 * system calls; the loop only tells when they can go on.  Writability is watched
 * while a connect or a write is stuck, not otherwise.
 *
 * Writing to a dead peer is an error, never a signal.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <uv.h>

/* Where to connect. */
typedef struct shoal__address {
    struct sockaddr_storage at;
    socklen_t bytes;
} shoal__address_t;

typedef struct shoal__stream shoal__stream_t;

typedef struct shoal__stream_hooks {
    void (*on_connected)(void *owner, int error); /* 0 or an errno */
    void (*on_readable)(void *owner);
    void (*on_writable)(void *owner); /* after shoal__stream_want_write() */
} shoal__stream_hooks_t;

/* Begin to connect.  On failure returns NULL and an errno in ret_error.  No hook runs
 * from inside this call. */
shoal__stream_t *shoal__stream_connect(uv_loop_t *loop, const shoal__address_t *address,
                                       const shoal__stream_hooks_t *hooks, void *owner,
                                       int *ret_error);

/* Bytes written or read; -EAGAIN if it would block; -errno; for a read 0 at the end of
 * the stream. */
ptrdiff_t shoal__stream_write(shoal__stream_t *stream, const char *data, size_t bytes);
ptrdiff_t shoal__stream_read(shoal__stream_t *stream, char *room, size_t bytes);

/* Call on_writable when writing can go on; once. */
void shoal__stream_want_write(shoal__stream_t *stream);

/* No hook runs any more; memory goes later.  NULL is allowed. */
void shoal__stream_close(shoal__stream_t *stream);

/* In the child of a fork: close the descriptor only.  NULL is allowed. */
void shoal__stream_forget(shoal__stream_t *stream);

#endif
