/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_TARGET_H
#define SHOAL_CORE_TARGET_H

/*
 * The server that connections lead to, and the credentials for it.  How a connection behaves
 * is in the configuration of its parts, which connections to many servers share.
 *
 * A server has one endpoint or several: addresses that all lead to it.  One is the present
 * endpoint, with which each attempt to connect begins.  It stays the present one while a
 * connection works there; if none does, and one failed there, the next endpoint follows.
 *
 * If the server there says that it is a replica, or refuses to write, core/role_rule.h
 * decides whether another one is looked for.
 *
 * The route owns a target, and may change it between two attempts to connect.  Threads: the
 * loop thread, but the names of endpoints stay as long as the route, and any thread may read
 * them.
 */

#include "core/address.h"
#include "core/redirect.h"
#include "core/role_rule.h"
#include "core/secret.h"
#include <stdbool.h>

#define SHOAL__ENDPOINTS_MAX SHOAL__ADDRESSES_MAX

struct shoal__finder; /* net/finder.h */

typedef struct shoal__endpoint {
    const char *name; /* as texts call it: "host:port", "[::1]:6379", or a path */
    const char *host; /* a name or a numeric address; NULL: unix_path counts */
    int port;
    const char *unix_path;
    const char *tls_name; /* which name its certificate must have; NULL: the host */
    const shoal__address_t *by; /* the address of the server that named it; NULL: the
                                   program did */
} shoal__endpoint_t;

/* An endpoint that a server named: see core/redirect.h. */
typedef struct shoal__named_endpoint {
    struct shoal__named_endpoint *next;
    shoal__endpoint_t endpoint;
    shoal__address_t by; /* the address of the server that named it */
    char host[SHOAL__REDIRECT_HOST_BYTES];
    char name[SHOAL__REDIRECT_HOST_BYTES + 8];
} shoal__named_endpoint_t;

/* So many of them are remembered: their names must stay. */
#define SHOAL__NAMED_ENDPOINTS_MAX 64

/* Where a stream leads to. */
typedef struct shoal__reached {
    unsigned endpoint; /* index in its target */
    const char *name;  /* of the endpoint; it stays as long as the route */
    shoal__address_t address;
} shoal__reached_t;

typedef struct shoal__target {
    const char *name;                   /* of the present endpoint */
    const shoal__endpoint_t *endpoints; /* borrowed; 1 .. SHOAL__ENDPOINTS_MAX */
    unsigned endpoints_count;
    unsigned present; /* index of the present endpoint; endpoints_count: `named` */
    const shoal__named_endpoint_t *named; /* the one that a server named; NULL: none */
    shoal__named_endpoint_t *all_named;   /* owned: those that were ever named */
    unsigned all_named_count;
    unsigned ready;          /* connections of this target that are ready */
    bool is_replica;         /* it is to be a replica: no primary is looked for */
    bool is_left;            /* ... but the server refused to write: go elsewhere */
    bool is_untrusted;       /* a server named an endpoint that it must not know, in the
                                attempt that is under way */
    unsigned known;          /* addresses that the last attempt to connect knew */
    unsigned replicas;       /* that were refused since a primary was found */
    shoal__address_t worked; /* on which the server answered last; bytes 0: none */
    shoal__address_t failed; /* which failed last, and has not worked since */
    shoal__secret_t *secret; /* borrowed: the credentials; NULL: none */
    struct shoal__finder *keeper; /* says before each dial when there are credentials;
                                     NULL: they are known */
    struct shoal__finder *finder; /* says before each dial which server it is; NULL: the
                                     endpoints are known */
} shoal__target_t;

/* The credentials of the present; both may be NULL, as in core/secret.h. */
static inline const char *shoal__target_user(const shoal__target_t *target)
{
    return target->secret ? target->secret->user : NULL;
}
static inline const char *shoal__target_password(const shoal__target_t *target)
{
    return target->secret ? target->secret->password : NULL;
}

/* Does a connection work at the present endpoint, and should others go there too? */
static inline bool shoal__target_has_company(const shoal__target_t *target)
{
    return target->ready > 0 && !target->is_left;
}

/* How many endpoints there are for an attempt to connect, which takes one after the other
 * from the present one on; and how many of them it may try. */
static inline unsigned shoal__target_choices(const shoal__target_t *target)
{
    return target->endpoints_count + (target->named != NULL);
}
static inline unsigned shoal__target_trials(const shoal__target_t *target)
{
    unsigned choices = shoal__target_choices(target);

    if (shoal__target_has_company(target))
        return 1;
    return choices < SHOAL__ENDPOINTS_MAX ? choices : SHOAL__ENDPOINTS_MAX;
}

/* Is the ROLE of interest?  And may a connection lead to a server that says this? */
static inline bool shoal__target_asks_role(const shoal__target_t *target)
{
    return target->known > 1 && !target->is_replica;
}
bool shoal__target_accepts(const shoal__target_t *target, shoal__role_t role);

/* A greeting is done: the server answered there. */
void shoal__target_worked(shoal__target_t *target, const shoal__reached_t *reached,
                          shoal__role_t role);

/* A connection was made, but the server there did not answer, or not well. */
void shoal__target_failed(shoal__target_t *target, const shoal__reached_t *reached,
                          shoal__role_t role);

/* The server there refuses the credentials. */
static inline void shoal__target_refused(const shoal__target_t *target)
{
    if (target->secret)
        target->secret->is_refused = true;
}

/* The server there refuses to write: the next connection tries the other addresses first. */
void shoal__target_leave(shoal__target_t *target, const shoal__reached_t *reached);

/* The server there refuses commands, and named another one: the next connection tries that
 * one first, and then the others.  The other one is forgotten as soon as a connection works
 * elsewhere.  Without memory for it, as _leave. */
void shoal__target_redirect(shoal__target_t *target, const shoal__reached_t *reached,
                            const shoal__redirect_t *redirect);

/* The server there will be gone soon, and its name may lead elsewhere by now. */
void shoal__target_vacate(shoal__target_t *target, const shoal__reached_t *reached);

/* Give back what redirects took. */
void shoal__target_release(shoal__target_t *target);

#endif
