/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INTERLEAVE_SHIM_H
#define TESTS_INTERLEAVE_SHIM_H

/*
 * Compiled in front of each source file under test (-include): every lock, condition,
 * semaphore, futex, descriptor and atomic that the file uses becomes a point where the
 * explorer may let another thread go first.  What the file does is not changed.
 *
 * The counters of base/counter.h stay as they are: figures that nobody waits for.
 */

#ifdef SHIM_PORTABLE /* as where there is no eventfd and no futex */
#undef SHOAL_NOTIFIER_EVENTFD
#undef SHOAL_PARKER_FUTEX
#define SHOAL_NOTIFIER_EVENTFD 0
#define SHOAL_PARKER_FUTEX 0
#endif

#include "base/counter.h"
#include "interleave/explore.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

/* A scenario begins: nothing is there.  And it ends: is nothing left? */
void shim_begin(void);
void shim_end(void);

/* Explore; the cmocka test fails if any schedule did. */
#define shim_expect(scenario)                                                          \
    do {                                                                               \
        explore_report_t report = explore(scenario);                                   \
        if (report.has_failed)                                                         \
            fail_msg("%s", report.failure);                                            \
    } while (0)

/* About to touch this; fails if it is gone. */
void shim_touch(const char *what, const volatile void *object, bool is_write);
/* Fails if `object` was freed. */
void shim_check_alive(const char *what, const volatile void *object);

/* If not NULL: is there memory for what grows now? */
extern bool (*shim_may_grow)(void);

/* A result that the caller may ignore. */
static inline uint64_t shim_value(uint64_t value)
{
    return value;
}

static inline bool shim_truth(bool is_true)
{
    return is_true;
}

int shim_mutex_init(uv_mutex_t *mutex);
void shim_mutex_destroy(uv_mutex_t *mutex);
void shim_mutex_lock(uv_mutex_t *mutex);
void shim_mutex_unlock(uv_mutex_t *mutex);
int shim_cond_init(uv_cond_t *cond);
void shim_cond_destroy(uv_cond_t *cond);
void shim_cond_signal(uv_cond_t *cond);
void shim_cond_broadcast(uv_cond_t *cond);
void shim_cond_wait(uv_cond_t *cond, uv_mutex_t *mutex);
int shim_cond_timedwait(uv_cond_t *cond, uv_mutex_t *mutex, uint64_t timeout_ns);
int shim_sem_init(uv_sem_t *semaphore, unsigned value);
void shim_sem_destroy(uv_sem_t *semaphore);
void shim_sem_post(uv_sem_t *semaphore);
void shim_sem_wait(uv_sem_t *semaphore);
int shim_sem_trywait(uv_sem_t *semaphore);
/* Called before each unlock, if not NULL, by the thread that holds the mutex. */
extern void (*shim_before_unlock)(const uv_mutex_t *mutex);
long shim_futex(_Atomic uint32_t *word, int operation, uint32_t value,
                const void *timeout, const void *other, uint32_t bits);

int shim_eventfd(unsigned value, int flags);
int shim_pipe(int fds[2]);
int shim_fcntl(int fd, int command, int value);
ssize_t shim_write(int fd, const void *data, size_t bytes);
ssize_t shim_read(int fd, void *data, size_t bytes);
int shim_close(int fd);
int shim_poll(struct pollfd *slot, nfds_t count, int timeout_ms);
bool shim_is_readable(int fd);
/* What a poll of this descriptor looks at. */
const void *shim_descriptor(int fd);

int shim_clock_gettime(clockid_t clock, struct timespec *ret_now);
pthread_t shim_self(void);
int shim_join(pthread_t thread, void **ret_value);
int shim_setcancelstate(int state, int *ret_former);
uint32_t shim_or(_Atomic uint32_t *word, uint32_t bits);
uint32_t shim_exchange(_Atomic uint32_t *word, uint32_t value);

#ifndef SHIM_IMPLEMENTATION
#define uv_mutex_init shim_mutex_init
#define uv_mutex_destroy shim_mutex_destroy
#define uv_mutex_lock shim_mutex_lock
#define uv_mutex_unlock shim_mutex_unlock
#define uv_cond_init shim_cond_init
#define uv_cond_destroy shim_cond_destroy
#define uv_cond_signal shim_cond_signal
#define uv_cond_broadcast shim_cond_broadcast
#define uv_cond_wait shim_cond_wait
#define uv_cond_timedwait shim_cond_timedwait
/* libuv's are these. */
#define pthread_mutex_init(mutex, attributes) shim_mutex_init(mutex)
#define pthread_mutex_destroy shim_mutex_destroy
#define pthread_mutex_lock shim_mutex_lock
#define pthread_mutex_unlock shim_mutex_unlock
#define pthread_cond_init(cond, attributes) shim_cond_init(cond)
#define pthread_cond_destroy shim_cond_destroy
#define pthread_cond_broadcast shim_cond_broadcast
#define pthread_cond_wait shim_cond_wait
#define uv_sem_init shim_sem_init
#define uv_sem_destroy shim_sem_destroy
#define uv_sem_post shim_sem_post
#define uv_sem_wait shim_sem_wait
#define uv_sem_trywait shim_sem_trywait
/* A signal ends each nap at once. */
#define nanosleep(time, left) ((void)(time), -1)
#define syscall(number, ...) shim_futex(__VA_ARGS__)

#define eventfd shim_eventfd
#define pipe(fds) shim_pipe(fds)
#define fcntl(fd, command, ...) shim_fcntl(fd, command, 0)
#define write(fd, data, bytes) shim_write(fd, data, bytes)
#define read(fd, data, bytes) shim_read(fd, data, bytes)
#define close(fd) shim_close(fd)
#define poll(slot, count, timeout) shim_poll(slot, count, timeout)

#define clock_gettime shim_clock_gettime
#define pthread_self shim_self
#define sched_yield() explore_yield()
#define pthread_join shim_join
#define pthread_detach(thread) ((void)(thread))
#define pthread_setcancelstate shim_setcancelstate

/* An access to an _Atomic object is an atomic one by itself, and nobody is beside it. */
#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or
#undef atomic_exchange
#undef atomic_compare_exchange_strong
#define atomic_load(object) (shim_touch("load", object, false), *(object))
#define atomic_load_explicit(object, order) atomic_load(object)
#define atomic_store_explicit(object, value, order)                                    \
    (shim_touch("store", object, true), (void)(*(object) = (value)))
#define atomic_fetch_add(object, value)                                                \
    (shim_touch("add", object, true), shim_value((*(object) += (value)) - (value)))
#define atomic_fetch_add_explicit(object, value, order) atomic_fetch_add(object, value)
#define atomic_fetch_sub(object, value)                                                \
    (shim_touch("subtract", object, true), shim_value((*(object) -= (value)) + (value)))
#define atomic_fetch_sub_explicit(object, value, order) atomic_fetch_sub(object, value)
#define atomic_fetch_or(object, bits) shim_or(object, bits)
#define atomic_exchange shim_exchange
#define atomic_compare_exchange_strong(object, expected, value)                        \
    (shim_touch("compare and exchange", object, true),                                 \
     *(object) == *(expected) ? ((void)(*(object) = (value)), shim_truth(true))        \
                              : ((void)(*(expected) = *(object)), shim_truth(false)))
#endif

#endif
