/* SPDX-License-Identifier: MIT */
#include "core/pipe.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "base/mutant.h"
#include "base/time_us.h"
#include "core/error_rule.h"
#include "core/inbound.h"
#include "resp/reply_shape.h"
#include <assert.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define RING_SLOTS_FIRST 64
#define LOG_BYTES_KEPT 262144
#define RETIRE_US 1000000 /* a demoted primary is drained for so long */
#define RETIRE_SPACING_US 1000000
#define RETRY_DELAY_US_BASE 8000
#define RETRY_DELAY_US_MAX 1000000

static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type);
static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push);

int shoal__pipe_init(shoal__pipe_t *pipe, const shoal__pipe_config_t *config,
                     shoal_client_t *client, shoal__random_t *random)
{
    const shoal__decoder_hooks_t hooks = {.on_begin = on_begin, .on_reply = on_reply};
    int rc;

    *pipe = (shoal__pipe_t){.config = config, .client = client, .random = random};
    pipe->retire_us = SHOAL__NEVER_US;
    shoal__buffer_init(&pipe->log);
    shoal__buffer_init(&pipe->held.bytes);
    shoal__nonce_init(&pipe->nonce, config->entropy);
    shoal__deadlines_init(&pipe->deadlines);
    shoal__stage_times_init(&pipe->times);
    shoal__retries_init(&pipe->retries);
    shoal__greeting_init(&pipe->greeting, &config->greeting);
    shoal__flush_policy_init(&pipe->flush, &config->flush);
    rc = shoal__request_ring_init(&pipe->ring, RING_SLOTS_FIRST);
    if (rc < 0)
        goto fail;
    rc = shoal__decoder_new(&pipe->decoder, &config->reply, &hooks, pipe);
    if (rc < 0)
        goto fail;
    return 0;

fail:
    shoal__pipe_release(pipe);
    return rc;
}

void shoal__pipe_release(shoal__pipe_t *pipe)
{
    for (uint64_t at = pipe->ring.head; at != pipe->ring.tail; at++)
        shoal__sink_ref_drop(shoal__request_ring_at(&pipe->ring, at)->sink);
    shoal__decoder_free(pipe->decoder);
    pipe->decoder = NULL;
    shoal__greeting_release(&pipe->greeting);
    shoal__retries_release(&pipe->retries);
    shoal__request_ring_release(&pipe->ring);
    shoal__buffer_release(&pipe->held.bytes);
    shoal__buffer_release(&pipe->log);
}

/* ---- commands in ---- */

char *shoal__pipe_reserve(shoal__pipe_t *pipe, size_t bytes, size_t commands)
{
    /* With room for a fence, so that none makes them grow.  (P2) */
    if (shoal__request_ring_reserve(&pipe->ring, commands + 1) < 0)
        return NULL;
    return shoal__buffer_reserve(&pipe->log, bytes + SHOAL__FENCE_BYTES);
}

void shoal__pipe_push(shoal__pipe_t *pipe, const shoal__request_t *request)
{
    *shoal__pipe_claim(pipe) = *request;
    shoal__pipe_pushed(pipe, request);
    if (request->flags & SHOAL__REQUEST_RETRIED)
        pipe->ring.retried++;
}

/* ---- the greeting ---- */

static void greeted(shoal__pipe_t *pipe)
{
    pipe->phase = SHOAL__PIPE_READY;
    pipe->is_resp3 = pipe->greeting.protocol == 3;
    pipe->is_settled = pipe->greeting.is_settled;
    pipe->is_offline = false;
    pipe->fences.put_us = pipe->now_us; /* the greeting was one, where it matters */
    shoal__counter_add(
        pipe->greeting.is_settled ? &pipe->stats.settled : &pipe->stats.unsettled, 1);
}

int shoal__pipe_begin(shoal__pipe_t *pipe, shoal__greeting_style_t style,
                      uint64_t now_us)
{
    pipe->now_us = now_us;
    pipe->fault = 0;
    pipe->detail[0] = '\0';
    pipe->heard_us = pipe->waiting_since_us = now_us;
    pipe->retire_us = SHOAL__NEVER_US;
    if (shoal__decoder_reset(pipe->decoder) < 0) {
        shoal__pipe_refuse(pipe, SHOAL_ENOMEM, "no memory for the greeting");
        return pipe->fault;
    }

    shoal__pipe_fence_reset(pipe);
    pipe->phase = SHOAL__PIPE_GREETING;
    /* It says something in any case: it is not done yet. */
    if (shoal__greeting_start(&pipe->greeting, style, &pipe->nonce) ==
        SHOAL__GREETING_FAILED)
        shoal__pipe_refuse(pipe, pipe->greeting.status, pipe->greeting.detail);
    return pipe->fault;
}

/* ---- bytes in ---- */

/* What is behind a MULTI that was rejected runs by itself.  Noted here, because a reply to
 * one that was given up is not seen later. */
static shoal__reply_shape_t shape_in_unit(shoal__pipe_t *pipe,
                                          const shoal__request_t *request,
                                          shoal_reply_type_t type)
{
    if (request->flags & SHOAL__REQUEST_UNIT_FIRST)
        pipe->is_unit_rejected = type == SHOAL_REPLY_ERROR;
    else if (pipe->is_unit_rejected)
        return SHOAL__SHAPE_ANY;
    return (shoal__reply_shape_t)request->shape;
}

static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type)
{
    shoal__pipe_t *pipe = owner;
    shoal__decoder_target_t target = {0};
    const shoal__request_t *head;
    shoal__reply_shape_t shape;

    pipe->is_misshapen = false;
    if (pipe->phase != SHOAL__PIPE_READY || pipe->ring.head == pipe->ring.sent)
        return target;
    head = shoal__request_ring_at(&pipe->ring, pipe->ring.head);
    shape = (shoal__reply_shape_t)head->shape;
    if (head->flags & SHOAL__REQUEST_UNIT)
        shape = shape_in_unit(pipe, head, type);
    pipe->is_misshapen =
        !SHOAL__MUTANT(SHAPE_NOT_CHECKED) && !shoal__reply_shape_allows(shape, type);
    target.discard = pipe->is_misshapen || (head->flags & SHOAL__REQUEST_ZOMBIE);
    if (head->sink) {
        target.sink = head->sink->sink;
        target.sink_data = head->sink->data;
    }
    return target;
}

bool shoal__pipe_refuse(shoal__pipe_t *pipe, int fault, const char *detail)
{
    pipe->fault = fault;
    snprintf(pipe->detail, sizeof pipe->detail, "%s", detail);
    return false;
}

static bool greeting_answer(shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    switch (shoal__greeting_reply(&pipe->greeting, reply)) {
    case SHOAL__GREETING_MORE:
        if (SHOAL__MUTANT(READY_TOO_EARLY))
            pipe->phase = SHOAL__PIPE_READY;
        return true;
    case SHOAL__GREETING_DONE:
        greeted(pipe);
        return true;
    case SHOAL__GREETING_FAILED:
        break;
    }
    return shoal__pipe_refuse(pipe, pipe->greeting.status, pipe->greeting.detail);
}

/* The error proves that the command did not run: keep it for another attempt. */
static bool send_again(shoal__pipe_t *pipe, const shoal__request_t *request,
                       const char *bytes, const shoal_reply_t *reply)
{
    shoal__error_input_t input = {
        .text = {reply->as.text.data, reply->as.text.bytes},
        .command_class = request->command_class,
        .is_once = (request->flags & SHOAL__REQUEST_ONCE) != 0,
        .is_unit = (request->flags & SHOAL__REQUEST_UNIT) != 0,
        .has_credentials = pipe->config->greeting.password != NULL,
        .may_retry = request->attempts + 1u < pipe->config->attempts_max &&
                     shoal__retries_allowed(&pipe->retries),
    };
    shoal__error_verdict_t verdict = shoal__error_rule(&input);
    shoal__request_t again = *request;
    unsigned doublings = request->attempts < 7 ? request->attempts : 7;
    uint64_t delay_us;

    if (verdict == SHOAL__ERROR_SURFACE)
        return false;
    again.attempts++;
    again.flags |= SHOAL__REQUEST_RETRIED;
    delay_us =
        shoal__time_min((uint64_t)RETRY_DELAY_US_BASE << doublings, RETRY_DELAY_US_MAX);
    delay_us = shoal__random_below(pipe->random, delay_us + 1);
    if (shoal__retries_add(&pipe->retries, &again, bytes, pipe->now_us + delay_us) < 0)
        return false;
    shoal__retries_spend(&pipe->retries);
    shoal__counter_add(&pipe->stats.retries, 1);
    if (verdict == SHOAL__ERROR_REDIAL && pipe->retire_us == SHOAL__NEVER_US &&
        (pipe->retired_us == 0 ||
         pipe->now_us - pipe->retired_us > RETIRE_SPACING_US)) {
        pipe->retire_us = pipe->now_us + RETIRE_US;
        pipe->retired_us = pipe->now_us;
    }
    return true;
}

void shoal__pipe_deliver(shoal__pipe_t *pipe, const shoal__request_t *request,
                         int status, shoal_fate_t fate, const shoal_reply_t *reply,
                         uint32_t attempts, const char *detail)
{
    shoal_result_t result = {.status = status,
                             .fate = fate,
                             .reply = reply,
                             .detail = detail,
                             .attempts = attempts,
                             .is_settled = status == 0 && pipe->is_settled,
                             .tag = request->tag,
                             .ticket = request->ticket};

    if (request->flags & SHOAL__REQUEST_INTERNAL)
        return;
    shoal__counter_add(&pipe->stats.completed, 1);
    if (status == 0) {
        shoal__counter_add(&pipe->stats.replies, 1);
        if (reply && reply->type == SHOAL_REPLY_ERROR)
            shoal__counter_add(&pipe->stats.error_replies, 1);
    } else if (status == SHOAL_ETIMEOUT) {
        shoal__counter_add(&pipe->stats.timeouts, 1);
    } else if (status == SHOAL_ECANCELLED) {
        shoal__counter_add(&pipe->stats.cancels, 1);
    } else {
        shoal__counter_add(&pipe->stats.failures, 1);
    }
    if (request->on_result)
        request->on_result(pipe->client, &result, request->data);
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

/* The reply that the head of the registry waits for.  A mutant alone calls itself.
 * NOLINTNEXTLINE(misc-no-recursion) */
static void head_answered(shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    shoal__request_t request = *shoal__request_ring_at(&pipe->ring, pipe->ring.head);
    bool is_error = reply && reply->type == SHOAL_REPLY_ERROR;
    bool is_sent_again = false;

    if (is_error &&
        !(request.flags & (SHOAL__REQUEST_ZOMBIE | SHOAL__REQUEST_INTERNAL)))
        is_sent_again =
            send_again(pipe, &request, shoal__buffer_data(&pipe->log), reply);
    shoal__request_ring_pop(&pipe->ring);
    shoal__buffer_consume(&pipe->log, request.bytes);
    pipe->sent_bytes -= request.bytes;
    pipe->answered++;
    shoal__flush_policy_answered(&pipe->flush);
    if (is_sent_again)
        return;
    shoal__retries_earn(&pipe->retries);
    if (request.flags & SHOAL__REQUEST_ZOMBIE) {
        shoal__counter_add(&pipe->stats.zombies_dropped, 1);
        return;
    }
    shoal__stage_times_total(&pipe->times, request.submitted_us, pipe->now_us);
    if (request.sink) {
        if (reply && !is_error)
            request.sink->sink->on_leaf(reply, request.sink->data);
        shoal__sink_ref_drop(request.sink);
        reply = is_error ? reply : NULL;
    }
    shoal__pipe_deliver(pipe, &request, 0, SHOAL_FATE_REPLIED, reply,
                        request.attempts + 1u, "");
    if (SHOAL__MUTANT(ERROR_ENDS_BATCH) && is_error &&
        pipe->ring.head != pipe->ring.sent)
        head_answered(pipe, reply);
}

static bool refuse_unasked(shoal__pipe_t *pipe)
{
    return shoal__pipe_refuse(pipe, SHOAL_EDESYNC,
                              "the server sent a reply that nobody waits for");
}

/* Some servers say why they will not talk without being asked. */
static bool refuse_unasked_error(shoal__pipe_t *pipe, shoal__bytes_t text)
{
    char words[200];

    if (shoal__greeting_may_hold_password(&pipe->greeting, text))
        return refuse_unasked(pipe);
    shoal__escape(words, sizeof words, text);
    snprintf(pipe->detail, sizeof pipe->detail, "the server said: %s", words);
    pipe->fault = SHOAL_EDESYNC;
    return false;
}

static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    shoal__pipe_t *pipe = owner;
    bool is_greeting = pipe->phase == SHOAL__PIPE_GREETING;
    shoal__inbound_frame_t frame = {
        .is_push = is_push,
        .is_greeting = is_greeting,
        .is_resp3 = pipe->is_resp3,
        .is_answer_due = is_greeting ? pipe->greeting.answers_due > 0
                                     : pipe->ring.head != pipe->ring.sent,
    };

    switch (shoal__inbound(&frame)) {
    case SHOAL__INBOUND_REPLY:
        if (pipe->is_misshapen)
            return shoal__pipe_refuse(
                pipe, SHOAL_EDESYNC, "a reply is of a type that its command never has");
        if (shoal__request_ring_at(&pipe->ring, pipe->ring.head)->flags &
            SHOAL__REQUEST_FENCE)
            return fence_answered(pipe, reply);
        head_answered(pipe, reply);
        return true;
    case SHOAL__INBOUND_GREETING:
        return greeting_answer(pipe, reply);
    case SHOAL__INBOUND_PUSH:
        shoal__counter_add(&pipe->stats.pushes, 1);
        return true;
    case SHOAL__INBOUND_VIOLATION:
        if (SHOAL__MUTANT(UNASKED_IGNORED))
            return true;
        break;
    }
    /* What nobody waits for has no sink: it is a tree. */
    if (reply->type == SHOAL_REPLY_ERROR)
        return refuse_unasked_error(
            pipe, (shoal__bytes_t){reply->as.text.data, reply->as.text.bytes});
    return refuse_unasked(pipe);
}

int shoal__pipe_decode(shoal__pipe_t *pipe, const char *data, size_t bytes)
{
    int rc;

    pipe->answered = 0;
    pipe->is_inside = true;
    shoal__flush_policy_read_begin(&pipe->flush, pipe->now_us);
    rc = shoal__decoder_feed(pipe->decoder, data, bytes);
    shoal__flush_policy_read_end(&pipe->flush, pipe->now_us);
    pipe->is_inside = false;
    if (SHOAL__MUTANT(SWALLOW_FRAME_FAILURE) && rc == SHOAL_ENOMEM)
        rc = 0;
    shoal__stage_times_answered(&pipe->times, pipe->answered, pipe->now_us);
    if (rc < 0 && pipe->fault == 0)
        shoal__pipe_refuse(pipe, rc, shoal__decoder_error(pipe->decoder));
    /* What begins before a command was written is no reply to it. */
    if (pipe->fault == 0 && pipe->phase == SHOAL__PIPE_READY &&
        pipe->ring.head == pipe->ring.sent &&
        shoal__decoder_is_mid_reply(pipe->decoder))
        refuse_unasked(pipe);
    if (shoal__buffer_bytes(&pipe->log) == 0)
        shoal__buffer_shrink(&pipe->log, LOG_BYTES_KEPT);
    return pipe->fault;
}

int shoal__pipe_feed(shoal__pipe_t *pipe, const char *data, size_t bytes,
                     uint64_t now_us)
{
    bool is_held = pipe->config->greeting.integrity == SHOAL_INTEGRITY_STRICT;

    pipe->now_us = now_us;
    pipe->heard_us = pipe->waiting_since_us = now_us;
    pipe->greeting.heard_anything = true;
    return is_held ? shoal__pipe_hold(pipe, data, bytes)
                   : shoal__pipe_decode(pipe, data, bytes);
}

/* ---- figures ---- */

bool shoal__pipe_is_idle(const shoal__pipe_t *pipe)
{
    if (pipe->retries.count)
        return false;
    for (uint64_t at = pipe->ring.head; at != pipe->ring.tail; at++) {
        uint16_t flags = shoal__request_ring_at(&pipe->ring, at)->flags;
        if (!(flags &
              (SHOAL__REQUEST_ZOMBIE | SHOAL__REQUEST_GONE | SHOAL__REQUEST_INTERNAL)))
            return false;
    }
    return true;
}

static void publish_flushing(shoal__pipe_stats_t *stats,
                             const shoal__flush_auto_t *learned)
{
    const shoal__flush_tempo_t *tempo = &learned->tempo;

    shoal__counter_set(&stats->probes, learned->guard.probes);
    shoal__counter_set(&stats->trials, learned->guard.trials);
    shoal__counter_set(&stats->callers_now,
                       shoal__flush_census_callers(&learned->census));
    shoal__counter_set(&stats->is_open_now, learned->guard.state == SHOAL__GUARD_OPEN);
    shoal__counter_set(&stats->gap_ns_now,
                       tempo->gap_ns == SHOAL__NEVER_US ? 0 : tempo->gap_ns);
    shoal__counter_set(&stats->rtt_us_now, tempo->rtt_us);
    shoal__counter_set(&stats->late_us_now, tempo->late_us);
}

void shoal__pipe_publish(shoal__pipe_t *pipe)
{
    shoal__counter_set(&pipe->stats.queued_now, shoal__pipe_queued(pipe));
    shoal__counter_set(&pipe->stats.inflight_now, shoal__pipe_inflight(pipe));
    shoal__counter_set(&pipe->stats.bytes_now,
                       shoal__buffer_bytes(&pipe->log) + pipe->retries.bytes);
    publish_flushing(&pipe->stats, &pipe->flush.learned);
}
