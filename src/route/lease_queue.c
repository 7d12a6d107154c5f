/* SPDX-License-Identifier: MIT */
#include "route/lease_queue.h"

#include "base/alloc.h"
#include <shoal/errors.h>

#define WAITING_AT(at) SHOAL__LIST_ENTRY(at, shoal__listed_request_t, node)

static void enter_account(shoal__links_t *links, const shoal__request_t *request)
{
    links->set->queued++;
    links->set->bytes += shoal__request_wire_bytes(request);
}

static void leave_account(shoal__links_t *links, const shoal__request_t *request)
{
    links->set->queued--;
    links->set->bytes -= shoal__request_wire_bytes(request);
}

void shoal__lease_queue_add(shoal__links_t *links, shoal_lease_t *lease,
                            shoal__listed_request_t *waiting)
{
    if (lease->end == SHOAL__LEASE_GAP)
        waiting->request.flags |= SHOAL__REQUEST_GONE;
    enter_account(links, &waiting->request);
    shoal__request_list_put(&lease->queue, waiting);
}

bool shoal__lease_queue_may_leave(const shoal_lease_t *lease)
{
    const shoal__list_t *first = lease->queue.waiting.next;

    if (lease->end == SHOAL__LEASE_LOST || lease->end == SHOAL__LEASE_SPENT)
        return false;
    return lease->queue.count > 0 &&
           !(SHOAL__LIST_ENTRY(first, const shoal__listed_request_t, node)
                 ->request.flags &
             SHOAL__REQUEST_GONE);
}

static void break_from(shoal_lease_t *lease, shoal__list_t *at)
{
    if (!lease->end)
        lease->end = SHOAL__LEASE_GAP;
    for (; at != &lease->queue.waiting; at = at->next)
        WAITING_AT(at)->request.flags |= SHOAL__REQUEST_GONE;
}

void shoal__lease_queue_break(shoal_lease_t *lease)
{
    break_from(lease, lease->queue.waiting.next);
}

void shoal__lease_queue_move(shoal__links_t *from, shoal__links_t *to,
                             const shoal_lease_t *lease)
{
    const shoal__list_t *waiting = &lease->queue.waiting;

    for (const shoal__list_t *at = waiting->next; at != waiting; at = at->next) {
        const shoal__request_t *request =
            &SHOAL__LIST_ENTRY(at, const shoal__listed_request_t, node)->request;
        leave_account(from, request);
        enter_account(to, request);
    }
}

size_t shoal__lease_queue_log_bytes(const shoal_lease_t *lease)
{
    const shoal__list_t *waiting = &lease->queue.waiting;
    size_t bytes = 0;

    for (const shoal__list_t *at = waiting->next; at != waiting; at = at->next)
        bytes +=
            SHOAL__LIST_ENTRY(at, const shoal__listed_request_t, node)->request.bytes;
    return bytes;
}

shoal__listed_request_t *shoal__lease_queue_take(shoal__links_t *links,
                                                 shoal_lease_t *lease)
{
    shoal__listed_request_t *waiting = shoal__request_list_take_first(&lease->queue);

    if (waiting)
        leave_account(links, &waiting->request);
    return waiting;
}

/* A command that was taken out gets its result. */
static void finish(shoal__links_t *links, shoal_lease_t *lease,
                   shoal__listed_request_t *waiting, int status, const char *detail)
{
    shoal__request_t request = waiting->request;

    shoal__free(waiting);
    leave_account(links, &request);
    if ((request.flags & SHOAL__REQUEST_STATE) && !lease->end)
        lease->end = SHOAL__LEASE_GAP; /* for those that callbacks add */
    shoal__extra_drop(request.extra);
    shoal__pipe_deliver(links->home, &request, status, SHOAL_FATE_NOT_EXECUTED, NULL,
                        request.attempts, detail);
}

static shoal__listed_request_t *take_behind(shoal_lease_t *lease)
{
    shoal__list_t *at = lease->queue.waiting.next;

    for (; at != &lease->queue.waiting; at = at->next)
        if (WAITING_AT(at)->request.flags & SHOAL__REQUEST_GONE)
            return shoal__request_list_take(&lease->queue, WAITING_AT(at));
    return NULL;
}

void shoal__lease_queue_fail_behind(shoal__links_t *links, shoal_lease_t *lease)
{
    shoal__listed_request_t *waiting;

    for (size_t left = lease->queue.count;
         left > 0 && (waiting = take_behind(lease)) != NULL; left--)
        finish(links, lease, waiting, SHOAL_ECONN, SHOAL__LEASE_GAP_TEXT);
}

void shoal__lease_queue_fail(shoal__links_t *links, shoal_lease_t *lease, int status,
                             const char *detail)
{
    shoal__listed_request_t *waiting;

    for (size_t left = lease->queue.count;
         left > 0 && (waiting = shoal__request_list_take_first(&lease->queue)) != NULL;
         left--)
        finish(links, lease, waiting, status, detail);
}

void shoal__lease_queue_expire(shoal__links_t *links, shoal_lease_t *lease,
                               uint64_t now_us, const char *detail)
{
    const shoal__list_t *end = &lease->queue.waiting;
    shoal__listed_request_t *waiting;

    if (now_us < lease->queue.earliest_us)
        return;
    for (shoal__list_t *at = lease->queue.waiting.next; at != end; at = at->next) {
        const shoal__request_t *request = &WAITING_AT(at)->request;
        if (request->deadline_us <= now_us && (request->flags & SHOAL__REQUEST_STATE))
            break_from(lease, at->next);
    }
    while ((waiting = shoal__request_list_take_expired(&lease->queue, now_us)) != NULL)
        finish(links, lease, waiting, SHOAL_ETIMEOUT, detail);
}

/* Another part of the unit with this extra. */
static shoal__listed_request_t *take_of_unit(shoal__request_list_t *queue,
                                             const shoal__extra_t *extra)
{
    shoal__list_t *at = queue->waiting.next;

    for (; at != &queue->waiting; at = at->next) {
        const shoal__request_t *request = &WAITING_AT(at)->request;
        if (request->extra == extra && (request->flags & SHOAL__REQUEST_UNIT))
            return shoal__request_list_take(queue, WAITING_AT(at));
    }
    return NULL;
}

static shoal__listed_request_t *find_ticket(shoal_lease_t *lease, uint64_t ticket)
{
    shoal__list_t *at = lease->queue.waiting.next;

    for (; at != &lease->queue.waiting; at = at->next)
        if (WAITING_AT(at)->request.ticket == ticket)
            return WAITING_AT(at);
    return NULL;
}

/* The whole unit is taken out before the first callback, which may submit another one: its
 * extra may have the address of this one. */
bool shoal__lease_queue_cancel(shoal__links_t *links, shoal_lease_t *lease,
                               uint64_t ticket)
{
    shoal__listed_request_t *waiting = find_ticket(lease, ticket);
    bool is_unit = waiting && (waiting->request.flags & SHOAL__REQUEST_UNIT);
    const shoal__extra_t *extra = is_unit ? waiting->request.extra : NULL;
    shoal__list_t taken;

    if (!waiting)
        return false;
    if (waiting->request.flags & SHOAL__REQUEST_STATE)
        break_from(lease, waiting->node.next);
    shoal__request_list_take(&lease->queue, waiting);
    shoal__list_init(&taken);
    for (; waiting; waiting = is_unit ? take_of_unit(&lease->queue, extra) : NULL)
        shoal__list_append(&taken, &waiting->node);
    while (!shoal__list_is_empty(&taken)) {
        waiting = SHOAL__LIST_ENTRY(taken.next, shoal__listed_request_t, node);
        shoal__list_remove(&waiting->node);
        bool is_overdue = (waiting->request.flags & SHOAL__REQUEST_OVERDUE) != 0;
        finish(links, lease, waiting, is_overdue ? SHOAL_ETIMEOUT : SHOAL_ECANCELLED,
               "cancelled");
    }
    return true;
}
