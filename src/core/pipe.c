/* SPDX-License-Identifier: MIT */
#include "core/pipe.h"

#include "base/alloc.h"
#include "base/escape.h"
#include "base/time_us.h"
#include "core/error_rule.h"
#include "core/inbound.h"
#include <assert.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define RING_SLOTS_FIRST 64
#define LOG_BYTES_KEPT 262144
#define WRITE_BYTES_MAX 262144
#define RETIRE_US 1000000 /* a demoted primary is drained for so long */
#define RETIRE_SPACING_US 1000000
#define RETRY_DELAY_US_BASE 8000
#define RETRY_DELAY_US_MAX 1000000

static shoal__decoder_target_t on_begin(void *owner);
static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push);

int shoal__pipe_init(shoal__pipe_t *pipe, const shoal__pipe_config_t *config,
                     shoal_client_t *client, shoal__random_t *random)
{
    const shoal__decoder_hooks_t hooks = {.on_begin = on_begin, .on_reply = on_reply};
    int rc;

    *pipe = (shoal__pipe_t){.config = config, .client = client, .random = random};
    pipe->retire_us = SHOAL__NEVER_US;
    shoal__buffer_init(&pipe->log);
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
    shoal__buffer_release(&pipe->log);
}

/* ---- commands in ---- */

char *shoal__pipe_reserve(shoal__pipe_t *pipe, size_t bytes, size_t commands)
{
    if (shoal__request_ring_reserve(&pipe->ring, commands) < 0)
        return NULL;
    return shoal__buffer_reserve(&pipe->log, bytes);
}

void shoal__pipe_push(shoal__pipe_t *pipe, const shoal__request_t *request)
{
    *shoal__pipe_claim(pipe) = *request;
    shoal__pipe_pushed(pipe, request);
    if (request->flags & SHOAL__REQUEST_RETRIED)
        pipe->ring.retried++;
}

/* ---- bytes out ---- */

int shoal__pipe_begin(shoal__pipe_t *pipe, shoal__greeting_style_t style,
                      uint64_t now_us)
{
    pipe->now_us = now_us;
    pipe->fault = 0;
    pipe->detail[0] = '\0';
    pipe->heard_us = pipe->waiting_since_us = now_us;
    pipe->retire_us = SHOAL__NEVER_US;
    if (shoal__decoder_reset(pipe->decoder) < 0)
        return SHOAL_ENOMEM;

    pipe->phase = SHOAL__PIPE_GREETING;
    switch (shoal__greeting_start(&pipe->greeting, style)) {
    case SHOAL__GREETING_MORE:
        break;
    case SHOAL__GREETING_DONE:
        pipe->phase = SHOAL__PIPE_READY;
        pipe->is_resp3 = false;
        pipe->is_offline = false;
        break;
    case SHOAL__GREETING_FAILED:
        return pipe->greeting.status;
    }
    return 0;
}

/* Let what is queued leave, up to so many commands (0: all) and to the bound of what
 * may be in flight. */
static void authorise(shoal__pipe_t *pipe, uint64_t commands)
{
    uint64_t queued = shoal__request_ring_queued(&pipe->ring);
    uint64_t inflight = shoal__request_ring_inflight(&pipe->ring);
    uint64_t room = pipe->config->inflight_max > inflight
                        ? pipe->config->inflight_max - inflight
                        : 0;
    size_t bytes = shoal__buffer_bytes(&pipe->log) - pipe->sent_bytes;

    if (commands && commands < room)
        room = commands;
    if (room < queued) {
        bytes = 0;
        for (uint64_t i = 0; i < room; i++)
            bytes += shoal__request_ring_at(&pipe->ring, pipe->ring.sent + i)->bytes;
        queued = room;
    }
    pipe->authorised = queued;
    pipe->authorised_bytes = bytes ? bytes - pipe->part_bytes : 0;
}

static void count_flush(shoal__pipe_t *pipe, shoal_flush_reason_t reason)
{
    unsigned bucket = 0;

    for (uint64_t left = pipe->authorised; left > 1; left /= 2)
        bucket++;
    if (bucket >= SHOAL_STATS_BATCH_BUCKETS)
        bucket = SHOAL_STATS_BATCH_BUCKETS - 1;
    shoal__counter_add(&pipe->stats.flushes, 1);
    shoal__counter_add(&pipe->stats.batch_histogram[bucket], 1);
    shoal__counter_add(&pipe->stats.flush_reasons[reason], 1);
}

static bool may_send(const shoal__pipe_t *pipe)
{
    return pipe->phase == SHOAL__PIPE_READY && pipe->retire_us == SHOAL__NEVER_US &&
           shoal__request_ring_inflight(&pipe->ring) < pipe->config->inflight_max;
}

shoal__bytes_t shoal__pipe_output(shoal__pipe_t *pipe, uint64_t now_us,
                                  uint64_t *ret_wake_us)
{
    const shoal__bytes_t nothing = {NULL, 0};

    *ret_wake_us = SHOAL__NEVER_US;
    pipe->wake_after = 1;
    if (pipe->phase == SHOAL__PIPE_GREETING)
        return (shoal__bytes_t){shoal__buffer_data(&pipe->greeting.outgoing),
                                shoal__buffer_bytes(&pipe->greeting.outgoing)};

    if (pipe->authorised_bytes == 0) {
        if (!may_send(pipe))
            return nothing;
        if (pipe->ring.gone)
            shoal__pipe_sweep(pipe);
        shoal__flush_answer_t answer =
            shoal__flush_policy_ask(&pipe->flush, pipe->deadlines.earliest_us, now_us);
        if (answer.verdict != SHOAL__FLUSH_NOW) {
            if (answer.verdict == SHOAL__FLUSH_WAIT)
                shoal__counter_add(&pipe->stats.holds, 1);
            *ret_wake_us = answer.wake_us;
            pipe->wake_after = answer.wake_after;
            return nothing;
        }
        authorise(pipe, answer.commands);
        count_flush(pipe, answer.reason);
    }

    size_t bytes = pipe->authorised_bytes;
    return (shoal__bytes_t){shoal__buffer_data(&pipe->log) + pipe->sent_bytes +
                                pipe->part_bytes,
                            bytes < WRITE_BYTES_MAX ? bytes : WRITE_BYTES_MAX};
}

void shoal__pipe_written(shoal__pipe_t *pipe, size_t bytes, uint64_t now_us)
{
    uint64_t commands = 0;
    size_t whole_bytes = 0;

    if (pipe->phase == SHOAL__PIPE_GREETING) {
        shoal__greeting_written(&pipe->greeting, bytes);
        return;
    }
    assert(bytes <= pipe->authorised_bytes);
    if (shoal__request_ring_inflight(&pipe->ring) == 0)
        pipe->waiting_since_us = now_us;
#ifdef SHOAL_MUTANT_WRITE_RESTARTS_STALL
    pipe->waiting_since_us = now_us;
#endif
    if (bytes == pipe->authorised_bytes) {
        commands = pipe->authorised;
        whole_bytes = pipe->part_bytes + bytes;
        pipe->part_bytes = 0;
    } else {
        size_t left = pipe->part_bytes + bytes;
        uint64_t at = pipe->ring.sent;
        while (left >= shoal__request_ring_at(&pipe->ring, at)->bytes) {
            left -= shoal__request_ring_at(&pipe->ring, at)->bytes;
            at++;
        }
        commands = at - pipe->ring.sent;
        whole_bytes = pipe->part_bytes + bytes - left;
        pipe->part_bytes = left;
    }
    pipe->authorised -= commands;
    pipe->authorised_bytes -= bytes;
    pipe->sent_bytes += whole_bytes;
    shoal__request_ring_mark_sent(&pipe->ring, commands);
    shoal__flush_policy_flushed(&pipe->flush, commands, whole_bytes, now_us);
    shoal__stage_times_written(&pipe->times, commands, now_us);
}

/* ---- bytes in ---- */

static shoal__decoder_target_t on_begin(void *owner)
{
    shoal__pipe_t *pipe = owner;
    shoal__decoder_target_t target = {0};
    shoal__request_t *head;

    if (pipe->phase != SHOAL__PIPE_READY || pipe->ring.head == pipe->ring.sent)
        return target;
    head = shoal__request_ring_at(&pipe->ring, pipe->ring.head);
    target.discard = (head->flags & SHOAL__REQUEST_ZOMBIE) != 0;
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
        return true;
    case SHOAL__GREETING_DONE:
        pipe->phase = SHOAL__PIPE_READY;
        pipe->is_resp3 = pipe->greeting.protocol == 3;
        pipe->is_offline = false;
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
        .command_class = (shoal__command_class_t)request->command_class,
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
                             .tag = request->tag};

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

/* The reply that the head of the registry waits for. */
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
        head_answered(pipe, reply);
        return true;
    case SHOAL__INBOUND_GREETING:
        return greeting_answer(pipe, reply);
    case SHOAL__INBOUND_PUSH:
        shoal__counter_add(&pipe->stats.pushes, 1);
        return true;
    case SHOAL__INBOUND_VIOLATION:
        break;
    }
    if (reply && reply->type == SHOAL_REPLY_ERROR) {
        /* Some servers say why they will not talk before anything was asked. */
        char words[200];
        shoal__escape(words, sizeof words,
                      (shoal__bytes_t){reply->as.text.data, reply->as.text.bytes});
        snprintf(pipe->detail, sizeof pipe->detail, "the server said: %s", words);
        pipe->fault = is_greeting ? SHOAL_ECONN : SHOAL_EDESYNC;
        return false;
    }
    return shoal__pipe_refuse(pipe, SHOAL_EDESYNC,
                              "the server sent a reply that nobody waits for");
}

int shoal__pipe_feed(shoal__pipe_t *pipe, const char *data, size_t bytes,
                     uint64_t now_us)
{
    int rc;

    pipe->now_us = now_us;
    pipe->answered = 0;
    pipe->heard_us = pipe->waiting_since_us = now_us;
    pipe->greeting.heard_anything = true;
    pipe->is_inside = true;
    shoal__flush_policy_read_begin(&pipe->flush, now_us);
    rc = shoal__decoder_feed(pipe->decoder, data, bytes);
    shoal__flush_policy_read_end(&pipe->flush, now_us);
    pipe->is_inside = false;
    shoal__stage_times_answered(&pipe->times, pipe->answered, now_us);
    if (rc < 0 && pipe->fault == 0)
        shoal__pipe_refuse(pipe, rc, shoal__decoder_error(pipe->decoder));
    if (shoal__buffer_bytes(&pipe->log) == 0)
        shoal__buffer_shrink(&pipe->log, LOG_BYTES_KEPT);
    return pipe->fault;
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
    shoal__counter_set(&pipe->stats.queued_now,
                       shoal__request_ring_queued(&pipe->ring));
    shoal__counter_set(&pipe->stats.inflight_now,
                       shoal__request_ring_inflight(&pipe->ring));
    shoal__counter_set(&pipe->stats.bytes_now,
                       shoal__buffer_bytes(&pipe->log) + pipe->retries.bytes);
    publish_flushing(&pipe->stats, &pipe->flush.learned);
}
