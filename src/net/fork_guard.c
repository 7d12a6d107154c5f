/* SPDX-License-Identifier: MIT */
#include "net/fork_guard.h"

#include <pthread.h>

/* Process-wide by nature: the process is what it counts. */
_Atomic uint64_t shoal__fork_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int start_error;

static void on_fork_child(void)
{
    atomic_fetch_add_explicit(&shoal__fork_count, 1, memory_order_relaxed);
}

static void start(void)
{
    start_error = pthread_atfork(NULL, NULL, on_fork_child);
}

int shoal__fork_guard_start(void)
{
    pthread_once(&once, start);
    return -start_error;
}
