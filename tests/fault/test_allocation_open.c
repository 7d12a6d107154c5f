/* SPDX-License-Identifier: MIT */
/* Memory runs out at each point of options, opening and the greeting.  (F32: I2 I12) */
#include "support/failing/failing_trial.h"

#include <shoal/uv.h>
#include <stdio.h>
#include <string.h>

static void prepare_nothing(trial_t *trial)
{
    (void)trial;
}

/* ---- options ---- */

/* Each call works or changes nothing. */
static void options(trial_t *trial)
{
    shoal_options_t *made = NULL;
    (void)trial;

    if (shoal_options_new(&made) != 0) {
        assert_null(made);
        return;
    }
    const int rcs[] = {shoal_options_set_address(made, "a.host", 7000),
                       shoal_options_set_auth(made, "user", "password"),
                       shoal_options_set_client_name(made, "name"),
                       shoal_options_set_unix_path(made, "/a/path")};
    for (size_t i = 0; i < sizeof rcs / sizeof *rcs; i++)
        assert_true(rcs[i] == 0 || rcs[i] == SHOAL_ENOMEM);
    shoal_options_free(made);
}

static void url(trial_t *trial)
{
    static const char *const urls[] = {
        "redis://user:pass%20word@a.host:7000/3?client_name=name&timeout_ms=2000",
        "redis://[::1]:7000", "unix:///a/path?db=2"};
    (void)trial;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        shoal_options_t *made = NULL;
        int rc = shoal_options_from_url(urls[i], &made, NULL);
        assert_true(rc == 0 || (rc == SHOAL_ENOMEM && !made));
        shoal_options_free(made);
    }
}

/* ---- opening in each way ---- */

static void open_stepped(trial_t *trial)
{
    trial_open_ready(trial, true);
}

static void open_with_a_thread(trial_t *trial)
{
    trial_open_ready(trial, false);
}

static void open_by_url(trial_t *trial)
{
    char text[64];
    shoal_client_t *client = NULL;

    snprintf(text, sizeof text, "redis://127.0.0.1:%d",
             fake_server_port(trial->scene->server));
    int rc = shoal_client_open_url(text, &client, NULL);
    assert_true(rc == 0 || rc == SHOAL_ENOMEM || rc == SHOAL_ESYSTEM);
    if (rc != 0)
        assert_null(client);
    else
        assert_int_equal(shoal_client_close_and_wait(client, 0), 0);
    shoal_client_release(client);
}

static void on_closed(void *data)
{
    *(bool *)data = true;
}

static void open_on_a_loop(trial_t *trial)
{
    uv_loop_t loop;
    shoal_client_t *client = NULL;
    bool is_closed = false;

    assert_int_equal(uv_loop_init(&loop), 0);
    int rc = shoal_client_open_uv(&loop, trial->scene->options, &client, NULL);
    assert_true(rc == 0 || (rc == SHOAL_ENOMEM && !client));
    if (rc == 0) {
        uint64_t since_us = waiting_now_us();
        while (trial->ready == 0) {
            uv_run(&loop, UV_RUN_NOWAIT);
            trial_pause(trial, since_us, "ready");
        }
        assert_int_equal(shoal_client_close(client, 0, on_closed, &is_closed), 0);
        shoal_client_release(client);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(is_closed, rc == 0);
}

static void new_queue(trial_t *trial)
{
    shoal_completions_t *queue = NULL;
    int rc = shoal_completions_new(0, &queue);
    (void)trial;

    assert_true(rc == 0 || (rc == SHOAL_ENOMEM && !queue));
    shoal_completions_free(queue);
}

/* ---- greetings ---- */

static void prepare_protocol_2(trial_t *trial)
{
    assert_int_equal(shoal_options_set_protocol(trial->scene->options, 2), 0);
}

static void prepare_without_hello(trial_t *trial)
{
    scene_serve(trial->scene, &(fake_config_t){.identity.kind = FAKE_RESP2});
}

static void prepare_bare(trial_t *trial)
{
    scene_serve(trial->scene, &(fake_config_t){.identity.kind = FAKE_BARE});
}

static void prepare_credentials(trial_t *trial)
{
    scene_serve(trial->scene,
                &(fake_config_t){.identity = {.user = "user", .password = "secret"}});
    assert_int_equal(shoal_options_set_auth(trial->scene->options, "user", "secret"),
                     0);
    assert_int_equal(shoal_options_set_database(trial->scene->options, 3), 0);
    assert_int_equal(shoal_options_set_client_name(trial->scene->options, "trial"), 0);
}

static void prepare_unix(trial_t *trial)
{
    scene_serve(trial->scene, &(fake_config_t){.is_unix = true});
}

static void prepare_name(trial_t *trial)
{
    failing_calls_addresses(3);
    assert_int_equal(shoal_options_set_address(trial->scene->options, "shoal.test",
                                               fake_server_port(trial->scene->server)),
                     0);
}

/* Commands wait for the greeting, which fails as often as it must. */
static void greet(trial_t *trial)
{
    trial_open_ready(trial, true);
    trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
    assert_true(strstr(trial->detail, "secret") == NULL);
}

static void commands_before_the_greeting(trial_t *trial)
{
    for (unsigned i = 0; trial_open(trial, true) != 0; i++)
        assert_true(i < 1000);
    for (int i = 0; i < 100; i++)
        trial_submit(trial, "INCR", NULL);
    trial_settle(trial);
}

static const failing_scenario_t scenarios[] = {
    {"options", prepare_nothing, options},
    {"URLs", prepare_nothing, url},
    {"open, stepped", prepare_nothing, open_stepped},
    {"open, with a thread", prepare_nothing, open_with_a_thread},
    {"open, by a URL", prepare_nothing, open_by_url},
    {"open, on a uv_loop_t", prepare_nothing, open_on_a_loop},
    {"a completion queue", prepare_nothing, new_queue},
    {"greeting of RESP2", prepare_protocol_2, greet},
    {"greeting without HELLO", prepare_without_hello, greet},
    {"greeting of a bare server", prepare_bare, greet},
    {"greeting with credentials", prepare_credentials, greet},
    {"a Unix socket", prepare_unix, greet},
    {"a look-up", prepare_name, greet},
    {"commands before the greeting", prepare_nothing, commands_before_the_greeting},
};

int main(void)
{
    return failing_main("fault/allocation_open", scenarios,
                        sizeof scenarios / sizeof *scenarios);
}
