/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INTERLEAVE_EXPLORE_H
#define TESTS_INTERLEAVE_EXPLORE_H

/*
 * Runs a scenario of a few threads once for every schedule there is: depth first, each
 * time from the beginning.  Threads are coroutines; control passes between them at the
 * points where they tell what they are about to do.
 *
 * Two ways to make the space smaller.  Pruned (sleep sets): two steps that touch
 * different objects are tried in one order only, which loses no outcome.  Bounded: a
 * thread that could go on is made to wait so many times at most.
 *
 * A run ends badly when a check fails, when no thread can go on though some have not
 * ended (deadlock, or a lost wake-up), or when it does not end.
 *
 * It knows sequential consistency only: weaker orders are ThreadSanitizer's business.
 */

#include <stdbool.h>
#include <stdint.h>

#define EXPLORE_THREADS_MAX 8
#define EXPLORE_OBJECTS_MAX 4
#define EXPLORE_NEVER_US UINT64_MAX
#define EXPLORE_START_US UINT64_C(1000000) /* the time when a run begins */

/* How a blocking step comes to its end. */
enum { EXPLORE_DONE, EXPLORE_TIMED_OUT, EXPLORE_SPURIOUS, EXPLORE_WAYS };

/* What a thread is about to do. */
typedef struct explore_step {
    const char *what;
    const void *objects[EXPLORE_OBJECTS_MAX]; /* that it touches; NULL: none */
    bool is_write;                            /* else it only looks */
    /* Bits of the ways open to it now; NULL: done, always. */
    unsigned (*ways)(const struct explore_step *step);
    const void *data;  /* for `ways` */
    uint64_t until_us; /* of a blocking step: its time; 0: it does not block */
    bool is_yield;     /* see explore_yield() */
} explore_step_t;

typedef struct explore_scenario {
    const char *name;
    void (*begin)(const void *data); /* makes the state, and starts the threads */
    void (*end)(void);               /* every thread has ended: checks */
    const void *data;
    unsigned preemptions_max; /* with is_bounded */
    bool is_bounded;          /* else pruned */
    bool is_raw;              /* neither */
    bool is_to_fail;          /* the schedule of the failure is not worth printing */
    /* Time.  It stands still while any thread can go on, except for `ticks` leaps of
     * tick_us each that come at any moment, and for yields, each of which takes yield_us:
     * so a thread that yields until its time is over comes to an end. */
    unsigned ticks;
    uint64_t tick_us, yield_us;
    bool may_rest;        /* when none can go on, it leaps to the next time out ... */
    uint64_t rest_us_max; /* ... if that is so near; 0: however far it is */
    unsigned spurious;    /* so many waits end for no reason */
} explore_scenario_t;

typedef struct explore_report {
    uint64_t schedules; /* run to the end */
    uint64_t cut;       /* begun, and found to repeat another */
    uint64_t steps;
    unsigned depth; /* steps of the longest */
    bool is_complete;
    bool has_failed;
    char failure[200]; /* what, on which schedule */
} explore_report_t;

/* Explore, print a line, and the schedule of a failure.  SHOAL_INTERLEAVE_MORE in the
 * environment is added to every bound, SHOAL_INTERLEAVE_SCHEDULES ends an exploration. */
explore_report_t explore(const explore_scenario_t *scenario);

/* In `begin`, or in a thread: a thread more.  Returns its number. */
unsigned explore_start(const char *name, void (*body)(void *data), void *data);
/* The number of the running thread. */
unsigned explore_self(void);
bool explore_has_ended(unsigned thread);

/* In a thread: let others go first, then take the step.  The way it was taken. */
unsigned explore_point(const explore_step_t *step);
/* The same for one object. */
void explore_touch(const char *what, const void *object, bool is_write);

/* In a thread: give the CPU away.  To go on at once, although others can, counts as a
 * preemption (of them). */
void explore_yield(void);

/* In a thread. */
uint64_t explore_now_us(void);
/* The same for the `ways` of a step, which must not let others go first. */
uint64_t explore_peek_us(void);
/* May a wait end for no reason now? */
bool explore_may_be_spurious(void);

/* Give up this schedule, and the exploration.  In a thread or in `end`. */
#define explore_fail(...) explore_fail_at(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void explore_fail_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define explore_check(fact)                                                            \
    do {                                                                               \
        if (!(fact))                                                                   \
            explore_fail("%s", #fact);                                                 \
    } while (0)

#endif
