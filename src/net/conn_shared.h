/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_CONN_SHARED_H
#define SHOAL_NET_CONN_SHARED_H

/*
 * What the connections of one loop share.
 *
 * The connections share the read buffer, the histograms and the random numbers, because
 * one thread uses the connections one after the other.
 */

#include "base/list.h"
#include "base/random.h"
#include "core/account.h"
#include "core/due_times.h"
#include "core/pipe/pipe_shared.h"
#include "core/places.h"
#include <uv.h>

/* Where the bytes of one read go. */
#define SHOAL__CONN_ROOM_BYTES 65536

typedef struct shoal__conn_set {
    uv_loop_t *loop; /* NULL: not open yet */
    char *room;      /* SHOAL__CONN_ROOM_BYTES of them */
    shoal__random_t random;
    shoal__pipe_shared_t shared;
    shoal__list_t touched;     /* connections that the next turn looks at */
    shoal__list_t turning;     /* those that the present turn has still to look at */
    shoal__due_times_t due;    /* when the others want to be looked at */
    unsigned dialing;          /* connections that are on their way to be ready ... */
    unsigned dialing_max;      /* ... and how many may be; 0: any number */
    shoal__places_t places;    /* ... how many may exist */
    shoal__account_t *account; /* borrowed: what is outstanding on all of them */
    uint64_t queued, inflight, bytes; /* what the account has still to be moved by; they
                                         may be below 0, and wrap */
} shoal__conn_set_t;

#endif
