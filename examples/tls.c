/* SPDX-License-Identifier: MIT */

/* An encrypted connection, to a server that proves who it is.
 *
 *     tls URL [CA_FILE]                for example rediss://:password@redis.example.com
 *
 * Prints what happens to the connection. */

#include <shoal/shoal.h>
#include <stdio.h>
#include <string.h>

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client, (void)data;
    /* "the certificate is for other.example, not for ...", or the files are bad */
    if (shoal_event_status(event) < 0)
        fprintf(stderr, "%s: %s\n", shoal_error_name(shoal_event_status(event)),
                shoal_event_detail(event));
}

static int greet(const shoal_options_t *options)
{
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_stats_t stats = SHOAL_STATS_INIT;
    shoal_client_t *client;
    shoal_result_t *result;
    int rc = shoal_client_open(options, &client, &error);

    if (rc < 0) {
        fprintf(stderr, "open: %s\n", error.text);
        return 1;
    }
    rc = shoal_client_callf(client, &result, "SET greeting %s", "hello, privately");
    if (rc == 0) {
        if (shoal_result_error(result))
            fprintf(stderr, "SET: %s (%s)\n", shoal_result_error(result),
                    shoal_fate_name(shoal_result_fate(result)));
        rc = shoal_result_error(result) ? 1 : 0;
        shoal_result_release(result);
    }
    shoal_stats_get(client, &stats);
    printf("handshakes: %llu full, %llu resumed\n", (unsigned long long)stats.tls_full,
           (unsigned long long)stats.tls_resumed);
    shoal_client_close_and_wait(client, 1000000);
    shoal_client_release(client);
    return rc != 0;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "rediss://127.0.0.1:6380";
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_options_t *options;
    int rc;

    if (!shoal_has_tls()) {
        printf("this library was built without TLS\n");
        return 0;
    }
    rc = shoal_options_from_url(url, &options, &error);
    if (rc < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    shoal_options_set_on_event(options, on_event, NULL);
    if (argc > 2)
        rc = shoal_options_set_tls_ca_file(options, argv[2]);
    if (rc == 0)
        rc = greet(options);
    shoal_options_free(options);
    return rc != 0;
}
