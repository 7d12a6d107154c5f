/* SPDX-License-Identifier: MIT */
#include "route/role_watch.h"

#include "base/time_us.h"
#include "core/description.h"
#include "core/zone.h"
#include "net/clock.h"
#include "route/errand.h"
#include "route/homes.h"
#include <string.h>

#define ASK_SOON_US 250000 /* a replica that is not in touch with its primary */

static uint64_t epoch_of(const shoal__role_watch_t *watch)
{
    return shoal__counter_get(&watch->conn->stats.epoch);
}

bool shoal__role_watch_is_new(const shoal__role_watch_t *watch)
{
    return watch->epoch != epoch_of(watch);
}

shoal__replica_facts_t shoal__role_watch_facts(const shoal__role_watch_t *watch)
{
    const shoal__pipe_t *pipe = &watch->conn->pipe;
    bool may_read =
        !watch->says_readonly || (watch->is_readonly && watch->is_readonly_accepted);

    return (shoal__replica_facts_t){
        .is_ready = shoal__home_is_ready(watch->conn) &&
                    !shoal__renewal_is_draining(&pipe->renewal),
        .is_replica = watch->role == SHOAL__ROLE_REPLICA &&
                      !shoal__role_watch_is_new(watch) && may_read,
        .linked_us = watch->linked_us,
        .refused_us = watch->refused_us,
        .inflight = shoal__pipe_inflight(pipe) + shoal__pipe_queued(pipe),
        .rtt_us = pipe->flush.learned.tempo.rtt_us,
        .is_near = shoal__role_watch_is_near(watch),
    };
}

bool shoal__role_watch_is_near(const shoal__role_watch_t *watch)
{
    return watch->is_near && watch->zone_epoch == epoch_of(watch);
}

static void on_role(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__role_watch_t *watch = data;
    shoal__role_reply_t role = shoal__role_reply_read(shoal_result_reply(result));

    (void)client;
    watch->is_asked = false;
    watch->is_heard = true;
    if (shoal_result_status(result) < 0)
        return; /* the connection is gone */
    watch->role = role.role;
    watch->epoch = epoch_of(watch);
    if (role.is_linked)
        watch->linked_us = shoal__clock_us();
    else
        watch->ask_us = shoal__clock_us() + ASK_SOON_US;
}

static void on_readonly(shoal_client_t *client, const shoal_result_t *result,
                        void *data)
{
    shoal__role_watch_t *watch = data;

    (void)client;
    watch->is_readonly_accepted =
        shoal_result_status(result) == 0 &&
        shoal_reply_type(shoal_result_reply(result)) != SHOAL_REPLY_ERROR;
}

static void on_info(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__role_watch_t *watch = data;
    const shoal_reply_t *reply = shoal_result_reply(result);
    shoal__bytes_t zone = {NULL, 0}, wanted = {watch->zone, strlen(watch->zone)};

    (void)client;
    watch->is_zone_asked = false;
    if (shoal_result_status(result) < 0)
        return; /* the connection is gone */
    if (shoal_reply_type(reply) != SHOAL_REPLY_ERROR)
        zone = shoal__zone_read(shoal__text_of(reply));
    watch->zone_epoch = epoch_of(watch);
    watch->is_near = shoal__bytes_equal(zone, wanted);
    watch->lacks_zone = zone.bytes == 0;
    watch->is_heard = true;
}

/* False: no memory. */
static bool say(shoal__role_watch_t *watch, const char *word, const char *argument,
                shoal_result_cb on_answer, uint64_t now_us)
{
    const char *const words[] = {word, argument};
    const shoal_command_t command = {.argc = argument ? 2 : 1, .argv = words};
    const shoal__errand_t errand = {.on_answer = on_answer, .data = watch};

    return shoal__errand_send(watch->conn, &command, &errand, now_us);
}

static bool may_ask(const shoal__role_watch_t *watch)
{
    return !watch->is_asked && shoal__home_is_ready(watch->conn);
}

/* Is something to be said before it is of use? */
static bool is_to_begin(const shoal__role_watch_t *watch)
{
    return shoal__role_watch_is_new(watch) ||
           (watch->says_readonly && !watch->is_readonly);
}

void shoal__role_watch_ask_zone(shoal__role_watch_t *watch, uint64_t now_us)
{
    if (watch->zone && !watch->is_zone_asked && watch->zone_epoch != epoch_of(watch) &&
        shoal__home_is_ready(watch->conn))
        watch->is_zone_asked = say(watch, "INFO", "server", on_info, now_us);
}

void shoal__role_watch_ask(shoal__role_watch_t *watch, uint64_t now_us)
{
    shoal__role_watch_ask_zone(watch, now_us);
    if (!may_ask(watch) || (!is_to_begin(watch) && now_us < watch->ask_us))
        return;
    if (shoal__role_watch_is_new(watch)) { /* another process, perhaps without data */
        watch->role = SHOAL__ROLE_UNKNOWN;
        watch->linked_us = 0;
    }
    watch->ask_us = shoal__time_after(now_us, SHOAL__ROLE_ASK_US);
    if (watch->says_readonly && !watch->is_readonly) {
        watch->is_readonly_accepted = false;
        watch->is_readonly = say(watch, "READONLY", NULL, on_readonly, now_us);
        if (!watch->is_readonly)
            return;
    }
    watch->is_asked = say(watch, "ROLE", NULL, on_role, now_us);
}

uint64_t shoal__role_watch_wake_us(const shoal__role_watch_t *watch)
{
    return may_ask(watch) ? watch->ask_us : SHOAL__NEVER_US;
}

void shoal__role_watch_forget(shoal__role_watch_t *watch)
{
    watch->is_readonly = false;
    watch->epoch = watch->zone_epoch = 0;
}

void shoal__role_watch_end_readonly(shoal__role_watch_t *watch, uint64_t now_us)
{
    if (watch->is_readonly)
        watch->is_readonly = !say(watch, "READWRITE", NULL, NULL, now_us);
}
