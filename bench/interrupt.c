/* SPDX-License-Identifier: MIT */
#include "interrupt.h"

#include "load/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#define PATIENCE_NS 500000000u /* a wrapper may pass on what the terminal sent, too */

/* A signal handler has nothing but globals. */
static volatile sig_atomic_t happened;
static uint64_t happened_ns;
static int fds[2] = {-1, -1};

static void on_signal(int number)
{
    int saved = errno;
    (void)number;
    if (happened && clock_ns() - happened_ns > PATIENCE_NS)
        _exit(EXIT_INTERRUPTED);
    if (!happened)
        happened_ns = clock_ns();
    happened = 1;
    if (write(fds[1], "", 1) < 0) {
        /* The pipe is full: it is readable, which is all that matters. */
    }
    errno = saved;
}

int interrupt_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&action.sa_mask, numbers[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

bool interrupt_happened(void)
{
    return happened != 0;
}

int interrupt_fd(void)
{
    return fds[0];
}
