/* SPDX-License-Identifier: MIT */
/* Waits for jobs in a list, while the same client does other work: a command that blocks on the
 * server goes over a connection of its own.
 *
 *     example_blocking_pop redis://127.0.0.1:6379 */
#include <semaphore.h>
#include <shoal/shoal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return false;
}

/* On the loop thread.  A program that must wait for the job keeps the reply here. */
static void on_job(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    const shoal_reply_t *reply = shoal_result_reply(result);
    size_t bytes = 0;
    const char *job = shoal_reply_string(shoal_reply_at(reply, 1), &bytes);

    (void)client;
    if (shoal_result_error(result))
        printf("no job: %s\n", shoal_result_error(result));
    else
        printf("job: %.*s\n", (int)bytes, job);
    sem_post(data);
}

static bool call(shoal_client_t *client, const char *command)
{
    shoal_result_t *result;
    int rc = shoal_client_callf(client, &result, command);
    bool works = true;

    if (rc < 0)
        return fail(command, shoal_strerror(rc));
    if (shoal_result_error(result))
        works = fail(command, shoal_result_error(result));
    shoal_result_release(result);
    return works;
}

/* It waits for ever, and holds up nobody: the next commands do not wait behind it. */
static bool wait_for_a_job(shoal_client_t *client)
{
    const char *const pop[] = {"BLPOP", "example:jobs", "0"};
    sem_t done;
    bool works;

    sem_init(&done, 0, 0);
    if (shoal_client_submit(client, 3, pop, NULL, on_job, &done, NULL) < 0)
        return fail("BLPOP", "refused");
    works = call(client, "PING") && call(client, "RPUSH example:jobs first");
    if (!works) /* no job will come: closing ends the wait */
        shoal_client_close_and_wait(client, 1000000);
    sem_wait(&done);
    sem_destroy(&done);
    return works;
}

/* A deadline: the server lets the command go, and the fate says that it took nothing. */
static bool wait_for_so_long(shoal_client_t *client)
{
    shoal_result_t *result;
    shoal_call_t soon = SHOAL_CALL_INIT;

    soon.timeout_us = 100000;
    if (shoal_client_callf_with(client, &soon, &result, "BLPOP example:jobs 0") < 0)
        return fail("BLPOP", "refused");
    printf("%s, %s\n", shoal_error_name(shoal_result_status(result)),
           shoal_fate_name(shoal_result_fate(result)));
    shoal_result_release(result);
    return true;
}

int main(int argc, char **argv)
{
    shoal_client_t *client;
    shoal_error_t why = SHOAL_ERROR_INIT;
    bool works;

    if (shoal_client_open_url(argc > 1 ? argv[1] : "redis://127.0.0.1:6379", &client,
                              &why) < 0)
        return !fail("open", why.text);
    works = call(client, "DEL example:jobs") && wait_for_a_job(client) &&
            wait_for_so_long(client);
    shoal_client_close_and_wait(client, 1000000);
    shoal_client_release(client);
    return works ? 0 : 1;
}
