/* SPDX-License-Identifier: MIT */

/* Commands that the server refused for now: keeping them in a pen, in their order, and
 * putting them back.  error_rule.c decides which errors mean that; hold_rule.c, when. */

#include "base/alloc.h"
#include "base/escape.h"
#include "base/time_us.h"
#include "core/error_rule.h"
#include "core/pipe/pipe_move.h"
#include "core/pipe/pipe_unit.h"
#include <shoal/errors.h>
#include <string.h>

#define NO_MEMORY_DELAY_US 1000

/* ---- in ---- */

/* NULL: no memory. */
static shoal__pipe_t *pen_of(shoal__pipe_t *pipe)
{
    const shoal__pipe_parts_t parts = {pipe->config, pipe->greeting.target,
                                       pipe->shared};
    shoal__pipe_t *pen = pipe->pen;

    if (pen)
        return pen;
    pen = shoal__malloc(sizeof *pen);
    if (!pen || shoal__pipe_init(pen, &parts, &pipe->hooks, pipe->owner) < 0) {
        shoal__free(pen);
        return NULL;
    }
    pen->is_pen = true;
    pen->holder = pipe;
    pipe->pen = pen;
    return pen;
}

void shoal__pipe_free_pen(shoal__pipe_t *pipe)
{
    shoal__hold_end(&pipe->hold);
    if (!pipe->pen)
        return;
    shoal__pipe_release(pipe->pen);
    shoal__free(pipe->pen);
    pipe->pen = NULL;
}

static void note_words(shoal__pipe_t *pipe, shoal__bytes_t error)
{
    if (shoal__greeting_may_hold_password(&pipe->greeting, error))
        error = (shoal__bytes_t){"an error", sizeof "an error" - 1};
    shoal__escape(pipe->turned_away, sizeof pipe->turned_away, error);
}

static shoal__error_verdict_t verdict_on(const shoal__pipe_t *pipe,
                                         const shoal__request_t *request,
                                         shoal__bytes_t error)
{
    const shoal__error_input_t input = {
        .text = error,
        .command_class = request->command_class,
        .is_once = (request->flags & SHOAL__REQUEST_ONCE) != 0,
        /* A unit that was kept was refused whole. */
        .is_unit =
            (request->flags & SHOAL__REQUEST_UNIT) != 0 && !pipe->config->keeps_units,
        .may_redirect = pipe->greeting.may_redirect,
        .has_credentials = shoal__target_password(pipe->greeting.target) != NULL,
    };
    return shoal__error_rule(&input);
}

/* Where one holder has the connection, each command may rely on those before it. */
static shoal__hold_scope_t scope_of(const shoal__pipe_t *pipe,
                                    shoal__error_verdict_t verdict)
{
    if (pipe->is_bound || pipe->config->is_strict_order)
        return SHOAL__HOLD_ALL;
    if (verdict == SHOAL__ERROR_HOLD_ALONE)
        return SHOAL__HOLD_ALONE;
    return verdict == SHOAL__ERROR_REDIAL_ROLE ? SHOAL__HOLD_WRITES : SHOAL__HOLD_ALL;
}

/* NULL: there is none. */
static const char *reason_to_renew(shoal__error_verdict_t verdict)
{
    switch (verdict) {
    case SHOAL__ERROR_REDIAL:
        return "renewed, because the server asked for credentials";
    case SHOAL__ERROR_REDIAL_ROLE:
    case SHOAL__ERROR_REDIAL_LEFT:
        return "renewed, because the server's role changed";
    case SHOAL__ERROR_REDIAL_NAMED:
        return "renewed, because the server named another one";
    case SHOAL__ERROR_SURFACE:
    case SHOAL__ERROR_HOLD:
    case SHOAL__ERROR_HOLD_ALONE:
        break;
    }
    return NULL;
}

/* Is there time for another attempt?  Only one that costs a connection counts. */
static bool may_wait_on(const shoal__pipe_t *pipe, const shoal__request_t *request,
                        bool is_counted)
{
    unsigned attempts_max = pipe->config->attempts_max;
    uint64_t end_us = shoal__hold_end_us(request->submitted_us, request->deadline_us);

    return attempts_max > 1 && (!is_counted || request->attempts + 1u < attempts_max) &&
           shoal__hold_next_us(&pipe->hold, pipe->now_us) < end_us;
}

shoal__pipe_verdict_t shoal__pipe_send_again(shoal__pipe_t *pipe,
                                             const shoal__refused_t *refused,
                                             shoal__bytes_t error)
{
    const shoal__request_t *request =
        shoal__request_ring_at(refused->ring, refused->first);
    shoal__error_verdict_t verdict = verdict_on(pipe, request, error);
    bool is_counted = verdict == SHOAL__ERROR_REDIAL;
    shoal__refused_t again = *refused;

    /* Those behind a command that changes the connection may run without it already. */
    if (verdict == SHOAL__ERROR_SURFACE || (request->flags & SHOAL__REQUEST_STATE))
        return SHOAL__PIPE_SURFACE;
    pipe->was_refused = true;
    again.attempts += is_counted;
    if (!may_wait_on(pipe, request, is_counted) || !pen_of(pipe) ||
        shoal__pipe_keep(pipe->pen, &again) < 0)
        return SHOAL__PIPE_SURFACE;
    shoal__pipe_withdraw(pipe);
    note_words(pipe, error);
    shoal__hold_refused(&pipe->hold, scope_of(pipe, verdict), pipe->now_us,
                        pipe->shared->random);
    shoal__counter_add(&pipe->stats.retries, refused->count);
    pipe->is_demoted |=
        verdict == SHOAL__ERROR_REDIAL_ROLE || verdict == SHOAL__ERROR_REDIAL_LEFT;
    if (reason_to_renew(verdict))
        shoal__renewal_ask(&pipe->renewal, reason_to_renew(verdict),
                           verdict != SHOAL__ERROR_REDIAL_ROLE, pipe->now_us);
    return SHOAL__PIPE_TAKEN;
}

/* EXEC has no key: its parts have. */
static void note_overtaking(shoal__pipe_t *pipe, const shoal__request_t *request,
                            const char *bytes)
{
    if (request->shape != SHOAL__SHAPE_EXEC)
        shoal__overtaken_note(&pipe->shared->overtaken, request, bytes);
}

void shoal__pipe_hold_answered(shoal__pipe_t *pipe, const shoal__request_t *request,
                               const char *bytes, bool is_error)
{
    bool was_probe = pipe->hold.state == SHOAL__HOLD_PROBING;

    if (request->flags & SHOAL__REQUEST_INTERNAL)
        return;
    /* Of a command that was given up nobody knows whether this was a refusal. */
    shoal__hold_answered(&pipe->hold, request->command_class);
    note_overtaking(pipe, request, bytes);
    /* A replica executes reads as well. */
    if (was_probe && !is_error && request->command_class != SHOAL__CLASS_RO)
        shoal__renewal_anew(&pipe->renewal);
}

void shoal__pipe_hold_unanswered(shoal__pipe_t *pipe, uint64_t at, const char *bytes)
{
    const shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);

    if (!(request->flags & (SHOAL__REQUEST_INTERNAL | SHOAL__REQUEST_FENCE)))
        note_overtaking(pipe, request, bytes);
}

/* ---- out ---- */

/* Nothing is in flight, nor about to be. */
static bool has_passed(const shoal__pipe_t *pipe)
{
    return shoal__pipe_inflight(pipe) == 0 &&
           shoal__pipe_watermark(pipe) == pipe->ring.sent;
}

static bool is_active(const shoal__pipe_t *pipe)
{
    return pipe->phase == SHOAL__PIPE_READY &&
           !shoal__renewal_is_awaited(&pipe->renewal, pipe->now_us);
}

void shoal__pipe_end_overtaken(shoal__pipe_t *pipe)
{
    static const char why[] =
        "the server executed a later command of its key before it "
        "(order=strict)";
    shoal__pipe_t *pen = pipe->pen;
    size_t offset = 0, bytes;

    if (!pipe->config->is_strict_order || !pen)
        return;
    pen->now_us = pipe->now_us;
    for (uint64_t at = pen->ring.head; at != pen->ring.tail; at++, offset += bytes) {
        const shoal__request_t *request = shoal__request_ring_at(&pen->ring, at);
        bytes = request->bytes;
        if (shoal__overtaken_has(&pipe->shared->overtaken, request,
                                 shoal__buffer_data(&pen->log) + offset)) {
            shoal__counter_add(&pipe->stats.reordered, 1);
            shoal__pipe_fail_queued(pen, at, SHOAL_EREFUSED, why);
        }
    }
    shoal__pipe_sweep(pen);
}

void shoal__pipe_hold_turn(shoal__pipe_t *pipe)
{
    if (pipe->hold.state != SHOAL__HOLD_OPEN && pipe->ring.head == pipe->ring.tail &&
        shoal__pipe_held(pipe) == 0)
        shoal__hold_end(&pipe->hold);
    if (pipe->hold.state == SHOAL__HOLD_OPEN || !is_active(pipe))
        return;
    if (!shoal__hold_is_due(&pipe->hold, has_passed(pipe), pipe->now_us))
        return;
    shoal__pipe_end_overtaken(pipe);
    if (shoal__pipe_put_back(pipe, pipe->pen) < 0)
        shoal__hold_put_off(&pipe->hold, pipe->now_us + NO_MEMORY_DELAY_US);
    else
        shoal__hold_put_back(&pipe->hold);
}

uint64_t shoal__pipe_hold_wake_us(const shoal__pipe_t *pipe)
{
    uint64_t wake_us =
        pipe->pen ? shoal__pipe_next_wake_us(pipe->pen) : SHOAL__NEVER_US;

    if (!is_active(pipe) || pipe->hold.state == SHOAL__HOLD_OPEN)
        return wake_us;
    return shoal__time_min(wake_us, shoal__hold_wake_us(&pipe->hold, has_passed(pipe)));
}

static bool picks_writes(void *data, const shoal__request_t *request, const char *bytes)
{
    (void)data, (void)bytes;
    return request->command_class != SHOAL__CLASS_RO;
}

/* The rest of a unit that was begun. */
static uint64_t rest_of_unit(const shoal__pipe_t *pipe)
{
    return shoal__pipe_watermark(pipe) - pipe->ring.sent;
}

static uint64_t probe_of(const shoal__pipe_t *pipe)
{
    const shoal__request_ring_t *ring = &pipe->ring;
    uint64_t first, last = ring->sent;

    if (!has_passed(pipe) || ring->sent == ring->tail)
        return rest_of_unit(pipe);
    if (shoal__request_ring_at(ring, ring->sent)->flags & SHOAL__REQUEST_UNIT)
        shoal__request_ring_unit(ring, ring->sent, &first, &last);
    return last + 1 - ring->sent;
}

uint64_t shoal__pipe_hold_room(shoal__pipe_t *pipe)
{
    if (shoal__renewal_is_draining(&pipe->renewal))
        return rest_of_unit(pipe);
    switch (shoal__hold_leave(&pipe->hold, pipe->now_us)) {
    case SHOAL__HOLD_LEAVE_ANY:
        break;
    case SHOAL__HOLD_LEAVE_READS:
        return shoal__pipe_sift(pipe, pipe->pen, picks_writes) < 0 ? 0 : UINT64_MAX;
    case SHOAL__HOLD_LEAVE_PROBE:
        return probe_of(pipe);
    case SHOAL__HOLD_LEAVE_NONE:
        return shoal__pipe_own_ahead(pipe);
    }
    return UINT64_MAX;
}
