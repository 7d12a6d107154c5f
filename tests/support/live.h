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

/* From the environment; end the program with 77, "skipped", if there is no server. */
const char *live_url(void);
const char *live_socket(void);
int live_port(void);

/* Options for that server, or for another one on a loopback port. */
shoal_options_t *live_options(void);
shoal_options_t *live_options_of_port(int port);
/* Open a client and free the options; wait until it is ready. */
shoal_client_t *live_open(shoal_options_t *options);

/* SHOAL_TEST_SCALE, a factor for the number of commands; at least 1 is left of them. */
size_t live_scaled(size_t count);

shoal_stats_t live_stats(shoal_client_t *client);

#endif
