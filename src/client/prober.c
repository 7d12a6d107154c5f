/* SPDX-License-Identifier: MIT */
#include "client/prober.h"

#include "base/bytes.h"
#include "client/life.h"
#include "client/submit.h"
#include "route/subscription.h"
#include <shoal/reply.h>
#include <string.h>

int shoal__prober_set(shoal_client_t *pubsub, shoal_client_t *prober)
{
    shoal__post_t *post = pubsub->routes[0]->post;
    shoal_client_t *former = prober;
    uint32_t count;
    bool is_closed;

    if (prober)
        shoal__client_retain(prober);
    shoal__client_lock(pubsub);
    is_closed = pubsub->gate.is_closed;
    if (!is_closed || !prober) {
        former = pubsub->prober;
        pubsub->prober = prober;
        count = atomic_load_explicit(&post->prober, memory_order_relaxed);
        count += shoal__post_has_prober(count) == (prober != NULL) ? 2 : 1;
        atomic_store_explicit(&post->prober, count, memory_order_release);
        if (!is_closed)
            shoal__mailbox_wish_locked(&pubsub->mailbox, SHOAL__WISH_TURN);
    }
    shoal__client_unlock(pubsub);
    if (former)
        shoal__client_release(former);
    return is_closed && prober ? SHOAL_ECLOSED : 0;
}

static shoal__probe_said_t said_by(const shoal_result_t *result)
{
    const shoal_reply_t *reply = shoal_result_reply(result);
    shoal__bytes_t error;

    if (shoal_result_status(result) < 0)
        return SHOAL__PROBE_FAILED;
    if (shoal_reply_type(reply) != SHOAL_REPLY_ERROR)
        return SHOAL__PROBE_TAKEN;
    error.data = shoal_reply_string(reply, &error.bytes);
    return shoal__bytes_start(error, "NOPERM ") ? SHOAL__PROBE_FORBIDDEN
                                                : SHOAL__PROBE_FAILED;
}

/* On the prober's loop thread. */
static void on_published(shoal_client_t *client, const shoal_result_t *result,
                         void *data)
{
    (void)client;
    shoal__probe_slip_write(data, said_by(result), shoal__clock_us());
    shoal__probe_slip_drop(data);
}

static shoal_client_t *borrow(shoal_client_t *pubsub)
{
    shoal_client_t *prober;

    shoal__client_lock(pubsub);
    prober = pubsub->prober;
    if (prober)
        shoal__client_retain(prober);
    shoal__client_unlock(pubsub);
    return prober;
}

bool shoal__prober_publish(void *owner, shoal__probe_slip_t *slip, bool is_shard,
                           const char *channel)
{
    shoal_client_t *prober = borrow(owner);
    const char *const argv[] = {is_shard ? "SPUBLISH" : "PUBLISH", channel, ""};
    int rc;

    if (!prober)
        return false;
    shoal__probe_slip_keep(slip);
    rc = shoal__client_submit_one(prober, 3, argv, NULL, on_published, slip, NULL);
    if (rc == 0) { /* its program may drive it on this thread, too, and not know */
        shoal__client_lock(prober);
        shoal__mailbox_wish_locked(&prober->mailbox, SHOAL__WISH_TURN);
        shoal__client_unlock(prober);
    } else {
        shoal__probe_slip_drop(slip);
    }
    shoal__client_release(prober);
    return rc == 0;
}
