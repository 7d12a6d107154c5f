/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "turnstile.h"
#include <sched.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif

/* Tries of what a busy machine may spoil, because a holder that does not run loses its
 * turn. */
#define TRIES 2000
#define KEPT_MAX 20 /* then it is enough: on a busy machine each try takes long */

static shoalpy_turnstile_t turnstile;

/* The test compares their addresses and nothing else. */
static const char threads[3];

static int setup(void **state)
{
    (void)state;
    return shoalpy_turnstile_init(&turnstile);
}

static bool has_turn(const void *thread)
{
    return atomic_load(&turnstile.holder) == thread;
}

/* ---- one thread, in several parts ---- */

static void test_alone(void **state)
{
    const char *thread = &threads[0];

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        shoalpy_turnstile_enter(&turnstile, thread);
        assert_true(has_turn(thread));
        shoalpy_turnstile_leave(&turnstile, thread);
        assert_true(has_turn(NULL));
        assert_int_equal(atomic_load(&turnstile.releases), i + 1);
    }
}

/* A holder that does not come back loses its turn, and releases nobody else's then. */
static void test_a_lost_turn(void **state)
{
    const char *slow = &threads[0], *next = &threads[1];

    (void)state;
    shoalpy_turnstile_enter(&turnstile, slow);
    shoalpy_turnstile_enter(&turnstile, next);
    assert_true(has_turn(next));
    assert_int_equal(atomic_load(&turnstile.releases), 1);
    shoalpy_turnstile_leave(&turnstile, slow);
    assert_true(has_turn(next));
}

/* So many passes are free if the holder never comes back. */
static unsigned passes_until_it_closes(void)
{
    unsigned passes = 0;

    for (unsigned i = 0; atomic_load(&turnstile.open) == 0; i++)
        shoalpy_turnstile_enter(&turnstile, &threads[i % 2]);
    for (; atomic_load(&turnstile.open) > 0; passes++) {
        const void *holder = atomic_load(&turnstile.holder);
        shoalpy_turnstile_enter(&turnstile, &threads[2]);
        assert_true(has_turn(holder));
    }
    return passes;
}

/* If threads do other things between their calls, it opens; for twice as long each time;
 * until it was worth its while. */
static void test_it_opens(void **state)
{
    static const unsigned rising[] = {4096,  8192,   16384,  32768,
                                      65536, 131072, 262144, 262144};
    const char *thread = &threads[2];

    (void)state;
    for (unsigned i = 0; i < sizeof rising / sizeof *rising; i++)
        assert_int_equal(passes_until_it_closes(), rising[i]);
    /* Some watches in vain make no difference, among many others. */
    turnstile.watches = 511;
    shoalpy_turnstile_enter(&turnstile, thread);
    assert_int_equal(atomic_load(&turnstile.open), 0);
    assert_int_equal(turnstile.openings, 0);
    assert_int_equal(passes_until_it_closes(), rising[0]);
}

/* Beside a watcher a thread sleeps; if nobody comes, it goes on without a turn. */
static void test_patience_ends(void **state)
{
    const char *holder = &threads[0], *other = &threads[1];

    (void)state;
    shoalpy_turnstile_enter(&turnstile, holder);
    atomic_store(&turnstile.has_watcher, true);
    shoalpy_turnstile_enter(&turnstile, other);
    assert_true(has_turn(holder));
    assert_int_equal(atomic_load(&turnstile.sleepers), 0);
    shoalpy_turnstile_leave(&turnstile, other);
    assert_true(has_turn(holder));
}

/* In the child of a fork: who held, watched, slept or locked is not there. */
static void test_begins_anew(void **state)
{
    const char *holder = &threads[0], *other = &threads[1], *next = &threads[2];

    (void)state;
    shoalpy_turnstile_enter(&turnstile, holder);
    atomic_store(&turnstile.has_watcher, true);
    atomic_store(&turnstile.sleepers, 1);
    atomic_store(&turnstile.open, 1);
    turnstile.in_vain = turnstile.openings = 1;
#if !defined(__SANITIZE_THREAD__) && !__has_feature(thread_sanitizer)
    /* The sanitizer takes it for the same mutex afterwards. */
    pthread_mutex_lock(&turnstile.lock);
#endif
    assert_int_equal(shoalpy_turnstile_init(&turnstile), 0);
    assert_int_equal(turnstile.in_vain + turnstile.openings, 0);
    shoalpy_turnstile_enter(&turnstile, other);
    assert_true(has_turn(other));
    shoalpy_turnstile_leave(&turnstile, holder);
    assert_true(has_turn(other));
    shoalpy_turnstile_enter(&turnstile, next);
    assert_true(has_turn(next));
    assert_int_equal(atomic_load(&turnstile.sleepers), 0);
}

/* ---- two threads ---- */

typedef struct pair {
    int first, second;
    _Atomic bool is_leaving, was_leaving, has_passed;
} pair_t;

static void *pass(void *data)
{
    pair_t *pair = data;

    shoalpy_turnstile_enter(&turnstile, &pair->second);
    atomic_store(&pair->was_leaving, atomic_load(&pair->is_leaving));
    atomic_store(&pair->has_passed, true);
    return NULL;
}

/* The first thread has the turn, and the second comes. */
static pthread_t come(pair_t *pair, bool has_watcher)
{
    pthread_t thread;

    assert_int_equal(shoalpy_turnstile_init(&turnstile), 0);
    shoalpy_turnstile_enter(&turnstile, &pair->first);
    atomic_store(&turnstile.has_watcher, has_watcher);
    assert_int_equal(pthread_create(&thread, NULL, pass, pair), 0);
    return thread;
}

static void leave(pair_t *pair, pthread_t thread)
{
    atomic_store(&pair->is_leaving, true);
    shoalpy_turnstile_leave(&turnstile, &pair->first);
    pthread_join(thread, NULL);
}

/* The second thread passes once the first one is in its next call, or has lost its
 * turn. */
static void test_the_next_one_watches(void **state)
{
    unsigned kept = 0;

    (void)state;
    for (int i = 0; i < TRIES && kept < KEPT_MAX; i++) {
        pair_t pair = {0};
        pthread_t thread = come(&pair, false);
        while (!atomic_load(&turnstile.has_watcher) && !atomic_load(&pair.has_passed))
            sched_yield();
        leave(&pair, thread);
        assert_true(has_turn(&pair.second));
        assert_true(turnstile.in_vain == 1 || atomic_load(&pair.was_leaving));
        kept += atomic_load(&pair.was_leaving);
    }
    assert_true(kept > 0);
}

/* A release wakes a sleeper, which has the turn then. */
static void test_a_release_wakes(void **state)
{
    bool is_taken = false;

    (void)state;
    for (int i = 0; i < TRIES && !is_taken; i++) {
        pair_t pair = {0};
        pthread_t thread = come(&pair, true);
        while (atomic_load(&turnstile.sleepers) == 0 && !atomic_load(&pair.has_passed))
            sched_yield();
        leave(&pair, thread);
        is_taken = has_turn(&pair.second);
    }
    assert_true(is_taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_alone, setup),
        cmocka_unit_test_setup(test_a_lost_turn, setup),
        cmocka_unit_test_setup(test_it_opens, setup),
        cmocka_unit_test_setup(test_patience_ends, setup),
        cmocka_unit_test_setup(test_begins_anew, setup),
        cmocka_unit_test_setup(test_the_next_one_watches, setup),
        cmocka_unit_test_setup(test_a_release_wakes, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
