/* SPDX-License-Identifier: MIT */
#include "pubsub/publisher.h"

#include "load/clock.h"
#include "load/shoal_load.h"
#include "pubsub/message.h"
#include "server/machine.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNANSWERED_MAX 1024u /* of a closed loop */
#define LATE_MAX 32768u      /* unanswered at a rate: the server is held up */
#define BATCH 64u            /* messages between two steps */
#define SILENCE_MS 100       /* then one more message goes out, in case all were lost */
#define SPIN_NS 100000u      /* sleeps while there is more time left than this */

typedef struct stream {
    run_t *run;
    shoal_client_t *client;
    char (*channels)[PUBLISHER_CHANNEL_BYTES];
    size_t *channels_bytes;
    uint64_t channels_count;
    char *payload;
    int credits; /* -1: none */
    uint64_t window;
    uint64_t published;
    uint64_t answered;
    uint64_t received; /* as far as the receiver has said */
    uint64_t timed_ns; /* when message `timed` went out */
    uint64_t timed;
    bool is_over; /* the receiver is gone */
} stream_t;

void publisher_channel(uint64_t number, char *text, size_t text_bytes)
{
    snprintf(text, text_bytes, "channel:%llu", (unsigned long long)number);
}

uint64_t publisher_channels(const options_t *options)
{
    return options->keyspace == 0 ? 1 : options->keyspace;
}

static bool goes_on(stream_t *stream)
{
    run_t *run = stream->run;
    return !stream->is_over && run_phase(run) != RUN_STOPPING &&
           !atomic_load(&run->has_failed);
}

static void on_answer(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    stream_t *stream = data;
    run_t *run = stream->run;

    (void)client;
    shoal_load_check(run, NULL, result);
    if (stream->answered++ == stream->timed) {
        if (run_phase(run) == RUN_MEASURING)
            histogram_record(run->latency, clock_ns() - stream->timed_ns);
        stream->timed = UINT64_MAX;
    }
    run_count(run, 1);
}

static void publish(stream_t *stream)
{
    uint64_t channel = stream->published % stream->channels_count;
    uint64_t now_ns = clock_ns();
    const char *argv[] = {"PUBLISH", stream->channels[channel], stream->payload};
    const size_t argvlen[] = {7, stream->channels_bytes[channel],
                              stream->run->options->value_bytes};

    message_write(stream->payload, (uint32_t)stream->published, now_ns);
    if (stream->timed == UINT64_MAX) {
        stream->timed = stream->published;
        stream->timed_ns = now_ns;
    }
    stream->published++;
    int rc =
        shoal_client_submit(stream->client, 3, argv, argvlen, on_answer, stream, NULL);
    if (rc != 0)
        run_fail(stream->run, "%s", shoal_strerror(rc));
}

/* What the receiver has said meanwhile. */
static void take_credits(stream_t *stream)
{
    char bytes[256];
    ssize_t count;

    if (stream->credits < 0)
        return;
    do {
        count = read(stream->credits, bytes, sizeof bytes);
        if (count > 0)
            stream->received += (uint64_t)count * MESSAGE_CREDIT;
    } while (count == sizeof bytes);
    stream->is_over = count == 0;
}

/* How many messages may go out now. */
static uint64_t room_of(const stream_t *stream)
{
    uint64_t room = UNANSWERED_MAX - (stream->published - stream->answered);

    if (stream->window == 0)
        return room;
    uint64_t under_way = stream->published - stream->received;
    uint64_t wanted = under_way < stream->window ? stream->window - under_way : 0;
    return wanted < room ? wanted : room;
}

static void step(stream_t *stream, uint64_t timeout_us)
{
    int rc = shoal_client_step(stream->client, timeout_us);
    if (rc < 0)
        run_fail(stream->run, "%s", shoal_strerror(rc));
}

/* Waits for answers or for the receiver. */
static void rest(stream_t *stream)
{
    struct pollfd fds[] = {{.fd = shoal_client_fd(stream->client), .events = POLLIN},
                           {.fd = stream->credits, .events = POLLIN}};

    if (poll(fds, 2, SILENCE_MS) == 0 && stream->published == stream->answered)
        publish(stream);
    step(stream, 0);
}

static void flood(stream_t *stream)
{
    while (goes_on(stream)) {
        uint64_t room = room_of(stream);
        for (uint64_t i = 0; i < room && i < BATCH; i++)
            publish(stream);
        step(stream, 0);
        take_credits(stream);
        if (room_of(stream) == 0)
            rest(stream);
    }
}

/* Sleeps or spins until then; hands the CPU over to whoever wants it. */
static void await(uint64_t due_ns)
{
    uint64_t now_ns = clock_ns();

    if (now_ns + SPIN_NS < due_ns) {
        const struct timespec pause = {.tv_nsec =
                                           (long)((due_ns - now_ns) % 50000000u / 2)};
        nanosleep(&pause, NULL);
    } else if (now_ns < due_ns) {
        sched_yield();
    }
}

/* Those that are due of one batch. */
static void publish_due(stream_t *stream, uint64_t due)
{
    for (uint64_t i = 0; i < BATCH && stream->published < due &&
                         stream->published - stream->answered < LATE_MAX;
         i++)
        publish(stream);
}

static void pace(stream_t *stream)
{
    double interval_ns = 1e9 / (double)stream->run->options->rate;
    uint64_t start_ns = clock_ns();

    while (goes_on(stream)) {
        uint64_t due = 1 + (uint64_t)((double)(clock_ns() - start_ns) / interval_ns);
        bool is_late = stream->published < due;
        publish_due(stream, due);
        step(stream, 0);
        take_credits(stream);
        if (!is_late)
            await(start_ns + (uint64_t)((double)due * interval_ns));
        else if (stream->published < due)
            sched_yield();
    }
}

static int open_stream(stream_t *stream)
{
    const options_t *asked = stream->run->options;
    uint64_t count = stream->channels_count;
    shoal_options_t *options = shoal_load_options(stream->run);

    if (!options)
        return -1;
    int rc = shoal_client_open_borrowed(options, &stream->client, NULL);
    shoal_options_free(options);
    if (rc != 0)
        return run_fail(stream->run, "%s", shoal_strerror(rc));
    stream->channels = calloc(count, sizeof *stream->channels);
    stream->channels_bytes = calloc(count, sizeof *stream->channels_bytes);
    stream->payload = malloc(asked->value_bytes);
    if (!stream->channels || !stream->channels_bytes || !stream->payload) {
        run_fail(stream->run, "out of memory");
        return -1;
    }
    memset(stream->payload, 'x', asked->value_bytes);
    for (uint64_t i = 0; i < count; i++) {
        publisher_channel(i, stream->channels[i], sizeof *stream->channels);
        stream->channels_bytes[i] = strlen(stream->channels[i]);
    }
    return 0;
}

static void close_stream(stream_t *stream)
{
    if (stream->client)
        shoal_client_close_and_wait(stream->client, SHOAL_LOAD_DRAIN_US);
    shoal_client_release(stream->client);
    free(stream->channels);
    free(stream->channels_bytes);
    free(stream->payload);
}

void publisher_run(run_t *run, int credits)
{
    const options_t *options = run->options;
    stream_t stream = {.run = run,
                       .channels_count = publisher_channels(options),
                       .credits = credits,
                       .window = credits < 0 ? 0 : options->window,
                       .timed = UINT64_MAX};

    machine_sleep_precisely();
    if (open_stream(&stream) == 0) {
        if (options->rate != 0)
            pace(&stream);
        else
            flood(&stream);
    }
    close_stream(&stream);
}
