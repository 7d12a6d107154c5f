/* SPDX-License-Identifier: MIT */
#include "load/pusher.h"

#include "load/clock.h"
#include "server/machine.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_NS_MAX 50000000u /* between two looks at the phase */
#define UNANSWERED_MAX 100     /* pushes under way: a slow answer holds up none */
#define ELEMENT_BYTES 24

static int fail(const pusher_t *pusher, const char *why)
{
    return run_fail(pusher->run, "pusher: %s", why);
}

/* Sends a command.  Returns -1 after run_fail(). */
static int send_command(pusher_t *pusher, const char *format, ...)
{
    int is_sent = 0;
    va_list args;

    va_start(args, format);
    int rc = redisvAppendCommand(pusher->connection, format, args);
    va_end(args);
    while (rc == REDIS_OK && !is_sent)
        rc = redisBufferWrite(pusher->connection, &is_sent);
    if (rc != REDIS_OK)
        return fail(pusher, pusher->connection->errstr);
    pusher->unanswered++;
    return 0;
}

/* Awaits all answers.  Returns -1 after run_fail(). */
static int await_answers(pusher_t *pusher)
{
    int rc = 0;

    for (; rc == 0 && pusher->unanswered > 0; pusher->unanswered--) {
        void *answer;
        if (redisGetReply(pusher->connection, &answer) != REDIS_OK)
            return fail(pusher, pusher->connection->errstr);
        const redisReply *reply = answer;
        if (reply->type == REDIS_REPLY_ERROR)
            rc = fail(pusher, reply->str);
        freeReplyObject(answer);
    }
    return rc;
}

/* Sleeps until then; false if the run is over before. */
static bool await(run_t *run, uint64_t due_ns)
{
    for (uint64_t now_ns = clock_ns(); now_ns < due_ns; now_ns = clock_ns()) {
        uint64_t left_ns = due_ns - now_ns;
        const struct timespec pause = {
            .tv_nsec = (long)(left_ns < PAUSE_NS_MAX ? left_ns : PAUSE_NS_MAX)};
        if (run_phase(run) == RUN_STOPPING)
            return false;
        nanosleep(&pause, NULL);
    }
    return run_phase(run) != RUN_STOPPING;
}

/* An element that is late is pushed at once; its moment is that of the push. */
static void *push(void *member)
{
    pusher_t *pusher = member;
    const options_t *options = pusher->run->options;
    double interval_ns = 1e9 / (double)options->pushes;
    uint64_t start_ns = clock_ns();

    machine_sleep_precisely();
    if (options->generator_cpu != MACHINE_NO_CPU)
        machine_pin(options->generator_cpu);
    for (uint64_t number = 1;
         await(pusher->run, start_ns + (uint64_t)((double)number * interval_ns));
         number++) {
        if (send_command(pusher, "RPUSH " PUSHER_LIST " %llu",
                         (unsigned long long)clock_ns()) < 0)
            break;
        if (pusher->unanswered == UNANSWERED_MAX && await_answers(pusher) < 0)
            break;
    }
    return NULL;
}

int pusher_start(pusher_t *pusher, run_t *run)
{
    char problem[128];

    *pusher = (pusher_t){
        .run = run,
        .connection = target_connect(&run->options->target, problem, sizeof problem)};
    if (!pusher->connection)
        return run_fail(run, "pusher: %s", problem);
    if (send_command(pusher, "DEL " PUSHER_LIST) < 0 || await_answers(pusher) < 0)
        return -1;
    return crew_start(&pusher->crew, run, 1, push, pusher, sizeof *pusher);
}

void pusher_stop(pusher_t *pusher, uint64_t waiters)
{
    crew_join(&pusher->crew);
    for (uint64_t i = 0; pusher->connection && i < waiters; i++) {
        if (send_command(pusher, "RPUSH " PUSHER_LIST " 0") < 0)
            return;
    }
}

void pusher_release(pusher_t *pusher)
{
    if (!pusher->connection)
        return;
    if (send_command(pusher, "DEL " PUSHER_LIST) == 0)
        (void)await_answers(pusher);
    redisFree(pusher->connection);
    *pusher = (pusher_t){0};
}

uint64_t pusher_cpu_ns(const pusher_t *pusher)
{
    clockid_t clock;

    if (pusher->crew.count == 0 ||
        pthread_getcpuclockid(pusher->crew.threads[0], &clock) != 0)
        return 0;
    return clock_read_ns(clock);
}

uint64_t pusher_moment_ns(const char *element, size_t bytes)
{
    char text[ELEMENT_BYTES] = "";

    if (bytes >= sizeof text)
        return 0;
    memcpy(text, element, bytes);
    return strtoull(text, NULL, 10);
}
