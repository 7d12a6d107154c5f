/* SPDX-License-Identifier: MIT */

/* Eventfds, pipes, and what else a thread asks the system for. */

#define SHIM_IMPLEMENTATION
#include "interleave/shim.h"

#include "interleave/shim_parts.h"

#define DESCRIPTORS_MAX 8
#define FIRST_FD 1000
/* So small that a scenario can fill it. */
#define PIPE_BYTES 2

/* An eventfd or a pipe; the fds of its two ends follow each other. */
typedef struct descriptor {
    bool is_pipe;
    unsigned open_ends;
    uint64_t count; /* of an eventfd; or bytes */
} descriptor_t;

static descriptor_t descriptors[DESCRIPTORS_MAX];
static int used;

void shim_descriptors_begin(void)
{
    used = 0;
}

void shim_descriptors_end(void)
{
    for (int i = 0; i < used; i++) {
        if (descriptors[i].open_ends > 0)
            explore_fail("a descriptor was not closed");
    }
}

static descriptor_t *of(int fd)
{
    descriptor_t *descriptor = &descriptors[(fd - FIRST_FD) / 2];

    if (fd < FIRST_FD || (fd - FIRST_FD) / 2 >= used || descriptor->open_ends == 0)
        explore_fail("descriptor %d is used, and not open", fd);
    return descriptor;
}

static int make(bool is_pipe, uint64_t count)
{
    if (used == DESCRIPTORS_MAX)
        explore_fail("too many descriptors for the test");
    descriptors[used] = (descriptor_t){is_pipe, is_pipe ? 2 : 1, count};
    return FIRST_FD + 2 * used++;
}

int shim_eventfd(unsigned value, int flags)
{
    if (!(flags & EFD_NONBLOCK))
        explore_fail("an eventfd that blocks");
    return make(false, value);
}

int shim_pipe(int fds[2])
{
    fds[0] = make(true, 0);
    fds[1] = fds[0] + 1;
    return 0;
}

int shim_fcntl(int fd, int command, int value)
{
    (void)command;
    (void)value;
    of(fd);
    return 0;
}

int shim_close(int fd)
{
    explore_touch("close", of(fd), true);
    of(fd)->open_ends--;
    return 0;
}

ssize_t shim_write(int fd, const void *data, size_t bytes)
{
    descriptor_t *descriptor = of(fd);

    explore_touch("write", descriptor, true);
    descriptor = of(fd);
    if (descriptor->is_pipe && descriptor->count + bytes > PIPE_BYTES) {
        errno = EAGAIN;
        return -1;
    }
    descriptor->count += descriptor->is_pipe ? bytes : *(const uint64_t *)data;
    return (ssize_t)bytes;
}

ssize_t shim_read(int fd, void *data, size_t bytes)
{
    descriptor_t *descriptor = of(fd);
    uint64_t count;

    explore_touch("read", descriptor, true);
    count = of(fd)->count;
    if (count == 0) {
        errno = EAGAIN;
        return -1;
    }
    descriptor->count = 0;
    if (descriptor->is_pipe) {
        descriptor->count = count > bytes ? count - bytes : 0;
        return (ssize_t)(count - descriptor->count);
    }
    *(uint64_t *)data = count;
    return (ssize_t)bytes;
}

bool shim_is_readable(int fd)
{
    return of(fd)->count > 0;
}

const void *shim_descriptor(int fd)
{
    return of(fd);
}

static unsigned ways_to_read(const explore_step_t *step)
{
    const struct pollfd *slot = step->data;

    if (shim_is_readable(slot->fd))
        return 1U << EXPLORE_DONE;
    return (step->until_us && step->until_us <= explore_peek_us()
                ? 1U << EXPLORE_TIMED_OUT
                : 0) |
           (explore_may_be_spurious() ? 1U << EXPLORE_SPURIOUS : 0);
}

int shim_poll(struct pollfd *slot, nfds_t count, int timeout_ms)
{
    uint64_t until_us =
        timeout_ms < 0 ? 0 : explore_peek_us() + (uint64_t)timeout_ms * 1000;
    unsigned way;

    if (count != 1)
        explore_fail("a poll of more than one");
    way = explore_point(&(explore_step_t){.what = "poll",
                                          .objects = {of(slot->fd)},
                                          .ways = ways_to_read,
                                          .data = slot,
                                          .until_us = until_us});
    slot->revents = way == EXPLORE_DONE ? POLLIN : 0;
    if (way == EXPLORE_SPURIOUS) {
        errno = EINTR;
        return -1;
    }
    return way == EXPLORE_DONE;
}

/* ---- time and threads ---- */

int shim_clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    uint64_t now_us = explore_now_us();

    (void)clock;
    ret_now->tv_sec = (time_t)(now_us / 1000000);
    ret_now->tv_nsec = (long)(now_us % 1000000 * 1000);
    return 0;
}

pthread_t shim_self(void)
{
    return (pthread_t)explore_self() + 1;
}

static unsigned ways_to_join(const explore_step_t *step)
{
    const unsigned *thread = step->data;

    return explore_has_ended(*thread) ? 1U << EXPLORE_DONE : 0;
}

int shim_join(pthread_t thread, void **ret_value)
{
    unsigned number = (unsigned)thread - 1;

    (void)ret_value;
    explore_point(
        &(explore_step_t){.what = "join", .ways = ways_to_join, .data = &number});
    return 0;
}

int shim_setcancelstate(int state, int *ret_former)
{
    (void)state; /* nobody cancels */
    if (ret_former)
        *ret_former = PTHREAD_CANCEL_ENABLE;
    return 0;
}
