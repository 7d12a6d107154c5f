/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/greeting/former.h"

/* clang-format off */
static const struct identity_case {
    const char *text;
    bool is_read;
    int64_t id;
    const char *address;
} identity_cases[] = {
    {"id=7 addr=127.0.0.1:4000 laddr=127.0.0.1:6379 fd=8 name= age=0\n", true, 7, "127.0.0.1:4000"},
    {"laddr=1.2.3.4:6379 id=12 addr=[::1]:4000 name=addr=x",             true, 12, "[::1]:4000"},
    {"id=3 addr=/run/redis.sock:0 laddr=/run/redis.sock:0",              true, 3, "/run/redis.sock:0"},
    {"id=999999999999999999 addr=a:1",      true, 999999999999999999, "a:1"},
    {"addr=127.0.0.1:4000",                 false, 0, ""},
    {"id=7 laddr=127.0.0.1:6379",           false, 0, ""},
    {"id=7 addr= name=x",                   false, 0, ""},
    {"id= addr=a:1",                        false, 0, ""},
    {"id=7x addr=a:1",                      false, 0, ""},
    {"id=-7 addr=a:1",                      false, 0, ""},
    {"id=1000000000000000000 addr=a:1",     false, 0, ""},
    {"id=0 addr=a:1",                       false, 0, "a:1"},
    {"id=7 addr=a\x01:1",                   false, 0, ""},
    {"id=7 addr=a\xc3:1",                   false, 0, ""},
    {"id=7 addr=a\x7f:1",                   false, 0, ""},
    {"",                                    false, 0, ""},
};

static const struct process_case {
    const char *text;
    bool is_read;
    const char *process;
} process_cases[] = {
    {"# Server\r\nredis_version:7.0.15\r\nrun_id:abc123\r\ntcp_port:1\r\n", true, "abc123"},
    {"run_id:abc",                                 true,  "abc"},
    {"server_name:valkey\nrun_id:abc\n",           true,  "abc"},
    {"my_run_id:abc\r\n",                          false, ""},
    {"run_id:\r\n",                                false, ""},
    {"run_id:ab cd\r\n",                           false, ""},
    {"run_id:012345678901234567890123456789012345678901234567\r\n", false, ""}, /* 48 */
    {"run_id:01234567890123456789012345678901234567890123456\r\n",  true,
     "01234567890123456789012345678901234567890123456"},
    {"",                                           false, ""},
};
/* clang-format on */

static void test_identities(void **state)
{
    char long_address[200] = "id=7 addr=";
    shoal__identity_t identity;

    (void)state;
    for (size_t i = 0; i < sizeof identity_cases / sizeof *identity_cases; i++) {
        const struct identity_case *c = &identity_cases[i];
        identity = (shoal__identity_t){.id = 99, .address = "old"};
        if (shoal__identity_read(&identity, c->text, strlen(c->text)) != c->is_read ||
            identity.id != c->id || strcmp(identity.address, c->address) != 0)
            fail_msg("'%s': %lld '%s'", c->text, (long long)identity.id,
                     identity.address);
    }
    memset(long_address + 10, 'a', 128);
    assert_false(shoal__identity_read(&identity, long_address, strlen(long_address)));
    long_address[137] = '\0';
    assert_true(shoal__identity_read(&identity, long_address, strlen(long_address)));
}

static void test_processes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof process_cases / sizeof *process_cases; i++) {
        const struct process_case *c = &process_cases[i];
        shoal__identity_t identity = {.process = "old"};
        if (shoal__identity_read_process(&identity, c->text, strlen(c->text)) !=
                c->is_read ||
            strcmp(identity.process, c->process) != 0)
            fail_msg("'%s': '%s'", c->text, identity.process);
    }
}

static void test_the_number_of_a_process(void **state)
{
    const shoal__identity_t one = {.process = "abc"},
                            same = {.id = 7, .process = "abc"},
                            other = {.process = "abd"}, none = {.id = 7};
    (void)state;

    assert_true(shoal__identity_number(&one, 1) == shoal__identity_number(&same, 2));
    assert_true(shoal__identity_number(&one, 1) != shoal__identity_number(&other, 1));
    assert_int_equal(shoal__identity_number(&none, 3), 3);
}

#define ERROR (-1)
#define SILENCE (-2)

/* One former connection on process "a", one answer, and what it proves. */
/* clang-format off */
static const struct proof_case {
    int64_t answer;
    /* The server process of the former connection, and of the present one. */
    const char *then, *now;
    bool is_settled;
    unsigned left; /* former connections that the next greeting asks for again */
} proof_cases[] = {
    {1,       "a", "a", true,  0},
    {1,       "a", "b", false, 1}, /* another process: the answer is about a stranger */
    {1,       "a", "",  true,  0},
    {2,       "a", "a", true,  0},
    {0,       "a", "a", true,  0},
    {0,       "a", "b", false, 1}, /* process "a" may be met again */
    {0,       "a", "",  false, 1},
    {0,       "",  "a", false, 1},
    {0,       "",  "",  false, 1},
    {ERROR,   "a", "a", false, 1},
    {SILENCE, "a", "a", false, 1},
};
/* clang-format on */

static shoal__identity_t identity_of(int64_t id, const char *process)
{
    shoal__identity_t identity = {.id = id, .address = "a:1"};

    snprintf(identity.process, sizeof identity.process, "%s", process);
    return identity;
}

static void test_what_an_answer_proves(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof proof_cases / sizeof *proof_cases; i++) {
        const struct proof_case *c = &proof_cases[i];
        shoal__identity_t identity = identity_of(1, c->then);
        shoal__former_t former;

        shoal__former_init(&former);
        shoal__former_add(&former, &identity);
        shoal__former_begin(&former);
        if (c->answer != SILENCE)
            shoal__former_answer(&former, 0, c->answer);
        bool is_settled = shoal__former_conclude(&former, c->now);
        if (is_settled != c->is_settled || former.count != c->left)
            fail_msg("row %zu: settled %d, %u left", i, is_settled, former.count);
        shoal__former_release(&former);
    }
}

static void test_nothing_to_settle(void **state)
{
    shoal__former_t former;

    (void)state;
    shoal__former_init(&former);
    shoal__former_begin(&former);
    assert_true(shoal__former_conclude(&former, ""));
    shoal__former_release(&former);
}

/* A connection is settled if all former ones are proved; each that is proved is
 * forgotten, even if another one is not. */
static void test_each_of_several_needs_its_proof(void **state)
{
    shoal__former_t former;

    (void)state;
    shoal__former_init(&former);
    for (int64_t id = 1; id <= 3; id++) {
        shoal__identity_t identity = identity_of(id, "a");
        shoal__former_add(&former, &identity);
    }
    shoal__former_begin(&former);
    shoal__former_answer(&former, 0, 1);
    shoal__former_answer(&former, 1, -1);
    shoal__former_answer(&former, 2, 0);
    assert_false(shoal__former_conclude(&former, "a"));
    assert_int_equal(former.count, 1);
    assert_int_equal(former.entries[0].identity.id, 2);

    shoal__former_begin(&former);
    shoal__former_answer(&former, 0, 0);
    assert_true(shoal__former_conclude(&former, "a"));
    assert_int_equal(former.count, 0);
    shoal__former_release(&former);
}

/* A proof of an earlier connection is no proof on another server. */
static void test_each_connection_begins_anew(void **state)
{
    shoal__identity_t identity = identity_of(1, "a");
    shoal__former_t former;

    (void)state;
    shoal__former_init(&former);
    shoal__former_add(&former, &identity);
    shoal__former_begin(&former);
    shoal__former_answer(&former, 0, 1);
    /* The connection is lost in its greeting; the next one begins. */
    shoal__former_begin(&former);
    assert_false(shoal__former_conclude(&former, "b"));
    shoal__former_release(&former);
}

static void add(shoal__former_t *former, int64_t id, const char *process)
{
    shoal__identity_t identity = identity_of(id, process);

    shoal__former_add(former, &identity);
}

/* On the present connection, all that can be asked for are ended. */
static bool is_settled_when_all_end(shoal__former_t *former, const char *process)
{
    shoal__former_begin(former);
    for (unsigned i = 0; i < former->count; i++)
        if (shoal__former_may_be_ended(former, i, process))
            shoal__former_answer(former, i, 1);
    return shoal__former_conclude(former, process);
}

/* Nobody knows which connection of which process may still run something. */
static void test_losing_track(void **state)
{
    shoal__identity_t unknown = {0}, nowhere = {.id = 7};
    shoal__former_t former;

    (void)state;
    shoal__former_init(&former);
    shoal__former_add(&former, &unknown);
    assert_int_equal(former.count, 0);
    assert_false(shoal__former_conclude(&former, "a"));
    shoal__former_release(&former);

    shoal__former_init(&former);
    shoal__former_add(&former, &nowhere);
    assert_false(shoal__former_conclude(&former, "a"));
    shoal__former_release(&former);

    shoal__former_init(&former);
    for (int64_t id = 1; id <= SHOAL__FORMER_MAX + 1; id++)
        add(&former, id, (char[]){(char)('a' + id), '\0'});
    assert_true(former.has_lost_track);
    assert_int_equal(former.count, SHOAL__FORMER_MAX);
    assert_int_equal(former.entries[0].identity.id, 2);
    for (int connection = 0; connection < 2; connection++)
        assert_false(is_settled_when_all_end(&former, "x"));
    shoal__former_release(&former);
}

/* A connection that cannot be named may run something as long as its process lives.  On
 * another process the first connection is not settled, as always. */
static void test_a_nameless_one_ends_with_its_process(void **state)
{
    shoal__former_t former;

    (void)state;
    shoal__former_init(&former);
    add(&former, 0, "a");
    add(&former, 0, "a"); /* the first one stands for this one, too */
    assert_int_equal(former.count, 1);
    for (int connection = 0; connection < 2; connection++) {
        assert_true(shoal__former_may_be_on(&former, 0, "a"));
        assert_true(shoal__former_may_be_on(&former, 0, ""));
        assert_false(shoal__former_may_be_ended(&former, 0, "a"));
        assert_int_equal(former.entries[0].elsewhere, SHOAL__FORMER_IN_VAIN);
        assert_false(is_settled_when_all_end(&former, "a"));
        assert_int_equal(is_settled_when_all_end(&former, "b"), connection > 0);
        assert_true(is_settled_when_all_end(&former, "b"));
    }
    assert_false(is_settled_when_all_end(&former, ""));
    shoal__former_release(&former);
}

static void test_nameless_ones_of_two_processes(void **state)
{
    shoal__former_t former;

    (void)state;
    shoal__former_init(&former);
    add(&former, 0, "a");
    add(&former, 0, "b");
    add(&former, 0, "b");
    assert_int_equal(former.count, 2);
    assert_true(shoal__former_may_be_on(&former, 0, "a"));
    assert_true(shoal__former_may_be_on(&former, 1, "b"));
    shoal__former_release(&former);
}

/* Those that are too many become nameless. */
static void test_too_many_of_one_process(void **state)
{
    shoal__former_t former;

    (void)state;
    shoal__former_init(&former);
    add(&former, 100, "b");
    for (int64_t id = 1; id <= 2 * SHOAL__FORMER_MAX; id++)
        add(&former, id, "a");
    assert_false(former.has_lost_track);
    assert_int_equal(former.count, SHOAL__FORMER_MAX);
    assert_int_equal(former.entries[0].identity.id, 100);
    assert_int_equal(former.entries[1].identity.id, 0);
    for (unsigned i = 2; i < former.count; i++)
        assert_int_equal(former.entries[i].identity.id, SHOAL__FORMER_MAX + 1 + i);
    for (int connection = 0; connection < 3; connection++)
        assert_false(is_settled_when_all_end(&former, "a"));
    assert_int_equal(former.count, 2);
    assert_false(is_settled_when_all_end(&former, "b"));
    assert_true(is_settled_when_all_end(&former, "b"));
    shoal__former_release(&former);
}

/* On another process the first connection is not settled, and later ones are: nothing
 * was sent to that process before.  The first process may be met again, and is asked
 * then. */
static void test_a_second_process_settles_nothing_of_the_first(void **state)
{
    shoal__identity_t identity = identity_of(1, "a");
    shoal__former_t former;

    (void)state;
    shoal__former_init(&former);
    shoal__former_add(&former, &identity);
    for (int connection = 0; connection < 3; connection++) {
        shoal__former_begin(&former);
        assert_false(shoal__former_may_be_on(&former, 0, "b"));
        assert_int_equal(shoal__former_conclude(&former, "b"), connection > 0);
    }
    shoal__former_begin(&former);
    assert_true(shoal__former_may_be_on(&former, 0, "a"));
    assert_false(shoal__former_conclude(&former, "a"));
    shoal__former_begin(&former);
    shoal__former_answer(&former, 0, 1);
    assert_true(shoal__former_conclude(&former, "a"));
    assert_int_equal(former.count, 0);
    shoal__former_release(&former);
}

/* The proof for one former connection is no proof for another one. */
static void test_one_that_is_never_proved(void **state)
{
    const shoal__identity_t unknown = identity_of(1, ""), other = identity_of(2, "a");
    shoal__former_t former;

    (void)state;
    shoal__former_init(&former);
    shoal__former_add(&former, &unknown);
    shoal__former_add(&former, &other);
    for (int connection = 0; connection < 2; connection++) {
        shoal__former_begin(&former);
        assert_false(shoal__former_conclude(&former, "b"));
    }
    assert_int_equal(former.count, 2);
    shoal__former_begin(&former);
    shoal__former_answer(&former, 0, 1);
    assert_true(shoal__former_conclude(&former, "b"));
    assert_int_equal(former.count, 1);
    shoal__former_release(&former);
}

/* All connections to a Unix socket have one address. */
static void test_whom_to_ask_for(void **state)
{
    static const struct {
        const char *address, *then, *now;
        bool is_asked_for;
    } cases[] = {{"a:1", "p", "p", true},  {"a:1", "p", "q", false},
                 {"a:1", "p", "", true},   {"a:1", "", "p", true},
                 {"/s:0", "p", "p", true}, {"/s:0", "p", "q", false},
                 {"/s:0", "p", "", false}, {"/s:0", "", "p", false},
                 {"a:10", "", "", true},   {"0", "", "", true}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__identity_t identity = identity_of(1, cases[i].then);
        shoal__former_t former;
        shoal__former_init(&former);
        snprintf(identity.address, sizeof identity.address, "%s", cases[i].address);
        shoal__former_add(&former, &identity);
        if (shoal__former_may_be_on(&former, 0, cases[i].now) != cases[i].is_asked_for)
            fail_msg("row %zu", i);
        shoal__former_release(&former);
    }
}

static void test_an_answer_too_many(void **state)
{
    shoal__former_t former;

    (void)state;
    shoal__former_init(&former);
    shoal__former_answer(&former, 0, 1);
    shoal__former_answer(&former, SHOAL__FORMER_MAX, 1);
    assert_true(shoal__former_conclude(&former, "a"));
    shoal__former_release(&former);
}

/* A connection that cannot be remembered, for want of memory, may still execute
 * commands. */
static void test_without_memory_the_track_is_lost(void **state)
{
    shoal__identity_t identity = identity_of(1, "a");
    shoal__former_t former;

    (void)state;
    shoal__former_init(&former);
    shoal__test_fail_alloc_after(0);
    shoal__former_add(&former, &identity);
    shoal__test_fail_alloc_never();
    assert_int_equal(former.count, 0);
    assert_false(shoal__former_conclude(&former, "a"));
    shoal__former_release(&former);
}

/* Other connections of the client may be told to end one, too. */
static void test_what_an_answer_elsewhere_proves(void **state)
{
    const shoal__identity_t identities[] = {identity_of(1, "a"), identity_of(1, "b"),
                                            identity_of(2, "b"), identity_of(3, "")};
    shoal__former_t former;

    (void)state;
    shoal__former_init(&former);
    for (size_t i = 0; i < 4; i++)
        shoal__former_add(&former, &identities[i]);
    assert_false(shoal__former_is_on(&former, 0, "b"));
    assert_true(shoal__former_is_on(&former, 1, "b"));
    assert_false(shoal__former_is_on(&former, 3, "b"));
    assert_false(shoal__former_is_on(&former, 3, ""));

    shoal__former_ended(&former, 1, 1); /* it was not asked for */
    assert_int_equal(former.count, 4);
    former.entries[1].elsewhere = SHOAL__FORMER_ASKED;
    former.entries[2].elsewhere = SHOAL__FORMER_ASKED;
    shoal__former_ended(&former, 1, 0);
    assert_int_equal(former.count, 3);
    assert_string_equal(former.entries[0].identity.process, "a");
    shoal__former_put_off(&former, 2);
    assert_int_equal(former.entries[1].elsewhere, SHOAL__FORMER_NOT_ASKED);
    former.entries[1].elsewhere = SHOAL__FORMER_ASKED;
    shoal__former_ended(&former, 2, ERROR);
    assert_int_equal(former.entries[1].elsewhere, SHOAL__FORMER_IN_VAIN);
    assert_int_equal(former.count, 3);
    for (int64_t id = 1; id <= 3; id++) {
        former.entries[0].elsewhere = SHOAL__FORMER_ASKED;
        shoal__former_ended(&former, id, 1);
    }
    assert_null(former.entries);
    shoal__former_put_off(&former, 1);
    shoal__former_ended(&former, 1, 1);
    assert_true(shoal__former_conclude(&former, "a"));
    shoal__former_release(&former);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_the_number_of_a_process),
        cmocka_unit_test(test_what_an_answer_proves),
        cmocka_unit_test(test_what_an_answer_elsewhere_proves),
        cmocka_unit_test(test_nothing_to_settle),
        cmocka_unit_test(test_each_of_several_needs_its_proof),
        cmocka_unit_test(test_each_connection_begins_anew),
        cmocka_unit_test(test_losing_track),
        cmocka_unit_test(test_a_nameless_one_ends_with_its_process),
        cmocka_unit_test(test_nameless_ones_of_two_processes),
        cmocka_unit_test(test_too_many_of_one_process),
        cmocka_unit_test(test_a_second_process_settles_nothing_of_the_first),
        cmocka_unit_test(test_one_that_is_never_proved),
        cmocka_unit_test(test_whom_to_ask_for),
        cmocka_unit_test(test_an_answer_too_many),
        cmocka_unit_test(test_without_memory_the_track_is_lost),
    };
    return cmocka_run_group_tests_name("core/greeting/former", tests, NULL, NULL);
}
