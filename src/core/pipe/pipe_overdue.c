/* SPDX-License-Identifier: MIT */

/* The facts behind a deadline that passed: where its command was, and what the connection
 * was doing.  overdue.c finds the words. */

#include "core/pipe/pipe_overdue.h"

#include "base/time_us.h"
#include <assert.h>

/* The pipe whose hold the request at `at` waits for; NULL: none. */
static const shoal__pipe_t *holder_of(const shoal__pipe_t *pipe, uint64_t at)
{
    const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);

    if (pipe->is_pen)
        return pipe->holder;
    return pipe->hold.state != SHOAL__HOLD_OPEN &&
                   shoal__hold_picks(&pipe->hold, request->command_class)
               ? pipe
               : NULL;
}

/* Of a command that waits to be written, on a connection that is ready. */
static shoal__overdue_stage_t queued_stage(const shoal__pipe_t *pipe, uint64_t at,
                                           bool is_unread)
{
    uint64_t head = pipe->ring.head;

    if (holder_of(pipe, at))
        return SHOAL__OVERDUE_TURNED_AWAY;
    if (pipe->giver)
        return SHOAL__OVERDUE_HANDED_OVER;
    if (!pipe->is_pen && at - head >= pipe->looked_at - head)
        return SHOAL__OVERDUE_NOT_TAKEN;
    if (is_unread)
        return SHOAL__OVERDUE_UNREAD;
    return shoal__pipe_inflight(pipe) >= pipe->config->inflight_max
               ? SHOAL__OVERDUE_WINDOW
               : SHOAL__OVERDUE_QUEUED;
}

static shoal__overdue_stage_t stage_of(const shoal__pipe_t *pipe, uint64_t at,
                                       shoal__progress_t progress, bool is_unread)
{
    switch (progress) {
    case SHOAL__PROGRESS_QUEUED:
        return queued_stage(pipe, at, is_unread);
    case SHOAL__PROGRESS_PARTLY:
        return SHOAL__OVERDUE_UNREAD;
    case SHOAL__PROGRESS_WRITTEN:
        return SHOAL__OVERDUE_SENT;
    case SHOAL__PROGRESS_REPLYING:
        break;
    }
    return SHOAL__OVERDUE_REPLYING;
}

/* The facts that do not depend on a command's place.  `request` may be NULL. */
static shoal__overdue_t facts_of(const shoal__pipe_t *pipe,
                                 const shoal__request_t *request)
{
    shoal__overdue_t facts = {
        .stage = pipe->phase == SHOAL__PIPE_GREETING ? SHOAL__OVERDUE_GREETING
                                                     : SHOAL__OVERDUE_OFFLINE,
        .silent_us = shoal__time_since(pipe->heard_us, pipe->now_us),
        .server = pipe->greeting.target->name,
        .words = ""};

    if (shoal__pipe_is_offline(pipe)) {
        facts.since_us = shoal__time_since(pipe->offline_since_us, pipe->now_us);
        facts.count = pipe->attempts_failed;
        facts.words = pipe->detail;
    }
    if (request) {
        facts.was_sent = (request->flags & SHOAL__REQUEST_MAYBE) != 0;
        facts.waited_us = shoal__time_since(request->submitted_us, pipe->now_us);
        facts.late_us = shoal__time_since(request->deadline_us, pipe->now_us);
    }
    return facts;
}

void shoal__pipe_overdue_begin(const shoal__pipe_t *pipe, shoal__overdue_words_t *words)
{
    words->is_written = false;
    words->is_unread = pipe->authorised_bytes > 0;
    words->at = pipe->ring.head;
    words->offset = 0;
}

/* The owner of a pen knows why the request waits there. */
static void ask_owner(const shoal__pipe_t *pipe, uint64_t at,
                      shoal__overdue_words_t *words, shoal__overdue_t *facts)
{
    for (; words->at != at; words->at++)
        words->offset += shoal__request_ring_at(&pipe->ring, words->at)->bytes;
    pipe->hooks.on_overdue(pipe->owner, at,
                           shoal__buffer_data(&pipe->log) + words->offset, facts);
}

static const char *write_once(shoal__overdue_words_t *words,
                              const shoal__overdue_t *facts)
{
    if (!words->is_written || !shoal__overdue_is_like(&words->facts, facts))
        shoal__overdue_write(facts, words->text);
    words->is_written = true;
    words->facts = *facts;
    return words->text;
}

static void add_hold(shoal__overdue_t *facts, const shoal__pipe_t *holder,
                     uint64_t now_us)
{
    assert(holder); /* the stage says so */
    facts->since_us = shoal__time_since(holder->hold.since_us, now_us);
    facts->count = holder->hold.refusals;
    facts->words = holder->turned_away;
}

static void add_giver(shoal__overdue_t *facts, const shoal__pipe_t *giver,
                      uint64_t now_us)
{
    facts->count = shoal__pipe_inflight(giver);
    facts->silent_us = shoal__time_since(giver->heard_us, now_us);
}

const char *shoal__pipe_overdue(const shoal__pipe_t *pipe, uint64_t at,
                                shoal__progress_t progress,
                                shoal__overdue_words_t *words)
{
    shoal__overdue_t facts = facts_of(pipe, shoal__request_ring_at(&pipe->ring, at));

    if (!shoal__pipe_is_offline(pipe)) {
        uint64_t due = shoal__pipe_due(pipe), fences = pipe->fences.inflight;
        uint64_t before = at - pipe->ring.head < due - pipe->ring.head ? 0 : at - due;

        facts.stage = stage_of(pipe, at, progress, words->is_unread);
        facts.is_partly_sent = progress == SHOAL__PROGRESS_PARTLY;
        facts.count = shoal__pipe_inflight(pipe);
        if (progress == SHOAL__PROGRESS_WRITTEN || progress == SHOAL__PROGRESS_REPLYING)
            facts.since_us = shoal__stage_times_unanswered_us(
                &pipe->times, before > fences ? before - fences : 0, pipe->now_us);
        else if (facts.stage == SHOAL__OVERDUE_TURNED_AWAY)
            add_hold(&facts, holder_of(pipe, at), pipe->now_us);
        else if (facts.stage == SHOAL__OVERDUE_HANDED_OVER)
            add_giver(&facts, pipe->giver, pipe->now_us);
        else if (pipe->hooks.on_overdue)
            ask_owner(pipe, at, words, &facts);
    }
    return write_once(words, &facts);
}

const char *shoal__pipe_offline(const shoal__pipe_t *pipe,
                                shoal__overdue_words_t *words)
{
    shoal__overdue_t facts = facts_of(pipe, NULL);

    return write_once(words, &facts);
}
