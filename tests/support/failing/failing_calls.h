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
    FAILING_CONNECTED, /* getsockopt(), which tells how a connect() ended */
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

/* What to do with the calls of one kind.  A plan of zeros changes no call. */
typedef struct failing_plan {
    unsigned skip;      /* calls that pass before the plan acts */
    size_t after_bytes; /* send, recv: bytes that pass after those calls */
    unsigned times;     /* calls that the plan then acts on */
    int error;          /* their error: an errno, or an EAI_ or UV_ code */
    bool is_silent;     /* connect: it begins, and never ends */
    bool is_begun;      /* connect: it is called, and then the error is reported */
    size_t bytes_max;   /* send, recv: most bytes of one call; 0: no bound */
} failing_plan_t;

void failing_calls_plan(failing_call_t call, const failing_plan_t *plan);
/* How many calls the plan acted on. */
unsigned failing_calls_hits(failing_call_t call);
/* How many calls there were since the plan was made, whether it acted on them or
 * not. */
unsigned failing_calls_seen(failing_call_t call);
/* Forget every plan and every count, and let held look-ups return. */
void failing_calls_reset(void);

/* Every name has this many addresses, all of them 127.0.0.1. */
void failing_calls_addresses(unsigned count);
/* From now on the first of them is 127.0.0.<machine>, where no server listens unless it is
 * 1. */
void failing_calls_first_machine(unsigned machine);
/* While look-ups are held, none of them returns. */
void failing_calls_hold_lookups(bool is_held);

/* Put the monotonic clock forward, in addition to all earlier jumps. */
void failing_calls_jump(uint64_t ahead_us);

#endif
