/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_FAKE_CONN_H
#define SHOAL_TESTS_FAKE_CONN_H

/* One connection of the scripted server: reads commands, asks the script and the
 * store, and works off a list of acts.  Never blocks for long; not thread-safe. */

#include "fault_proxy/fake_tls.h"
#include "support/fake/fake_script.h"
#include "support/fake/fake_store.h"
#include <stdbool.h>
#include <stdint.h>

/* What the connections of one server share. */
typedef struct fake_world {
    fake_config_t config;
    fake_script_t script;
    fake_store_t *store;
    fake_tls_t *tls; /* NULL: without */
    unsigned broken; /* requests that the parser did not accept, of all connections */
    bool is_frozen;
} fake_world_t;

typedef enum fake_act_kind {
    FAKE_ACT_SEND,
    FAKE_ACT_WAIT,
    FAKE_ACT_HOLD,
    FAKE_ACT_FIN,
    FAKE_ACT_RESET
} fake_act_kind_t;

typedef struct fake_act {
    struct fake_act *next;
    fake_act_kind_t kind;
    uint64_t due_us;    /* for WAIT */
    fake_bytes_t bytes; /* for SEND */
    size_t sent;        /* with TLS: encrypted */
} fake_act_t;

typedef struct fake_conn {
    struct fake_conn *next;
    fake_world_t *world;
    int fd; /* -1: it is closed, and the server frees this connection */
    fake_tls_session_t *tls; /* NULL: without */
    bool is_reading;
    bool is_deaf; /* it executes no further command */
    bool is_over; /* end of stream was sent */
    fake_act_t *acts;
    fake_bytes_t in;
    fake_session_t session;
    fake_bytes_t multi; /* ledger indices, as size_t, of the commands since MULTI */
} fake_conn_t;

fake_conn_t *fake_conn_new(fake_world_t *world, int fd, unsigned number);
void fake_conn_free(fake_conn_t *conn);

/* Events to poll for; 0: none. */
short fake_conn_events(const fake_conn_t *conn, uint64_t now_us);
/* When the act that waits may go on; UINT64_MAX: no act waits for a time. */
uint64_t fake_conn_due_us(const fake_conn_t *conn);
/* Read if there is something to read, execute the commands, write what may leave. */
void fake_conn_work(fake_conn_t *conn, bool is_readable, uint64_t now_us);

void fake_conn_release(fake_conn_t *conn);
void fake_conn_cut(fake_conn_t *conn, fake_cut_t how);
void fake_conn_send(fake_conn_t *conn, const char *text);
bool fake_conn_holds(fake_conn_t *conn, const char *text);

#endif
