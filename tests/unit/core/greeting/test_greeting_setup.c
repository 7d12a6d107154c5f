/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/core/greeting/greeting_rig.h"

/* How former connections are ended; the other questions are rows of
 * greeting_scripts.h. */

#define QUESTIONS SETINFO "|CLIENT INFO|INFO server"
#define KILL_42 "CLIENT KILL ID 42 ADDR 127.0.0.1:4000 SKIPME yes"

static const shoal__greeting_config_t settling = {.protocol = 3, .is_settling = true};
static const shoal__target_t nobody;

/* Greet up to the third step, whose commands must be `kills`. */
static shoal__greeting_verdict_t greet(shoal__greeting_t *greeting, const char *process,
                                       const char *kills)
{
    char words[1024] = "";

    assert_int_equal(shoal__greeting_start(greeting, FULL, NULL), MORE);
    assert_int_equal(answer(greeting, "%3"), MORE);
    spell(greeting, words, sizeof words);
    assert_string_equal(words, QUESTIONS);
    answer(greeting, "+OK");
    answer(greeting, "+OK");
    answer(greeting, IDENTITY);
    shoal__greeting_verdict_t verdict = answer(greeting, process);
    words[0] = '\0';
    spell(greeting, words, sizeof words);
    assert_string_equal(words, kills);
    return verdict;
}

static void test_a_lost_connection_is_ended_first(void **state)
{
    (void)state;
    static const struct {
        const char *kill;
        shoal__greeting_verdict_t verdict;
        bool is_settled;
    } cases[] = {{":1", DONE, true},          {":0", DONE, true}, /* the same process */
                 {"-NOPERM no", DONE, false}, {"-ERR unknown subcommand", DONE, false},
                 {"+OK", FAILED, false},      {":-1", FAILED, false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__greeting_t greeting;
        shoal__greeting_init(&greeting, &settling, &nobody, detail);
        assert_int_equal(greet(&greeting, PROCESS, ""), DONE);
        assert_true(greeting.is_settled); /* no connection was lost before */
        shoal__greeting_left_writes(&greeting);
        assert_int_equal(greet(&greeting, PROCESS, KILL_42), MORE);
        assert_int_equal(answer(&greeting, cases[i].kill), cases[i].verdict);
        assert_int_equal(greeting.is_settled, cases[i].is_settled);
        shoal__greeting_release(&greeting);
    }
}

/* Connections that are lost in their greeting: the next one asks for the former ones
 * again. */
static void test_former_connections_are_remembered_until_they_ended(void **state)
{
    (void)state;
    shoal__greeting_t greeting;

    shoal__greeting_init(&greeting, &settling, &nobody, detail);
    greet(&greeting, PROCESS, "");
    shoal__greeting_left_writes(&greeting);
    for (int i = 0; i < 3; i++)
        assert_int_equal(greet(&greeting, PROCESS, KILL_42), MORE);
    assert_int_equal(answer(&greeting, ":0"), DONE);
    assert_true(greeting.is_settled);
    assert_int_equal(greet(&greeting, PROCESS, ""), DONE);
    shoal__greeting_release(&greeting);
}

/* On another process the same id belongs to a stranger's connection. */
static void test_nobody_is_ended_on_another_process(void **state)
{
    (void)state;
    shoal__greeting_t greeting;

    shoal__greeting_init(&greeting, &settling, &nobody, detail);
    greet(&greeting, PROCESS, "");
    shoal__greeting_left_writes(&greeting);
    assert_int_equal(greet(&greeting, "$run_id:other\r\n", ""), DONE);
    assert_false(greeting.is_settled);
    assert_int_equal(greet(&greeting, PROCESS, KILL_42), MORE);
    shoal__greeting_release(&greeting);
}

/* The buffer has room for the longest texts of all remembered connections. */
static void test_all_remembered_connections_fit_into_the_buffer(void **state)
{
    (void)state;
    shoal__identity_t identity = {.id = INT64_MAX, .process = "abc"};
    shoal__greeting_t greeting;

    memset(identity.address, 'a', sizeof identity.address - 1);
    shoal__greeting_init(&greeting, &settling, &nobody, detail);
    for (int i = 0; i < SHOAL__FORMER_MAX; i++) {
        greeting.identity = identity;
        shoal__greeting_left_writes(&greeting);
    }
    shoal__greeting_start(&greeting, FULL, NULL);
    const char *memory = greeting.outgoing.memory;
    answer(&greeting, "%3");
    answer(&greeting, "+OK");
    answer(&greeting, "+OK");
    answer(&greeting, IDENTITY);
    answer(&greeting, PROCESS);
    assert_int_equal(greeting.answers_due, SHOAL__FORMER_MAX);
    assert_ptr_equal(greeting.outgoing.memory, memory);
    shoal__greeting_release(&greeting);
}

/* ---- roles ---- */

/* Greet a server of a target that has two addresses. */
static shoal__greeting_verdict_t ask_for_role(shoal__greeting_t *greeting,
                                              const shoal__target_t *target,
                                              const char *said)
{
    static const shoal__greeting_config_t plain = {.protocol = 3};
    char words[1024] = "";

    shoal__greeting_init(greeting, &plain, target, detail);
    assert_int_equal(shoal__greeting_start(greeting, FULL, NULL), MORE);
    assert_int_equal(answer(greeting, "%3"), MORE);
    spell(greeting, words, sizeof words);
    assert_string_equal(words, SETINFO "|ROLE");
    assert_int_equal(answer(greeting, "+OK"), MORE);
    assert_int_equal(answer(greeting, "-ERR unknown"), MORE);
    return answer(greeting, said);
}

static void test_a_replica_is_refused_and_then_taken(void **state)
{
    static const struct {
        unsigned replicas;
        const char *said;
        shoal__greeting_verdict_t verdict;
        shoal__role_t role;
    } cases[] = {
        {0, "@master", DONE, SHOAL__ROLE_PRIMARY},
        {0, "@slave", FAILED, SHOAL__ROLE_REPLICA},
        {1, "@slave", DONE, SHOAL__ROLE_REPLICA},
        {0, "@sentinel", DONE, SHOAL__ROLE_UNKNOWN},
        {0, "+OK", DONE, SHOAL__ROLE_UNKNOWN},
        {0, "_", DONE, SHOAL__ROLE_UNKNOWN},
        {0, "-NOPERM no", DONE, SHOAL__ROLE_UNKNOWN},
        {0, "-ERR unknown command", DONE, SHOAL__ROLE_UNKNOWN},
        {0, "-ERR max number of clients reached", FAILED, SHOAL__ROLE_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__target_t target = {.known = 2, .replicas = cases[i].replicas};
        shoal__greeting_t greeting;

        assert_int_equal(ask_for_role(&greeting, &target, cases[i].said),
                         cases[i].verdict);
        assert_int_equal(greeting.role, cases[i].role);
        if (cases[i].role == SHOAL__ROLE_REPLICA && cases[i].verdict == FAILED) {
            assert_int_equal(greeting.status, SHOAL_ECONN);
            assert_string_equal(greeting.detail,
                                "ROLE: a replica, and the primary may have another of "
                                "the addresses");
        }
        shoal__greeting_release(&greeting);
    }
}

/* Pushes that are no answer may come during a greeting. */
static void test_which_push_is_an_answer(void **state)
{
    static const shoal__greeting_config_t sentinel = {.protocol = 3,
                                                      .is_sentinel = true};
    shoal_reply_t answer_push = reply_of(">subscribe");
    shoal__greeting_t greeting;

    (void)state;
    shoal__greeting_init(&greeting, &sentinel, &nobody, detail);
    assert_int_equal(shoal__greeting_start(&greeting, FULL, NULL), MORE);
    assert_false(shoal__greeting_awaits_push(&greeting, &answer_push));
    assert_int_equal(answer(&greeting, "%3"), MORE);
    assert_false(shoal__greeting_awaits_push(&greeting, &answer_push));
    answer(&greeting, "+OK");
    answer(&greeting, "+OK");
    assert_true(shoal__greeting_awaits_push(&greeting, &answer_push));
    shoal_reply_t other = reply_of(">message");
    assert_false(shoal__greeting_awaits_push(&greeting, &other));
    assert_int_equal(answer(&greeting, ">subscribe"), DONE);
    assert_false(shoal__greeting_awaits_push(&greeting, &answer_push));
    shoal__greeting_release(&greeting);
}

/* The library's own questions to a sentinel change nothing. */
static void test_a_lost_sentinel_is_not_feared(void **state)
{
    static const shoal__greeting_config_t sentinel = {.protocol = 2,
                                                      .is_sentinel = true};
    shoal__greeting_t greeting;

    (void)state;
    shoal__greeting_init(&greeting, &sentinel, &nobody, detail);
    assert_int_equal(shoal__greeting_start(&greeting, FULL, NULL), MORE);
    shoal__greeting_left_writes(&greeting);
    assert_int_equal(greeting.former.count, 0);
    assert_false(greeting.former.has_lost_track);
    shoal__greeting_release(&greeting);
}

/* ---- notices of maintenance ---- */

static void test_redis_is_asked_for_notices(void **state)
{
    static const struct {
        const char *hello, *type, *said;
        bool hears, is_elsewhere; /* sentinels find the server, or it is a replica */
        shoal__greeting_verdict_t verdict;
    } cases[] = {
        {"%3", "internal-ip", "+OK", true, false, DONE},
        {"%3", "external-fqdn", "-ERR unknown subcommand", true, false, DONE},
        {"%3", "internal-ip", ":1", true, false, FAILED},
        {"%3", "internal-ip", NULL, false, false, DONE},
        {"%3", "internal-ip", NULL, true, true, DONE},
        {"%3", NULL, NULL, true, false, DONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const shoal__greeting_config_t config = {.protocol = 3,
                                                 .hears_notices = cases[i].hears};
        const shoal__target_t target = {.is_replica = cases[i].is_elsewhere};
        shoal__greeting_t greeting;
        char words[1024] = "", expected[256] = SETINFO;

        shoal__greeting_init(&greeting, &config, &target, detail);
        greeting.endpoint_type = cases[i].type;
        shoal__greeting_start(&greeting, FULL, NULL);
        answer(&greeting, cases[i].hello);
        spell(&greeting, words, sizeof words);
        if (cases[i].said)
            snprintf(expected, sizeof expected,
                     SETINFO "|CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type %s",
                     cases[i].type);
        assert_string_equal(words, expected);
        answer(&greeting, "+OK");
        shoal__greeting_verdict_t verdict = answer(&greeting, "+OK");
        if (cases[i].said)
            verdict = answer(&greeting, cases[i].said);
        assert_int_equal(verdict, cases[i].verdict);
        shoal__greeting_release(&greeting);
    }
}

/* ---- redirects ---- */

static void test_valkey_is_asked_for_redirects(void **state)
{
    static const shoal__greeting_config_t plain = {.protocol = 3};
    static const struct {
        const char *hello, *said;
        shoal__greeting_verdict_t verdict;
        bool may_redirect;
    } cases[] = {
        {"%3v", "+OK", DONE, true},
        {"%3v", "-ERR unknown subcommand", DONE, false},
        {"%3v", ":1", FAILED, false},
        {"%3", NULL, DONE, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__greeting_t greeting;
        char words[1024] = "";

        shoal__greeting_init(&greeting, &plain, &nobody, detail);
        for (int again = 0; again < 2;
             again++) { /* the next server may be another one */
            shoal__greeting_start(&greeting, FULL, NULL);
            assert_false(greeting.may_redirect);
            answer(&greeting, again ? "%3" : cases[i].hello);
            spell(&greeting, words, sizeof words);
            bool is_asked = !again && cases[i].said;
            assert_string_equal(words,
                                is_asked ? SETINFO "|CLIENT CAPA redirect" : SETINFO);
            answer(&greeting, "+OK");
            shoal__greeting_verdict_t verdict = answer(&greeting, "+OK");
            if (is_asked)
                verdict = answer(&greeting, cases[i].said);
            assert_int_equal(verdict, again ? DONE : cases[i].verdict);
            assert_int_equal(greeting.may_redirect, !again && cases[i].may_redirect);
        }
        shoal__greeting_release(&greeting);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lost_connection_is_ended_first),
        cmocka_unit_test(test_former_connections_are_remembered_until_they_ended),
        cmocka_unit_test(test_nobody_is_ended_on_another_process),
        cmocka_unit_test(test_all_remembered_connections_fit_into_the_buffer),
        cmocka_unit_test(test_a_replica_is_refused_and_then_taken),
        cmocka_unit_test(test_which_push_is_an_answer),
        cmocka_unit_test(test_a_lost_sentinel_is_not_feared),
        cmocka_unit_test(test_redis_is_asked_for_notices),
        cmocka_unit_test(test_valkey_is_asked_for_redirects),
    };
    return cmocka_run_group_tests_name("core/greeting/greeting_setup", tests, NULL,
                                       NULL);
}
