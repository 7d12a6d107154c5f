/* SPDX-License-Identifier: MIT */

/* The queue of a mailbox, in every schedule: while the consumer sleeps on the descriptor, or
 * in a wait, it is woken if items were put and rung for; each message is taken once or counted as
 * dropped, those of a source in their order; after a close no item of the source is taken;
 * and the queue's memory goes with the last of its users. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SHIM_IMPLEMENTATION
#include "client/item_queue.h"
#include "interleave/shim.h"
#include "net/fork_guard.h"
#include <shoal/errors.h>
#include <string.h>

#define SOURCES_MAX 2
#define ITEMS_MAX 8

typedef struct items_case {
    const char *name;
    unsigned sources, messages; /* of each */
    size_t messages_max, count_max;
    shoal_overflow_t overflow;
    bool in_one_batch; /* rung for once for all messages of a source */
    bool closes;       /* the first source is closed behind its messages */
    bool is_left;      /* the consumer frees the mailbox after its first take */
    bool looks_first;  /* before each wait */
    bool waits;        /* by shoal__items_wait(), else by poll */
    unsigned spurious, preemptions;
} items_case_t;

_Atomic uint64_t shoal__fork_count;

int shoal__fork_guard_start(void)
{
    return 0;
}

static const items_case_t *now;
static shoal_mailbox_t *mailbox;
static shoal__item_source_t *sources[SOURCES_MAX];
static unsigned told[SOURCES_MAX]; /* messages taken, or counted by DROPPED */

static void produce(void *data)
{
    unsigned number = (unsigned)(uintptr_t)data;
    bool is_due = false;

    for (unsigned i = 0; i < now->messages; i++) {
        const shoal_item_t item = {.channel = {"c", 1}, .epoch = i + 1};
        is_due |= shoal__items_put(sources[number], &item) & SHOAL__ITEMS_RING;
        if (is_due && (!now->in_one_batch || i + 1 == now->messages))
            shoal__items_ring(mailbox);
    }
    shoal__items_release(mailbox);
    if (now->closes && number == 0)
        shoal__items_close(sources[number]);
}

static bool is_done(void)
{
    for (unsigned i = now->closes; i < now->sources; i++)
        if (told[i] < now->messages)
            return false;
    return true;
}

static void wait_for_items(void)
{
    struct pollfd slot;
    int rc;

    if (now->waits) {
        do
            rc = shoal__items_wait(mailbox, UINT64_MAX);
        while (rc == SHOAL_EINTR);
        explore_check(rc == 0);
        return;
    }
    slot = (struct pollfd){.fd = shoal__items_fd(mailbox), .events = POLLIN};
    while (shim_poll(&slot, 1, -1) < 0)
        continue;
}

static size_t take(void)
{
    const shoal_item_t *items[ITEMS_MAX];
    size_t count = shoal__items_take(mailbox, items, now->count_max);

    for (size_t i = 0; i < count; i++) {
        unsigned number = (unsigned)(uintptr_t)items[i]->data;
        if (items[i]->kind == SHOAL_ITEM_MESSAGE)
            explore_check(items[i]->epoch == ++told[number]);
        else
            told[number] += (unsigned)items[i]->count;
    }
    return count;
}

static void consume(void *data)
{
    (void)data;
    if (now->looks_first)
        explore_check(shoal__items_fd(mailbox) >= 0);
    while (!is_done()) {
        if (now->looks_first && take() > 0)
            continue;
        wait_for_items();
        explore_check(take() > 0 || now->closes); /* or it would look again and again */
        if (now->is_left)
            break;
    }
    shoal__items_free(mailbox);
}

static void begin(const void *data)
{
    static const char *const names[] = {"loop 1", "loop 2"};

    now = data;
    shim_begin();
    memset(told, 0, sizeof told);
    explore_check(shoal__items_new(now->messages_max, 65536, now->overflow, &mailbox) ==
                  0);
    for (uintptr_t i = 0; i < now->sources; i++) {
        explore_check(shoal__items_open(mailbox, (void *)i, &sources[i]) == 0);
        shoal__items_retain(mailbox); /* by the loop that will ring */
    }
    explore_start("consumer", consume, NULL);
    for (unsigned i = 0; i < now->sources; i++)
        explore_start(names[i], produce, (void *)(uintptr_t)i);
}

static void end(void)
{
    explore_check(now->is_left || is_done());
    for (unsigned i = now->closes; i < now->sources; i++)
        shoal__items_close(sources[i]);
    shim_end();
}

static const items_case_t cases[] = {
    {.name = "1 x 3, one by one",
     .sources = 1,
     .messages = 3,
     .messages_max = 8,
     .count_max = 8},
    {.name = "1 x 3, looks before it waits",
     .sources = 1,
     .messages = 3,
     .messages_max = 8,
     .count_max = 2,
     .looks_first = true},
    {.name = "1 x 3, rung for together, taken singly",
     .sources = 1,
     .messages = 3,
     .messages_max = 8,
     .count_max = 1,
     .in_one_batch = true},
    {.name = "1 x 3, waits, rung for together",
     .sources = 1,
     .messages = 3,
     .messages_max = 8,
     .count_max = 1,
     .in_one_batch = true,
     .waits = true},
    {.name = "1 x 3, waits and has a descriptor",
     .sources = 1,
     .messages = 3,
     .messages_max = 8,
     .count_max = 2,
     .looks_first = true,
     .waits = true},
    {.name = "1 x 4, dropped when new",
     .sources = 1,
     .messages = 4,
     .messages_max = 1,
     .count_max = 8},
    {.name = "1 x 4, dropped when old",
     .sources = 1,
     .messages = 4,
     .messages_max = 2,
     .count_max = 1,
     .overflow = SHOAL_OVERFLOW_OLDEST},
    {.name = "2 x 1, interrupted waits",
     .sources = 2,
     .messages = 1,
     .messages_max = 8,
     .count_max = 8,
     .waits = true,
     .spurious = 1},
    {.name = "2 x 2, dropped when old",
     .sources = 2,
     .messages = 2,
     .messages_max = 1,
     .count_max = 8,
     .overflow = SHOAL_OVERFLOW_OLDEST,
     .preemptions = 2},
    {.name = "2 x 2, one is closed",
     .waits = true,
     .sources = 2,
     .messages = 2,
     .messages_max = 8,
     .count_max = 2,
     .closes = true,
     .preemptions = 2},
    {.name = "freed while items come",
     .sources = 2,
     .messages = 1,
     .messages_max = 8,
     .count_max = 1,
     .is_left = true},
};

static void test_an_item_is_taken_or_the_descriptor_readable(void **state)
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
        cmocka_unit_test(test_an_item_is_taken_or_the_descriptor_readable),
    };
    return cmocka_run_group_tests_name("interleave/items", tests, NULL, NULL);
}
