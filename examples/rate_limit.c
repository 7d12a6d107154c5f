/* SPDX-License-Identifier: MIT */

/* A rate limit that all programs of a service share: at most so many requests of a user at once,
 * and in the long run so many a second.  The server decides, by a script that each connection
 * loads.
 *
 *     rate_limit [URL [REQUESTS]]                default redis://127.0.0.1:6379 40 */

#include <shoal/shoal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT "10"    /* so many */
#define SPAN_MS "100" /* ... in so long */

/* 0: admitted; above 0: milliseconds after which the next one is; -1: nobody knows. */
static long long ask(shoal_client_t *client, shoal_script_t *script, const char *user)
{
    const char *argv[] = {"EVALSHA", shoal_script_sha1(script), "1", user, LIMIT,
                          SPAN_MS};
    shoal_result_t *result;
    const shoal_reply_t *reply;
    long long wait_ms = -1;

    if (shoal_client_call(client, 6, argv, NULL, &result) < 0)
        return -1;
    reply = shoal_result_reply(result);
    if (shoal_result_error(result))
        fprintf(stderr, "%s\n", shoal_result_error(result));
    else
        wait_ms = shoal_reply_integer(shoal_reply_at(reply, 2));
    shoal_result_release(result);
    return wait_ms;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    long requests = argc > 2 ? strtol(argv[2], NULL, 10) : 40;
    const char *text = shoal_script_text(SHOAL_SCRIPT_RATE_LIMIT);
    shoal_error_t why = SHOAL_ERROR_INIT;
    shoal_script_t *script;
    shoal_client_t *client;
    char user[32];
    int waits = 0, rc = 0;

    if (shoal_client_open_url(url, &client, &why) < 0) {
        fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    if (shoal_script_new(client, text, strlen(text), &script) < 0)
        return 1;
    snprintf(user, sizeof user, "limit:user:%d", (int)getpid());
    for (long admitted = 0; rc == 0 && admitted < requests;) {
        long long wait_ms = ask(client, script, user);
        if (wait_ms < 0)
            rc = 1;
        else if (wait_ms == 0)
            admitted++;
        else
            waits++;
        if (wait_ms > 0)
            usleep((useconds_t)wait_ms * 1000);
    }
    printf("%ld requests were admitted, %d came too early\n", requests, waits);
    shoal_script_free(script);
    shoal_client_close_and_wait(client, 1000000);
    shoal_client_release(client);
    return rc;
}
