/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_LONE_CALLER_H
#define SHOAL_TESTS_LONE_CALLER_H

/* Blocking calls of a thread that has a client for itself, so that it drives the
 * connection. */

#include "support/scene.h"
#include <pthread.h>

/* A blocking call, perhaps on a thread of its own. */
typedef struct lone_caller {
    scene_t *scene;
    shoal_client_t *client; /* of the scene, when the call began */
    shoal_command_t command;
    shoal_call_t call;
    pthread_t thread;
    int rc;
    outcome_t outcome;
    unsigned losses_told; /* when the call returned */
} lone_caller_t;

/* Calls that drove so far. */
uint64_t lone_caller_drives(scene_t *scene);

/* ECHO on the calling thread; it must come back. */
void lone_caller_echo(scene_t *scene, const char *text);
/* Echoes until one of them drives. */
void lone_caller_become_direct(scene_t *scene);
/* Open the client, and the same. */
void lone_caller_open(scene_t *scene);

/* Begin a call on a thread of its own that drives, and that nobody answers until
 * fake_server_release().  timeout_us as in shoal_call_t. */
lone_caller_t *lone_caller_begin(scene_t *scene, shoal_command_t command,
                                 uint64_t timeout_us);
/* Begin one without any such condition. */
lone_caller_t *lone_caller_start(scene_t *scene, shoal_command_t command);
/* Wait for its end; there must be a result. */
void lone_caller_end(lone_caller_t *caller);

#endif
