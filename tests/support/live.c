/* SPDX-License-Identifier: MIT */
#include "support/live.h"

#include <stdio.h>
#include <stdlib.h>

static const char *from_environment(const char *name)
{
    const char *value = getenv(name);
    if (!value) {
        fprintf(stderr, "%s is not set: run this by with_redis.sh\n", name);
        exit(77);
    }
    return value;
}

/* A test that is about deadlines sets its own. */
static shoal_options_t *patient(shoal_options_t *options)
{
    assert_int_equal(shoal_options_set_timeout_us(options, WAITING_US_MAX), 0);
    assert_int_equal(shoal_options_set_stall_timeout_us(options, 2 * WAITING_US_MAX),
                     0);
    assert_int_equal(
        shoal_options_set_connect_timeout_us(options, WAITING_US_MAX, WAITING_US_MAX),
        0);
    return options;
}

const char *live_url(void)
{
    return from_environment("SHOAL_TEST_URL");
}

const char *live_socket(void)
{
    return from_environment("SHOAL_TEST_SOCKET");
}

int live_port(void)
{
    return (int)strtol(from_environment("SHOAL_TEST_PORT"), NULL, 10);
}

shoal_options_t *live_options(void)
{
    shoal_options_t *options = NULL;
    assert_int_equal(shoal_options_from_url(live_url(), &options, NULL), 0);
    return patient(options);
}

shoal_options_t *live_options_of_port(int port)
{
    shoal_options_t *options = NULL;
    assert_int_equal(shoal_options_new(&options), 0);
    assert_int_equal(shoal_options_set_address(options, "127.0.0.1", port), 0);
    return patient(options);
}

shoal_client_t *live_open(shoal_options_t *options)
{
    shoal_client_t *client = NULL;
    assert_int_equal(shoal_client_open(options, &client, NULL), 0);
    shoal_options_free(options);
    assert_int_equal(shoal_client_wait_ready(client, WAITING_US_MAX), 0);
    return client;
}

size_t live_scaled(size_t count)
{
    const char *scale = getenv("SHOAL_TEST_SCALE");
    double scaled = (double)count * (scale ? strtod(scale, NULL) : 1.0);
    return scaled < 1.0 ? 1 : (size_t)scaled;
}

shoal_stats_t live_stats(shoal_client_t *client)
{
    shoal_stats_t stats = SHOAL_STATS_INIT;
    assert_int_equal(shoal_stats_get(client, &stats), 0);
    return stats;
}
