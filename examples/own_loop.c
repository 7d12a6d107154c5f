/* SPDX-License-Identifier: MIT */

/* A program with an event loop of its own: no thread of the library.  The loop waits for
 * one descriptor and steps the client when it is readable.
 *
 *     own_loop [URL]                               default redis://127.0.0.1:6379 */

#include <poll.h>
#include <shoal/shoal.h>
#include <stdio.h>

#define ROUNDS 5
#define TOGETHER 100

static int outstanding, failures;

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    (void)client;
    (void)data;
    outstanding--;
    if (shoal_result_error(result)) {
        fprintf(stderr, "%s\n", shoal_result_error(result));
        failures++;
    }
}

/* What an event loop does; yours watches other descriptors as well. */
static void run_until_done(shoal_client_t *client)
{
    while (outstanding > 0) {
        struct pollfd waited = {.fd = shoal_client_fd(client), .events = POLLIN};
        int64_t wait_us = shoal_client_wait_us(client);
        poll(&waited, 1, wait_us < 0 ? -1 : (int)((wait_us + 999) / 1000));
        shoal_client_step(client, 0);
    }
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_options_t *options;
    shoal_client_t *client;
    shoal_stats_t stats = SHOAL_STATS_INIT;
    int rc;

    if (shoal_options_from_url(url, &options, &error) < 0 ||
        shoal_client_open_borrowed(options, &client, &error) < 0) {
        fprintf(stderr, "open: %s\n", error.text);
        return 1;
    }
    shoal_options_free(options);

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < TOGETHER; i++) {
            if (shoal_client_submitf(client, on_result, NULL, "INCR counter:%d", i) ==
                0)
                outstanding++;
        }
        shoal_client_step(client, 0); /* after submitting, before waiting */
        run_until_done(client);
    }
    shoal_stats_get(client, &stats);
    printf("%llu commands, %llu writes, %d failures\n",
           (unsigned long long)stats.completed, (unsigned long long)stats.writes,
           failures);
    rc = shoal_client_close_and_wait(client, 1000000);
    shoal_client_release(client);
    return rc < 0 || failures > 0;
}
