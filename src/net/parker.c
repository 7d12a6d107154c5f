/* SPDX-License-Identifier: MIT */
#include "net/parker.h"

#include "base/time_us.h"
#include "net/clock.h"
#include <errno.h>
#include <poll.h>
#include <shoal/errors.h>

#define WAIT_MS_MAX 3600000

#if SHOAL_PARKER_FUTEX
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { AWAKE, ASLEEP, UNPARKED };

int shoal__parker_init(shoal__parker_t *parker)
{
    atomic_init(&parker->state, AWAKE);
    return 0;
}

void shoal__parker_release(shoal__parker_t *parker)
{
    (void)parker;
}

void shoal__parker_park(shoal__parker_t *parker)
{
    uint32_t state = AWAKE;
    int saved = errno;

    if (atomic_compare_exchange_strong(&parker->state, &state, ASLEEP))
        state = ASLEEP;
    while (state != UNPARKED) {
        /* Returns at once if the state is another one by now; signals end it, too. */
        (void)syscall(SYS_futex, &parker->state, FUTEX_WAIT_PRIVATE, ASLEEP, NULL);
        state = atomic_load_explicit(&parker->state, memory_order_acquire);
    }
    errno = saved;
}

void shoal__parker_unpark(shoal__parker_t *parker)
{
    int saved = errno;

    /* The thread may be gone after the exchange, and with it the parker: the kernel
     * only compares the address, and who else sleeps there looks again. */
    if (atomic_exchange(&parker->state, UNPARKED) == ASLEEP)
        (void)syscall(SYS_futex, &parker->state, FUTEX_WAKE_PRIVATE, 1);
    errno = saved;
}

#else

int shoal__parker_init(shoal__parker_t *parker)
{
    return uv_sem_init(&parker->semaphore, 0) < 0 ? SHOAL_ESYSTEM : 0;
}

void shoal__parker_release(shoal__parker_t *parker)
{
    uv_sem_destroy(&parker->semaphore);
}

void shoal__parker_park(shoal__parker_t *parker)
{
    uv_sem_wait(&parker->semaphore);
}

void shoal__parker_unpark(shoal__parker_t *parker)
{
    uv_sem_post(&parker->semaphore);
}

#endif

int shoal__parker_wait_readable(int fd, uint64_t until_us)
{
    struct pollfd waited = {.fd = fd, .events = POLLIN};

    for (;;) {
        uint64_t left_us = SHOAL__NEVER_US;
        int ms = -1, rc;
        if (until_us != SHOAL__NEVER_US) {
            left_us = shoal__time_since(shoal__clock_us(), until_us);
            ms = left_us / 1000 < WAIT_MS_MAX ? (int)((left_us + 999) / 1000)
                                              : WAIT_MS_MAX;
        }
        rc = poll(&waited, 1, ms);
        if (rc > 0)
            return 0;
        if (rc < 0 && errno == EINTR)
            return SHOAL_EINTR;
        if (rc == 0 && left_us <= (uint64_t)ms * 1000)
            return SHOAL_ETIMEOUT;
    }
}
