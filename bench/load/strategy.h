/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_STRATEGY_H
#define SHOAL_BENCH_LOAD_STRATEGY_H

/* One way of getting commands to the server: a mode and, for the modes of shoal, a
 * flush setting. */

#include <shoal/integrity.h>
#include <shoal/options.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum bench_mode {
    MODE_CALLBACK,  /* shoal: callers are callbacks on the client's own thread */
    MODE_SYNC,      /* shoal: callers are threads in blocking calls */
    MODE_BORROWED,  /* shoal: one thread submits and steps */
    MODE_QUEUE,     /* shoal: threads submit, and take results off completion queues */
    MODE_LEASE,     /* shoal: callers are threads with a lease each */
    MODE_BESIDE,    /* shoal: as MODE_CALLBACK at a rate, beside callers that pop */
    MODE_MIXED,     /* shoal: as MODE_SYNC, beside callbacks at a rate */
    MODE_EXPLICIT,  /* hiredis: pipelines of `depth` by hand */
    MODE_POOL,      /* hiredis: every caller is a thread with its own connection */
    MODE_COLLECTOR, /* hiredis: one thread gathers what callers have queued */
    MODE_MUTEX,     /* hiredis: a mutex queue before the asynchronous interface */
    MODE_REDISPP,   /* redis-plus-plus: threads share its pool of connections */
    MODE_RAW,     /* the limit: `depth` encoded commands, one write, replies skipped */
    MODE_PUBLISH, /* shoal: messages for receivers elsewhere */
    MODE_SUBSCRIBE, /* shoal: a callback for each message */
    MODE_MAILBOX,   /* shoal: a thread takes messages off a mailbox */
    MODE_LISTEN,    /* hiredis: its asynchronous interface has a callback for each */
} bench_mode_t;

/* Has the client a bulk lane? */
typedef enum strategy_lane {
    STRATEGY_LANE_DEFAULT, /* as the library does by itself */
    STRATEGY_LANE_ON,
    STRATEGY_LANE_OFF
} strategy_lane_t;

typedef struct strategy {
    bench_mode_t mode;
    uint64_t depth; /* commands per batch, for MODE_EXPLICIT and MODE_RAW */
    uint64_t homes; /* shoal: connections of a client; 0: one */
    uint64_t
        sleepers; /* MODE_SUBSCRIBE, MODE_MAILBOX: subscriptions beside, of which nobody
                          takes anything */
    shoal_flush_mode_t flush;
    uint64_t pause_us;  /* for SHOAL_FLUSH_FIXED */
    bool has_integrity; /* another than the library's default */
    shoal_integrity_t integrity;
    strategy_lane_t lane;
    bool is_plain;      /* without TLS, although the others have it */
    bool is_standalone; /* on one server, although the others have a cluster */
} strategy_t;

/* True for the modes that use the library. */
bool strategy_is_shoal(const strategy_t *strategy);

/* True for the modes that speak TLS. */
bool strategy_has_tls(const strategy_t *strategy);

/* True for the modes that publish, or receive what a process of the bench publishes. */
bool strategy_has_messages(const strategy_t *strategy);

/* ... and for those that receive. */
bool strategy_receives(const strategy_t *strategy);

/* False for a mode that this build of the bench is without. */
bool strategy_is_available(const strategy_t *strategy);

/* True for the modes that can take commands at a rate. */
bool strategy_has_open_loop(const strategy_t *strategy);

/* True for the modes whose callers can wait for elements. */
bool strategy_can_pop(const strategy_t *strategy);

/* True for the modes that --beside-rate has a meaning for. */
bool strategy_has_beside_rate(const strategy_t *strategy);

/* True for the modes beside whose load callers can have large values. */
bool strategy_can_be_beside_large(const strategy_t *strategy);

/* "callback", "callback:4", "explicit:100", "raw:128", "subscribe:1" ...  Returns -1 if it is none. */
int strategy_parse_mode(strategy_t *strategy, const char *text);

/* "auto", "off", "fixed:100"; "shapes", "detect", "strict"; "lane", "nolane"; "plain";
 * "standalone"; or one of each as in "off/strict/lane/plain".  Returns -1 if it is none. */
int strategy_parse_flush(strategy_t *strategy, const char *text);

/* A mode, a flush setting for `base`'s mode, or MODE+FLUSH.  What the text leaves open
 * is as in `base`.  Returns -1 with a line in ret_problem. */
int strategy_parse(strategy_t *strategy, const strategy_t *base, const char *text,
                   const char **ret_problem);

/* The mode with its depth, "raw:128", its connections, "callback:4", or its sleepers. */
void strategy_mode_name(const strategy_t *strategy, char *text, size_t text_bytes);

/* "fixed:100", "auto/strict"; "" for modes without a flush setting. */
void strategy_flush_name(const strategy_t *strategy, char *text, size_t text_bytes);

/* Both, as a row is headed: "callback auto". */
void strategy_name(const strategy_t *strategy, char *text, size_t text_bytes);

#endif
