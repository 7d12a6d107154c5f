/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PYTHON_REPLY_RIG_H
#define TESTS_PYTHON_REPLY_RIG_H

/* From RESP to replies, by the library's decoder, and from a pickle stream to text.
 * Included after <cmocka.h>. */

#include "pickle_reader.h"
#include "resp/decoder.h"
#include "stream.h"
#include <string.h>

#define REPLIES_MAX 16

typedef struct reply_rig {
    const shoal_reply_t *replies[REPLIES_MAX]; /* retained */
    size_t count;
} reply_rig_t;

static inline shoal__decoder_target_t rig_on_begin(void *owner, shoal_reply_type_t type)
{
    (void)owner;
    (void)type;
    return (shoal__decoder_target_t){0};
}

static inline bool rig_on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    reply_rig_t *rig = owner;

    (void)is_push;
    assert_true(rig->count < REPLIES_MAX);
    rig->replies[rig->count] = shoal_reply_retain(reply);
    assert_non_null(rig->replies[rig->count++]);
    return true;
}

/* What the wire says; `rig` is empty at first. */
static inline void rig_decode(reply_rig_t *rig, const char *wire, size_t bytes)
{
    static const shoal__decoder_hooks_t hooks = {rig_on_begin, rig_on_reply};
    static const shoal__decoder_limits_t limits = {
        .bytes_max = 512 << 20, .elements_max = 16777216, .depth_max = 1024};
    shoal__decoder_t *decoder = NULL;

    assert_int_equal(shoal__decoder_new(&decoder, &limits, &hooks, rig), 0);
    assert_int_equal(shoal__decoder_feed(decoder, wire, bytes), 0);
    assert_false(shoal__decoder_is_mid_reply(decoder));
    shoal__decoder_free(decoder);
}

static inline void rig_release(reply_rig_t *rig)
{
    while (rig->count > 0)
        shoal_reply_release(rig->replies[--rig->count]);
}

/* The stream is ended, and is this value. */
static inline void rig_check(shoalpy_stream_t *stream, const char *expected)
{
    pickle_text_t text = {0};
    size_t offset;
    const char *problem = pickle_read(stream->data, stream->bytes, &text, &offset);

    if (problem)
        fail_msg("%s: %s at %zu", expected, problem, offset);
    assert_string_equal(text.data, expected);
    pickle_text_release(&text);
}

#endif
