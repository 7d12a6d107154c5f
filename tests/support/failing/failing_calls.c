/* SPDX-License-Identifier: MIT */
#include "support/failing/failing_calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

/* The linker's names: a call of x() arrives in __wrap_x(), and x() is __real_x(). */
#define WRAPPED(type, name, ...)                                                       \
    type __real_##name(__VA_ARGS__);                                                   \
    type __wrap_##name(__VA_ARGS__);                                                   \
    type __wrap_##name(__VA_ARGS__)

#define DESCRIPTORS 1024
#define SILENT_MAX 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static struct {
    failing_plan_t plan;
    unsigned hits, seen;
} calls[FAILING_CALLS];
static unsigned addresses, first_machine = 1;
static bool is_held;
static int silent_ends[SILENT_MAX]; /* the far ends of sockets that never connect */
static unsigned silent_count;
static atomic_bool is_ours[DESCRIPTORS]; /* connect() was called with this descriptor */
static _Atomic uint64_t ahead_us;

/* ---- plans ---- */

void failing_calls_plan(failing_call_t call, const failing_plan_t *plan)
{
    pthread_mutex_lock(&lock);
    calls[call].plan = *plan;
    calls[call].hits = calls[call].seen = 0;
    pthread_mutex_unlock(&lock);
}

unsigned failing_calls_hits(failing_call_t call)
{
    pthread_mutex_lock(&lock);
    unsigned hits = calls[call].hits;
    pthread_mutex_unlock(&lock);
    return hits;
}

unsigned failing_calls_seen(failing_call_t call)
{
    pthread_mutex_lock(&lock);
    unsigned seen = calls[call].seen;
    pthread_mutex_unlock(&lock);
    return seen;
}

void failing_calls_reset(void)
{
    pthread_mutex_lock(&lock);
    memset(calls, 0, sizeof calls);
    addresses = 0;
    first_machine = 1;
    is_held = false;
    while (silent_count > 0)
        close(silent_ends[--silent_count]);
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

void failing_calls_addresses(unsigned count)
{
    pthread_mutex_lock(&lock);
    addresses = count;
    pthread_mutex_unlock(&lock);
}

void failing_calls_first_machine(unsigned machine)
{
    pthread_mutex_lock(&lock);
    first_machine = machine;
    pthread_mutex_unlock(&lock);
}

void failing_calls_hold_lookups(bool is_to_be_held)
{
    pthread_mutex_lock(&lock);
    is_held = is_to_be_held;
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

void failing_calls_jump(uint64_t further_us)
{
    atomic_fetch_add(&ahead_us, further_us);
}

/* Counts the call.  True if the plan acts on it. */
static bool acts(failing_call_t call, failing_plan_t *ret_plan)
{
    bool is_due = false;

    pthread_mutex_lock(&lock);
    failing_plan_t *plan = &calls[call].plan;
    calls[call].seen++;
    if (plan->skip > 0) {
        plan->skip--;
    } else if (plan->times > 0) {
        plan->times--;
        calls[call].hits++;
        is_due = true;
    }
    *ret_plan = *plan;
    pthread_mutex_unlock(&lock);
    return is_due;
}

static bool fails(failing_call_t call)
{
    failing_plan_t plan;

    if (!acts(call, &plan))
        return false;
    errno = plan.error;
    return true;
}

/* ---- sockets ---- */

/* Replace the socket by one that never becomes writable. */
static void silence(int fd)
{
    int ends[2];
    const char bytes[4096] = {0};

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
        abort();
    while (write(ends[0], bytes, sizeof bytes) > 0)
        continue;
    dup3(ends[0], fd, O_CLOEXEC);
    close(ends[0]);
    pthread_mutex_lock(&lock);
    if (silent_count == SILENT_MAX)
        abort();
    silent_ends[silent_count++] = ends[1];
    pthread_mutex_unlock(&lock);
}

WRAPPED(int, socket, int family, int type, int protocol)
{
    return fails(FAILING_SOCKET) ? -1 : __real_socket(family, type, protocol);
}

WRAPPED(int, setsockopt, int fd, int level, int name, const void *value,
        socklen_t bytes)
{
    if (fails(FAILING_SETSOCKOPT))
        return -1;
    return __real_setsockopt(fd, level, name, value, bytes);
}

WRAPPED(int, getsockopt, int fd, int level, int name, void *value, socklen_t *bytes)
{
    failing_plan_t plan;
    int rc = __real_getsockopt(fd, level, name, value, bytes);

    if (rc == 0 && level == SOL_SOCKET && name == SO_ERROR &&
        acts(FAILING_CONNECTED, &plan))
        memcpy(value, &plan.error, sizeof plan.error);
    return rc;
}

WRAPPED(int, connect, int fd, const struct sockaddr *address, socklen_t bytes)
{
    failing_plan_t plan;

    is_ours[fd] = true;
    if (!acts(FAILING_CONNECT, &plan))
        return __real_connect(fd, address, bytes);
    if (plan.is_begun)
        (void)__real_connect(fd, address, bytes);
    if (plan.is_silent)
        silence(fd);
    errno = plan.is_silent ? EINPROGRESS : plan.error;
    return -1;
}

WRAPPED(int, close, int fd)
{
    if (fd >= 0 && fd < DESCRIPTORS)
        is_ours[fd] = false;
    return __real_close(fd);
}

/* How many bytes this call may pass on.  0: it fails, with the error in errno. */
static size_t bytes_allowed(failing_call_t call, size_t bytes)
{
    size_t allowed = bytes;

    pthread_mutex_lock(&lock);
    failing_plan_t *plan = &calls[call].plan;
    calls[call].seen++;
    if (plan->bytes_max && allowed > plan->bytes_max)
        allowed = plan->bytes_max;
    if (plan->skip > 0) {
        plan->skip--;
    } else if (plan->times > 0 && plan->after_bytes > 0) {
        if (allowed > plan->after_bytes)
            allowed = plan->after_bytes;
    } else if (plan->times > 0) {
        plan->times--;
        calls[call].hits++;
        errno = plan->error;
        allowed = 0;
    }
    pthread_mutex_unlock(&lock);
    return allowed;
}

static void note_bytes(failing_call_t call, ssize_t passed)
{
    pthread_mutex_lock(&lock);
    failing_plan_t *plan = &calls[call].plan;
    if (passed > 0)
        plan->after_bytes -=
            (size_t)passed < plan->after_bytes ? (size_t)passed : plan->after_bytes;
    pthread_mutex_unlock(&lock);
}

WRAPPED(ssize_t, send, int fd, const void *data, size_t bytes, int flags)
{
    if (!is_ours[fd])
        return __real_send(fd, data, bytes, flags);
    size_t allowed = bytes_allowed(FAILING_SEND, bytes);
    if (allowed == 0)
        return -1;
    ssize_t sent = __real_send(fd, data, allowed, flags);
    note_bytes(FAILING_SEND, sent);
    return sent;
}

WRAPPED(ssize_t, recv, int fd, void *room, size_t bytes, int flags)
{
    if (!is_ours[fd])
        return __real_recv(fd, room, bytes, flags);
    size_t allowed = bytes_allowed(FAILING_RECV, bytes);
    if (allowed == 0)
        return -1;
    ssize_t got = __real_recv(fd, room, allowed, flags);
    note_bytes(FAILING_RECV, got);
    return got;
}

/* ---- descriptors, threads, libuv ---- */

WRAPPED(int, eventfd, unsigned count, int flags)
{
    return fails(FAILING_NOTIFIER) ? -1 : __real_eventfd(count, flags);
}

WRAPPED(int, pipe, int ends[2])
{
    return fails(FAILING_NOTIFIER) ? -1 : __real_pipe(ends);
}

WRAPPED(int, timerfd_create, int clock, int flags)
{
    return fails(FAILING_TIMER) ? -1 : __real_timerfd_create(clock, flags);
}

WRAPPED(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes,
        void *(*run)(void *), void *data)
{
    failing_plan_t plan;

    if (acts(FAILING_THREAD, &plan))
        return plan.error;
    return __real_pthread_create(thread, attributes, run, data);
}

WRAPPED(int, uv_loop_init, uv_loop_t *loop)
{
    failing_plan_t plan;

    return acts(FAILING_LOOP, &plan) ? plan.error : __real_uv_loop_init(loop);
}

WRAPPED(int, uv_poll_init, uv_loop_t *loop, uv_poll_t *handle, int fd)
{
    failing_plan_t plan;

    return acts(FAILING_WATCH, &plan) ? plan.error
                                      : __real_uv_poll_init(loop, handle, fd);
}

WRAPPED(int, uv_mutex_init, uv_mutex_t *mutex)
{
    failing_plan_t plan;

    return acts(FAILING_LOCK, &plan) ? plan.error : __real_uv_mutex_init(mutex);
}

WRAPPED(int, uv_cond_init, uv_cond_t *condition)
{
    failing_plan_t plan;

    return acts(FAILING_LOCK, &plan) ? plan.error : __real_uv_cond_init(condition);
}

WRAPPED(int, uv_random, uv_loop_t *loop, uv_random_t *request, void *room, size_t bytes,
        unsigned flags, uv_random_cb on_done)
{
    failing_plan_t plan;

    if (acts(FAILING_ENTROPY, &plan))
        return plan.error;
    return __real_uv_random(loop, request, room, bytes, flags, on_done);
}

/* ---- names ---- */

static char name_of_ours[] = "ours";

static struct addrinfo *new_address(const char *service, unsigned machine,
                                    struct addrinfo *next)
{
    struct addrinfo *info = calloc(1, sizeof *info);
    struct sockaddr_in *at = calloc(1, sizeof *at);

    if (!info || !at)
        abort();
    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK + machine - 1);
    at->sin_port = htons((uint16_t)strtoul(service, NULL, 10));
    *info = (struct addrinfo){.ai_family = AF_INET,
                              .ai_socktype = SOCK_STREAM,
                              .ai_addrlen = sizeof *at,
                              .ai_addr = (struct sockaddr *)at,
                              .ai_canonname = name_of_ours,
                              .ai_next = next};
    return info;
}

WRAPPED(int, getaddrinfo, const char *host, const char *service,
        const struct addrinfo *hints, struct addrinfo **ret_list)
{
    failing_plan_t plan;

    if (hints->ai_flags & AI_NUMERICHOST)
        return __real_getaddrinfo(host, service, hints, ret_list);
    bool is_failing = acts(FAILING_LOOKUP, &plan);
    pthread_mutex_lock(&lock);
    while (is_held)
        pthread_cond_wait(&released, &lock);
    unsigned count = addresses, machine = first_machine;
    pthread_mutex_unlock(&lock);
    if (is_failing && plan.error) {
        errno = EMFILE; /* what EAI_SYSTEM points at */
        return plan.error;
    }
    struct addrinfo *list = NULL;
    for (unsigned i = 0; i < count; i++)
        list = new_address(service, i + 1 == count ? machine : 1, list);
    *ret_list = list;
    return 0;
}

WRAPPED(void, freeaddrinfo, struct addrinfo *list)
{
    if (list && list->ai_canonname != name_of_ours) {
        __real_freeaddrinfo(list);
        return;
    }
    for (struct addrinfo *next; list; list = next) {
        next = list->ai_next;
        free(list->ai_addr);
        free(list);
    }
}

/* ---- time ---- */

static void add_us(struct timespec *when, int64_t more_us)
{
    int64_t ns = when->tv_nsec + more_us % 1000000 * 1000;

    when->tv_sec += more_us / 1000000 + ns / 1000000000;
    when->tv_nsec = ns % 1000000000;
    if (when->tv_nsec < 0) {
        when->tv_nsec += 1000000000;
        when->tv_sec--;
    }
}

WRAPPED(int, clock_gettime, clockid_t clock, struct timespec *ret_now)
{
    int rc = __real_clock_gettime(clock, ret_now);

    if (rc == 0 && clock == CLOCK_MONOTONIC)
        add_us(ret_now, (int64_t)atomic_load(&ahead_us));
    return rc;
}

/* The kernel's clock does not jump, so the jumps are subtracted from an absolute
 * time. */
WRAPPED(int, timerfd_settime, int fd, int flags, const struct itimerspec *when,
        struct itimerspec *ret_before)
{
    struct itimerspec real = *when;

    if (flags & TFD_TIMER_ABSTIME)
        add_us(&real.it_value, -(int64_t)atomic_load(&ahead_us));
    return __real_timerfd_settime(fd, flags, &real, ret_before);
}

/* The waker without timerfd.  The delay may have been computed before a jump.  Then the
 * timer fires at once, and its owner looks at the clock again. */
WRAPPED(int, uv_timer_start, uv_timer_t *timer, uv_timer_cb on_due, uint64_t delay_ms,
        uint64_t repeat_ms)
{
    static _Atomic uint64_t ahead_before_us;
    uint64_t now_ahead_us = atomic_load(&ahead_us);

    if (atomic_exchange(&ahead_before_us, now_ahead_us) != now_ahead_us)
        delay_ms = 0;
    return __real_uv_timer_start(timer, on_due, delay_ms, repeat_ms);
}
