/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_REDIS_PROCESS_H
#define SHOAL_TESTS_REDIS_PROCESS_H

/* A private redis-server: on a Unix socket and a free loopback port; what it writes
 * to disk is in a folder of its own and goes with it.  It is known by its pid, and
 * dies with the test, however the test ends. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct redis_process redis_process_t;

/* Start a server and wait until it answers.  `arguments` ends with NULL, or is NULL; it
 * must outlive the process.  NULL: there is no redis-server to start (REDIS_SERVER
 * names another one). */
redis_process_t *redis_process_start(const char *const *arguments);
/* Kill and forget it.  NULL is allowed. */
void redis_process_stop(redis_process_t *redis);

int redis_process_port(const redis_process_t *redis);
const char *redis_process_socket(const redis_process_t *redis);
pid_t redis_process_pid(const redis_process_t *redis);

/* SIGSTOP and SIGCONT; each returns when it took effect. */
void redis_process_pause(redis_process_t *redis);
void redis_process_resume(redis_process_t *redis);
/* SIGKILL; its data is lost. */
void redis_process_kill(redis_process_t *redis);
/* Start it again at the same addresses and wait until it answers. */
bool redis_process_restart(redis_process_t *redis);

/* One command, on a connection of its own, to any server on loopback; the words must
 * have no spaces.  Returns whether an answer came: its first line, without CRLF; for a
 * string that is the string itself. */
bool redis_ask(int port, const char *command, char *answer, size_t answer_room);

#endif
