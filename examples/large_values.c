/* SPDX-License-Identifier: MIT */

/* Pages of 1 MiB beside small commands, on one client.  The large commands take the bulk
 * lane, a second connection, so that the small ones need not wait behind them.  Commands
 * for different keys then have no order, unless they are submitted in one call: a page and
 * its announcement are.
 *
 *     large_values [URL]                           default redis://127.0.0.1:6379 */

#include <pthread.h>
#include <semaphore.h>
#include <shoal/shoal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGES 50
#define PAGE_BYTES 1048576

/* ---- small commands ---- */

typedef struct visitor {
    shoal_client_t *client;
    atomic_bool is_over;
    unsigned visits;
    double waited_ms, slowest_ms; /* all of them together; the slowest */
} visitor_t;

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void *visit(void *data)
{
    visitor_t *visitor = data;

    while (!visitor->is_over) {
        shoal_result_t *result;
        double begin_ms = now_ms(), took_ms;
        if (shoal_client_callf(visitor->client, &result, "INCR visits") < 0)
            break;
        shoal_result_release(result);
        took_ms = now_ms() - begin_ms;
        visitor->visits++;
        visitor->waited_ms += took_ms;
        if (took_ms > visitor->slowest_ms)
            visitor->slowest_ms = took_ms;
    }
    return NULL;
}

/* ---- pages ---- */

typedef struct publication {
    sem_t is_done;
    int failed;
} publication_t;

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    publication_t *publication = data;

    (void)client;
    publication->failed += shoal_result_error(result) != NULL;
    sem_post(&publication->is_done);
}

/* Both commands by one call: whoever finds the page in the list finds the page. */
static bool publish(shoal_client_t *client, const char *key, const char *page)
{
    const char *const set[] = {"SET", key, page, "EX", "60"};
    const size_t set_bytes[] = {3, strlen(key), PAGE_BYTES, 2, 2};
    const char *const push[] = {"LPUSH", "pages", key};
    const shoal_command_t commands[] = {{5, set, set_bytes}, {3, push, NULL}};
    publication_t publication = {.failed = 0};
    int rc;

    sem_init(&publication.is_done, 0, 0);
    rc = shoal_client_submit_many(client, commands, 2, NULL, on_result, &publication,
                                  NULL);
    for (int i = 0; rc == 0 && i < 2; i++)
        while (sem_wait(&publication.is_done) != 0)
            continue; /* a signal came */
    sem_destroy(&publication.is_done);
    return rc == 0 && publication.failed == 0;
}

/* Take a page off the list and read it.  The client learns which replies are large. */
static bool read_next(shoal_client_t *client)
{
    shoal_result_t *name, *page;
    size_t bytes = 0;
    const char *key;

    if (shoal_client_callf(client, &name, "RPOP pages") < 0)
        return false;
    key = shoal_reply_string(shoal_result_reply(name), &bytes);
    bytes = 0;
    if (key && shoal_client_callf(client, &page, "GET %s", key) == 0) {
        shoal_reply_string(shoal_result_reply(page), &bytes);
        shoal_result_release(page);
    }
    shoal_result_release(name);
    return bytes == PAGE_BYTES;
}

static int publish_and_read(shoal_client_t *client, const char *page)
{
    char key[32];
    int good = 0;

    for (int i = 0; i < PAGES; i++) {
        snprintf(key, sizeof key, "page:%d", i % 5);
        good += publish(client, key, page) && read_next(client);
    }
    return good;
}

/* How long do small commands take meanwhile? */
static bool show(const char *url, bool has_lane, const char *page)
{
    shoal_options_t *options = NULL;
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_stats_t stats = SHOAL_STATS_INIT;
    visitor_t visitor = {.client = NULL};
    pthread_t thread;
    int good = 0, rc = shoal_options_from_url(url, &options, &error);

    if (rc == 0)
        rc = shoal_options_set_bulk_lane(options, has_lane);
    if (rc == 0)
        rc = shoal_client_open(options, &visitor.client, &error);
    shoal_options_free(options);
    if (rc < 0) {
        fprintf(stderr, "open: %s\n", error.text);
        return false;
    }
    if (pthread_create(&thread, NULL, visit, &visitor) == 0) {
        good = publish_and_read(visitor.client, page);
        visitor.is_over = true;
        pthread_join(thread, NULL);
    }
    shoal_stats_get(visitor.client, &stats);
    printf("%s a bulk lane: %d pages beside %u visits, which took %.2f ms on average, "
           "%.1f ms at most; %llu commands took the lane\n",
           has_lane ? "with" : "without", good, visitor.visits,
           visitor.visits > 0 ? visitor.waited_ms / visitor.visits : 0.0,
           visitor.slowest_ms, (unsigned long long)stats.bulk);
    shoal_client_close_and_wait(visitor.client, 1000000);
    shoal_client_release(visitor.client);
    return good == PAGES;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    char *page = malloc(PAGE_BYTES);
    bool is_good;

    if (!page)
        return 1;
    memset(page, 'p', PAGE_BYTES);
    is_good = show(url, false, page) && show(url, true, page);
    free(page);
    return is_good ? 0 : 1;
}
