/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_RETRIES_H
#define SHOAL_CORE_RETRIES_H

/*
 * Commands whose error reply proved that they were not executed (LOADING, READONLY
 * ...), and that wait to be sent again; how long each waits; and how many retries are
 * allowed.  There may be many commands, so the questions of each turn do not look at
 * all of them.
 *
 * The allowance is a bucket of tokens: a retry takes one, an answered command gives
 * back a tenth, and only the upper half may be spent, so that a server in trouble gets
 * at most a tenth more load.  (I13)
 */

#include "base/list.h"
#include "base/random.h"
#include "core/request.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct shoal__retry {
    shoal__list_t node;
    uint64_t due_us;
    shoal__request_t request;
    char bytes[]; /* what stood of the command in the log */
} shoal__retry_t;

typedef struct shoal__retries {
    shoal__list_t waiting;
    size_t count;
    size_t bytes;         /* of all waiting commands, as they are sent */
    unsigned tokens_10;   /* tenths of a token */
    uint64_t earliest_us; /* no deadline of a waiting command is before this */
} shoal__retries_t;

void shoal__retries_init(shoal__retries_t *retries);
void shoal__retries_release(shoal__retries_t *retries);

/* Is another retry allowed? */
bool shoal__retries_allowed(const shoal__retries_t *retries);
/* One retry was made. */
void shoal__retries_spend(shoal__retries_t *retries);
/* A command was answered. */
static inline void shoal__retries_earn(shoal__retries_t *retries)
{
    if (retries->tokens_10 < 100)
        retries->tokens_10++;
}

/* How long a command waits after an attempt that followed `attempts` others: with full
 * jitter, so that commands that one server turned away do not return together. */
uint64_t shoal__retries_delay_us(unsigned attempts, shoal__random_t *random);

/* Keep a command until due_us.  0 or SHOAL_ENOMEM. */
int shoal__retries_add(shoal__retries_t *retries, const shoal__request_t *request,
                       const char *bytes, uint64_t due_us);

/* Take one out, and put it among those of another pipe. */
shoal__retry_t *shoal__retries_take(shoal__retries_t *retries, shoal__retry_t *retry);
void shoal__retries_put(shoal__retries_t *retries, shoal__retry_t *retry);

/* Take out a command that is due, the earliest first; NULL if there is none.
 * The caller frees it with shoal__free(). */
shoal__retry_t *shoal__retries_take_due(shoal__retries_t *retries, uint64_t now_us);
/* Take out any one whose deadline has passed; NULL if there is none. */
shoal__retry_t *shoal__retries_take_expired(shoal__retries_t *retries, uint64_t now_us);
/* Take out the one with this ticket; NULL if there is none. */
shoal__retry_t *shoal__retries_take_ticket(shoal__retries_t *retries, uint64_t ticket);
/* Take out any one; NULL if there is none. */
shoal__retry_t *shoal__retries_take_any(shoal__retries_t *retries);

/* When to look for expired ones or, if any may be sent, for those due; SHOAL__NEVER_US
 * if there is none.  Never late; a command that was taken out may make it early. */
uint64_t shoal__retries_next_us(const shoal__retries_t *retries, bool may_send);

#endif
