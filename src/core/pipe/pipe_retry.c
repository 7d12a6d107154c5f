/* SPDX-License-Identifier: MIT */

/* Commands that the server refused for now: keeping them, sending them again, giving them
 * up.  error_rule.c decides which errors mean that; retries.c, how many and when. */

#include "base/alloc.h"
#include "base/escape.h"
#include "base/time_us.h"
#include "core/error_rule.h"
#include "core/pipe/pipe.h"
#include <shoal/errors.h>
#include <string.h>

/* ---- in ---- */

static void note_words(shoal__pipe_t *pipe, shoal__bytes_t error)
{
    if (shoal__greeting_may_hold_password(&pipe->greeting, error))
        error = (shoal__bytes_t){"an error", sizeof "an error" - 1};
    shoal__escape(pipe->turned_away, sizeof pipe->turned_away, error);
}

static shoal__error_verdict_t verdict_on(const shoal__pipe_t *pipe,
                                         const shoal__request_t *request,
                                         shoal__bytes_t error, uint64_t wait_end_us)
{
    unsigned attempts_max = pipe->config->attempts_max;
    const shoal__error_input_t input = {
        .text = error,
        .command_class = request->command_class,
        .is_once = (request->flags & SHOAL__REQUEST_ONCE) != 0,
        .is_unit = (request->flags & SHOAL__REQUEST_UNIT) != 0,
        .has_credentials = pipe->greeting.target->password != NULL,
        .may_retry = request->attempts + 1u < attempts_max &&
                     shoal__retries_allowed(&pipe->retries),
        .may_await_role = attempts_max > 1 && pipe->now_us < wait_end_us,
    };
    return shoal__error_rule(&input);
}

static bool is_about_role(shoal__error_verdict_t verdict)
{
    return verdict == SHOAL__ERROR_AWAIT_ROLE || verdict == SHOAL__ERROR_REDIAL_ROLE;
}

shoal__pipe_verdict_t shoal__pipe_send_again(shoal__pipe_t *pipe,
                                             const shoal__request_t *request,
                                             const char *bytes, shoal__bytes_t error)
{
    uint64_t end_us =
        shoal__role_wait_end_us(request->submitted_us, request->deadline_us);
    shoal__error_verdict_t verdict = verdict_on(pipe, request, error, end_us);
    shoal__random_t *random = pipe->shared->random;
    uint64_t due_us;

    if (verdict == SHOAL__ERROR_SURFACE)
        return SHOAL__PIPE_SURFACE;
    if (is_about_role(verdict)) {
        due_us = shoal__role_wait_next_us(&pipe->role_wait, pipe->now_us, random);
        if (due_us >= end_us)
            return SHOAL__PIPE_SURFACE;
    } else {
        due_us = pipe->now_us + shoal__retries_delay_us(request->attempts, random);
    }

    shoal__request_t again = *request;
    again.attempts = (uint8_t)(again.attempts + (again.attempts < UINT8_MAX));
    again.flags |= SHOAL__REQUEST_RETRIED;
    if (shoal__retries_add(&pipe->retries, &again, bytes, due_us) < 0)
        return SHOAL__PIPE_SURFACE;
    note_words(pipe, error);
    if (!is_about_role(verdict))
        shoal__retries_spend(&pipe->retries);
    shoal__counter_add(&pipe->stats.retries, 1);
    if (verdict == SHOAL__ERROR_REDIAL || verdict == SHOAL__ERROR_REDIAL_ROLE)
        shoal__renewal_ask(&pipe->renewal,
                           is_about_role(verdict)
                               ? "renewed, because the server's role changed"
                               : "renewed, because the server asked for credentials",
                           pipe->now_us);
    return SHOAL__PIPE_TAKEN;
}

/* ---- out, with a result ---- */

static void end_retry(shoal__pipe_t *pipe, shoal__retry_t *retry, int status,
                      const char *detail)
{
    shoal_fate_t fate = retry->request.flags & SHOAL__REQUEST_MAYBE
                            ? SHOAL_FATE_UNKNOWN
                            : SHOAL_FATE_NOT_EXECUTED;

    shoal__extra_drop(retry->request.extra);
    shoal__pipe_deliver(pipe, &retry->request, status, fate, NULL,
                        retry->request.attempts, detail);
    shoal__free(retry);
}

static void expire_due(shoal__pipe_t *pipe)
{
    shoal__overdue_words_t words;
    shoal__retry_t *retry;

    shoal__pipe_overdue_begin(pipe, &words);
    while ((retry = shoal__retries_take_expired(&pipe->retries, pipe->now_us)) != NULL)
        end_retry(pipe, retry, SHOAL_ETIMEOUT,
                  shoal__pipe_overdue_retry(pipe, &retry->request, &words));
}

void shoal__pipe_expire_retries(shoal__pipe_t *pipe)
{
    if (pipe->retries.count)
        expire_due(pipe);
}

bool shoal__pipe_cancel_retry(shoal__pipe_t *pipe, uint64_t ticket, const char *detail)
{
    shoal__retry_t *retry = shoal__retries_take_ticket(&pipe->retries, ticket);

    if (retry)
        end_retry(pipe, retry, SHOAL_ECANCELLED, detail);
    return retry != NULL;
}

void shoal__pipe_end_retries(shoal__pipe_t *pipe, shoal__ending_t ending,
                             const char *detail)
{
    const shoal__settle_input_t waiting = {.ending = ending,
                                           .progress = SHOAL__PROGRESS_QUEUED,
                                           .queue_offline =
                                               pipe->config->queue_offline};
    shoal__settlement_t settlement = shoal__settle(&waiting);
    shoal__retry_t *retry;

    while (settlement.action != SHOAL__SETTLE_KEEP &&
           (retry = shoal__retries_take_any(&pipe->retries)) != NULL)
        end_retry(pipe, retry, settlement.status, detail);
}

/* ---- out, to the server ---- */

static bool may_send_again(const shoal__pipe_t *pipe)
{
    return pipe->phase == SHOAL__PIPE_READY &&
           !shoal__renewal_is_under_way(&pipe->renewal);
}

void shoal__pipe_take_retries(shoal__pipe_t *pipe)
{
    shoal__retry_t *retry;

    while (may_send_again(pipe) &&
           (retry = shoal__retries_take_due(&pipe->retries, pipe->now_us)) != NULL) {
        char *at = shoal__pipe_reserve(pipe, retry->request.bytes, 1);
        if (!at) {
            end_retry(pipe, retry, SHOAL_ENOMEM, "no memory to send the command again");
            continue;
        }
        memcpy(at, retry->bytes, retry->request.bytes);
        shoal__pipe_push(pipe, &retry->request);
        shoal__stage_times_taken(&pipe->times, 1, pipe->now_us);
        shoal__free(retry);
    }
}

uint64_t shoal__pipe_retry_wake_us(const shoal__pipe_t *pipe)
{
    if (pipe->retries.count == 0)
        return SHOAL__NEVER_US;
    return shoal__retries_next_us(&pipe->retries, may_send_again(pipe));
}
