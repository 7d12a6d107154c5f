/* SPDX-License-Identifier: MIT */
#include "net/parker.h"

#include "base/time_us.h"
#include "net/clock.h"
#include <errno.h>
#include <poll.h>
#include <shoal/errors.h>

#define WAIT_MS_MAX 3600000

enum { AWAKE, UNPARKED = SHOAL__PARKER_UNPARKED, LEFT, ASLEEP }; /* ASLEEP + spot */

bool shoal__parker_leave(shoal__parker_t *parker)
{
    uint32_t state = atomic_load(&parker->state);

    /* The other thread does nothing but unpark. */
    return state != UNPARKED &&
           atomic_compare_exchange_strong(&parker->state, &state, LEFT);
}

#if SHOAL_PARKER_FUTEX
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPOTS 32 /* in a row */

/* Below 0, and errno, on failure.  A thread that waits looks again in any case. */
static long futex(_Atomic uint32_t *word, int operation, uint32_t value,
                  const struct timespec *until, uint32_t spots)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, until, NULL,
                   spots);
}

int shoal__parker_init(shoal__parker_t *parker)
{
    atomic_init(&parker->state, AWAKE);
    return 0;
}

void shoal__parker_release(shoal__parker_t *parker)
{
    (void)parker;
}

bool shoal__parker_park(shoal__parker_t *parker, shoal__parking_t *parking,
                        uint64_t number, uint64_t until_us)
{
    const uint64_t spots = (uint64_t)SPOTS * SHOAL__PARKING_ROWS;
    const struct timespec until = {(time_t)(until_us / 1000000),
                                   (long)(until_us % 1000000) * 1000};
    bool is_timed = until_us != SHOAL__NEVER_US, is_over = false;
    uint32_t spot = (uint32_t)(number / SHOAL__PARKING_NEIGHBOURS % spots);
    _Atomic uint32_t *rounds = &parking->rounds[spot / SPOTS];
    uint32_t state = AWAKE;
    int saved = errno;

    atomic_compare_exchange_strong(&parker->state, &state, ASLEEP + spot);
    for (;;) {
        /* In this order: a thread that is unparked after the look at its state finds
         * another round, and does not sleep. */
        uint32_t round = atomic_load(rounds);
        if (atomic_load(&parker->state) == UNPARKED)
            break;
        if (is_over) {
            errno = saved;
            return false;
        }
        /* FUTEX_WAIT_BITSET takes an absolute time of the monotonic clock. */
        if (futex(rounds, FUTEX_WAIT_BITSET, round, is_timed ? &until : NULL,
                  UINT32_C(1) << spot % SPOTS) < 0)
            is_over = is_timed && (errno == ETIMEDOUT || errno == EINTR);
    }
    errno = saved;
    return true;
}

bool shoal__parker_unpark(shoal__parker_t *parker, shoal__parking_due_t *due)
{
    uint32_t state = atomic_exchange(&parker->state, UNPARKED);

    if (state >= ASLEEP)
        due->spots[(state - ASLEEP) / SPOTS] |= UINT32_C(1) << (state - ASLEEP) % SPOTS;
    return state != LEFT;
}

void shoal__parking_wake(shoal__parking_t *parking, const shoal__parking_due_t *due)
{
    int saved = errno;

    for (unsigned row = 0; row < SHOAL__PARKING_ROWS; row++) {
        if (due->spots[row] == 0)
            continue;
        atomic_fetch_add(&parking->rounds[row], 1);
        (void)futex(&parking->rounds[row], FUTEX_WAKE_BITSET, INT_MAX, NULL,
                    due->spots[row]);
    }
    errno = saved;
}

#else
#include <time.h>

#define NAP_NS 200000

int shoal__parker_init(shoal__parker_t *parker)
{
    atomic_init(&parker->state, AWAKE);
    parker->has_slept = false;
    return uv_sem_init(&parker->semaphore, 0);
}

void shoal__parker_release(shoal__parker_t *parker)
{
    uv_sem_destroy(&parker->semaphore);
}

bool shoal__parker_park(shoal__parker_t *parker, shoal__parking_t *parking,
                        uint64_t number, uint64_t until_us)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    uint32_t state = AWAKE;

    (void)parking;
    (void)number;
    /* Once it has slept the thread waits for the post: until then the other thread needs
     * the semaphore. */
    if (!parker->has_slept &&
        !atomic_compare_exchange_strong(&parker->state, &state, ASLEEP))
        return true;
    parker->has_slept = true;
    if (until_us == SHOAL__NEVER_US)
        uv_sem_wait(&parker->semaphore);
    /* Not every system has a semaphore that waits until a given time. */
    else
        while (uv_sem_trywait(&parker->semaphore) != 0)
            if (nanosleep(&nap, NULL) < 0 || shoal__clock_us() >= until_us)
                return false;
    return true;
}

bool shoal__parker_unpark(shoal__parker_t *parker, shoal__parking_due_t *due)
{
    uint32_t state = atomic_exchange(&parker->state, UNPARKED);

    (void)due;
    if (state == ASLEEP) /* else the thread may be gone already */
        uv_sem_post(&parker->semaphore);
    return state != LEFT;
}

void shoal__parking_wake(shoal__parking_t *parking, const shoal__parking_due_t *due)
{
    (void)parking;
    (void)due;
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
