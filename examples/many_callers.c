/* SPDX-License-Identifier: MIT */

/* Many threads, each with one small command after another, over one connection.
 * The statistics show how they travelled together.
 *
 *     many_callers [URL]                           default redis://127.0.0.1:6379 */

#include <pthread.h>
#include <shoal/shoal.h>
#include <stdio.h>

#define THREADS 64
#define CALLS 500

/* Each thread counts in a key of its own. */
static void *count(void *data)
{
    shoal_client_t *client = data;
    long long last = 0;

    for (int i = 0; i < CALLS; i++) {
        shoal_result_t *result;
        int rc = shoal_client_callf(client, &result, "HINCRBY visits %llu 1",
                                    (unsigned long long)pthread_self());
        if (rc < 0) {
            fprintf(stderr, "refused: %s\n", shoal_strerror(rc));
            return NULL;
        }
        if (shoal_result_error(result))
            fprintf(stderr, "failed: %s\n", shoal_result_error(result));
        else
            last = shoal_reply_integer(shoal_result_reply(result));
        shoal_result_release(result);
    }
    return last == CALLS ? data : NULL;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_client_t *client;
    pthread_t threads[THREADS];
    shoal_result_t *result;
    shoal_stats_t stats = SHOAL_STATS_INIT;
    int started = 0, good = 0, rc;

    if (shoal_client_open_url(url, &client, &error) < 0) {
        fprintf(stderr, "open: %s\n", error.text);
        return 1;
    }
    if (shoal_client_callf(client, &result, "DEL visits") == 0)
        shoal_result_release(result);
    while (started < THREADS &&
           pthread_create(&threads[started], NULL, count, client) == 0)
        started++;
    for (int i = 0; i < started; i++) {
        void *is_good;
        pthread_join(threads[i], &is_good);
        good += is_good != NULL;
    }
    shoal_stats_get(client, &stats);
    printf("%d of %d threads counted to %d\n", good, THREADS, CALLS);
    printf(
        "%llu commands in %llu writes: %.1f in each; half were answered in %llu us\n",
        (unsigned long long)stats.commands, (unsigned long long)stats.writes,
        (double)stats.commands / (double)stats.writes,
        (unsigned long long)shoal_stats_latency_us(&stats, SHOAL_STAGE_TOTAL, 500));
    rc = shoal_client_close_and_wait(client, 1000000);
    shoal_client_release(client);
    return rc < 0 || good != THREADS;
}
