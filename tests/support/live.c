/* SPDX-License-Identifier: MIT */
#include "support/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void live_finish(shoal_client_t *client)
{
    assert_int_equal(shoal_client_close_and_wait(client, 1000000), 0);
    shoal_client_release(client);
}

void live_ask(shoal_client_t *client, const char *text)
{
    shoal_result_t *result;

    assert_int_equal(shoal_client_callf(client, &result, text), 0);
    assert_int_equal(shoal_result_status(result), 0);
    shoal_result_release(result);
}

/* The line of CLIENT LIST behind `at` that has this word; NULL: there is none. */
static const char *find_line(const char *at, const char *word)
{
    while (at && *at) {
        const char *end = strchr(at, '\n'), *found = strstr(at, word);
        if (found && end && found < end)
            return at;
        at = end ? end + 1 : NULL;
    }
    return NULL;
}

void live_kill(shoal_client_t *client, const char *name, unsigned skip)
{
    shoal_result_t *result;
    const char *line;
    char word[64], text[48];
    size_t bytes;

    snprintf(word, sizeof word, " name=%s ", name);
    assert_int_equal(shoal_client_callf(client, &result, "CLIENT LIST TYPE normal"), 0);
    assert_int_equal(shoal_result_status(result), 0);
    line = find_line(shoal_reply_string(shoal_result_reply(result), &bytes), word);
    for (; line && skip > 0; skip--)
        line = find_line(strchr(line, '\n') + 1, word);
    if (line)
        snprintf(text, sizeof text, "CLIENT KILL ID %d", atoi(line + strlen("id=")));
    shoal_result_release(result);
    if (!line)
        return;
    assert_int_equal(shoal_client_callf(client, &result, text), 0);
    shoal_result_release(result); /* it may have ended by itself */
}

unsigned live_roll(unsigned *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
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
