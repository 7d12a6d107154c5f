/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_MAILBOX_H
#define SHOAL_NET_MAILBOX_H

/*
 * Carries commands, cancels and wishes from many threads to the loop, under the driver
 * seat's lock.
 *
 * The mailbox has two sides: threads fill one side while the loop works through the
 * other, and then the sides swap, so that no memory is allocated in steady state.  A
 * thread wakes the loop only if the loop has announced that it goes to sleep, so a
 * batch costs one wake-up.  A loop that holds commands back announces when it wakes by
 * itself, and after how many commands a thread wakes it sooner.
 *
 * Guarantee: an urgent command, and one that would be overdue when the loop wakes by
 * itself, wakes the loop at once.
 */

#include "base/buffer.h"
#include "base/counter.h"
#include "core/request.h"
#include "core/secret.h"
#include "net/driver_seat.h"
#include <stdbool.h>

enum shoal__wish {
    SHOAL__WISH_RECONNECT = 1 << 0, /* new connections */
    SHOAL__WISH_TURN = 1 << 1       /* a turn: something was left for the route */
};

/* What threads left for one turn of the loop. */
typedef struct shoal__mailbox_side {
    shoal__request_t *requests;
    size_t count, capacity;
    size_t plain;    /* of the requests: of plain calls; see core/company.h */
    bool has_slots;  /* the client is one of a cluster */
    uint16_t *slots; /* of the requests, as resp/command_slot.h counts */
    size_t slots_capacity;
    shoal__buffer_t bytes; /* of the requests, in their order */
    size_t referred_bytes; /* of the requests, but in their callers' memory */
    uint64_t *cancels;     /* tickets */
    size_t cancels_count, cancels_capacity;
    unsigned char wishes;    /* bits of enum shoal__wish: what threads asked for */
    shoal__secret_t *secret; /* owned: credentials that take the place of the present
                                ones; NULL: none */
    bool has_apart;          /* some requests are LEASED or APART */
    shoal_lease_t *closed;   /* leases that their holders gave back; NULL: none */
} shoal__mailbox_side_t;

typedef struct shoal__mailbox {
    shoal__driver_seat_t *seat; /* borrowed: its lock guards the mailbox */
    shoal__mailbox_side_t side; /* that threads fill */
    uint64_t tickets;           /* given out */
    uint64_t wake_us;           /* while the loop sleeps: when it wakes by itself */
    uint64_t wake_after;        /* while it sleeps: so many pushes wake it sooner */
    shoal__counter_t queued_now, bytes_now; /* of `side`, for the loop to read */
} shoal__mailbox_t;

void shoal__mailbox_init(shoal__mailbox_t *mailbox, shoal__driver_seat_t *seat);
void shoal__mailbox_release(shoal__mailbox_t *mailbox);
void shoal__mailbox_side_release(shoal__mailbox_side_t *side);
/* Its commands were taken; most of its memory stays. */
void shoal__mailbox_side_clear(shoal__mailbox_side_t *side);

/* The encoded bytes of the requests, as they are sent. */
static inline size_t shoal__mailbox_side_bytes(const shoal__mailbox_side_t *side)
{
    return shoal__buffer_bytes(&side->bytes) + side->referred_bytes;
}

/* Is nothing there for the loop? */
static inline bool shoal__mailbox_is_empty_locked(const shoal__mailbox_t *mailbox)
{
    return mailbox->side.count == 0 && mailbox->side.cancels_count == 0 &&
           !mailbox->side.wishes && !mailbox->side.secret && !mailbox->side.closed;
}

/* Are there commands of plain calls, and nothing else? */
static inline bool shoal__mailbox_is_plain_locked(const shoal__mailbox_t *mailbox)
{
    return mailbox->side.plain == mailbox->side.count &&
           mailbox->side.cancels_count == 0 && !mailbox->side.wishes &&
           !mailbox->side.secret && !mailbox->side.closed;
}

/* The loop goes to sleep.  It wakes when `wake_after` commands were pushed (1 at
 * least), or anything else was left, or a command whose deadline is before wake_us; and
 * by itself in time for later deadlines. */
void shoal__mailbox_sleep_locked(shoal__mailbox_t *mailbox, uint64_t wake_us,
                                 uint64_t wake_after);

/* Room for the bytes of `count` commands; NULL: no memory, nothing changed.  A side of
 * the caller's own needs no lock. */
char *shoal__mailbox_side_reserve(shoal__mailbox_side_t *side, size_t bytes,
                                  size_t count);
static inline void shoal__mailbox_side_push(shoal__mailbox_side_t *side,
                                            const shoal__request_t *request)
{
    side->requests[side->count++] = *request;
    side->referred_bytes += shoal__request_referred_bytes(request);
    shoal__buffer_commit(&side->bytes, request->bytes);
    side->has_apart |=
        (request->flags & (SHOAL__REQUEST_LEASED | SHOAL__REQUEST_APART)) != 0;
}
/* The slot of the request that is pushed next; for a side that has slots. */
static inline void shoal__mailbox_side_note_slot(shoal__mailbox_side_t *side,
                                                 unsigned slot)
{
    side->slots[side->count] = (uint16_t)slot;
}
/* Their bytes were written there: push each of them, in order.  is_watched: the thread
 * stays awake, and sees to it that the loop finds the command. */
void shoal__mailbox_push_locked(shoal__mailbox_t *mailbox,
                                const shoal__request_t *request, bool is_watched);
/* 0 or SHOAL_ENOMEM. */
int shoal__mailbox_cancel_locked(shoal__mailbox_t *mailbox, uint64_t ticket);
/* Take a command back that the loop has not taken over: it is cancelled, and its
 * callback is not called.  The caller drops its extra, without the lock.  is_overdue:
 * its deadline passed, and it counts as a timeout.  False: it was taken over, or there
 * is no memory; nothing changed. */
bool shoal__mailbox_take_back_locked(shoal__mailbox_t *mailbox, uint64_t ticket,
                                     bool is_overdue, shoal__extra_t **ret_extra);

void shoal__mailbox_wish_locked(shoal__mailbox_t *mailbox, enum shoal__wish wish);
/* Leave credentials, which are the mailbox' now.  Returns earlier ones that nobody took, for
 * the caller to free without the lock; or NULL. */
shoal__secret_t *shoal__mailbox_authenticate_locked(shoal__mailbox_t *mailbox,
                                                    shoal__secret_t *secret);
/* The lease's holder gave it back.  No command for it comes behind. */
void shoal__mailbox_close_lease_locked(shoal__mailbox_t *mailbox, shoal_lease_t *lease);

/* The loop swaps the sides.  `taken` must be empty and becomes what threads have
 * left. */
void shoal__mailbox_swap_locked(shoal__mailbox_t *mailbox,
                                shoal__mailbox_side_t *taken);

#endif
