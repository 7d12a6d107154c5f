/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_LEASE_SCENE_H
#define SHOAL_TESTS_LEASE_SCENE_H

/* Leases on a scripted server.  The client's shared connection is number 1 of the server,
 * the first lease's number 2. */

#include "support/scene.h"

/* A command of words, good until the same thread built 32 more. */
#define WORDS(...) scene_words(__VA_ARGS__, NULL)

shoal_lease_t *lease_scene_open(scene_t *scene);
/* Begin with a lease that has carried a command. */
shoal_lease_t *lease_scene_open_used(scene_t *scene);

/* Send a command on a lease (NULL: none), and wait for its outcome. */
outcome_t lease_scene_ask(scene_t *scene, shoal_lease_t *lease,
                          shoal_command_t command);
/* Submit it; ret_ticket may be NULL. */
void lease_scene_submit(scene_t *scene, shoal_lease_t *lease, shoal_command_t command,
                        uint64_t timeout_us, outcome_t *outcome, uint64_t *ret_ticket);

/* Take all leased connections that there can be: SHOAL_LEASE_CONNECTIONS_MAX leases. */
void lease_scene_hold_all(scene_t *scene, shoal_lease_t **holders);

/* A client that the test steps: begin, step until an outcome is there, end. */
void lease_scene_open_stepped(scene_t *scene);
void lease_scene_step_until(scene_t *scene, const outcome_t *outcome);
void lease_scene_close_stepped(scene_t *scene);

#endif
