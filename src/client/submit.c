/* SPDX-License-Identifier: MIT */
#include "client/submit.h"

#include "base/error.h"
#include "base/time_us.h"
#include "client/awake.h"
#include "client/client.h"
#include "client/driver.h"
#include "client/lease_count.h"
#include "client/plan.h"
#include "client/reason.h"
#include "core/lease.h"
#include "core/refusal.h"
#include "resp/command_slot.h"
#include "resp/encoder.h"
#include <shoal/errors.h>

/* Encode the commands into a side, the mailbox's (with the lock) or one that no other
 * thread sees (mailbox NULL), with tickets from `ticket` on.  is_watched: as
 * shoal__mailbox_push_locked() says.  0 or SHOAL_ENOMEM. */
static int write_into(shoal__mailbox_side_t *side, shoal__mailbox_t *mailbox,
                      const shoal__plan_t *plan, uint64_t now_us, uint64_t ticket,
                      bool is_watched)
{
    const shoal__submission_t *submission = plan->submission;
    shoal__request_t request;
    char *at = shoal__mailbox_side_reserve(side, plan->bytes - plan->referred_bytes,
                                           submission->count);

    if (!at)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < submission->count; i++) {
        shoal__plan_request(plan, i, now_us, &request);
        request.ticket = ticket + i;
        at = shoal__plan_write(plan, i, at);
        if (plan->has_slots)
            shoal__mailbox_side_note_slot(side, shoal__plan_slot(plan, i));
        if (mailbox)
            shoal__mailbox_push_locked(mailbox, &request, is_watched);
        else
            shoal__mailbox_side_push(side, &request);
    }
    return 0;
}

/* The commands were accepted. */
static void count_large(shoal__large_t *large, size_t bytes, size_t referred_bytes)
{
    if (bytes == 0)
        return;
    shoal__counter_add(&large->bytes_referred, referred_bytes);
    shoal__counter_add(&large->bytes_copied, bytes - referred_bytes);
}

/* How many of the commands are plain calls? */
static size_t plain_of(const shoal__plan_t *plan)
{
    const shoal__waiter_t *waiter = plan->submission->waiter;

    return waiter && waiter->is_plain ? plan->submission->count : 0;
}

/* ---- on the loop thread ---- */

static bool has_room_by_ledger(const shoal_client_t *client, uint64_t commands,
                               uint64_t bytes)
{
    return shoal__ledger_has_room(
        &client->ledger, shoal__counter_get(&client->mailbox.queued_now),
        shoal__counter_get(&client->mailbox.bytes_now), commands, bytes);
}

/* The ledger is not exact in the middle of a turn: look again before a refusal. */
static bool has_room_here(shoal_client_t *client, uint64_t commands, uint64_t bytes)
{
    if (has_room_by_ledger(client, commands, bytes))
        return true;
    shoal__client_route(client)->ops->publish(shoal__client_route(client));
    shoal__ledger_published(&client->ledger);
    return has_room_by_ledger(client, commands, bytes);
}

/* How many of the commands cannot leave for now, because their node is down?  Any thread. */
static uint64_t count_stuck(const shoal_client_t *client, const shoal__plan_t *plan)
{
    const shoal__route_t *route = shoal__client_route(client);
    bool is_read = plan->may_leave_primary && plan->submission->count == 1 &&
                   plan->admission.command_class == SHOAL__CLASS_RO;
    uint64_t stuck = 0;

    if (!atomic_load_explicit(&client->counts.has_stuck, memory_order_relaxed))
        return 0;
    for (size_t i = 0; i < plan->submission->count; i++)
        stuck += route->ops->is_stuck(route, shoal__plan_slot(plan, i), is_read);
    return stuck;
}

/* Such commands may fill half of the room, so that those for other nodes are not refused for
 * their sake.  Any thread. */
static bool has_half(const shoal_client_t *client, const shoal__plan_t *plan)
{
    uint64_t stuck = count_stuck(client, plan);

    return stuck == 0 || shoal__ledger_has_half(&client->ledger, &client->counts.stuck,
                                                stuck, plan->bytes);
}

/* ... also of what was submitted since the last turn. */
static bool has_half_here(shoal_client_t *client, const shoal__plan_t *plan)
{
    if (count_stuck(client, plan) == 0)
        return true;
    shoal__client_route(client)->ops->publish(shoal__client_route(client));
    shoal__ledger_published(&client->ledger);
    return has_half(client, plan);
}

static bool is_closed_here(const shoal_client_t *client)
{
    return client->is_closing || shoal__gate_is_closed(&client->gate);
}

static int may_submit_here(shoal_client_t *client, const shoal__plan_t *plan)
{
    if (is_closed_here(client))
        return SHOAL_ECLOSED;
    if (has_room_here(client, plan->submission->count, plan->bytes) &&
        has_half_here(client, plan))
        return 0;
    return plan->submission->call.flags & SHOAL_CALL_WAIT_FOR_ROOM ? SHOAL_ELOOP
                                                                   : SHOAL_EFULL;
}

/* The commands were pushed: the books, and the turn that writes them. */
static void pushed_here(shoal_client_t *client, uint64_t commands, uint64_t bytes)
{
    shoal__ledger_enter_here(&client->ledger, commands, bytes);
    shoal__loop_poke(&client->loop, client->ledger.is_reading);
}

/* Commands of which some are for leases, or may be for the bulk lane, go the way of other
 * threads' commands, but for the mailbox.  With the real time: a blocking command must not
 * seem older than the commands before it. */
static int submit_apart_here(shoal_client_t *client, const shoal__plan_t *plan,
                             uint64_t *ret_ticket)
{
    const shoal__submission_t *submission = plan->submission;
    shoal__mailbox_side_t *side = &client->apart;
    uint64_t now_us = shoal__clock_us();
    uint64_t ticket = SHOAL_TICKET_OF_LOOP | (client->tickets + 1);
    int rc;

    rc = write_into(side, NULL, plan, now_us, ticket, true);
    if (rc == 0 && !shoal__client_route(client)->ops->place(shoal__client_route(client),
                                                            side, now_us))
        rc = SHOAL_ENOMEM;
    shoal__mailbox_side_clear(side);
    if (rc < 0) {
        shoal__counter_add(&client->ledger.refused_here, 1);
        return rc;
    }
    client->tickets += submission->count;
    pushed_here(client, submission->count, plan->bytes);
    count_large(&client->ledger.large_here, plan->large_bytes, plan->referred_bytes);
    if (ret_ticket)
        *ret_ticket = ticket;
    return 0;
}

/* A caller that drives alone has the only ordinary connection for itself: nobody is behind
 * it. */
static bool goes_apart(const shoal_client_t *client, const shoal__plan_t *plan)
{
    const shoal__route_t *route = shoal__client_route(client);
    bool is_alone = client->direct && shoal__ledger_owed(&client->ledger) == 0;

    if (shoal__plan_is_leased(plan) ||
        (!is_alone && (plan->may_be_apart || route->must_place)))
        return true;
    if (route->goes_by_slot)
        return !plan->has_one_slot || plan->is_spread || plan->may_leave_primary;
    return route->places_all;
}

static int submit_here(shoal_client_t *client, const shoal__plan_t *plan,
                       uint64_t *ret_ticket)
{
    const shoal__submission_t *submission = plan->submission;
    shoal__route_t *route = shoal__client_route(client);
    uint64_t now_us = shoal__client_now_us(client);
    uint64_t ticket = client->tickets + 1;
    shoal__request_t *request = NULL;
    char *at;

    int rc = may_submit_here(client, plan);
    if (rc == SHOAL_ELOOP && client->direct) /* the caller may wait, off the loop */
        return rc;
    if (rc == 0 && goes_apart(client, plan))
        return submit_apart_here(client, plan, ret_ticket);
    if (rc == 0)
        request =
            route->ops->reserve(route, plan->slot, plan->bytes - plan->referred_bytes,
                                submission->count, &at);
    if (!request) {
        shoal__counter_add(&client->ledger.refused_here, 1);
        return rc < 0 ? rc : SHOAL_ENOMEM;
    }
    if (plan->referred_bytes > 0)
        route->ops->refer(route, plan->referred_bytes);
    for (size_t i = 0; i < submission->count; i++) {
        shoal__plan_request(plan, i, now_us, request);
        request->flags &= (uint16_t)~SHOAL__REQUEST_APART;
        request->ticket = SHOAL_TICKET_OF_LOOP | ++client->tickets;
        at = shoal__plan_write(plan, i, at);
        request = route->ops->push(route);
    }
    pushed_here(client, submission->count, plan->bytes);
    count_large(&client->ledger.large_here, plan->large_bytes, plan->referred_bytes);
    if (ret_ticket)
        *ret_ticket = SHOAL_TICKET_OF_LOOP | ticket;
    return 0;
}

/* Any thread. */
static void count_refusal(shoal_client_t *client)
{
    atomic_fetch_add_explicit(&client->ledger.refused, 1, memory_order_relaxed);
}

static int refuse_here(shoal_client_t *client, int code)
{
    count_refusal(client);
    return code;
}

static int submit_plain(shoal_client_t *client, const shoal_command_t *command,
                        shoal_result_cb on_result, void *data, uint64_t *ret_ticket)
{
    const shoal__submission_t submission = {
        .commands = command, .count = 1, .on_result = on_result, .data = data};

    return shoal__client_submit(client, &submission, ret_ticket);
}

/* May it be pushed with the next step, and by which slot? */
static bool is_straight(const shoal__route_t *route, const shoal_command_t *command,
                        const shoal__admission_t *admission, unsigned *ret_slot)
{
    if (admission->refused || route->must_place || route->places_all)
        return false; /* or not for the ordinary connection */
    if (!route->goes_by_slot)
        return true;
    *ret_slot = shoal__command_slot_by(command, admission->info, route->book);
    return *ret_slot < SHOAL__SLOTS;
}

static int submit_one_here(shoal_client_t *client, const shoal_command_t *command,
                           shoal_result_cb on_result, void *data, uint64_t *ret_ticket)
{
    const shoal_options_t *options = client->options;
    shoal__route_t *route = shoal__client_route(client);
    size_t bytes_max = shoal__encoder_bytes_max(command);
    uint64_t now_us = shoal__client_now_us(client);
    unsigned slot = 0;
    bool has_room;

    if (bytes_max == 0)
        return refuse_here(client, SHOAL_EINVAL);
    if (bytes_max >= SHOAL_REFERENCE_BYTES_MIN) /* it may have large arguments */
        return submit_plain(client, command, on_result, data, ret_ticket);
    /* The estimate is good enough unless it comes close to a bound. */
    has_room = has_room_by_ledger(client, 1, bytes_max);
    if (!has_room)
        bytes_max = shoal__encoder_bytes(command);
    if (bytes_max > options->bytes_max)
        return refuse_here(client, SHOAL_ETOOBIG);
    if (is_closed_here(client))
        return refuse_here(client, SHOAL_ECLOSED);
    shoal__admission_t admission = shoal__refusal_check(command, 0);
    if (!is_straight(route, command, &admission, &slot) ||
        (atomic_load_explicit(&client->counts.has_stuck, memory_order_relaxed) &&
         route->ops->is_stuck(route, slot, false)))
        return submit_plain(client, command, on_result, data, ret_ticket);
    if (!has_room && !has_room_here(client, 1, bytes_max))
        return refuse_here(client, SHOAL_EFULL);
    char *at;
    shoal__request_t *request = route->ops->reserve(route, slot, bytes_max, 1, &at);
    if (!request)
        return refuse_here(client, SHOAL_ENOMEM);

    size_t bytes = (size_t)(shoal__encoder_write(command, at) - at);
    *request = (shoal__request_t){
        .on_result = on_result,
        .data = data,
        .ticket = SHOAL_TICKET_OF_LOOP | ++client->tickets,
        .submitted_us = SHOAL__REQUEST_TIME(now_us),
        .deadline_us = shoal__time_after(now_us, options->timeout_us),
        .bytes = (uint32_t)bytes,
        .command_class = admission.command_class,
        .shape = admission.shape & (SHOAL__SHAPE_LIMIT - 1u),
    };
    route->ops->push(route);
    pushed_here(client, 1, bytes);
    if (ret_ticket)
        *ret_ticket = SHOAL_TICKET_OF_LOOP | client->tickets;
    return 0;
}

/* ---- on any other thread ---- */

static bool has_room_locked(const shoal_client_t *client, const shoal__plan_t *plan)
{
    const shoal__mailbox_side_t *side = &client->mailbox.side;

    return shoal__ledger_has_room(&client->ledger, side->count,
                                  shoal__mailbox_side_bytes(side),
                                  plan->submission->count, plan->bytes) &&
           has_half(client, plan);
}

/* 0, or SHOAL_EFULL: there is no room, or none by the deadline. */
static int wait_for_room_locked(shoal_client_t *client, const shoal__plan_t *plan,
                                uint64_t until_us)
{
    bool may_wait = (plan->submission->call.flags & SHOAL_CALL_WAIT_FOR_ROOM) != 0;

    while (!client->gate.is_closed && !has_room_locked(client, plan)) {
        /* The loop may hold commands back whose results would make room. */
        if (!shoal__mailbox_is_empty_locked(&client->mailbox))
            shoal__driver_seat_poke_locked(&client->seat);
        if (!may_wait || !shoal__gate_wait_locked(&client->gate, until_us))
            return SHOAL_EFULL;
    }
    return 0;
}

static int submit_there(shoal_client_t *client, const shoal__plan_t *plan,
                        uint64_t *ret_ticket)
{
    shoal__ledger_t *ledger = &client->ledger;
    uint64_t now_us = shoal__clock_us(), ticket;
    shoal__waiter_t *waiter = plan->submission->waiter;
    int rc;

    shoal__client_lock(client);
    rc =
        wait_for_room_locked(client, plan, shoal__time_after(now_us, plan->timeout_us));
    ticket = client->mailbox.tickets + 1;
    if (rc == 0)
        rc = client->gate.is_closed
                 ? SHOAL_ECLOSED
                 : write_into(&client->mailbox.side, &client->mailbox, plan, now_us,
                              ticket,
                              waiter && shoal__awake_joins_locked(client, waiter));
    if (rc == 0) {
        client->mailbox.side.plain += plain_of(plan);
        client->mailbox.tickets += plan->submission->count;
        shoal__counter_add(&ledger->commands_there, plan->submission->count);
        count_large(&ledger->large_there, plan->large_bytes, plan->referred_bytes);
    } else {
        shoal__counter_add(&ledger->refused_there, 1);
    }
    shoal__client_unlock(client);
    if (rc < 0 && waiter && waiter->is_staying)
        shoal__awake_quit(client, waiter);
    if (rc == 0 && ret_ticket)
        *ret_ticket = ticket;
    return rc;
}

/* ---- the way in ---- */

/* If this thread has a command in the mailbox, of a call that came back without its
 * result, the next one goes behind it. */
static bool may_go_past_mailbox(const shoal_client_t *client)
{
    return shoal__counter_get(&client->mailbox.queued_now) == 0;
}

/* The caller is the loop thread for this command, unless it has to wait for room. */
static int submit_directly(shoal_client_t *client, const shoal__plan_t *plan,
                           uint64_t *ret_ticket)
{
    int rc = submit_here(client, plan, ret_ticket);

    if (rc == 0) {
        shoal__company_enter(&client->company, plain_of(plan));
        return 0;
    }
    shoal__driver_release(client, plan->submission->waiter);
    return rc == SHOAL_ELOOP ? submit_there(client, plan, ret_ticket) : rc;
}

static int explain(const shoal_client_t *client, const shoal__plan_t *plan,
                   const shoal__submission_t *submission, int code)
{
    const shoal__ledger_t *ledger = &client->ledger;
    const shoal__mailbox_t *mailbox = &client->mailbox;
    const shoal__reason_load_t load = {
        .book = shoal__client_route(client)->book,
        .queued = shoal__counter_get(&ledger->route->queued) +
                  shoal__counter_get(&ledger->entered_commands) +
                  shoal__counter_get(&mailbox->queued_now),
        .bytes = shoal__counter_get(&ledger->route->bytes) +
                 shoal__counter_get(&ledger->entered_bytes) +
                 shoal__counter_get(&mailbox->bytes_now),
        .lacks_lease = plan->leases > 0 && !plan->is_claimed,
        .lacks_half = code == SHOAL_EFULL && !has_half(client, plan)};

    return shoal__reason_say(submission, client->options, &load, code);
}

/* 0 or SHOAL_EFULL. */
static int claim_leases(shoal_client_t *client, shoal__plan_t *plan)
{
    shoal_lease_t *lease = plan->submission->call.lease;

    if (lease)
        atomic_store_explicit(&lease->was_used, true, memory_order_relaxed);
    if (plan->leases == 0)
        return 0;
    plan->is_claimed = shoal__lease_claim(client, plan->leases);
    return plan->is_claimed ? 0 : SHOAL_EFULL;
}

int shoal__client_submit(shoal_client_t *client, const shoal__submission_t *submission,
                         uint64_t *ret_ticket)
{
    shoal__plan_t plan = {0};
    int rc = shoal__client_check(client);

    if (rc < 0)
        return shoal__error_plain(submission->call.error, rc);
    if (submission->call.lease && submission->call.lease->client != client) {
        count_refusal(client);
        shoal__error_say(submission->call.error, SHOAL_EINVAL,
                         "the lease is one of another client");
        return SHOAL_EINVAL;
    }
    rc = shoal__plan_make(submission, client->options,
                          shoal__client_route(client)->book, &plan);
    if (rc == 0)
        rc = claim_leases(client, &plan);
    if (submission->is_leased)
        *submission->is_leased = rc == 0 && shoal__plan_is_leased(&plan);
    if (rc == 0 && submission->waiter && shoal__plan_is_leased(&plan))
        submission->waiter->is_plain = submission->waiter->may_drive = false;
    if (rc < 0)
        count_refusal(client);
    else if (shoal__client_is_loop_thread(client))
        rc = submit_here(client, &plan, ret_ticket);
    else if (may_go_past_mailbox(client) && submission->waiter &&
             shoal__driver_take(client, submission->waiter))
        rc = submit_directly(client, &plan, ret_ticket);
    else
        rc = submit_there(client, &plan, ret_ticket);
    if (rc == 0)
        return 0;
    if (plan.is_claimed)
        shoal__lease_unclaim(client, plan.leases);
    shoal__extra_free(plan.extra);
    return explain(client, &plan, submission, rc);
}

int shoal__client_submit_one(shoal_client_t *client, size_t argc,
                             const char *const *argv, const size_t *argvlen,
                             shoal_result_cb on_result, void *data,
                             uint64_t *ret_ticket)
{
    const shoal_command_t command = {argc, argv, argvlen};

    if (!shoal__client_is_loop_thread(client) || shoal__client_is_foreign(client))
        return submit_plain(client, &command, on_result, data, ret_ticket);
    return submit_one_here(client, &command, on_result, data, ret_ticket);
}

/* ---- cancelling ---- */

static int cancel_there(shoal_client_t *client, uint64_t ticket)
{
    const shoal_options_t *options = client->options;
    shoal__mailbox_t *mailbox = &client->mailbox;
    int rc;

    shoal__client_lock(client);
    if (client->gate.is_over)
        rc = SHOAL_ECLOSED;
    else if (!(ticket & SHOAL_TICKET_OF_LOOP) && ticket > mailbox->tickets)
        rc = SHOAL_ENOENT;
    else if (mailbox->side.cancels_count > options->queued_max + options->inflight_max)
        rc = SHOAL_EFULL; /* more than there can be commands */
    else
        rc = shoal__mailbox_cancel_locked(mailbox, ticket);
    shoal__client_unlock(client);
    return rc;
}

int shoal__client_cancel(shoal_client_t *client, uint64_t ticket)
{
    if (ticket == 0 || ticket == SHOAL_TICKET_OF_LOOP)
        return SHOAL_ENOENT;
    if (shoal__client_is_loop_thread(client) && !client->is_shut) {
        shoal__loop_poke(&client->loop, false);
        if (shoal__client_route(client)->ops->cancel(shoal__client_route(client),
                                                     ticket, shoal__clock_us()))
            return 0;
        if (ticket & SHOAL_TICKET_OF_LOOP)
            return SHOAL_ENOENT;
        /* The command is another thread's, and may still be in the mailbox: the cancel
         * goes behind it. */
    }
    return cancel_there(client, ticket);
}
