/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "client/item_queue.h"
#include "net/clock.h"
#include <poll.h>
#include <pthread.h>
#include <shoal/errors.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#define MESSAGES 100000
#define PRODUCERS 2

static shoal_mailbox_t *open_mailbox(size_t messages_max, shoal_overflow_t overflow)
{
    shoal_mailbox_t *mailbox;

    assert_int_equal(
        shoal__items_new(messages_max, (size_t)1 << 20, overflow, &mailbox), 0);
    return mailbox;
}

static unsigned put(shoal__item_source_t *source, uint64_t number)
{
    const shoal_item_t item = {
        .channel = {"channel", 7}, .payload = {"payload", 7}, .epoch = number};

    return shoal__items_put(source, &item);
}

static bool is_readable(shoal_mailbox_t *mailbox)
{
    struct pollfd polled = {.fd = shoal__items_fd(mailbox), .events = POLLIN};

    return poll(&polled, 1, 0) == 1;
}

static void test_the_descriptor_is_readable_while_there_are_items(void **state)
{
    shoal_mailbox_t *mailbox = open_mailbox(8, SHOAL_OVERFLOW_NEWEST);
    const shoal_item_t *items[4];
    shoal__item_source_t *source;
    int data;

    (void)state;
    assert_int_equal(shoal__items_open(mailbox, &data, &source), 0);
    shoal__items_ring(mailbox);
    assert_false(is_readable(mailbox));
    assert_int_equal(shoal__items_wait(mailbox, 0), SHOAL_ETIMEOUT);
    assert_int_equal(put(source, 1), SHOAL__ITEMS_RING);
    assert_int_equal(put(source, 2), SHOAL__ITEMS_RING);
    assert_false(is_readable(mailbox));
    assert_int_equal(shoal__items_wait(mailbox, 0), 0); /* before the ring too */
    shoal__items_ring(mailbox);
    assert_true(is_readable(mailbox));
    assert_int_equal(put(source, 3), 0);
    assert_int_equal(shoal__items_count(mailbox), 3);
    assert_int_equal(shoal__items_take(mailbox, items, 2), 2);
    assert_ptr_equal(items[1]->data, &data);
    assert_true(is_readable(mailbox));
    assert_int_equal(shoal__items_wait(mailbox, 0), 0);
    assert_int_equal(shoal__items_take(mailbox, items, 2), 1);
    assert_false(is_readable(mailbox));
    /* What is purged is nothing to take. */
    put(source, 4);
    shoal__items_ring(mailbox);
    shoal__items_close(source);
    assert_false(is_readable(mailbox));
    assert_int_equal(shoal__items_take(mailbox, items, 2), 0);
    shoal__items_free(mailbox);
}

static bool is_signalled_before_it_is_asked_for(bool is_taken)
{
    shoal_mailbox_t *mailbox = open_mailbox(8, SHOAL_OVERFLOW_NEWEST);
    const shoal_item_t *items[1];
    shoal__item_source_t *source;
    bool is_signalled;

    assert_int_equal(shoal__items_open(mailbox, NULL, &source), 0);
    put(source, 1);
    shoal__items_ring(mailbox);
    assert_int_equal(put(source, 2), 0);
    for (int i = 0; is_taken && i < 2; i++)
        assert_int_equal(shoal__items_take(mailbox, items, 1), 1);
    is_signalled = is_readable(mailbox);
    shoal__items_close(source);
    shoal__items_free(mailbox);
    return is_signalled;
}

static void test_the_descriptor_is_made_when_it_is_asked_for(void **state)
{
    struct rlimit limit, none;
    shoal_mailbox_t *mailbox = open_mailbox(8, SHOAL_OVERFLOW_NEWEST);

    (void)state;
    assert_true(is_signalled_before_it_is_asked_for(false));
    assert_false(is_signalled_before_it_is_asked_for(true));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(shoal__items_fd(mailbox), -1);
    assert_int_equal(shoal__items_wait(mailbox, 0),
                     SHOAL_PARKER_FUTEX ? SHOAL_ETIMEOUT : SHOAL_ESYSTEM);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(shoal__items_fd(mailbox) >= 0);
    assert_int_equal(shoal__items_fd(mailbox), shoal__items_fd(mailbox));
    shoal__items_free(mailbox);
}

static void test_the_mailbox_lives_as_long_as_its_sources(void **state)
{
    shoal_mailbox_t *mailbox = open_mailbox(1, SHOAL_OVERFLOW_END);
    shoal__item_source_t *first, *second;

    (void)state;
    assert_int_equal(shoal__items_open(mailbox, NULL, &first), 0);
    assert_int_equal(shoal__items_open(mailbox, NULL, &second), 0);
    assert_true(shoal__items_fd(mailbox) >= 0);
    assert_int_equal(put(first, 1), SHOAL__ITEMS_RING);
    assert_int_equal(put(first, 2), SHOAL__ITEMS_RING | SHOAL__ITEMS_ENDED);
    assert_int_equal(shoal__items_dropped(mailbox), 1);
    shoal__items_free(mailbox);
    assert_int_equal(put(second, 3), 0);
    shoal__items_close(first);
    shoal__items_close(second);
}

static void test_without_memory_there_is_none(void **state)
{
    shoal_mailbox_t *mailbox;
    shoal__item_source_t *source;

    (void)state;
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__items_new(1, 1, SHOAL_OVERFLOW_END, &mailbox),
                     SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    mailbox = open_mailbox(1, SHOAL_OVERFLOW_END);
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal__items_open(mailbox, NULL, &source), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    shoal__items_free(mailbox);
}

/* ---- in the child of a fork ---- */

/* 0, or which call went wrong. */
static int use_in_child(shoal_mailbox_t *mailbox)
{
    const shoal_item_t *items[1];
    shoal_mailbox_t *own;

    if (shoal_mailbox_take(mailbox, items, 1) != 0)
        return 1;
    if (shoal_mailbox_wait(mailbox, 0) != SHOAL_EFORK)
        return 2;
    if (shoal_mailbox_fd(mailbox) != -1)
        return 3;
    if (shoal_mailbox_count(mailbox) != 0 || shoal_mailbox_dropped(mailbox) != 0)
        return 4;
    shoal_mailbox_free(mailbox);
    if (shoal_mailbox_new(0, 0, SHOAL_OVERFLOW_NEWEST, &own) != 0 ||
        shoal_mailbox_wait(own, 0) != SHOAL_ETIMEOUT)
        return 5;
    shoal_mailbox_free(own);
    return 0;
}

static void test_a_mailbox_belongs_to_its_process(void **state)
{
    shoal_mailbox_t *mailbox = open_mailbox(1, SHOAL_OVERFLOW_NEWEST);
    const shoal_item_t *items[2];
    shoal__item_source_t *source;
    int status = 0;
    pid_t child;

    (void)state;
    assert_int_equal(shoal__items_open(mailbox, NULL, &source), 0);
    put(source, 1);
    put(source, 2);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(use_in_child(mailbox));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(shoal_mailbox_take(mailbox, items, 2), 2);
    assert_int_equal(shoal_mailbox_dropped(mailbox), 1);
    shoal__items_close(source);
    shoal_mailbox_free(mailbox);
}

/* ---- threads ---- */

typedef struct waiting {
    uv_thread_t thread;
    shoal_mailbox_t *mailbox;
    _Atomic int rc; /* 1: it waits */
} waiting_t;

static void wait_for_ever(void *data)
{
    waiting_t *waiting = data;

    atomic_store(&waiting->rc, shoal__items_wait(waiting->mailbox, UINT64_MAX));
}

static void on_signal(int number)
{
    (void)number;
}

static void start_waiting(waiting_t *waiting, shoal_mailbox_t *mailbox)
{
    *waiting = (waiting_t){.mailbox = mailbox, .rc = 1};
    assert_int_equal(uv_thread_create(&waiting->thread, wait_for_ever, waiting), 0);
}

/* Only threads that sleep are rung for; what comes meanwhile says so each time. */
static void test_a_sleeper_is_rung_for_and_nobody_else(void **state)
{
    shoal_mailbox_t *mailbox = open_mailbox(1000000, SHOAL_OVERFLOW_NEWEST);
    shoal__item_source_t *source;
    const shoal_item_t *items[8];
    waiting_t waiting[2];

    (void)state;
    assert_int_equal(shoal__items_open(mailbox, NULL, &source), 0);
    assert_int_equal(put(source, 1), 0);
    assert_int_equal(shoal__items_wait(mailbox, UINT64_MAX), 0);
    while (shoal__items_take(mailbox, items, 8) > 0)
        continue;
    for (int i = 0; i < 2; i++)
        start_waiting(&waiting[i], mailbox);
    /* A thread that does not sleep yet finds the item. */
    while (atomic_load(&waiting[0].rc) == 1 || atomic_load(&waiting[1].rc) == 1) {
        if (put(source, 2) & SHOAL__ITEMS_RING)
            shoal__items_ring(mailbox);
        uv_sleep(1);
    }
    for (int i = 0; i < 2; i++) {
        uv_thread_join(&waiting[i].thread);
        assert_int_equal(waiting[i].rc, 0);
    }
    assert_int_equal(put(source, 3), 0);
    shoal__items_close(source);
    shoal__items_free(mailbox);
}

static void test_a_signal_and_the_time_end_a_wait(void **state)
{
    const struct sigaction action = {.sa_handler = on_signal};
    shoal_mailbox_t *mailbox = open_mailbox(8, SHOAL_OVERFLOW_NEWEST);
    shoal__item_source_t *source;
    waiting_t waiting;

    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    start_waiting(&waiting, mailbox);
    while (atomic_load(&waiting.rc) == 1) {
        pthread_kill(waiting.thread, SIGUSR1);
        uv_sleep(1);
    }
    uv_thread_join(&waiting.thread);
    assert_int_equal(waiting.rc, SHOAL_EINTR);
    assert_int_equal(shoal__items_wait(mailbox, shoal__clock_us() + 1000),
                     SHOAL_ETIMEOUT);
    /* The loop does not ring for a thread that has left its wait. */
    assert_int_equal(shoal__items_open(mailbox, NULL, &source), 0);
    if (SHOAL_PARKER_FUTEX)
        assert_int_equal(put(source, 1), 0);
    shoal__items_close(source);
    shoal__items_free(mailbox);
}

typedef struct producer {
    uv_thread_t thread;
    shoal_mailbox_t *mailbox;
    shoal__item_source_t *source;
    uint64_t told; /* messages taken, or counted as dropped */
} producer_t;

static void produce(void *data)
{
    producer_t *producer = data;

    for (uint64_t i = 1; i <= MESSAGES; i++)
        if ((put(producer->source, i) & SHOAL__ITEMS_RING) && i % 16 == 0)
            shoal__items_ring(producer->mailbox);
    shoal__items_ring(producer->mailbox);
}

static bool take(shoal_mailbox_t *mailbox)
{
    const shoal_item_t *items[100];
    size_t count;

    if (shoal__items_wait(mailbox, shoal__clock_us() + 100000) == SHOAL_ETIMEOUT)
        return false;
    count = shoal__items_take(mailbox, items, 100);
    for (size_t i = 0; i < count; i++) {
        producer_t *producer = items[i]->data;
        if (items[i]->kind == SHOAL_ITEM_MESSAGE)
            assert_int_equal(items[i]->epoch, ++producer->told);
        else
            producer->told += items[i]->count;
    }
    return true;
}

static void test_threads_lose_nothing_unsaid(void **state)
{
    producer_t producers[PRODUCERS] = {{0}};

    (void)state;
    for (int overflow = 0; overflow < SHOAL_OVERFLOW_END; overflow++) {
        shoal_mailbox_t *mailbox = open_mailbox(1000, (shoal_overflow_t)overflow);
        for (int i = 0; i < PRODUCERS; i++) {
            producers[i] = (producer_t){.mailbox = mailbox};
            assert_int_equal(
                shoal__items_open(mailbox, &producers[i], &producers[i].source), 0);
            assert_int_equal(
                uv_thread_create(&producers[i].thread, produce, &producers[i]), 0);
        }
        while (producers[0].told < MESSAGES || producers[1].told < MESSAGES)
            take(mailbox);
        for (int i = 0; i < PRODUCERS; i++) {
            uv_thread_join(&producers[i].thread);
            assert_int_equal(producers[i].told, MESSAGES);
            shoal__items_close(producers[i].source);
        }
        assert_false(is_readable(mailbox));
        shoal__items_free(mailbox);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_descriptor_is_readable_while_there_are_items),
        cmocka_unit_test(test_the_descriptor_is_made_when_it_is_asked_for),
        cmocka_unit_test(test_the_mailbox_lives_as_long_as_its_sources),
        cmocka_unit_test(test_without_memory_there_is_none),
        cmocka_unit_test(test_a_mailbox_belongs_to_its_process),
        cmocka_unit_test(test_a_sleeper_is_rung_for_and_nobody_else),
        cmocka_unit_test(test_a_signal_and_the_time_end_a_wait),
        cmocka_unit_test(test_threads_lose_nothing_unsaid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
