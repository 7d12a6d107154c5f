/* SPDX-License-Identifier: MIT */
#include "route/lease_queue.h"

#include "base/alloc.h"
#include <shoal/errors.h>

void shoal__lease_queue_add(shoal__conn_t *shared, shoal_lease_t *lease,
                            shoal__retry_t *waiting)
{
    shared->set->queued++;
    shared->set->bytes += shoal__request_wire_bytes(&waiting->request);
    shoal__retries_put(&lease->queue, waiting);
}

static void leave_account(shoal__conn_t *shared, const shoal__request_t *request)
{
    shared->set->queued--;
    shared->set->bytes -= shoal__request_wire_bytes(request);
}

size_t shoal__lease_queue_log_bytes(const shoal_lease_t *lease)
{
    const shoal__list_t *waiting = &lease->queue.waiting;
    size_t bytes = 0;

    for (const shoal__list_t *at = waiting->next; at != waiting; at = at->next)
        bytes += SHOAL__LIST_ENTRY(at, const shoal__retry_t, node)->request.bytes;
    return bytes;
}

shoal__retry_t *shoal__lease_queue_take(shoal__conn_t *shared, shoal_lease_t *lease)
{
    shoal__retry_t *waiting = shoal__retries_take_any(&lease->queue);

    if (waiting)
        leave_account(shared, &waiting->request);
    return waiting;
}

/* A command that was taken out gets its result. */
static void finish(shoal__conn_t *shared, shoal__retry_t *waiting, int status,
                   const char *detail)
{
    shoal__request_t request = waiting->request;

    shoal__free(waiting);
    leave_account(shared, &request);
    shoal__extra_drop(request.extra);
    shoal__pipe_deliver(&shared->pipe, &request, status, SHOAL_FATE_NOT_EXECUTED, NULL,
                        request.attempts, detail);
}

void shoal__lease_queue_fail(shoal__conn_t *shared, shoal_lease_t *lease, int status,
                             const char *detail)
{
    shoal__retry_t *waiting;

    for (size_t left = lease->queue.count;
         left > 0 && (waiting = shoal__retries_take_any(&lease->queue)) != NULL; left--)
        finish(shared, waiting, status, detail);
}

void shoal__lease_queue_expire(shoal__conn_t *shared, shoal_lease_t *lease,
                               uint64_t now_us, const char *detail)
{
    shoal__retry_t *waiting;

    while ((waiting = shoal__retries_take_expired(&lease->queue, now_us)) != NULL)
        finish(shared, waiting, SHOAL_ETIMEOUT, detail);
}

/* Another part of the unit with this extra. */
static shoal__retry_t *take_of_unit(shoal__retries_t *queue,
                                    const shoal__extra_t *extra)
{
    const shoal__list_t *at = queue->waiting.next;

    for (; at != &queue->waiting; at = at->next) {
        const shoal__request_t *request =
            &SHOAL__LIST_ENTRY(at, const shoal__retry_t, node)->request;
        if (request->extra == extra && (request->flags & SHOAL__REQUEST_UNIT))
            return shoal__retries_take_ticket(queue, request->ticket);
    }
    return NULL;
}

/* The whole unit is taken out before the first callback, which may submit another one: its
 * extra may have the address of this one. */
bool shoal__lease_queue_cancel(shoal__conn_t *shared, shoal_lease_t *lease,
                               uint64_t ticket)
{
    shoal__retry_t *waiting = shoal__retries_take_ticket(&lease->queue, ticket);
    bool is_unit = waiting && (waiting->request.flags & SHOAL__REQUEST_UNIT);
    const shoal__extra_t *extra = is_unit ? waiting->request.extra : NULL;
    shoal__list_t taken;

    if (!waiting)
        return false;
    shoal__list_init(&taken);
    for (; waiting; waiting = is_unit ? take_of_unit(&lease->queue, extra) : NULL)
        shoal__list_append(&taken, &waiting->node);
    while (!shoal__list_is_empty(&taken)) {
        waiting = SHOAL__LIST_ENTRY(taken.next, shoal__retry_t, node);
        shoal__list_remove(&waiting->node);
        bool is_overdue = (waiting->request.flags & SHOAL__REQUEST_OVERDUE) != 0;
        finish(shared, waiting, is_overdue ? SHOAL_ETIMEOUT : SHOAL_ECANCELLED,
               "cancelled");
    }
    return true;
}
