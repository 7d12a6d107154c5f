/* SPDX-License-Identifier: MIT */
#include <shoal/client.h>

#include "api/open.h"
#include "base/time_us.h"
#include "client/call.h"
#include "client/life.h"
#include "client/submit.h"
#include <shoal/errors.h>

/* ---- opening ---- */

int shoal_client_open(const shoal_options_t *options, shoal_client_t **ret_client,
                      shoal_error_t *ret_error)
{
    const shoal__client_plan_t plan = {.drive = SHOAL__DRIVE_THREAD};

    return shoal__open(&plan, options, ret_client, ret_error);
}

int shoal_client_open_url(const char *url, shoal_client_t **ret_client,
                          shoal_error_t *ret_error)
{
    shoal_options_t *options;
    int rc = shoal_options_from_url(url, &options, ret_error);

    if (ret_client)
        *ret_client = NULL;
    if (rc < 0)
        return rc;
    rc = shoal_client_open(options, ret_client, ret_error);
    shoal_options_free(options);
    return rc;
}

int shoal_client_open_borrowed(const shoal_options_t *options,
                               shoal_client_t **ret_client, shoal_error_t *ret_error)
{
    const shoal__client_plan_t plan = {.drive = SHOAL__DRIVE_STEPS};

    return shoal__open(&plan, options, ret_client, ret_error);
}

/* ---- stepping ---- */

static bool is_stepped(const shoal_client_t *client)
{
    return client && client->drive == SHOAL__DRIVE_STEPS &&
           !shoal__client_is_foreign(client);
}

int shoal_client_fd(shoal_client_t *client)
{
    return is_stepped(client) && !client->is_gone ? uv_backend_fd(client->loop.uv) : -1;
}

int64_t shoal_client_wait_us(shoal_client_t *client)
{
    return is_stepped(client) ? shoal__client_wait_us(client) : -1;
}

int shoal_client_step(shoal_client_t *client, uint64_t timeout_us)
{
    int rc = shoal__client_check(client);

    if (rc < 0)
        return rc;
    if (client->drive != SHOAL__DRIVE_STEPS)
        return SHOAL_EINVAL;
    return shoal__client_step(client, timeout_us);
}

/* ---- waiting ---- */

int shoal_client_wait_ready(shoal_client_t *client, uint64_t timeout_us)
{
    int rc = shoal__client_check(client);

    if (rc < 0)
        return rc;
    if (shoal__client_is_loop_thread(client))
        return SHOAL_ELOOP;
    return shoal__call_wait_ready(client,
                                  shoal__time_after(shoal__clock_us(), timeout_us));
}

/* ---- closing ---- */

int shoal_client_close(shoal_client_t *client, uint64_t drain_us,
                       shoal_closed_cb on_closed, void *data)
{
    int rc = shoal__client_check(client);

    return rc < 0 ? rc : shoal__client_close(client, drain_us, on_closed, data, false);
}

int shoal_client_close_and_wait(shoal_client_t *client, uint64_t drain_us)
{
    int rc = shoal__client_check(client);
    bool is_stepped = rc == 0 && client->drive == SHOAL__DRIVE_STEPS;

    if (rc < 0)
        return rc;
    if (shoal__gate_is_closed(&client->gate))
        return SHOAL_ECLOSED;
    /* Stepping is for the loop thread; waiting is for every other. */
    if (client->drive == SHOAL__DRIVE_CALLER || shoal__client_is_stepping(client) ||
        shoal__client_is_loop_thread(client) != is_stepped)
        return SHOAL_ELOOP;
    rc = shoal__client_close(client, drain_us, NULL, NULL, true);
    if (rc < 0)
        return rc;
    if (!is_stepped)
        pthread_join(client->thread, NULL);
    while (is_stepped && rc == 0)
        rc = shoal__client_step(client, SHOAL_TIMEOUT_NEVER);
    return rc < 0 ? rc : 0;
}

shoal_client_t *shoal_client_retain(shoal_client_t *client)
{
    if (client)
        shoal__client_retain(client);
    return client;
}

void shoal_client_release(shoal_client_t *client)
{
    if (client && !shoal__client_is_foreign(client))
        shoal__client_release(client);
}

int shoal_client_after_fork_child(shoal_client_t *client)
{
    if (!client || !shoal__client_is_foreign(client))
        return SHOAL_EINVAL;
    shoal__client_forget(client);
    return 0;
}
