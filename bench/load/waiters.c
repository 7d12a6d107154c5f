/* SPDX-License-Identifier: MIT */
#include "load/waiters.h"

#include "load/clock.h"

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data);

static void wait_for_one(waiters_t *waiters, shoal_client_t *client)
{
    static const char *const words[] = {PUSHER_POP};
    int rc = shoal_client_submit(client, sizeof words / sizeof *words, words, NULL,
                                 on_result, waiters, NULL);

    if (rc != 0 && rc != SHOAL_ECLOSED)
        run_fail(waiters->run, "%s", shoal_strerror(rc));
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    waiters_t *waiters = data;
    run_t *run = waiters->run;
    uint64_t now_ns = clock_ns();
    uint64_t pushed_ns = shoal_load_pushed_ns(result);
    run_phase_t phase = run_phase(run);
    const shoal_reply_t *reply = shoal_result_reply(result);

    /* In the end the clients are closed, and may be before the pusher's last elements come. */
    if (reply ? shoal_reply_type(reply) == SHOAL_REPLY_ERROR
              : phase != RUN_STOPPING || shoal_result_status(result) != SHOAL_ECLOSED)
        shoal_load_check_slowly(run, NULL, result, reply);
    if (waiters->is_measured && pushed_ns != 0) {
        if (phase == RUN_MEASURING)
            histogram_record_shared(run->latency, now_ns - pushed_ns);
        run_count_shared(run, 1);
    }
    if (phase != RUN_STOPPING)
        wait_for_one(waiters, client);
}

int waiters_start(waiters_t *waiters, run_t *run, const shoal_clients_t *clients)
{
    waiters->run = run;
    for (uint64_t i = 0; i < waiters->count; i++)
        wait_for_one(waiters, clients->clients[i % clients->count]);
    return pusher_start(&waiters->pusher, run);
}

void waiters_stop(waiters_t *waiters)
{
    pusher_stop(&waiters->pusher, waiters->count);
}

void waiters_release(waiters_t *waiters)
{
    pusher_release(&waiters->pusher);
}
