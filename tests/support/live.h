/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_LIVE_H
#define SHOAL_TESTS_LIVE_H

/* The private server that with_redis.sh started for this program. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/waiting.h"
#include <shoal/shoal.h>

/* The server's addresses, from the environment.  Without a server each of these ends
 * the program with 77, which ctest reports as "skipped". */
const char *live_url(void);
const char *live_socket(void);
int live_port(void);

/* Options for that server, or for another one on a loopback port, with timeouts that no test
 * reaches: the usual 5 s may pass on a busy machine. */
shoal_options_t *live_options(void);
shoal_options_t *live_options_of_port(int port);
/* Open a client, free the options, and wait until the client is ready. */
shoal_client_t *live_open(shoal_options_t *options);

/* Close it, with a second for what is outstanding, and give it back. */
void live_finish(shoal_client_t *client);
/* A command that must succeed, as text. */
void live_ask(shoal_client_t *client, const char *text);
/* End a connection of the clients of this name: the one behind so many others, if there is
 * one. */
void live_kill(shoal_client_t *client, const char *name, unsigned skip);
/* The next of some numbers that look random. */
unsigned live_roll(unsigned *random);

/* `count` times the factor SHOAL_TEST_SCALE of the environment, and at least 1. */
size_t live_scaled(size_t count);

shoal_stats_t live_stats(shoal_client_t *client);

#endif
