/* SPDX-License-Identifier: MIT */
#include "unit/resp/decoder_owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

owner_t owner;
shoal__decoder_t *decoder;

const shoal__decoder_limits_t limits = {
    .bytes_max = 512 << 20, .elements_max = 16777216, .depth_max = 1024};

static shoal__decoder_target_t on_begin(void *data, shoal_reply_type_t type)
{
    owner_t *self = data;

    self->begins++;
    self->begun = type;
    return self->target;
}

static bool on_reply(void *data, const shoal_reply_t *reply, bool is_push)
{
    owner_t *self = data;

    assert_false(shoal__decoder_is_mid_reply(decoder));
    self->replies++;
    if (reply && shoal_reply_type(reply) == SHOAL_REPLY_ERROR) {
        size_t bytes;
        const char *text = shoal_reply_string(reply, &bytes);
        assert_int_equal(text[bytes], '\0');
    }
    if (self->keeps)
        self->kept[self->kept_count++] = shoal_reply_retain(reply);
    if (!self->is_quiet) {
        if (is_push)
            transcript_print(&self->heard, "PUSH ");
        if (reply)
            shoal__reply_to_sink(reply, &transcript_sink, &self->heard);
        transcript_print(&self->heard, "| ");
    }
    return self->replies != self->stop_at;
}

const shoal__decoder_hooks_t owner_hooks = {on_begin, on_reply};

void open_decoder(const shoal__decoder_limits_t *with)
{
    transcript_clear(&owner.heard);
    owner = (owner_t){.heard.bytes = 0};
    assert_int_equal(shoal__decoder_new(&decoder, with, &owner_hooks, &owner), 0);
}

void close_decoder(void)
{
    shoal__decoder_free(decoder);
    for (size_t i = 0; i < owner.kept_count; i++)
        shoal_reply_release(owner.kept[i]);
}

int set_up(void **state)
{
    (void)state;
    open_decoder(&limits);
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    close_decoder();
    return 0;
}

int feed(const char *wire)
{
    return shoal__decoder_feed(decoder, wire, strlen(wire));
}

/* From memory of the exact size, so that a sanitizer sees every look beyond. */
int feed_piece(const char *data, size_t bytes)
{
    char *piece = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(piece);
    memcpy(piece, data, bytes);
    int rc = shoal__decoder_feed(decoder, piece, bytes);
    free(piece);
    return rc;
}

/* `head`, then `count` times `body`, then `tail`, in pieces. */
int feed_many(const char *head, const char *body, size_t count, const char *tail,
              size_t piece_bytes)
{
    size_t head_bytes = strlen(head), body_bytes = strlen(body);
    size_t bytes = head_bytes + count * body_bytes + strlen(tail);
    char *wire = malloc(bytes + 1);
    int rc = 0;

    assert_non_null(wire);
    memcpy(wire, head, head_bytes);
    for (size_t i = 0; i < count; i++)
        memcpy(wire + head_bytes + i * body_bytes, body, body_bytes);
    strcpy(wire + head_bytes + count * body_bytes, tail);
    for (size_t at = 0; at < bytes && rc == 0; at += piece_bytes)
        rc = shoal__decoder_feed(decoder, wire + at,
                                 bytes - at < piece_bytes ? bytes - at : piece_bytes);
    free(wire);
    return rc;
}

/* Live bytes of the library, by the allocator hook; a size stands before each. */
size_t live_bytes, live_bytes_max;

void *meter_realloc(void *memory, size_t bytes)
{
    size_t *before = memory ? (size_t *)memory - 2 : NULL;
    size_t had = before ? *before : 0;
    size_t *after = realloc(before, bytes + 2 * sizeof *after);
    assert_non_null(after);

    live_bytes += bytes - had;
    if (live_bytes > live_bytes_max)
        live_bytes_max = live_bytes;
    *after = bytes;
    return after + 2;
}

void *meter_malloc(size_t bytes)
{
    return meter_realloc(NULL, bytes);
}

void *meter_calloc(size_t count, size_t bytes)
{
    return memset(meter_malloc(count * bytes), 0, count * bytes);
}

void meter_free(void *memory)
{
    live_bytes -= ((size_t *)memory)[-2];
    free((size_t *)memory - 2);
}
