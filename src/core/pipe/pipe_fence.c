/* SPDX-License-Identifier: MIT */

/* Fences of a pipe: putting them into the queue, judging their answers, and, where every
 * batch must prove itself, holding its replies until it has.  When a fence is due is
 * fence_rule.c's decision; where frames end, scanner.c's. */

#include "base/time_us.h"
#include "core/fence/fence_rule.h"
#include "core/pipe/pipe.h"
#include <assert.h>
#include <shoal/errors.h>
#include <string.h>

static const char fence_head[] = "*2\r\n$4\r\nECHO\r\n$16\r\n";
#define NONCE_AT (sizeof fence_head - 1)
/* The right answer repeats the fence's last bytes: the length, the number, the line
 * end. */
#define ANSWER_AT (NONCE_AT - 5)
#define ANSWER_BYTES (SHOAL__FENCE_BYTES - ANSWER_AT)
_Static_assert(NONCE_AT + SHOAL__NONCE_BYTES + 2 == SHOAL__FENCE_BYTES, "all of it");

/* DETECT: after so many NOPERM in a row the pipe puts no more fences. */
#define FORBIDDEN_MAX 3
#define HELD_BYTES_KEPT 65536

/* ---- putting ---- */

/* Make a gap of the fence's size in the log, before the request at `at`. */
static char *open_log(shoal__pipe_t *pipe, uint64_t at)
{
    size_t before = pipe->sent_bytes;

    for (uint64_t i = pipe->ring.sent; i != at; i++)
        before += shoal__request_ring_at(&pipe->ring, i)->bytes;

    char *gap = shoal__buffer_data(&pipe->log) + before;
    memmove(gap + SHOAL__FENCE_BYTES, gap, shoal__buffer_bytes(&pipe->log) - before);
    shoal__buffer_commit(&pipe->log, SHOAL__FENCE_BYTES);
    return gap;
}

/* False: no memory. */
static bool put_fence(shoal__pipe_t *pipe, uint64_t at)
{
    if (shoal__request_ring_reserve(&pipe->ring, 1) < 0 ||
        !shoal__buffer_reserve(&pipe->log, SHOAL__FENCE_BYTES))
        return false;

    char *bytes = open_log(pipe, at);
    memcpy(bytes, fence_head, NONCE_AT);
    shoal__nonce_write(&pipe->shared->nonce, bytes + NONCE_AT);
    memcpy(bytes + NONCE_AT + SHOAL__NONCE_BYTES, "\r\n", 2);
    pipe->looked_at++; /* the requests behind it move up */
    shoal__request_ring_insert(&pipe->ring, at, 1);
    *shoal__request_ring_at(&pipe->ring, at) =
        (shoal__request_t){.bytes = SHOAL__FENCE_BYTES,
                           .flags = SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_FENCE,
                           .command_class = SHOAL__CLASS_RO,
                           .submitted_us = SHOAL__REQUEST_TIME(pipe->now_us),
                           .deadline_us = SHOAL__NEVER_US};
    pipe->fences.queued++;
    pipe->fences.put_us = pipe->now_us;
    pipe->fences.has_doubt = false;
    shoal__counter_add(&pipe->stats.fences, 1);
    return true;
}

/* Would a fence before the request at `at` part a unit? */
static bool parts_unit(const shoal__pipe_t *pipe, uint64_t at)
{
    const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);

    return at != pipe->ring.tail && (request->flags & SHOAL__REQUEST_UNIT) &&
           !(request->flags & SHOAL__REQUEST_UNIT_FIRST);
}

/* The batch ends before a unit that does not fit into it.  If that unit comes first, it
 * waits until nothing is in flight, and then leaves whether it fits or not. */
static uint64_t whole_units(const shoal__pipe_t *pipe, uint64_t count)
{
    const shoal__request_ring_t *ring = &pipe->ring;
    uint64_t first, last;

    if (!parts_unit(pipe, ring->sent + count))
        return count;
    shoal__request_ring_unit(ring, ring->sent + count, &first, &last);
    if (first - ring->head > ring->sent - ring->head)
        return first - ring->sent;
    return shoal__pipe_inflight(pipe) == 0 ? last + 1 - ring->sent : 0;
}

bool shoal__pipe_fence_batch(shoal__pipe_t *pipe, uint64_t *count)
{
    const shoal__request_ring_t *ring = &pipe->ring;
    const shoal__fence_input_t input = {
        .integrity = pipe->config->greeting.integrity,
        .is_allowed = pipe->greeting.may_echo,
        .has_doubt = pipe->fences.has_doubt,
        .is_awaited = pipe->fences.queued + pipe->fences.inflight > 0,
        .since_us = shoal__time_since(pipe->fences.put_us, pipe->now_us)};

    switch (shoal__fence_rule(&input)) {
    case SHOAL__FENCE_NONE:
        break;
    case SHOAL__FENCE_BEFORE:
        /* Inside a unit, or without memory, the fence comes with a later batch. */
        if (!parts_unit(pipe, ring->sent) && put_fence(pipe, ring->sent))
            *count += 1;
        break;
    case SHOAL__FENCE_BEHIND:
        *count = whole_units(pipe, *count);
        if (*count == 0 || !put_fence(pipe, ring->sent + *count))
            return false;
        *count += 1;
        break;
    }
    return true;
}

bool shoal__pipe_fence_is_owed(const shoal__pipe_t *pipe)
{
    const shoal__request_ring_t *ring = &pipe->ring;

    return shoal__pipe_is_strict(pipe) && ring->sent != ring->head &&
           !(shoal__request_ring_at(ring, ring->sent - 1)->flags &
             SHOAL__REQUEST_FENCE);
}

uint64_t shoal__pipe_fence_debt(shoal__pipe_t *pipe)
{
    const shoal__request_ring_t *ring = &pipe->ring;
    uint64_t first, last = ring->sent - 1;

    if (parts_unit(pipe, ring->sent))
        shoal__request_ring_unit(ring, ring->sent, &first, &last);

    uint64_t end = last + 1;
    bool is_there = end != ring->tail &&
                    (shoal__request_ring_at(ring, end)->flags & SHOAL__REQUEST_FENCE);
    return is_there || put_fence(pipe, end) ? end + 1 - ring->sent : 0;
}

/* ---- answers ---- */

/* A fence was answered with an error.  False: see pipe->fault. */
static bool take_unclear(shoal__pipe_t *pipe, shoal__bytes_t error)
{
    if (!shoal__fence_is_unclear(error))
        return shoal__pipe_refuse(pipe, SHOAL_EDESYNC,
                                  "a fence was answered with an error that is not its "
                                  "own: replies and commands are out of step");
    shoal__counter_add(&pipe->stats.fences_unclear, 1);
    pipe->fences.has_doubt = true;
    if (pipe->fences.unclear++ == 0)
        pipe->fences.unclear_since_us = pipe->now_us;
    if (!shoal__fence_is_forbidden(error))
        return true;
    if (shoal__pipe_is_strict(pipe))
        return shoal__pipe_refuse(pipe, SHOAL_ECONN,
                                  "the server does not allow ECHO any more, without "
                                  "which no reply can be trusted");
    /* A single NOPERM may be the answer to another command. */
    if (++pipe->fences.forbidden == FORBIDDEN_MAX)
        pipe->greeting.may_echo = false;
    return true;
}

static bool refuse_answer(shoal__pipe_t *pipe)
{
    return shoal__pipe_refuse(pipe, SHOAL_EDESYNC,
                              "a fence was answered with something else: replies and "
                              "commands are out of step");
}

bool shoal__pipe_fence_answered(shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    const char *nonce = shoal__buffer_data(&pipe->log) + NONCE_AT;
    size_t bytes = 0;
    const char *text = shoal_reply_string(reply, &bytes);

    if (shoal__pipe_is_strict(pipe)) /* judged when it was held */
        return true;
    if (shoal_reply_type(reply) == SHOAL_REPLY_ERROR)
        return take_unclear(pipe, (shoal__bytes_t){text, bytes});
    if (shoal_reply_type(reply) != SHOAL_REPLY_STRING || bytes != SHOAL__NONCE_BYTES ||
        memcmp(text, nonce, SHOAL__NONCE_BYTES) != 0)
        return refuse_answer(pipe);
    pipe->fences.forbidden = 0;
    return true;
}

/* ---- held replies ---- */

/* The next reply among the held ones: does it prove those before it? */
typedef enum proof { PROOF_NONE, PROOF_GIVEN, PROOF_REFUTED } proof_t;

static proof_t judge_frame(shoal__pipe_t *pipe, const char *frame, size_t bytes)
{
    shoal__held_t *held = &pipe->held;
    const shoal__request_t *request =
        shoal__request_ring_at(&pipe->ring, pipe->ring.head + held->replies);
    const char *command = shoal__buffer_data(&pipe->log) + held->log_bytes;

    held->replies++;
    held->log_bytes += request->bytes;
    if (!(request->flags & SHOAL__REQUEST_FENCE))
        return PROOF_NONE;
    held->fences++;
    if (bytes == ANSWER_BYTES && memcmp(frame, command + ANSWER_AT, bytes) == 0) {
        pipe->fences.unclear = 0;
        return PROOF_GIVEN;
    }
    if (frame[0] == '-' && take_unclear(pipe, (shoal__bytes_t){frame + 1, bytes - 3}))
        return PROOF_NONE;
    if (pipe->fault == 0)
        refuse_answer(pipe);
    return PROOF_REFUTED;
}

/* A reply that nobody waits for. */
static void refuse_frame(shoal__pipe_t *pipe, const char *frame, size_t bytes)
{
    if (frame[0] == '-')
        shoal__pipe_refuse_unasked_error(pipe, (shoal__bytes_t){frame + 1, bytes - 3});
    else
        shoal__pipe_refuse_unasked(pipe);
}

/* Look at the frames that became whole.  How many bytes may be handed out?  What is
 * behind them may be refused. */
static size_t look_at_held(shoal__pipe_t *pipe)
{
    shoal__held_t *held = &pipe->held;
    const char *data = shoal__buffer_data(&held->bytes);
    size_t bytes = shoal__buffer_bytes(&held->bytes);
    size_t proved_bytes = 0, proved_log_bytes = 0;
    uint64_t proved = 0;
    shoal__scan_t scan;

    while ((scan = shoal__scanner_next(&held->scanner, data, bytes)) ==
           SHOAL__SCAN_FRAME) {
        const shoal__scanner_t *frame = &held->scanner;
        bool is_reply = frame->type != '>' && frame->type != '|';

        if (is_reply && held->replies < shoal__request_ring_inflight(&pipe->ring)) {
            proof_t proof =
                judge_frame(pipe, data + frame->begin, frame->end - frame->begin);
            if (proof == PROOF_REFUTED)
                break;
            if (proof == PROOF_NONE)
                continue;
        } else if (held->replies > proved) {
            if (is_reply) {
                refuse_frame(pipe, data + frame->begin, frame->end - frame->begin);
                break;
            }
            continue; /* a push amid held replies waits with them */
        }
        /* A reply that no command waits for, and a push between batches, are handed out
         * too: on_reply() judges them. */
        proved_bytes = frame->end;
        proved = held->replies;
        proved_log_bytes = held->log_bytes;
        held->fences = 0;
    }
    held->replies -= proved;
    held->log_bytes -= proved_log_bytes;
    if (scan == SHOAL__SCAN_BROKEN)
        shoal__pipe_refuse(pipe, SHOAL_EDESYNC, "the server sent what is no RESP");
    pipe->is_reply_refused = scan == SHOAL__SCAN_TOO_LARGE;
    if (pipe->is_reply_refused)
        shoal__pipe_refuse(pipe, SHOAL_EDESYNC,
                           "a reply has too many bytes, or one of its lines has");
    return proved_bytes;
}

static void forget_held(shoal__pipe_t *pipe)
{
    shoal__held_t *held = &pipe->held;

    held->replies = held->fences = 0;
    held->log_bytes = 0;
    shoal__buffer_clear(&held->bytes);
    shoal__buffer_shrink(&held->bytes, HELD_BYTES_KEPT);
    shoal__scanner_init(&held->scanner, pipe->config->reply.bytes_max);
}

/* Hand the first `bytes` held bytes to the decoder, whatever was refused behind them:
 * what it finds wrong comes first. */
static void hand_out(shoal__pipe_t *pipe, size_t bytes)
{
    shoal__held_t *held = &pipe->held;
    int fault = pipe->fault;

    pipe->fault = 0;
    if (shoal__pipe_decode(pipe, shoal__buffer_data(&held->bytes), bytes) < 0) {
        forget_held(pipe);
        return;
    }
    pipe->fault = fault;
    shoal__buffer_consume(&held->bytes, bytes);
    shoal__scanner_drop(&held->scanner, bytes);
    shoal__buffer_shrink(&held->bytes, HELD_BYTES_KEPT);
}

/* More than one reply may have, and a fence's answer behind it? */
static bool is_too_much(const shoal__pipe_t *pipe)
{
    size_t bytes = shoal__buffer_bytes(&pipe->held.bytes);
    uint64_t bytes_max = pipe->config->reply.bytes_max;

    return bytes > bytes_max && bytes - bytes_max > ANSWER_BYTES;
}

int shoal__pipe_hold(shoal__pipe_t *pipe, const char *data, size_t bytes)
{
    shoal__held_t *held = &pipe->held;

    if (shoal__buffer_append(&held->bytes, data, bytes) < 0) {
        shoal__pipe_refuse(pipe, SHOAL_ENOMEM, "no memory to hold replies");
        return pipe->fault;
    }

    size_t proved_bytes = look_at_held(pipe);
    if (proved_bytes > 0)
        hand_out(pipe, proved_bytes);
    if (pipe->fault < 0)
        return pipe->fault;
    /* A reply that began before its command was written is no answer to it.  This holds
     * right behind the greeting, too. */
    if (pipe->phase == SHOAL__PIPE_READY &&
        held->replies == shoal__request_ring_inflight(&pipe->ring) &&
        shoal__scanner_is_mid_reply(&held->scanner))
        shoal__pipe_refuse_unasked(pipe);
    else if (is_too_much(pipe))
        shoal__pipe_refuse(pipe, SHOAL_ECONN,
                           "the replies of one batch have too many bytes to be held");
    return pipe->fault;
}

static shoal__fence_plight_t plight_of(const shoal__pipe_t *pipe)
{
    const shoal__fences_t *fences = &pipe->fences;

    return (shoal__fence_plight_t){.fences = pipe->held.fences,
                                   .is_awaited = fences->queued + fences->inflight !=
                                                 pipe->held.fences,
                                   .unclear = fences->unclear,
                                   .unclear_since_us = fences->unclear_since_us,
                                   .put_us = fences->put_us,
                                   .stall_us = pipe->config->stall_us};
}

/* Only STRICT, which holds replies, puts a fence again. */
uint64_t shoal__pipe_fence_wake_us(const shoal__pipe_t *pipe)
{
    if (!shoal__pipe_is_strict(pipe))
        return SHOAL__NEVER_US;

    shoal__fence_plight_t plight = plight_of(pipe);
    return shoal__time_min(shoal__fence_again_us(&plight),
                           shoal__fence_end_us(&plight));
}

bool shoal__pipe_fence_tick(shoal__pipe_t *pipe)
{
    if (!shoal__pipe_is_strict(pipe))
        return true;

    shoal__fence_plight_t plight = plight_of(pipe);

    if (pipe->now_us >= shoal__fence_end_us(&plight))
        return shoal__pipe_refuse(pipe, SHOAL_ECONN,
                                  "the server answers everything with errors, so that "
                                  "no reply can be proved");
    if (pipe->now_us >= shoal__fence_again_us(&plight)) {
        /* No batch is on its way out: it would have a fence behind it, not answered
         * yet. */
        assert(pipe->authorised_bytes == 0 && !parts_unit(pipe, pipe->ring.sent));
        pipe->fences.put_us = pipe->now_us; /* without memory, try again later */
        put_fence(pipe, pipe->ring.sent);
    }
    return true;
}

void shoal__pipe_fence_reset(shoal__pipe_t *pipe)
{
    pipe->fences = (shoal__fences_t){.put_us = pipe->now_us};
    forget_held(pipe);
}
