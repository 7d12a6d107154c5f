/* SPDX-License-Identifier: MIT */
#include "core.h"

#include "moment.h"
#include "port.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IDLE_NAP_US 1000

/* ---- events: on the loop thread ---- */

/* Is the connection ready, and if not, why not?  An attempt may fail, or begin, while the
 * connection that it would replace works; later kinds say nothing of that. */
static void keep_state(shoalpy_core_t *core, int kind, int status, const char *detail)
{
    if (kind == SHOAL_EVENT_READY || kind == SHOAL_EVENT_LOST)
        core->is_ready = kind == SHOAL_EVENT_READY;
    if (core->is_ready)
        status = 0;
    else if (status == 0 || kind > SHOAL_EVENT_ATTEMPT_FAILED)
        return;
    core->last_status = status;
    /* Its last byte stays 0. */
    strncpy(core->last_failure, status == 0 ? "" : detail,
            sizeof core->last_failure - 1);
}

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    shoalpy_core_t *core = data;

    (void)client;
    pthread_mutex_lock(&core->lock);
    shoalpy_events_keep(&core->events, event);
    keep_state(core, (int)shoal_event_kind(event), shoal_event_status(event),
               shoal_event_detail(event));
    pthread_mutex_unlock(&core->lock);
}

size_t shoalpy_core_events(shoalpy_core_t *core, shoalpy_event_t *events,
                           size_t count_max, uint64_t *ret_lost)
{
    size_t count;

    pthread_mutex_lock(&core->lock);
    count = shoalpy_events_take(&core->events, events, count_max, ret_lost);
    pthread_mutex_unlock(&core->lock);
    return count;
}

/* ---- its life ---- */

int shoalpy_core_open(shoal_options_t *options, bool is_borrowed,
                      shoalpy_core_t **ret_core, shoal_error_t *ret_error)
{
    shoalpy_core_t *core = calloc(1, sizeof *core);
    int rc;

    if (!core)
        return SHOAL_ENOMEM;
    core->is_borrowed = is_borrowed;
    if (pthread_mutex_init(&core->lock, NULL) != 0) {
        free(core);
        return SHOAL_ESYSTEM;
    }
    rc = shoalpy_condition_init(&core->changed);
    if (rc < 0)
        goto fail_changed;
    rc = shoal_options_set_on_event(options, on_event, core);
    if (rc == 0)
        rc = is_borrowed ? shoal_client_open_borrowed(options, &core->client, ret_error)
                         : shoal_client_open(options, &core->client, ret_error);
    if (rc < 0)
        goto fail_client;
    *ret_core = core;
    return 0;

fail_client:
    pthread_cond_destroy(&core->changed);
fail_changed:
    pthread_mutex_destroy(&core->lock);
    free(core);
    return rc;
}

void shoalpy_core_free(shoalpy_core_t *core)
{
    if (!core)
        return;
    shoalpy_port_free(core->port);
    shoal_client_release(core->client);
    pthread_cond_destroy(&core->changed);
    pthread_mutex_destroy(&core->lock);
    free(core);
}

int shoalpy_core_enter(shoalpy_core_t *core)
{
    if (atomic_load(&core->is_refusing)) /* a refused call does not look like a user */
        return SHOAL_ECLOSED;
    atomic_fetch_add(&core->users, 1);
    if (!atomic_load(&core->is_refusing))
        return 0;
    shoalpy_core_leave(core);
    return SHOAL_ECLOSED;
}

void shoalpy_core_leave(shoalpy_core_t *core)
{
    atomic_fetch_sub(&core->users, 1);
}

int shoalpy_core_lease(shoalpy_core_t *core, shoal_lease_t **ret_lease)
{
    int rc = shoalpy_core_enter(core);

    if (rc < 0)
        return rc;
    rc = shoal_lease_open(core->client, ret_lease);
    shoalpy_core_leave(core);
    return rc;
}

static void on_closed(void *data)
{
    shoalpy_core_t *core = data;

    pthread_mutex_lock(&core->lock);
    core->is_gone = true;
    pthread_cond_broadcast(&core->changed);
    pthread_mutex_unlock(&core->lock);
}

void shoalpy_core_refuse(shoalpy_core_t *core)
{
    atomic_store(&core->is_refusing, true);
}

/* Each command that was accepted has its result, and no thread is in a call that would
 * submit another one. */
static bool is_idle(shoalpy_core_t *core)
{
    shoal_stats_t stats = SHOAL_STATS_INIT;

    if (atomic_load(&core->users) > 0)
        return false;
    if (shoalpy_core_stats(core, &stats) < 0)
        return true; /* closed: nothing is outstanding */
    return stats.commands == stats.completed;
}

bool shoalpy_core_wait_idle(shoalpy_core_t *core, uint64_t wait_us)
{
    const struct timespec nap = {.tv_nsec = IDLE_NAP_US * 1000};

    for (uint64_t waited_us = 0; !is_idle(core); waited_us += IDLE_NAP_US) {
        if (waited_us >= wait_us)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}

int shoalpy_core_close(shoalpy_core_t *core, uint64_t drain_us)
{
    shoalpy_core_refuse(core);
    return shoal_client_close(core->client, drain_us, on_closed, core);
}

bool shoalpy_core_wait_gone(shoalpy_core_t *core, uint64_t wait_us)
{
    const struct timespec until = shoalpy_moment(wait_us);
    bool is_gone;

    pthread_mutex_lock(&core->lock);
    while (!core->is_gone &&
           pthread_cond_timedwait(&core->changed, &core->lock, &until) == 0)
        continue;
    is_gone = core->is_gone;
    pthread_mutex_unlock(&core->lock);
    return is_gone;
}

bool shoalpy_core_step(shoalpy_core_t *core, uint64_t wait_us)
{
    return shoal_client_step(core->client, wait_us) == 1;
}

int shoalpy_core_is_ready(shoalpy_core_t *core)
{
    int rc = SHOAL_ETIMEOUT;

    pthread_mutex_lock(&core->lock);
    if (core->is_ready)
        rc = 0;
    else if (core->last_status == SHOAL_EAUTH || core->last_status == SHOAL_ETLS)
        rc = core->last_status;
    pthread_mutex_unlock(&core->lock);
    return rc;
}

int shoalpy_core_wait_ready(shoalpy_core_t *core, uint64_t wait_us)
{
    return shoal_client_wait_ready(core->client, wait_us);
}

int shoalpy_core_stats(shoalpy_core_t *core, shoal_stats_t *ret_stats)
{
    ret_stats->size = sizeof *ret_stats;
    return shoal_stats_get(core->client, ret_stats);
}

int shoalpy_core_connection_stats(shoalpy_core_t *core, uint64_t connection,
                                  shoal_stats_t *ret_stats)
{
    ret_stats->size = sizeof *ret_stats;
    return shoal_stats_get_connection(core->client, connection, ret_stats);
}

int shoalpy_core_connection(shoalpy_core_t *core, uint64_t connection,
                            shoal_connection_info_t *ret_info)
{
    return shoal_connection_get(core->client, connection, ret_info);
}

int shoalpy_core_topology(shoalpy_core_t *core,
                          shoal_topology_snapshot_t **ret_topology)
{
    return shoal_topology_get(core->client, ret_topology);
}

int shoalpy_core_reconnect(shoalpy_core_t *core)
{
    return shoal_client_reconnect(core->client);
}

int shoalpy_core_set_credentials(shoalpy_core_t *core, const char *user,
                                 const char *password)
{
    pthread_mutex_lock(&core->lock);
    if (core->last_status == SHOAL_EAUTH) { /* the former ones were refused */
        core->last_status = 0;
        core->last_failure[0] = '\0';
    }
    pthread_mutex_unlock(&core->lock);
    return shoal_client_set_credentials(core->client, user, password);
}

int shoalpy_core_reload_tls(shoalpy_core_t *core, shoal_error_t *ret_error)
{
    return shoal_client_reload_tls(core->client, ret_error);
}

void shoalpy_core_failure(shoalpy_core_t *core, char text[SHOALPY_FAILURE_BYTES])
{
    pthread_mutex_lock(&core->lock);
    memcpy(text, core->last_failure, sizeof core->last_failure);
    pthread_mutex_unlock(&core->lock);
}

void shoalpy_core_forget(shoalpy_core_t *core)
{
    /* Its locks may be held by threads that are not here: nothing else is touched. */
    if (!core->is_gone)
        shoal_client_after_fork_child(core->client);
}
