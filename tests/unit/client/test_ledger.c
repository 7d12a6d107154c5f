/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "client/ledger.h"
#include <shoal/errors.h>

/* clang-format off */
static const struct room_case {
    const char *name;
    uint64_t queued, bytes; /* what waits in the route */
    uint64_t mailbox_queued, mailbox_bytes;
    uint64_t more, more_bytes;
    bool has_room;
} room_cases[] = {
    /*                                  route     mailbox     more    room */
    {"nothing is there",               0,    0,   0,    0,   1,   40, true},
    {"the last command that fits",     4,    0,   5,    0,   1,    0, true},
    {"one command too many",           5,    0,   5,    0,   1,    0, false},
    {"many at once, all fit",          0,    0,   0,    0,  10,    0, true},
    {"many at once, one does not",     1,    0,   0,    0,  10,    0, false},
    {"the last byte that fits",        0,  500,   0,  400,   1,  100, true},
    {"one byte too many",              0,  500,   0,  400,   1,  101, false},
    {"bytes of the mailbox count",     0,    0,   0, 1000,   1,    1, false},
};
/* clang-format on */

static void test_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof room_cases / sizeof *room_cases; i++) {
        const struct room_case *c = &room_cases[i];
        shoal__account_t route = {0};
        shoal__ledger_t ledger;

        shoal__ledger_init(&ledger, &route, 10, 1000);
        shoal__ledger_enter_locked(&ledger, c->queued, c->bytes);
        if (shoal__ledger_has_room(&ledger, c->mailbox_queued, c->mailbox_bytes,
                                   c->more, c->more_bytes) != c->has_room)
            fail_msg("%s", c->name);
    }
}

/* Commands that entered count as queued until the route says how many still are. */
static void test_the_route_corrects_its_account(void **state)
{
    shoal__account_t route = {0};
    shoal__ledger_t ledger;

    (void)state;
    shoal__ledger_init(&ledger, &route, 10, 1000);
    shoal__ledger_enter_here(&ledger, 6, 600);
    shoal__ledger_enter_locked(&ledger, 4, 400);
    assert_int_equal(shoal__counter_get(&ledger.commands_here), 6);
    assert_false(shoal__ledger_has_room(&ledger, 0, 0, 1, 0));
    shoal__account_move(&route, 1, 9, 1000);
    shoal__ledger_published(&ledger);
    assert_true(
        shoal__ledger_has_room(&ledger, 0, 0, 9, 0)); /* in flight is not queued */
    assert_false(shoal__ledger_has_room(&ledger, 0, 0, 1, 1));
}

typedef struct seen {
    unsigned count;
    int status;
    shoal_fate_t fate;
    uint64_t tag, ticket;
} seen_t;

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    seen_t *seen = data;

    assert_null(client);
    seen->count++;
    seen->status = result->status;
    seen->fate = result->fate;
    seen->tag = result->tag;
    seen->ticket = result->ticket;
}

static void test_every_completion_is_one_less_owed(void **state)
{
    seen_t seen = {0};
    const shoal__request_t wanted = {.on_result = on_result, .data = &seen};
    const shoal__request_t unwanted = {.on_result = NULL};
    const shoal_result_t result = {.status = 0};
    shoal__account_t route = {0};
    shoal__ledger_t ledger;

    (void)state;
    shoal__ledger_init(&ledger, &route, 10, 1000);
    shoal__ledger_enter_here(&ledger, 2, 20);
    assert_int_equal(shoal__ledger_owed(&ledger), 2);
    shoal__ledger_complete(&ledger, NULL, &wanted, &result);
    shoal__ledger_complete(&ledger, NULL, &unwanted, &result);
    assert_int_equal(shoal__ledger_owed(&ledger), 0);
    assert_int_equal(seen.count, 1);
}

static void test_what_was_never_placed_was_not_executed(void **state)
{
    seen_t seen = {0};
    shoal__extra_t *sink = shoal__malloc(sizeof *sink);
    const shoal__request_t request = {
        .on_result = on_result, .data = &seen, .tag = 7, .ticket = 8, .extra = sink};
    shoal__account_t route = {0};
    shoal__ledger_t ledger;

    (void)state;
    assert_non_null(sink);
    *sink = (shoal__extra_t){.owners = 1}; /* the ledger frees it: else it leaks */
    shoal__ledger_init(&ledger, &route, 10, 1000);
    shoal__ledger_enter_locked(&ledger, 1, 20);
    shoal__ledger_fail_unplaced(&ledger, NULL, &request, SHOAL_ENOMEM, "no memory");
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.status, SHOAL_ENOMEM);
    assert_int_equal(seen.fate, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(seen.tag, 7);
    assert_int_equal(seen.ticket, 8);
    assert_int_equal(shoal__ledger_owed(&ledger), 0);
    assert_int_equal(shoal__counter_get(&ledger.unplaced), 1);
}

static void test_the_time_holds_inside_of_calls(void **state)
{
    shoal__account_t route = {0};
    shoal__ledger_t ledger;

    (void)state;
    shoal__ledger_init(&ledger, &route, 10, 1000);
    shoal__ledger_enter_call(&ledger, 50);
    shoal__ledger_enter_call(&ledger, 60);
    shoal__ledger_leave_call(&ledger);
    assert_int_equal(ledger.depth, 1);
    assert_int_equal(ledger.now_us, 60); /* the time does not go back */
    shoal__ledger_leave_call(&ledger);
    assert_int_equal(ledger.depth, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_the_route_corrects_its_account),
        cmocka_unit_test(test_every_completion_is_one_less_owed),
        cmocka_unit_test(test_what_was_never_placed_was_not_executed),
        cmocka_unit_test(test_the_time_holds_inside_of_calls),
    };
    return cmocka_run_group_tests_name("client/ledger", tests, NULL, NULL);
}
