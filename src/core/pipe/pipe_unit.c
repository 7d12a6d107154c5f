/* SPDX-License-Identifier: MIT */
#include "core/pipe/pipe_unit.h"

#include "core/pipe/pipe_extent.h"
#include "core/unit_rule.h"
#include <shoal/errors.h>
#include <string.h>

#define WORDS_KEPT 4096

/* Before the words of a kept reply. */
typedef struct label {
    uint32_t bytes;
    uint8_t type; /* STATUS, ERROR, or NIL: the part was given up */
} label_t;

static const shoal_reply_t nil = {.type = SHOAL_REPLY_NIL};

/* ---- keeping ---- */

/* Statuses and errors: anything else is no reply to a part of a unit.  0 or pipe->fault. */
static int keep(shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    shoal__buffer_t *words = &pipe->kept.words;
    label_t label = {.type = reply->type};

    if (label.type == SHOAL_REPLY_STATUS || label.type == SHOAL_REPLY_ERROR)
        label.bytes = (uint32_t)reply->as.text.bytes;
    if (shoal__buffer_bytes(words) + label.bytes > pipe->config->reply.bytes_max)
        shoal__pipe_refuse(pipe, SHOAL_ECONN,
                           "the replies to one unit have too many bytes to be kept");
    else if (shoal__buffer_append(words, (const char *)&label, sizeof label) < 0 ||
             (label.bytes > 0 &&
              shoal__buffer_append(words, reply->as.text.data, label.bytes) < 0) ||
             shoal__buffer_append(words, "", 1) < 0)
        shoal__pipe_refuse(pipe, SHOAL_ENOMEM,
                           "no memory to keep the replies to a unit");
    else
        pipe->kept.replies++;
    shoal__retry_budget_earn(&pipe->budget);
    return pipe->fault;
}

/* Take the reply that begins at *at out. */
static shoal_reply_t read_kept(const char **at)
{
    shoal_reply_t reply = nil;
    label_t label;

    memcpy(&label, *at, sizeof label);
    *at += sizeof label;
    if (label.type != SHOAL_REPLY_NIL)
        reply = (shoal_reply_t){.type = label.type,
                                .as.text = {.data = *at, .bytes = label.bytes}};
    *at += label.bytes + 1; /* and a NUL */
    return reply;
}

void shoal__pipe_unit_forget(shoal__pipe_t *pipe)
{
    pipe->kept.replies = 0;
    shoal__buffer_clear(&pipe->kept.words);
    shoal__buffer_shrink(&pipe->kept.words, WORDS_KEPT);
}

/* Callbacks may submit and cancel. */
void shoal__pipe_unit_release(shoal__pipe_t *pipe)
{
    const char *words = shoal__buffer_data(&pipe->kept.words);
    const uint16_t begins = SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_UNIT_FIRST;

    if (pipe->kept.replies > 0)
        pipe->kept.was_overtaken = false;
    while (pipe->kept.replies > 0) {
        shoal_reply_t reply = read_kept(&words);
        const char *bytes = shoal__buffer_data(&pipe->log);
        shoal__request_t request =
            shoal__pipe_pop(pipe, shoal__request_referred_bytes(shoal__request_ring_at(
                                      &pipe->ring, pipe->ring.head)));
        pipe->kept.replies--;
        if (!(request.flags & begins))
            shoal__overtaken_note(&pipe->shared->overtaken, &request, bytes);
        if (shoal__pipe_finish(pipe, &request, bytes, &reply))
            pipe->kept.was_overtaken = true;
    }
    shoal__pipe_unit_forget(pipe);
}

/* ---- what was refused ---- */

shoal__refused_t shoal__pipe_refused(const shoal__pipe_t *pipe)
{
    const shoal__request_ring_t *ring = &pipe->ring;
    shoal__refused_t refused = {.ring = ring,
                                .first = ring->head,
                                .count = pipe->kept.replies + 1,
                                .bytes = shoal__buffer_data(&pipe->log)};

    while (refused.count > 1 && (shoal__request_ring_at(ring, refused.first)->flags &
                                 SHOAL__REQUEST_INTERNAL)) {
        refused.bytes += shoal__request_ring_at(ring, refused.first)->bytes;
        refused.first++;
        refused.count--;
        refused.own++;
    }
    return refused;
}

/* It sticks at the most. */
static unsigned count_hops(unsigned hops, int more)
{
    unsigned count = more < 0 ? hops - 1 : hops + (unsigned)more;

    return count < SHOAL__REQUEST_HOPS_MAX ? count : SHOAL__REQUEST_HOPS_MAX;
}

shoal__request_t shoal__refused_part(const shoal__refused_t *refused, uint64_t i)
{
    shoal__request_t part = *shoal__request_ring_at(refused->ring, refused->first + i);

    part.attempts = (part.attempts + refused->attempts) & SHOAL__REQUEST_ATTEMPTS_MAX;
    part.hops =
        count_hops((unsigned)part.hops, refused->hops) & SHOAL__REQUEST_HOPS_MAX;
    if (refused->own > 0 && refused->count == 1)
        part.flags &= (uint16_t) ~(SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_LAST);
    else if (refused->own > 0 && i == 0)
        part.flags |= SHOAL__REQUEST_UNIT_FIRST;
    return part;
}

size_t shoal__refused_bytes(const shoal__refused_t *refused)
{
    size_t bytes = 0;

    for (uint64_t i = 0; i < refused->count; i++)
        bytes += shoal__request_ring_at(refused->ring, refused->first + i)->bytes;
    return bytes;
}

/* What all refusals mean together: one command's is its error.  False: they are results. */
static bool judge(const shoal__pipe_t *pipe, const shoal__refused_t *refused,
                  shoal__bytes_t error, shoal__bytes_t *ret_words)
{
    const char *at = shoal__buffer_data(&pipe->kept.words);
    shoal__unit_t unit = {SHOAL__UNIT_WHOLE, {NULL, 0}};

    *ret_words = error;
    if (refused->count == 1)
        return true;
    for (uint64_t i = 0; i < pipe->kept.replies; i++) {
        shoal_reply_t reply = read_kept(&at);
        if (i >= refused->own && reply.type == SHOAL_REPLY_ERROR)
            shoal__unit_refused(
                &unit, (shoal__bytes_t){reply.as.text.data, reply.as.text.bytes});
    }
    return shoal__unit_ended(&unit, error, ret_words);
}

/* Does the owner take the unit, which EXEC has ended with this error? */
static bool is_taken(shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    const shoal__bytes_t error = {reply->as.text.data, reply->as.text.bytes};
    shoal__refused_t refused = shoal__pipe_refused(pipe);
    shoal__bytes_t words;
    shoal__extent_t extent;

    shoal__extent_find(&pipe->ring, pipe->ring.head, &extent);
    return pipe->hooks.on_error && extent.is_whole &&
           judge(pipe, &refused, error, &words) &&
           pipe->hooks.on_error(pipe->owner, pipe,
                                shoal__request_ring_at(&pipe->ring, refused.first),
                                refused.bytes, words) == SHOAL__PIPE_TAKEN;
}

/* Large values of the unit at the head. */
static size_t referred_bytes(const shoal__pipe_t *pipe)
{
    size_t bytes = 0;

    for (uint64_t at = pipe->ring.head; at != shoal__pipe_due(pipe) + 1; at++)
        bytes += shoal__request_referred_bytes(shoal__request_ring_at(&pipe->ring, at));
    return bytes;
}

/* The last part was answered with an error. */
static bool goes_again(shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    size_t referred = referred_bytes(pipe); /* before they may belong to the owner */

    pipe->was_refused = false;
    if (!is_taken(pipe, reply))
        return false;
    for (uint64_t left = pipe->kept.replies + 1; left > 0; left--) {
        (void)shoal__pipe_pop(pipe, referred);
        referred = 0;
    }
    shoal__pipe_unit_forget(pipe);
    return true;
}

int shoal__pipe_unit_answered(shoal__pipe_t *pipe, const shoal_reply_t *reply)
{
    const shoal__request_t *part =
        shoal__request_ring_at(&pipe->ring, shoal__pipe_due(pipe));
    bool is_last = (part->flags & SHOAL__REQUEST_UNIT_LAST) != 0;
    bool is_error = reply && reply->type == SHOAL_REPLY_ERROR;

    if (!is_last && !pipe->is_unit_rejected)
        return keep(pipe, reply ? reply : &nil) < 0 ? pipe->fault : 1;
    if (is_last && is_error && pipe->kept.replies > 0 && goes_again(pipe, reply))
        return 1;
    shoal__pipe_unit_release(pipe);
    return 0;
}
