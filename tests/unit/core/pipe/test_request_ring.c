/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/random.h"
#include "core/pipe/request_ring.h"
#include <shoal/errors.h>
#include <string.h>

#define RETRIED SHOAL__REQUEST_RETRIED
#define GONE SHOAL__REQUEST_GONE

/* ---- against a list ---- */

#define LIST_MAX 512

/* What the ring should hold, as plainly as possible. */
typedef struct entry {
    uint64_t tag, ticket;
    bool is_gone, is_retried;
} entry_t;

static struct {
    entry_t entries[LIST_MAX];
    size_t length;
    size_t sent;
    uint64_t tag, tickets[2];
} list;

static shoal__request_ring_t ring;
static shoal__random_t chance;

static uint64_t below(uint64_t bound)
{
    return shoal__random_below(&chance, bound);
}

static void drop_from_list(size_t at)
{
    memmove(&list.entries[at], &list.entries[at + 1],
            (list.length - at - 1) * sizeof *list.entries);
    list.length--;
}

static bool list_has_gone(void)
{
    for (size_t i = 0; i < list.length; i++)
        if (list.entries[i].is_gone)
            return true;
    return false;
}

static void push(void)
{
    uint64_t kind = below(2), no_ticket = below(8) == 0;
    bool is_retried = list.length > 0 && below(40) == 0;
    entry_t entry = {.tag = ++list.tag, .is_retried = is_retried};

    if (list.length == LIST_MAX)
        return;
    if (!no_ticket)
        entry.ticket = ++list.tickets[kind] | (kind ? SHOAL_TICKET_OF_LOOP : 0);
    if (is_retried) /* an old ticket comes behind younger ones */
        entry.ticket = UINT64_C(1) << 40 | list.tag;
    list.entries[list.length++] = entry;

    assert_int_equal(shoal__request_ring_reserve(&ring, 1), 0);
    *shoal__request_ring_push(&ring) = (shoal__request_t){
        .tag = entry.tag, .ticket = entry.ticket, .flags = is_retried ? RETRIED : 0};
    ring.retried += is_retried;
}

static void mark_sent(void)
{
    if (list_has_gone()) /* they are swept out before anything is written */
        return;
    size_t count = (size_t)below(list.length - list.sent + 1);
    list.sent += count;
    shoal__request_ring_mark_sent(&ring, count);
}

static void pop(void)
{
    if (list.sent == 0)
        return;
    assert_int_equal(shoal__request_ring_at(&ring, ring.head)->tag,
                     list.entries[0].tag);
    shoal__request_ring_pop(&ring);
    drop_from_list(0);
    list.sent--;
}

static void remove_one(void)
{
    if (list.length == list.sent)
        return;
    size_t at = list.sent + (size_t)below(list.length - list.sent);
    if (list.entries[at].is_gone)
        return;
    list.entries[at].is_gone = true;
    shoal__request_ring_remove(&ring, ring.head + at);
}

static void sweep(void)
{
    for (size_t i = list.length; i-- > 0;)
        if (list.entries[i].is_gone)
            drop_from_list(i);
    shoal__request_ring_sweep(&ring);
}

static void rewind_all(void)
{
    list.sent = 0;
    shoal__request_ring_rewind(&ring);
}

/* Answer all there is, then give the memory back: positions go on. */
static void rest(void)
{
    sweep();
    uint64_t position = ring.tail;
    shoal__request_ring_mark_sent(&ring, list.length - list.sent);
    list.sent = list.length;
    while (list.length > 0)
        pop();
    shoal__request_ring_rest(&ring);
    assert_int_equal(ring.room, 0);
    assert_int_equal(ring.head, position);
}

static void find(void)
{
    uint64_t at = UINT64_MAX;

    if (list.length == 0 || below(8) == 0) {
        uint64_t unknown = below(2) ? 0 : list.tickets[1] + 1 + below(100);
        if (unknown)
            unknown |= SHOAL_TICKET_OF_LOOP;
        assert_false(shoal__request_ring_find(&ring, unknown, &at));
        return;
    }
    size_t wanted = (size_t)below(list.length);
    if (list.entries[wanted].ticket == 0)
        return;
    if (list.entries[wanted].is_gone) {
        assert_false(shoal__request_ring_find(&ring, list.entries[wanted].ticket, &at));
        return;
    }
    assert_true(shoal__request_ring_find(&ring, list.entries[wanted].ticket, &at));
    assert_int_equal(at, ring.head + wanted);
}

static void check(void)
{
    uint64_t gone = 0, retried = 0;

    assert_int_equal(shoal__request_ring_length(&ring), list.length);
    assert_int_equal(shoal__request_ring_inflight(&ring), list.sent);
    for (size_t i = 0; i < list.length; i++) {
        const shoal__request_t *request = shoal__request_ring_at(&ring, ring.head + i);
        assert_int_equal(request->tag, list.entries[i].tag);
        assert_int_equal((request->flags & GONE) != 0, list.entries[i].is_gone);
        gone += list.entries[i].is_gone;
        retried += list.entries[i].is_retried;
    }
    assert_int_equal(shoal__request_ring_queued(&ring), list.length - list.sent - gone);
    assert_int_equal(ring.retried, retried);
}

/* Positions count up for ever; also over the end of the number. */
static void run_against_a_list(uint64_t seed, uint64_t first_position)
{
    static void (*const operations[])(void) = {push,      push,       push, push, push,
                                               mark_sent, mark_sent,  pop,  pop,  pop,
                                               pop,       remove_one, find, find};

    shoal__random_init(&chance, seed);
    memset(&list, 0, sizeof list);
    assert_int_equal(shoal__request_ring_init(&ring, 1), 0);
    ring.head = ring.sent = ring.tail = first_position;
    for (int step = 0; step < 20000; step++) {
        switch (below(50)) {
        case 0:
            rewind_all();
            break;
        case 1:
            sweep();
            break;
        case 2:
            if (below(20) == 0)
                rest();
            break;
        default:
            operations[below(sizeof operations / sizeof *operations)]();
        }
        check();
    }
    shoal__request_ring_release(&ring);
}

static void test_like_a_list(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        run_against_a_list(seed, 0);
        run_against_a_list(seed, UINT64_MAX - 1000);
    }
}

/* ---- in particular ---- */

static void fill(const char *tags, const uint16_t *flags)
{
    assert_int_equal(shoal__request_ring_init(&ring, 4), 0);
    for (size_t i = 0; tags[i]; i++) {
        assert_int_equal(shoal__request_ring_reserve(&ring, 1), 0);
        *shoal__request_ring_push(&ring) = (shoal__request_t){
            .tag = (uint64_t)tags[i], .ticket = i + 1, .flags = flags ? flags[i] : 0};
    }
}

static void test_bounds_of_units(void **state)
{
    (void)state;
    enum {
        UNIT = SHOAL__REQUEST_UNIT,
        FIRST = SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_FIRST,
        LAST = SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_LAST
    };
    static const uint16_t flags[] = {UNIT, LAST, 0, FIRST, UNIT, LAST, FIRST, LAST};
    static const struct {
        uint64_t at, first, last;
    } cases[] = {{0, 0, 1}, {1, 0, 1}, /* its beginning was popped */
                 {3, 3, 5}, {4, 3, 5}, {5, 3, 5}, {6, 6, 7}, {7, 6, 7}};

    fill("abcdefgh", flags);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t first = 99, last = 99;
        shoal__request_ring_unit(&ring, cases[i].at, &first, &last);
        assert_int_equal(first, cases[i].first);
        assert_int_equal(last, cases[i].last);
    }
    shoal__request_ring_release(&ring);
}

static void test_a_sweep_keeps_what_was_sent(void **state)
{
    (void)state;
    fill("abcdef", NULL);
    shoal__request_ring_mark_sent(&ring, 2);
    shoal__request_ring_remove(&ring, 2);
    shoal__request_ring_remove(&ring, 4);
    shoal__request_ring_remove(&ring, 5);
    assert_int_equal(shoal__request_ring_queued(&ring), 1);
    shoal__request_ring_sweep(&ring);
    assert_int_equal(shoal__request_ring_queued(&ring), 1);
    for (const char *tag = "abd"; *tag; tag++) {
        assert_int_equal(shoal__request_ring_at(&ring, ring.head)->tag, *tag);
        if (ring.head == ring.sent)
            shoal__request_ring_mark_sent(&ring, 1);
        shoal__request_ring_pop(&ring);
    }
    assert_int_equal(shoal__request_ring_length(&ring), 0);
    shoal__request_ring_release(&ring);
}

/* A search among requests of the other kind only, and without tickets at all. */
static void test_finding_nothing(void **state)
{
    (void)state;
    uint64_t at = 7;

    fill("abc", NULL);
    for (uint64_t i = 0; i < 3; i++)
        shoal__request_ring_at(&ring, i)->ticket |= SHOAL_TICKET_OF_LOOP;
    assert_false(shoal__request_ring_find(&ring, 2, &at));
    assert_true(shoal__request_ring_find(&ring, SHOAL_TICKET_OF_LOOP | 2, &at));
    assert_int_equal(at, 1);
    for (uint64_t i = 0; i < 3; i++)
        shoal__request_ring_at(&ring, i)->ticket = 0;
    assert_false(shoal__request_ring_find(&ring, 2, &at));
    assert_false(shoal__request_ring_find(&ring, 0, &at));
    assert_int_equal(at, 1);
    shoal__request_ring_release(&ring);
}

/* Parts of one command have one ticket.  Each is found, until it is given up. */
static void test_finding_parts(void **state)
{
    static const uint64_t tickets[] = {1, 2, SHOAL_TICKET_OF_LOOP | 9, 2, 0, 2, 3, 0};
    static const uint64_t places[] = {1, 3, 5};
    static const uint16_t ends[] = {SHOAL__REQUEST_ZOMBIE, SHOAL__REQUEST_GONE};
    (void)state;
    uint64_t at;

    for (size_t end = 0; end < 2; end++) {
        fill("abcdefgh", NULL);
        for (uint64_t i = 0; i < 8; i++)
            shoal__request_ring_at(&ring, i)->ticket = tickets[i];
        for (size_t i = 0; i < 3; i++) {
            assert_true(shoal__request_ring_find(&ring, 2, &at));
            assert_int_equal(at, places[i]);
            shoal__request_ring_at(&ring, at)->flags |= ends[end];
        }
        assert_false(shoal__request_ring_find(&ring, 2, &at));
        assert_true(shoal__request_ring_find(&ring, 3, &at));
        assert_int_equal(at, 6);
        assert_false(shoal__request_ring_find(&ring, 4, &at));
        shoal__request_ring_release(&ring);
    }
}

static void test_a_failed_allocation_changes_nothing(void **state)
{
    (void)state;
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__request_ring_init(&ring, 4), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();

    fill("abc", NULL);
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__request_ring_reserve(&ring, 1 << 20), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_int_equal(shoal__request_ring_length(&ring), 3);
    assert_int_equal(shoal__request_ring_at(&ring, 2)->tag, 'c');
    shoal__request_ring_release(&ring);
}

/* Whatever is asked of a ring without memory, there is nothing in it. */
static void test_a_ring_at_rest(void **state)
{
    (void)state;
    uint64_t at = 7;

    fill("abc", NULL);
    shoal__request_ring_mark_sent(&ring, 3);
    for (int i = 0; i < 3; i++)
        shoal__request_ring_pop(&ring);
    for (int i = 0; i < 2; i++) {
        shoal__request_ring_rest(&ring);
        assert_int_equal(ring.room, 0);
        assert_int_equal(shoal__request_ring_length(&ring), 0);
        assert_int_equal(shoal__request_ring_at(&ring, ring.sent)->flags, 0);
        assert_false(shoal__request_ring_find(&ring, 2, &at));
        shoal__request_ring_sweep(&ring);
        shoal__request_ring_rewind(&ring);
    }

    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__request_ring_reserve(&ring, 1), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_int_equal(ring.room, 0);
    shoal__request_ring_rest(&ring);

    uint64_t before = shoal__alloc_count();
    assert_int_equal(shoal__request_ring_reserve(&ring, 1), 0);
    assert_int_equal(shoal__alloc_count(), before + 1);
    *shoal__request_ring_push(&ring) = (shoal__request_t){.tag = 'd', .ticket = 4};
    assert_int_equal(ring.tail, 4);
    assert_true(shoal__request_ring_find(&ring, 4, &at));
    assert_int_equal(at, 3);
    assert_int_equal(shoal__request_ring_at(&ring, at)->tag, 'd');
    shoal__request_ring_release(&ring);
}

static void test_no_allocation_in_the_steady_state(void **state)
{
    (void)state;
    fill("abc", NULL);
    uint64_t before = shoal__alloc_count();
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(shoal__request_ring_reserve(&ring, 1), 0);
        *shoal__request_ring_push(&ring) = (shoal__request_t){.tag = 1};
        shoal__request_ring_mark_sent(&ring, 1);
        shoal__request_ring_pop(&ring);
    }
    assert_int_equal(shoal__alloc_count(), before);
    shoal__request_ring_release(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_a_list),
        cmocka_unit_test(test_bounds_of_units),
        cmocka_unit_test(test_a_sweep_keeps_what_was_sent),
        cmocka_unit_test(test_finding_nothing),
        cmocka_unit_test(test_finding_parts),
        cmocka_unit_test(test_a_failed_allocation_changes_nothing),
        cmocka_unit_test(test_a_ring_at_rest),
        cmocka_unit_test(test_no_allocation_in_the_steady_state),
    };
    return cmocka_run_group_tests_name("core/pipe/request_ring", tests, NULL, NULL);
}
