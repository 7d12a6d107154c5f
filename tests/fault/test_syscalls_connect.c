/* SPDX-License-Identifier: MIT */
/* Everything between a name and a connection fails, in each way it can: the reason is
 * told, nothing is lost by it, and once it is over the client works.  (F33: I2 I3 I13) */
#include "support/failing/failing_trial.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#define NAME "shoal.test"
#define TIMES 3
#define CONNECT_US 3000000

static void use_name(trial_t *trial, unsigned addresses)
{
    failing_calls_addresses(addresses);
    assert_int_equal(shoal_options_set_address(trial->scene->options, NAME,
                                               fake_server_port(trial->scene->server)),
                     0);
}

static void expect_detail(const trial_t *trial, const char *what, const char *host,
                          const char *why)
{
    char text[256];

    snprintf(text, sizeof text, "%s %s:%d: %s", what, host,
             fake_server_port(trial->scene->server), why);
    assert_string_equal(trial->detail, text);
}

/* A command waits until the trouble is over, and is executed once. */
static void outlast(trial_t *trial, failing_call_t call, int error)
{
    failing_calls_plan(call, &(failing_plan_t){.times = TIMES, .error = error});
    assert_int_equal(trial_open(trial, true), 0);
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
    scene_check(&trial->commands[0].outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(failing_calls_hits(call), TIMES);
}

/* ---- one address ---- */

static const struct trouble {
    failing_call_t call;
    int error;
} troubles[] = {
    {FAILING_SOCKET, EMFILE},        {FAILING_SOCKET, ENFILE},
    {FAILING_SOCKET, ENOBUFS},       {FAILING_SOCKET, ENOMEM},
    {FAILING_SOCKET, EACCES},        {FAILING_SOCKET, EAFNOSUPPORT},
    {FAILING_CONNECT, ECONNREFUSED}, {FAILING_CONNECT, ENETUNREACH},
    {FAILING_CONNECT, EHOSTUNREACH}, {FAILING_CONNECT, EADDRNOTAVAIL},
    {FAILING_CONNECT, ETIMEDOUT},    {FAILING_CONNECT, EAGAIN},
    {FAILING_CONNECT, EPERM},        {FAILING_CONNECTED, ECONNREFUSED},
    {FAILING_CONNECTED, ETIMEDOUT},  {FAILING_CONNECTED, ENETUNREACH},
    {FAILING_CONNECTED, ECONNRESET}, {FAILING_WATCH, UV_EMFILE},
    {FAILING_WATCH, UV_ENOMEM},      {FAILING_WATCH, UV_ENOSPC},
};

static void test_connecting_fails_in_each_way(void **state)
{
    trial_t *trial = *state;

    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++) {
        const struct trouble *trouble = &troubles[i];
        bool is_of_libuv = trouble->call == FAILING_WATCH;
        trial_begin(trial);
        if (is_of_libuv) { /* the loop's own are watched by then */
            trial_open_ready(trial, true);
            fake_server_cut(trial->scene->server, FAKE_CUT_RESET);
            failing_calls_plan(
                trouble->call,
                &(failing_plan_t){.times = TIMES, .error = trouble->error});
            TRIAL_WAIT(trial, failing_calls_hits(FAILING_WATCH) == TIMES);
            trial_submit(trial, "INCR", NULL);
            trial_settle(trial);
            TRIAL_WAIT(trial, trial->is_up);
            assert_int_equal(trial->lost, 1 + TIMES);
        } else {
            outlast(trial, trouble->call, trouble->error);
            assert_int_equal(trial->lost, TIMES);
        }
        expect_detail(trial, "connect", "127.0.0.1",
                      strerror(is_of_libuv ? -trouble->error : trouble->error));
        trial_check_works(trial);
        trial_end(trial);
    }
}

/* The connection is on its way all the same. */
static void test_connecting_is_interrupted(void **state)
{
    trial_t *trial = *state;

    trial_begin(trial);
    failing_calls_plan(FAILING_CONNECT,
                       &(failing_plan_t){.times = 1, .error = EINTR, .is_begun = true});
    assert_int_equal(trial_open(trial, true), 0);
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
    scene_check(&trial->commands[0].outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(failing_calls_seen(FAILING_CONNECT), 1); /* it goes on by itself */
    trial_check_works(trial);
    trial_end(trial);
}

/* Each option of a socket is an improvement, none is a need. */
static void test_options_of_sockets_cannot_be_set(void **state)
{
    static const int errors[] = {ENOPROTOOPT, EINVAL, ENOBUFS, EPERM};
    trial_t *trial = *state;

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        trial_begin(trial);
        failing_calls_plan(FAILING_SETSOCKOPT,
                           &(failing_plan_t){.times = 1000, .error = errors[i]});
        trial_open_ready(trial, true);
        assert_true(failing_calls_hits(FAILING_SETSOCKOPT) > 0);
        trial_check_works(trial);
        assert_int_equal(trial->lost, 0);
        trial_end(trial);
    }
}

/* ---- names ---- */

static const int lookup_errors[] = {EAI_AGAIN, EAI_NONAME, EAI_MEMORY, EAI_FAIL,
                                    EAI_SYSTEM};

static void test_looking_up_fails_in_each_way(void **state)
{
    trial_t *trial = *state;

    for (size_t i = 0; i < sizeof lookup_errors / sizeof *lookup_errors; i++) {
        trial_begin(trial);
        use_name(trial, 1);
        outlast(trial, FAILING_LOOKUP, lookup_errors[i]);
        assert_int_equal(trial->lost, TIMES);
        expect_detail(trial, "look up", NAME,
                      lookup_errors[i] == EAI_SYSTEM ? strerror(EMFILE)
                                                     : gai_strerror(lookup_errors[i]));
        trial_check_works(trial);
        trial_end(trial);
    }
}

static void test_a_name_without_addresses(void **state)
{
    trial_t *trial = *state;

    trial_begin(trial);
    use_name(trial, 0);
    assert_int_equal(trial_open(trial, true), 0);
    trial_submit(trial, "INCR", NULL);
    TRIAL_WAIT(trial, trial->lost >= 2);
    expect_detail(trial, "look up", NAME, "the name has no address");
    failing_calls_addresses(1);
    trial_settle(trial);
    scene_check(&trial->commands[0].outcome, 0, SHOAL_FATE_REPLIED);
    trial_end(trial);
}

static void test_nothing_to_look_up_with(void **state)
{
    static const struct trouble of_lookups[] = {{FAILING_THREAD, EAGAIN},
                                                {FAILING_NOTIFIER, EMFILE},
                                                {FAILING_WATCH, UV_EMFILE}};
    trial_t *trial = *state;

    for (size_t i = 0; i < sizeof of_lookups / sizeof *of_lookups; i++) {
        trial_begin(trial);
        use_name(trial, 1);
        trial_open_ready(trial, true);
        fake_server_cut(trial->scene->server, FAKE_CUT_RESET);
        failing_calls_plan(
            of_lookups[i].call,
            &(failing_plan_t){.times = TIMES, .error = of_lookups[i].error});
        TRIAL_WAIT(trial, trial->lost == 1 + TIMES);
        expect_detail(trial, "look up", NAME,
                      "no thread, descriptor or memory to be had");
        trial_check_works(trial);
        assert_int_equal(trial->lost, 1 + TIMES);
        trial_end(trial);
    }
}

/* A name server that hangs holds up neither deadlines nor a close. */
static void test_a_slow_look_up(void **state)
{
    const shoal_call_t soon = {.size = sizeof soon, .timeout_us = 1000000};
    trial_t *trial = *state;

    trial_begin(trial);
    use_name(trial, 1);
    assert_int_equal(shoal_options_set_connect_timeout_us(trial->scene->options,
                                                          CONNECT_US, CONNECT_US),
                     0);
    failing_calls_hold_lookups(true);
    assert_int_equal(trial_open(trial, true), 0);
    trial_submit(trial, "INCR", &soon);
    TRIAL_WAIT(trial, failing_calls_seen(FAILING_LOOKUP) == 1);
    failing_calls_jump(1000000);
    trial_settle(trial);
    scene_check(&trial->commands[0].outcome, SHOAL_ETIMEOUT, SHOAL_FATE_NOT_EXECUTED);
    assert_int_equal(trial->lost, 0);

    failing_calls_jump(CONNECT_US);
    TRIAL_WAIT(trial, trial->lost == 1);
    expect_detail(trial, "connect", NAME, "timed out");
    trial_submit(trial, "INCR", NULL);
    TRIAL_WAIT(trial, failing_calls_seen(FAILING_LOOKUP) == 2);
    failing_calls_hold_lookups(false);
    trial_settle(trial);
    scene_check(&trial->commands[1].outcome, 0, SHOAL_FATE_REPLIED);
    trial_end(trial);
}

static void test_closed_while_looking_up(void **state)
{
    trial_t *trial = *state;

    for (int is_stepped = 0; is_stepped < 2; is_stepped++) {
        trial_begin(trial);
        use_name(trial, 1);
        failing_calls_hold_lookups(true);
        assert_int_equal(trial_open(trial, is_stepped), 0);
        trial_submit(trial, "INCR", NULL);
        TRIAL_WAIT(trial, failing_calls_seen(FAILING_LOOKUP) == 1);
        shoal_client_t *client = trial->scene->client;
        trial->scene->client = NULL;
        assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
        shoal_client_release(client);
        scene_check(&trial->commands[0].outcome, SHOAL_ESHUTDOWN,
                    SHOAL_FATE_NOT_EXECUTED);
        trial_end(trial); /* lets the look-up go, and counts what it leaves */
    }
}

/* ---- several addresses ---- */

static void begin_with_addresses(trial_t *trial, unsigned addresses,
                                 const failing_plan_t *plan)
{
    trial_begin(trial);
    use_name(trial, addresses);
    assert_int_equal(shoal_options_set_connect_timeout_us(trial->scene->options,
                                                          CONNECT_US, CONNECT_US),
                     0);
    failing_calls_plan(FAILING_CONNECT, plan);
    assert_int_equal(trial_open(trial, true), 0);
    trial_submit(trial, "INCR", NULL);
}

/* Those that refuse cost no time. */
static void test_the_first_addresses_refuse(void **state)
{
    trial_t *trial = *state;

    begin_with_addresses(trial, 4,
                         &(failing_plan_t){.times = 3, .error = ECONNREFUSED});
    trial_settle(trial);
    assert_int_equal(trial->lost, 0);
    assert_int_equal(failing_calls_seen(FAILING_CONNECT), 4);
    trial_end(trial);
}

/* A refusal tells more than an address that could not be tried, whichever comes last. */
static void test_the_refusal_is_told(void **state)
{
    static const failing_plan_t refused = {.times = 1, .error = ECONNREFUSED};
    static const struct trouble untried[] = {{FAILING_SOCKET, EAFNOSUPPORT},
                                             {FAILING_CONNECT, EADDRNOTAVAIL},
                                             {FAILING_CONNECT, ENETUNREACH}};
    trial_t *trial = *state;

    for (size_t i = 0; i < 2 * sizeof untried / sizeof *untried; i++) {
        const struct trouble *other = &untried[i / 2];
        bool is_last = i % 2;
        trial_begin(trial);
        use_name(trial, 2);
        failing_calls_plan(
            other->call,
            &(failing_plan_t){.skip = is_last, .times = 1, .error = other->error});
        /* What the socket could not be made for does not connect. */
        failing_calls_plan(other->call == FAILING_SOCKET ? FAILING_CONNECT
                                                         : FAILING_CONNECTED,
                           &refused);
        assert_int_equal(trial_open(trial, true), 0);
        TRIAL_WAIT(trial, trial->lost == 1);
        expect_detail(trial, "connect", NAME, strerror(ECONNREFUSED));
        trial_check_works(trial);
        trial_end(trial);
    }
}

/* Those that never answer have their share of the connect time and no more. */
static void test_the_first_addresses_never_answer(void **state)
{
    trial_t *trial = *state;

    for (unsigned silent = 1; silent < 4; silent++) {
        begin_with_addresses(trial, silent + 1,
                             &(failing_plan_t){.times = silent, .is_silent = true});
        for (unsigned i = 0; i < silent; i++) {
            TRIAL_WAIT(trial, failing_calls_seen(FAILING_CONNECT) == i + 1);
            failing_calls_jump(CONNECT_US / (silent + 1));
        }
        trial_settle(trial);
        scene_check(&trial->commands[0].outcome, 0, SHOAL_FATE_REPLIED);
        assert_int_equal(trial->lost, 0);
        assert_int_equal(failing_calls_seen(FAILING_CONNECT), silent + 1);
        trial_end(trial);
    }
}

static void test_no_address_answers(void **state)
{
    trial_t *trial = *state;

    begin_with_addresses(trial, 2, &(failing_plan_t){.times = 2, .is_silent = true});
    TRIAL_WAIT(trial, failing_calls_seen(FAILING_CONNECT) == 1);
    failing_calls_jump(CONNECT_US / 2);
    TRIAL_WAIT(trial, failing_calls_seen(FAILING_CONNECT) == 2);
    assert_int_equal(trial->lost, 0);
    failing_calls_jump(CONNECT_US / 2);
    TRIAL_WAIT(trial, trial->lost == 1);
    expect_detail(trial, "connect", NAME, "timed out");
    trial_settle(trial);
    scene_check(&trial->commands[0].outcome, 0, SHOAL_FATE_REPLIED);
    assert_int_equal(trial->lost, 1);
    trial_end(trial);
}

/* ---- answers that change ---- */

/* The name leads to another machine: the next attempt goes there. */
static void test_a_name_is_looked_up_anew(void **state)
{
    trial_t *trial = *state;

    trial_begin(trial);
    use_name(trial, 1);
    failing_calls_first_machine(9);
    assert_int_equal(trial_open(trial, true), 0);
    trial_submit(trial, "INCR", NULL);
    TRIAL_WAIT(trial, trial->lost >= 2);
    expect_detail(trial, "connect", NAME, strerror(ECONNREFUSED));
    failing_calls_first_machine(1);
    trial_settle(trial);
    scene_check(&trial->commands[0].outcome, 0, SHOAL_FATE_REPLIED);
    trial_end(trial);
}

/* The second address answered: the next attempt begins with it. */
static void test_the_address_that_answered_is_tried_first(void **state)
{
    trial_t *trial = *state;

    trial_begin(trial);
    use_name(trial, 2);
    failing_calls_first_machine(9);
    trial_open_ready(trial, true);
    assert_int_equal(failing_calls_seen(FAILING_CONNECT), 2);

    failing_calls_plan(FAILING_CONNECT, &(failing_plan_t){0});
    fake_server_cut(trial->scene->server, FAKE_CUT_RESET);
    TRIAL_WAIT(trial, trial->ready == 2);
    assert_int_equal(failing_calls_seen(FAILING_CONNECT), 1);
    trial_check_works(trial);
    trial_end(trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRIAL_TEST(test_connecting_fails_in_each_way),
        TRIAL_TEST(test_connecting_is_interrupted),
        TRIAL_TEST(test_options_of_sockets_cannot_be_set),
        TRIAL_TEST(test_looking_up_fails_in_each_way),
        TRIAL_TEST(test_a_name_without_addresses),
        TRIAL_TEST(test_nothing_to_look_up_with),
        TRIAL_TEST(test_a_slow_look_up),
        TRIAL_TEST(test_closed_while_looking_up),
        TRIAL_TEST(test_the_first_addresses_refuse),
        TRIAL_TEST(test_the_refusal_is_told),
        TRIAL_TEST(test_the_first_addresses_never_answer),
        TRIAL_TEST(test_no_address_answers),
        TRIAL_TEST(test_a_name_is_looked_up_anew),
        TRIAL_TEST(test_the_address_that_answered_is_tried_first),
    };

    failing_memory_install();
    return cmocka_run_group_tests_name("fault/syscalls_connect", tests, NULL, NULL);
}
