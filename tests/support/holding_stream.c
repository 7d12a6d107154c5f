/* SPDX-License-Identifier: MIT */
#include "support/holding_stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_BYTES 16384

holding_habits_t holding_habits;
holding_sights_t holding_sights;

typedef struct holding_stream {
    shoal__stream_t stream; /* first */
    shoal__stream_t *socket;
    shoal__stream_hooks_t hooks;
    void *owner;
    char record[RECORD_BYTES];
    size_t begin, end; /* held, of the record */
    bool is_empty;     /* the next read finds nothing */
    bool takes_none;   /* of the next write */
    bool is_stuck;     /* want_write was called, on_writable was not */
} holding_stream_t;

static holding_stream_t *of(shoal__stream_t *stream)
{
    return (holding_stream_t *)stream;
}

static void on_stream_connected(void *owner, int error)
{
    holding_stream_t *held = owner;

    held->hooks.on_connected(held->owner, holding_habits.connect_error
                                              ? holding_habits.connect_error
                                              : error);
}

static void on_stream_readable(void *owner)
{
    holding_stream_t *held = owner;

    holding_sights.told++;
    held->is_empty = holding_habits.is_spurious && holding_sights.told % 2 == 1;
    held->hooks.on_readable(held->owner);
}

static void on_stream_writable(void *owner)
{
    holding_stream_t *held = owner;

    assert_true(held->is_stuck);
    held->is_stuck = false;
    holding_sights.writables++;
    held->hooks.on_writable(held->owner);
}

static shoal__stream_t *open_holding(const shoal__stream_kind_t *kind,
                                     const shoal__stream_request_t *request,
                                     int *ret_error)
{
    static const shoal__stream_hooks_t hooks = {.on_connected = on_stream_connected,
                                                .on_readable = on_stream_readable,
                                                .on_writable = on_stream_writable};
    shoal__stream_request_t inner = *request;
    holding_stream_t *held;

    if (holding_habits.open_error) {
        *ret_error = holding_habits.open_error;
        return NULL;
    }
    held = calloc(1, sizeof *held);
    assert_non_null(held);
    held->stream.kind = kind;
    held->hooks = *request->hooks;
    held->owner = request->owner;
    inner.hooks = &hooks;
    inner.owner = held;
    held->socket = shoal__stream_socket.open(&shoal__stream_socket, &inner, ret_error);
    assert_non_null(held->socket);
    holding_sights.streams_now++;
    return &held->stream;
}

static ptrdiff_t write_holding(shoal__stream_t *stream, const shoal__bytes_t *parts,
                               size_t count, size_t *ret_kept)
{
    holding_stream_t *held = of(stream);
    shoal__bytes_t first = parts[0];

    *ret_kept = 0;
    assert_false(held->is_stuck);
    if (holding_habits.write_error)
        return -holding_habits.write_error;
    if (holding_habits.is_full && (held->takes_none = !held->takes_none)) {
        holding_sights.refused_writes++;
        return -EAGAIN;
    }
    if (!holding_habits.is_full)
        return shoal__stream_socket.write(held->socket, parts, count, ret_kept);
    if (first.bytes > HOLDING_WRITE_BYTES)
        first.bytes = HOLDING_WRITE_BYTES;
    return shoal__stream_socket.write(held->socket, &first, 1, ret_kept);
}

static ptrdiff_t read_holding(shoal__stream_t *stream, char *room, size_t bytes,
                              bool *ret_is_dry)
{
    holding_stream_t *held = of(stream);
    size_t left = held->end - held->begin;

    *ret_is_dry = true;
    if (holding_habits.read_error)
        return -holding_habits.read_error;
    if (left == 0) {
        if (held->is_empty) {
            held->is_empty = false;
            holding_sights.empty_reads++;
            return -EAGAIN;
        }
        ptrdiff_t got = shoal__stream_socket.read(held->socket, held->record,
                                                  sizeof held->record, ret_is_dry);
        if (got <= 0)
            return got;
        holding_sights.records++;
        held->begin = 0;
        left = held->end = (size_t)got;
    }

    size_t piece_bytes = left < HOLDING_PIECE_BYTES ? left : HOLDING_PIECE_BYTES;
    assert_true(bytes >= piece_bytes);
    memcpy(room, held->record + held->begin, piece_bytes);
    held->begin += piece_bytes;
    holding_sights.pieces++;
    *ret_is_dry = held->begin == held->end;
    return (ptrdiff_t)piece_bytes;
}

static void want_write(shoal__stream_t *stream)
{
    of(stream)->is_stuck = true;
    shoal__stream_socket.want_write(of(stream)->socket);
}

static void pause_reading(shoal__stream_t *stream, bool is_paused)
{
    shoal__stream_socket.pause(of(stream)->socket, is_paused);
}

static const char *error_text(const shoal__stream_t *stream, int error)
{
    if (abs(error) == HOLDING_BAD_RECORD)
        return "the record is forged";
    return shoal__stream_socket.error_text(stream, error);
}

static void close_holding(shoal__stream_t *stream, bool is_orderly)
{
    holding_stream_t *held = of(stream);

    shoal__stream_socket.close(held->socket, is_orderly);
    holding_sights.streams_now--;
    free(held);
}

const shoal__stream_kind_t stream_holding = {.open = open_holding,
                                             .write = write_holding,
                                             .read = read_holding,
                                             .want_write = want_write,
                                             .pause = pause_reading,
                                             .error_text = error_text,
                                             .close = close_holding};

size_t stream_holding_bytes(const shoal__stream_t *stream)
{
    const holding_stream_t *held = (const holding_stream_t *)stream;

    return held->end - held->begin;
}
