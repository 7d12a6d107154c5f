/* SPDX-License-Identifier: MIT */

/* A cache in front of a slow source.  The source answers whenever the cache does not do so
 * within 20 ms, and at once while the server is away.  Answers of the source are stored in
 * the cache.
 *
 *     cache [URL [DEADLINE_MS]]                default redis://127.0.0.1:6379 20 */

#include <shoal/shoal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOKUPS 1000
#define PAGES 10

/* What is slow: here a page's name, backwards. */
static void ask_source(const char *page, char *text, size_t room)
{
    size_t bytes = strlen(page);

    usleep(1000);
    for (size_t i = 0; i < bytes && i + 1 < room; i++)
        text[i] = page[bytes - 1 - i];
    text[bytes < room ? bytes : room - 1] = '\0';
}

/* Fill `text` from the cache; 1 if it was there. */
static int ask_cache(shoal_client_t *client, const char *key, uint64_t timeout_us,
                     char *text, size_t room)
{
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_result_t *result;
    const char *found;
    size_t bytes = 0;

    call.timeout_us = timeout_us;
    shoal_client_callf_with(client, &call, &result, "GET %s", key);
    /* An error counts as not found: a call that was refused, no reply, an error reply. */
    found = shoal_result_error(result)
                ? NULL
                : shoal_reply_string(shoal_result_reply(result), &bytes);
    if (found)
        snprintf(text, room, "%.*s", (int)bytes, found);
    shoal_result_release(result);
    return found != NULL;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    uint64_t deadline_us = 1000 * (argc > 2 ? strtoull(argv[2], NULL, 10) : 20);
    shoal_error_t why = SHOAL_ERROR_INIT;
    shoal_options_t *options;
    shoal_client_t *client;
    int hits = 0, wrong = 0;

    if (shoal_options_from_url(url, &options, &why) < 0 ||
        shoal_options_set_offline_mode(options, SHOAL_OFFLINE_FAIL) < 0 ||
        shoal_client_open(options, &client, &why) < 0) {
        fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    shoal_options_free(options);
    for (int i = 0; i < LOOKUPS; i++) {
        char page[32], key[40], text[64];
        snprintf(page, sizeof page, "page-%d", i % PAGES);
        snprintf(key, sizeof key, "cache:%s", page);
        if (ask_cache(client, key, deadline_us, text, sizeof text)) {
            hits++;
        } else {
            ask_source(page, text, sizeof text);
            /* Nobody waits for this, and nobody minds if it fails. */
            shoal_client_submitf(client, NULL, NULL, "SET %s %s EX 60", key, text);
        }
        wrong += text[0] != page[strlen(page) - 1] || strlen(text) != strlen(page);
    }
    printf("%d lookups, %d answered by the cache, %d wrong\n", LOOKUPS, hits, wrong);
    shoal_client_close_and_wait(client, 1000000);
    shoal_client_release(client);
    return wrong > 0;
}
