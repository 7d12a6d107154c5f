/* SPDX-License-Identifier: MIT */

/* Subscriptions are closed while the loop delivers to them, in every schedule: no callback runs
 * when the close has returned, no closer sleeps on, and nothing is touched that was freed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "interleave/shim.h"
#include "route/subscription.h"
#include <string.h>

#define SUBSCRIPTIONS 2
#define ITEMS_MAX 4

typedef struct subscription_case {
    const char *name;
    unsigned items[ITEMS_MAX]; /* whose, from 1; 0: no more */
    unsigned closers;
    bool adds; /* a closer wishes for names before */
    unsigned spurious, preemptions;
} subscription_case_t;

/* What its holder keeps for it. */
typedef struct holder {
    shoal_subscription_t *subscription;
    unsigned inside; /* callbacks */
    bool is_gone;    /* the close has returned */
} holder_t;

static const subscription_case_t *now;
static shoal__post_t *post;
static holder_t holders[SUBSCRIPTIONS];
static unsigned freed, closed;

static void on_item(const shoal_item_t *item, void *data)
{
    holder_t *holder = data;

    (void)item;
    explore_check(!holder->is_gone);
    holder->inside++;
    shim_touch("callback", &holder->inside, true);
    holder->inside--;
    explore_check(!holder->is_gone);
}

static void on_free(shoal_subscription_t *subscription)
{
    explore_check(((holder_t *)subscription->data)->is_gone ||
                  atomic_load(&subscription->is_closed));
    freed++;
}

static void close_one(void *data)
{
    const shoal_name_t name = {SHOAL_NAME_CHANNEL, "x", 1};
    holder_t *holder = data;

    if (now->adds)
        explore_check(shoal__subscription_wish(holder->subscription, SHOAL__CHANGE_ADD,
                                               &name, 1, false) != SHOAL_ENOMEM);
    shoal__subscription_silence(holder->subscription, false);
    explore_check(holder->inside == 0);
    holder->is_gone = true;
    (void)shoal__subscription_leave(holder->subscription);
    closed++;
}

static void take(void)
{
    shoal__change_t *change = shoal__post_take(post), *next;

    for (; change; change = next) {
        next = change->next;
        if (change->kind == SHOAL__CHANGE_CLOSE)
            shoal__subscription_free(change->subscription);
        else
            shoal__free(change);
    }
}

/* One read, a turn, and the end. */
static void run_loop(void *data)
{
    shoal_item_t item = {.kind = SHOAL_ITEM_MESSAGE};

    (void)data;
    for (unsigned i = 0; i < ITEMS_MAX && now->items[i] > 0; i++)
        shoal__subscription_deliver(post, holders[now->items[i] - 1].subscription,
                                    &item);
    shoal__post_run(post, NULL);
    do
        take();
    while (!shoal__post_shut(post));
}

static void begin(const void *data)
{
    static const char *const names[] = {"closer 1", "closer 2"};

    now = data;
    shim_begin();
    freed = closed = 0;
    post = shoal__calloc(1, sizeof *post);
    explore_check(shoal__post_init(post) == 0);
    memset(holders, 0, sizeof holders);
    for (unsigned i = 0; i < SUBSCRIPTIONS; i++) {
        holders[i].subscription = shoal__subscription_new(post);
        holders[i].subscription->on_item = on_item;
        holders[i].subscription->on_free = on_free;
        holders[i].subscription->data = &holders[i];
    }
    for (unsigned i = 0; i < now->closers; i++)
        explore_start(names[i], close_one, &holders[i]);
    explore_start("loop", run_loop, NULL);
}

static void end(void)
{
    explore_check(closed == now->closers && freed == now->closers);
    for (unsigned i = now->closers; i < SUBSCRIPTIONS; i++) {
        holders[i].is_gone = true;
        shoal__subscription_free(holders[i].subscription);
    }
    shoal__post_release(post);
    shoal__free(post);
    shim_end();
}

static const subscription_case_t cases[] = {
    {.name = "one item, one closer", .items = {1}, .closers = 1, .spurious = 1},
    {.name = "two items", .items = {1, 1}, .closers = 1, .spurious = 1},
    {.name = "the loop goes on to another one", .items = {1, 2}, .closers = 1},
    {.name = "and comes back", .items = {1, 2, 1}, .closers = 1},
    {.name = "a wish before", .items = {1}, .closers = 1, .adds = true},
    {.name = "two closers",
     .items = {1, 2},
     .closers = 2,
     .spurious = 1,
     .preemptions = 3},
    {.name = "two closers, with wishes",
     .items = {2, 1},
     .closers = 2,
     .adds = true,
     .preemptions = 2},
};

static void test_closes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const explore_scenario_t scenario = {.name = cases[i].name,
                                             .begin = begin,
                                             .end = end,
                                             .data = &cases[i],
                                             .is_bounded = cases[i].preemptions > 0,
                                             .preemptions_max = cases[i].preemptions,
                                             .spurious = cases[i].spurious};
        shim_expect(&scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closes),
    };
    return cmocka_run_group_tests_name("interleave/subscription", tests, NULL, NULL);
}
