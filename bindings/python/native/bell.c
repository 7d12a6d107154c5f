/* SPDX-License-Identifier: MIT */
#include "bell.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

bool shoalpy_bell_open(shoalpy_bell_t *bell)
{
    bell->is_ringing = false;
    if (pipe(bell->fds) < 0)
        return false;
    for (int i = 0; i < 2; i++) {
        (void)fcntl(bell->fds[i], F_SETFD, FD_CLOEXEC);
        (void)fcntl(bell->fds[i], F_SETFL, O_NONBLOCK);
    }
    return true;
}

void shoalpy_bell_close(shoalpy_bell_t *bell)
{
    close(bell->fds[0]);
    close(bell->fds[1]);
}

void shoalpy_bell_ring(shoalpy_bell_t *bell)
{
    if (!bell->is_ringing)
        bell->is_ringing = write(bell->fds[1], "", 1) == 1;
}

void shoalpy_bell_stop(shoalpy_bell_t *bell)
{
    char byte;

    bell->is_ringing = read(bell->fds[0], &byte, 1) != 1;
}

bool shoalpy_bell_wait(const shoalpy_bell_t *bell, uint64_t wait_us)
{
    struct pollfd waited = {.fd = bell->fds[0], .events = POLLIN};

    return poll(&waited, 1, (int)((wait_us + 999) / 1000)) > 0;
}
