/* SPDX-License-Identifier: MIT */
#include "route/keeper.h"

#include "base/time_us.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

static void tell(shoal__keeper_t *keeper, int status, const char *detail)
{
    const shoal_event_t event = {.kind = SHOAL_EVENT_CREDENTIALS,
                                 .status = status,
                                 .detail = detail,
                                 .connection = 1,
                                 .server = keeper->plan.target->name};

    keeper->hooks.on_event(keeper->plan.owner, &event);
}

/* ---- attempts to connect that wait ---- */

/* NULL: there are credentials, or the server may need none. */
static const char *why_not(const shoal__keeper_t *keeper)
{
    return keeper->secret.password || !keeper->why[0] ? NULL : keeper->why;
}

static void begin_search(shoal__finder_t *finder, shoal__search_t *search)
{
    shoal__keeper_t *keeper = (shoal__keeper_t *)(void *)finder;

    if (keeper->rule.has_outcome)
        search->on_found(search->owner, why_not(keeper));
    else
        shoal__list_append(&keeper->searches, &search->node);
}

static void end_searches(shoal__keeper_t *keeper)
{
    while (!shoal__list_is_empty(&keeper->searches)) {
        shoal__search_t *search =
            SHOAL__LIST_ENTRY(keeper->searches.next, shoal__search_t, node);
        shoal__list_remove(&search->node);
        search->on_found(search->owner, why_not(keeper));
    }
}

/* There are credentials. */
static void go_on(shoal__keeper_t *keeper)
{
    keeper->rule.has_outcome = true;
    keeper->why[0] = '\0';
    end_searches(keeper);
}

/* ---- the provider ---- */

static void on_answer(void *owner, shoal__provider_answer_t *answer)
{
    shoal__keeper_t *keeper = owner;

    keeper->question = NULL;
    keeper->answer = *answer;
    answer->secret = (shoal__secret_t){.user = NULL};
    keeper->is_answered = true;
}

/* The credentials stay as they are. */
static void fail(shoal__keeper_t *keeper, int status, const char *why, uint64_t now_us)
{
    shoal__credentials_rule_failed(&keeper->rule, now_us);
    snprintf(keeper->why, sizeof keeper->why, "no credentials: the provider %s", why);
    tell(keeper, status, keeper->why + sizeof "no credentials: " - 1);
    end_searches(keeper);
}

static void take_answer(shoal__keeper_t *keeper, uint64_t now_us)
{
    char why[SHOAL__PROVIDER_TEXT_BYTES + 16];

    keeper->is_answered = false;
    if (keeper->answer.is_failure) {
        snprintf(why, sizeof why, "failed: %s", keeper->answer.text);
        fail(keeper, SHOAL_EAUTH, why, now_us);
        return;
    }
    shoal__credentials_rule_given(&keeper->rule, keeper->answer.refresh_us, now_us);
    tell(keeper, 0, "the provider gave credentials");
    if (shoal__secret_equals(&keeper->answer.secret, &keeper->secret)) {
        /* The connections have them, or try them again by themselves. */
        shoal__secret_clear(&keeper->answer.secret);
        go_on(keeper);
        return;
    }
    keeper->plan.route->ops->authenticate(keeper->plan.route, &keeper->answer.secret,
                                          now_us);
}

static void ask(shoal__keeper_t *keeper, uint64_t now_us)
{
    const shoal_options_t *options = keeper->plan.options;

    keeper->question =
        shoal__provider_ask(keeper->loop, options->credentials.provider,
                            options->credentials.data, on_answer, keeper);
    if (!keeper->question)
        fail(keeper, SHOAL_ENOMEM, "had no thread, descriptor or memory", now_us);
}

void shoal__keeper_turn(shoal__keeper_t *keeper, uint64_t now_us)
{
    bool is_late = shoal__credentials_rule_is_late(&keeper->rule, now_us);

    if (!keeper->plan.options->credentials.provider || !keeper->loop)
        return;
    if (is_late) /* it may be the loop that stood still */
        shoal__provider_look(keeper->question);
    if (keeper->secret.is_refused) {
        keeper->secret.is_refused = false;
        shoal__credentials_rule_refused(&keeper->rule, now_us);
    }
    if (keeper->is_answered) {
        take_answer(keeper, now_us);
    } else if (is_late) {
        shoal__provider_abandon(keeper->question);
        keeper->question = NULL;
        fail(keeper, SHOAL_ETIMEOUT, "did not answer in time", now_us);
    }
    if (shoal__credentials_rule_asks(&keeper->rule, now_us))
        ask(keeper, now_us);
}

uint64_t shoal__keeper_next_wake_us(const shoal__keeper_t *keeper)
{
    if (!keeper->plan.options->credentials.provider)
        return SHOAL__NEVER_US;
    return keeper->is_answered || keeper->secret.is_refused
               ? 0
               : shoal__credentials_rule_wake_us(&keeper->rule);
}

bool shoal__keeper_is_calm(const shoal__keeper_t *keeper)
{
    return !keeper->question && !keeper->is_answered;
}

void shoal__keeper_take(shoal__keeper_t *keeper, shoal__secret_t *secret)
{
    shoal__secret_move(&keeper->secret, secret);
    go_on(keeper);
}

/* ---- its life ---- */

int shoal__keeper_init(shoal__keeper_t *keeper, const shoal__keeper_plan_t *plan)
{
    const shoal_options_t *options = plan->options;

    *keeper = (shoal__keeper_t){
        .finder.begin = begin_search, .plan = *plan, .hooks = *plan->hooks};
    shoal__list_init(&keeper->searches);
    if (shoal__secret_set(&keeper->secret, options->user, options->password) < 0)
        return SHOAL_ENOMEM;
    shoal__credentials_rule_init(&keeper->rule, options->credentials.timeout_us);
    plan->target->secret = &keeper->secret;
    plan->target->keeper = options->credentials.provider ? &keeper->finder : NULL;
    return 0;
}

void shoal__keeper_release(shoal__keeper_t *keeper)
{
    shoal__secret_clear(&keeper->answer.secret);
    shoal__secret_clear(&keeper->secret);
}

void shoal__keeper_open(shoal__keeper_t *keeper, uv_loop_t *loop)
{
    keeper->loop = loop;
}

void shoal__keeper_inherit(shoal__keeper_t *keeper, shoal__keeper_t *from)
{
    shoal__secret_move(&keeper->secret, &from->secret);
    keeper->rule = from->rule;
    memcpy(keeper->why, from->why, sizeof keeper->why);
    /* The answer to a question of the other one comes to nobody: it is asked again. */
    keeper->rule.is_asking = false;
}

void shoal__keeper_shut(shoal__keeper_t *keeper)
{
    shoal__provider_abandon(keeper->question);
    keeper->question = NULL;
    keeper->loop = NULL;
}

void shoal__keeper_forget(shoal__keeper_t *keeper)
{
    shoal__provider_forget(keeper->question);
    keeper->question = NULL;
    shoal__keeper_release(keeper);
}
