/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_FAILING_CALLS_H
#define SHOAL_TESTS_FAILING_CALLS_H

/* Calls of the system and of libuv that fail on request, a name server, and a clock that
 * jumps.  The programs that contain this are linked with --wrap (tests/CMakeLists.txt),
 * so that what the library calls goes through here.  Of sockets only those that
 * called connect() are touched, which the scripted server's do not. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum failing_call {
    FAILING_SOCKET,
    FAILING_SETSOCKOPT,
    FAILING_CONNECT,
    FAILING_CONNECTED, /* what became of the connect, by getsockopt() */
    FAILING_SEND,
    FAILING_RECV,
    FAILING_NOTIFIER, /* eventfd(), or pipe() */
    FAILING_TIMER,    /* timerfd_create() */
    FAILING_THREAD,   /* pthread_create() */
    FAILING_LOCK,     /* uv_mutex_init(), uv_cond_init() */
    FAILING_ENTROPY,  /* uv_random() */
    FAILING_LOOKUP,   /* getaddrinfo() of a name */
    FAILING_LOOP,     /* uv_loop_init() */
    FAILING_WATCH,    /* uv_poll_init() */
    FAILING_CALLS
} failing_call_t;

/* Zero means: no condition, nothing special. */
typedef struct failing_plan {
    unsigned skip;      /* let so many calls pass first */
    size_t after_bytes; /* send, recv: and so many bytes */
    unsigned times;     /* then act on so many calls */
    int error;          /* an errno, or an EAI_ or UV_ code */
    bool is_silent;     /* connect: succeed later, that is never */
    bool is_begun;      /* connect: do it, then report the error */
    size_t bytes_max;   /* send, recv: every call passes so many at most */
} failing_plan_t;

void failing_calls_plan(failing_call_t call, const failing_plan_t *plan);
/* Calls the plan acted on. */
unsigned failing_calls_hits(failing_call_t call);
/* Calls since the plan was made, all of them. */
unsigned failing_calls_seen(failing_call_t call);
/* Forget every plan, count from zero, let look-ups go. */
void failing_calls_reset(void);

/* Every name has so many addresses, all 127.0.0.1. */
void failing_calls_addresses(unsigned count);
/* A look-up does not return while held. */
void failing_calls_hold_lookups(bool is_held);

/* The monotonic clock goes so much ahead. */
void failing_calls_jump(uint64_t ahead_us);

#endif
