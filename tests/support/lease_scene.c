/* SPDX-License-Identifier: MIT */
#include "support/lease_scene.h"

shoal_lease_t *lease_scene_open(scene_t *scene)
{
    shoal_lease_t *lease = NULL;

    assert_int_equal(shoal_lease_open(scene->client, &lease), 0);
    return lease;
}

shoal_lease_t *lease_scene_open_used(scene_t *scene)
{
    shoal_lease_t *lease;

    scene_open_ready(scene);
    lease = lease_scene_open(scene);
    outcome_t outcome = lease_scene_ask(scene, lease, WORDS("ECHO", "first"));
    scene_check_text(&outcome, "first");
    assert_int_equal(fake_server_received(scene->server, 2, "ECHO", "first"), 1);
    return lease;
}

outcome_t lease_scene_ask(scene_t *scene, shoal_lease_t *lease, shoal_command_t command)
{
    shoal_call_t call = SHOAL_CALL_INIT;

    call.lease = lease;
    return scene_call(scene, command, &call);
}

void lease_scene_submit(scene_t *scene, shoal_lease_t *lease, shoal_command_t command,
                        uint64_t timeout_us, outcome_t *outcome, uint64_t *ret_ticket)
{
    shoal_call_t call = SHOAL_CALL_INIT;
    uint64_t ticket;

    call.lease = lease;
    call.timeout_us = timeout_us;
    ticket = scene_submit(scene, command, &call, outcome);
    if (ret_ticket)
        *ret_ticket = ticket;
}

void lease_scene_hold_all(scene_t *scene, shoal_lease_t **holders)
{
    for (size_t i = 0; i < SHOAL_LEASE_CONNECTIONS_MAX; i++) {
        holders[i] = lease_scene_open(scene);
        outcome_t outcome = lease_scene_ask(scene, holders[i], WORDS("PING"));
        scene_check_text(&outcome, "PONG");
    }
}

void lease_scene_open_stepped(scene_t *scene)
{
    assert_int_equal(shoal_client_open_borrowed(scene->options, &scene->client, NULL),
                     0);
}

void lease_scene_step_until(scene_t *scene, const outcome_t *outcome)
{
    while (!outcome_is_done(outcome))
        assert_true(shoal_client_step(scene->client, 1000000) >= 0);
}

void lease_scene_close_stepped(scene_t *scene)
{
    assert_int_equal(shoal_client_close_and_wait(scene->client, 0), 0);
    shoal_client_release(scene->client);
    scene->client = NULL;
}
