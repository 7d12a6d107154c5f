/* SPDX-License-Identifier: MIT */
#include <shoal/pubsub.h>

#include "api/open.h"
#include "base/error.h"
#include "base/sized.h"
#include "client/item_queue.h"
#include "client/prober.h"
#include "client/pubsub.h"
#include "route/cluster_subscriber.h"
#include "route/subscriber.h"
#include <shoal/connection.h>
#include <shoal/credentials.h>
#include <shoal/errors.h>
#include <shoal/probe.h>

/* ---- opening ---- */

int shoal__open_pubsub(shoal__drive_t drive, uv_loop_t *uv,
                       const shoal_options_t *options, shoal_pubsub_t **ret_pubsub,
                       shoal_error_t *ret_error)
{
    const char *contradiction = options ? shoal__find_contradiction(options) : NULL;
    bool is_one = !options || options->topology == SHOAL_TOPOLOGY_STANDALONE;
    const shoal__client_plan_t plan = {
        .drive = drive,
        .uv = uv,
        .new_route = is_one ? shoal__subscriber_new : shoal__cluster_subscriber_new,
        .on_heard = shoal__pubsub_heard,
        .on_probe = shoal__prober_publish};
    shoal_client_t *client;
    int rc;

    if (ret_pubsub)
        *ret_pubsub = NULL;
    if (!shoal__error_begin(ret_error))
        return SHOAL_EINVAL;
    if (!ret_pubsub)
        return shoal__error_say(ret_error, SHOAL_EINVAL, "ret_pubsub is NULL");
    if (contradiction)
        return shoal__error_say(ret_error, SHOAL_EINVAL, "%s", contradiction);
    rc = shoal__client_open(&plan, options, &client);
    if (rc == 0)
        *ret_pubsub = (shoal_pubsub_t *)client; /* its first field */
    return shoal__error_system(ret_error, rc, "no thread or descriptor for the pubsub");
}

int shoal_pubsub_open(const shoal_options_t *options, shoal_pubsub_t **ret_pubsub,
                      shoal_error_t *ret_error)
{
    return shoal__open_pubsub(SHOAL__DRIVE_THREAD, NULL, options, ret_pubsub,
                              ret_error);
}

int shoal_pubsub_open_borrowed(const shoal_options_t *options,
                               shoal_pubsub_t **ret_pubsub, shoal_error_t *ret_error)
{
    return shoal__open_pubsub(SHOAL__DRIVE_STEPS, NULL, options, ret_pubsub, ret_error);
}

/* ---- as a client ---- */

static shoal_client_t *client_of(shoal_pubsub_t *pubsub)
{
    return (shoal_client_t *)pubsub; /* its first field; also of NULL */
}

int shoal_pubsub_fd(shoal_pubsub_t *pubsub)
{
    return shoal_client_fd(client_of(pubsub));
}

int64_t shoal_pubsub_wait_us(shoal_pubsub_t *pubsub)
{
    return shoal_client_wait_us(client_of(pubsub));
}

int shoal_pubsub_step(shoal_pubsub_t *pubsub, uint64_t timeout_us)
{
    return shoal_client_step(client_of(pubsub), timeout_us);
}

int shoal_pubsub_set_credentials(shoal_pubsub_t *pubsub, const char *user,
                                 const char *password)
{
    return shoal_client_set_credentials(client_of(pubsub), user, password);
}

int shoal_pubsub_reconnect(shoal_pubsub_t *pubsub)
{
    return shoal_client_reconnect(client_of(pubsub));
}

int shoal_pubsub_close(shoal_pubsub_t *pubsub, shoal_closed_cb on_closed, void *data)
{
    return shoal_client_close(client_of(pubsub), 0, on_closed, data);
}

int shoal_pubsub_close_and_wait(shoal_pubsub_t *pubsub)
{
    return shoal_client_close_and_wait(client_of(pubsub), 0);
}

shoal_pubsub_t *shoal_pubsub_retain(shoal_pubsub_t *pubsub)
{
    shoal_client_retain(client_of(pubsub));
    return pubsub;
}

void shoal_pubsub_release(shoal_pubsub_t *pubsub)
{
    shoal_client_release(client_of(pubsub));
}

int shoal_pubsub_after_fork_child(shoal_pubsub_t *pubsub)
{
    return shoal_client_after_fork_child(client_of(pubsub));
}

int shoal_pubsub_set_prober(shoal_pubsub_t *pubsub, shoal_client_t *prober)
{
    int rc = shoal__client_check(client_of(pubsub));

    if (rc == 0 && prober)
        rc = shoal__client_check(prober);
    return rc < 0 ? rc : shoal__prober_set(client_of(pubsub), prober);
}

int shoal_pubsub_stats(shoal_pubsub_t *pubsub, shoal_pubsub_stats_t *ret_stats)
{
    int rc = shoal__client_check(client_of(pubsub));
    shoal_pubsub_stats_t stats;

    if (!ret_stats || !shoal__sized_is_set(ret_stats->size,
                                           SHOAL__PUBSUB_STATS_BYTES_MIN, sizeof stats))
        return SHOAL_EINVAL;
    if (rc < 0) {
        shoal__sized_clear(ret_stats);
        return rc;
    }
    pubsub->client.routes[0]->ops->read_pubsub(pubsub->client.routes[0], &stats);
    shoal__sized_write(ret_stats, &stats, sizeof stats);
    return 0;
}

/* ---- subscriptions ---- */

static int check_names(const shoal_name_t *names, size_t count)
{
    if (count > SHOAL_NAMES_MAX)
        return SHOAL_ETOOBIG;
    if (count > 0 && !names)
        return SHOAL_EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (names[i].kind > SHOAL_NAME_KEYSPACE || (!names[i].data && names[i].bytes))
            return SHOAL_EINVAL;
        if (names[i].bytes > SHOAL_NAME_BYTES_MAX)
            return SHOAL_ETOOBIG;
    }
    return 0;
}

static bool read_receiver(const shoal_receiver_t *receiver,
                          shoal_receiver_t *ret_receiver)
{
    return receiver &&
           shoal__sized_is_set(receiver->size, SHOAL__RECEIVER_BYTES_MIN,
                               sizeof *receiver) &&
           shoal__sized_read(receiver, ret_receiver, sizeof *ret_receiver) &&
           !ret_receiver->on_item != !ret_receiver->mailbox;
}

int shoal_pubsub_subscribe(shoal_pubsub_t *pubsub, const shoal_name_t *names,
                           size_t count, const shoal_receiver_t *receiver,
                           shoal_subscription_t **ret_subscription)
{
    int rc = shoal__client_check(client_of(pubsub));
    shoal_receiver_t whole;

    if (!ret_subscription)
        return SHOAL_EINVAL;
    *ret_subscription = NULL;
    if (rc == 0 && !read_receiver(receiver, &whole))
        return SHOAL_EINVAL;
    if (rc == 0)
        rc = check_names(names, count);
    if (rc == 0 && whole.mailbox && shoal__items_is_foreign(whole.mailbox))
        rc = SHOAL_EFORK;
    if (rc < 0)
        return rc;
    if (shoal__gate_is_closed(&pubsub->client.gate))
        return SHOAL_ECLOSED;
    return shoal__pubsub_subscribe(pubsub, names, count, &whole, ret_subscription);
}

/* 0, SHOAL_EINVAL: there is none, or SHOAL_EFORK. */
static int check(const shoal_subscription_t *subscription)
{
    return subscription ? shoal__client_check(shoal__subscription_client(subscription))
                        : SHOAL_EINVAL;
}

static int change(shoal_subscription_t *subscription, shoal__change_kind_t kind,
                  const shoal_name_t *names, size_t count)
{
    int rc = check(subscription);

    if (rc == 0)
        rc = check_names(names, count);
    if (rc < 0 || count == 0)
        return rc;
    return shoal__pubsub_change(subscription, kind, names, count);
}

int shoal_subscription_add(shoal_subscription_t *subscription,
                           const shoal_name_t *names, size_t count)
{
    return change(subscription, SHOAL__CHANGE_ADD, names, count);
}

int shoal_subscription_remove(shoal_subscription_t *subscription,
                              const shoal_name_t *names, size_t count)
{
    return change(subscription, SHOAL__CHANGE_REMOVE, names, count);
}

int shoal_subscription_wait(shoal_subscription_t *subscription, uint64_t timeout_us)
{
    int rc = check(subscription);

    return rc < 0 ? rc : shoal__pubsub_wait(subscription, timeout_us);
}

void shoal_subscription_close(shoal_subscription_t *subscription)
{
    if (check(subscription) == 0)
        shoal__pubsub_unsubscribe(subscription);
}
