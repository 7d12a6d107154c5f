/* SPDX-License-Identifier: MIT */
#include "net/dialer.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/dial_failure.h"
#include "net/clock.h"
#include <shoal/errors.h>
#include <stdio.h>

#define DETAIL_BYTES 256

typedef struct shoal__attempt {
    shoal__dialer_plan_t plan;
    shoal__lookup_t *lookup; /* NULL: none */
    shoal__stream_t *stream; /* that is being connected; NULL: none */
    shoal__addresses_t addresses;
    unsigned next_address;         /* which of them to try next */
    uint64_t end_us;               /* when all addresses must have been tried */
    shoal__dial_failure_t failure; /* what `detail` tells of the addresses */
    int status;                    /* of the failure that is told */
    char detail[DETAIL_BYTES];     /* of the failure that is told */
} shoal__attempt_t;

static void note_failure(char detail[DETAIL_BYTES], const shoal__target_t *target,
                         const char *what, const char *why)
{
    snprintf(detail, DETAIL_BYTES, "%s %.127s: %s", what, target->name, why);
}

/* One address failed, perhaps not the only one. */
static void note_address_failure(shoal__attempt_t *attempt, int error)
{
    const shoal__dialer_plan_t *plan = &attempt->plan;
    const char *source = plan->target->host ? plan->config->source_name : NULL;
    const char *why = plan->config->stream->error_text(attempt->stream, error);
    shoal__dial_failure_t failure = shoal__dial_failure_read(error);
    char both[116];

    if (failure < attempt->failure)
        return;
    attempt->failure = failure;
    attempt->status = SHOAL_ECONN;
    if (source && failure != SHOAL__DIAL_TRIED) {
        snprintf(both, sizeof both, "%.48s (source address %.45s)", why, source);
        why = both;
    }
    note_failure(attempt->detail, plan->target, "connect", why);
}

/* The hook may end the attempt: nothing of it is touched afterwards. */
static void fail(const shoal__attempt_t *attempt)
{
    attempt->plan.hooks->on_failed(attempt->plan.owner, attempt->status,
                                   attempt->detail);
}

static void fail_to_look_up(shoal__attempt_t *attempt, const char *why)
{
    attempt->status = SHOAL_ECONN;
    note_failure(attempt->detail, attempt->plan.target, "look up", why);
    fail(attempt);
}

static void drop_stream(shoal__attempt_t *attempt)
{
    if (attempt->stream)
        attempt->stream->kind->close(attempt->stream);
    attempt->stream = NULL;
}

static bool open_stream(shoal__attempt_t *attempt, const shoal__address_t *address,
                        int *ret_error)
{
    const shoal__dialer_plan_t *plan = &attempt->plan;
    const shoal__dial_config_t *config = plan->config;
    const shoal__stream_request_t request = {
        .loop = plan->loop,
        .address = address,
        .source = config->source.bytes > 0 ? &config->source : NULL,
        .keepalive_us = config->keepalive_us,
        .target = plan->target,
        .hooks = &plan->hooks->stream,
        .owner = plan->owner};

    attempt->stream = config->stream->open(config->stream, &request, ret_error);
    return attempt->stream != NULL;
}

static void try_next(shoal__attempt_t *attempt)
{
    const shoal__dialer_plan_t *plan = &attempt->plan;

    while (attempt->next_address < attempt->addresses.count) {
        unsigned left = attempt->addresses.count - attempt->next_address;
        uint64_t now_us = shoal__clock_us();
        uint64_t share_us = shoal__time_since(now_us, attempt->end_us) / left;
        int error = 0;

        plan->hooks->on_waiting(plan->owner, now_us + share_us);
        if (open_stream(attempt, &attempt->addresses.items[attempt->next_address++],
                        &error))
            return;
        note_address_failure(attempt, error);
    }
    fail(attempt);
}

static void on_found(void *owner, const shoal__addresses_t *addresses,
                     const char *error)
{
    shoal__attempt_t *attempt = owner;

    attempt->lookup = NULL;
    if (error) {
        fail_to_look_up(attempt, error);
        return;
    }
    attempt->addresses = *addresses;
    try_next(attempt);
}

static void find_addresses(shoal__attempt_t *attempt)
{
    const shoal__dialer_plan_t *plan = &attempt->plan;
    const shoal__target_t *target = plan->target;

    if (!target->host) {
        shoal__resolver_unix(target->unix_path, &attempt->addresses);
        try_next(attempt);
    } else if (shoal__resolver_numeric(target->host, target->port,
                                       &attempt->addresses)) {
        try_next(attempt);
    } else {
        plan->hooks->on_waiting(plan->owner, attempt->end_us);
        attempt->lookup = shoal__resolver_lookup(plan->loop, target->host, target->port,
                                                 on_found, attempt);
        if (!attempt->lookup)
            fail_to_look_up(attempt, "no thread, descriptor or memory to be had");
    }
}

void shoal__dialer_begin(shoal__dialer_t *dialer, const shoal__dialer_plan_t *plan,
                         uint64_t now_us)
{
    shoal__attempt_t *attempt = shoal__calloc(1, sizeof *attempt);

    if (!attempt) {
        char detail[DETAIL_BYTES];
        note_failure(detail, plan->target, "connect", "no memory");
        plan->hooks->on_failed(plan->owner, SHOAL_ENOMEM, detail);
        return;
    }
    attempt->plan = *plan;
    attempt->end_us = now_us + plan->config->connect_us;
    dialer->attempt = attempt;
    find_addresses(attempt);
}

void shoal__dialer_answered(shoal__dialer_t *dialer, int error)
{
    shoal__attempt_t *attempt = dialer->attempt;
    const shoal__dialer_plan_t plan = attempt->plan;
    shoal__stream_t *stream = attempt->stream;

    if (error) {
        note_address_failure(attempt, error);
        drop_stream(attempt);
        try_next(attempt);
        return;
    }
    attempt->stream = NULL;
    shoal__dialer_stop(dialer);
    plan.hooks->on_reached(plan.owner, stream);
}

void shoal__dialer_timed_out(shoal__dialer_t *dialer)
{
    shoal__attempt_t *attempt = dialer->attempt;

    attempt->failure = SHOAL__DIAL_TRIED;
    attempt->status = SHOAL_ETIMEOUT;
    note_failure(attempt->detail, attempt->plan.target, "connect", "timed out");
    drop_stream(attempt);
    try_next(attempt);
}

void shoal__dialer_stop(shoal__dialer_t *dialer)
{
    shoal__attempt_t *attempt = dialer->attempt;

    if (!attempt)
        return;
    dialer->attempt = NULL;
    drop_stream(attempt);
    shoal__resolver_abandon(attempt->lookup);
    shoal__free(attempt);
}

void shoal__dialer_forget(shoal__dialer_t *dialer)
{
    shoal__attempt_t *attempt = dialer->attempt;

    if (!attempt)
        return;
    if (attempt->stream)
        attempt->stream->kind->forget(attempt->stream);
    shoal__resolver_forget(attempt->lookup);
    attempt->stream = NULL;
    attempt->lookup = NULL;
}
