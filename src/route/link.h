/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_LINK_H
#define SHOAL_ROUTE_LINK_H

/*
 * One leased connection: its state, by the outcomes of its commands; its cleaning; and
 * the server's being asked to let a blocked command go.  route/leases.c says whose it is.
 *
 * Loop thread.
 */

#include "core/lease.h"
#include "core/lease_rule.h"
#include "route/links.h"

/* A command with an effect, whose outcome is not known yet. */
typedef struct shoal__link_note {
    uint64_t ticket;
    shoal__lease_effect_t effect;
} shoal__link_note_t;

/* The server was asked to let the command go that blocks on it. */
typedef struct shoal__link_asked {
    uint64_t ticket;   /* of that command; 0: none */
    int status;        /* why: SHOAL_ETIMEOUT, SHOAL_ECANCELLED */
    uint64_t serial;   /* of the question */
    bool is_due;       /* its answer has not come: it may execute yet */
    uint64_t until_us; /* it has to come by then */
    uint64_t again_us; /* ask once more: the server did not find the command blocked */
} shoal__link_asked_t;

typedef struct shoal__link {
    shoal__conn_t conn;
    shoal__links_t *links; /* borrowed */
    shoal__conn_t *site;   /* borrowed: that callers share, to the same server */
    shoal__list_t node;    /* of its state, in leases */
    bool is_busy;          /* that state */
    shoal__list_t touched; /* in those that the next turn looks at */
    shoal_lease_t *lease;  /* that has it; NULL: none */
    unsigned bits;         /* of enum shoal__lease_bit */
    shoal__link_note_t *notes;
    size_t notes_count, notes_room;
    shoal__link_asked_t asked;
    size_t blocking;   /* outstanding commands that block, or may */
    unsigned cleaning; /* answers to come to cleaning commands */
    uint64_t idle_since_us;
    bool must_close;
    bool is_outdated; /* its credentials were replaced: nobody else gets it */
    uint64_t
        astray_us;   /* the command that blocks belongs elsewhere since then; 0: no */
    const char *why; /* ... in words, if commands may be outstanding */
} shoal__link_t;

/* Something happened to it, or was left for it: the next turn looks at it.  Only time may
 * pass without a touch. */
static inline void shoal__link_touch(shoal__link_t *link)
{
    link->links->is_touched = true;
    if (link->is_busy && shoal__list_is_empty(&link->touched))
        shoal__list_append(&link->links->touched, &link->touched);
}

/* Hand over the commands of the link's lease: up to MONITOR, and up to a blocking command
 * behind another one, which an UNBLOCK for the first could hit.  False: no memory, nothing
 * was handed over. */
bool shoal__link_take(shoal__link_t *link, uint64_t now_us);
/* Send what undoes the link's state.  False: nothing is sure to undo it. */
bool shoal__link_clean(shoal__link_t *link, uint64_t now_us);
/* What has not left goes back to the lease's queue.  False: no memory, nothing did. */
bool shoal__link_give_back(shoal__link_t *link, uint64_t now_us);
/* Give up one command that the link has; false: it has no such command. */
bool shoal__link_cancel(shoal__link_t *link, uint64_t ticket, uint64_t now_us);

/* The monitor on the link, if there is one, hears of its end. */
void shoal__link_end_monitor(shoal__link_t *link, int status, const char *detail);

/* The hooks of its connection; the owner is the link. */
extern const shoal__conn_hooks_t shoal__link_hooks;

/* Ask once more, if it is time for that. */
void shoal__link_ask_again(shoal__link_t *link, uint64_t now_us);

#endif
