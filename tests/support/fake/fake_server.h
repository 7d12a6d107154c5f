/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_FAKE_SERVER_H
#define SHOAL_TESTS_FAKE_SERVER_H

/* A server on a real socket and a thread of its own, that behaves badly on request.
 *
 * It answers as fake_store.h says unless a rule matches.  Its ledger holds every
 * command it took from the wire, in order.  Every function here may be called from any
 * thread, and what it does is done when it returns. */

#include "fault_proxy/fake_tls.h"
#include "support/fake/fake_store.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fake_server fake_server_t;

typedef struct fake_config {
    fake_identity_t identity;
    bool is_unix;     /* a Unix socket instead of 127.0.0.1 */
    int buffer_bytes; /* SO_SNDBUF and SO_RCVBUF of each connection; 0: the system's */
    bool is_stubborn; /* it reads nothing while an answer waits to be written */
    /* Most bytes of one write; the next one waits until the client has received them.
     * 0: no bound. */
    size_t chunk_bytes;
    const fake_tls_config_t *tls; /* NULL: it speaks no TLS */
    bool is_rude; /* with TLS: it ends connections without a word (close_notify) */
} fake_config_t;

/* As the command of a rule: the rule acts when a connection is accepted. */
#define FAKE_ON_ACCEPT "@accept"

/* As the command of a rule or a count: the ECHO of 16 hexadecimal digits by which a
 * client checks whether each reply belongs to its command.  The name "ECHO" does not
 * match it. */
#define FAKE_FENCE "@fence"

/* What follows the answer. */
typedef enum fake_then {
    FAKE_STAY,
    FAKE_HOLD,         /* nothing more is written before fake_server_release() */
    FAKE_FIN,          /* end of stream; what the client still sends is ignored */
    FAKE_RESET,        /* RST */
    FAKE_STOP_READING, /* nothing more is read before fake_server_release() */
} fake_then_t;

/* A field that is 0 or NULL sets no condition and changes nothing. */
typedef struct fake_rule {
    const char *command;  /* its name; NULL: any command */
    const char *argument; /* its first argument; NULL: any */
    unsigned connection;  /* the only one it acts on, counted from 1; 0: all of them */
    unsigned skip;        /* matches that pass before it acts */
    unsigned times;       /* how often it acts at most; 0: no bound */

    const char *before; /* bytes to write before the answer */
    const char *reply;  /* replaces the usual answer; the command is not executed */
    const char *after;  /* bytes to write behind it */
    bool is_executed;   /* with `reply`: executed all the same */
    bool is_swallowed;  /* executed, and not answered */
    /* Only the first cut_bytes of these bytes are written before `then`; the rest
     * follows, unless `then` ended the connection. */
    bool is_cut;
    size_t cut_bytes;
    uint64_t delay_us; /* how long it waits before it writes */
    fake_then_t then;
} fake_rule_t;

#define FAKE_ARGS_KEPT 5
#define FAKE_ARG_BYTES_KEPT 64

/* One command in the ledger. */
typedef struct fake_entry {
    unsigned connection; /* its number, from 1 */
    bool is_executed;
    size_t argc;
    /* The first arguments, cut to this room and NUL-terminated. */
    char args[FAKE_ARGS_KEPT][FAKE_ARG_BYTES_KEPT];
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
/* The rule that a command, and all behind it, gets no answer before
 * fake_server_release(). */
void fake_server_hold(fake_server_t *server, const char *command);
/* How often a rule acted. */
unsigned fake_server_hits(fake_server_t *server, size_t rule);
/* Rules that are added from now on wait until the earlier ones are forgotten, and act in the
 * same moment: no command comes between. */
void fake_server_prepare_rules(fake_server_t *server);
/* Rules act no more, but those that wait begin to.  What they stopped stays stopped. */
void fake_server_forget_rules(fake_server_t *server);

/* End each hold, each stop of reading, and a freeze. */
void fake_server_release(fake_server_t *server);
/* Until fake_server_release(), no connection, old or new, is read or written. */
void fake_server_freeze(fake_server_t *server);
/* Stop listening, so that new connections are refused; or listen again at the same
 * address. */
void fake_server_refuse(fake_server_t *server, bool is_refusing);
/* End every connection; or one, by its number from 1 (0: every one). */
void fake_server_cut(fake_server_t *server, fake_cut_t how);
void fake_server_cut_one(fake_server_t *server, unsigned connection, fake_cut_t how);
/* Write text to every open connection, before everything that waits to be written. */
void fake_server_send(fake_server_t *server, const char *text);
/* True if no act waits: all that was sent is written, and what was cut is closed. */
bool fake_server_is_done(fake_server_t *server);

/* Connections accepted so far, and those open now. */
unsigned fake_server_accepted(fake_server_t *server);
unsigned fake_server_open_now(fake_server_t *server);
/* True if this text is among the bytes that came and that the server has not read.  A
 * fence of the client can be among them at any time. */
bool fake_server_holds(fake_server_t *server, const char *text);
/* How many of the open connections resumed a session of TLS. */
unsigned fake_server_resumed(fake_server_t *server);
/* New keys for every open connection: a key update of TLS 1.3, or a new handshake of TLS
 * 1.2. */
void fake_server_rekey(fake_server_t *server);
/* Connections that are accepted later get these files. */
void fake_server_set_tls(fake_server_t *server, const fake_tls_config_t *config);

/* From now on it wants this password. */
void fake_server_set_password(fake_server_t *server, const char *password);

/* As the node of a cluster it names this port from now on; at first its own. */
void fake_server_announce(fake_server_t *server, int port);

/* How many requests came that the strict parser of fake_request.h does not accept. */
unsigned fake_server_broken(fake_server_t *server);

/* How many commands of this name, with this first argument (NULL: any), were executed.
 * connection 0: on all of them. */
size_t fake_server_executed(fake_server_t *server, unsigned connection,
                            const char *command, const char *argument);
/* The same count of the commands that came, whether they were executed or not. */
size_t fake_server_received(fake_server_t *server, unsigned connection,
                            const char *command, const char *argument);
/* How many commands came on the connection (0: on all), without those of the greeting,
 * fences and questions for the cluster. */
size_t fake_server_user_commands(fake_server_t *server, unsigned connection);
/* Entries of the ledger, and one of them, from 0. */
size_t fake_server_ledger_size(fake_server_t *server);
fake_entry_t fake_server_ledger_at(fake_server_t *server, size_t index);
/* A counter, or the length of a list, in a database. */
int64_t fake_server_number(fake_server_t *server, int64_t database, const char *key);

#endif
