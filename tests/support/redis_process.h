/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_REDIS_PROCESS_H
#define SHOAL_TESTS_REDIS_PROCESS_H

/* A private redis-server: on a Unix socket and a free loopback port; what it writes
 * to disk is in a folder of its own and goes with it.  It is known by its pid, and
 * dies with the test, however the test ends. */

#include "cluster_nodes/redis_ask.h"
#include "fault_proxy/fake_tls.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct redis_process redis_process_t;

/* Start a server and wait until it answers.  `arguments` ends with NULL, or is NULL;
 * the array must outlive the server.  Returns NULL if there is no redis-server to
 * start; the environment's REDIS_SERVER names the program. */
redis_process_t *redis_process_start(const char *const *arguments);
/* The same, with a second port that speaks TLS; NULL: without.  The texts must outlive the
 * server. */
redis_process_t *redis_process_start_tls(const char *const *arguments,
                                         const fake_tls_config_t *tls);
/* Start a sentinel with this configuration, which the sentinel rewrites in its folder, and
 * with a second port that speaks TLS; NULL: without.  It is a server like any other for the
 * functions below; a restart keeps what it has written. */
redis_process_t *redis_process_start_sentinel(const char *config,
                                              const fake_tls_config_t *tls);
/* Kill the server and free what belongs to it.  NULL is allowed. */
void redis_process_stop(redis_process_t *redis);

int redis_process_port(const redis_process_t *redis);
int redis_process_tls_port(const redis_process_t *redis); /* 0: without TLS */
const char *redis_process_socket(const redis_process_t *redis);
pid_t redis_process_pid(const redis_process_t *redis);

/* Send SIGSTOP, or SIGCONT, and wait until it has taken effect. */
void redis_process_pause(redis_process_t *redis);
void redis_process_resume(redis_process_t *redis);
/* Send SIGKILL, and wait until the server has ended. */
void redis_process_kill(redis_process_t *redis);
/* Start it again at the same addresses and wait until it answers. */
bool redis_process_restart(redis_process_t *redis);

#endif
