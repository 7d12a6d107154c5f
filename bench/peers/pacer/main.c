/* SPDX-License-Identifier: MIT */

/*
 * peer-pacer RATE: the clock of an open loop, for peers that read it from their
 * standard input.  Writes the start of the schedule (CLOCK_MONOTONIC, nanoseconds,
 * eight bytes of this machine), then a byte at each moment at which commands are due,
 * until the reader is gone.  The reader takes from its own clock how many are due.
 *
 * Like the generator in shoal-bench it spins, since a timer of a microsecond costs more
 * than what is measured, and hands the CPU over to any other process that wants it.
 */

#include "load/clock.h"
#include "server/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define START_NS 1000000u /* from now */
#define SPIN_NS 200000u   /* sleeps while there is more time left than this */

static void await(uint64_t due_ns)
{
    for (uint64_t now; (now = clock_ns()) < due_ns;) {
        if (due_ns - now > SPIN_NS) {
            uint64_t pause_ns = due_ns - now - SPIN_NS / 2;
            const struct timespec pause = {.tv_sec = (time_t)(pause_ns / 1000000000u),
                                           .tv_nsec = (long)(pause_ns % 1000000000u)};
            nanosleep(&pause, NULL);
        } else {
            sched_yield();
        }
    }
}

/* False: the reader is gone.  A full pipe is as good as one more byte. */
static bool tick(void)
{
    return write(STDOUT_FILENO, "", 1) == 1 || errno == EAGAIN || errno == EINTR;
}

int main(int argc, char **argv)
{
    const char *text = argc == 2 ? argv[1] : "";
    char *end;
    double rate = strtod(text, &end);
    uint64_t start_ns = clock_ns() + START_NS;

    if (!(rate > 0) || *end != '\0') {
        fprintf(stderr, "usage: peer-pacer COMMANDS_PER_SECOND | peer --rate ...\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    machine_sleep_precisely();
    if (write(STDOUT_FILENO, &start_ns, sizeof start_ns) != sizeof start_ns ||
        fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) < 0) {
        perror("peer-pacer");
        return 1;
    }
    for (uint64_t released = 0;;) {
        await(start_ns + (uint64_t)((double)released * 1e9 / rate));
        if (!tick())
            return 0;
        released = 1 + (uint64_t)((double)(clock_ns() - start_ns) * rate / 1e9);
    }
}
