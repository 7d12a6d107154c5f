/* SPDX-License-Identifier: MIT */
#include "support/lone_fork.h"

#include "support/process_state.h"
#include "support/waiting.h"

#include <stdlib.h>
#include <unistd.h>

/* ThreadSanitizer has a thread of its own, which a fork does not harm. */
static size_t threads_allowed(void)
{
    return process_is_thread_sanitized() ? 2 : 1;
}

pid_t lone_fork(void)
{
    /* The kernel may list a thread for a moment after it was joined. */
    WAIT_FOR(process_threads() <= threads_allowed());
    pid_t child = fork();
    assert_true(child >= 0);
    return child;
}

_Noreturn void busy_fork_exit(int status)
{
    _Exit(status);
}
