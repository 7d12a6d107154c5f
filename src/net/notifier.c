/* SPDX-License-Identifier: MIT */
#include "net/notifier.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#if SHOAL_NOTIFIER_EVENTFD
#include <sys/eventfd.h>

int shoal__notifier_init(shoal__notifier_t *notifier)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    notifier->read_fd = notifier->write_fd = fd;
    return fd < 0 ? -errno : 0;
}

void shoal__notifier_signal(const shoal__notifier_t *notifier)
{
    const uint64_t one = 1;
    int saved = errno;

    while (write(notifier->write_fd, &one, sizeof one) < 0 && errno == EINTR)
        continue;
    errno = saved;
}

void shoal__notifier_clear(const shoal__notifier_t *notifier)
{
    uint64_t count;

    while (read(notifier->read_fd, &count, sizeof count) < 0 && errno == EINTR)
        continue;
}

#else

int shoal__notifier_init(shoal__notifier_t *notifier)
{
    int fds[2];

    notifier->read_fd = notifier->write_fd = -1;
    if (pipe(fds) < 0)
        return -errno;
    for (int i = 0; i < 2; i++) {
        fcntl(fds[i], F_SETFD, FD_CLOEXEC);
        fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) | O_NONBLOCK);
    }
    notifier->read_fd = fds[0];
    notifier->write_fd = fds[1];
    return 0;
}

void shoal__notifier_signal(const shoal__notifier_t *notifier)
{
    int saved = errno;

    /* A full pipe is readable already. */
    while (write(notifier->write_fd, "", 1) < 0 && errno == EINTR)
        continue;
    errno = saved;
}

void shoal__notifier_clear(const shoal__notifier_t *notifier)
{
    char bytes[256];
    ssize_t got;

    do
        got = read(notifier->read_fd, bytes, sizeof bytes);
    while (got == (ssize_t)sizeof bytes || (got < 0 && errno == EINTR));
}

#endif

void shoal__notifier_release(shoal__notifier_t *notifier)
{
    if (notifier->read_fd >= 0)
        close(notifier->read_fd);
    if (notifier->write_fd >= 0 && notifier->write_fd != notifier->read_fd)
        close(notifier->write_fd);
    notifier->read_fd = notifier->write_fd = -1;
}
