/* SPDX-License-Identifier: MIT */
#include "matrix/child.h"

#include "matrix/rig_parts.h"
#include "support/lone_fork.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_child(pid_t parent, void (*run)(void *data), void *data)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126);
    setenv("CMOCKA_TEST_ABORT", "1", 1); /* do not go on with the parent's tests */
    run(data);
    _exit(0);
}

pid_t matrix_child_start(void (*run)(void *data), void *data)
{
    pid_t parent = getpid();

    assert_null(matrix_current);
    pid_t child = lone_fork();
    if (child == 0)
        run_child(parent, run, data);
    return child;
}

void matrix_child_end(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    if (WIFSIGNALED(status))
        fail_msg("the child was ended by signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
