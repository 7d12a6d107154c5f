/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_FORMER_H
#define SHOAL_CORE_FORMER_H

/*
 * Former connections that were lost with commands unanswered.  The server may run these
 * commands late, behind commands of later connections.  A new connection therefore ends
 * the former ones first, by CLIENT KILL ID <id> ADDR <address>, and this list says what
 * the answers prove.  The command names both id and address, because a restarted server
 * may give an id out again, while an address belongs to one connection.
 *
 *   killed one                      it was there, now it runs nothing more    settled
 *   none, the same server process   it had ended already                      settled
 *   another process: not asked      its commands, if any, are elsewhere: the first
 *                                   connection to that process is not settled, later
 *                                   ones need not doubt; remembered for the way back
 *   an error, or no answer          nothing is known                          not settled
 *
 * If the server does not say which id and address a connection has, or if too many were lost,
 * the list has a *nameless* entry for the process.  Nobody can be asked to end what it stands
 * for.  So nothing is settled on that process as long as the process lives.  No time proves
 * anything: a server that was stopped reads what it received whenever it goes on.
 *
 * Another connection of the client may ask meanwhile, if its own successor does not come.
 *
 * Guarantee: settled only if it is proved for every former connection that the present
 * server process could still run a command of.
 */

#include <stdbool.h>
#include <stdint.h>

#define SHOAL__FORMER_MAX 8

/* What the server calls a connection (CLIENT INFO), and which process serves it
 * (INFO). */
typedef struct shoal__identity {
    int64_t id;        /* 0: not known */
    char address[128]; /* as the server sees it; "": not known */
    char process[48];  /* run id of the server; "": not known */
} shoal__identity_t;

/* Take "id=7 addr=127.0.0.1:1234 ..." in; false if either is missing or too long. */
bool shoal__identity_read(shoal__identity_t *identity, const char *text,
                          uint64_t bytes);
/* Take "run_id:<hex>" out of the lines of INFO; false if there is none. */
bool shoal__identity_read_process(shoal__identity_t *identity, const char *text,
                                  uint64_t bytes);

/* A number for the process; `otherwise`, if it is not known. */
uint64_t shoal__identity_number(const shoal__identity_t *identity, uint64_t otherwise);

typedef enum shoal__former_verdict {
    SHOAL__FORMER_UNPROVED, /* zero */
    SHOAL__FORMER_KILLED,
    SHOAL__FORMER_ABSENT
} shoal__former_verdict_t;

/* Was its end asked for on another connection? */
typedef enum shoal__former_elsewhere {
    SHOAL__FORMER_NOT_ASKED, /* zero */
    SHOAL__FORMER_ASKED,     /* the answer is due */
    SHOAL__FORMER_IN_VAIN    /* the answer proved nothing */
} shoal__former_elsewhere_t;

typedef struct shoal__former_entry {
    shoal__identity_t identity;      /* id 0: nameless; the process is known then */
    shoal__former_verdict_t verdict; /* on the present connection */
    shoal__former_elsewhere_t elsewhere;
    char missed_on[48]; /* the last other process that a connection led to; "": none */
} shoal__former_entry_t;

typedef struct shoal__former {
    shoal__former_entry_t *entries; /* SHOAL__FORMER_MAX of them; NULL: count is 0 */
    unsigned count;
    bool has_lost_track; /* a connection to a process that was not known was lost, or
                            there were too many: nothing can be proved any more */
} shoal__former_t;

void shoal__former_init(shoal__former_t *former);
void shoal__former_release(shoal__former_t *former);

/* A connection was lost with writes unanswered.  Without memory for it, has_lost_track
 * is set. */
void shoal__former_add(shoal__former_t *former, const shoal__identity_t *identity);

/* May entry `index` be a connection to this process?  If not, its id, and on a Unix
 * socket its address too, may belong to another client, which must not be ended. */
bool shoal__former_may_be_on(const shoal__former_t *former, unsigned index,
                             const char *process);

/* ... and can it be named? */
bool shoal__former_may_be_ended(const shoal__former_t *former, unsigned index,
                                const char *process);

/* Is entry `index` known to be a connection to this process, which is known? */
bool shoal__former_is_on(const shoal__former_t *former, unsigned index,
                         const char *process);

/* Another connection, to the process of the entry with this id, was told to end it (ASKED).
 * The answer, as in _answer(): the entry is forgotten, or was asked for in vain. */
void shoal__former_ended(shoal__former_t *former, int64_t id, int64_t killed);
/* There will be no answer: it can be asked for again. */
void shoal__former_put_off(shoal__former_t *former, int64_t id);

/* A new connection begins: nothing is proved on it yet. */
void shoal__former_begin(shoal__former_t *former);
/* The server's answer for entry `index`: `killed` connections were ended; below 0: an
 * error. */
void shoal__former_answer(shoal__former_t *former, unsigned index, int64_t killed);

/* All answers are in: is everything settled?  Forgets those that need not be asked for
 * again. */
bool shoal__former_conclude(shoal__former_t *former, const char *process);

#endif
