/* SPDX-License-Identifier: MIT */
#include "core/overtaken.h"

#include "base/alloc.h"
#include "resp/command_slot.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PING "*1\r\n$4\r\nPING\r\n"
#define GET "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
#define MGET "*3\r\n$4\r\nMGET\r\n$1\r\nb\r\n$1\r\na\r\n"
#define SAME_SLOT "*2\r\n$3\r\nGET\r\n$4\r\n{a}b\r\n"
#define UNKNOWN "*2\r\n$2\r\nXX\r\n$1\r\na\r\n"

static shoal__overtaken_t overtaken;

static int tear_down(void **state)
{
    (void)state;
    shoal__test_fail_alloc_never();
    shoal__overtaken_release(&overtaken);
    return 0;
}

/* A command was refused. */
static int set_up(void **state)
{
    (void)state;
    overtaken.refused_now = 1;
    return 0;
}

static shoal__request_t request_of(const char *bytes, unsigned ticket)
{
    return (shoal__request_t){.bytes = (uint32_t)strlen(bytes), .ticket = ticket};
}

static void note(const char *bytes, unsigned ticket)
{
    shoal__request_t request = request_of(bytes, ticket);

    shoal__overtaken_note(&overtaken, &request, bytes);
}

static bool has(const char *bytes, unsigned ticket)
{
    shoal__request_t request = request_of(bytes, ticket);

    return shoal__overtaken_has(&overtaken, &request, bytes);
}

static void test_earlier_commands_of_the_key_are_overtaken(void **state)
{
    static const struct {
        const char *bytes;
        unsigned ticket;
        bool is_overtaken;
    } cases[] = {
        {GET, 99, true},        {GET, 100, false}, /* itself */
        {GET, 101, false},      {MGET, 99, true},  {UNKNOWN, 99, true},
        {SAME_SLOT, 99, false}, {PING, 99, false},
    };
    (void)state;

    assert_false(has(GET, 0));
    note(GET, 100);
    note(GET, 50); /* an older one */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (has(cases[i].bytes, cases[i].ticket) != cases[i].is_overtaken)
            fail_msg("case %zu", i);
    shoal__request_t gone = request_of(GET, 99);
    gone.flags = SHOAL__REQUEST_GONE;
    assert_false(shoal__overtaken_has(&overtaken, &gone, GET));
}

static void test_a_command_of_several_keys_overtakes_for_each(void **state)
{
    (void)state;
    note(MGET, 100);
    assert_true(has(GET, 99));
    assert_false(has(SAME_SLOT, 99));
}

static void test_commands_without_a_key_are_of_one_kind(void **state)
{
    (void)state;
    note(PING, 100);
    assert_true(has(PING, 99));
    assert_false(has(PING, 100));
    assert_false(has(GET, 99));
}

/* Threads other than the loop's have tickets of their own. */
static void test_tickets_of_two_kinds(void **state)
{
    shoal__request_t request = request_of(GET, 99);
    (void)state;

    note(GET, 100);
    assert_true(shoal__overtaken_has(&overtaken, &request, GET));
    request.ticket |= SHOAL_TICKET_OF_LOOP;
    assert_false(shoal__overtaken_has(&overtaken, &request, GET));
    request.ticket++;
    shoal__overtaken_note(&overtaken, &request, GET);
    request.ticket--;
    assert_true(shoal__overtaken_has(&overtaken, &request, GET));
}

static void test_without_memory_every_key_is_meant(void **state)
{
    (void)state;
    shoal__test_fail_alloc_after(0);
    note(GET, 100);
    shoal__test_fail_alloc_never();
    assert_true(has(PING, 99));
    assert_false(has(PING, 100));
    note(GET, 200); /* there is memory now */
    assert_true(has(PING, 99));
    assert_false(has(PING, 100));
    assert_true(has(GET, 199));
}

static void test_each_refused_command_counts_until_it_ends(void **state)
{
    shoal__request_t first = request_of(GET, 1), second = request_of(GET, 2),
                     own = request_of(GET, 0);
    (void)state;

    overtaken.refused_now = 0;
    note(GET, 3); /* while none is refused */
    assert_null(overtaken.until);
    own.flags = SHOAL__REQUEST_GONE;
    shoal__overtaken_refused(&overtaken, &own);
    own.flags = SHOAL__REQUEST_INTERNAL;
    for (unsigned i = 0; i < 2; i++)
        shoal__overtaken_refused(&overtaken, &first);
    shoal__overtaken_refused(&overtaken, &own);
    assert_int_equal(overtaken.refused_now, 1);
    assert_false(own.was_refused);
    shoal__overtaken_refused(&overtaken, &second);
    assert_int_equal(overtaken.refused_now, 2);
    shoal__overtaken_ended(&overtaken, &first);
    shoal__overtaken_ended(&overtaken, &own);
    shoal__overtaken_ended(&overtaken, &second);
    assert_int_equal(overtaken.refused_now, 0);
}

/* What stands behind a large value is not in the log. */
static void test_the_slot_of_a_request(void **state)
{
    static const char get[] = "*2\r\n$3\r\nGET\r\n$3\r\nfoo\r\n";
    static const char mset[] = "*5\r\n$4\r\nMSET\r\n$3\r\nfoo\r\n$3\r\n\r\n$1\r\na\r\n";
    shoal__reference_t reference = {"xyz", 3, 29};
    shoal__values_t values = {&reference, 1, 3};
    shoal__extra_t extra = {.values = &values};
    shoal__request_t request = request_of(get, 0);
    (void)state;

    assert_int_equal(shoal__request_slot(&request, get, NULL), 12182);
    request = request_of(PING, 0);
    assert_int_equal(shoal__request_slot(&request, PING, NULL), SHOAL__SLOT_NONE);
    request = request_of(mset, 0);
    request.extra = &extra;
    assert_int_equal(shoal__request_slot(&request, mset, NULL), 12182);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_earlier_commands_of_the_key_are_overtaken),
        TEST(test_a_command_of_several_keys_overtakes_for_each),
        TEST(test_commands_without_a_key_are_of_one_kind),
        TEST(test_tickets_of_two_kinds),
        TEST(test_without_memory_every_key_is_meant),
        TEST(test_each_refused_command_counts_until_it_ends),
        TEST(test_the_slot_of_a_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
