/* SPDX-License-Identifier: MIT */

/* A job queue's worker, which loses no job.  It moves a job from the list "jobs" to a list
 * of its own, does it, records the result in "results", and only then removes it.  So what
 * stands in its list is to be done: after a lost reply as after the death of the worker.
 * A job may be done twice; each needs a name of its own.
 *
 *     job_worker [URL [NAME]]     default redis://127.0.0.1:6379 worker; SIGTERM ends it */

#include <poll.h>
#include <shoal/shoal.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

static volatile sig_atomic_t stopping;

static void stop(int number)
{
    (void)number;
    stopping = 1;
}

/* Did a call work?  If not, say why, and pause for a second or until a signal. */
static bool worked(const char *what, int rc, const shoal_result_t *result)
{
    if (rc == 0 && !shoal_result_error(result))
        return true;
    fprintf(stderr, "%s: %s\n", what,
            rc < 0 ? shoal_strerror(rc) : shoal_result_error(result));
    poll(NULL, 0, stopping ? 0 : 1000);
    return false;
}

/* Wait for a job and move it to `mine`.  The server waits for a second at most, which is
 * well within the deadline of the call, so the answer comes back in any case. */
static void fetch(shoal_client_t *waiter, const char *mine)
{
    shoal_call_t call = SHOAL_CALL_INIT;
    shoal_result_t *result;
    int rc;

    call.flags = SHOAL_CALL_MAY_BLOCK;
    rc = shoal_client_callf_with(waiter, &call, &result, "BLMOVE jobs %s LEFT RIGHT 1",
                                 mine);
    worked("BLMOVE", rc, result);
    shoal_result_release(result);
}

/* Do a job: its result is its length.  Record that, then remove the job. */
static void finish(shoal_client_t *shared, const char *mine, const char *job,
                   size_t bytes)
{
    shoal_result_t *set, *removed = NULL;
    int rc = shoal_client_callf(shared, &set, "HSET results %b %llu", job, bytes,
                                (unsigned long long)bytes);

    if (worked("HSET", rc, set)) {
        rc = shoal_client_callf(shared, &removed, "LREM %s 1 %b", mine, job, bytes);
        worked("LREM", rc, removed);
    }
    shoal_result_release(set);
    shoal_result_release(removed);
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    const struct sigaction action = {.sa_handler = stop};
    shoal_client_t *waiter = NULL, *shared = NULL;
    shoal_error_t why = SHOAL_ERROR_INIT;
    char mine[100];

    snprintf(mine, sizeof mine, "jobs:%s", argc > 2 ? argv[2] : "worker");
    sigaction(SIGTERM, &action, NULL);
    if (shoal_client_open_url(url, &waiter, &why) < 0 ||
        shoal_client_open_url(url, &shared, &why) < 0) {
        fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    while (!stopping) {
        shoal_result_t *result;
        size_t bytes;
        /* On the client of BLMOVE: one whose reply was lost ended before this. */
        int rc = shoal_client_callf(waiter, &result, "LINDEX %s 0", mine);
        if (worked("LINDEX", rc, result)) {
            const char *job = shoal_reply_string(shoal_result_reply(result), &bytes);
            if (job)
                finish(shared, mine, job, bytes);
            else
                fetch(waiter, mine);
        }
        shoal_result_release(result);
    }
    shoal_client_close_and_wait(waiter, 0);
    shoal_client_close_and_wait(shared, 0);
    shoal_client_release(waiter);
    shoal_client_release(shared);
    return 0;
}
