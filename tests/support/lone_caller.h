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
    shoal_client_t *client; /* the scene's client when the call began */
    shoal_command_t command;
    shoal_call_t call;
    pthread_t thread;
    int rc;
    outcome_t outcome;
    unsigned
        losses_told; /* losses that the scene had heard of when the call returned */
} lone_caller_t;

/* How many calls have driven so far. */
uint64_t lone_caller_drives(scene_t *scene);

/* Call ECHO on this thread; the text must come back. */
void lone_caller_echo(scene_t *scene, const char *text);
/* Call ECHO until one of the calls drives. */
void lone_caller_become_direct(scene_t *scene);
/* Open the client, and then do the same. */
void lone_caller_open(scene_t *scene);

/* Begin a call on a thread of its own, and wait until that thread drives.  The server
 * is frozen, so it answers after fake_server_release() only.  timeout_us as in
 * shoal_call_t. */
lone_caller_t *lone_caller_begin(scene_t *scene, shoal_command_t command,
                                 uint64_t timeout_us);
/* Begin a call on a thread of its own, which may drive or not.  The server is not
 * frozen. */
lone_caller_t *lone_caller_start(scene_t *scene, shoal_command_t command);
/* Wait for the end of the call, which must have a result. */
void lone_caller_end(lone_caller_t *caller);

#endif
