/* SPDX-License-Identifier: MIT */
#include "net/dialer.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/address_order.h"
#include "core/dial_failure.h"
#include "core/dial_report.h"
#include "core/trust_rule.h"
#include "net/clock.h"
#include "net/finder.h"
#include <shoal/errors.h>
#include <stdio.h>

#define DETAIL_BYTES 256

typedef struct shoal__attempt {
    shoal__dialer_plan_t plan;
    unsigned first, choices; /* the first endpoint to try, and how many there are */
    unsigned count, tried;   /* how many to try; how many were begun */
    const shoal__named_endpoint_t *named; /* the target's, at the beginning */
    shoal__reached_t trying; /* where the stream, or the last one, leads to */
    uint64_t end_us;         /* when all endpoints must have been tried */
    shoal__dial_report_t report;
    shoal__search_t search;             /* in a list: the target's finder is looking */
    const shoal__endpoint_t *endpoints; /* of the target, when this began ... */
    unsigned endpoints_count;           /* ... and how many they were */

    /* Of the present endpoint: */
    uint64_t share_end_us;   /* when all its addresses must have been tried */
    shoal__lookup_t *lookup; /* NULL: none */
    shoal__stream_t *stream; /* that is being connected; NULL: none */
    shoal__addresses_t addresses;
    unsigned next_address;         /* which of them to try next */
    shoal__dial_failure_t failure; /* what `detail` tells of the addresses */
    int status;                    /* of the failure that is told */
    char detail[DETAIL_BYTES];     /* of the failure that is told */

    unsigned addresses_tried; /* of all endpoints */
} shoal__attempt_t;

static void try_endpoint(shoal__attempt_t *attempt);

static const shoal__endpoint_t *endpoint_of(const shoal__attempt_t *attempt)
{
    unsigned index = attempt->trying.endpoint;

    return index < attempt->endpoints_count ? &attempt->endpoints[index]
                                            : &attempt->named->endpoint;
}

static unsigned endpoints_left(const shoal__attempt_t *attempt)
{
    return attempt->count - attempt->tried;
}

static void note_failure(char detail[DETAIL_BYTES], const char *name, const char *what,
                         const char *why)
{
    snprintf(detail, DETAIL_BYTES, "%s %.127s: %s", what, name, why);
}

/* One address failed, perhaps not the only one. */
static void note_address_failure(shoal__attempt_t *attempt, int error)
{
    const shoal__dialer_plan_t *plan = &attempt->plan;
    const shoal__endpoint_t *endpoint = endpoint_of(attempt);
    const char *source = endpoint->host ? plan->config->source_name : NULL;
    const char *why = plan->config->stream->error_text(attempt->stream, error);
    shoal__dial_failure_t failure = shoal__dial_failure_read(error);
    char both[116];

    if (failure < attempt->failure)
        return;
    attempt->failure = failure;
    attempt->status = shoal__stream_status(error);
    if (source && failure != SHOAL__DIAL_TRIED) {
        snprintf(both, sizeof both, "%.48s (source address %.45s)", why, source);
        why = both;
    }
    note_failure(attempt->detail, endpoint->name, "connect", why);
}

/* The endpoint failed: the next one, or the end.  The hook may end the attempt: nothing of it
 * is touched afterwards. */
static void fail(shoal__attempt_t *attempt)
{
    shoal__dial_report_add(&attempt->report, attempt->status, attempt->detail);
    shoal__resolver_abandon(attempt->lookup);
    attempt->lookup = NULL;
    if (endpoints_left(attempt) > 0)
        try_endpoint(attempt);
    else
        attempt->plan.hooks->on_failed(attempt->plan.owner, attempt->report.status,
                                       attempt->report.text);
}

static void fail_to_look_up(shoal__attempt_t *attempt, const char *why)
{
    attempt->status = SHOAL_ECONN;
    note_failure(attempt->detail, endpoint_of(attempt)->name, "look up", why);
    fail(attempt);
}

static void drop_stream(shoal__attempt_t *attempt)
{
    if (attempt->stream)
        attempt->stream->kind->close(attempt->stream, false);
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
        .endpoint = endpoint_of(attempt),
        .tls = config->tls,
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
        uint64_t share_us = shoal__time_since(now_us, attempt->share_end_us) / left;
        int error = 0;

        plan->hooks->on_waiting(plan->owner, now_us + share_us);
        attempt->trying.address = attempt->addresses.items[attempt->next_address++];
        attempt->addresses_tried++;
        if (open_stream(attempt, &attempt->trying.address, &error))
            return;
        note_address_failure(attempt, error);
    }
    fail(attempt);
}

/* A server may name another one, but not where this machine alone can go. */
static void drop_untrusted(shoal__attempt_t *attempt)
{
    shoal__addresses_t *addresses = &attempt->addresses;
    const shoal__address_t *by = endpoint_of(attempt)->by;
    unsigned kept = 0;

    if (!by)
        return;
    for (unsigned i = 0; i < addresses->count; i++)
        if (shoal__trust_permits(&addresses->items[i], by))
            addresses->items[kept++] = addresses->items[i];
    addresses->count = kept;
    attempt->plan.target->is_untrusted |= kept == 0;
    attempt->status = SHOAL_ECONN;
    note_failure(attempt->detail, attempt->trying.name, "connect",
                 "the server was named by another one that must not know it");
}

/* Every endpoint that is left has room for an address. */
static void try_addresses(shoal__attempt_t *attempt)
{
    shoal__target_t *target = attempt->plan.target;
    unsigned room =
        SHOAL__ADDRESSES_MAX - attempt->addresses_tried - endpoints_left(attempt);

    drop_untrusted(attempt);
    shoal__address_order(&attempt->addresses, &target->worked, &target->failed);
    if (attempt->addresses.count > room)
        attempt->addresses.count = room;
    target->known = attempt->choices - 1 + attempt->addresses.count;
    try_next(attempt);
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
    try_addresses(attempt);
}

static void find_addresses(shoal__attempt_t *attempt)
{
    const shoal__dialer_plan_t *plan = &attempt->plan;
    const shoal__endpoint_t *endpoint = endpoint_of(attempt);

    if (!endpoint->host) {
        shoal__resolver_unix(endpoint->unix_path, &attempt->addresses);
        try_addresses(attempt);
    } else if (shoal__resolver_numeric(endpoint->host, endpoint->port,
                                       &attempt->addresses)) {
        try_addresses(attempt);
    } else {
        plan->hooks->on_waiting(plan->owner, attempt->share_end_us);
        attempt->lookup = shoal__resolver_lookup(plan->loop, endpoint->host,
                                                 endpoint->port, on_found, attempt);
        if (!attempt->lookup)
            fail_to_look_up(attempt, "no thread, descriptor or memory to be had");
    }
}

static void try_endpoint(shoal__attempt_t *attempt)
{
    uint64_t now_us = shoal__clock_us();

    attempt->share_end_us =
        now_us + shoal__time_since(now_us, attempt->end_us) / endpoints_left(attempt);
    attempt->trying.endpoint = (attempt->first + attempt->tried++) % attempt->choices;
    attempt->trying.name = endpoint_of(attempt)->name;
    attempt->addresses.count = attempt->next_address = 0;
    attempt->failure = SHOAL__DIAL_NO_FAMILY;
    find_addresses(attempt);
}

/* The target says which server it stands for. */
static void try_target(shoal__attempt_t *attempt)
{
    const shoal__target_t *target = attempt->plan.target;

    attempt->endpoints = target->endpoints;
    attempt->endpoints_count = target->endpoints_count;
    attempt->named = target->named;
    attempt->first = target->present;
    attempt->choices = shoal__target_choices(target);
    attempt->count = shoal__target_trials(target);
    try_endpoint(attempt);
}

static void on_server(void *owner, const char *error)
{
    shoal__attempt_t *attempt = owner;

    if (!error) {
        try_target(attempt);
        return;
    }
    attempt->status = SHOAL_ECONN;
    snprintf(attempt->detail, DETAIL_BYTES, "%s", error);
    fail(attempt);
}

static void find_server(shoal__attempt_t *attempt)
{
    const shoal__dialer_plan_t *plan = &attempt->plan;
    shoal__finder_t *finder = plan->target->finder;

    attempt->search.on_found = on_server;
    if (!finder) {
        try_target(attempt);
        return;
    }
    plan->hooks->on_waiting(plan->owner, attempt->end_us);
    finder->begin(finder, &attempt->search);
}

static void on_credentials(void *owner, const char *error)
{
    shoal__attempt_t *attempt = owner;

    if (!error) {
        attempt->end_us = shoal__clock_us() + attempt->plan.config->connect_us;
        find_server(attempt);
        return;
    }
    attempt->status = SHOAL_EAUTH;
    note_failure(attempt->detail, attempt->plan.target->name, "connect", error);
    fail(attempt);
}

static void find_credentials(shoal__attempt_t *attempt)
{
    const shoal__dialer_plan_t *plan = &attempt->plan;
    shoal__finder_t *keeper = plan->target->keeper;

    shoal__list_init(&attempt->search.node);
    attempt->search.owner = attempt;
    attempt->search.dialer = plan->owner;
    if (!keeper) {
        find_server(attempt);
        return;
    }
    plan->hooks->on_waiting(plan->owner, SHOAL__NEVER_US);
    attempt->search.on_found = on_credentials;
    keeper->begin(keeper, &attempt->search);
}

void shoal__dialer_begin(shoal__dialer_t *dialer, const shoal__dialer_plan_t *plan,
                         uint64_t now_us)
{
    shoal__attempt_t *attempt = shoal__calloc(1, sizeof *attempt);

    if (!attempt) {
        char detail[DETAIL_BYTES];
        note_failure(detail, plan->target->name, "connect", "no memory");
        plan->hooks->on_failed(plan->owner, SHOAL_ENOMEM, detail);
        return;
    }
    attempt->plan = *plan;
    attempt->end_us = now_us + plan->config->connect_us;
    attempt->endpoints = plan->target->endpoints;
    attempt->endpoints_count = plan->target->endpoints_count;
    dialer->attempt = attempt;
    find_credentials(attempt);
}

bool shoal__dialer_is_outdated(const shoal__dialer_t *dialer)
{
    const shoal__attempt_t *attempt = dialer->attempt;

    return attempt && shoal__list_is_empty(&attempt->search.node) &&
           attempt->endpoints != attempt->plan.target->endpoints;
}

void shoal__dialer_answered(shoal__dialer_t *dialer, int error)
{
    shoal__attempt_t *attempt = dialer->attempt;
    const shoal__dialer_plan_t plan = attempt->plan;
    const shoal__reached_t reached = attempt->trying;
    shoal__stream_t *stream = attempt->stream;

    if (error) {
        note_address_failure(attempt, error);
        drop_stream(attempt);
        try_next(attempt);
        return;
    }
    attempt->stream = NULL;
    shoal__dialer_stop(dialer);
    plan.hooks->on_reached(plan.owner, stream, &reached);
}

void shoal__dialer_timed_out(shoal__dialer_t *dialer)
{
    shoal__attempt_t *attempt = dialer->attempt;

    attempt->failure = SHOAL__DIAL_TRIED;
    attempt->status = SHOAL_ETIMEOUT;
    note_failure(
        attempt->detail, endpoint_of(attempt)->name, "connect",
        attempt->plan.config->stream->error_text(attempt->stream, SHOAL_ETIMEOUT));
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
    shoal__list_remove(&attempt->search.node);
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
