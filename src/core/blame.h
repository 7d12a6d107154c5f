/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_BLAME_H
#define SHOAL_CORE_BLAME_H

/*
 * Decides whether a command caused the end of its connection: may it be sent on the
 * next connection, and may other commands be in flight beside it?  A command that ends
 * every connection must not end the commands of other callers again and again.
 *
 * Guarantee: a command is not sent again if it ended its connection in a way that would
 * repeat, or if a second connection was cut inside its bytes or its reply.  (I13)
 *
 * A plain network cut inside a long command, or inside a long reply, looks like a
 * server that cut on purpose.  So the first cut only raises a suspicion, and the
 * command travels alone: its bytes leave when nothing is unanswered, and nothing leaves
 * before its reply.
 */

#include "core/settle_rule.h"
#include <stdbool.h>

typedef struct shoal__blame_input {
    shoal__progress_t progress;
    bool is_unit;    /* part of MULTI ... EXEC */
    bool is_refused; /* the server refused its bytes, or its reply is over our bounds */
    bool is_oldest;  /* no command of a caller was unanswered before it */
    bool was_cut;    /* an earlier connection ended inside its bytes or its reply */
    bool was_alone;  /* it travelled alone */
    bool was_lost;   /* an earlier connection was lost while it was unanswered */
} shoal__blame_input_t;

typedef struct shoal__blame {
    bool is_guilty;     /* it is not sent again */
    bool is_cut;        /* remember: this connection ended inside its bytes or reply */
    bool travels_alone; /* if it is sent again */
    const char *words;  /* for its error, if it fails now; NULL: none */
} shoal__blame_t;

/* `progress` on the connection that was lost.
 *
 *            refused   cut for the first time   cut again   oldest, or lost again   else
 * guilty     yes       no                       yes         no                      no
 * alone      -         yes                      -           yes                     no
 *
 * Parts of a unit never travel alone: they leave together.  A loss without a byte of
 * the reply proves nothing against one command; attempts_max bounds those. */
shoal__blame_t shoal__blame(const shoal__blame_input_t *input);

#endif
