/* SPDX-License-Identifier: MIT */
#include "core/pipe/pipe.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

int shoal__pipe_init(shoal__pipe_t *pipe, const shoal__pipe_parts_t *parts,
                     const shoal__pipe_hooks_t *hooks, void *owner)
{
    const shoal__pipe_config_t *config = parts->config;
    int rc;

    *pipe = (shoal__pipe_t){.config = config,
                            .shared = parts->shared,
                            .hooks = *hooks,
                            .owner = owner,
                            .are_others_settled = true};
    shoal__renewal_init(&pipe->renewal);
    shoal__buffer_init(&pipe->log);
    shoal__buffer_init(&pipe->held.bytes);
    shoal__buffer_init(&pipe->kept.words);
    shoal__deadlines_init(&pipe->deadlines);
    shoal__stage_times_init(&pipe->times, &parts->shared->latencies);
    shoal__retry_budget_init(&pipe->budget);
    shoal__greeting_init(&pipe->greeting, &config->greeting, parts->target,
                         pipe->detail);
    shoal__flush_policy_init(&pipe->flush, &config->flush);
    (void)shoal__request_ring_init(&pipe->ring, 0); /* without slots it cannot fail */
    rc = shoal__decoder_new(&pipe->decoder, &config->reply,
                            config->is_subscriber ? &shoal__pipe_subscriber_hooks
                                                  : &shoal__pipe_decoder_hooks,
                            pipe);
    if (rc < 0)
        shoal__pipe_release(pipe);
    return rc;
}

void shoal__pipe_release(shoal__pipe_t *pipe)
{
    for (uint64_t at = pipe->ring.head; at != pipe->ring.tail; at++)
        shoal__extra_drop(shoal__request_ring_at(&pipe->ring, at)->extra);
    shoal__decoder_free(pipe->decoder);
    pipe->decoder = NULL;
    shoal__pipe_doubt_forget(pipe);
    shoal__greeting_release(&pipe->greeting);
    shoal__pipe_free_pen(pipe);
    shoal__free(pipe->maintenance);
    shoal__stage_times_rest(&pipe->times);
    shoal__request_ring_release(&pipe->ring);
    shoal__buffer_release(&pipe->held.bytes);
    shoal__buffer_release(&pipe->kept.words);
    shoal__buffer_release(&pipe->log);
}

/* ---- commands in ---- */

void shoal__pipe_push(shoal__pipe_t *pipe, const shoal__request_t *request)
{
    *shoal__pipe_claim(pipe) = *request;
    if (request->extra)
        shoal__pipe_refer(pipe, shoal__request_referred_bytes(request));
    shoal__pipe_pushed(pipe, request);
    if (request->flags & SHOAL__REQUEST_RETRIED) {
        pipe->ring.retried++;
        if (request->flags & SHOAL__REQUEST_ALONE)
            shoal__request_ring_note_alone(&pipe->ring, pipe->ring.tail - 1);
    }
}

/* ---- the greeting ---- */

static void greeted(shoal__pipe_t *pipe)
{
    pipe->phase = SHOAL__PIPE_READY;
    if (pipe->greeting.step == SHOAL__GREETING_AT_AUTH_AGAIN)
        return; /* the connection is the same */
    pipe->is_resp3 = pipe->greeting.protocol == 3;
    pipe->is_settled = pipe->greeting.is_settled;
    pipe->process =
        shoal__identity_number(&pipe->greeting.identity, ++pipe->shared->greeted);
    pipe->scripts_loaded = 0;
    shoal__pipe_doubt_changed(pipe);
    pipe->is_offline = false;
    pipe->fences.put_us = pipe->now_us; /* the greeting's ECHO counts as a fence */
    shoal__counter_add(
        pipe->greeting.is_settled ? &pipe->stats.settled : &pipe->stats.unsettled, 1);
}

void shoal__pipe_reset(shoal__pipe_t *pipe)
{
    pipe->is_warm = true;
    pipe->fault = 0;
    pipe->is_part_refused = pipe->is_reply_refused = false;
    pipe->heard_us = pipe->waiting_since_us = pipe->now_us;
    pipe->reply_bytes = 0;
    shoal__renewal_over(&pipe->renewal);
    shoal__maintenance_reset(pipe->maintenance);
    shoal__pipe_fence_reset(pipe);
    pipe->phase = SHOAL__PIPE_GREETING;
}

int shoal__pipe_go_on(shoal__pipe_t *pipe, shoal__greeting_verdict_t verdict)
{
    switch (verdict) {
    case SHOAL__GREETING_MORE:
        break;
    case SHOAL__GREETING_DONE:
        greeted(pipe);
        break;
    case SHOAL__GREETING_FAILED:
        pipe->fault = pipe->greeting.status; /* the reason is in pipe->detail */
        break;
    }
    return pipe->fault;
}

int shoal__pipe_begin(shoal__pipe_t *pipe, shoal__greeting_style_t style,
                      uint64_t now_us)
{
    pipe->now_us = now_us;
    shoal__pipe_reset(pipe);
    if (shoal__decoder_reset(pipe->decoder) < 0) {
        pipe->phase = SHOAL__PIPE_DOWN;
        shoal__pipe_refuse(pipe, SHOAL_ENOMEM, "no memory for the greeting");
        return pipe->fault;
    }
    return shoal__pipe_go_on(
        pipe, shoal__greeting_start(&pipe->greeting, style, &pipe->shared->nonce));
}

bool shoal__pipe_greeting_answered(shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    return shoal__pipe_go_on(pipe, shoal__greeting_reply(&pipe->greeting, reply)) == 0;
}

/* ---- giving up ---- */

bool shoal__pipe_refuse(shoal__pipe_t *pipe, int fault, const char *detail)
{
    pipe->fault = fault;
    snprintf(pipe->detail, sizeof pipe->detail, "%s", detail);
    return false;
}

bool shoal__pipe_refuse_unasked(shoal__pipe_t *pipe)
{
    return shoal__pipe_refuse(pipe, SHOAL_EDESYNC,
                              "the server sent a reply that nobody waits for");
}

/* ---- figures ---- */

/* Their times are in no order: while a command waits in the mailbox, younger ones of the loop
 * thread pass it; and some were queued again. */
static bool has_since(const shoal__request_ring_t *ring, uint64_t until_us)
{
    for (uint64_t at = ring->head; at != ring->tail; at++) {
        const shoal__request_t *request = shoal__request_ring_at(ring, at);
        if (request->flags &
            (SHOAL__REQUEST_GONE | SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_FENCE))
            continue;
        if (request->submitted_us <= until_us)
            return true;
    }
    return false;
}

bool shoal__pipe_has_since(const shoal__pipe_t *pipe, uint64_t until_us)
{
    return has_since(&pipe->ring, until_us) ||
           (pipe->pen && has_since(&pipe->pen->ring, until_us));
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
                       shoal__pipe_queued(pipe) + shoal__pipe_held(pipe));
    shoal__counter_set(&pipe->stats.inflight_now, shoal__pipe_inflight(pipe));
    size_t bytes = shoal__buffer_bytes(&pipe->log) + pipe->referred_bytes;
    if (pipe->pen)
        bytes += shoal__buffer_bytes(&pipe->pen->log) + pipe->pen->referred_bytes;
    shoal__counter_set(&pipe->stats.bytes_now, bytes);
    publish_flushing(&pipe->stats, &pipe->flush.learned);
}

void shoal__pipe_sweep(shoal__pipe_t *pipe)
{
    shoal__request_ring_t *ring = &pipe->ring;
    char *log = shoal__buffer_data(&pipe->log);
    size_t from = pipe->sent_bytes, to = pipe->sent_bytes;

    for (uint64_t at = ring->sent; ring->gone && at != ring->tail; at++) {
        const shoal__request_t *request = shoal__request_ring_at(ring, at);
        if (!(request->flags & SHOAL__REQUEST_GONE)) {
            if (from != to)
                memmove(log + to, log + from, request->bytes);
            to += request->bytes;
        }
        from += request->bytes;
    }
    pipe->log.tail -= from - to;
    if (shoal__buffer_bytes(&pipe->log) == 0)
        shoal__buffer_clear(&pipe->log);
    shoal__request_ring_sweep(ring);
    if (pipe->looked_at > ring->tail)
        pipe->looked_at = ring->tail;
    shoal__pipe_note_fresh(pipe, pipe->now_us);
    shoal__stage_times_resync(&pipe->times, shoal__pipe_queued(pipe),
                              shoal__pipe_inflight(pipe), pipe->now_us);
}
