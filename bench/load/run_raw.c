/* SPDX-License-Identifier: MIT */

/* The limit that a client can come close to: a thread writes commands that were
 * encoded before with one call, then reads until as many replies have gone through
 * the reader of hiredis, which builds nothing of them. */

#include "load/clock.h"
#include "load/crew.h"
#include "load/run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES 65536u
#define SLICE_BYTES 4096u /* the reader moves what is left for every KiB it consumes */

typedef struct raw_thread {
    run_t *run;
    redisContext *connection;
    redisReader *reader;
    char *batch; /* all commands, encoded */
    size_t batch_bytes;
    uint64_t writes; /* of the batch so far */
    _Alignas(64) _Atomic uint64_t writes_total;
    _Atomic uint64_t reads_total;
    char buffer[READ_BYTES];
} raw_thread_t;

typedef struct raw_load {
    raw_thread_t *threads;
    size_t threads_count;
    crew_t crew;
} raw_load_t;

/* Anything but NULL: the reader asks no more of an object. */
static char nothing[1];

static void *create_string(const redisReadTask *task, char *text, size_t bytes)
{
    if (task->type == REDIS_REPLY_ERROR)
        run_note_error(task->privdata, text, bytes);
    return nothing;
}

static void *create_array(const redisReadTask *task, size_t elements)
{
    (void)task;
    (void)elements;
    return nothing;
}

static void *create_integer(const redisReadTask *task, long long value)
{
    (void)task;
    (void)value;
    return nothing;
}

/* hiredis says char *. NOLINTNEXTLINE(readability-non-const-parameter) */
static void *create_double(const redisReadTask *task, double value, char *text,
                           size_t bytes)
{
    (void)task;
    (void)value;
    (void)text;
    (void)bytes;
    return nothing;
}

static void *create_nil(const redisReadTask *task)
{
    (void)task;
    return nothing;
}

static void *create_bool(const redisReadTask *task, int value)
{
    (void)task;
    (void)value;
    return nothing;
}

static void free_object(void *object)
{
    (void)object;
}

static redisReplyObjectFunctions no_objects = {
    .createString = create_string,
    .createArray = create_array,
    .createInteger = create_integer,
    .createDouble = create_double,
    .createNil = create_nil,
    .createBool = create_bool,
    .freeObject = free_object,
};

/* Encodes the batch behind each other; with a NULL `ret_bytes` only counts. */
static size_t encode_all(command_t *command, const workload_t *workload, uint64_t depth,
                         char *ret_bytes)
{
    size_t at = 0;

    for (uint64_t i = 0; i < depth; i++) {
        command_next(command, workload);
        at += command_encode(command, ret_bytes ? ret_bytes + at : NULL);
    }
    return at;
}

static int encode_batch(raw_thread_t *thread, uint64_t seed)
{
    const workload_t *workload = thread->run->workload;
    uint64_t depth = thread->run->strategy->depth;
    command_t command;

    assert(depth > 0); /* strategy_parse_mode() takes no other */

    /* The same commands twice: to count, and to write. */
    for (int pass = 0; pass < 2; pass++) {
        if (command_init(&command, workload, seed) < 0)
            return -1;
        thread->batch_bytes = encode_all(&command, workload, depth, thread->batch);
        command_release(&command);
        if (!thread->batch)
            thread->batch = malloc(thread->batch_bytes);
        if (!thread->batch)
            return -1;
    }
    return 0;
}

static bool write_batch(raw_thread_t *thread)
{
    for (size_t at = 0; at < thread->batch_bytes;) {
        ssize_t bytes =
            write(thread->connection->fd, thread->batch + at, thread->batch_bytes - at);
        if (bytes < 0 && errno != EINTR) {
            run_fail(thread->run, "write: %s", strerror(errno));
            return false;
        }
        at += bytes < 0 ? 0 : (size_t)bytes;
        thread->writes++;
    }
    return true;
}

/* Feeds what was read; returns the number of replies that were complete. */
static uint64_t take_replies(raw_thread_t *thread, size_t bytes)
{
    uint64_t replies = 0;

    for (size_t at = 0; at < bytes; at += SLICE_BYTES) {
        size_t slice = bytes - at < SLICE_BYTES ? bytes - at : SLICE_BYTES;
        redisReaderFeed(thread->reader, thread->buffer + at, slice);
        for (;;) {
            void *reply = NULL;
            if (redisReaderGetReply(thread->reader, &reply) != REDIS_OK) {
                run_fail(thread->run, "%s", thread->reader->errstr);
                return replies;
            }
            if (!reply)
                break;
            replies++;
        }
    }
    return replies;
}

/* Reads until every reply of the batch is there. */
static bool read_batch(raw_thread_t *thread)
{
    uint64_t left = thread->run->strategy->depth;
    uint64_t reads = 0;

    while (left > 0) {
        ssize_t bytes = read(thread->connection->fd, thread->buffer, READ_BYTES);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0) {
            run_fail(thread->run, "read: %s",
                     bytes < 0 ? strerror(errno) : "connection closed");
            return false;
        }
        reads++;
        uint64_t replies = take_replies(thread, (size_t)bytes);
        if (thread->reader->err)
            return false;
        left -= replies < left ? replies : left;
    }
    atomic_fetch_add_explicit(&thread->reads_total, reads, memory_order_relaxed);
    return true;
}

static void *work(void *member)
{
    raw_thread_t *thread = member;
    run_t *run = thread->run;

    while (run_phase(run) != RUN_STOPPING) {
        uint64_t begin_ns = clock_ns();
        if (!write_batch(thread) || !read_batch(thread))
            break;
        if (run_phase(run) == RUN_MEASURING)
            histogram_record_shared(run->latency, clock_ns() - begin_ns);
        atomic_store_explicit(&thread->writes_total, thread->writes,
                              memory_order_relaxed);
        run_count_shared(run, run->strategy->depth);
    }
    return NULL;
}

static int thread_init(raw_thread_t *thread, run_t *run, uint64_t seed)
{
    char problem[128];

    memset(thread, 0, sizeof *thread);
    thread->run = run;
    thread->connection = target_connect(&run->options->target, problem, sizeof problem);
    if (!thread->connection)
        return run_fail(run, "%s", problem);
    thread->reader = redisReaderCreateWithFunctions(&no_objects);
    if (!thread->reader || encode_batch(thread, seed) < 0)
        return run_fail(run, "out of memory");
    thread->reader->privdata = run;
    return 0;
}

static int start(run_t *run)
{
    size_t count = run->options->threads;
    raw_load_t *load = calloc(1, sizeof *load);
    if (load)
        load->threads = aligned_alloc(64, count * sizeof *load->threads);
    run->load = load;
    run->sampling = run->strategy->depth;
    if (!load || !load->threads)
        return run_fail(run, "out of memory");

    for (size_t i = 0; i < count; i++) {
        load->threads_count++;
        if (thread_init(&load->threads[i], run, run->options->seed + i) < 0)
            return -1;
    }
    return crew_start(&load->crew, run, count, work, load->threads,
                      sizeof *load->threads);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    const raw_load_t *load = run->load;

    *ret_counters = (load_counters_t){.has_calls = true};
    for (size_t i = 0; i < load->threads_count; i++) {
        ret_counters->writes += atomic_load(&load->threads[i].writes_total);
        ret_counters->reads += atomic_load(&load->threads[i].reads_total);
    }
}

static void stop(run_t *run)
{
    raw_load_t *load = run->load;
    if (!load)
        return;
    crew_join(&load->crew);
    for (size_t i = 0; i < load->threads_count; i++) {
        raw_thread_t *thread = &load->threads[i];
        if (thread->connection)
            redisFree(thread->connection);
        if (thread->reader)
            redisReaderFree(thread->reader);
        free(thread->batch);
    }
    free(load->threads);
    free(load);
}

const load_kind_t load_raw = {start, count, stop};
