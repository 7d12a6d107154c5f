/* SPDX-License-Identifier: MIT */

/* A client whose password is in a file that somebody else replaces, as Vault, Kubernetes and
 * other keepers of secrets do.
 *
 *     credentials [URL [FILE [SECONDS]]]
 *
 * The library asks for the password before it connects, every 30 s, and when the server
 * refuses the one that it has.  A new password costs no command: a connection that has
 * authenticated with it takes the place of the old one. */

#include <shoal/shoal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REFRESH_MS 30000

/* It runs on a thread of its own, so it may wait: for a file, or an answer by HTTP. */
static void read_password(shoal_credentials_request_t *request, void *data)
{
    const char *path = data;
    char password[256] = "";
    FILE *file = path ? fopen(path, "r") : NULL;

    if (file) {
        if (!fgets(password, sizeof password, file))
            password[0] = '\0';
        fclose(file);
        password[strcspn(password, "\r\n")] = '\0';
    }
    if (!path || password[0])
        shoal_credentials_give(request, NULL, path ? password : "sesame", REFRESH_MS);
    else
        shoal_credentials_fail(request, "the file cannot be read, or is empty");
}

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client, (void)data;
    if (shoal_event_kind(event) == SHOAL_EVENT_CREDENTIALS ||
        shoal_event_kind(event) == SHOAL_EVENT_READY)
        printf("%s\n", shoal_event_detail(event));
}

static int count(shoal_client_t *client, long seconds)
{
    time_t end = time(NULL) + seconds;
    int failed = 0;

    do {
        shoal_result_t *result;

        if (shoal_client_callf(client, &result, "INCR steps") < 0)
            return 1;
        if (shoal_result_error(result)) {
            printf("%s\n", shoal_result_error(result));
            failed = 1;
        }
        shoal_result_release(result);
    } while (time(NULL) < end);
    return failed;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1";
    shoal_options_t *options;
    shoal_client_t *client;
    shoal_error_t error = SHOAL_ERROR_INIT;
    int failed;

    if (shoal_options_from_url(url, &options, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    shoal_options_set_credentials_provider(options, read_password,
                                           argc > 2 ? argv[2] : NULL);
    shoal_options_set_on_event(options, on_event, NULL);
    failed = shoal_client_open(options, &client, &error) < 0;
    shoal_options_free(options);
    if (failed) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    failed = count(client, argc > 3 ? strtol(argv[3], NULL, 10) : 0);
    shoal_client_close_and_wait(client, SHOAL_TIMEOUT_NEVER);
    shoal_client_release(client);
    return failed;
}
