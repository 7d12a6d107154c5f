/* SPDX-License-Identifier: MIT */
#include "turnstile.h"

#include "moment.h"
#include <sched.h>
#include <shoal/errors.h>

/* So long a thread keeps the turn if it does not come back, and others wait. */
#define TURN_NS 20000
#define SLEEP_US 1000
/* Looks between two looks at the clock. */
#define LOOKS 20
/* A verdict comes after so many watches, or after so many in vain: such a one costs five
 * times what a turn saves.  Some are in vain after each opening, because threads still
 * wait for the GIL then. */
#define WATCHES 512
#define IN_VAIN_MAX 32
/* The turnstile stands open for so many passes, and for twice as many each time. */
#define PASSES 4096
#define OPENINGS_MAX 6

static int this_cpu(void)
{
#ifdef __linux__
    return sched_getcpu();
#else
    return 0; /* as if there were only one */
#endif
}

static void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

int shoalpy_turnstile_init(shoalpy_turnstile_t *turnstile)
{
    atomic_init(&turnstile->holder, NULL);
    atomic_init(&turnstile->holder_cpu, 0);
    atomic_init(&turnstile->has_watcher, false);
    atomic_init(&turnstile->sleepers, 0);
    atomic_init(&turnstile->releases, 0);
    atomic_init(&turnstile->open, 0);
    turnstile->watches = turnstile->in_vain = turnstile->openings = 0;
    if (pthread_mutex_init(&turnstile->lock, NULL) != 0)
        return SHOAL_ESYSTEM;
    return shoalpy_condition_init(&turnstile->released);
}

/* ---- the turn ---- */

static void note_cpu(shoalpy_turnstile_t *turnstile)
{
    atomic_store_explicit(&turnstile->holder_cpu, this_cpu(), memory_order_relaxed);
}

/* Take the turn, if nobody has it. */
static bool take(shoalpy_turnstile_t *turnstile, const void *thread)
{
    const void *none = NULL;

    if (atomic_load_explicit(&turnstile->holder, memory_order_relaxed) ||
        !atomic_compare_exchange_strong(&turnstile->holder, &none, thread))
        return false;
    note_cpu(turnstile);
    return true;
}

/* The holder is another one, or none: a sleeper may take the watcher's place. */
static void tell_release(shoalpy_turnstile_t *turnstile)
{
    /* In this order: see sleep_until_released(). */
    atomic_fetch_add(&turnstile->releases, 1);
    if (atomic_load(&turnstile->sleepers) == 0)
        return;
    pthread_mutex_lock(&turnstile->lock);
    pthread_cond_signal(&turnstile->released);
    pthread_mutex_unlock(&turnstile->lock);
}

/* ---- the watcher ---- */

/* Take the turn as soon as it is released.  False: the holder does not come back. */
static bool watch(shoalpy_turnstile_t *turnstile, const void *thread)
{
    const uint64_t until_ns = shoalpy_now_ns() + TURN_NS;

    do {
        for (unsigned i = 0; i < LOOKS; i++) {
            if (take(turnstile, thread))
                return true;
            pause_a_little();
        }
        /* A holder that was interrupted on this CPU waits for it. */
        if (atomic_load_explicit(&turnstile->holder_cpu, memory_order_relaxed) ==
            this_cpu())
            sched_yield();
    } while (shoalpy_now_ns() < until_ns);
    return false;
}

/* Is the turnstile worth its watches? */
static void judge(shoalpy_turnstile_t *turnstile, bool was_in_vain)
{
    turnstile->watches++;
    turnstile->in_vain += was_in_vain;
    if (turnstile->in_vain >= IN_VAIN_MAX) {
        atomic_store(&turnstile->open, (unsigned)PASSES << turnstile->openings);
        if (turnstile->openings < OPENINGS_MAX)
            turnstile->openings++;
    } else if (turnstile->watches >= WATCHES)
        turnstile->openings = 0;
    else
        return;
    turnstile->watches = turnstile->in_vain = 0;
}

static void watch_and_take(shoalpy_turnstile_t *turnstile, const void *thread)
{
    bool is_taken = watch(turnstile, thread);

    judge(turnstile, !is_taken);
    atomic_store(&turnstile->has_watcher, false);
    if (is_taken)
        return;
    atomic_store(&turnstile->holder, thread);
    note_cpu(turnstile);
    tell_release(turnstile);
}

/* ---- the others ---- */

/* Sleep unless the turnstile was released since `releases` was read.  A release that
 * finds no sleeper came before the look at the count.  False: the time is over. */
static bool sleep_until_released(shoalpy_turnstile_t *turnstile, unsigned releases,
                                 const struct timespec *until)
{
    int rc = 0;

    pthread_mutex_lock(&turnstile->lock);
    atomic_fetch_add(&turnstile->sleepers, 1);
    if (atomic_load(&turnstile->releases) == releases)
        rc = pthread_cond_timedwait(&turnstile->released, &turnstile->lock, until);
    atomic_fetch_sub(&turnstile->sleepers, 1);
    pthread_mutex_unlock(&turnstile->lock);
    return rc == 0;
}

static void wait_for_turn(shoalpy_turnstile_t *turnstile, const void *thread)
{
    const struct timespec until = shoalpy_moment(SLEEP_US);

    do {
        unsigned releases = atomic_load(&turnstile->releases);
        if (!atomic_exchange(&turnstile->has_watcher, true)) {
            watch_and_take(turnstile, thread);
            return;
        }
        if (!sleep_until_released(turnstile, releases, &until))
            return;
    } while (!take(turnstile, thread));
}

void shoalpy_turnstile_enter(shoalpy_turnstile_t *turnstile, const void *thread)
{
    unsigned open = atomic_load_explicit(&turnstile->open, memory_order_relaxed);

    if (open > 0) /* of two that come together one may be uncounted */
        atomic_store_explicit(&turnstile->open, open - 1, memory_order_relaxed);
    else if (!take(turnstile, thread))
        wait_for_turn(turnstile, thread);
}

void shoalpy_turnstile_leave(shoalpy_turnstile_t *turnstile, const void *thread)
{
    const void *mine = thread;

    if (atomic_load_explicit(&turnstile->holder, memory_order_relaxed) == thread &&
        atomic_compare_exchange_strong(&turnstile->holder, &mine, NULL))
        tell_release(turnstile);
}
