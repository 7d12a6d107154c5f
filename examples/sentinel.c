/* SPDX-License-Identifier: MIT */

/* A counter that survives the failover of its server, and says what became of each step.
 *
 *     sentinel [URL [STEPS]]
 *
 * The URL names sentinels, for example redis+sentinel://s1,s2,s3/mymaster.  Any other URL
 * works, too; then there is no failover.
 *
 * A step that was not executed is done again: that is proved, so nothing is counted twice.
 * A step whose fate is unknown may have been counted.  A program that must not count twice
 * asks first, or gives each step a name that the server can remember. */

#include <shoal/shoal.h>
#include <stdio.h>
#include <stdlib.h>

#define DEADLINE_US 10000000 /* longer than a failover takes */
#define ATTEMPTS_MAX 3

typedef struct tally {
    unsigned counted, unknown, failed;
} tally_t;

static void on_event(shoal_client_t *client, const shoal_event_t *event, void *data)
{
    (void)client, (void)data;
    if (shoal_event_kind(event) == SHOAL_EVENT_SERVER_CHANGED ||
        shoal_event_kind(event) == SHOAL_EVENT_SENTINELS_LOST)
        printf("%s\n", shoal_event_detail(event));
}

/* Returns whether the step is to be done again. */
static bool judge(const shoal_result_t *result, tally_t *tally)
{
    if (!shoal_result_error(result)) {
        tally->counted++;
        return false;
    }
    printf("%s (%s)\n", shoal_result_error(result),
           shoal_fate_name(shoal_result_fate(result)));
    if (shoal_result_fate(result) == SHOAL_FATE_NOT_EXECUTED)
        return true;
    if (shoal_result_fate(result) == SHOAL_FATE_UNKNOWN)
        tally->unknown++;
    else
        tally->failed++;
    return false;
}

static void count_one(shoal_client_t *client, tally_t *tally)
{
    for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        shoal_result_t *result;
        bool is_again;

        if (shoal_client_callf(client, &result, "INCR steps") < 0)
            continue;
        is_again = judge(result, tally);
        shoal_result_release(result);
        if (!is_again)
            return;
    }
    tally->failed++;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "redis+sentinel://127.0.0.1/mymaster";
    unsigned long steps = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
    shoal_error_t error = SHOAL_ERROR_INIT;
    shoal_options_t *options = NULL;
    shoal_client_t *client = NULL;
    tally_t tally = {0};
    int rc = shoal_options_from_url(url, &options, &error);

    if (rc == 0) {
        shoal_options_set_on_event(options, on_event, NULL);
        shoal_options_set_timeout_us(options, DEADLINE_US);
        rc = shoal_client_open(options, &client, &error);
        shoal_options_free(options);
    }
    if (rc < 0) {
        fprintf(stderr, "open: %s\n", error.text);
        return 1;
    }
    for (unsigned long step = 0; step < steps; step++)
        count_one(client, &tally);
    printf("%u counted, %u unknown, %u failed\n", tally.counted, tally.unknown,
           tally.failed);
    rc = shoal_client_close_and_wait(client, 1000000);
    shoal_client_release(client);
    return tally.failed > 0 || rc < 0;
}
