/* SPDX-License-Identifier: MIT */

/* Credentials that a provider of the program gives. */

#include "support/scene.h"
#include <pthread.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS(...) scene_words(__VA_ARGS__, NULL)

/* What the provider does: with the question of each number, from 1. */
typedef enum { KEEP, GIVE_OLD, GIVE_NEW, FAIL, GIVE_TWICE } act_t;

/* It outlives the clients: a call may. */
static struct {
    pthread_mutex_t lock;
    act_t acts[4];
    unsigned acts_count;
    unsigned asked;
    uint64_t asked_us[32]; /* of each question; the first ones */
    uint64_t refresh_ms;
    shoal_credentials_request_t *kept[32]; /* of KEEP */
    unsigned kept_count;
    int rc[2]; /* of the answers of the last call */
} provider = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void provide(shoal_credentials_request_t *request, void *data)
{
    act_t act;

    pthread_mutex_lock(&provider.lock);
    (void)data;
    act = provider.acts[provider.asked < provider.acts_count ? provider.asked
                                                             : provider.acts_count - 1];
    switch (act) {
    case KEEP:
        provider.kept[provider.kept_count++ % 32] = request;
        break;
    case GIVE_OLD:
        provider.rc[0] =
            shoal_credentials_give(request, "ann", "old", provider.refresh_ms);
        break;
    case GIVE_NEW:
        provider.rc[0] =
            shoal_credentials_give(request, "ann", "new", provider.refresh_ms);
        break;
    case FAIL:
        provider.rc[0] = shoal_credentials_fail(request, "the vault is\nsealed");
        break;
    case GIVE_TWICE:
        provider.rc[0] = shoal_credentials_give(request, "ann", "old", 0);
        provider.rc[1] = shoal_credentials_give(request, "ann", "new", 0);
        break;
    }
    if (provider.asked < 32)
        provider.asked_us[provider.asked] = waiting_now_us();
    provider.asked++;
    pthread_mutex_unlock(&provider.lock);
}

static unsigned asked(void)
{
    unsigned count;

    pthread_mutex_lock(&provider.lock);
    count = provider.asked;
    pthread_mutex_unlock(&provider.lock);
    return count;
}

/* The question that was kept first. */
static shoal_credentials_request_t *kept(void)
{
    shoal_credentials_request_t *request;

    pthread_mutex_lock(&provider.lock);
    request = provider.kept[0];
    memmove(provider.kept, provider.kept + 1, sizeof provider.kept - sizeof request);
    provider.kept_count--;
    pthread_mutex_unlock(&provider.lock);
    return request;
}

static scene_t *set_up(void **state, const act_t *acts, unsigned count)
{
    scene_t *scene = *state;

    scene_serve(scene,
                &(fake_config_t){.identity = {.user = "ann", .password = "old"}});
    pthread_mutex_lock(&provider.lock);
    while (provider.kept_count > 0)
        (void)shoal_credentials_fail(provider.kept[--provider.kept_count], NULL);
    memcpy(provider.acts, acts, count * sizeof *acts);
    provider.acts_count = count;
    provider.asked = 0;
    provider.refresh_ms = 0;
    provider.rc[0] = provider.rc[1] = 1;
    pthread_mutex_unlock(&provider.lock);
    assert_int_equal(
        shoal_options_set_credentials_provider(scene->options, provide, &provider), 0);
    return scene;
}

#define PROVIDE(...)                                                                   \
    set_up(state, (const act_t[]){__VA_ARGS__},                                        \
           sizeof((const act_t[]){__VA_ARGS__}) / sizeof(act_t))

static void incr(scene_t *scene)
{
    outcome_t outcome = scene_call(scene, WORDS("INCR", "k"), NULL);
    scene_check(&outcome, 0, SHOAL_FATE_REPLIED);
}

static void wait_for_credentials(scene_t *scene, unsigned count, int status)
{
    WAIT_FOR(scene_events(scene).credentials >= count);
    assert_int_equal(scene_events(scene).credentials_status, status);
}

/* ---- the first answer ---- */

static void test_connections_wait_for_it(void **state)
{
    scene_t *scene = PROVIDE(KEEP);
    outcome_t *outcome = scene_outcomes(scene, 1);

    scene_open(scene);
    scene_submit(scene, WORDS("INCR", "k"), NULL, outcome);
    WAIT_FOR(asked() == 1);
    assert_int_equal(fake_server_accepted(scene->server), 0);
    assert_int_equal(shoal_credentials_give(kept(), "ann", "old", 0), 0);
    scene_check(outcome, 0, SHOAL_FATE_REPLIED);
    wait_for_credentials(scene, 1, 0);
    assert_int_equal(fake_server_received(scene->server, 1, "HELLO", "3"), 1);
    assert_int_equal(scene_events(scene).lost, 0);
}

static void test_it_fails_and_there_are_none(void **state)
{
    scene_t *scene = PROVIDE(FAIL, KEEP);

    scene_open(scene);
    assert_int_equal(shoal_client_wait_ready(scene->client, WAITING_US_MAX),
                     SHOAL_EAUTH);
    assert_non_null(strstr(scene_events(scene).detail,
                           "no credentials: the provider failed: the vault is"));
    assert_null(strchr(scene_events(scene).detail, '\n'));
    WAIT_FOR(asked() == 2); /* it is asked again */
    assert_int_equal(fake_server_accepted(scene->server), 0);
    assert_int_equal(shoal_credentials_give(kept(), "ann", "old", 0), 0);
    WAIT_FOR(scene_events(scene).ready == 1);
    incr(scene);
}

/* Those of the options are the present ones. */
static void test_it_fails_and_there_are_others(void **state)
{
    scene_t *scene = PROVIDE(FAIL);

    assert_int_equal(shoal_options_set_auth(scene->options, "ann", "old"), 0);
    scene_open_ready(scene);
    incr(scene);
    wait_for_credentials(scene, 1, SHOAL_EAUTH);
    assert_string_equal(scene_events(scene).credentials_detail,
                        "the provider failed: the vault is\\x0asealed");
    assert_int_equal(scene_events(scene).lost, 0);
}

static void test_it_is_late(void **state)
{
    scene_t *scene = PROVIDE(KEEP);
    unsigned heard;

    assert_int_equal(shoal_options_set_auth(scene->options, "ann", "old"), 0);
    assert_int_equal(shoal_options_set_credentials_timeout_us(scene->options, 20000),
                     0);
    scene_open(scene);
    wait_for_credentials(scene, 1, SHOAL_ETIMEOUT);
    WAIT_FOR(asked() >= 1);
    heard = scene_events(scene).credentials;
    incr(scene);
    WAIT_FOR(scene_events(scene).credentials > heard); /* the next question */
    assert_int_equal(shoal_credentials_give(kept(), NULL, "late", 0), SHOAL_ECANCELLED);
    assert_int_equal(scene_events(scene).lost, 0);
}

/* That no server was asked is no refusal of one, after which it would be asked at once. */
static void test_it_is_late_and_there_are_none(void **state)
{
    scene_t *scene = PROVIDE(KEEP, GIVE_OLD);
    uint64_t opened_us, pause_us;

    assert_int_equal(shoal_options_set_credentials_timeout_us(scene->options, 1100000),
                     0);
    opened_us = waiting_now_us(); /* the first call may begin late, and note it late */
    scene_open(scene);
    WAIT_FOR(asked() == 2);
    assert_int_equal(shoal_credentials_fail(kept(), NULL), SHOAL_ECANCELLED);
    pthread_mutex_lock(&provider.lock);
    pause_us = provider.asked_us[1] - opened_us;
    pthread_mutex_unlock(&provider.lock);
    assert_true(pause_us > 1500000);
}

/* It answered in time; it is the program that did not look. */
static void test_the_loop_stands_still(void **state)
{
    scene_t *scene = PROVIDE(GIVE_OLD);

    assert_int_equal(shoal_options_set_credentials_timeout_us(scene->options, 1000000),
                     0);
    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
    assert_int_equal(shoal_client_step(scene->client, 0), 0);
    WAIT_FOR(asked() == 1);
    waiting_sleep_us(1100000);
    while (scene_events(scene).credentials == 0)
        assert_int_equal(shoal_client_step(scene->client, 0), 0);
    assert_int_equal(scene_events(scene).credentials_status, 0);
}

/* ---- further answers ---- */

static void test_it_is_asked_again_in_time(void **state)
{
    scene_t *scene = PROVIDE(GIVE_OLD, KEEP, FAIL);

    pthread_mutex_lock(&provider.lock);
    provider.refresh_ms = 1;
    pthread_mutex_unlock(&provider.lock);
    scene_open_ready(scene);
    incr(scene);
    WAIT_FOR(asked() == 2);
    fake_server_set_password(scene->server, "new");
    assert_int_equal(shoal_credentials_give(kept(), "ann", "new", 1), 0);
    WAIT_FOR(scene_events(scene).ready == 2);
    assert_string_equal(scene_events(scene).renewed,
                        "renewed, because the credentials changed");
    wait_for_credentials(scene, 3, SHOAL_EAUTH); /* and those stay */
    incr(scene);
    assert_int_equal(scene_events(scene).lost, 0);
}

/* Nothing is renewed for them. */
static void test_it_gives_the_same_again(void **state)
{
    scene_t *scene = PROVIDE(GIVE_OLD);

    pthread_mutex_lock(&provider.lock);
    provider.refresh_ms = 1;
    pthread_mutex_unlock(&provider.lock);
    scene_open_ready(scene);
    wait_for_credentials(scene, 2, 0);
    wait_for_credentials(scene, 3, 0);
    incr(scene);
    assert_int_equal(fake_server_accepted(scene->server), 1);
    assert_int_equal(scene_events(scene).ready, 1);
}

/* Those of the options, from a provider: the first connection waits for no others. */
static void test_it_gives_those_of_the_options(void **state)
{
    scene_t *scene = PROVIDE(GIVE_OLD);

    assert_int_equal(shoal_options_set_auth(scene->options, "ann", "old"), 0);
    scene_open_ready(scene);
    incr(scene);
    assert_int_equal(fake_server_accepted(scene->server), 1);
}

static void test_it_is_asked_when_a_server_refuses(void **state)
{
    scene_t *scene = PROVIDE(GIVE_NEW, GIVE_OLD);

    scene_open(scene);
    WAIT_FOR(scene_events(scene).ready == 1);
    assert_int_equal(asked(), 2);
    assert_true(scene_events(scene).lost_auth >= 1);
    incr(scene);
}

/* The password was replaced at the server, and the connection is lost then. */
static void test_commands_wait_for_others(void **state)
{
    scene_t *scene = PROVIDE(GIVE_OLD, KEEP);
    outcome_t *outcomes = scene_outcomes(scene, 2);

    scene_open_ready(scene);
    fake_server_set_password(scene->server, "new");
    fake_server_rule(scene->server, &(fake_rule_t){.command = "GET",
                                                   .connection = 1,
                                                   .is_cut = true,
                                                   .then = FAKE_RESET});
    scene_submit(scene, WORDS("GET", "k"), NULL, &outcomes[0]);
    WAIT_FOR(scene_events(scene).lost_auth >= 1);
    scene_submit(scene, WORDS("INCR", "k"), NULL, &outcomes[1]);
    WAIT_FOR(asked() == 2);
    assert_int_equal(shoal_credentials_give(kept(), "ann", "new", 0), 0);
    scene_check(&outcomes[0], 0, SHOAL_FATE_REPLIED);
    scene_check(&outcomes[1], 0, SHOAL_FATE_REPLIED);
}

static void test_what_the_program_sets_counts(void **state)
{
    scene_t *scene = PROVIDE(KEEP);

    scene_open(scene);
    WAIT_FOR(asked() == 1);
    assert_int_equal(shoal_client_set_credentials(scene->client, "ann", "old"), 0);
    WAIT_FOR(scene_events(scene).ready == 1); /* nobody waits any more */
    fake_server_set_password(scene->server, "new");
    assert_int_equal(shoal_credentials_give(kept(), "ann", "new", 0), 0);
    WAIT_FOR(scene_events(scene).ready == 2);
    assert_int_equal(scene_events(scene).lost, 0);
}

/* ---- answers that nobody wants ---- */

static void test_a_second_answer(void **state)
{
    scene_t *scene = PROVIDE(GIVE_TWICE);

    scene_open_ready(scene);
    assert_int_equal(asked(), 1);
    assert_int_equal(provider.rc[0], 0);
    assert_int_equal(provider.rc[1], SHOAL_EINVAL);
}

static void test_the_client_is_gone(void **state)
{
    scene_t *scene = PROVIDE(KEEP);
    shoal_credentials_request_t *request;

    scene_open(scene);
    WAIT_FOR(asked() == 1);
    request = kept();
    scene_close(scene, 0);
    assert_int_equal(shoal_credentials_give(request, "ann", NULL, 0), SHOAL_EINVAL);
    assert_int_equal(shoal_credentials_give(request, "ann", "old", 0),
                     SHOAL_ECANCELLED);
}

/* The question is the parent's: its child answers nothing. */
static void test_a_fork_while_it_is_asked(void **state)
{
    scene_t *scene = PROVIDE(KEEP);
    shoal_credentials_request_t *request;
    int status = 0;
    pid_t child;

    scene_open(scene);
    WAIT_FOR(asked() == 1);
    request = kept();
    child = fork();
    if (child == 0) {
        alarm(60);
        if (shoal_client_after_fork_child(scene->client) != 0)
            _exit(1);
        if (shoal_credentials_fail(request, NULL) != SHOAL_EFORK)
            _exit(2);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(shoal_credentials_give(request, "ann", "old", 0), 0);
    WAIT_FOR(scene_events(scene).ready == 1);
    incr(scene);
}

/* Callers that run the loop themselves find an answer, too. */
static void test_with_callers_that_drive(void **state)
{
    scene_t *scene = PROVIDE(GIVE_OLD, KEEP);

    pthread_mutex_lock(&provider.lock);
    provider.refresh_ms = 1;
    pthread_mutex_unlock(&provider.lock);
    scene_open_ready(scene);
    while (asked() < 2)
        incr(scene);
    fake_server_set_password(scene->server, "new");
    assert_int_equal(shoal_credentials_give(kept(), "ann", "new", 0), 0);
    while (scene_events(scene).ready < 2)
        incr(scene);
    assert_int_equal(scene_events(scene).lost, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_connections_wait_for_it),
        SCENE_TEST(test_it_fails_and_there_are_none),
        SCENE_TEST(test_it_fails_and_there_are_others),
        SCENE_TEST(test_it_is_late),
        SCENE_TEST(test_it_is_late_and_there_are_none),
        SCENE_TEST(test_the_loop_stands_still),
        SCENE_TEST(test_it_is_asked_again_in_time),
        SCENE_TEST(test_it_gives_the_same_again),
        SCENE_TEST(test_it_gives_those_of_the_options),
        SCENE_TEST(test_it_is_asked_when_a_server_refuses),
        SCENE_TEST(test_commands_wait_for_others),
        SCENE_TEST(test_what_the_program_sets_counts),
        SCENE_TEST(test_a_second_answer),
        SCENE_TEST(test_the_client_is_gone),
        SCENE_TEST(test_a_fork_while_it_is_asked),
        SCENE_TEST(test_with_callers_that_drive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
