/* SPDX-License-Identifier: MIT */
#include "route/subscriber/probe.h"

#include "base/random.h"
#include "base/time_us.h"
#include "route/errand.h"
#include <shoal/errors.h>
#include <string.h>

#define TRIES 256 /* to find a channel of the node's own slots */

void shoal__probe_init(shoal__probe_t *probe, shoal__conn_t *conn,
                       shoal__subscriptions_t *subscriptions,
                       shoal__reception_t *reception)
{
    *probe = (shoal__probe_t){.conn = conn,
                              .subscriptions = subscriptions,
                              .reception = reception,
                              .sent_us = SHOAL__NEVER_US};
}

static uint64_t interval_of(const shoal__probe_t *probe)
{
    return shoal__counter_get(&probe->reception->probe_us);
}

/* Whatever becomes of the probe under way. */
static void let_go(shoal__probe_t *probe)
{
    shoal__probe_slip_drop(probe->slip);
    probe->slip = NULL;
    probe->sent_us = SHOAL__NEVER_US;
}

void shoal__probe_release(shoal__probe_t *probe)
{
    let_go(probe);
}

void shoal__probe_reset(shoal__probe_t *probe)
{
    let_go(probe);
    probe->number++; /* answers of the former connection are nobody's */
    probe->is_asking = probe->is_joined = false;
    probe->ask_us = 0;
}

bool shoal__probe_is_answered(const shoal__probe_t *probe, const shoal__relay_t *relay)
{
    return probe->is_asking ? probe->is_joined : shoal__relay_is_answered(relay);
}

/* ---- what comes ---- */

static bool is_own(const shoal__probe_t *probe, const shoal__push_t *push)
{
    return (probe->is_asking || probe->is_joined) &&
           push->name.bytes == SHOAL__RELAY_CHANNEL_BYTES &&
           (push->name_kind == SHOAL_NAME_SHARD) == probe->is_shard &&
           memcmp(push->name.data, probe->channel, SHOAL__RELAY_CHANNEL_BYTES) == 0;
}

/* Patterns match the private channels of all pubsubs. */
static bool is_private(const shoal__push_t *push)
{
    return push->name_kind == SHOAL_NAME_PATTERN &&
           push->channel.bytes == SHOAL__RELAY_CHANNEL_BYTES &&
           shoal__bytes_start(push->channel, SHOAL__RELAY_PREFIX);
}

bool shoal__probe_takes(shoal__probe_t *probe, const shoal__push_t *push)
{
    if (push->kind == SHOAL__PUSH_OTHER)
        return false;
    if (push->kind == SHOAL__PUSH_MESSAGE) {
        probe->heard_us = probe->conn->pipe.now_us;
        probe->restarts = 0;
        return is_own(probe, push) || is_private(push);
    }
    if (!is_own(probe, push))
        return false;
    probe->is_joined = push->kind == SHOAL__PUSH_CONFIRMED;
    probe->heard_us = probe->conn->pipe.now_us;
    return true;
}

/* ---- the channel ---- */

static void forbid(shoal__probe_t *probe)
{
    shoal__counter_set(&probe->reception->probes_forbidden, 1);
}

static void on_asked(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__probe_t *probe = data;
    size_t bytes;
    const char *error;

    (void)client;
    if (result->status < 0 || result->tag != probe->number)
        return;
    probe->is_asking = false;
    if (shoal_reply_type(result->reply) != SHOAL_REPLY_ERROR)
        return;
    error = shoal_reply_string(result->reply, &bytes);
    if (shoal__bytes_start((shoal__bytes_t){error, bytes}, "NOPERM "))
        forbid(probe);
}

/* False: the node has none. */
static bool choose_channel(shoal__probe_t *probe)
{
    const shoal__bytes_t channel = {probe->channel, SHOAL__RELAY_CHANNEL_BYTES};

    memcpy(probe->channel, SHOAL__RELAY_PREFIX, sizeof SHOAL__RELAY_PREFIX - 1);
    for (unsigned i = 0; i < TRIES; i++) {
        shoal__write_hex(shoal__random_next(&probe->conn->set->random),
                         probe->channel + sizeof SHOAL__RELAY_PREFIX - 1);
        if (!probe->is_shard || probe->ops->is_here(probe->owner, channel))
            return true;
    }
    return false;
}

/* False: no memory. */
static bool send_request(shoal__probe_t *probe, uint64_t now_us)
{
    const char *const words[] = {probe->is_shard ? "SSUBSCRIBE" : "SUBSCRIBE",
                                 probe->channel};
    const char *const ping[] = {"PING"};
    const shoal_command_t command = {.argc = 2, .argv = words};
    const shoal_command_t fence = {.argc = 1, .argv = ping};
    const shoal__errand_t errand = {.on_answer = on_asked,
                                    .data = probe,
                                    .tag = ++probe->number,
                                    .shape = SHOAL__SHAPE_PUSHES};
    const shoal__errand_t after = {.on_answer = NULL};

    probe->is_asking = true;
    return shoal__errand_send(probe->conn, &command, &errand, now_us) &&
           shoal__errand_send(probe->conn, &fence, &after, now_us);
}

/* Ask for the channel, when nothing else is asked.  Returns when to look again. */
static uint64_t join(shoal__probe_t *probe, uint64_t now_us)
{
    if (probe->is_asking || probe->subscriptions->count > 0)
        return SHOAL__NEVER_US; /* an answer will come */
    if (now_us < probe->ask_us)
        return probe->ask_us;
    probe->ask_us = now_us + interval_of(probe);
    probe->is_shard = probe->ops && probe->ops->has_shards(probe->owner);
    if (choose_channel(probe) && !send_request(probe, now_us)) {
        shoal__conn_lose(probe->conn, SHOAL_ENOMEM, "no memory for a probe");
        return now_us;
    }
    return probe->ask_us;
}

/* ---- the turn ---- */

/* Is a prober set, and is a name confirmed, whose messages could be lost? */
static bool is_on(const shoal__probe_t *probe)
{
    shoal__reception_t *reception = probe->reception;
    uint32_t prober =
        atomic_load_explicit(&reception->post.prober, memory_order_acquire);

    if (prober != reception->prober) { /* another one: it may be allowed to */
        reception->prober = prober;
        shoal__counter_set(&reception->probes_forbidden, 0);
    }
    return interval_of(probe) > 0 && shoal__post_has_prober(prober) &&
           shoal__counter_get(&reception->probes_forbidden) == 0 &&
           probe->subscriptions->is_up &&
           shoal__counter_get(&probe->subscriptions->confirmed) > 0;
}

static void publish(shoal__probe_t *probe, uint64_t now_us)
{
    shoal__reception_t *reception = probe->reception;
    shoal__probe_slip_t *slip = shoal__probe_slip_new();

    probe->heard_us = now_us; /* if there is none: silence begins anew */
    if (!slip)
        return;
    if (!reception->hooks->on_probe(reception->hooks_owner, slip, probe->is_shard,
                                    probe->channel)) {
        shoal__probe_slip_drop(slip);
        return;
    }
    probe->slip = slip;
    probe->prober = reception->prober;
    probe->sent_us = now_us;
    probe->heard_us = now_us - 1;
    shoal__counter_add(&reception->probes, 1);
}

static shoal__probe_act_t look(const shoal__probe_t *probe, uint64_t now_us,
                               uint64_t *ret_wake_us)
{
    shoal__probe_facts_t facts = {.interval_us = interval_of(probe),
                                  .heard_us = probe->heard_us,
                                  .sent_us = probe->sent_us,
                                  .restarts = probe->restarts};

    if (probe->slip) {
        facts.said = atomic_load_explicit(&probe->slip->said, memory_order_acquire);
        facts.taken_us =
            atomic_load_explicit(&probe->slip->answered_us, memory_order_relaxed);
        /* The former prober may never answer: perhaps nobody drives it any more. */
        if (probe->prober != probe->reception->prober)
            facts.said = SHOAL__PROBE_FAILED;
    }
    return shoal__probe_rule(&facts, now_us, ret_wake_us);
}

bool shoal__probe_turn(shoal__probe_t *probe, uint64_t now_us, uint64_t *ret_wake_us)
{
    bool has_read = false;

    for (*ret_wake_us = SHOAL__NEVER_US; is_on(probe);) {
        if (!probe->is_joined) {
            let_go(probe);
            *ret_wake_us = join(probe, now_us);
            return false;
        }
        switch (look(probe, now_us, ret_wake_us)) {
        case SHOAL__PROBE_WAIT:
            return false;
        case SHOAL__PROBE_PUBLISH:
            publish(probe, now_us);
            break;
        case SHOAL__PROBE_FORGET:
            if (probe->heard_us < probe->sent_us)
                probe->heard_us = now_us;
            let_go(probe);
            break;
        case SHOAL__PROBE_STOP:
            forbid(probe);
            break;
        case SHOAL__PROBE_RESTART:
            /* The loop may have stood still: is there a message that was not read? */
            if (has_read)
                return true;
            has_read = true;
            shoal__conn_read_ahead(probe->conn);
            break;
        }
    }
    let_go(probe);
    return false;
}

void shoal__probe_restart(shoal__probe_t *probe)
{
    probe->restarts++;
    shoal__counter_add(&probe->reception->probe_restarts, 1);
    probe->subscriptions->loss = SHOAL_GAP_PROBE;
    shoal__conn_mistrust(probe->conn,
                         "the server delivered nothing of what was published to it");
}
