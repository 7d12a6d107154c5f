/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_NET_FINDER_H
#define SHOAL_NET_FINDER_H

/*
 * Says which server a target stands for, before each dial.  A target with a finder has a
 * host and a port only while a search for it succeeds.
 *
 * Threads: the loop thread.
 */

#include "base/list.h"

/* One that waits for the answer.  Out of its list it waits for none. */
typedef struct shoal__search {
    shoal__list_t node; /* the finder's */
    /* The target's host and port are those of the server; or why they are not, a line of
     * text that dies with the call.  The search is in no list any more. */
    void (*on_found)(void *owner, const char *error);
    void *owner;
    const void *dialer; /* for whom: the owner of the dial */
} shoal__search_t;

typedef struct shoal__finder {
    /* on_found is called once, perhaps inside of this function, unless the search leaves
     * its list before. */
    void (*begin)(struct shoal__finder *finder, shoal__search_t *search);
} shoal__finder_t;

#endif
