/* SPDX-License-Identifier: MIT */
#include "route/sentinel.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/clock.h"
#include "route/watches.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

/* A decision serves the dials that it caused. */
#define FRESH_US 500000
#define READ_AHEAD_US 20000

/* Other threads may read the name of a former server; so places are used again late. */
#define PLACES 64

typedef struct place {
    shoal__sentinel_address_t address;
    shoal__endpoint_t endpoint;
    char name[SHOAL__TARGET_NAME_BYTES];
} place_t;

struct shoal__sentinel {
    shoal__finder_t finder; /* first */
    const shoal_options_t *options;
    shoal__conn_config_t config;
    shoal__target_t *target;
    const shoal__conn_t *first;
    shoal__route_hooks_t hooks;
    void *owner;
    shoal__secret_t secret; /* of the options, for the sentinels */
    shoal__sentinel_rule_t rule;
    shoal__watches_t watches;
    shoal__list_t searches;
    place_t places[PLACES]; /* servers that were the primary, or were said to be */
    size_t next_place;
    uint64_t begun_us;           /* the last round */
    uint64_t decided_us;         /* the last round that chose; 0: none */
    uint64_t read_ahead_us;      /* last */
    shoal__sentinel_view_t told; /* what `first` was told last ... */
    uint64_t told_connects,
        told_failed; /* ... when it had been connected, and had failed,
                                            so often */
    bool is_asking;  /* a round is under way */
    bool is_hinted;  /* something happened: ask */
    bool is_urgent;  /* this round is for that reason */
    bool is_untold;  /* `first` was not told of the last decision */
    bool is_told;    /* it was, and nothing came of that yet */
    bool is_silent;  /* no sentinel answered: the program has heard of it */
};

/* ---- places ---- */

static place_t *place_of(shoal__sentinel_t *sentinel,
                         const shoal__sentinel_address_t *address)
{
    place_t *place;

    for (size_t i = 0; i < PLACES; i++)
        if (shoal__sentinel_is_same(&sentinel->places[i].address, address))
            return &sentinel->places[i];
    do
        place = &sentinel->places[sentinel->next_place++ % PLACES];
    while (&place->endpoint == sentinel->target->endpoints);
    place->address = *address;
    shoal__target_name(place->name, address->host, address->port);
    place->endpoint = (shoal__endpoint_t){
        .name = place->name, .host = place->address.host, .port = address->port};
    return place;
}

static void tell(const shoal__sentinel_t *sentinel, shoal_event_kind_t kind,
                 const char *detail)
{
    const shoal_event_t event = {.kind = kind,
                                 .detail = detail,
                                 .epoch =
                                     shoal__counter_get(&sentinel->first->stats.epoch),
                                 .connection = sentinel->first->id,
                                 .server = sentinel->target->name};

    sentinel->hooks.on_event(sentinel->owner, &event);
}

/* The target is the chosen server from now on. */
static void move(shoal__sentinel_t *sentinel)
{
    shoal__target_t *target = sentinel->target;
    const place_t *place = place_of(sentinel, &sentinel->rule.chosen.address);
    char detail[2 * SHOAL__TARGET_NAME_BYTES];

    if (target->name == place->name)
        return;
    snprintf(detail, sizeof detail, "the primary of %s is %s",
             sentinel->options->sentinels.name, place->name);
    target->name = place->name;
    target->endpoints = &place->endpoint;
    target->endpoints_count = 1;
    target->present = 0;
    tell(sentinel, SHOAL_EVENT_SERVER_CHANGED, detail);
}

/* ---- searches ---- */

/* Is the dial one of `first`, over whichever of its lines? */
static bool is_of_first(const shoal__sentinel_t *sentinel,
                        const shoal__search_t *search)
{
    return search->dialer == &sentinel->first->lines[0] ||
           search->dialer == &sentinel->first->lines[1];
}

/* What came of the address that `first` was told?  It may have been given up before. */
static void look_at_first(shoal__sentinel_t *sentinel, bool is_dialing)
{
    const shoal__conn_stats_t *stats = &sentinel->first->stats;
    bool is_proved = shoal__counter_get(&stats->connects) != sentinel->told_connects;
    bool is_failed =
        shoal__counter_get(&stats->attempts_failed) != sentinel->told_failed;

    if (!sentinel->is_told || (!is_proved && !is_dialing))
        return;
    sentinel->is_told = false;
    if (is_proved)
        shoal__sentinel_rule_proved(&sentinel->rule, &sentinel->told);
    else if (is_failed)
        shoal__sentinel_rule_failed(&sentinel->rule, &sentinel->told);
}

static void answer(shoal__sentinel_t *sentinel, shoal__search_t *search,
                   const char *error)
{
    if (!error && is_of_first(sentinel, search)) {
        sentinel->is_untold = false;
        sentinel->is_told = true;
        sentinel->told = sentinel->rule.chosen;
        sentinel->told_connects = shoal__counter_get(&sentinel->first->stats.connects);
        sentinel->told_failed =
            shoal__counter_get(&sentinel->first->stats.attempts_failed);
    }
    shoal__list_remove(&search->node);
    search->on_found(search->owner, error);
}

static bool is_fresh(const shoal__sentinel_t *sentinel, const shoal__search_t *search)
{
    return sentinel->decided_us != 0 && !sentinel->is_asking &&
           (!is_of_first(sentinel, search) || sentinel->is_untold) &&
           shoal__time_since(sentinel->decided_us, shoal__clock_us()) < FRESH_US;
}

static void begin_search(shoal__finder_t *finder, shoal__search_t *search)
{
    shoal__sentinel_t *sentinel = (shoal__sentinel_t *)finder;

    if (is_of_first(sentinel, search))
        look_at_first(sentinel, true);
    if (is_fresh(sentinel, search))
        answer(sentinel, search, NULL);
    else
        shoal__list_append(&sentinel->searches, &search->node);
}

static void answer_all(shoal__sentinel_t *sentinel, const char *error)
{
    shoal__list_t searches;

    shoal__list_move(&sentinel->searches, &searches);
    while (!shoal__list_is_empty(&searches))
        answer(sentinel, SHOAL__LIST_ENTRY(searches.next, shoal__search_t, node),
               error);
}

/* ---- rounds ---- */

static void begin_round(shoal__sentinel_t *sentinel, uint64_t now_us)
{
    sentinel->is_asking = true;
    sentinel->is_urgent = sentinel->is_hinted;
    sentinel->is_hinted = false;
    sentinel->begun_us = now_us;
    shoal__watches_look(&sentinel->watches, 0);
    shoal__watches_drop_gone(&sentinel->watches, now_us);
    shoal__sentinel_rule_begin(&sentinel->rule);
    shoal__watches_ask(&sentinel->watches, now_us);
}

/* No view counts.  The primary that works goes on. */
static void chose_none(shoal__sentinel_t *sentinel)
{
    const char *name = sentinel->options->sentinels.name;
    bool is_silent = !shoal__sentinel_rule_has_ready(&sentinel->rule);
    char detail[256];

    if (is_silent)
        snprintf(detail, sizeof detail, "no sentinel of %s answers: %.100s", name,
                 shoal__watches_reason(&sentinel->watches));
    else
        snprintf(detail, sizeof detail, "no sentinel names the present primary of %s",
                 name);
    if (is_silent && !sentinel->is_silent)
        tell(sentinel, SHOAL_EVENT_SENTINELS_LOST, detail);
    sentinel->is_silent |= is_silent;
    answer_all(sentinel, detail);
}

static void decide(shoal__sentinel_t *sentinel, uint64_t now_us)
{
    sentinel->is_asking = false;
    if (!shoal__sentinel_rule_choose(&sentinel->rule, sentinel->target->ready > 0,
                                     now_us)) {
        chose_none(sentinel);
        return;
    }
    sentinel->is_silent = false;
    sentinel->is_untold = true;
    sentinel->decided_us = now_us;
    move(sentinel);
    answer_all(sentinel, NULL);
}

/* Does somebody wait for this round? */
static bool is_urgent(const shoal__sentinel_t *sentinel)
{
    return sentinel->is_urgent || sentinel->is_hinted ||
           !shoal__list_is_empty(&sentinel->searches);
}

/* When the next round begins; NEVER: one is under way. */
static uint64_t next_round_us(const shoal__sentinel_t *sentinel)
{
    bool is_wanted = sentinel->is_hinted || !shoal__list_is_empty(&sentinel->searches);

    if (sentinel->is_asking)
        return SHOAL__NEVER_US;
    if (sentinel->begun_us == 0)
        return 0;
    return sentinel->begun_us +
           (is_wanted ? SHOAL__SENTINEL_GAP_US : SHOAL__SENTINEL_POLL_US);
}

/* ---- the sentinels ---- */

static void on_switch(void *owner)
{
    ((shoal__sentinel_t *)owner)->is_hinted = true;
}

static void on_id(void *owner)
{
    ((shoal__sentinel_t *)owner)->watches.has_namesakes = true;
}

static void on_peers(void *owner, const shoal__sentinel_peer_t *peers, size_t count)
{
    shoal__watches_add(&((shoal__sentinel_t *)owner)->watches, peers, count);
}

static void on_reading(void *owner, uint64_t now_us)
{
    const shoal__sentinel_t *sentinel = owner;

    sentinel->hooks.on_reading(sentinel->owner, now_us);
}

static void on_delivered(void *owner)
{
    const shoal__sentinel_t *sentinel = owner;

    sentinel->hooks.on_delivered(sentinel->owner);
}

static const shoal__watch_hooks_t watch_hooks = {.on_peers = on_peers,
                                                 .on_id = on_id,
                                                 .on_switch = on_switch,
                                                 .on_reading = on_reading,
                                                 .on_delivered = on_delivered};

/* ---- the turn ---- */

void shoal__sentinel_turn(shoal__sentinel_t *sentinel, uint64_t now_us)
{
    look_at_first(sentinel, false);
    shoal__watches_drop_namesakes(&sentinel->watches, now_us);
    if (now_us >= next_round_us(sentinel))
        begin_round(sentinel, now_us);
    if (!sentinel->is_asking)
        return;
    shoal__watches_look(&sentinel->watches,
                        sentinel->begun_us + SHOAL__SENTINEL_ROUND_US);
    if (shoal__sentinel_rule_look(&sentinel->rule, is_urgent(sentinel),
                                  sentinel->begun_us, now_us) == SHOAL__SENTINEL_DECIDE)
        decide(sentinel, now_us);
}

uint64_t shoal__sentinel_next_wake_us(const shoal__sentinel_t *sentinel,
                                      uint64_t now_us)
{
    uint64_t end_us = sentinel->begun_us + SHOAL__SENTINEL_ROUND_US;

    if (!sentinel->is_asking)
        return next_round_us(sentinel);
    /* Later the round waits for a connection alone, which wakes the loop. */
    return end_us > now_us ? end_us : SHOAL__NEVER_US;
}

bool shoal__sentinel_is_calm(const shoal__sentinel_t *sentinel)
{
    shoal__watches_look(&sentinel->watches, 0);
    return shoal__sentinel_rule_is_calm(&sentinel->rule);
}

void shoal__sentinel_read_ahead(shoal__sentinel_t *sentinel, uint64_t now_us)
{
    if (shoal__time_since(sentinel->read_ahead_us, now_us) < READ_AHEAD_US)
        return;
    sentinel->read_ahead_us = now_us;
    shoal__watches_read_ahead(&sentinel->watches);
}

/* ---- life ---- */

static void read_config(shoal__sentinel_t *sentinel, const shoal__conn_config_t *config)
{
    shoal__pipe_config_t *pipe = &sentinel->config.pipe;

    sentinel->config = *config;
    if (!sentinel->options->sentinels.is_tls) {
        sentinel->config.dial.stream = &shoal__stream_socket;
        sentinel->config.dial.tls = NULL;
        sentinel->config.dial.is_unverified = false;
    }
    pipe->flush.mode = SHOAL_FLUSH_OFF;
    pipe->greeting =
        (shoal__greeting_config_t){.protocol = config->pipe.greeting.protocol,
                                   .client_name = config->pipe.greeting.client_name,
                                   .integrity = SHOAL_INTEGRITY_SHAPES,
                                   .is_sentinel = true};
    pipe->learns = pipe->is_ordinary = pipe->loads_scripts = false;
    pipe->is_subscriber = false; /* nor is its watch one */
}

int shoal__sentinel_new(const shoal__sentinel_plan_t *plan,
                        shoal__sentinel_t **ret_sentinel)
{
    shoal__sentinel_t *sentinel = shoal__calloc(1, sizeof *sentinel);

    if (!sentinel)
        return SHOAL_ENOMEM;
    sentinel->finder.begin = begin_search;
    sentinel->options = plan->options;
    sentinel->secret = (shoal__secret_t){.user = plan->options->sentinels.user,
                                         .password = plan->options->sentinels.password};
    sentinel->target = plan->target;
    sentinel->first = plan->first;
    sentinel->hooks = *plan->hooks;
    sentinel->owner = plan->owner;
    shoal__list_init(&sentinel->searches);
    read_config(sentinel, plan->config);
    sentinel->watches =
        (shoal__watches_t){.plan = {.config = &sentinel->config,
                                    .set = plan->set,
                                    .primary = plan->options->sentinels.name,
                                    .secret = &sentinel->secret,
                                    .hooks = &watch_hooks,
                                    .owner = sentinel},
                           .rule = &sentinel->rule};
    if (shoal__watches_add_seeds(&sentinel->watches, &plan->options->sentinels) < 0) {
        shoal__sentinel_free(sentinel);
        return SHOAL_ENOMEM;
    }
    plan->target->finder = &sentinel->finder;
    *ret_sentinel = sentinel;
    return 0;
}

void shoal__sentinel_open(shoal__sentinel_t *sentinel)
{
    shoal__watches_open(&sentinel->watches);
}

void shoal__sentinel_shut(shoal__sentinel_t *sentinel, uint64_t now_us)
{
    shoal__watches_shut(&sentinel->watches, now_us);
}

void shoal__sentinel_forget(shoal__sentinel_t *sentinel)
{
    shoal__watches_forget(&sentinel->watches);
}

void shoal__sentinel_free(shoal__sentinel_t *sentinel)
{
    if (!sentinel)
        return;
    shoal__watches_free(&sentinel->watches);
    shoal__free(sentinel);
}
