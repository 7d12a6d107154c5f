/* SPDX-License-Identifier: MIT */

/* Explicit pipelines on many connections at once: a thread fills the pipeline of every
 * connection whose former one was answered, and waits for any of them.  That is how
 * load generators and servers with many connections do it. */

#include "load/clock.h"
#include "load/crew.h"
#include "load/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_MAX 256
#define PATIENCE_MS 50 /* between two looks at the phase */

typedef struct pipeline {
    redisContext *connection;
    commands_t commands; /* as many as replies are compared with; else one */
    uint64_t begin_ns;
    uint64_t left;   /* replies that have not come */
    bool is_blocked; /* not all of it is written */
} pipeline_t;

typedef struct pipelines_thread {
    run_t *run;
    int epoll;
    pipeline_t *pipelines;
    size_t pipelines_count;
    size_t commands_count; /* of each pipeline */
    uint64_t busy;         /* pipelines with replies to come */
} pipelines_thread_t;

typedef struct pipelines_load {
    pipelines_thread_t *threads;
    size_t threads_count;
    crew_t crew;
} pipelines_load_t;

static bool watch(const pipelines_thread_t *thread, pipeline_t *pipeline, int operation)
{
    struct epoll_event event = {
        .events = EPOLLIN | (pipeline->is_blocked ? (uint32_t)EPOLLOUT : 0u),
        .data.ptr = pipeline,
    };
    if (epoll_ctl(thread->epoll, operation, pipeline->connection->fd, &event) == 0)
        return true;
    run_fail(thread->run, "epoll: %s", strerror(errno));
    return false;
}

static bool write_some(const pipelines_thread_t *thread, pipeline_t *pipeline)
{
    bool was_blocked = pipeline->is_blocked;
    int done = 0;

    if (redisBufferWrite(pipeline->connection, &done) != REDIS_OK) {
        run_fail(thread->run, "%s", pipeline->connection->errstr);
        return false;
    }
    pipeline->is_blocked = !done;
    return was_blocked == pipeline->is_blocked ||
           watch(thread, pipeline, EPOLL_CTL_MOD);
}

static bool begin(pipelines_thread_t *thread, pipeline_t *pipeline)
{
    const run_t *run = thread->run;
    uint64_t depth = run->strategy->depth;

    pipeline->begin_ns = clock_ns();
    for (uint64_t i = 0; i < depth; i++) {
        command_t *command = &pipeline->commands.list[i % thread->commands_count];
        command_next(command, run->workload);
        redisAppendCommandArgv(pipeline->connection, (int)command->argc, command->argv,
                               command->argvlen);
    }
    pipeline->left = depth;
    thread->busy++;
    return write_some(thread, pipeline);
}

/* Takes the replies that have come; false if the connection is lost. */
static bool read_some(pipelines_thread_t *thread, pipeline_t *pipeline)
{
    run_t *run = thread->run;
    uint64_t left = pipeline->left;
    bool is_well = redisBufferRead(pipeline->connection) == REDIS_OK;

    while (is_well && pipeline->left > 0) {
        void *reply = NULL;
        is_well = redisGetReplyFromReader(pipeline->connection, &reply) == REDIS_OK;
        if (!reply)
            break;
        uint64_t index = run->strategy->depth - pipeline->left;
        run_check_reply(run, &pipeline->commands.list[index % thread->commands_count],
                        reply);
        freeReplyObject(reply);
        pipeline->left--;
    }
    if (!is_well) {
        run_fail(run, "%s", pipeline->connection->errstr);
        return false;
    }
    if (pipeline->left < left)
        run_count_shared(run, left - pipeline->left);
    if (pipeline->left > 0)
        return true;
    thread->busy--;
    if (run_phase(run) == RUN_MEASURING)
        histogram_record_shared(run->latency, clock_ns() - pipeline->begin_ns);
    return run_phase(run) == RUN_STOPPING || begin(thread, pipeline);
}

static void *work(void *member)
{
    pipelines_thread_t *thread = member;
    struct epoll_event events[EVENTS_MAX];
    bool is_well = true;

    for (size_t i = 0; i < thread->pipelines_count && is_well; i++)
        is_well = begin(thread, &thread->pipelines[i]);
    while (is_well && thread->busy > 0 && !atomic_load(&thread->run->has_failed)) {
        int count = epoll_wait(thread->epoll, events, EVENTS_MAX, PATIENCE_MS);
        for (int i = 0; i < count && is_well; i++) {
            pipeline_t *pipeline = events[i].data.ptr;
            if ((events[i].events & EPOLLOUT) != 0)
                is_well = write_some(thread, pipeline);
            if (is_well && (events[i].events & ~(uint32_t)EPOLLOUT) != 0)
                is_well = read_some(thread, pipeline);
        }
    }
    return NULL;
}

/* Connects one pipeline, watched and with its commands. */
static int pipeline_init(pipelines_thread_t *thread, pipeline_t *pipeline,
                         uint64_t seed)
{
    run_t *run = thread->run;
    char problem[128];

    pipeline->connection =
        target_connect(&run->options->target, problem, sizeof problem);
    if (!pipeline->connection)
        return run_fail(run, "connection %zu: %s", thread->pipelines_count, problem);
    if (commands_init(&pipeline->commands, run->workload, seed,
                      thread->commands_count) < 0)
        return run_fail(run, "out of memory");
    fcntl(pipeline->connection->fd, F_SETFL, O_NONBLOCK);
    pipeline->connection->flags &= ~REDIS_BLOCK;
    return watch(thread, pipeline, EPOLL_CTL_ADD) ? 0 : -1;
}

static int thread_init(pipelines_thread_t *thread, run_t *run, size_t index)
{
    size_t threads = run->options->threads;
    size_t all = options_explicit_connections(run->options);
    size_t share = all / threads + (index < all % threads);

    thread->run = run;
    thread->epoll = epoll_create1(EPOLL_CLOEXEC);
    thread->commands_count = run->workload->is_verified ? run->strategy->depth : 1;
    thread->pipelines = calloc(share + 1, sizeof *thread->pipelines);
    if (thread->epoll < 0 || !thread->pipelines)
        return run_fail(run, "out of memory or of descriptors");
    for (; thread->pipelines_count < share; thread->pipelines_count++) {
        pipeline_t *pipeline = &thread->pipelines[thread->pipelines_count];
        uint64_t number = index * all + thread->pipelines_count;
        if (pipeline_init(thread, pipeline,
                          run->options->seed + number * thread->commands_count) < 0) {
            thread->pipelines_count++; /* release what there is of it */
            return -1;
        }
    }
    return 0;
}

static int start(run_t *run)
{
    size_t count = run->options->threads;
    pipelines_load_t *load = calloc(1, sizeof *load);
    if (load)
        load->threads = calloc(count, sizeof *load->threads);
    run->load = load;
    run->sampling = run->strategy->depth;
    if (!load || !load->threads)
        return run_fail(run, "out of memory");
    for (size_t i = 0; i < count; i++)
        load->threads[i].epoll = -1;
    for (; load->threads_count < count; load->threads_count++) {
        if (thread_init(&load->threads[load->threads_count], run, load->threads_count) <
            0) {
            load->threads_count++;
            return -1;
        }
    }
    return crew_start(&load->crew, run, count, work, load->threads,
                      sizeof *load->threads);
}

static void count(const run_t *run, load_counters_t *ret_counters)
{
    (void)run;
    *ret_counters = (load_counters_t){0};
}

static void stop(run_t *run)
{
    pipelines_load_t *load = run->load;
    if (!load)
        return;
    crew_join(&load->crew);
    for (size_t i = 0; i < load->threads_count; i++) {
        pipelines_thread_t *thread = &load->threads[i];
        for (size_t k = 0; k < thread->pipelines_count; k++) {
            pipeline_t *pipeline = &thread->pipelines[k];
            commands_release(&pipeline->commands);
            if (pipeline->connection)
                redisFree(pipeline->connection);
        }
        free(thread->pipelines);
        if (thread->epoll >= 0)
            close(thread->epoll);
    }
    free(load->threads);
    free(load);
}

const load_kind_t load_pipelines = {start, count, stop};
