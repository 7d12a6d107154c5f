/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp/decoder.h"
#include "unit/core/wire.h"
#include <string.h>

typedef struct looking {
    wire_look_fn look;
    void *data;
    unsigned replies;
} looking_t;

static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type)
{
    (void)owner, (void)type;
    return (shoal__decoder_target_t){0};
}

static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    looking_t *looking = owner;
    (void)is_push;

    looking->replies++;
    looking->look(reply, looking->data);
    return true;
}

void wire_read(const char *wire, wire_look_fn look, void *data)
{
    const shoal__decoder_limits_t limits = {1 << 20, 1 << 20, 16};
    const shoal__decoder_hooks_t hooks = {on_begin, on_reply};
    looking_t looking = {look, data, 0};
    shoal__decoder_t *decoder;

    assert_int_equal(shoal__decoder_new(&decoder, &limits, &hooks, &looking), 0);
    assert_int_equal(shoal__decoder_feed(decoder, wire, strlen(wire)), 0);
    assert_int_equal(looking.replies, 1);
    shoal__decoder_free(decoder);
}
