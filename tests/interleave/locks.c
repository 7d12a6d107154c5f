/* SPDX-License-Identifier: MIT */

/* Locks, conditions, semaphores and futexes, for threads that run one at a time. */

#define SHIM_IMPLEMENTATION
#include "interleave/shim.h"

#include "interleave/shim_parts.h"
#include <linux/futex.h>
#include <stdio.h>

#define LOCKS_MAX 16
#define NOBODY UINT32_MAX

/* Whatever can be waited for, by its address. */
typedef struct lock {
    const void *at;  /* NULL: free */
    unsigned holder; /* of a mutex */
    unsigned value;  /* of a semaphore */
} lock_t;

/* A thread that sleeps, or is about to go on. */
typedef struct sleeper {
    const volatile void *at; /* condition or futex; NULL: it does not sleep */
    lock_t *mutex;           /* to be had again; NULL: none */
    uint32_t bits;           /* of a futex */
    unsigned turn;           /* the thread that sleeps longest is woken first */
    bool is_woken;
} sleeper_t;

void (*shim_before_unlock)(const uv_mutex_t *mutex);

static lock_t locks[LOCKS_MAX];
static sleeper_t sleepers[EXPLORE_THREADS_MAX];
static unsigned turns;

void shim_locks_begin(void)
{
    for (unsigned i = 0; i < LOCKS_MAX; i++)
        locks[i].at = NULL;
    for (unsigned i = 0; i < EXPLORE_THREADS_MAX; i++)
        sleepers[i].at = NULL;
    turns = 0;
    shim_before_unlock = NULL;
}

void shim_locks_end(void)
{
    for (unsigned i = 0; i < LOCKS_MAX; i++) {
        if (locks[i].at)
            explore_fail("a lock was not destroyed");
    }
}

static int add(const void *at, unsigned value)
{
    for (unsigned i = 0; i < LOCKS_MAX; i++) {
        if (!locks[i].at) {
            locks[i] = (lock_t){at, NOBODY, value};
            return 0;
        }
    }
    explore_fail("too many locks for the test");
}

static lock_t *find(const void *at)
{
    for (unsigned i = 0; i < LOCKS_MAX; i++) {
        if (locks[i].at == at)
            return &locks[i];
    }
    explore_fail("a lock is used that is not there");
}

static void drop(const void *at)
{
    lock_t *lock = find(at);

    explore_touch("destroy", at, true);
    if (lock->holder != NOBODY)
        explore_fail("a mutex is destroyed that is held");
    for (unsigned i = 0; i < EXPLORE_THREADS_MAX; i++) {
        if (sleepers[i].at == at)
            explore_fail("a condition is destroyed that is waited for");
    }
    lock->at = NULL;
}

/* ---- mutexes ---- */

int shim_mutex_init(uv_mutex_t *mutex)
{
    return add(mutex, 0);
}

void shim_mutex_destroy(uv_mutex_t *mutex)
{
    drop(mutex);
}

static unsigned ways_to_lock(const explore_step_t *step)
{
    const lock_t *lock = step->data;

    return lock->holder == NOBODY ? 1U << EXPLORE_DONE : 0;
}

void shim_mutex_lock(uv_mutex_t *mutex)
{
    lock_t *lock = find(mutex);

    if (lock->holder == explore_self())
        explore_fail("a mutex is locked twice");
    explore_point(&(explore_step_t){.what = "lock",
                                    .objects = {mutex},
                                    .is_write = true,
                                    .ways = ways_to_lock,
                                    .data = lock});
    shim_check_alive("lock", mutex);
    if (lock->at != mutex)
        explore_fail("a mutex is gone while it is waited for");
    lock->holder = explore_self();
}

void shim_mutex_unlock(uv_mutex_t *mutex)
{
    lock_t *lock = find(mutex);

    if (lock->holder != explore_self())
        explore_fail("a mutex is unlocked by a thread that does not hold it");
    if (shim_before_unlock)
        shim_before_unlock(mutex);
    explore_touch("unlock", mutex, true);
    lock->holder = NOBODY;
}

/* ---- conditions ---- */

int shim_cond_init(uv_cond_t *cond)
{
    return add(cond, 0);
}

void shim_cond_destroy(uv_cond_t *cond)
{
    drop(cond);
}

static unsigned ways_to_wake(const explore_step_t *step)
{
    const sleeper_t *sleeper = step->data;
    unsigned ways = 0;

    if (sleeper->mutex && sleeper->mutex->holder != NOBODY)
        return 0;
    if (sleeper->is_woken)
        return 1U << EXPLORE_DONE;
    if (step->until_us && step->until_us <= explore_peek_us())
        ways |= 1U << EXPLORE_TIMED_OUT;
    if (explore_may_be_spurious())
        ways |= 1U << EXPLORE_SPURIOUS;
    return ways;
}

/* The time out and the lock that follows are one step. */
static unsigned sleep_until(const char *what, const volatile void *at, lock_t *mutex,
                            uint32_t bits, uint64_t until_us)
{
    sleeper_t *self = &sleepers[explore_self()];
    unsigned way;

    *self = (sleeper_t){.at = at, .mutex = mutex, .bits = bits, .turn = turns++};
    way = explore_point(
        &(explore_step_t){.what = what,
                          .objects = {(const void *)at, mutex ? mutex->at : NULL},
                          .is_write = true,
                          .ways = ways_to_wake,
                          .data = self,
                          .until_us = until_us});
    self->at = NULL;
    return way;
}

static unsigned wait_until(uv_cond_t *cond, uv_mutex_t *mutex, uint64_t until_us)
{
    lock_t *lock = find(mutex);
    unsigned way;

    find(cond);
    if (lock->holder != explore_self())
        explore_fail("a condition is waited for without the lock");
    explore_point(
        &(explore_step_t){.what = "wait", .objects = {mutex, cond}, .is_write = true});
    lock->holder = NOBODY;
    way = sleep_until("asleep", cond, lock, 0, until_us);
    shim_check_alive("wake", cond);
    lock->holder = explore_self();
    return way;
}

void shim_cond_wait(uv_cond_t *cond, uv_mutex_t *mutex)
{
    wait_until(cond, mutex, 0);
}

int shim_cond_timedwait(uv_cond_t *cond, uv_mutex_t *mutex, uint64_t timeout_ns)
{
    uint64_t until_us = explore_peek_us() + (timeout_ns + 999) / 1000;

    return wait_until(cond, mutex, until_us) == EXPLORE_TIMED_OUT ? UV_ETIMEDOUT : 0;
}

static sleeper_t *longest(const void *at)
{
    sleeper_t *found = NULL;

    for (unsigned i = 0; i < EXPLORE_THREADS_MAX; i++) {
        if (sleepers[i].at == at && !sleepers[i].is_woken &&
            (!found || sleepers[i].turn < found->turn))
            found = &sleepers[i];
    }
    return found;
}

void shim_cond_signal(uv_cond_t *cond)
{
    sleeper_t *sleeper;

    find(cond);
    explore_touch("signal", cond, true);
    shim_check_alive("signal", cond);
    sleeper = longest(cond);
    if (sleeper)
        sleeper->is_woken = true;
}

void shim_cond_broadcast(uv_cond_t *cond)
{
    sleeper_t *sleeper;

    find(cond);
    explore_touch("broadcast", cond, true);
    shim_check_alive("broadcast", cond);
    while ((sleeper = longest(cond)))
        sleeper->is_woken = true;
}

/* ---- semaphores ---- */

int shim_sem_init(uv_sem_t *semaphore, unsigned value)
{
    return add(semaphore, value);
}

void shim_sem_destroy(uv_sem_t *semaphore)
{
    drop(semaphore);
}

static unsigned ways_to_pass(const explore_step_t *step)
{
    const lock_t *lock = step->data;

    return lock->value > 0 ? 1U << EXPLORE_DONE : 0;
}

void shim_sem_post(uv_sem_t *semaphore)
{
    lock_t *lock = find(semaphore);

    explore_touch("post", semaphore, true);
    if (lock->at != semaphore)
        explore_fail("a semaphore is gone that is posted");
    lock->value++;
}

void shim_sem_wait(uv_sem_t *semaphore)
{
    lock_t *lock = find(semaphore);

    explore_point(&(explore_step_t){.what = "wait",
                                    .objects = {semaphore},
                                    .is_write = true,
                                    .ways = ways_to_pass,
                                    .data = lock});
    lock->value--;
}

int shim_sem_trywait(uv_sem_t *semaphore)
{
    lock_t *lock = find(semaphore);

    explore_touch("try", semaphore, true);
    if (lock->value == 0)
        return UV_EAGAIN;
    lock->value--;
    return 0;
}

/* ---- futexes ---- */

static long futex_wait(_Atomic uint32_t *word, uint32_t value, uint32_t bits,
                       const struct timespec *until)
{
    uint64_t until_us =
        until ? (uint64_t)until->tv_sec * 1000000 + (uint64_t)until->tv_nsec / 1000 : 0;
    unsigned way;

    explore_touch("futex wait", (const void *)word, true);
    shim_check_alive("futex wait", word);
    if (*word != value) {
        errno = EAGAIN;
        return -1;
    }
    way = sleep_until("futex asleep", word, NULL, bits, until_us);
    if (way == EXPLORE_DONE)
        return 0;
    errno = way == EXPLORE_TIMED_OUT ? ETIMEDOUT : EINTR;
    return -1;
}

static long futex_wake(_Atomic uint32_t *word, uint32_t count, uint32_t bits)
{
    long woken = 0;

    explore_touch("futex wake", (const void *)word, true);
    shim_check_alive("futex wake", word);
    for (unsigned i = 0; i < EXPLORE_THREADS_MAX && woken < (long)count; i++) {
        if (sleepers[i].at == word && !sleepers[i].is_woken &&
            (sleepers[i].bits & bits)) {
            sleepers[i].is_woken = true;
            woken++;
        }
    }
    return woken;
}

long shim_futex(_Atomic uint32_t *word, int operation, uint32_t value,
                const void *timeout, const void *other, uint32_t bits)
{
    (void)other;
    if (operation == (FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG))
        return futex_wait(word, value, bits, timeout);
    if (operation == (FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG))
        return futex_wake(word, value, bits);
    explore_fail("futex operation %d", operation);
}
