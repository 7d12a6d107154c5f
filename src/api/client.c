/* SPDX-License-Identifier: MIT */
#include "api/client.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "net/clock.h"
#include "net/entropy.h"
#include "net/quiet_thread.h"
#include <shoal/errors.h>

#define FLUSH_COMMANDS_MAX 4096
/* A loop that was not run for so long is late. */
#define LATE_US 10000

static void on_delivered(void *owner)
{
    shoal__client_delivered(owner);
}

/* ---- the loop's hooks ---- */

static void begin_close(shoal_client_t *client, uint64_t now_us)
{
    shoal__inbox_lock(&client->inbox);
    bool is_wanted = client->inbox.is_close_wanted;
    uint64_t drain_us = client->inbox.drain_us;
    shoal__inbox_unlock(&client->inbox);

    if (is_wanted && !client->is_closing) {
        client->is_closing = true;
        client->drain_until_us = shoal__time_after(now_us, drain_us);
    }
}

static uint64_t owed(const shoal_client_t *client)
{
    return client->pushed -
           shoal__counter_get(&client->route.conn.pipe.stats.completed);
}

static void close_if_drained(shoal_client_t *client, uint64_t now_us)
{
    if (owed(client) > 0 && now_us < client->drain_until_us)
        return;
    client->is_shut = true;
    shoal__standalone_close(&client->route, now_us);
    shoal__client_delivered(client);
    shoal__loop_close(&client->loop);
}

/* What other threads, or a direct driver, left to be done. */
static void take_over(shoal_client_t *client, uint64_t now_us)
{
    shoal__client_tell_held(client);
    /* In this order: what was accepted before the close is then taken over. */
    begin_close(client, now_us);
    shoal__client_note_fresh(client, now_us);
    shoal__client_take_over(client, now_us);
}

/* Has the caller's own loop stood still with replies due?  They may have come in time: look
 * at them before the clock. */
static bool is_late(const shoal_client_t *client, uint64_t now_us)
{
    const shoal__pipe_t *pipe = &client->route.conn.pipe;

    return client->drive != SHOAL__DRIVE_THREAD && shoal__pipe_inflight(pipe) > 0 &&
           shoal__time_since(pipe->now_us, now_us) > LATE_US;
}

static uint64_t on_turn(void *owner, uint64_t now_us)
{
    shoal_client_t *client = owner;
    uint64_t wake_us;
    bool is_behind;

    if (client->is_shut)
        return SHOAL__NEVER_US;
    is_behind = client->was_parked || is_late(client, now_us);
    client->depth++;
    client->route.conn.pipe.now_us = now_us;
    shoal__counter_add(&client->turns, 1);
    if (client->drive != SHOAL__DRIVE_THREAD)
        atomic_store_explicit(&client->loop_thread, (uintptr_t)pthread_self(),
                              memory_order_relaxed);
    if (!client->is_open) {
        client->is_open = true;
        shoal__standalone_open(&client->route, &client->loop);
    }
    client->was_parked = false;
    if (is_behind)
        shoal__standalone_read_ahead(&client->route);
    if (client->is_direct)
        shoal__client_note_fresh(client, now_us);
    else
        take_over(client, now_us);
    wake_us = shoal__standalone_turn(&client->route, now_us);
    shoal__client_delivered(client);
    if (client->is_closing) {
        close_if_drained(client, now_us);
        wake_us = shoal__time_min(wake_us, client->drain_until_us);
    }
    client->depth--;
    if (client->is_shut)
        return SHOAL__NEVER_US;
    shoal__pipe_publish(shoal__standalone_pick(&client->route));
    client->wake_us = wake_us;
    return shoal__driver_may_sleep(client, wake_us) ? wake_us : now_us;
}

static void free_client(shoal_client_t *client)
{
    shoal__inbox_quiesce(&client->inbox);
    shoal__loop_release(&client->loop);
    shoal__standalone_release(&client->route);
    shoal__inbox_release(&client->inbox);
    shoal__inbox_side_release(&client->taken);
    shoal_options_free(client->options);
    shoal__free(client);
}

static void on_loop_closed(void *owner)
{
    shoal_client_t *client = owner;

    client->is_gone = true;
    if (client->on_closed)
        client->on_closed(client->closed_data);
    if (client->drive == SHOAL__DRIVE_CALLER)
        free_client(client);
}

static void run_thread(void *data)
{
    shoal_client_t *client = data;

    shoal__driver_run(client);
    if (!client->is_joined)
        pthread_detach(pthread_self());
    free_client(client);
}

/* ---- opening ---- */

static void configure(shoal_client_t *client)
{
    const shoal_options_t *options = client->options;

    client->config = (shoal__conn_config_t){
        .host = options->unix_path ? NULL : options->host,
        .port = options->port,
        .unix_path = options->unix_path,
        .connect_us = options->connect_timeout_us,
        .handshake_us = options->handshake_timeout_us,
        .backoff_base_us = options->backoff_base_us,
        .backoff_us_max = options->backoff_max_us,
        .pipe =
            {
                .flush = {.mode = options->flush_mode,
                          .pause_us = options->flush_pause_us,
                          .bytes_max = 65536,
                          .commands_max = FLUSH_COMMANDS_MAX,
                          .has_fine_waker = shoal__waker_is_descriptor()},
                .reply = {.bytes_max = options->reply_bytes_max,
                          .elements_max = options->reply_elements_max,
                          .depth_max = options->reply_depth_max},
                .greeting = {.protocol = options->protocol,
                             .user = options->user,
                             .password = options->password,
                             .database = options->database,
                             .client_name = options->client_name,
                             .integrity = options->integrity,
                             .is_settling = options->is_settling},
                .inflight_max = options->inflight_max,
                .stall_us = options->stall_timeout_us,
                .ping_idle_us = options->ping_idle_us,
                .attempts_max = (unsigned)options->attempts_max,
                .queue_offline = options->offline_mode == SHOAL_OFFLINE_QUEUE,
                .entropy = shoal__entropy_fill,
            },
    };
}

static int init_parts(shoal_client_t *client, uv_loop_t *uv)
{
    const shoal__conn_hooks_t conn_hooks = {.on_event = shoal__client_on_event,
                                            .on_delivered = on_delivered};
    const shoal__loop_hooks_t loop_hooks = {.on_turn = on_turn,
                                            .on_closed = on_loop_closed};
    int rc = shoal__standalone_init(&client->route, &client->config, client,
                                    shoal__entropy(), &conn_hooks, client);
    if (rc < 0)
        return rc;
    rc = shoal__inbox_init(&client->inbox, &client->loop.notifier);
    if (rc < 0)
        goto fail_inbox;
    rc = shoal__loop_init(&client->loop, uv, &loop_hooks, client);
    if (rc < 0)
        goto fail_loop;
    return 0;

fail_loop:
    if (client->loop.open_handles > 0)
        return rc; /* on_loop_closed frees the client */
    shoal__inbox_release(&client->inbox);
fail_inbox:
    shoal__standalone_release(&client->route);
    return rc;
}

int shoal__client_open(shoal__drive_t drive, uv_loop_t *uv,
                       const shoal_options_t *options, shoal_client_t **ret_client)
{
    shoal_client_t *client;
    int rc = shoal__fork_guard_start();

    if (rc < 0)
        return rc;
    client = shoal__calloc(1, sizeof *client);
    if (!client)
        return SHOAL_ENOMEM;
    client->drive = drive;
    client->fork_generation = shoal__fork_generation();
    shoal__list_init(&client->parked);
    rc = shoal__options_copy(options, &client->options);
    if (rc < 0)
        goto fail;
    configure(client);
    rc = init_parts(client, uv);
    if (rc < 0 && client->loop.open_handles > 0)
        return rc;
    if (rc < 0)
        goto fail;
    if (drive == SHOAL__DRIVE_THREAD) {
        rc = shoal__quiet_thread_start(&client->thread, run_thread, client);
        if (rc < 0) {
            shoal__loop_close(&client->loop);
            shoal__loop_run(&client->loop);
            free_client(client);
            return rc;
        }
    } else {
        atomic_store_explicit(&client->loop_thread, (uintptr_t)pthread_self(),
                              memory_order_relaxed);
    }
    *ret_client = client;
    return 0;

fail:
    shoal_options_free(client->options);
    shoal__free(client);
    return rc;
}

int shoal_client_open(const shoal_options_t *options, shoal_client_t **ret_client)
{
    if (!ret_client)
        return SHOAL_EINVAL;
    return shoal__client_open(SHOAL__DRIVE_THREAD, NULL, options, ret_client);
}

int shoal_client_open_url(const char *url, shoal_client_t **ret_client)
{
    shoal_options_t *options;
    int rc = shoal_options_from_url(url, &options);

    if (rc < 0)
        return rc;
    rc = shoal_client_open(options, ret_client);
    shoal_options_free(options);
    return rc;
}

int shoal_client_open_borrowed(const shoal_options_t *options,
                               shoal_client_t **ret_client)
{
    if (!ret_client)
        return SHOAL_EINVAL;
    return shoal__client_open(SHOAL__DRIVE_STEPS, NULL, options, ret_client);
}

/* ---- stepping ---- */

int shoal_client_fd(shoal_client_t *client)
{
    if (client->drive != SHOAL__DRIVE_STEPS || shoal__client_is_foreign(client))
        return -1;
    return uv_backend_fd(client->loop.uv);
}

int64_t shoal_client_wait_us(shoal_client_t *client)
{
    int timeout_ms;

    if (client->drive != SHOAL__DRIVE_STEPS || shoal__client_is_foreign(client))
        return -1;
    if (client->loop.is_again || client->loop.is_poked || !client->is_open ||
        client->loop.is_closing)
        return 0;
    timeout_ms = uv_backend_timeout(client->loop.uv);
    return timeout_ms < 0 ? -1 : (int64_t)timeout_ms * 1000;
}

int shoal_client_step(shoal_client_t *client, uint64_t timeout_us)
{
    if (shoal__client_is_foreign(client))
        return SHOAL_EFORK;
    if (client->drive != SHOAL__DRIVE_STEPS || client->is_stepping)
        return SHOAL_EINVAL;
    client->is_stepping = true;
    shoal__loop_step(&client->loop, timeout_us);
    client->is_stepping = false;
    if (!client->is_gone)
        return 0;
    free_client(client);
    return 1;
}

/* ---- closing ---- */

static int ask_to_close(shoal_client_t *client, uint64_t drain_us,
                        shoal_closed_cb on_closed, void *data, bool is_joined)
{
    int rc = 0;

    shoal__inbox_lock(&client->inbox);
    if (client->inbox.is_closed) {
        rc = SHOAL_ECLOSED;
    } else {
        client->on_closed = on_closed;
        client->closed_data = data;
        client->is_joined = is_joined;
        client->inbox.is_closed = true;
        client->inbox.is_close_wanted = true;
        client->inbox.drain_us = drain_us;
        if (client->inbox.waiting)
            uv_cond_broadcast(&client->inbox.changed);
        shoal__inbox_poke_locked(&client->inbox);
    }
    shoal__inbox_unlock(&client->inbox);
    return rc;
}

int shoal_client_close(shoal_client_t *client, uint64_t drain_us,
                       shoal_closed_cb on_closed, void *data)
{
    if (shoal__client_is_foreign(client))
        return SHOAL_EFORK;
    return ask_to_close(client, drain_us, on_closed, data, false);
}

int shoal_client_close_and_wait(shoal_client_t *client, uint64_t drain_us)
{
    pthread_t thread = client->thread;
    bool is_stepped = client->drive == SHOAL__DRIVE_STEPS;
    int rc;

    if (shoal__client_is_foreign(client))
        return SHOAL_EFORK;
    if (client->drive == SHOAL__DRIVE_CALLER || client->is_stepping ||
        (!is_stepped && shoal__client_is_loop_thread(client)))
        return SHOAL_ELOOP;
    rc = ask_to_close(client, drain_us, NULL, NULL, true);
    if (rc < 0)
        return rc;
    if (is_stepped) {
        while (shoal_client_step(client, SHOAL_TIMEOUT_NEVER) == 0)
            continue;
    } else {
        pthread_join(thread, NULL);
    }
    return 0;
}

int shoal_after_fork_child(shoal_client_t *client)
{
    if (!shoal__client_is_foreign(client))
        return SHOAL_EINVAL;
    /* The parent's loop thread is not here; a lock may be held by nobody.  So only
     * descriptors are closed, and credentials wiped. */
    shoal__standalone_forget(&client->route);
    shoal__loop_forget(&client->loop);
    shoal_options_free(client->options);
    client->options = NULL;
    return 0;
}
