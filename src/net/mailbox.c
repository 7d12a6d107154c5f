/* SPDX-License-Identifier: MIT */
#include "net/mailbox.h"

#include "base/alloc.h"
#include "base/time_us.h"
#include "core/lease.h"
#include <shoal/errors.h>

void shoal__mailbox_init(shoal__mailbox_t *mailbox, shoal__driver_seat_t *seat)
{
    *mailbox = (shoal__mailbox_t){.seat = seat};
    shoal__buffer_init(&mailbox->side.bytes);
}

#define SIDE_BYTES_KEPT 1048576

void shoal__mailbox_side_clear(shoal__mailbox_side_t *side)
{
    side->count = 0;
    side->plain = 0;
    side->referred_bytes = 0;
    side->has_apart = false;
    shoal__buffer_clear(&side->bytes);
    shoal__buffer_shrink(&side->bytes, SIDE_BYTES_KEPT);
}

void shoal__mailbox_side_release(shoal__mailbox_side_t *side)
{
    shoal__free(side->requests);
    shoal__free(side->slots);
    shoal__free(side->cancels);
    shoal__buffer_release(&side->bytes);
    shoal__secret_free(side->secret);
    *side = (shoal__mailbox_side_t){0};
}

void shoal__mailbox_release(shoal__mailbox_t *mailbox)
{
    shoal__mailbox_side_release(&mailbox->side);
}

/* Make room for `count` items; false: no memory. */
static bool grow(void **items, size_t *capacity, size_t count, size_t item_bytes)
{
    size_t grown = *capacity ? *capacity : 64;
    void *memory;

    if (count <= *capacity)
        return true;
    while (grown < count)
        grown *= 2;
    memory = shoal__realloc(*items, grown * item_bytes);
    if (!memory)
        return false;
    *items = memory;
    *capacity = grown;
    return true;
}

static bool reserve_slots(shoal__mailbox_side_t *side, size_t count)
{
    void *slots = side->slots;

    if (!grow(&slots, &side->slots_capacity, count, sizeof *side->slots))
        return false;
    side->slots = slots;
    return true;
}

char *shoal__mailbox_side_reserve(shoal__mailbox_side_t *side, size_t bytes,
                                  size_t count)
{
    void *requests = side->requests;

    if (!grow(&requests, &side->capacity, side->count + count, sizeof *side->requests))
        return NULL;
    side->requests = requests;
    if (side->has_slots && !reserve_slots(side, side->count + count))
        return NULL;
    return shoal__buffer_reserve(&side->bytes, bytes);
}

void shoal__mailbox_sleep_locked(shoal__mailbox_t *mailbox, uint64_t wake_us,
                                 uint64_t wake_after)
{
    mailbox->seat->is_asleep = true;
    mailbox->wake_us = wake_us;
    /* A loop that never wakes by itself holds nothing back. */
    mailbox->wake_after = wake_us == SHOAL__NEVER_US ? 1 : wake_after;
}

/* May this command wait until the loop wakes by itself? */
static bool may_wait_locked(shoal__mailbox_t *mailbox, const shoal__request_t *request)
{
    if (!mailbox->seat->is_asleep || mailbox->wake_after <= 1 ||
        (request->flags & SHOAL__REQUEST_URGENT) ||
        request->command_class == SHOAL__CLASS_BLOCK ||
        request->deadline_us < mailbox->wake_us)
        return false;
    mailbox->wake_after--;
    return true;
}

void shoal__mailbox_push_locked(shoal__mailbox_t *mailbox,
                                const shoal__request_t *request, bool is_watched)
{
    shoal__mailbox_side_t *side = &mailbox->side;

    shoal__mailbox_side_push(side, request);
    shoal__counter_set(&mailbox->queued_now, side->count);
    shoal__counter_set(&mailbox->bytes_now, shoal__mailbox_side_bytes(side));
    if (!is_watched && !may_wait_locked(mailbox, request))
        shoal__driver_seat_poke_locked(mailbox->seat);
}

int shoal__mailbox_cancel_locked(shoal__mailbox_t *mailbox, uint64_t ticket)
{
    shoal__mailbox_side_t *side = &mailbox->side;
    void *cancels = side->cancels;

    if (!grow(&cancels, &side->cancels_capacity, side->cancels_count + 1,
              sizeof *side->cancels))
        return SHOAL_ENOMEM;
    side->cancels = cancels;
    side->cancels[side->cancels_count++] = ticket;
    shoal__driver_seat_poke_locked(mailbox->seat);
    return 0;
}

void shoal__mailbox_wish_locked(shoal__mailbox_t *mailbox, enum shoal__wish wish)
{
    mailbox->side.wishes |= (unsigned char)wish;
    shoal__driver_seat_poke_locked(mailbox->seat);
}

shoal__secret_t *shoal__mailbox_authenticate_locked(shoal__mailbox_t *mailbox,
                                                    shoal__secret_t *secret)
{
    shoal__secret_t *former = mailbox->side.secret;

    mailbox->side.secret = secret;
    shoal__driver_seat_poke_locked(mailbox->seat);
    return former;
}

void shoal__mailbox_close_lease_locked(shoal__mailbox_t *mailbox, shoal_lease_t *lease)
{
    lease->next = mailbox->side.closed;
    mailbox->side.closed = lease;
    shoal__driver_seat_poke_locked(mailbox->seat);
}

bool shoal__mailbox_take_back_locked(shoal__mailbox_t *mailbox, uint64_t ticket,
                                     bool is_overdue, shoal__extra_t **ret_extra)
{
    shoal__mailbox_side_t *side = &mailbox->side;
    /* Tickets are consecutive. */
    uint64_t at = side->count ? ticket - side->requests[0].ticket : 0;
    shoal__extra_t *extra = NULL; /* what the request keeps: its lease */
    shoal__request_t *request;

    if (at >= side->count)
        return false;
    request = &side->requests[at];
    if (SHOAL__REQUEST_LEASE(request)) {
        extra = shoal__extra_new(1, 0);
        if (!extra)
            return false;
        extra->lease = request->extra->lease;
    }
    if (shoal__mailbox_cancel_locked(mailbox, ticket) < 0) {
        shoal__free(extra);
        return false;
    }
    request->on_result = NULL;
    request->data = NULL;
    side->referred_bytes -= shoal__request_referred_bytes(request);
    shoal__counter_set(&mailbox->bytes_now, shoal__mailbox_side_bytes(side));
    *ret_extra = request->extra;
    request->extra = extra;
    if (is_overdue)
        request->flags |= SHOAL__REQUEST_OVERDUE;
    return true;
}

void shoal__mailbox_swap_locked(shoal__mailbox_t *mailbox, shoal__mailbox_side_t *taken)
{
    shoal__mailbox_side_t filled = mailbox->side;

    mailbox->side = *taken;
    *taken = filled;
    shoal__counter_set(&mailbox->queued_now, 0);
    shoal__counter_set(&mailbox->bytes_now, 0);
}
