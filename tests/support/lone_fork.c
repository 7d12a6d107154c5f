/* SPDX-License-Identifier: MIT */
#include "support/lone_fork.h"

#include "support/process_state.h"
#include "support/waiting.h"

#include <unistd.h>

/* ThreadSanitizer has a thread of its own, which knows about forks. */
static size_t threads_allowed(void)
{
    return process_is_thread_sanitized() ? 2 : 1;
}

/* A thread that was joined is in the list for a moment more. */
pid_t lone_fork(void)
{
    WAIT_FOR(process_threads() <= threads_allowed());
    pid_t child = fork();
    assert_true(child >= 0);
    return child;
}
