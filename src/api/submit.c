/* SPDX-License-Identifier: MIT */

/* How commands get in: straight into the pipe on the loop thread, through the inbox
 * from any other. */

#include "api/client.h"
#include "base/alloc.h"
#include "base/time_us.h"
#include "core/refusal.h"
#include "net/clock.h"
#include "resp/encoder.h"
#include <shoal/errors.h>
#include <string.h>

#define COMMANDS_MAX 65536
#define CALL_FLAGS_ALL                                                                 \
    (SHOAL_CALL_IDEMPOTENT | SHOAL_CALL_ONCE | SHOAL_CALL_URGENT |                     \
     SHOAL_CALL_WAIT_FOR_ROOM | SHOAL_CALL_MAY_BLOCK | SHOAL_CALL_CONTIGUOUS |         \
     SHOAL_CALL_SINK_HERE)
/* Tickets of the loop thread, so that both kinds ascend by themselves. */
#define LOOP_TICKET (UINT64_C(1) << 63)

/* What was found out about a submission before anything is queued. */
typedef struct plan {
    const shoal__submission_t *submission;
    size_t bytes;                 /* of all commands, encoded */
    shoal__sink_ref_t *sink;      /* NULL: none */
    bool is_unit;                 /* MULTI ... EXEC */
    shoal__admission_t admission; /* of the only command */
    uint16_t flags;               /* of every request */
    uint64_t timeout_us;
} plan_t;

/* May all commands be sent?  Nothing is queued before the answer. */
static int admit(plan_t *plan)
{
    const shoal__submission_t *submission = plan->submission;

    for (size_t i = 0; !plan->is_unit && i < submission->count; i++) {
        shoal__admission_t admission =
            shoal__refusal_check(&submission->commands[i], submission->call.flags);
        if (admission.refused)
            return SHOAL_EREFUSED;
        plan->admission = admission;
    }
    if (submission->call.sink) {
        plan->sink = shoal__malloc(sizeof *plan->sink);
        if (!plan->sink)
            return SHOAL_ENOMEM;
        *plan->sink = (shoal__sink_ref_t){
            submission->call.sink, submission->call.sink_data, submission->count};
    }
    return 0;
}

static int make_plan(const shoal_client_t *client,
                     const shoal__submission_t *submission, plan_t *ret_plan)
{
    const shoal_call_t *call = &submission->call;
    plan_t plan = {.submission = submission};

    if (submission->count == 0 || submission->count > COMMANDS_MAX ||
        (call->flags & ~(uint32_t)CALL_FLAGS_ALL))
        return SHOAL_EINVAL;
    for (size_t i = 0; i < submission->count; i++) {
        size_t bytes = shoal__encoder_bytes(&submission->commands[i]);
        if (bytes == 0)
            return SHOAL_EINVAL;
        if (bytes > UINT32_MAX || bytes > client->options->bytes_max - plan.bytes)
            return SHOAL_ETOOBIG;
        plan.bytes += bytes;
    }
    if (submission->count > client->options->queued_max)
        return SHOAL_ETOOBIG;
    if ((call->flags & SHOAL_CALL_CONTIGUOUS) &&
        shoal__refusal_check_group(submission->commands, submission->count, call->flags,
                                   &plan.is_unit))
        return SHOAL_EREFUSED;
    if (call->flags & SHOAL_CALL_IDEMPOTENT)
        plan.flags |= SHOAL__REQUEST_IDEMPOTENT;
    if (call->flags & SHOAL_CALL_ONCE)
        plan.flags |= SHOAL__REQUEST_ONCE;
    if (call->flags & SHOAL_CALL_URGENT)
        plan.flags |= SHOAL__REQUEST_URGENT;
    if (plan.is_unit)
        plan.flags |= SHOAL__REQUEST_UNIT;
    plan.timeout_us = call->timeout_us ? call->timeout_us : client->options->timeout_us;
    *ret_plan = plan;
    return admit(ret_plan);
}

/* The request of command i, which was admitted. */
static void fill_request(const plan_t *plan, size_t i, uint64_t now_us,
                         shoal__request_t *ret_request)
{
    const shoal__submission_t *submission = plan->submission;
    bool is_only = submission->count == 1;
    shoal__admission_t admission = plan->admission;

    if (plan->is_unit)
        admission.shape =
            shoal__refusal_unit_shape(submission->commands, submission->count, i);
    else if (!is_only)
        admission =
            shoal__refusal_check(&submission->commands[i], submission->call.flags);
    *ret_request = (shoal__request_t){
        .on_result = submission->on_result,
        .data = submission->data,
        .tag = submission->first_tag + i,
        .submitted_us = now_us,
        .deadline_us = shoal__time_after(now_us, plan->timeout_us),
        .sink = plan->sink,
        .bytes = (uint32_t)(is_only ? plan->bytes
                                    : shoal__encoder_bytes(&submission->commands[i])),
        .flags = plan->flags,
        .command_class = admission.command_class,
        .shape = admission.shape & (SHOAL__SHAPE_LIMIT - 1u),
    };
    if (plan->is_unit && i == 0)
        ret_request->flags |= SHOAL__REQUEST_UNIT_FIRST;
    if (plan->is_unit && i + 1 == submission->count)
        ret_request->flags |= SHOAL__REQUEST_UNIT_LAST;
}

/* ---- on the loop thread ---- */

/* What is queued, and the bytes of all that is outstanding, the inbox included. */
static uint64_t queued_here(const shoal_client_t *client)
{
    return shoal__pipe_queued(&client->route.conn.pipe) +
           shoal__counter_get(&client->inbox.queued_now);
}

static uint64_t bytes_here(const shoal_client_t *client)
{
    const shoal__pipe_t *pipe = &client->route.conn.pipe;

    return shoal__buffer_bytes(&pipe->log) + pipe->retries.bytes +
           shoal__counter_get(&client->inbox.bytes_now);
}

/* Other threads look at the published figures: let them see it before the turn. */
static void publish_here(shoal_client_t *client, uint64_t commands, uint64_t bytes)
{
    shoal__pipe_stats_t *stats = &client->route.conn.pipe.stats;

    client->pushed += commands;
    client->fresh += commands;
    shoal__counter_add(&client->commands, commands);
    shoal__counter_add(&stats->queued_now, commands);
    shoal__counter_add(&stats->bytes_now, bytes);
}

static bool has_room_here(const shoal_client_t *client, const plan_t *plan)
{
    return queued_here(client) + plan->submission->count <=
               client->options->queued_max &&
           bytes_here(client) + plan->bytes <= client->options->bytes_max;
}

static int may_submit_here(const shoal_client_t *client, const plan_t *plan)
{
    if (client->is_closing ||
        atomic_load_explicit(&client->inbox.is_closed, memory_order_relaxed))
        return SHOAL_ECLOSED;
    if (has_room_here(client, plan))
        return 0;
    return plan->submission->call.flags & SHOAL_CALL_WAIT_FOR_ROOM ? SHOAL_ELOOP
                                                                   : SHOAL_EFULL;
}

static int submit_here(shoal_client_t *client, const plan_t *plan, uint64_t *ret_ticket)
{
    const shoal__submission_t *submission = plan->submission;
    shoal__pipe_t *pipe = shoal__standalone_pick(&client->route);
    uint64_t now_us =
        pipe->is_inside || client->depth ? pipe->now_us : shoal__clock_us();
    uint64_t ticket = client->tickets + 1;
    shoal__request_t request;
    char *at;

    int rc = may_submit_here(client, plan);
    at = rc == 0 ? shoal__pipe_reserve(pipe, plan->bytes, submission->count) : NULL;
    if (!at) {
        shoal__counter_add(&client->refused_here, 1);
        return rc < 0 ? rc : SHOAL_ENOMEM;
    }
    for (size_t i = 0; i < submission->count; i++) {
        fill_request(plan, i, now_us, &request);
        request.ticket = LOOP_TICKET | ++client->tickets;
        at = shoal__encoder_write(&submission->commands[i], at);
        shoal__pipe_push(pipe, &request);
    }
    publish_here(client, submission->count, plan->bytes);
    shoal__loop_poke(&client->loop, pipe->is_inside);
    if (ret_ticket)
        *ret_ticket = LOOP_TICKET | ticket;
    return 0;
}

/* One command without extras: what submit_here does, with each step done once. */
static int submit_one_here(shoal_client_t *client, const shoal_command_t *command,
                           shoal_result_cb on_result, void *data)
{
    shoal__pipe_t *pipe = shoal__standalone_pick(&client->route);
    size_t bytes_max = shoal__encoder_bytes_max(command);
    uint64_t now_us =
        pipe->is_inside || client->depth ? pipe->now_us : shoal__clock_us();
    const shoal_options_t *options = client->options;

    if (bytes_max == 0)
        return SHOAL_EINVAL;
    /* The estimate is good enough unless it comes close to a bound. */
    if (bytes_max + bytes_here(client) > options->bytes_max || bytes_max > UINT32_MAX)
        bytes_max = shoal__encoder_bytes(command);
    if (bytes_max > options->bytes_max || bytes_max > UINT32_MAX)
        return SHOAL_ETOOBIG;
    if (client->is_closing ||
        atomic_load_explicit(&client->inbox.is_closed, memory_order_relaxed))
        return SHOAL_ECLOSED;
    shoal__admission_t admission = shoal__refusal_check(command, 0);
    if (admission.refused)
        return SHOAL_EREFUSED;
    if (queued_here(client) >= options->queued_max ||
        bytes_here(client) + bytes_max > options->bytes_max)
        return SHOAL_EFULL;
    char *at = shoal__pipe_reserve(pipe, bytes_max, 1);
    if (!at)
        return SHOAL_ENOMEM;

    shoal__request_t *request = shoal__pipe_claim(pipe);
    *request = (shoal__request_t){
        .on_result = on_result,
        .data = data,
        .ticket = LOOP_TICKET | ++client->tickets,
        .submitted_us = now_us,
        .deadline_us = shoal__time_after(now_us, options->timeout_us),
        .bytes = (uint32_t)(shoal__encoder_write(command, at) - at),
        .command_class = admission.command_class,
        .shape = admission.shape & (SHOAL__SHAPE_LIMIT - 1u),
    };
    shoal__pipe_pushed(pipe, request);
    publish_here(client, 1, request->bytes);
    shoal__loop_poke(&client->loop, pipe->is_inside);
    return 0;
}

/* ---- on any other thread ---- */

static bool has_room_locked(const shoal_client_t *client, const plan_t *plan)
{
    const shoal__pipe_stats_t *stats = &client->route.conn.pipe.stats;
    uint64_t queued = shoal__counter_get(&stats->queued_now) + client->inbox.side.count;
    uint64_t bytes = shoal__counter_get(&stats->bytes_now) +
                     shoal__buffer_bytes(&client->inbox.side.bytes);

    return queued + plan->submission->count <= client->options->queued_max &&
           bytes + plan->bytes <= client->options->bytes_max;
}

static int push_locked(shoal_client_t *client, const plan_t *plan, uint64_t now_us)
{
    const shoal__submission_t *submission = plan->submission;
    shoal__request_t request;
    char *at =
        shoal__inbox_reserve_locked(&client->inbox, plan->bytes, submission->count);

    if (!at)
        return SHOAL_ENOMEM;
    for (size_t i = 0; i < submission->count; i++) {
        fill_request(plan, i, now_us, &request);
        request.ticket = ++client->inbox.tickets;
        at = shoal__encoder_write(&submission->commands[i], at);
        shoal__inbox_push_locked(&client->inbox, &request);
    }
    client->inbox.parking.entered += submission->is_blocking;
    return 0;
}

/* The caller is the loop thread for this command. */
static int submit_directly(shoal_client_t *client, const plan_t *plan,
                           uint64_t *ret_ticket)
{
    int rc = submit_here(client, plan, ret_ticket);

    *plan->submission->is_driving = rc == 0;
    if (rc < 0)
        shoal__driver_release(client);
    return rc;
}

static int submit_there(shoal_client_t *client, const plan_t *plan,
                        uint64_t *ret_ticket)
{
    shoal__inbox_t *inbox = &client->inbox;
    uint64_t now_us = shoal__clock_us(), ticket;
    uint64_t until_us = shoal__time_after(now_us, plan->timeout_us);
    int rc = 0;

    shoal__inbox_lock(inbox);
    while (!inbox->is_closed && !has_room_locked(client, plan)) {
        /* The loop may hold back what would make room. */
        if (!shoal__inbox_is_empty_locked(inbox))
            shoal__inbox_poke_locked(inbox);
        if (!(plan->submission->call.flags & SHOAL_CALL_WAIT_FOR_ROOM) ||
            !shoal__inbox_wait_locked(inbox, until_us)) {
            rc = SHOAL_EFULL;
            break;
        }
    }
    ticket = inbox->tickets + 1;
    if (rc == 0)
        rc = inbox->is_closed ? SHOAL_ECLOSED : push_locked(client, plan, now_us);
    if (rc == 0)
        shoal__counter_add(&inbox->commands, plan->submission->count);
    else
        shoal__counter_add(&inbox->refused, 1);
    shoal__inbox_unlock(inbox);
    /* A caller that waited may find the client gone from here on. */
    if (rc == 0 && ret_ticket)
        *ret_ticket = ticket;
    return rc;
}

/* Any thread, while the client is there for sure. */
static void count_refusal(shoal_client_t *client)
{
    atomic_fetch_add_explicit(&client->refused, 1, memory_order_relaxed);
}

int shoal__client_submit(shoal_client_t *client, const shoal__submission_t *submission,
                         uint64_t *ret_ticket)
{
    plan_t plan = {0};
    int rc;

    if (shoal__client_is_foreign(client))
        return SHOAL_EFORK;
    rc = make_plan(client, submission, &plan);
    if (rc < 0)
        count_refusal(client);
    else if (shoal__client_is_loop_thread(client))
        rc = submit_here(client, &plan, ret_ticket);
    else if (submission->is_driving && shoal__driver_take(client))
        rc = submit_directly(client, &plan, ret_ticket);
    else
        rc = submit_there(client, &plan, ret_ticket);
    if (rc < 0)
        shoal__free(plan.sink);
    return rc;
}

bool shoal__call_read(const shoal_call_t *call, shoal_call_t *ret_call)
{
    *ret_call = (shoal_call_t){0};
    if (!call)
        return true;
    /* A caller compiled with another version knows fewer fields, or more. */
    if (call->reserved ||
        (call->size != offsetof(shoal_call_t, sink) && call->size < sizeof *call))
        return false;
    memcpy(ret_call, call, call->size < sizeof *call ? call->size : sizeof *call);
    return true;
}

int shoal_client_submit(shoal_client_t *client, size_t argc, const char *const *argv,
                        const size_t *argvlen, shoal_result_cb on_result, void *data)
{
    const shoal_command_t command = {argc, argv, argvlen};
    int rc;

    if (!shoal__client_is_loop_thread(client) || shoal__client_is_foreign(client)) {
        const shoal__submission_t submission = {
            .commands = &command, .count = 1, .on_result = on_result, .data = data};
        return shoal__client_submit(client, &submission, NULL);
    }
    rc = submit_one_here(client, &command, on_result, data);
    if (rc < 0)
        count_refusal(client);
    return rc;
}

int shoal_client_submit_many(shoal_client_t *client, const shoal_command_t *commands,
                             size_t count, const shoal_call_t *call,
                             shoal_result_cb on_result, void *data,
                             uint64_t *ret_ticket)
{
    shoal__submission_t submission = {
        .commands = commands, .count = count, .on_result = on_result, .data = data};

    if (!commands || !shoal__call_read(call, &submission.call))
        return SHOAL_EINVAL;
    return shoal__client_submit(client, &submission, ret_ticket);
}

/* ---- cancelling ---- */

int shoal_client_cancel(shoal_client_t *client, uint64_t ticket)
{
    int rc;

    if (shoal__client_is_foreign(client))
        return SHOAL_EFORK;
    if (ticket == 0 || ticket == LOOP_TICKET)
        return SHOAL_ENOENT;
    if (shoal__client_is_loop_thread(client)) {
        uint64_t now_us = shoal__clock_us();
        shoal__loop_poke(&client->loop, false);
        if (shoal__standalone_cancel(&client->route, ticket, now_us))
            return 0;
        if (ticket & LOOP_TICKET)
            return SHOAL_ENOENT;
        /* Another thread's: it may still be in the inbox.  Go behind it. */
    }
    shoal__inbox_lock(&client->inbox);
    if (client->inbox.is_closed)
        rc = SHOAL_ECLOSED;
    else if (!(ticket & LOOP_TICKET) && ticket > client->inbox.tickets)
        rc = SHOAL_ENOENT;
    else if (client->inbox.side.cancels_count >
             client->options->queued_max + client->options->inflight_max)
        rc = SHOAL_EFULL; /* more than there can be commands */
    else
        rc = shoal__inbox_cancel_locked(&client->inbox, ticket);
    shoal__inbox_unlock(&client->inbox);
    return rc;
}

/* ---- the loop's end of the inbox ---- */

static void fail_taken(shoal_client_t *client, shoal__pipe_t *pipe)
{
    for (size_t i = 0; i < client->taken.count; i++) {
        shoal__request_t *request = &client->taken.requests[i];
        shoal__sink_ref_drop(request->sink);
        shoal__pipe_deliver(pipe, request, SHOAL_ENOMEM, SHOAL_FATE_NOT_EXECUTED, NULL,
                            0, "no memory to queue the command");
    }
}

static void push_taken(shoal_client_t *client, uint64_t now_us)
{
    shoal__inbox_side_t *taken = &client->taken;
    shoal__pipe_t *pipe = shoal__standalone_pick(&client->route);
    size_t bytes = shoal__buffer_bytes(&taken->bytes);
    char *at = shoal__pipe_reserve(pipe, bytes, taken->count);

    client->pushed += taken->count;
    if (!at) {
        fail_taken(client, pipe);
    } else {
        memcpy(at, shoal__buffer_data(&taken->bytes), bytes);
        for (size_t i = 0; i < taken->count; i++) {
            const shoal__request_t *request = &taken->requests[i];
            shoal__stage_times_count(&pipe->times, SHOAL_STAGE_QUEUED,
                                     shoal__time_since(request->submitted_us, now_us),
                                     1);
            shoal__pipe_push(pipe, request);
        }
        shoal__stage_times_taken(&pipe->times, taken->count, now_us);
    }
    taken->count = 0;
    shoal__buffer_clear(&taken->bytes);
    shoal__buffer_shrink(&taken->bytes, 1 << 20);
}

void shoal__client_note_fresh(shoal_client_t *client, uint64_t now_us)
{
    shoal__pipe_t *pipe = shoal__standalone_pick(&client->route);

    if (client->fresh == 0)
        return;
    shoal__stage_times_count(&pipe->times, SHOAL_STAGE_QUEUED, 0, client->fresh);
    shoal__stage_times_taken(&pipe->times, client->fresh, now_us);
    client->fresh = 0;
}

void shoal__client_take_over(shoal_client_t *client, uint64_t now_us)
{
    shoal__pipe_t *pipe = shoal__standalone_pick(&client->route);

    shoal__inbox_lock(&client->inbox);
    shoal__inbox_swap_locked(&client->inbox, &client->taken);
    /* Under the lock: a thread that looks for room counts each command once. */
    shoal__counter_add(&pipe->stats.queued_now, client->taken.count);
    shoal__counter_add(&pipe->stats.bytes_now,
                       shoal__buffer_bytes(&client->taken.bytes));
    shoal__inbox_unlock(&client->inbox);

    if (client->taken.count)
        push_taken(client, now_us);
    for (size_t i = 0; i < client->taken.cancels_count; i++)
        shoal__standalone_cancel(&client->route, client->taken.cancels[i], now_us);
    client->taken.cancels_count = 0;
}
