/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SENTINEL_RIG_H
#define SHOAL_TESTS_SENTINEL_RIG_H

/* A primary, two replicas and three sentinels: real servers on loopback ports, which end
 * with the test, however it ends.  The sentinels call the primary RIG_PRIMARY, and take
 * half a second of silence for its end.
 *
 * Each server has a loopback address of its own, by which the others and the clients know
 * it; the rig itself asks all of them at 127.0.0.1, also while they are cut off. */

#include "support/redis_process.h"
#include <shoal/shoal.h>
#include <stdbool.h>
#include <stddef.h>

#define RIG_PRIMARY "mymaster"
#define RIG_SERVERS 3
#define RIG_SENTINELS 3
#define RIG_NAME_BYTES 32
#define RIG_ARGUMENTS 16

typedef struct sentinel_rig {
    char hosts[RIG_SERVERS][24], first_port[12];
    const char *arguments[RIG_SERVERS][RIG_ARGUMENTS];
    redis_process_t *servers[RIG_SERVERS]; /* the first was the primary at first */
    redis_process_t *sentinels[RIG_SENTINELS];
    bool is_patient;
} sentinel_rig_t;

/* Start them, and wait until the sentinels know each other and the replicas.  NULL: there
 * is no redis-server to start. */
sentinel_rig_t *sentinel_rig_start(void);
/* They take no server for dead, however busy the machine is. */
sentinel_rig_t *sentinel_rig_start_patient(void);
void sentinel_rig_stop(sentinel_rig_t *rig); /* NULL is allowed */

/* "host:port" of a server. */
void sentinel_rig_name(const sentinel_rig_t *rig, size_t server,
                       char name[RIG_NAME_BYTES]);

/* Options of a client of the primary, which know `sentinels` of the sentinels. */
shoal_options_t *sentinel_rig_options(const sentinel_rig_t *rig, size_t sentinels);

/* Which server does this sentinel take for the primary?  RIG_SERVERS: it does not say. */
size_t sentinel_rig_primary(const sentinel_rig_t *rig, size_t sentinel);
/* Wait until all sentinels that run name the same primary, which is one, and all other servers
 * that run follow it. */
size_t sentinel_rig_await_primary(const sentinel_rig_t *rig);
/* Does this server take itself for the primary? */
bool sentinel_rig_is_primary(const sentinel_rig_t *rig, size_t server);
/* All sentinels were killed: wait until the servers have read and passed on what those said.
 * Else one that is started then hears of it. */
void sentinel_rig_await_silence(const sentinel_rig_t *rig, size_t primary);

/* Exchange the primary as a person does: SENTINEL FAILOVER.  A sentinel that has not heard of
 * the replicas for a while begins, and gives up; so it is repeated until one is promoted. */
void sentinel_rig_failover(const sentinel_rig_t *rig);
/* Start a sentinel again that was killed. */
void sentinel_rig_restart_sentinel(const sentinel_rig_t *rig, size_t sentinel);
/* Make the sentinels forget the primary and watch this server instead, as a person
 * does. */
void sentinel_rig_monitor(const sentinel_rig_t *rig, size_t server);

/* The calling thread, and all that it starts from now on, get a loopback network of their own,
 * which can be cut.  False: the test has no right to that, or there is no ip. */
bool sentinel_rig_isolate(void);
/* Nothing passes any more between this server and the others and the sentinels, nor its
 * clients. */
void sentinel_rig_cut(const sentinel_rig_t *rig, size_t server,
                      bool is_without_clients);
/* End all cuts. */
void sentinel_rig_join(void);

/* One command of words without blanks to a server; its answer must begin so. */
void sentinel_rig_tell(const redis_process_t *server, const char *command,
                       const char *answer);

#endif
