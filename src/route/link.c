/* SPDX-License-Identifier: MIT */
#include "route/link.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/pipe/pipe_doubt.h"
#include "core/pipe/pipe_move.h"
#include "core/result.h"
#include "resp/reply.h"
#include "route/errand.h"
#include "route/lease_queue.h"
#include <inttypes.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

/* ---- commands in ---- */

static bool make_room_for_notes(shoal__link_t *link, size_t count)
{
    size_t room = link->notes_room ? link->notes_room : 8;
    void *notes;

    while (room < link->notes_count + count)
        room *= 2;
    if (room == link->notes_room)
        return true;
    notes = shoal__realloc(link->notes, room * sizeof *link->notes);
    if (!notes)
        return false;
    link->notes = notes;
    link->notes_room = room;
    return true;
}

static shoal__lease_effect_t take_note(shoal__link_t *link, uint64_t ticket)
{
    for (size_t i = 0; i < link->notes_count; i++) {
        shoal__lease_effect_t effect = link->notes[i].effect;
        if (link->notes[i].ticket != ticket)
            continue;
        link->notes_count--;
        memmove(&link->notes[i], &link->notes[i + 1],
                (link->notes_count - i) * sizeof *link->notes);
        return effect;
    }
    return SHOAL__LEASE_NONE;
}

/* A part of a unit does not. */
static bool may_block(const shoal__request_t *request)
{
    return request->command_class == SHOAL__CLASS_BLOCK &&
           !(request->flags & SHOAL__REQUEST_UNIT);
}

static void push(shoal__link_t *link, const shoal__request_t *waiting, uint64_t now_us)
{
    shoal__pipe_t *pipe = &link->conn.pipe;
    shoal__request_t request = *waiting;

    request.flags &= (uint16_t)~SHOAL__REQUEST_LEASED;
    if (SHOAL__REQUEST_LEASE(&request)) {
        if (request.shape == SHOAL__LEASE_MONITOR)
            link->lease->end = SHOAL__LEASE_SPENT;
        if (request.shape != SHOAL__LEASE_NONE)
            link->notes[link->notes_count++] = (shoal__link_note_t){
                request.ticket, (shoal__lease_effect_t)request.shape};
        request.shape = SHOAL__SHAPE_ANY;
    }
    if (!(request.flags & SHOAL__REQUEST_RETRIED))
        shoal__stage_times_count(&pipe->times, SHOAL_STAGE_QUEUED,
                                 shoal__time_since(request.submitted_us, now_us), 1);
    shoal__pipe_push(pipe, &request);
    link->lease->outstanding++;
    link->blocking += may_block(&request);
}

/* Does the next command stay, or wait for an answer? */
static bool is_held(const shoal__link_t *link)
{
    const shoal__list_t *first = link->lease->queue.waiting.next;

    return !shoal__lease_queue_may_leave(link->lease) ||
           ((link->blocking > 0 || link->asked.is_due) &&
            may_block(&SHOAL__LIST_ENTRY(first, const shoal__listed_request_t, node)
                           ->request));
}

/* Before the command that a server was named for.  If the connection is lost between the two,
 * the next server refuses the command again. */
static bool say_asking(shoal__link_t *link, uint64_t now_us)
{
    static const char *const argv[] = {"ASKING"};
    const shoal_command_t command = {1, argv, NULL};

    return shoal__errand_send(&link->conn, &command, &(shoal__errand_t){0}, now_us);
}

bool shoal__link_take(shoal__link_t *link, uint64_t now_us)
{
    shoal__pipe_t *pipe = &link->conn.pipe;
    size_t count = link->lease->queue.count, taken;
    char *at;

    if (!make_room_for_notes(link, count) ||
        (link->lease->is_asked && !say_asking(link, now_us)))
        return false;
    link->lease->is_asked = false;
    at = shoal__pipe_reserve(pipe, shoal__lease_queue_log_bytes(link->lease), count);
    if (!at)
        return false;
    for (taken = 0; taken < count && !is_held(link); taken++) {
        shoal__listed_request_t *waiting =
            shoal__lease_queue_take(link->links, link->lease);
        memcpy(at, waiting->bytes, waiting->request.bytes);
        at += waiting->request.bytes;
        push(link, &waiting->request, now_us);
        shoal__free(waiting);
    }
    shoal__stage_times_taken(&pipe->times, taken, now_us);
    shoal__conn_touch(&link->conn);
    return true;
}

/* ---- commands back ---- */

/* To the lease, as it was when the link took it. */
static void leave_link(shoal__link_t *link, shoal__request_t *request)
{
    if (SHOAL__REQUEST_LEASE(request))
        request->shape = take_note(link, request->ticket);
    request->flags |= SHOAL__REQUEST_RETRIED;
    link->lease->outstanding--;
    link->blocking -= may_block(request);
}

static int list(void *data, const shoal__request_t *request, const char *bytes)
{
    return shoal__request_list_add(data, request, bytes);
}

/* In front of what the lease has. */
static void put_in_front(shoal__link_t *link, shoal__request_list_t *taken)
{
    shoal__request_list_t *queue = &link->lease->queue;
    size_t count = taken->count;
    shoal__listed_request_t *listed;

    while ((listed = shoal__request_list_take_first(queue)) != NULL)
        shoal__request_list_put(taken, listed);
    while ((listed = shoal__request_list_take_first(taken)) != NULL) {
        if (count == 0) {
            shoal__request_list_put(queue, listed);
            continue;
        }
        count--;
        leave_link(link, &listed->request);
        shoal__lease_queue_add(link->links, link->lease, listed);
    }
}

bool shoal__link_give_back(shoal__link_t *link, uint64_t now_us)
{
    shoal__pipe_t *pipe = &link->conn.pipe;
    shoal__request_list_t taken;
    shoal__listed_request_t *listed;

    shoal__request_list_init(&taken);
    if (shoal__pipe_put_back(pipe, pipe->pen) == 0 &&
        shoal__pipe_take_out(pipe, list, &taken, now_us) == 0) {
        put_in_front(link, &taken);
        return true;
    }
    while ((listed = shoal__request_list_take_first(&taken)) != NULL)
        shoal__free(listed);
    return false;
}

static bool give_one_back(shoal__link_t *link, const shoal__request_t *request,
                          const char *bytes)
{
    shoal__request_list_t taken;

    shoal__request_list_init(&taken);
    if (list(&taken, request, bytes) < 0)
        return false;
    put_in_front(link, &taken);
    link->lease->is_leaving = true;
    return true;
}

/* ---- cleaning ---- */

static void on_cleaned(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__link_t *link = data;
    (void)client;

    shoal__link_touch(link);
    link->cleaning--;
    if (shoal__lease_outcome(result) != SHOAL__LEASE_OK)
        link->must_close = true;
    else if (link->cleaning == 0)
        link->bits = 0;
}

bool shoal__link_clean(shoal__link_t *link, uint64_t now_us)
{
    const shoal__errand_t errand = {.on_answer = on_cleaned, .data = link};
    shoal__lease_cleaning_t cleaning = shoal__lease_cleaning(link->bits);
    char database[16];
    const char *discard[] = {"DISCARD"}, *unwatch[] = {"UNWATCH"};
    const char *select[] = {"SELECT", database};
    const struct step {
        bool is_due;
        shoal_command_t command;
    } steps[] = {{cleaning.discard, {1, discard, NULL}},
                 {cleaning.unwatch, {1, unwatch, NULL}},
                 {cleaning.select, {2, select, NULL}}};

    /* One that dials has no state yet. */
    if (link->conn.state == SHOAL__CONN_DIALING ||
        link->conn.state == SHOAL__CONN_GREETING)
        return true;
    if (!cleaning.is_fit || link->conn.state != SHOAL__CONN_READY)
        return false;
    snprintf(database, sizeof database, "%d",
             link->conn.config->pipe.greeting.database);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!steps[i].is_due)
            continue;
        if (!shoal__errand_send(&link->conn, &steps[i].command, &errand, now_us))
            return false;
        link->cleaning++;
    }
    return true;
}

/* ---- commands that block ---- */

#define ASK_AGAIN_US 20000

/* 0: the server was not at the command yet, or has answered it. */
static bool is_missed(const shoal_result_t *result)
{
    return result->reply && result->reply->type == SHOAL_REPLY_INTEGER &&
           result->reply->as.integer == 0;
}

static void on_asked(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__link_t *link = data;
    shoal__link_asked_t *asked = &link->asked;
    (void)client;

    /* After a loss the question may reach the server yet. */
    if (result->tag != asked->serial || result->status != 0)
        return;
    asked->is_due = false;
    if (asked->ticket != 0 && is_missed(result))
        asked->again_us = link->site->pipe.now_us + ASK_AGAIN_US;
    shoal__link_touch(link);
}

/* On the shared connection, if it leads to the same process: ids are given out anew by
 * the next one. */
static bool ask(shoal__link_t *link, uint64_t now_us)
{
    shoal__conn_t *shared = link->site;
    const shoal__identity_t *here = &link->conn.pipe.greeting.identity;
    const shoal__identity_t *there = &shared->pipe.greeting.identity;
    char id[24];
    const char *argv[] = {"CLIENT", "UNBLOCK", id, "ERROR"};
    const shoal_command_t command = {4, argv, NULL};
    const shoal__errand_t errand = {
        .on_answer = on_asked, .data = link, .tag = link->asked.serial + 1};

    if (shared->state != SHOAL__CONN_READY || here->id <= 0 ||
        here->process[0] == '\0' || strcmp(here->process, there->process) != 0)
        return false;
    snprintf(id, sizeof id, "%" PRId64, here->id);
    return shoal__errand_send(shared, &command, &errand, now_us);
}

static bool on_blocked(void *owner, const shoal__request_t *request,
                       shoal__ending_t ending)
{
    shoal__link_t *link = owner;
    uint64_t now_us = link->conn.pipe.now_us;

    if (link->asked.ticket == request->ticket || !ask(link, now_us)) {
        link->must_close = true;
        link->why = "a blocked command was given up";
        return false;
    }
    link->asked = (shoal__link_asked_t){
        .ticket = request->ticket,
        .status = ending == SHOAL__ENDING_CANCEL ? SHOAL_ECANCELLED : SHOAL_ETIMEOUT,
        .serial = link->asked.serial + 1,
        .is_due = true,
        .until_us = now_us + SHOAL__PIPE_GRACE_US,
        .again_us = SHOAL__NEVER_US};
    return true;
}

void shoal__link_ask_again(shoal__link_t *link, uint64_t now_us)
{
    shoal__link_asked_t *asked = &link->asked;

    if (asked->ticket == 0 || now_us < asked->again_us)
        return;
    asked->again_us = SHOAL__NEVER_US;
    asked->is_due = ask(link, now_us);
    asked->serial += asked->is_due;
}

bool shoal__link_cancel(shoal__link_t *link, uint64_t ticket, uint64_t now_us)
{
    if (link->asked.ticket == ticket)
        return true; /* it is being let go */
    if (!shoal__pipe_cancel(&link->conn.pipe, ticket, now_us))
        return false;
    shoal__conn_touch(&link->conn);
    return true;
}

/* ---- what the connection tells ---- */

/* MONITOR has its result.  If nobody read the server's answer, lines may come.  An answer
 * that is not OK is the QUEUED of an open MULTI, whose EXEC will never be sent. */
static void monitor_answered(shoal__link_t *link, const shoal__request_t *request,
                             shoal__lease_outcome_t outcome, shoal_result_t *told)
{
    bool is_silent = outcome == SHOAL__LEASE_SILENT;

    if (outcome == SHOAL__LEASE_ANSWERED) {
        told->status = SHOAL_EREFUSED;
        told->fate = SHOAL_FATE_NOT_EXECUTED;
        told->reply = NULL;
        told->detail = "MONITOR is no part of a transaction";
    }
    if (outcome != SHOAL__LEASE_OK && !is_silent)
        return;
    link->conn.pipe.is_monitor = true;
    link->must_close |= is_silent;
    if (!is_silent)
        link->lease->monitor = *request;
}

static void on_push(void *owner, const shoal_reply_t *push)
{
    shoal__link_t *link = owner;
    shoal__links_t *links = link->links;
    const shoal_result_t line = {.fate = SHOAL_FATE_REPLIED,
                                 .reply = push,
                                 .detail = "",
                                 .is_settled =
                                     shoal__pipe_is_settled(&link->conn.pipe)};

    if (link->lease && link->lease->monitor.on_result && push->type != SHOAL_REPLY_PUSH)
        links->hooks.on_line(links->owner, &link->lease->monitor, &line);
}

void shoal__link_end_monitor(shoal__link_t *link, int status, const char *detail)
{
    shoal__links_t *links = link->links;
    const shoal_result_t end = {
        .status = status, .fate = SHOAL_FATE_REPLIED, .detail = detail};
    shoal__request_t monitor;

    if (!link->lease || !link->lease->monitor.on_result)
        return;
    monitor = link->lease->monitor;
    link->lease->monitor.on_result = NULL;
    links->hooks.on_line(links->owner, &monitor, &end);
}

/* The server has it, and no reply came. */
static bool is_given_up(const shoal_result_t *result)
{
    return (result->status == SHOAL_ETIMEOUT || result->status == SHOAL_ECANCELLED) &&
           shoal__lease_outcome(result) == SHOAL__LEASE_SILENT;
}

static void must_close(shoal__link_t *link, const char *why)
{
    if (!link->must_close)
        link->why = why;
    link->must_close = true;
}

static void on_result(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result)
{
    shoal__link_t *link = owner;
    shoal__links_t *links = link->links;
    shoal__lease_outcome_t outcome = shoal__lease_outcome(result);
    shoal__lease_effect_t effect = take_note(link, request->ticket);
    shoal_result_t told = *result;

    link->bits = shoal__lease_after(link->bits, effect, outcome);
    if (effect == SHOAL__LEASE_MONITOR)
        monitor_answered(link, request, outcome, &told);
    if (link->asked.ticket == request->ticket) {
        shoal__lease_unblocked(&told, link->asked.status,
                               (request->flags & SHOAL__REQUEST_MAYBE) != 0);
        link->asked.ticket = 0;
    }
    if (may_block(request)) {
        link->blocking--;
        if (is_given_up(result))
            must_close(link, "a command was given up that the server may block in");
    }
    if (link->lease) {
        link->lease->outstanding--;
        if (outcome == SHOAL__LEASE_NOT_SENT && (request->flags & SHOAL__REQUEST_STATE))
            shoal__lease_queue_break(link->lease);
    }
    shoal__link_touch(link);
    links->hooks.on_result(links->owner, request, &told);
}

static void on_event(void *owner, const shoal_event_t *event)
{
    shoal__link_t *link = owner;
    shoal__links_t *links = link->links;

    shoal__link_touch(link);
    if (event->kind == SHOAL_EVENT_LOST || event->kind == SHOAL_EVENT_ATTEMPT_FAILED) {
        /* The next one knows nothing of it. */
        link->bits = 0;
        link->asked.is_due = false;
        link->must_close |= !link->lease || link->conn.pipe.is_broken;
        shoal__link_end_monitor(link, event->status, event->detail);
    }
    links->hooks.on_event(links->owner, event);
}

/* A command that is being let go is not sent again, whatever its error proves. */
static shoal__pipe_verdict_t on_error(void *owner, shoal__pipe_t *pipe,
                                      const shoal__request_t *request,
                                      const char *bytes, shoal__bytes_t error)
{
    shoal__link_t *link = owner;
    const shoal__refused_t refused = shoal__pipe_refused(pipe);

    const shoal__lease_sites_t *sites = &link->links->sites;
    bool is_ours = link->lease && !link->lease->client && sites->on_refused;

    if (link->asked.ticket == request->ticket)
        return SHOAL__PIPE_SURFACE;
    if (!is_ours || !sites->on_refused(sites->route, link, request, error))
        return shoal__conn_send_again(&link->conn, &refused, error);
    shoal__link_touch(link);
    return give_one_back(link, request, bytes) ? SHOAL__PIPE_TAKEN
                                               : SHOAL__PIPE_SURFACE;
}

static void on_reading(void *owner, uint64_t now_us)
{
    const shoal__links_t *links = ((shoal__link_t *)owner)->links;

    links->hooks.on_reading(links->owner, now_us);
}

static void on_delivered(void *owner)
{
    const shoal__links_t *links = ((shoal__link_t *)owner)->links;

    links->hooks.on_delivered(links->owner);
}

const shoal__conn_hooks_t shoal__link_hooks = {.on_result = on_result,
                                               .on_event = on_event,
                                               .on_reading = on_reading,
                                               .on_delivered = on_delivered,
                                               .on_push = on_push,
                                               .on_error = on_error,
                                               .on_own = shoal__errand_on_own,
                                               .on_blocked = on_blocked};
