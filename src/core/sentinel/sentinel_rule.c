/* SPDX-License-Identifier: MIT */
#include "core/sentinel/sentinel_rule.h"

#include "base/time_us.h"

static void begin_voice(shoal__sentinel_voice_t *voice)
{
    voice->has_view = false;
    voice->is_awaited = voice->has_news;
    voice->has_news = false;
}

void shoal__sentinel_rule_begin(shoal__sentinel_rule_t *rule)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        begin_voice(&rule->voices[i]);
}

/* ---- choosing ---- */

static bool is_same_view(const shoal__sentinel_view_t *one,
                         const shoal__sentinel_view_t *other)
{
    return one->epoch == other->epoch &&
           shoal__sentinel_is_same(&one->address, &other->address);
}

static bool is_tried(const shoal__sentinel_rule_t *rule,
                     const shoal__sentinel_address_t *address)
{
    for (size_t i = 0; i < rule->tried_count; i++)
        if (shoal__sentinel_is_same(&rule->tried[i], address))
            return true;
    return false;
}

static size_t count_known(const shoal__sentinel_rule_t *rule)
{
    size_t known = 0;

    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        known += rule->voices[i].is_known;
    return known;
}

/* How many sentinels have this view? */
static size_t votes_for(const shoal__sentinel_rule_t *rule,
                        const shoal__sentinel_view_t *view)
{
    size_t votes = 0;

    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++) {
        const shoal__sentinel_voice_t *voice = &rule->voices[i];
        votes += voice->has_view && is_same_view(&voice->view, view);
    }
    return votes;
}

/* Has a sentinel not answered yet that knew what was proved, and did not know this? */
static bool is_witness_due(const shoal__sentinel_rule_t *rule,
                           const shoal__sentinel_view_t *view)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++) {
        const shoal__sentinel_voice_t *voice = &rule->voices[i];
        if (voice->had_view && !voice->has_view &&
            voice->view.epoch >= rule->best_epoch && !is_same_view(&voice->view, view))
            return true;
    }
    return false;
}

static bool is_proved(const shoal__sentinel_rule_t *rule,
                      const shoal__sentinel_view_t *view)
{
    return rule->has_best &&
           shoal__sentinel_is_same(&view->address, &rule->best_address);
}

static bool counts(const shoal__sentinel_rule_t *rule,
                   const shoal__sentinel_view_t *view)
{
    if (!rule->has_best || view->epoch > rule->best_epoch ||
        (view->epoch == rule->best_epoch && is_proved(rule, view)))
        return true;
    return votes_for(rule, view) * 2 > count_known(rule) && !is_witness_due(rule, view);
}

/* The failover that raised the epoch led away from there. */
static bool is_former(const shoal__sentinel_rule_t *rule,
                      const shoal__sentinel_view_t *view)
{
    return is_proved(rule, view) && view->epoch > rule->best_epoch;
}

static bool is_better(const shoal__sentinel_rule_t *rule,
                      const shoal__sentinel_view_t *one,
                      const shoal__sentinel_view_t *other)
{
    if (one->epoch != other->epoch)
        return one->epoch > other->epoch;
    if (is_former(rule, one) != is_former(rule, other))
        return is_former(rule, other);
    return votes_for(rule, one) > votes_for(rule, other);
}

/* The best view of those that were not tried; NULL: there is none. */
static const shoal__sentinel_view_t *find_best(const shoal__sentinel_rule_t *rule)
{
    const shoal__sentinel_view_t *best = NULL;

    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++) {
        const shoal__sentinel_voice_t *voice = &rule->voices[i];

        if (voice->has_view && !is_tried(rule, &voice->view.address) &&
            counts(rule, &voice->view) &&
            (!best || is_better(rule, &voice->view, best)))
            best = &voice->view;
    }
    return best;
}

static bool has_views(const shoal__sentinel_rule_t *rule)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        if (rule->voices[i].has_view)
            return true;
    return false;
}

/* Nothing but older views, for too long? */
static bool is_stuck(shoal__sentinel_rule_t *rule, bool works, uint64_t now_us)
{
    if (works)
        rule->stuck_us = 0;
    if (!has_views(rule))
        return false;
    if (rule->stuck_us == 0)
        rule->stuck_us = now_us;
    return shoal__time_since(rule->stuck_us, now_us) >= SHOAL__SENTINEL_OLD_US;
}

bool shoal__sentinel_rule_choose(shoal__sentinel_rule_t *rule, bool works,
                                 uint64_t now_us)
{
    const shoal__sentinel_view_t *best = find_best(rule);

    if (!best && rule->tried_count > 0) {
        rule->tried_count = 0; /* from the best one again */
        best = find_best(rule);
    }
    if (!best && is_stuck(rule, works, now_us)) {
        rule->has_best = false;
        best = find_best(rule);
    }
    if (!best)
        return false;
    rule->stuck_us = 0;
    if (rule->is_open && best->epoch < rule->chosen.epoch)
        return true;
    rule->is_open =
        !is_proved(rule, best) && (rule->is_open || !is_same_view(best, &rule->chosen));
    rule->chosen = *best;
    return true;
}

/* ---- when to choose ---- */

static bool has_view_that_counts(const shoal__sentinel_rule_t *rule)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        if (rule->voices[i].has_view && counts(rule, &rule->voices[i].view))
            return true;
    return false;
}

shoal__sentinel_round_t shoal__sentinel_rule_look(const shoal__sentinel_rule_t *rule,
                                                  bool is_urgent, uint64_t begun_us,
                                                  uint64_t now_us)
{
    size_t known = 0, asked = 0, reaching = 0, views = 0, awaited = 0;
    bool is_late = shoal__time_since(begun_us, now_us) >= SHOAL__SENTINEL_ROUND_US;

    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++) {
        known += rule->voices[i].is_known;
        asked += rule->voices[i].is_asked;
        awaited += rule->voices[i].is_awaited && rule->voices[i].is_asked;
        reaching += rule->voices[i].is_reaching;
        views += rule->voices[i].has_view;
    }
    if (asked + reaching == 0 ||
        (is_urgent && views * 2 > known && awaited == 0 && has_view_that_counts(rule)))
        return SHOAL__SENTINEL_DECIDE;
    return is_late && (views > 0 || reaching == 0) ? SHOAL__SENTINEL_DECIDE
                                                   : SHOAL__SENTINEL_WAIT;
}

/* ---- what became of it ---- */

void shoal__sentinel_rule_failed(shoal__sentinel_rule_t *rule,
                                 const shoal__sentinel_view_t *view)
{
    if (view->address.port != 0 && !is_tried(rule, &view->address) &&
        rule->tried_count < SHOAL__SENTINEL_TRIED_MAX)
        rule->tried[rule->tried_count++] = view->address;
    rule->is_open = rule->is_open && !is_same_view(view, &rule->chosen);
}

void shoal__sentinel_rule_proved(shoal__sentinel_rule_t *rule,
                                 const shoal__sentinel_view_t *view)
{
    rule->has_best = true;
    rule->best_address = view->address;
    rule->best_epoch = view->epoch;
    rule->tried_count = 0;
    rule->is_open = rule->is_open && !is_same_view(view, &rule->chosen);
}

/* ---- the sentinels themselves ---- */

bool shoal__sentinel_rule_has_ready(const shoal__sentinel_rule_t *rule)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        if (rule->voices[i].is_known && rule->voices[i].is_ready)
            return true;
    return false;
}

bool shoal__sentinel_rule_is_gone(const shoal__sentinel_rule_t *rule, size_t voice)
{
    const shoal__sentinel_voice_t *of = &rule->voices[voice];

    return of->is_known && !of->is_seed &&
           of->failures >= SHOAL__SENTINEL_FAILURES_MAX &&
           shoal__sentinel_rule_has_ready(rule);
}

bool shoal__sentinel_rule_is_calm(const shoal__sentinel_rule_t *rule)
{
    bool has_another = shoal__sentinel_rule_has_ready(rule);

    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++) {
        const shoal__sentinel_voice_t *voice = &rule->voices[i];
        bool is_hopeless =
            has_another && voice->failures >= SHOAL__SENTINEL_CALM_FAILURES;
        if (voice->is_reaching && !is_hopeless)
            return false;
    }
    return true;
}
