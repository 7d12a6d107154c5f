/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/replica_rule.h"

static shoal__bytes_t bytes_of(const char *text)
{
    return (shoal__bytes_t){text, strlen(text)};
}

/* ---- which commands ---- */

static const struct command {
    const char *name;
    shoal__command_class_t command_class;
    bool may_read;
} commands[] = {
    {"GET", SHOAL__CLASS_RO, true},
    {"get", SHOAL__CLASS_RO, true},
    {"MGET", SHOAL__CLASS_RO, true},
    {"HGETALL", SHOAL__CLASS_RO, true},
    {"XREAD", SHOAL__CLASS_RO, true},
    {"XREAD", SHOAL__CLASS_BLOCK, false}, /* with BLOCK */
    {"EVAL_RO", SHOAL__CLASS_RO, true},
    {"FCALL_RO", SHOAL__CLASS_RO, true},
    {"EVAL", SHOAL__CLASS_SCRIPT, false},
    {"SET", SHOAL__CLASS_WRITE, false},
    {"GETDEL", SHOAL__CLASS_WRITE, false},
    {"XREADGROUP", SHOAL__CLASS_WRITE, false},
    {"PING", SHOAL__CLASS_RO, false},
    {"ECHO", SHOAL__CLASS_RO, false},
    {"TIME", SHOAL__CLASS_RO, false},
    {"ROLE", SHOAL__CLASS_RO, false},
    {"SCAN", SHOAL__CLASS_RO, false},
    {"hscan", SHOAL__CLASS_RO, false},
    {"SSCAN", SHOAL__CLASS_RO, false},
    {"ZSCAN", SHOAL__CLASS_RO, false},
    {"NOSUCHCOMMAND", SHOAL__CLASS_RO, false},
    {"", SHOAL__CLASS_RO, false},
};

static void test_which_commands(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        assert_int_equal(shoal__replica_may_read(bytes_of(commands[i].name),
                                                 commands[i].command_class),
                         commands[i].may_read);
}

/* ---- which replica ---- */

#define NOW UINT64_C(1000000000)
#define GOOD .is_ready = true, .is_replica = true, .linked_us = NOW

static const struct fact {
    shoal__replica_facts_t facts;
    bool is_usable;
} facts_rows[] = {
    {{GOOD}, true},
    {{.is_replica = true, .linked_us = NOW}, false},
    {{.is_ready = true, .linked_us = NOW}, false},
    {{.is_ready = true, .is_replica = true}, false},
    {{.is_ready = true, .is_replica = true, .linked_us = NOW - 60000000}, true},
    {{.is_ready = true, .is_replica = true, .linked_us = NOW - 60000001}, false},
    {{GOOD, .refused_us = NOW}, false},
    {{GOOD, .refused_us = NOW - 999999}, false},
    {{GOOD, .refused_us = NOW - 1000000}, true},
};

static void test_which_are_usable(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof facts_rows / sizeof *facts_rows; i++)
        assert_int_equal(shoal__replica_is_usable(&facts_rows[i].facts, NOW),
                         facts_rows[i].is_usable);
}

typedef struct counts {
    unsigned of[4];
} counts_t;

static counts_t choose_often(const shoal__replica_facts_t *facts, size_t count)
{
    shoal__random_t random;
    counts_t counts = {0};

    shoal__random_init(&random, 7);
    for (unsigned i = 0; i < 1000; i++) {
        shoal__replica_choice_t choice = {0};
        counts.of[shoal__replica_choose(&choice, facts, count, false, &random, NOW)]++;
    }
    return counts;
}

static void test_equal_ones_share(void **state)
{
    const shoal__replica_facts_t facts[4] = {{GOOD, .rtt_us = 100},
                                             {GOOD, .rtt_us = 150},
                                             {.is_ready = true},
                                             {GOOD, .rtt_us = 120}};
    counts_t counts = choose_often(facts, 4);
    (void)state;

    assert_true(counts.of[0] > 250 && counts.of[1] > 250 && counts.of[3] > 250);
    assert_int_equal(counts.of[2], 0);
}

static void check_rarely(shoal__replica_facts_t worse)
{
    const shoal__replica_facts_t facts[2] = {{GOOD, .rtt_us = 100, .inflight = 9},
                                             worse};
    counts_t counts = choose_often(facts, 2);

    /* One choice of eight looks at no load. */
    assert_true(counts.of[1] > 20 && counts.of[1] < 120);
}

static void test_the_loaded_one_is_rare(void **state)
{
    (void)state;
    check_rarely((shoal__replica_facts_t){GOOD, .rtt_us = 202, .inflight = 9});
    check_rarely((shoal__replica_facts_t){GOOD, .rtt_us = 100, .inflight = 20});
}

static void test_a_round_trip_that_is_not_known_is_tried(void **state)
{
    const shoal__replica_facts_t facts[2] = {{GOOD, .rtt_us = 100}, {GOOD}};
    counts_t counts = choose_often(facts, 2);
    (void)state;

    assert_true(counts.of[1] > 800);
}

static void test_none_and_one(void **state)
{
    shoal__replica_facts_t facts[2] = {{.is_ready = true}, {.is_replica = true}};
    shoal__replica_choice_t choice = {0};
    shoal__random_t random;
    (void)state;

    shoal__random_init(&random, 1);
    assert_int_equal(shoal__replica_choose(&choice, facts, 2, false, &random, NOW),
                     SHOAL__REPLICA_NONE);
    assert_int_equal(shoal__replica_choose(&choice, facts, 0, false, &random, NOW),
                     SHOAL__REPLICA_NONE);
    facts[1] = (shoal__replica_facts_t){GOOD};
    assert_int_equal(shoal__replica_choose(&choice, facts, 2, false, &random, NOW), 1);
}

/* Those in the zone first; then the primary, if it is there, and may be read from; then any. */
static void test_the_near_ones_come_first(void **state)
{
    static const struct zone {
        const char *usable, *near; /* of three replicas */
        bool is_primary_near;
        const char *chosen; /* "": none */
    } zones[] = {
        {"abc", "b", false, "b"}, {"abc", "bc", false, "bc"}, {"ac", "b", false, "ac"},
        {"ac", "b", true, ""},    {"abc", "b", true, "b"},    {"abc", "", false, "abc"},
        {"abc", "", true, ""},    {"", "abc", false, ""},
    };
    (void)state;

    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        shoal__replica_facts_t facts[3];
        bool seen[3] = {false};
        shoal__random_t random;
        shoal__random_init(&random, 11);
        for (size_t j = 0; j < 3; j++)
            facts[j] = (shoal__replica_facts_t){
                GOOD, .is_near = strchr(zones[i].near, 'a' + (int)j) != NULL};
        for (size_t j = 0; j < 3; j++)
            facts[j].is_ready = strchr(zones[i].usable, 'a' + (int)j) != NULL;
        for (unsigned j = 0; j < 200; j++) {
            shoal__replica_choice_t choice = {0};
            size_t at = shoal__replica_choose(&choice, facts, 3,
                                              zones[i].is_primary_near, &random, NOW);
            if (at == SHOAL__REPLICA_NONE)
                assert_string_equal(zones[i].chosen, "");
            else
                seen[at] = true;
        }
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(seen[j], strchr(zones[i].chosen, 'a' + (int)j) != NULL);
    }
}

static void test_the_choice_is_kept(void **state)
{
    shoal__replica_facts_t facts[2] = {{GOOD}, {GOOD}};
    shoal__replica_choice_t choice = {0};
    shoal__random_t random;
    size_t chosen;
    unsigned changes = 0;
    (void)state;

    shoal__random_init(&random, 3);
    chosen = shoal__replica_choose(&choice, facts, 2, false, &random, NOW);
    facts[chosen].rtt_us = 1000000;
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(
            shoal__replica_choose(&choice, facts, 2, false, &random, NOW + 49999),
            chosen);
    for (unsigned i = 0; i < 100; i++) {
        choice.until_us = NOW;
        changes +=
            shoal__replica_choose(&choice, facts, 2, false, &random, NOW) != chosen;
    }
    assert_true(changes > 50);
    /* Not if it is not usable. */
    choice = (shoal__replica_choice_t){.at = chosen, .until_us = NOW + 1};
    facts[chosen].refused_us = NOW;
    assert_int_equal(shoal__replica_choose(&choice, facts, 2, false, &random, NOW),
                     1 - chosen);
    /* Nor if it is gone. */
    choice = (shoal__replica_choice_t){.at = 1, .until_us = NOW + 1};
    facts[0] = (shoal__replica_facts_t){GOOD};
    assert_int_equal(shoal__replica_choose(&choice, facts, 1, false, &random, NOW), 0);
}

/* ---- errors ---- */

static void test_what_errors_mean(void **state)
{
    static const struct error {
        const char *text;
        shoal__replica_verdict_t verdict;
    } errors[] = {
        {"LOADING Redis is loading", SHOAL__REPLICA_ELSEWHERE},
        {"LOADING", SHOAL__REPLICA_ELSEWHERE},
        {"LOADINGX", SHOAL__REPLICA_STANDARD},
        {"MASTERDOWN Link with MASTER is down", SHOAL__REPLICA_ELSEWHERE},
        {"NOSCRIPT No matching script", SHOAL__REPLICA_AT_PRIMARY},
        {"REDIRECT 10.0.0.1:6379", SHOAL__REPLICA_AT_PRIMARY},
        {"MOVED 7 10.0.0.1:6379", SHOAL__REPLICA_AT_PRIMARY},
        {"ASK 7 10.0.0.1:6379", SHOAL__REPLICA_AT_PRIMARY},
        {"ASKING", SHOAL__REPLICA_STANDARD},
        {"TRYAGAIN Multiple keys", SHOAL__REPLICA_AT_PRIMARY},
        {"CLUSTERDOWN The cluster is down", SHOAL__REPLICA_AT_PRIMARY},
        {"WRONGTYPE Operation", SHOAL__REPLICA_STANDARD},
        {"ERR LOADING", SHOAL__REPLICA_STANDARD},
        {"", SHOAL__REPLICA_STANDARD},
    };
    (void)state;

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        assert_int_equal(shoal__replica_on_error(bytes_of(errors[i].text)),
                         errors[i].verdict);
    assert_false(shoal__replica_has_failed(0));
    assert_false(shoal__replica_has_failed(1));
    assert_true(shoal__replica_has_failed(2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_commands),
        cmocka_unit_test(test_which_are_usable),
        cmocka_unit_test(test_equal_ones_share),
        cmocka_unit_test(test_the_loaded_one_is_rare),
        cmocka_unit_test(test_a_round_trip_that_is_not_known_is_tried),
        cmocka_unit_test(test_none_and_one),
        cmocka_unit_test(test_the_near_ones_come_first),
        cmocka_unit_test(test_the_choice_is_kept),
        cmocka_unit_test(test_what_errors_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
