/* SPDX-License-Identifier: MIT */

/* What a C program sees in a bad situation: runs one command and prints code, fate and
 * text, separated by tabs.  tools/situations provokes the situations.
 *
 *     situation [option ...] URL WORD ...
 *
 *     --ready     wait until the connection is ready, print "ready", and go on when a line
 *                 comes on the standard input
 *     --failed    wait until an attempt to connect failed
 *     --provider  ask a provider for credentials; it fails
 *     --written   the same, but after the command was submitted
 *     --blocks    the command may block on the server
 *     --closed    close the client before
 *     --full      fill a queue of 2 before
 *     --big       with a last argument of 2 MiB, more than the bound of 1 MiB
 *     --cancelled give the command up */

#include <semaphore.h>
#include <shoal/shoal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 16
#define BIG_BYTES 2097152

typedef struct options {
    bool failed, ready, provider, written, blocks, closed, full, big, cancelled;
} options_t;

static void show(int code, const char *fate, const char *text)
{
    printf("%s\t%s\t%s\n", code ? shoal_error_name(code) : "0", fate, text);
}

static void wait_for_line(const char *say)
{
    char line[16];

    printf("%s\n", say);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        exit(2);
}

static sem_t failure;

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client;
    (void)data;
    if (shoal_event_kind(event) == SHOAL_EVENT_ATTEMPT_FAILED)
        sem_post(&failure);
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    const char *error = shoal_result_error(result);

    (void)client;
    show(shoal_result_status(result), shoal_fate_name(shoal_result_fate(result)),
         error ? error : "");
    sem_post(data);
}

static void fail(shoal_credentials_request_t *request, void *data)
{
    (void)data;
    shoal_credentials_fail(request, "the vault is closed");
}

static int open_client(const char *url, const options_t *wanted,
                       shoal_client_t **client, shoal_error_t *error)
{
    shoal_options_t *options;
    int rc = shoal_options_from_url(url, &options, error);

    if (rc < 0)
        return rc;
    shoal_options_set_on_event(options, on_event, NULL);
    if (wanted->provider)
        shoal_options_set_credentials_provider(options, fail, NULL);
    if (wanted->full)
        shoal_options_set_outstanding_max(options, 2, 1, BIG_BYTES);
    if (wanted->big)
        shoal_options_set_outstanding_max(options, 100, 100, BIG_BYTES / 2);
    rc = shoal_client_open(options, client, error);
    shoal_options_free(options);
    return rc;
}

static void prepare(shoal_client_t *client, const options_t *wanted)
{
    const char *const ping[] = {"PING"};

    if (wanted->ready && shoal_client_wait_ready(client, SHOAL_TIMEOUT_NEVER) == 0)
        wait_for_line("ready");
    if (wanted->failed)
        sem_wait(&failure);
    if (wanted->closed)
        shoal_client_close_and_wait(client, 0);
    while (wanted->full &&
           shoal_client_submit(client, 1, ping, NULL, NULL, NULL, NULL) == 0)
        continue;
}

/* Returns the code of a refusal, or 0 when the result was shown. */
static int run(shoal_client_t *client, const options_t *wanted, size_t argc,
               const char *const *argv, shoal_error_t *error)
{
    const shoal_command_t command = {argc, argv, NULL};
    shoal_call_t call = SHOAL_CALL_INIT;
    uint64_t ticket;
    sem_t done;
    int rc;

    call.flags = wanted->blocks ? SHOAL_CALL_MAY_BLOCK : 0;
    call.error = error;
    sem_init(&done, 0, 0);
    rc =
        shoal_client_submit_many(client, &command, 1, &call, on_result, &done, &ticket);
    if (rc < 0)
        return rc;
    if (wanted->written)
        wait_for_line("submitted");
    if (wanted->cancelled)
        shoal_client_cancel(client, ticket);
    sem_wait(&done);
    sem_destroy(&done);
    return 0;
}

static bool read_option(const char *name, options_t *wanted)
{
    const struct row {
        const char *name;
        bool *is_wanted;
    } rows[] = {{"--failed", &wanted->failed},    {"--ready", &wanted->ready},
                {"--written", &wanted->written},  {"--blocks", &wanted->blocks},
                {"--closed", &wanted->closed},    {"--full", &wanted->full},
                {"--big", &wanted->big},          {"--cancelled", &wanted->cancelled},
                {"--provider", &wanted->provider}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return *rows[i].is_wanted = true;
    return false;
}

int main(int argc, char **argv)
{
    static char big[BIG_BYTES + 1];
    const char *words[WORDS_MAX + 1];
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_client_t *client = NULL;
    options_t wanted = {0};
    size_t count = 0;
    int at = 1, rc;

    while (at < argc && read_option(argv[at], &wanted))
        at++;
    if (argc - at < 2 || argc - at > WORDS_MAX)
        return 2;
    for (int i = at + 1; i < argc; i++)
        words[count++] = argv[i];
    if (wanted.big)
        words[count++] = memset(big, 'x', BIG_BYTES);

    sem_init(&failure, 0, 0);
    rc = open_client(argv[at], &wanted, &client, &error);
    if (rc == 0) {
        prepare(client, &wanted);
        rc = run(client, &wanted, count, words, &error);
    }
    if (rc < 0)
        show(rc, "not executed", error.text);
    if (client)
        shoal_client_close_and_wait(client, 0);
    shoal_client_release(client);
    return 0;
}
