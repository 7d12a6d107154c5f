/* SPDX-License-Identifier: MIT */
#include "support/lone_caller.h"

#define PATIENCE 10000 /* calls of which one must drive */

static void *call(void *data)
{
    lone_caller_t *caller = data;
    shoal_result_t *result = NULL;

    caller->rc = shoal_client_call_with(caller->client, &caller->command, &caller->call,
                                        &result);
    caller->losses_told = scene_events(caller->scene).lost;
    if (caller->rc == 0) {
        outcome_read(&caller->outcome, result);
        caller->outcome.calls = 1;
    }
    shoal_result_release(result);
    return NULL;
}

uint64_t lone_caller_drives(scene_t *scene)
{
    return scene_stats(scene).direct_calls;
}

void lone_caller_echo(scene_t *scene, const char *text)
{
    lone_caller_t caller = {.scene = scene,
                            .client = scene->client,
                            .command = scene_words("ECHO", text, NULL),
                            .call = {.size = sizeof caller.call}};

    (void)call(&caller);
    assert_int_equal(caller.rc, 0);
    scene_check_text(&caller.outcome, text);
}

void lone_caller_become_direct(scene_t *scene)
{
    uint64_t before = lone_caller_drives(scene);

    for (int i = 0; lone_caller_drives(scene) == before; i++) {
        if (i == PATIENCE)
            fail_msg("lone calls do not drive");
        lone_caller_echo(scene, "alone");
    }
}

void lone_caller_open(scene_t *scene)
{
    scene_open_ready(scene);
    lone_caller_become_direct(scene);
}

static lone_caller_t *start(scene_t *scene, shoal_command_t command,
                            uint64_t timeout_us)
{
    lone_caller_t *caller = scene_alloc(scene, sizeof *caller);

    *caller = (lone_caller_t){
        .scene = scene,
        .client = shoal_client_retain(scene->client), /* the scene may close its own */
        .command = command,
        .call = {.size = sizeof caller->call, .timeout_us = timeout_us}};
    assert_int_equal(pthread_create(&caller->thread, NULL, call, caller), 0);
    return caller;
}

lone_caller_t *lone_caller_start(scene_t *scene, shoal_command_t command)
{
    return start(scene, command, 0);
}

lone_caller_t *lone_caller_begin(scene_t *scene, shoal_command_t command,
                                 uint64_t timeout_us)
{
    uint64_t before = lone_caller_drives(scene);

    fake_server_freeze(scene->server);
    lone_caller_t *caller = start(scene, command, timeout_us);
    WAIT_FOR(lone_caller_drives(scene) == before + 1);
    return caller;
}

void lone_caller_end(lone_caller_t *caller)
{
    pthread_join(caller->thread, NULL);
    shoal_client_release(caller->client);
    assert_int_equal(caller->rc, 0);
}
