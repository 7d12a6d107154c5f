/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_FAKE_SERVER_H
#define SHOAL_TESTS_FAKE_SERVER_H

/* A server on a real socket and a thread of its own, that behaves badly on request.
 *
 * It answers as fake_store.h says unless a rule matches.  Its ledger holds every
 * command it took from the wire, in order.  Every function here may be called from any
 * thread, and what it does is done when it returns. */

#include "support/fake/fake_store.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fake_server fake_server_t;

typedef struct fake_config {
    fake_identity_t identity;
    bool is_unix;     /* a Unix socket instead of 127.0.0.1 */
    int buffer_bytes; /* SO_SNDBUF and SO_RCVBUF of each connection; 0: the system's */
    bool is_stubborn; /* reads nothing while an answer waits to be written */
    size_t chunk_bytes; /* most bytes of one write, each awaited; 0: no bound */
} fake_config_t;

/* Matches what happens when a connection is accepted, instead of a command. */
#define FAKE_ON_ACCEPT "@accept"

/* Matches, in rules and counts, the ECHO of 16 hexadecimal digits by which a client checks
 * whether it is in step.  "ECHO" does not. */
#define FAKE_FENCE "@fence"

/* What follows the answer. */
typedef enum fake_then {
    FAKE_STAY,
    FAKE_HOLD,         /* nothing more is written until fake_server_release() */
    FAKE_FIN,          /* end of stream; what the client still sends is ignored */
    FAKE_RESET,        /* RST */
    FAKE_STOP_READING, /* until fake_server_release() */
} fake_then_t;

/* Zero means: no condition, nothing special. */
typedef struct fake_rule {
    const char *command;  /* its name; NULL: any command */
    const char *argument; /* its first argument; NULL: any */
    unsigned connection;  /* only on this one, counted from 1 */
    unsigned skip;        /* let so many matches pass first */
    unsigned times;       /* act so often, then never again */

    const char *before; /* bytes to write before the answer */
    const char *reply;  /* instead of the usual answer; the command is not executed */
    const char *after;  /* bytes to write behind it */
    bool is_executed;   /* with `reply`: executed all the same */
    bool is_swallowed;  /* no answer at all; executed all the same */
    bool is_cut;        /* of all these bytes only the first cut_bytes are written,
                             before `then`; after FAKE_HOLD the rest follows */
    size_t cut_bytes;
    uint64_t delay_us; /* wait so long before writing */
    fake_then_t then;
} fake_rule_t;

#define FAKE_ARGS_KEPT 4
#define FAKE_ARG_BYTES_KEPT 64

/* One command in the ledger. */
typedef struct fake_entry {
    unsigned connection; /* from 1 */
    bool is_executed;
    size_t argc;
    char args[FAKE_ARGS_KEPT]
             [FAKE_ARG_BYTES_KEPT]; /* the first ones, cut, terminated */
} fake_entry_t;

/* How to end connections. */
typedef enum fake_cut { FAKE_CUT_FIN, FAKE_CUT_RESET } fake_cut_t;

/* Start; NULL: a modern server on TCP.  The texts of the config must outlive it. */
fake_server_t *fake_server_start(const fake_config_t *config);
/* Reset every connection and end the thread.  NULL is allowed. */
void fake_server_stop(fake_server_t *server);

int fake_server_port(const fake_server_t *server);         /* 0 on a Unix socket */
const char *fake_server_path(const fake_server_t *server); /* NULL on TCP */

/* Add a rule; the first that matches acts.  Its texts must outlive the server.
 * Returns its number for fake_server_hits(). */
size_t fake_server_rule(fake_server_t *server, const fake_rule_t *rule);
/* How often a rule acted. */
unsigned fake_server_hits(fake_server_t *server, size_t rule);
/* Rules act no more.  What they stopped stays stopped. */
void fake_server_forget_rules(fake_server_t *server);

/* Go on where a rule, or one of the next two, stopped. */
void fake_server_release(fake_server_t *server);
/* No connection, old or new, is read or written. */
void fake_server_freeze(fake_server_t *server);
/* Listen no more, or again at the same address: connecting is refused meanwhile. */
void fake_server_refuse(fake_server_t *server, bool is_refusing);
/* End every connection. */
void fake_server_cut(fake_server_t *server, fake_cut_t how);
/* Write text to every open connection, before everything that waits to be written. */
void fake_server_send(fake_server_t *server, const char *text);
/* Is everything done that was asked for by the last two? */
bool fake_server_is_done(fake_server_t *server);

/* Connections accepted so far, and those open now. */
unsigned fake_server_accepted(fake_server_t *server);
unsigned fake_server_open_now(fake_server_t *server);
/* Does this text stand in what the kernel holds for us and we did not read?  (A fence of the
 * client's own can be there at any time.) */
bool fake_server_holds(fake_server_t *server, const char *text);
/* Requests that no client of ours may send. */
unsigned fake_server_broken(fake_server_t *server);

/* How many commands of this name, with this first argument (NULL: any), were executed.
 * connection 0: on all of them. */
size_t fake_server_executed(fake_server_t *server, unsigned connection,
                            const char *command, const char *argument);
/* The same for commands that came, executed or not. */
size_t fake_server_received(fake_server_t *server, unsigned connection,
                            const char *command, const char *argument);
/* How many commands of the connection (0: all) are neither of a client's greeting nor its
 * fences. */
size_t fake_server_user_commands(fake_server_t *server, unsigned connection);
/* Entries of the ledger, and one of them, from 0. */
size_t fake_server_ledger_size(fake_server_t *server);
fake_entry_t fake_server_ledger_at(fake_server_t *server, size_t index);
/* A counter, or the length of a list, in a database. */
int64_t fake_server_number(fake_server_t *server, int64_t database, const char *key);

#endif
