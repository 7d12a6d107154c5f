/* SPDX-License-Identifier: MIT */
#include "client/life.h"

#include "base/alloc.h"
#include "client/driver.h"
#include "client/turn.h"
#include "net/entropy.h"
#include "net/quiet_thread.h"
#include <shoal/errors.h>

/* ---- the end ---- */

/* Accepts a half-built client: what was not begun is zero. */
static void free_parts(shoal_client_t *client)
{
    for (size_t i = 0; i < 2; i++)
        if (client->routes[i])
            client->routes[i]->ops->free(client->routes[i]);
    shoal__events_release(&client->events);
    shoal__mailbox_release(&client->mailbox);
    shoal__mailbox_side_release(&client->taken);
    shoal__mailbox_side_release(&client->apart);
    shoal__scripts_clear(&client->scripts.registered);
    shoal__scripts_clear(&client->scripts.loop);
    shoal__options_free(client->options);
    shoal__free(client);
}

static void free_client(shoal_client_t *client)
{
    shoal__loop_release(&client->loop);
    shoal__gate_release(&client->gate);
    shoal__driver_seat_release(&client->seat);
    free_parts(client);
}

/* Give the reference of the work, or of a step, back. */
static void drop(shoal_client_t *client, uint32_t reference)
{
    if (atomic_fetch_sub(&client->references, reference) == reference)
        free_client(client);
}

/* Of a pubsub that is closed: it gets no other one. */
static void give_prober_back(shoal_client_t *client)
{
    shoal_client_t *prober;

    shoal__client_lock(client);
    prober = client->prober;
    client->prober = NULL;
    shoal__client_unlock(client);
    if (prober)
        shoal__client_release(prober);
}

static void on_loop_closed(void *owner)
{
    shoal_client_t *client = owner;

    give_prober_back(client);
    client->is_gone = true;
    atomic_store_explicit(&client->loop_thread, 0, memory_order_relaxed);
    if (client->on_closed)
        client->on_closed(client->closed_data);
    if (client->drive == SHOAL__DRIVE_CALLER)
        drop(client, SHOAL__REFERENCE_WORK);
}

int shoal__client_close(shoal_client_t *client, uint64_t drain_us,
                        shoal_closed_cb on_closed, void *data, bool is_joined)
{
    int rc = SHOAL_ECLOSED;

    shoal__client_lock(client);
    if (!client->gate.is_closed) {
        client->on_closed = on_closed;
        client->closed_data = data;
        client->is_joined = is_joined;
        shoal__gate_close_locked(&client->gate, drain_us);
        rc = 0;
    }
    shoal__client_unlock(client);
    return rc;
}

/* ---- references ---- */

/* The end of a step.  While a user is left, the thread only leaves the seat.  Otherwise no
 * thread will step again, and this one goes on until the close is complete.  True: it
 * is. */
static bool end_step(shoal_client_t *client)
{
    uint32_t references = atomic_load(&client->references);

    while (!client->is_gone) {
        if (references == (SHOAL__REFERENCE_WORK | SHOAL__REFERENCE_STEP)) {
            shoal__loop_step(&client->loop, SHOAL_TIMEOUT_NEVER);
            references = atomic_load(&client->references); /* a callback may retain */
        } else if (atomic_compare_exchange_strong(&client->references, &references,
                                                  references - SHOAL__REFERENCE_STEP)) {
            return false;
        }
    }
    drop(client, references & (SHOAL__REFERENCE_WORK | SHOAL__REFERENCE_STEP));
    return true;
}

void shoal__client_retain(shoal_client_t *client)
{
    atomic_fetch_add_explicit(&client->references, SHOAL__REFERENCE_USER,
                              memory_order_relaxed);
}

void shoal__client_release(shoal_client_t *client)
{
    uint32_t references = atomic_load(&client->references), left;

    do {
        left = references - SHOAL__REFERENCE_USER;
        if (left < SHOAL__REFERENCE_USER)
            shoal__client_close(client, 0, NULL, NULL, false);
        /* If a step is under way, perhaps on this thread, it goes on to the end. */
        if (left == SHOAL__REFERENCE_WORK && client->drive == SHOAL__DRIVE_STEPS)
            left |= SHOAL__REFERENCE_STEP;
    } while (!atomic_compare_exchange_strong(&client->references, &references, left));
    if (left == 0)
        free_client(client);
    else if (left & ~references & SHOAL__REFERENCE_STEP)
        end_step(client);
}

void shoal__client_forget(shoal_client_t *client)
{
    /* The parent's threads are not here, and may have held locks.  So only descriptors
     * are closed, and credentials wiped. */
    for (size_t i = 0; i < 2; i++)
        if (client->routes[i])
            client->routes[i]->ops->forget(client->routes[i]);
    shoal__loop_forget(&client->loop);
    shoal__options_free(client->options);
    client->options = NULL;
}

/* ---- the beginning ---- */

static void run_thread(void *data)
{
    shoal_client_t *client = data;

    shoal__driver_run(client);
    if (!client->is_joined)
        pthread_detach(pthread_self());
    drop(client, SHOAL__REFERENCE_WORK);
}

/* On failure the parts that are there are released, unless the loop still has handles:
 * on_loop_closed frees the client then. */
static int init_threads_parts(shoal_client_t *client, uv_loop_t *uv)
{
    const shoal__loop_hooks_t hooks = {.on_turn = shoal__turn_run,
                                       .on_closed = on_loop_closed};
    int rc = shoal__driver_seat_init(&client->seat, &client->loop.notifier);

    if (rc < 0)
        return rc;
    rc = shoal__gate_init(&client->gate, &client->seat);
    if (rc < 0)
        goto fail_gate;
    rc = shoal__loop_init(&client->loop, uv, &hooks, client);
    if (rc < 0)
        goto fail_loop;
    return 0;

fail_loop:
    if (client->loop.open_handles > 0)
        return rc;
    shoal__gate_release(&client->gate);
fail_gate:
    shoal__driver_seat_release(&client->seat);
    return rc;
}

/* A lease that its holder gave back, and which has every result. */
static void on_lease_over(void *owner, shoal_lease_t *lease)
{
    shoal__free(lease);
    shoal__client_release(owner);
}

static int make_routes(shoal_client_t *client, const shoal__client_plan_t *plan,
                       const shoal__route_hooks_t *hooks)
{
    int rc = plan->new_route(client->options, shoal__entropy(), hooks, client,
                             &client->routes[0]);

    if (rc == 0 && plan->new_heir)
        rc = plan->new_heir(client->options, shoal__entropy(), hooks, client,
                            &client->routes[1]);
    atomic_init(&client->route, client->routes[0]);
    return rc;
}

static int init_parts(shoal_client_t *client, const shoal__client_plan_t *plan,
                      const shoal_options_t *options)
{
    shoal__route_hooks_t hooks = shoal__turn_route_hooks;
    int rc = shoal__options_copy(options, &client->options);

    if (rc < 0)
        return rc;
    hooks.on_lease_over = on_lease_over;
    hooks.on_heard = plan->on_heard;
    hooks.may_hold = plan->drive == SHOAL__DRIVE_THREAD;
    hooks.on_probe = plan->on_probe;
    hooks.counts = &client->counts;
    hooks.scripts = &client->scripts.loop;
    shoal__waiters_init(&client->waiters);
    shoal__mailbox_init(&client->mailbox, &client->seat);
    client->mailbox.side.has_slots = client->taken.has_slots = client->apart.has_slots =
        client->options->topology != SHOAL_TOPOLOGY_STANDALONE;
    shoal__events_init(&client->events, plan->on_heard ? NULL : client, client->options,
                       &client->gate);
    rc = make_routes(client, plan, &hooks);
    if (rc < 0)
        return rc;
    shoal__options_forget_secret(client->options); /* the route keeps it */
    shoal__ledger_init(&client->ledger, &client->counts.account,
                       client->options->queued_max, client->options->bytes_max);
    return init_threads_parts(client, plan->uv);
}

static int start_driving(shoal_client_t *client)
{
    if (client->drive == SHOAL__DRIVE_THREAD)
        return shoal__quiet_thread_start(&client->thread, run_thread, client);
    atomic_store_explicit(&client->loop_thread, (uintptr_t)pthread_self(),
                          memory_order_relaxed);
    return 0;
}

int shoal__client_open(const shoal__client_plan_t *plan, const shoal_options_t *options,
                       shoal_client_t **ret_client)
{
    shoal_client_t *client;
    int rc = shoal__fork_guard_start();

    if (rc < 0)
        return rc;
    client = shoal__calloc(1, sizeof *client);
    if (!client)
        return SHOAL_ENOMEM;
    client->drive = plan->drive;
    client->references = SHOAL__REFERENCE_WORK;
    client->fork_generation = shoal__fork_generation();
    rc = init_parts(client, plan, options);
    if (rc < 0 && client->loop.open_handles == 0)
        free_parts(client);
    if (rc < 0)
        return rc;
    client->references = SHOAL__REFERENCE_USER | SHOAL__REFERENCE_WORK;
    rc = start_driving(client);
    if (rc < 0) {
        shoal__loop_close(&client->loop);
        shoal__loop_run(&client->loop);
        free_client(client);
        return rc;
    }
    *ret_client = client;
    return 0;
}

/* ---- stepping ---- */

int64_t shoal__client_wait_us(const shoal_client_t *client)
{
    const shoal__loop_t *loop = &client->loop;
    int timeout_ms;

    if (client->is_gone || loop->is_again || loop->is_poked || !client->is_open ||
        loop->is_closing)
        return 0;
    timeout_ms = uv_backend_timeout(loop->uv);
    return timeout_ms < 0 ? -1 : (int64_t)timeout_ms * 1000;
}

int shoal__client_step(shoal_client_t *client, uint64_t timeout_us)
{
    if (atomic_fetch_or(&client->references, SHOAL__REFERENCE_STEP) &
        SHOAL__REFERENCE_STEP)
        return SHOAL_EINVAL;
    if (!client->is_gone)
        shoal__loop_step(&client->loop, timeout_us);
    return end_step(client);
}
