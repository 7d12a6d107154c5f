/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_ROUTE_WATCH_H
#define SHOAL_ROUTE_WATCH_H

/*
 * The connection to one sentinel: what it is asked, and what it says.
 *
 * Loop thread.
 */

#include "core/sentinel/sentinel_rule.h"
#include "net/conn.h"
#include "route/config.h"

typedef struct shoal__watch shoal__watch_t;

/* What a watch tells its owner. */
typedef struct shoal__watch_hooks {
    /* Sentinels that this one names. */
    void (*on_peers)(void *owner, const shoal__sentinel_peer_t *peers, size_t count);
    /* It has told its own id. */
    void (*on_id)(void *owner);
    /* It says that the primary was exchanged. */
    void (*on_switch)(void *owner);
    /* As in shoal__conn_hooks_t. */
    void (*on_reading)(void *owner, uint64_t now_us);
    void (*on_delivered)(void *owner);
} shoal__watch_hooks_t;

struct shoal__watch {
    shoal__conn_t conn;
    shoal__target_t target;
    shoal__endpoint_t endpoint;          /* the only one of the target */
    char name[SHOAL__TARGET_NAME_BYTES]; /* of the target */
    shoal__sentinel_address_t address;
    char id[SHOAL__SENTINEL_ID_BYTES]; /* "": not known */
    const char *primary;               /* borrowed: the primary's name */
    shoal__sentinel_voice_t *voice;    /* borrowed: what it says */
    const shoal__watch_hooks_t *hooks; /* borrowed */
    void *owner;
};

/* What all watches of a client have together. */
typedef struct shoal__watch_plan {
    const shoal__conn_config_t *config; /* borrowed */
    shoal__conn_set_t *set;             /* borrowed */
    const char *primary;                /* borrowed */
    shoal__secret_t *secret;            /* borrowed */
    const shoal__watch_hooks_t *hooks;  /* borrowed */
    void *owner;
} shoal__watch_plan_t;

/* For the sentinel of this voice.  NULL: no memory. */
shoal__watch_t *shoal__watch_new(const shoal__watch_plan_t *plan,
                                 shoal__sentinel_voice_t *voice);
/* NULL is allowed. */
void shoal__watch_free(shoal__watch_t *watch);

/* It watches the sentinel at this address from now on; it was not in use. */
void shoal__watch_use(shoal__watch_t *watch, const shoal__sentinel_peer_t *peer,
                      bool is_seed);
/* ... and dials. */
void shoal__watch_open(shoal__watch_t *watch);
/* It watches nothing any more. */
void shoal__watch_drop(shoal__watch_t *watch, uint64_t now_us);

/* Ask which server is the primary, and which other sentinels there are; if there is no
 * connection, make it. */
void shoal__watch_ask(shoal__watch_t *watch, uint64_t now_us);

/* Put into the voice how the connection stands.  One that dials before until_us is being
 * made. */
void shoal__watch_look(const shoal__watch_t *watch, uint64_t until_us);

#endif
