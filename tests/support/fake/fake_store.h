/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_FAKE_STORE_H
#define SHOAL_TESTS_FAKE_STORE_H

/* What the scripted server answers when no rule says otherwise: a tiny server of
 * strings, counters and lists, with databases, MULTI and authentication.  Not
 * thread-safe; knows nothing of sockets. */

#include "fault_proxy/fake_bytes.h"
#include "support/fake/fake_request.h"
#include <stdbool.h>
#include <stdint.h>

/* Which kind of server this is. */
typedef enum fake_kind {
    FAKE_MODERN, /* it speaks RESP3 after HELLO */
    FAKE_RESP2,  /* it does not know HELLO */
    FAKE_BARE /* it hangs up on commands that it does not know, HELLO and CLIENT too */
} fake_kind_t;

typedef struct fake_identity {
    fake_kind_t kind;
    const char *user;     /* NULL: "default" */
    const char *password; /* NULL: it asks for none */
    bool
        is_cluster; /* the only node of a cluster, at 127.0.0.1 and an announced port */
} fake_identity_t;

/* State of one connection. */
typedef struct fake_session {
    unsigned connection; /* its number, from 1 */
    int protocol;        /* 2 or 3 */
    int64_t database;
    bool is_known; /* authenticated */
    bool in_multi;
    bool is_multi_refused; /* a part of it was: EXEC will abort */
    fake_bytes_t queued;   /* commands since MULTI, as they came */
} fake_session_t;

typedef enum fake_verdict {
    FAKE_EXECUTED,
    FAKE_QUEUED,   /* the command waits for EXEC */
    FAKE_REJECTED, /* the answer is an error, and nothing was done */
    FAKE_HANG_UP
} fake_verdict_t;

typedef struct fake_store fake_store_t;

fake_store_t *fake_store_new(const fake_identity_t *identity);
void fake_store_free(fake_store_t *store);
void fake_store_set_password(fake_store_t *store, const char *password);
void fake_store_announce(fake_store_t *store, int port);

void fake_session_init(fake_session_t *session, const fake_store_t *store,
                       unsigned connection);
void fake_session_release(fake_session_t *session);

/* Execute one command and append the answer. */
fake_verdict_t fake_store_answer(fake_store_t *store, fake_session_t *session,
                                 const fake_request_t *request, const char *raw,
                                 size_t raw_bytes, fake_bytes_t *reply);

/* The command was answered with an error instead: as servers do it, the transaction under
 * way ends with EXECABORT, or, if this is its EXEC, with that error. */
void fake_store_refused(fake_session_t *session, const fake_request_t *request);

/* The value of a counter or the length of a list; 0 if there is none. */
int64_t fake_store_number(const fake_store_t *store, int64_t database, const char *key);

#endif
