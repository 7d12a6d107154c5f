/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CLIENT_LIFE_H
#define SHOAL_CLIENT_LIFE_H

/* Opens, steps, closes and frees a client. */

#include "client/client.h"
#include "route/route.h"

struct shoal__probe_slip;

typedef struct shoal__client_plan {
    shoal__drive_t drive;
    uv_loop_t *uv; /* DRIVE_CALLER: the caller's loop; else NULL */
    shoal__route_new_fn new_route;
    shoal__route_new_fn new_heir; /* of the route that may take its place; or NULL */
    /* A pubsub's hook (route/route.h); callbacks of events hear of no client then, because
     * it takes no commands.  NULL: it is none. */
    void (*on_heard)(void *owner, bool has_news);
    /* Another hook of it, likewise. */
    bool (*on_probe)(void *owner, struct shoal__probe_slip *slip, bool is_shard,
                     const char *channel);
} shoal__client_plan_t;

/* `options` is copied; NULL: the defaults.  0 or SHOAL_E*; *ret_client is untouched on
 * failure. */
int shoal__client_open(const shoal__client_plan_t *plan, const shoal_options_t *options,
                       shoal_client_t **ret_client);

/* DRIVE_STEPS: one iteration; blocks until timeout_us at most.  0; 1: the close is
 * complete; SHOAL_EINVAL: a step is under way, on this thread or another. */
int shoal__client_step(shoal_client_t *client, uint64_t timeout_us);
/* DRIVE_STEPS: how long a step may be put off; -1: until the descriptor is readable. */
int64_t shoal__client_wait_us(const shoal_client_t *client);

/* Any thread: ask the loop to settle what is outstanding within drain_us and to end.
 * is_joined: the caller waits for the thread's end.  0 or SHOAL_ECLOSED. */
int shoal__client_close(shoal_client_t *client, uint64_t drain_us,
                        shoal_closed_cb on_closed, void *data, bool is_joined);

/* Any thread that has a reference: have one more, or give one back.  The last one ends
 * the work of a client that is not closed; on DRIVE_STEPS it steps until that is
 * done. */
void shoal__client_retain(shoal_client_t *client);
void shoal__client_release(shoal_client_t *client);

/* In the child of a fork: close descriptors, wipe credentials, call nobody. */
void shoal__client_forget(shoal_client_t *client);

#endif
