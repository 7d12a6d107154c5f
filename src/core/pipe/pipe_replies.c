/* SPDX-License-Identifier: MIT */

/* The bytes that a pipe reads: which request each reply belongs to, and what the owner
 * hears of it.  decoder.c finds the frames; inbound.c says whether one was expected. */

#include "base/escape.h"
#include "core/pipe/inbound.h"
#include "core/pipe/pipe_doubt.h"
#include "core/pipe/pipe_lane.h"
#include "core/pipe/pipe_scripts.h"
#include "core/pipe/pipe_subscriber.h"
#include "core/pipe/pipe_unit.h"
#include "resp/command_slot.h"
#include "resp/reply_shape.h"
#include <shoal/errors.h>
#include <stdio.h>

#define LOG_BYTES_KEPT 262144

/* ---- where a reply goes ---- */

/* Is it MULTI?  A part of our own (ASKING) may stand before it. */
static bool begins_unit(const shoal__pipe_t *pipe, const shoal__request_t *request)
{
    return (request->flags & SHOAL__REQUEST_UNIT_FIRST) ||
           (pipe->kept.replies == 1 &&
            (shoal__request_ring_at(&pipe->ring, pipe->ring.head)->flags &
             SHOAL__REQUEST_INTERNAL));
}

/* The commands behind a rejected MULTI run one by one, so each may have any reply.  The
 * rejection is noted here, because on_reply() gets no contents of a zombie's reply. */
static shoal__reply_shape_t shape_in_unit(shoal__pipe_t *pipe,
                                          const shoal__request_t *request,
                                          shoal_reply_type_t type)
{
    const uint16_t no_multi = SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_UNIT_LAST;

    if (begins_unit(pipe, request))
        pipe->is_unit_rejected =
            type == SHOAL_REPLY_ERROR && !(request->flags & no_multi);
    else if (pipe->is_unit_rejected)
        return SHOAL__SHAPE_ANY;
    return (shoal__reply_shape_t)request->shape;
}

/* The sink that gets a reply of this connection; NULL: the reply becomes a tree. */
static const shoal_sink_t *sink_of(const shoal__pipe_t *pipe,
                                   const shoal__extra_t *extra)
{
    return extra->is_sink_shared && !pipe->config->is_ordinary ? NULL : extra->sink;
}

static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type)
{
    shoal__pipe_t *pipe = owner;
    shoal__decoder_target_t target = {0};
    const shoal__request_t *head;
    shoal__reply_shape_t shape;

    pipe->is_misshapen = false;
    if (pipe->phase != SHOAL__PIPE_READY)
        return target;
    if (shoal__pipe_due(pipe) == pipe->ring.sent) {
        /* No command waits for it: a large string gets no memory. */
        target.discard = type == SHOAL_REPLY_STRING;
        return target;
    }
    head = shoal__request_ring_at(&pipe->ring, shoal__pipe_due(pipe));
    shape = (shoal__reply_shape_t)head->shape;
    if (head->flags & SHOAL__REQUEST_UNIT)
        shape = shape_in_unit(pipe, head, type);
    pipe->is_misshapen = !shoal__reply_shape_allows(shape, type);
    /* EXEC ran: its parts hear of that before its reply goes to a sink. */
    if (pipe->kept.replies > 0 && type != SHOAL_REPLY_ERROR && !pipe->is_misshapen &&
        (head->flags & SHOAL__REQUEST_UNIT_LAST)) {
        shoal__pipe_unit_release(pipe);
        head = shoal__request_ring_at(&pipe->ring, pipe->ring.head);
    }
    target.discard = pipe->is_misshapen || (head->flags & SHOAL__REQUEST_ZOMBIE);
    if (head->extra) {
        target.sink = sink_of(pipe, head->extra);
        target.chunks = head->extra->chunks;
        target.sink_data = head->extra->sink_data;
    }
    return target;
}

/* ---- replies ---- */

void shoal__pipe_deliver(shoal__pipe_t *pipe, const shoal__request_t *request,
                         int status, shoal_fate_t fate, const shoal_reply_t *reply,
                         uint32_t attempts, const char *detail)
{
    shoal_result_t result = {.status = status,
                             .fate = fate,
                             .reply = reply,
                             .detail = detail,
                             .node = "",
                             .attempts = attempts};

    shoal__pipe_deliver_result(pipe, request, &result);
}

void shoal__pipe_deliver_result(shoal__pipe_t *pipe, const shoal__request_t *request,
                                shoal_result_t *result)
{
    shoal__pipe_stats_t *stats = pipe->holder ? &pipe->holder->stats : &pipe->stats;
    int status = result->status;

    result->tag = request->tag;
    result->ticket = request->ticket;
    result->redirects = request->hops;
    if (request->flags & SHOAL__REQUEST_INTERNAL) {
        if (pipe->hooks.on_own && !(request->flags & SHOAL__REQUEST_UNIT))
            pipe->hooks.on_own(pipe->owner, request, result);
        return;
    }
    shoal__overtaken_ended(&pipe->shared->overtaken, request);
    shoal__counter_add(&stats->completed, 1);
    if (status == 0) {
        shoal__counter_add(&stats->replies, 1);
        if (result->reply && result->reply->type == SHOAL_REPLY_ERROR)
            shoal__counter_add(&stats->error_replies, 1);
    } else if (status == SHOAL_ETIMEOUT) {
        result->is_offline = shoal__pipe_is_offline(pipe);
        shoal__counter_add(&stats->timeouts, 1);
    } else if (status == SHOAL_ECANCELLED) {
        shoal__counter_add(&stats->cancels, 1);
    } else {
        shoal__counter_add(&stats->failures, 1);
    }
    pipe->hooks.on_result(pipe->owner, request, result);
}

static bool fence_answered(shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    if (!shoal__pipe_fence_answered(pipe, reply))
        return false;
    shoal__request_ring_pop(&pipe->ring);
    shoal__buffer_consume(&pipe->log, SHOAL__FENCE_BYTES);
    pipe->sent_bytes -= SHOAL__FENCE_BYTES;
    pipe->fences.inflight--;
    return true;
}

/* The command was answered with an error: does the owner take it? */
static shoal__pipe_verdict_t ask_owner(shoal__pipe_t *pipe,
                                       const shoal__request_t *request,
                                       const shoal_reply_t *reply)
{
    const shoal__bytes_t error = {reply->as.text.data, reply->as.text.bytes};

    if (!pipe->hooks.on_error ||
        (request->flags & (SHOAL__REQUEST_ZOMBIE | SHOAL__REQUEST_INTERNAL)) ||
        (pipe->config->keeps_units && (request->flags & SHOAL__REQUEST_UNIT)))
        return SHOAL__PIPE_SURFACE; /* a unit was asked for: pipe_unit.c */
    if (shoal__pipe_script_missing(pipe, request, error) == SHOAL__PIPE_TAKEN)
        return SHOAL__PIPE_TAKEN;
    return pipe->hooks.on_error(pipe->owner, pipe, request,
                                shoal__buffer_data(&pipe->log), error);
}

/* The command needs its extra no more.  Returns the reply that its result holds: one that
 * is no error goes to the sink, if there is one. */
static const shoal_reply_t *end_extra(const shoal__pipe_t *pipe,
                                      const shoal__request_t *request,
                                      const shoal_reply_t *reply)
{
    const shoal__extra_t *extra = request->extra;
    const shoal_sink_t *sink = sink_of(pipe, extra);

    if (sink && !(reply && reply->type == SHOAL_REPLY_ERROR)) {
        if (reply)
            sink->on_leaf(reply, extra->sink_data);
        reply = NULL;
    }
    shoal__extra_drop(request->extra);
    return reply;
}

shoal__request_t shoal__pipe_pop(shoal__pipe_t *pipe, size_t referred_bytes)
{
    shoal__request_t request = *shoal__request_ring_at(&pipe->ring, pipe->ring.head);

    shoal__request_ring_pop(&pipe->ring);
    shoal__buffer_consume(&pipe->log, request.bytes);
    pipe->sent_bytes -= request.bytes;
    pipe->referred_bytes -= referred_bytes;
    return request;
}

/* What a result says of a command that was refused before, or is now. */
static void tell_way(shoal__pipe_t *pipe, const shoal__request_t *request,
                     const char *bytes, shoal_result_t *result)
{
    shoal__command_book_t *book = pipe->shared->overtaken.book;
    unsigned slot = pipe->config->keeps_units
                        ? shoal__request_slot(request, bytes, book)
                        : SHOAL__SLOT_NONE;

    result->slot_1 = slot < SHOAL__SLOTS ? slot + 1 : 0;
    result->was_reordered =
        request->was_refused &&
        ((pipe->kept.was_overtaken && (request->flags & SHOAL__REQUEST_UNIT_LAST)) ||
         shoal__overtaken_has(&pipe->shared->overtaken, request, bytes));
    if (result->was_reordered && !(request->flags & SHOAL__REQUEST_INTERNAL))
        shoal__counter_add(&pipe->stats.reordered, 1);
}

bool shoal__pipe_finish(shoal__pipe_t *pipe, const shoal__request_t *request,
                        const char *bytes, const shoal_reply_t *reply)
{
    shoal_result_t result = {.fate = SHOAL_FATE_REPLIED,
                             .detail = "",
                             .node = pipe->greeting.target->name,
                             .process = pipe->process,
                             .attempts = request->attempts + 1u};

    if (request->flags & SHOAL__REQUEST_ZOMBIE) {
        shoal__counter_add(&pipe->stats.zombies_dropped, 1);
        return false;
    }
    if (request->was_refused || (reply && reply->type == SHOAL_REPLY_ERROR))
        tell_way(pipe, request, bytes, &result);
    shoal__stage_times_total(&pipe->times, request->submitted_us, pipe->now_us);
    if (request->extra)
        reply = end_extra(pipe, request, reply);
    result.reply = reply;
    result.is_settled = shoal__pipe_is_settled(pipe);
    shoal__pipe_deliver_result(pipe, request, &result);
    return result.was_reordered;
}

/* The reply that the head of the registry waits for. */
static void head_answered(shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    shoal__request_t request = *shoal__request_ring_at(&pipe->ring, pipe->ring.head);
    const char *bytes = shoal__buffer_data(&pipe->log);
    bool is_error = reply && reply->type == SHOAL_REPLY_ERROR;
    /* Before it may belong to the owner. */
    size_t referred_bytes = shoal__request_referred_bytes(&request);
    pipe->was_refused = false;
    bool is_taken = is_error && ask_owner(pipe, &request, reply) == SHOAL__PIPE_TAKEN;

    (void)shoal__pipe_pop(pipe, referred_bytes);
    pipe->answered++;
    shoal__flush_policy_answered(&pipe->flush);
    if (is_taken)
        return;
    shoal__retry_budget_earn(&pipe->budget);
    if ((pipe->hold.state != SHOAL__HOLD_OPEN ||
         pipe->shared->overtaken.refused_now > 0) &&
        !pipe->was_refused)
        shoal__pipe_hold_answered(pipe, &request, bytes, is_error);
    shoal__pipe_finish(pipe, &request, bytes, reply);
}

/* A command was answered.  False: see pipe->fault. */
static bool command_answered(shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    const shoal__request_t *request =
        shoal__request_ring_at(&pipe->ring, shoal__pipe_due(pipe));

    if (request->flags & SHOAL__REQUEST_FENCE)
        return fence_answered(pipe, reply);
    if (pipe->config->keeps_units && (request->flags & SHOAL__REQUEST_UNIT)) {
        int rc = shoal__pipe_unit_answered(pipe, reply);
        if (rc < 0)
            return false;
        if (rc > 0) {
            pipe->answered++;
            shoal__flush_policy_answered(&pipe->flush);
            return true;
        }
    }
    head_answered(pipe, reply);
    return true;
}

/* Some servers say why they will not talk without being asked. */
bool shoal__pipe_refuse_unasked_error(shoal__pipe_t *pipe, shoal__bytes_t text)
{
    char words[200];

    if (shoal__greeting_may_hold_password(&pipe->greeting, text))
        return shoal__pipe_refuse_unasked(pipe);
    shoal__escape(words, sizeof words, text);
    snprintf(pipe->detail, sizeof pipe->detail, "the server said: %s", words);
    /* Every written command was answered: the error is about the one that is partly
     * written. */
    pipe->is_part_refused = pipe->part_bytes > 0;
    pipe->fault = pipe->is_part_refused ? SHOAL_ECONN : SHOAL_EDESYNC;
    return false;
}

static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    shoal__pipe_t *pipe = owner;
    bool is_greeting = pipe->phase == SHOAL__PIPE_GREETING;
    /* SUBSCRIBE is answered by one. */
    bool is_answer =
        is_push && is_greeting && shoal__greeting_awaits_push(&pipe->greeting, reply);
    shoal__inbound_frame_t frame = {
        .is_push = is_push && !is_answer,
        .is_greeting = is_greeting,
        .is_resp3 = pipe->is_resp3,
        .is_answer_due = is_greeting ? pipe->greeting.answers_due > 0
                                     : shoal__pipe_due(pipe) != pipe->ring.sent,
        .is_line = pipe->is_monitor && reply && reply->type == SHOAL_REPLY_STATUS,
    };

    switch (shoal__inbound(&frame)) {
    case SHOAL__INBOUND_REPLY:
        if (pipe->is_misshapen)
            return shoal__pipe_refuse(
                pipe, SHOAL_EDESYNC, "a reply is of a type that its command never has");
        return command_answered(pipe, reply);
    case SHOAL__INBOUND_GREETING:
        return shoal__pipe_greeting_answered(pipe, reply);
    case SHOAL__INBOUND_PUSH:
        shoal__counter_add(&pipe->stats.pushes, 1);
        if (shoal__maintenance_hear(&pipe->maintenance, reply, pipe->now_us))
            return true;
        if (pipe->hooks.on_push)
            pipe->hooks.on_push(pipe->owner, reply);
        return true;
    case SHOAL__INBOUND_VIOLATION:
        break;
    }
    if (reply && reply->type == SHOAL_REPLY_ERROR)
        return shoal__pipe_refuse_unasked_error(
            pipe, (shoal__bytes_t){reply->as.text.data, reply->as.text.bytes});
    return shoal__pipe_refuse_unasked(pipe);
}

const shoal__decoder_hooks_t shoal__pipe_decoder_hooks = {.on_begin = on_begin,
                                                          .on_reply = on_reply};

/* ---- bytes ---- */

int shoal__pipe_decode(shoal__pipe_t *pipe, const char *data, size_t bytes)
{
    int rc;

    pipe->answered = 0;
    pipe->reply_bytes += bytes;
    if (pipe->reply_bytes > SHOAL__HEAVY_REPLY_BYTES)
        shoal__pipe_learn(pipe);
    shoal__flush_policy_read_begin(&pipe->flush, pipe->now_us);
    rc = shoal__decoder_feed(pipe->decoder, data, bytes);
    shoal__flush_policy_read_end(&pipe->flush, pipe->now_us);
    if (pipe->answered > 0)
        pipe->reply_bytes = 0;
    shoal__stage_times_answered(&pipe->times, pipe->answered, pipe->now_us);
    if (rc < 0 && pipe->fault == 0) {
        pipe->is_reply_refused = shoal__decoder_is_over_limit(pipe->decoder);
        shoal__pipe_refuse(pipe, rc, shoal__decoder_error(pipe->decoder));
    }
    /* A reply that begins before a command was written is no reply to it. */
    if (pipe->fault == 0 && pipe->phase == SHOAL__PIPE_READY && !pipe->is_monitor &&
        shoal__pipe_due(pipe) == pipe->ring.sent &&
        shoal__decoder_is_mid_reply(pipe->decoder) && !pipe->config->is_subscriber)
        shoal__pipe_refuse_unasked(pipe);
    if (shoal__buffer_bytes(&pipe->log) == 0)
        shoal__buffer_shrink(&pipe->log, LOG_BYTES_KEPT);
    return pipe->fault;
}

char *shoal__pipe_room(shoal__pipe_t *pipe, size_t *ret_bytes)
{
    return shoal__pipe_is_strict(pipe) ? NULL
                                       : shoal__decoder_room(pipe->decoder, ret_bytes);
}

void shoal__pipe_heard(shoal__pipe_t *pipe, uint64_t now_us)
{
    pipe->now_us = now_us;
    pipe->heard_us = pipe->waiting_since_us = now_us;
}

int shoal__pipe_feed(shoal__pipe_t *pipe, const char *data, size_t bytes,
                     uint64_t now_us)
{
    shoal__pipe_heard(pipe, now_us);
    pipe->is_warm = true;
    pipe->greeting.heard_anything = true;
    if (pipe->config->is_subscriber)
        return shoal__pipe_listen(pipe, data, bytes);
    return shoal__pipe_is_strict(pipe) ? shoal__pipe_hold(pipe, data, bytes)
                                       : shoal__pipe_decode(pipe, data, bytes);
}
