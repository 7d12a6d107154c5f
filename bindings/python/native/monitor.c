/* SPDX-License-Identifier: MIT */
#include "monitor.h"

#include "bell.h"
#include "opcodes.h"
#include <shoal/lease.h>
#include <stdlib.h>
#include <unistd.h>

struct shoalpy_monitor {
    pid_t process;
    shoalpy_stream_t taken; /* the reader's */
    pthread_mutex_t lock;   /* of all that follows */
    shoalpy_bell_t bell;    /* rings for the reader */
    shoalpy_stream_t lines; /* not taken yet: a list that goes on */
    bool has_lines;
    bool has_lost;    /* lines for which there was no room */
    bool has_ended;   /* no more come, and the library has forgotten it */
    bool is_given_up; /* by its reader */
};

static void release(shoalpy_monitor_t *monitor)
{
    shoalpy_bell_close(&monitor->bell);
    shoalpy_stream_release(&monitor->taken);
    shoalpy_stream_release(&monitor->lines);
    pthread_mutex_destroy(&monitor->lock);
    free(monitor);
}

/* ---- the loop thread ---- */

/* Keep a line, or the reason why no more come, for the reader.  True: no more come. */
static bool add(shoalpy_monitor_t *monitor, const shoal_result_t *result)
{
    const shoal_reply_t *reply = shoal_result_reply(result);
    shoalpy_stream_t *lines = &monitor->lines;
    bool is_last = shoalpy_result_is_problem(result);
    size_t bytes = 0;
    const char *text = is_last ? NULL : shoal_reply_string(reply, &bytes);

    if (monitor->has_lost || monitor->is_given_up)
        return is_last;
    if (!monitor->has_lines) {
        shoalpy_stream_begin(lines);
        shoalpy_stream_opcode(lines, OP_EMPTY_LIST);
        shoalpy_stream_opcode(lines, OP_MARK);
        monitor->has_lines = true;
    }
    if (is_last)
        shoalpy_result_write_problem(result, lines);
    else if (lines->bytes + bytes > SHOALPY_MONITOR_BYTES_MAX)
        monitor->has_lost = true;
    else
        shoalpy_stream_short_bytes(lines, text, bytes);
    return is_last;
}

static void on_line(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoalpy_monitor_t *monitor = data;
    bool is_forgotten;

    (void)client;
    pthread_mutex_lock(&monitor->lock);
    monitor->has_ended = add(monitor, result);
    is_forgotten = monitor->has_ended && monitor->is_given_up;
    shoalpy_bell_ring(&monitor->bell);
    pthread_mutex_unlock(&monitor->lock);
    if (is_forgotten)
        release(monitor);
}

/* ---- the reader ---- */

static int submit(shoalpy_monitor_t *monitor, shoalpy_core_t *core,
                  shoal_lease_t *lease, uint64_t timeout_us, shoal_error_t *ret_error)
{
    const shoal_call_t call = {
        .size = sizeof call, .timeout_us = timeout_us, .error = ret_error};
    int rc = shoalpy_core_enter(core);

    if (rc < 0)
        return rc;
    rc = shoal_lease_monitor(lease, &call, on_line, monitor);
    shoalpy_core_leave(core);
    return rc;
}

int shoalpy_monitor_new(shoalpy_core_t *core, shoal_lease_t *lease, uint64_t timeout_us,
                        shoal_error_t *ret_error, shoalpy_monitor_t **ret_monitor)
{
    shoalpy_monitor_t *monitor = calloc(1, sizeof *monitor);
    int rc;

    if (!monitor)
        return SHOAL_ENOMEM;
    if (pthread_mutex_init(&monitor->lock, NULL) != 0) {
        free(monitor);
        return SHOAL_ESYSTEM;
    }
    monitor->process = getpid();
    if (!shoalpy_bell_open(&monitor->bell)) {
        pthread_mutex_destroy(&monitor->lock);
        free(monitor);
        return SHOAL_ESYSTEM;
    }
    rc = submit(monitor, core, lease, timeout_us, ret_error);
    if (rc < 0)
        release(monitor);
    else
        *ret_monitor = monitor;
    return rc;
}

void shoalpy_monitor_free(shoalpy_monitor_t *monitor)
{
    bool has_ended;

    /* In the child of a fork the lock may be held by a thread that is not here. */
    if (!monitor || monitor->process != getpid())
        return;
    pthread_mutex_lock(&monitor->lock);
    monitor->is_given_up = true;
    has_ended = monitor->has_ended;
    pthread_mutex_unlock(&monitor->lock);
    if (has_ended)
        release(monitor);
}

int shoalpy_monitor_fd(const shoalpy_monitor_t *monitor)
{
    return monitor->bell.fds[0];
}

const char *shoalpy_monitor_data(const shoalpy_monitor_t *monitor)
{
    return monitor->taken.data;
}

/* The loop thread goes on with the stream that the reader is done with. */
static void swap(shoalpy_monitor_t *monitor)
{
    shoalpy_stream_t taken = monitor->taken;

    monitor->taken = monitor->lines;
    monitor->lines = taken;
    monitor->has_lines = false;
}

int64_t shoalpy_monitor_take(shoalpy_monitor_t *monitor, uint64_t wait_us)
{
    bool has_lines, has_lost;

    if (!shoalpy_bell_wait(&monitor->bell, wait_us))
        return 0;
    pthread_mutex_lock(&monitor->lock);
    has_lines = monitor->has_lines;
    has_lost = monitor->has_lost;
    if (has_lines)
        swap(monitor);
    /* What was lost is told when nothing else is left, and again and again: no line
     * follows, and the end is not noted. */
    if (!has_lost)
        shoalpy_bell_stop(&monitor->bell);
    pthread_mutex_unlock(&monitor->lock);
    if (!has_lines)
        return has_lost ? SHOAL_EFULL : 0;
    shoalpy_stream_opcode(&monitor->taken, OP_APPENDS);
    if (!shoalpy_stream_end(&monitor->taken))
        return SHOAL_ENOMEM;
    return (int64_t)monitor->taken.bytes;
}
