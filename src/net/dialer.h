/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_DIALER_H
#define SHOAL_NET_DIALER_H

/*
 * Reaches a server: looks the name of one endpoint after the other up, and tries one address
 * after the other, until a stream is connected or the time is over.  It begins with the
 * target's present endpoint.
 *
 * Each endpoint has its share of the time that is left, and each address its share of the
 * endpoint's, so that one that never answers does not hide the others.  All endpoints
 * together have SHOAL__ADDRESSES_MAX addresses at most, each endpoint one at least.
 * Guarantee: each _begin ends with one on_reached or one on_failed,
 * which may run inside of _begin, or with _stop.  In between the dialer has memory; at rest
 * it has none.
 *
 * Threads: the loop thread.
 */

#include "core/target.h"
#include "net/resolver.h"
#include "net/stream.h"
#include <stdint.h>

typedef struct shoal__dial_config {
    const shoal__stream_kind_t *stream; /* what carries the bytes */
    struct shoal__tls_context *tls;     /* borrowed; NULL: in the clear */
    bool is_unverified;                 /* with TLS, and whoever answers is believed */
    shoal__address_t source;            /* to connect from; bytes == 0: any */
    const char *source_name;            /* borrowed; NULL: any */
    uint64_t keepalive_us;              /* see net/stream.h */
    uint64_t connect_us;                /* to be connected, all endpoints together */
} shoal__dial_config_t;

/* The owner may stop the dialer, and begin again, inside of on_reached and on_failed. */
typedef struct shoal__dialer_hooks {
    /* Of the streams.  Their on_connected passes what it is told to _answered. */
    shoal__stream_hooks_t stream;
    /* The look-up or the present address has time until due_us; then call _timed_out. */
    void (*on_waiting)(void *owner, uint64_t due_us);
    /* The stream is connected, and the owner's.  `reached` dies with the call. */
    void (*on_reached)(void *owner, shoal__stream_t *stream,
                       const shoal__reached_t *reached);
    /* No address is left, or no memory or time.  `detail` says of each endpoint what tells
     * most: see core/dial_failure.h and core/dial_report.h.  It dies with the call. */
    void (*on_failed)(void *owner, int status, const char *detail);
} shoal__dialer_hooks_t;

typedef struct shoal__dialer_plan {
    const shoal__dial_config_t *config; /* borrowed */
    shoal__target_t *target;            /* borrowed; learns how many choices it has */
    uv_loop_t *loop;                    /* borrowed */
    const shoal__dialer_hooks_t *hooks; /* borrowed */
    void *owner;                        /* of the hooks, and of the streams */
} shoal__dialer_plan_t;

/* All zero: it does nothing. */
typedef struct shoal__dialer {
    struct shoal__attempt *attempt; /* NULL: none is under way */
} shoal__dialer_t;

/* Begin to reach the plan's target; no attempt is under way. */
void shoal__dialer_begin(shoal__dialer_t *dialer, const shoal__dialer_plan_t *plan,
                         uint64_t now_us);

/* Is an attempt under way to reach a server for which the target no longer stands, because
 * its finder has found another one? */
bool shoal__dialer_is_outdated(const shoal__dialer_t *dialer);

/* The stream is connected, or failed with this error: see net/stream.h. */
void shoal__dialer_answered(shoal__dialer_t *dialer, int error);

/* The time that on_waiting told is over. */
void shoal__dialer_timed_out(shoal__dialer_t *dialer);

/* No hook runs any more.  Does nothing if no attempt is under way. */
void shoal__dialer_stop(shoal__dialer_t *dialer);

/* In the child of a fork: drop the descriptors. */
void shoal__dialer_forget(shoal__dialer_t *dialer);

#endif
