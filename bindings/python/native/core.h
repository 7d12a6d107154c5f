/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_CORE_H
#define SHOAL_PYTHON_CORE_H

/*
 * A client as Python holds it: it keeps the connection's events until Python takes
 * them, waits until nothing is outstanding, and says when a close is complete.
 */

#include "events.h"

#include <pthread.h>
#include <shoal/shoal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/un.h>

/* Bytes of the longest path of a Unix socket. */
#define SHOALPY_UNIX_PATH_BYTES_MAX (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

/* Room for the words of a failure. */
#define SHOALPY_FAILURE_BYTES 256

typedef struct shoalpy_port shoalpy_port_t;

typedef struct shoalpy_core {
    shoal_client_t *client;
    shoalpy_port_t *port;     /* of a borrowed one: ends with it */
    bool is_borrowed;         /* the caller's thread drives it */
    _Atomic unsigned users;   /* threads in calls that submit */
    _Atomic bool is_refusing; /* no more commands; what is outstanding goes on */
    pthread_mutex_t lock;     /* of what follows */
    pthread_cond_t changed;   /* it is gone */
    bool is_gone;
    bool is_ready;   /* by the last event */
    int last_status; /* of the last loss or failed attempt; 0: none, or ready since */
    char last_failure[SHOALPY_FAILURE_BYTES]; /* the same in words; "": none */
    shoalpy_events_t events;
} shoalpy_core_t;

/* 0 or an error of shoal_client_open(). */
int shoalpy_core_open(shoal_options_t *options, bool is_borrowed,
                      shoalpy_core_t **ret_core, shoal_error_t *ret_error);
/* Only after it is gone, or in the child of a fork. */
void shoalpy_core_free(shoalpy_core_t *core);

/* A call that submits begins: 0 or SHOAL_ECLOSED.  If 0, shoalpy_core_leave() follows. */
int shoalpy_core_enter(shoalpy_core_t *core);
void shoalpy_core_leave(shoalpy_core_t *core);

/* A lease of the client's: 0 or an error of shoal_lease_open(). */
int shoalpy_core_lease(shoalpy_core_t *core, shoal_lease_t **ret_lease);

/* From now on commands are refused.  The close comes later: until then the caller may
 * wait for what is outstanding, and stop waiting at any time. */
void shoalpy_core_refuse(shoalpy_core_t *core);
/* Wait until nothing is outstanding, wait_us at most.  False: the time is over. */
bool shoalpy_core_wait_idle(shoalpy_core_t *core, uint64_t wait_us);
/* Begin to close.  A borrowed one is stepped until it is gone. */
int shoalpy_core_close(shoalpy_core_t *core, uint64_t drain_us);
/* Wait until it is gone, wait_us at most.  False: the time is over. */
bool shoalpy_core_wait_gone(shoalpy_core_t *core, uint64_t wait_us);
/* A borrowed one: one step.  True: it is gone. */
bool shoalpy_core_step(shoalpy_core_t *core, uint64_t wait_us);

/* Is the connection ready?  0, SHOAL_EAUTH, SHOAL_ETLS, or SHOAL_ETIMEOUT for not yet. */
int shoalpy_core_is_ready(shoalpy_core_t *core);
/* Block until the connection is ready, wait_us at most; not for a borrowed one. */
int shoalpy_core_wait_ready(shoalpy_core_t *core, uint64_t wait_us);
int shoalpy_core_stats(shoalpy_core_t *core, shoal_stats_t *ret_stats);
/* Those of one connection; SHOAL_ENOENT if there is none of that number. */
int shoalpy_core_connection_stats(shoalpy_core_t *core, uint64_t connection,
                                  shoal_stats_t *ret_stats);
/* What one connection is doing; SHOAL_ENOENT if there is none of that number. */
int shoalpy_core_connection(shoalpy_core_t *core, uint64_t connection,
                            shoal_connection_info_t *ret_info);
/* Which servers it knows. */
int shoalpy_core_topology(shoalpy_core_t *core,
                          shoal_topology_snapshot_t **ret_topology);
/* Connect anew, now. */
int shoalpy_core_reconnect(shoalpy_core_t *core);
/* Authenticate with these from now on. */
int shoalpy_core_set_credentials(shoalpy_core_t *core, const char *user,
                                 const char *password);
/* Read the files of TLS again, now. */
int shoalpy_core_reload_tls(shoalpy_core_t *core, shoal_error_t *ret_error);

/* As shoalpy_events_take(). */
size_t shoalpy_core_events(shoalpy_core_t *core, shoalpy_event_t *events,
                           size_t count_max, uint64_t *ret_lost);

/* Why there is no connection; "" if there is one, or nothing failed yet. */
void shoalpy_core_failure(shoalpy_core_t *core, char text[SHOALPY_FAILURE_BYTES]);

/* In the child of a fork: give up the parent's connection. */
void shoalpy_core_forget(shoalpy_core_t *core);

#endif
