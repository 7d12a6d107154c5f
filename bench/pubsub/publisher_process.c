/* SPDX-License-Identifier: MIT */

/* The publisher as a process of its own. */

#include "pubsub/publisher.h"
#include "server/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child, which keeps none of our descriptors but its credits, and ends with us. */
static _Noreturn void become_publisher(run_t *run, int credits, pid_t parent)
{
    char first;

    setsid(); /* Ctrl-C is for the bench alone */
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent)
        _exit(1);
    credits = dup2(credits, STDERR_FILENO + 1);
    close_range(STDERR_FILENO + 2, ~0u, 0);
    run->wake_fds[0] = run->wake_fds[1] = -1;
    if (run->options->publisher_cpu != MACHINE_NO_CPU)
        machine_pin(run->options->publisher_cpu);
    if (read(credits, &first, 1) == 1 && fcntl(credits, F_SETFL, O_NONBLOCK) == 0)
        publisher_run(run, credits);
    if (atomic_load(&run->has_failed))
        fprintf(stderr, "shoal-bench: publisher: %s\n", run->failure);
    _exit(0);
}

static void *watch(void *member)
{
    publisher_t *publisher = member;
    siginfo_t end;

    while (waitid(P_PID, (id_t)publisher->pid, &end, WEXITED | WNOWAIT) < 0 &&
           errno == EINTR) {
    }
    if (run_phase(publisher->run) != RUN_STOPPING)
        run_fail(publisher->run, "the publisher has ended");
    return NULL;
}

int publisher_start(publisher_t *publisher, run_t *run)
{
    int ends[2];
    pid_t parent = getpid();

    *publisher = (publisher_t){.run = run, .credits = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return run_fail(run, "no descriptors left");
    pid_t pid = fork();
    if (pid == 0)
        become_publisher(run, ends[1], parent);
    close(ends[1]);
    publisher->credits = ends[0];
    if (pid < 0)
        return run_fail(run, "fork: %s", strerror(errno));
    publisher->pid = pid;
    return crew_start(&publisher->crew, run, 1, watch, publisher, 0);
}

int publisher_go(publisher_t *publisher)
{
    if (send(publisher->credits, "", 1, MSG_NOSIGNAL) == 1)
        return 0;
    return run_fail(publisher->run, "the publisher has ended");
}

void publisher_stop(publisher_t *publisher)
{
    if (publisher->pid > 0)
        kill(publisher->pid, SIGTERM);
    crew_join(&publisher->crew);
    if (publisher->pid > 0)
        waitpid(publisher->pid, NULL, 0);
    if (publisher->credits >= 0)
        close(publisher->credits);
    *publisher = (publisher_t){.credits = -1};
}
