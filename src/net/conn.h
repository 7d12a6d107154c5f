/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_CONN_H
#define SHOAL_NET_CONN_H

/*
 * Drives one pipe over one stream after another: dials, greets, carries bytes, backs
 * off, dials again.  core/conn_fsm.c says what comes next, core/pipe.c what is said.
 */

#include "core/backoff.h"
#include "core/conn_fsm.h"
#include "core/hello_doubt.h"
#include "core/pipe.h"
#include "net/resolver.h"
#include "net/stream.h"
#include <shoal/events.h>
#include <stdbool.h>

typedef struct shoal__conn_config {
    const char *host; /* NULL: unix_path counts */
    int port;
    const char *unix_path;
    uint64_t connect_us;
    uint64_t handshake_us;
    uint64_t backoff_base_us;
    uint64_t backoff_us_max;
    shoal__pipe_config_t pipe;
} shoal__conn_config_t;

typedef struct shoal__conn_hooks {
    /* Something happened to the connection.  `detail` dies with the call. */
    void (*on_event)(void *owner, shoal_event_kind_t kind, int status,
                     const char *detail, uint64_t delay_us);
    /* A batch of replies was read and delivered. */
    void (*on_delivered)(void *owner);
} shoal__conn_hooks_t;

typedef struct shoal__conn_stats {
    shoal__counter_t writes, reads, bytes_out, bytes_in, connects, losses, desyncs;
} shoal__conn_stats_t;

typedef struct shoal__conn {
    const shoal__conn_config_t *config; /* borrowed */
    shoal__conn_hooks_t hooks;
    void *owner;
    uv_loop_t *loop;
    shoal__conn_state_t state;
    shoal__pipe_t pipe;
    shoal__stream_t *stream; /* NULL: none */
    shoal__lookup_t *lookup; /* NULL: none */
    shoal__addresses_t addresses;
    unsigned next_address;      /* which of them to try next */
    uint64_t due_us;            /* of the present state: give up, or dial again */
    uint64_t epoch;             /* connections dialed so far */
    uint64_t dialed_us;         /* when the last of them was begun */
    uint64_t dial_end_us;       /* when all its addresses must have been tried */
    bool is_blocked;            /* the socket takes no more for now */
    shoal__hello_doubt_t doubt; /* does the server hang up on HELLO? */
    shoal__backoff_t backoff;
    shoal__random_t random;
    char detail[256]; /* of the last failure */
    char *room;       /* read buffer, kept */
    shoal__conn_stats_t stats;
} shoal__conn_t;

/* 0 or SHOAL_ENOMEM; on failure nothing needs to be released. */
int shoal__conn_init(shoal__conn_t *conn, const shoal__conn_config_t *config,
                     shoal_client_t *client, uint64_t seed,
                     const shoal__conn_hooks_t *hooks, void *owner);
void shoal__conn_release(shoal__conn_t *conn);

/* Begin.  From now on turn must be called once per loop iteration. */
void shoal__conn_open(shoal__conn_t *conn, uv_loop_t *loop);

/* What is due: time-outs, retries, writing.  Returns when to be called again. */
uint64_t shoal__conn_turn(shoal__conn_t *conn, uint64_t now_us);

/* Take in everything that has arrived.  For an owner that did not poll for a while and is
 * about to write: what nobody asked for must not meet the command to come. */
void shoal__conn_read_ahead(shoal__conn_t *conn);

/* Settle what is outstanding, and be closed. */
void shoal__conn_close(shoal__conn_t *conn, uint64_t now_us);

/* In the child of a fork: drop the descriptors. */
void shoal__conn_forget(shoal__conn_t *conn);

#endif
