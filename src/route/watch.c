/* SPDX-License-Identifier: MIT */
#include "route/watch.h"

#include "base/alloc.h"
#include "resp/reply.h"
#include "route/errand.h"
#include <shoal/errors.h>
#include <string.h>

/* ---- what it is asked ---- */

/* NULL: the answer did not come. */
static const shoal_reply_t *answer_of(const shoal_result_t *result)
{
    return result->status == 0 ? result->reply : NULL;
}

static void on_primary(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__watch_t *watch = data;
    (void)client;

    watch->voice->is_asked = false;
    watch->voice->has_view =
        shoal__sentinel_read_primary(answer_of(result), &watch->voice->view);
    watch->voice->had_view = watch->voice->has_view;
}

static void on_peers(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__sentinel_peer_t peers[SHOAL__SENTINELS_MAX];
    const shoal__watch_t *watch = data;
    size_t count = shoal__sentinel_read_peers(answer_of(result), peers,
                                              sizeof peers / sizeof *peers);
    (void)client;

    watch->hooks->on_peers(watch->owner, peers, count);
}

static void on_id(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__watch_t *watch = data;
    (void)client;

    if (shoal__sentinel_read_id(answer_of(result), watch->id))
        watch->hooks->on_id(watch->owner);
}

static bool put(shoal__watch_t *watch, size_t argc, const char *const *argv,
                shoal_result_cb on_answer, uint64_t now_us)
{
    const shoal_command_t command = {argc, argv, NULL};
    const shoal__errand_t errand = {.on_answer = on_answer, .data = watch};

    return shoal__errand_send(&watch->conn, &command, &errand, now_us);
}

void shoal__watch_ask(shoal__watch_t *watch, uint64_t now_us)
{
    const char *const primary[] = {"SENTINEL", "MASTER", watch->primary};
    const char *const peers[] = {"SENTINEL", "SENTINELS", watch->primary};
    const char *const id[] = {"SENTINEL", "MYID"};

    if (watch->conn.state != SHOAL__CONN_READY) {
        shoal__conn_reconnect(&watch->conn, SHOAL__CONN_ASKED_FOR, now_us);
        return;
    }
    if (watch->voice->is_asked)
        return;
    watch->voice->is_asked = put(watch, 3, primary, on_primary, now_us);
    put(watch, 3, peers, on_peers, now_us);
    if (watch->id[0] == '\0')
        put(watch, 2, id, on_id, now_us);
}

/* ---- what its connection tells ---- */

static void on_event(void *owner, const shoal_event_t *event)
{
    shoal__watch_t *watch = owner;

    if (event->kind == SHOAL_EVENT_READY)
        shoal__watch_ask(watch, watch->conn.pipe.now_us);
    if (event->kind == SHOAL_EVENT_LOST || event->kind == SHOAL_EVENT_ATTEMPT_FAILED) {
        watch->id[0] = '\0'; /* another sentinel may come to its address */
        watch->voice->had_view = false;
    }
}

static void on_push(void *owner, const shoal_reply_t *push)
{
    const shoal__watch_t *watch = owner;

    if (!shoal__sentinel_tells_of(push, watch->primary))
        return;
    watch->voice->has_news = true;
    watch->hooks->on_switch(watch->owner);
}

static void on_reading(void *owner, uint64_t now_us)
{
    const shoal__watch_t *watch = owner;

    watch->hooks->on_reading(watch->owner, now_us);
}

static void on_delivered(void *owner)
{
    const shoal__watch_t *watch = owner;

    watch->hooks->on_delivered(watch->owner);
}

/* No user's command takes this connection: there is no on_result. */
static const shoal__conn_hooks_t conn_hooks = {.on_event = on_event,
                                               .on_reading = on_reading,
                                               .on_delivered = on_delivered,
                                               .on_own = shoal__errand_on_own,
                                               .on_push = on_push};

void shoal__watch_look(const shoal__watch_t *watch, uint64_t until_us)
{
    shoal__conn_state_t state = watch->conn.state;

    watch->voice->is_ready = state == SHOAL__CONN_READY;
    watch->voice->is_reaching =
        state == SHOAL__CONN_DIALING || state == SHOAL__CONN_GREETING ||
        (state == SHOAL__CONN_BACKOFF && watch->conn.due_us < until_us);
    watch->voice->failures = watch->conn.backoff.failures;
}

/* ---- its life ---- */

shoal__watch_t *shoal__watch_new(const shoal__watch_plan_t *plan,
                                 shoal__sentinel_voice_t *voice)
{
    shoal__watch_t *watch = shoal__calloc(1, sizeof *watch);
    shoal__conn_plan_t conn = {
        .config = plan->config, .set = plan->set, .hooks = &conn_hooks, .owner = watch};

    if (!watch)
        return NULL;
    watch->primary = plan->primary;
    watch->voice = voice;
    watch->hooks = plan->hooks;
    watch->owner = plan->owner;
    watch->endpoint =
        (shoal__endpoint_t){.name = watch->name, .host = watch->address.host};
    watch->target = (shoal__target_t){.name = watch->name,
                                      .endpoints = &watch->endpoint,
                                      .endpoints_count = 1,
                                      .secret = plan->secret};
    conn.target = &watch->target;
    if (shoal__conn_init(&watch->conn, &conn) < 0) {
        shoal__free(watch);
        return NULL;
    }
    return watch;
}

void shoal__watch_free(shoal__watch_t *watch)
{
    if (!watch)
        return;
    shoal__conn_release(&watch->conn);
    shoal__free(watch);
}

void shoal__watch_use(shoal__watch_t *watch, const shoal__sentinel_peer_t *peer,
                      bool is_seed)
{
    watch->address = peer->address;
    watch->endpoint.port = peer->address.port;
    shoal__target_name(watch->name, peer->address.host, peer->address.port);
    memcpy(watch->id, peer->id, sizeof watch->id);
    *watch->voice = (shoal__sentinel_voice_t){.is_known = true, .is_seed = is_seed};
    shoal__backoff_succeeded(
        &watch->conn.backoff); /* the failures were another one's */
}

void shoal__watch_open(shoal__watch_t *watch)
{
    shoal__conn_open(&watch->conn);
}

void shoal__watch_drop(shoal__watch_t *watch, uint64_t now_us)
{
    shoal__conn_give_up(&watch->conn, "the sentinel is not used any more", now_us);
    *watch->voice = (shoal__sentinel_voice_t){0};
}
