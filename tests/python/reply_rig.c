/* SPDX-License-Identifier: MIT */
#include "reply_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pickle_reader.h"
#include "resp/decoder.h"

static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type)
{
    (void)owner;
    (void)type;
    return (shoal__decoder_target_t){0};
}

static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    reply_rig_t *rig = owner;

    (void)is_push;
    assert_true(rig->count < REPLIES_MAX);
    rig->replies[rig->count] = shoal_reply_retain(reply);
    assert_non_null(rig->replies[rig->count++]);
    return true;
}

void rig_decode(reply_rig_t *rig, const char *wire, size_t bytes)
{
    static const shoal__decoder_hooks_t hooks = {on_begin, on_reply};
    static const shoal__decoder_limits_t limits = {
        .bytes_max = 512 << 20, .elements_max = 16777216, .depth_max = 1024};
    shoal__decoder_t *decoder = NULL;

    assert_int_equal(shoal__decoder_new(&decoder, &limits, &hooks, rig), 0);
    assert_int_equal(shoal__decoder_feed(decoder, wire, bytes), 0);
    assert_false(shoal__decoder_is_mid_reply(decoder));
    shoal__decoder_free(decoder);
}

void rig_release(reply_rig_t *rig)
{
    while (rig->count > 0)
        shoal_reply_release(rig->replies[--rig->count]);
}

void rig_check(shoalpy_stream_t *stream, const char *expected)
{
    pickle_text_t text = {0};
    size_t offset;
    const char *problem = pickle_read(stream->data, stream->bytes, &text, &offset);

    if (problem)
        fail_msg("%s: %s at %zu", expected, problem, offset);
    assert_string_equal(text.data, expected);
    pickle_text_release(&text);
}
