/* SPDX-License-Identifier: MIT */
#include "caller.h"

#include "moment.h"
#include <stdlib.h>
#include <unistd.h>

/* A call comes back after so long, so that the interpreter can look at its signals. */
#define SLICE_US 100000

/* Threads on their way back to Python. */
static shoalpy_turnstile_t turnstile;
static bool has_turnstile;
static pid_t turnstile_process; /* that made it */

int shoalpy_callers_init(void)
{
    int rc = 0;

    if (!has_turnstile || turnstile_process != getpid())
        rc = shoalpy_turnstile_init(&turnstile);
    turnstile_process = getpid();
    has_turnstile = rc == 0;
    return rc;
}

unsigned shoalpy_callers_turns(void)
{
    return atomic_load(&turnstile.releases);
}

/* The results of many commands, filled by the loop thread. */
struct shoalpy_collection {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done; /* under the lock */
    pid_t process;
    size_t remaining;   /* loop thread, once submitted */
    shoalpy_way_t *way; /* its results are the loop thread's until is_done */
};

shoalpy_caller_t *shoalpy_caller_new(void)
{
    shoalpy_caller_t *caller = calloc(1, sizeof *caller);

    if (caller) {
        caller->error.size = sizeof caller->error;
        shoalpy_results_init(&caller->results, false);
    }
    return caller;
}

void shoalpy_caller_free(shoalpy_caller_t *caller)
{
    if (!caller)
        return;
    /* Its thread has ended, and may have the turn.  A forked interpreter frees the callers
     * of threads that it does not have before it calls shoalpy_callers_init(): the lock may
     * be held by one of them. */
    if (has_turnstile && turnstile_process == getpid())
        shoalpy_turnstile_leave(&turnstile, caller);
    shoalpy_requests_release(&caller->requests);
    shoalpy_stream_release(&caller->stream);
    shoalpy_writer_release(&caller->writer);
    shoalpy_results_release(&caller->results);
    free(caller);
}

shoalpy_requests_t *shoalpy_caller_requests(shoalpy_caller_t *caller)
{
    return &caller->requests;
}

/* Read the commands, unless a packer has put them, and enter the core, which lasts from now
 * on.  0 or an error. */
static int begin(shoalpy_caller_t *caller, shoalpy_core_t *core, const char *stream,
                 size_t bytes)
{
    int rc;

    if (has_turnstile)
        shoalpy_turnstile_leave(&turnstile, caller);
    if (caller->core) /* a signal handler calls within the call that it interrupted */
        return SHOAL_ELOOP;
    caller->error.text[0] = '\0';
    rc = stream ? shoalpy_requests_read(&caller->requests, stream, bytes) : 0;
    caller->refused_at = caller->requests.count;
    if (rc == 0)
        rc = shoalpy_core_enter(core);
    if (rc == 0)
        caller->core = core;
    return rc;
}

int shoalpy_caller_lend(shoalpy_caller_t *caller, const shoalpy_buffer_t *buffers,
                        size_t count)
{
    return shoalpy_requests_lend(&caller->requests, buffers, count);
}

static void end(shoalpy_caller_t *caller)
{
    shoalpy_core_leave(caller->core);
    caller->core = NULL;
}

/* The call is over, and has a result. */
static void return_in_turn(shoalpy_caller_t *caller)
{
    end(caller);
    if (has_turnstile)
        shoalpy_turnstile_enter(&turnstile, caller);
}

static int64_t tell(const shoalpy_stream_t *stream, enum shoalpy_kind kind)
{
    return (int64_t)stream->bytes * 8 + kind;
}

/* Large arguments are lent, although a blocking call would lend them by itself: Python waits
 * in slices of 100 ms, so that signals are seen, and each slice is a call of its own.  There
 * is nothing to release: the caller waits for the last result, which comes later. */
static void on_release(void *data)
{
    (void)data;
}

/* ---- one command ---- */

static int64_t take_result(shoalpy_caller_t *caller, shoal_result_t *result)
{
    enum shoalpy_kind kind =
        shoalpy_result_write(result, &caller->writer, &caller->stream);
    bool is_whole = shoalpy_stream_end(&caller->stream);

    shoal_result_release(result);
    caller->pending = NULL;
    return_in_turn(caller);
    if (!is_whole)
        return SHOAL_ENOMEM;
    caller->data = caller->stream.data;
    return tell(&caller->stream, kind);
}

int64_t shoalpy_caller_call(shoalpy_caller_t *caller, shoalpy_core_t *core,
                            const char *stream, size_t bytes, uint32_t call_flags,
                            uint64_t timeout_us, unsigned reply_flags,
                            const shoalpy_target_t *target, shoalpy_into_t *into)
{
    shoal_call_t call = {.size = sizeof call,
                         .flags = call_flags | SHOAL_CALL_SINK_HERE,
                         .timeout_us = timeout_us,
                         .error = &caller->error};
    shoal_result_t *result = NULL;
    int rc = begin(caller, core, stream, bytes);

    if (rc < 0)
        return rc;
    shoalpy_target_set(target, &call);
    if (into) {
        call.chunks = &shoalpy_into_sink;
        call.sink_data = into;
    } else {
        call.sink = &shoalpy_writer_sink;
        call.sink_data = &caller->writer;
    }
    if (caller->requests.has_large)
        call.on_release = on_release;
    shoalpy_stream_begin(&caller->stream);
    shoalpy_writer_begin(&caller->writer, reply_flags, &caller->stream);
    rc = caller->requests.count == 1
             ? shoal_client_call_begin(core->client, caller->requests.commands, &call,
                                       SLICE_US, &caller->pending, &result)
             : SHOAL_EINVAL;
    if (rc == 0)
        return take_result(caller, result);
    if (rc != SHOAL_EAGAIN)
        end(caller);
    return rc;
}

/* ---- many commands ---- */

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoalpy_collection_t *collection = data;

    (void)client;
    shoalpy_results_add(collection->way->results, result, collection->way->reply_flags);
    if (--collection->remaining > 0)
        return;
    pthread_mutex_lock(&collection->lock);
    collection->is_done = true;
    pthread_cond_signal(&collection->changed);
    pthread_mutex_unlock(&collection->lock);
}

static shoalpy_collection_t *new_collection(shoalpy_caller_t *caller,
                                            unsigned reply_flags)
{
    shoalpy_collection_t *collection = calloc(1, sizeof *collection);

    if (!collection)
        return NULL;
    if (pthread_mutex_init(&collection->lock, NULL) != 0)
        goto fail_lock;
    if (shoalpy_condition_init(&collection->changed) < 0)
        goto fail_changed;
    collection->remaining = caller->requests.count;
    collection->process = getpid();
    collection->way = &caller->results.ways[reply_flags];
    shoalpy_results_clear(&caller->results);
    return collection;

fail_changed:
    pthread_mutex_destroy(&collection->lock);
fail_lock:
    free(collection);
    return NULL;
}

static void free_collection(shoalpy_collection_t *collection)
{
    pthread_cond_destroy(&collection->changed);
    pthread_mutex_destroy(&collection->lock);
    free(collection);
}

static int64_t wait_for_many(shoalpy_caller_t *caller, uint64_t wait_us)
{
    shoalpy_collection_t *collection = caller->collection;
    const struct timespec until = shoalpy_moment(wait_us);
    bool is_done;
    int64_t bytes;

    if (collection->process != getpid()) /* forked during the call: no thread answers */
        return SHOAL_EFORK;
    pthread_mutex_lock(&collection->lock);
    while (!collection->is_done &&
           pthread_cond_timedwait(&collection->changed, &collection->lock, &until) == 0)
        continue;
    is_done = collection->is_done;
    pthread_mutex_unlock(&collection->lock);
    if (!is_done)
        return SHOAL_EAGAIN;

    free_collection(collection);
    caller->collection = NULL;
    return_in_turn(caller);
    bytes = shoalpy_results_end(&caller->results);
    if (bytes < 0)
        return bytes;
    caller->data = caller->results.stream.data;
    return tell(&caller->results.stream, SHOALPY_PLAIN);
}

int64_t shoalpy_caller_call_many(shoalpy_caller_t *caller, shoalpy_core_t *core,
                                 const char *stream, size_t bytes, uint32_t call_flags,
                                 uint64_t timeout_us, unsigned reply_flags,
                                 const shoalpy_target_t *target)
{
    shoal_call_t call = {.size = sizeof call,
                         .flags = call_flags,
                         .timeout_us = timeout_us,
                         .sink = &shoalpy_results_sink,
                         .sink_data = &caller->results.ways[reply_flags],
                         .error = &caller->error};
    uint64_t ticket = 0;
    int rc = begin(caller, core, stream, bytes);

    if (rc < 0)
        return rc;
    shoalpy_target_set(target, &call);
    if (!call.lease)
        call.flags |= SHOAL_CALL_SINK_SHARED;
    if (caller->requests.has_large)
        call.on_release = on_release;
    caller->collection = new_collection(caller, reply_flags);
    rc = caller->collection
             ? shoal_client_submit_many(core->client, caller->requests.commands,
                                        caller->requests.count, &call, on_result,
                                        caller->collection, &ticket)
             : SHOAL_ENOMEM;
    if (rc == 0) {
        caller->first = shoalpy_number(ticket, false);
        return wait_for_many(caller, SLICE_US);
    }
    if (caller->collection)
        free_collection(caller->collection);
    caller->collection = NULL;
    end(caller);
    return rc;
}

/* ---- later ---- */

int64_t shoalpy_caller_resume(shoalpy_caller_t *caller)
{
    shoal_result_t *result = NULL;
    int rc;

    if (!caller->core)
        return SHOAL_EINVAL;
    if (caller->collection)
        return wait_for_many(caller, SLICE_US);
    rc = shoal_pending_wait(caller->pending, SLICE_US, &result);
    return rc == 0 ? take_result(caller, result) : rc;
}

int64_t shoalpy_caller_give_up(shoalpy_caller_t *caller)
{
    shoal_result_t *result = NULL;
    int64_t outcome;
    int rc;

    if (!caller->core)
        return SHOAL_EINVAL;
    if (caller->pending) {
        rc = shoal_pending_give_up(caller->pending, &result);
        return rc == 0 ? take_result(caller, result) : rc;
    }
    if (caller->collection->process != getpid())
        return SHOAL_EFORK;
    /* A command that has its result already is not found, which does no harm. */
    for (size_t i = 0; i < caller->requests.count; i++)
        (void)shoal_client_cancel(caller->core->client, caller->first + i);
    do
        outcome = wait_for_many(caller, SLICE_US);
    while (outcome == SHOAL_EAGAIN);
    return outcome;
}
