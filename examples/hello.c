/* SPDX-License-Identifier: MIT */

/* The shortest use: one thread, blocking calls.
 *
 *     hello [URL]                                  default redis://127.0.0.1:6379 */

#include <shoal/shoal.h>
#include <stdio.h>

/* Print what became of a command; 0 if the server answered with a value. */
static int show(const char *what, const shoal_result_t *result)
{
    const shoal_reply_t *reply = shoal_result_reply(result);
    size_t bytes = 0;
    const char *text;

    if (shoal_result_error(result)) { /* no reply came, or it is an error */
        fprintf(stderr, "%s: %s (%s)\n", what, shoal_result_error(result),
                shoal_fate_name(shoal_result_fate(result)));
        return 1;
    }
    text = shoal_reply_string(reply, &bytes);
    if (text)
        printf("%s: %.*s\n", what, (int)bytes, text);
    else
        printf("%s: %lld\n", what, (long long)shoal_reply_integer(reply));
    return 0;
}

int main(int argc, char **argv)
{
    const char *const commands[] = {"SET greeting hello", "GET greeting",
                                    "INCR visits"};
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_client_t *client;
    int failures = 0;
    int rc = shoal_client_open_url(url, &client, &error);

    if (rc < 0) {
        fprintf(stderr, "open: %s\n", error.text);
        return 1;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        shoal_result_t *result;
        rc = shoal_client_callf(client, &result, commands[i]);
        if (rc < 0) {
            fprintf(stderr, "%s: %s\n", commands[i], shoal_strerror(rc));
            failures++;
            continue;
        }
        failures += show(commands[i], result);
        shoal_result_release(result);
    }
    rc = shoal_client_close_and_wait(client, 1000000);
    shoal_client_release(client);
    return failures > 0 || rc < 0;
}
