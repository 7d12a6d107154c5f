/* SPDX-License-Identifier: MIT */
#include "core/pipe/pipe_subscriber.h"

#include "resp/push.h"
#include "resp/reply.h"
#include "resp/reply_shape.h"

/* No reply to the library's own commands is large, and none has a sink. */
static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type)
{
    (void)owner, (void)type;
    return (shoal__decoder_target_t){0};
}

/* The request whose turn it is; NULL: none was written. */
static const shoal__request_t *head_of(const shoal__pipe_t *pipe)
{
    return pipe->ring.head == pipe->ring.sent
               ? NULL
               : shoal__request_ring_at(&pipe->ring, pipe->ring.head);
}

/* Does the reply show that pushes have answered the request whose turn it is?  An error may
 * be the answer to it. */
static bool is_behind_pushes(const shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    const shoal__request_t *head = head_of(pipe);

    return reply->type != SHOAL_REPLY_ERROR ||
           (head && head->shape == SHOAL__SHAPE_PUSHES && pipe->hooks.is_answered &&
            pipe->hooks.is_answered(pipe->owner));
}

/* Requests at their turn that are answered by pushes are over. */
static void end_pushed(shoal__pipe_t *pipe)
{
    const shoal__request_t *head = head_of(pipe);

    while (head && head->shape == SHOAL__SHAPE_PUSHES) {
        shoal__request_t request = shoal__pipe_pop(pipe, 0);
        pipe->answered++;
        shoal__flush_policy_answered(&pipe->flush);
        shoal__pipe_deliver(pipe, &request, 0, SHOAL_FATE_REPLIED, NULL, 1, "");
        head = head_of(pipe);
    }
}

static bool push_came(shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    shoal__push_t push;

    shoal__counter_add(&pipe->stats.pushes, 1);
    if (shoal__maintenance_hear(&pipe->maintenance, reply, pipe->now_us))
        return true;
    shoal__push_read(reply, &push);
    if (pipe->hooks.on_message) /* a greeter's pushes are nobody's */
        pipe->hooks.on_message(pipe->owner, &push);
    return true;
}

static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    shoal__pipe_t *pipe = owner;

    if (pipe->phase != SHOAL__PIPE_READY)
        return shoal__pipe_decoder_hooks.on_reply(owner, reply, is_push);
    if (pipe->is_resp3 ? is_push : shoal__push_is_unasked(reply))
        return push_came(pipe, reply);
    if (is_behind_pushes(pipe, reply))
        end_pushed(pipe);
    return shoal__pipe_decoder_hooks.on_reply(owner, reply, is_push);
}

const shoal__decoder_hooks_t shoal__pipe_subscriber_hooks = {.on_begin = on_begin,
                                                             .on_reply = on_reply};

/* How much the decoder gets before it is looked again whether a frame has ended: frames end
 * with their lines. */
static size_t piece(const shoal__pipe_t *pipe, const char *data, size_t bytes)
{
    size_t missing = shoal__decoder_missing(pipe->decoder);
    const char *end;

    if (missing > 0) /* of a string, with its line end */
        return missing < bytes ? missing : bytes;
    end = memchr(data, '\n', bytes);
    return end ? (size_t)(end - data) + 1 : bytes;
}

static size_t take_messages(shoal__pipe_t *pipe, const char *data, size_t bytes)
{
    size_t taken = 0, count = 0, length;
    shoal__push_t push;

    while (pipe->fault == 0 &&
           (length = shoal__push_scan((shoal__bytes_t){data + taken, bytes - taken},
                                      pipe->is_resp3, pipe->config->reply.bytes_max,
                                      &push)) > 0) {
        taken += length;
        count++;
        pipe->hooks.on_message(pipe->owner, &push);
    }
    shoal__counter_add(&pipe->stats.pushes, count);
    return taken;
}

int shoal__pipe_listen(shoal__pipe_t *pipe, const char *data, size_t bytes)
{
    while (bytes > 0 && pipe->fault == 0) {
        size_t taken = 0;

        if (pipe->phase == SHOAL__PIPE_READY && pipe->hooks.on_message &&
            shoal__decoder_is_at_rest(pipe->decoder))
            taken = take_messages(pipe, data, bytes);
        if (taken == 0) {
            taken = piece(pipe, data, bytes);
            shoal__pipe_decode(pipe, data, taken);
        }
        data += taken;
        bytes -= taken;
    }
    return pipe->fault;
}
