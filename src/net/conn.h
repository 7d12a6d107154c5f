/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_CONN_H
#define SHOAL_NET_CONN_H

/*
 * A connection drives one pipe over one line after another: it dials, greets, carries
 * bytes, backs off, and dials again.  core/conn_fsm.c decides the next state,
 * net/dialer.c finds an address that answers, and core/pipe/pipe.c decides which bytes to
 * send.
 *
 * While it is renewed, the connection has a second line, its *successor*
 * (net/conn_successor.c); net/conn_credentials.c does what new credentials ask for.
 */

#include "core/backoff.h"
#include "core/conn_fsm.h"
#include "core/event.h"
#include "core/greeting/hello_doubt.h"
#include "core/pipe/pipe.h"
#include "core/target.h"
#include "net/conn_shared.h"
#include "net/dialer.h"
#include "net/line.h"
#include "net/stream.h"
#include <stdbool.h>

/* How a connection behaves, whatever server it leads to. */
typedef struct shoal__conn_config {
    shoal__dial_config_t dial; /* how it reaches the server */
    uint64_t handshake_us;     /* for the greeting */
    uint64_t backoff_base_us;  /* between attempts, at first ... */
    uint64_t backoff_us_max;   /* ... and at most */
    size_t turn_bytes_max;     /* read in one turn, and written; SIZE_MAX: no bound */
    bool is_in_place;          /* new credentials are said over the present line */
    shoal__pipe_config_t pipe;
} shoal__conn_config_t;

typedef struct shoal__conn_hooks {
    /* A command got its result.  Both die with the call. */
    void (*on_result)(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result);
    /* Something happened to the connection.  The event dies with the call. */
    void (*on_event)(void *owner, const shoal_event_t *event);
    /* Bytes were read at now_us; the results in them follow, then on_delivered. */
    void (*on_reading)(void *owner, uint64_t now_us);
    /* The results of one read, or of a loss, were delivered. */
    void (*on_delivered)(void *owner);
    /* As in shoal__pipe_hooks_t; NULL is allowed. */
    void (*on_own)(void *owner, const shoal__request_t *request,
                   const shoal_result_t *result);
    bool (*on_blocked)(void *owner, const shoal__request_t *request,
                       shoal__ending_t ending);
    void (*on_push)(void *owner, const shoal_reply_t *push);
    void (*on_message)(void *owner, const shoal__push_t *push);
    bool (*is_answered)(void *owner);
    /* A successor's pipe is READY.  True: the owner prepares it, by errands over
     * conn->greeter, and calls shoal__successor_take() then.  NULL: false. */
    bool (*on_successor)(void *owner, uint64_t now_us);
    /* It is gone, and did not take over.  May be NULL if on_successor is. */
    void (*on_successor_gone)(void *owner);
    /* As on_message and is_answered, over the successor. */
    void (*on_successor_message)(void *owner, const shoal__push_t *push);
    bool (*is_successor_answered)(void *owner);
    /* NULL: the pipe's standard answer. */
    shoal__pipe_verdict_t (*on_error)(void *owner, shoal__pipe_t *pipe,
                                      const shoal__request_t *request,
                                      const char *bytes, shoal__bytes_t error);
} shoal__conn_hooks_t;

typedef struct shoal__conn_stats {
    shoal__traffic_t traffic;
    shoal__counter_t connects, losses, attempts_failed, desyncs;
    shoal__counter_t redirects_refused;
    shoal__counter_t tls_full, tls_resumed; /* handshakes */
    shoal__counter_t epoch;                 /* connections dialed so far */
    shoal__counter_t state;                 /* the state, for other threads */
    shoal__counter_t protocol, server_id;   /* of the last greeting; 0: none yet */
} shoal__conn_stats_t;

typedef struct shoal__conn {
    const shoal__conn_config_t *config; /* borrowed */
    shoal__target_t *target;            /* borrowed */
    uint64_t id;                        /* in its client, from 1 */
    const shoal__conn_hooks_t *hooks;   /* borrowed */
    void *owner;
    shoal__conn_set_t *set; /* borrowed: whose member it is */
    shoal__list_t touched;  /* in set->touched */
    shoal__due_t due;       /* in set->due */
    shoal__conn_state_t state;
    shoal__pipe_t pipe;
    shoal__line_plan_t line_plan;
    shoal__line_t lines[2];
    shoal__line_t *line; /* the one that carries the pipe */
    _Atomic(const char *)
        server;              /* the name of the endpoint that it dials first, or has
                                reached; any thread reads it */
    unsigned endpoint;       /* that a line reached last; `doubt` is about it */
    shoal__pipe_t *greeter;  /* of the other one, the successor; NULL: there is none */
    uint64_t greeter_due_us; /* the successor is given up then */
    const char *renewed_why; /* the next READY tells it; NULL: it is no renewal */
    bool comes_first;        /* core/places.h */
    bool is_in_place;        /* GREETING: the line stays, and AUTH is said over it */
    uint64_t due_us;         /* of the present state: give up, or dial again */
    uint64_t dialed_us;      /* when the last attempt to connect began */
    shoal__hello_doubt_t doubt; /* does the server hang up on HELLO? */
    shoal__backoff_t backoff;
    shoal__conn_stats_t stats;
} shoal__conn_t;

/* What a connection is given at its beginning. */
typedef struct shoal__conn_plan {
    const shoal__conn_config_t *config; /* borrowed */
    shoal__target_t *target;            /* borrowed */
    shoal__conn_set_t *set;             /* borrowed: it becomes a member */
    uint64_t id;                        /* in its client, from 1 */
    const shoal__conn_hooks_t *hooks;   /* borrowed */
    void *owner;                        /* of the hooks */
} shoal__conn_plan_t;

/* 0 or SHOAL_ENOMEM; on failure nothing needs to be released. */
int shoal__conn_init(shoal__conn_t *conn, const shoal__conn_plan_t *plan);
/* Not from a hook, and not during a turn of the set. */
void shoal__conn_release(shoal__conn_t *conn);

/* Begin, or begin anew after a close.  From now on the set's turn must be called once per loop iteration. */
void shoal__conn_open(shoal__conn_t *conn);

/* It was closed, or was never open: from now on it leads to another target. */
void shoal__conn_lead(shoal__conn_t *conn, shoal__target_t *target);

/* Does it come first, where places are few (core/places.h)? */
void shoal__conn_rank(shoal__conn_t *conn, bool comes_first);

/* May it be opened, or dialed again?  There must be a place for it; and those for which no command
 * waits leave some dials to the others. */
bool shoal__conn_may_dial(const shoal__conn_t *conn);

/* Something happened to it, or was left for it: the next turn of the set looks at
 * it. */
static inline void shoal__conn_touch(shoal__conn_t *conn)
{
    if (shoal__list_is_empty(&conn->touched))
        shoal__list_append(&conn->set->touched, &conn->touched);
}

/* For the set.  What is due: time-outs, retries, writing.  Returns when to be called
 * again, if nothing touches it. */
uint64_t shoal__conn_turn(shoal__conn_t *conn, uint64_t now_us);

/* Take in everything that has arrived.  For an owner that did not poll for a while and
 * is about to write: an unasked reply must not meet the command that follows. */
void shoal__conn_read_ahead(shoal__conn_t *conn);

/* An error that answers a command: as shoal__pipe_send_again(), and if the server names
 * another one, the next connection goes there. */
shoal__pipe_verdict_t shoal__conn_send_again(shoal__conn_t *conn,
                                             const shoal__refused_t *refused,
                                             shoal__bytes_t error);

/* Replace the connection by a successor, or end the wait before the next attempt, as
 * shoal_client_reconnect() says.  `why`, a static text: the detail of the event. */
void shoal__conn_reconnect(shoal__conn_t *conn, const char *why, uint64_t now_us);
#define SHOAL__CONN_ASKED_FOR "renewed, because the program asked for it"

/* The target has changed: from now on only what is dialed after this call is of use.  A
 * connection that is ready works until its successor is greeted; an attempt that is under
 * way, also that of a successor, is ended, and another one is made.  The owner calls this
 * right after it changed the target, before anything else happens on the loop. */
void shoal__conn_renew(shoal__conn_t *conn, const char *why, uint64_t now_us);

/* The credentials have changed.  As _renew, but an attempt that has not reached the server goes
 * on, because whoever greets reads the credentials.  If the configuration says so, a
 * connection that is ready stays, and says AUTH when everything was answered; if the server
 * refuses, it goes on as it was.  SHOAL_EVENT_CREDENTIALS tells the outcome. */
void shoal__conn_authenticate(shoal__conn_t *conn, uint64_t now_us);

/* Is it being renewed?  The loop must poll then. */
static inline bool shoal__conn_is_renewed(const shoal__conn_t *conn)
{
    return shoal__renewal_is_under_way(&conn->pipe.renewal);
}

/* Does it lead, or is it on its way, to a server that its target's finder no longer
 * names? */
bool shoal__conn_is_elsewhere(const shoal__conn_t *conn);

/* The finder has said which server the target stands for; is_news: another one than before.
 * core/sentinel/follow_rule.h decides whether the connection is renewed. */
void shoal__conn_follow(shoal__conn_t *conn, bool is_news, uint64_t now_us);

/* It is of no use any more: it is lost, and dialed again.  Any failure of the transport, or of
 * what was said over it, is such a reason. */
void shoal__conn_lose(shoal__conn_t *conn, int status, const char *detail);
/* The same of one that is ready and works: the server is not the one that is wanted, and its
 * target looks for another. */
void shoal__conn_mistrust(shoal__conn_t *conn, const char *detail);

/* Close it.  What is outstanding fails as if it were lost; but nothing was lost, so no
 * event tells of it. */
void shoal__conn_give_up(shoal__conn_t *conn, const char *why, uint64_t now_us);

/* Settle what is outstanding, and be closed. */
void shoal__conn_close(shoal__conn_t *conn, uint64_t now_us);

/* In the child of a fork: drop the descriptors. */
void shoal__conn_forget(shoal__conn_t *conn);

/* ---- between net/conn.c, net/conn_successor.c and net/conn_credentials.c ---- */

/* The line stays, and says AUTH with the present credentials; and AUTH was answered: the
 * connection goes on, also if the server refused. */
void shoal__conn_say_auth(shoal__conn_t *conn, uint64_t now_us);
void shoal__conn_resume_in_place(shoal__conn_t *conn);

/* The server has greeted: commands may flow. */
void shoal__conn_greeted(shoal__conn_t *conn, uint64_t now_us);

/* The successor of a connection that is READY: what is due.  True: it is time to leave the
 * present line, for the successor, which is greeted; a lease's has none. */
bool shoal__successor_turn(shoal__conn_t *conn, uint64_t now_us);

/* The other line: a successor's, if there is a greeter. */
static inline shoal__line_t *shoal__successor_line(shoal__conn_t *conn)
{
    return &conn->lines[conn->line == conn->lines];
}

/* What the successor's line tells. */
void shoal__successor_reached(shoal__conn_t *conn, uint64_t now_us);
void shoal__successor_fed(shoal__conn_t *conn, int rc, bool was_greeting,
                          uint64_t now_us);
void shoal__successor_lost(shoal__conn_t *conn, int status, const char *detail,
                           uint64_t now_us);

/* The owner has prepared the successor: it may take over. */
void shoal__successor_take(shoal__conn_t *conn, uint64_t now_us);

/* There is no successor any more.  Does nothing without one. */
void shoal__successor_drop(shoal__conn_t *conn);

/* The server said of its maintenance what concerns the connection: tell it, and move; and when
 * to do so.  NEVER: it said nothing. */
void shoal__conn_heed(shoal__conn_t *conn, uint64_t now_us);
uint64_t shoal__conn_heed_us(const shoal__conn_t *conn);

/* The line is up: begin the greeting, by the pipe or the greeter.  0 or the pipe's fault. */
int shoal__conn_greet(shoal__conn_t *conn, const shoal__line_t *line,
                      shoal__pipe_t *pipe, uint64_t now_us);

/* Tell the owner of an event of this line.  `detail` dies with the call. */
void shoal__conn_report(shoal__conn_t *conn, const shoal__line_t *line,
                        shoal_event_kind_t kind, int status, const char *detail,
                        uint64_t delay_us);
/* The next attempt begins then, but not too soon after the last one. */
void shoal__conn_dial_at(shoal__conn_t *conn, uint64_t at_us);
/* Begin an attempt to connect, and count it. */
void shoal__conn_dial(shoal__conn_t *conn, shoal__line_t *line, uint64_t now_us);
/* An attempt over this line failed: what does that say of the server's HELLO?  `greeting`:
 * NULL if none was begun. */
void shoal__conn_doubt(shoal__conn_t *conn, const shoal__greeting_t *greeting,
                       int status);

#endif
