/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_REQUEST_LIST_H
#define SHOAL_CORE_REQUEST_LIST_H

/*
 * Commands that no connection has yet, with their bytes, in their order: the queue of a
 * lease.  There may be many, so the question of each turn, whether a deadline has passed,
 * does not look at all of them.
 */

#include "base/list.h"
#include "core/request.h"
#include <stddef.h>

typedef struct shoal__listed_request {
    shoal__list_t node;
    shoal__request_t request;
    char bytes[]; /* what will stand of the command in a log */
} shoal__listed_request_t;

typedef struct shoal__request_list {
    shoal__list_t waiting;
    size_t count;
    uint64_t earliest_us; /* no deadline of a waiting command is before this */
} shoal__request_list_t;

void shoal__request_list_init(shoal__request_list_t *list);
void shoal__request_list_release(shoal__request_list_t *list);

/* Append a command.  0 or SHOAL_ENOMEM. */
int shoal__request_list_add(shoal__request_list_t *list,
                            const shoal__request_t *request, const char *bytes);
/* Append one that was taken out of another list. */
void shoal__request_list_put(shoal__request_list_t *list,
                             shoal__listed_request_t *listed);

/* Take out this one, which is returned.  The caller frees it with shoal__free(). */
shoal__listed_request_t *shoal__request_list_take(shoal__request_list_t *list,
                                                  shoal__listed_request_t *listed);
/* ... the first; NULL if there is none. */
shoal__listed_request_t *shoal__request_list_take_first(shoal__request_list_t *list);
/* ... the first whose deadline has passed; NULL if there is none. */
shoal__listed_request_t *shoal__request_list_take_expired(shoal__request_list_t *list,
                                                          uint64_t now_us);

/* When to look for expired ones; SHOAL__NEVER_US if there is none.  Never late; a command
 * that was taken out may make it early. */
static inline uint64_t shoal__request_list_next_us(const shoal__request_list_t *list)
{
    return list->earliest_us;
}

#endif
