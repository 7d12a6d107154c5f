/* SPDX-License-Identifier: MIT */
#include "client/item_queue.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/time_us.h"
#include "net/clock.h"
#include "net/fork_guard.h"
#include "net/notifier.h"
#include "net/parker.h"
#include <shoal/errors.h>
#include <stdatomic.h>

#define SLEEP_US_MAX UINT64_C(3600000000) /* then a thread that waits looks again */

struct shoal_mailbox {
    uv_mutex_t lock;            /* a leaf: no callback and no other lock under it */
    _Atomic size_t references;  /* the owner, each source, loops that are to ring */
    shoal__notifier_t notifier; /* under the lock: none until somebody asks for it */
    shoal__item_store_t store;  /* under the lock */
    bool is_signalled;          /* under the lock: the notifier is */
    bool is_abandoned;          /* under the lock: the owner takes no more items */
    uint64_t fork_generation;   /* of the process that made it */
    shoal__list_t sleepers;   /* under the lock: threads that wait, not rung for yet */
    shoal__parking_t parking; /* where they sleep */
};

/* A thread that waits for items; it was not rung for yet. */
typedef struct sleeper {
    shoal__list_t node;
    shoal__parker_t parker;
} sleeper_t;

int shoal__items_new(size_t messages_max, size_t bytes_max, shoal_overflow_t overflow,
                     shoal_mailbox_t **ret_mailbox)
{
    shoal_mailbox_t *mailbox;
    int rc = shoal__fork_guard_start();

    if (rc < 0)
        return shoal__error_system(NULL, rc, "");
    mailbox = shoal__calloc(1, sizeof *mailbox);
    if (!mailbox)
        return SHOAL_ENOMEM;
    mailbox->fork_generation = shoal__fork_generation();
    rc = uv_mutex_init(&mailbox->lock);
    if (rc < 0) {
        shoal__free(mailbox);
        return shoal__error_system(NULL, rc, "");
    }
    mailbox->notifier.read_fd = mailbox->notifier.write_fd = -1;
    shoal__item_store_init(&mailbox->store, messages_max, bytes_max, overflow);
    shoal__list_init(&mailbox->sleepers);
    atomic_init(&mailbox->references, 1);
    *ret_mailbox = mailbox;
    return 0;
}

bool shoal__items_is_foreign(const shoal_mailbox_t *mailbox)
{
    return mailbox->fork_generation != shoal__fork_generation();
}

void shoal__items_retain(shoal_mailbox_t *mailbox)
{
    atomic_fetch_add(&mailbox->references, 1);
}

void shoal__items_release(shoal_mailbox_t *mailbox)
{
    if (atomic_fetch_sub(&mailbox->references, 1) != 1)
        return;
    shoal__item_store_release(&mailbox->store);
    if (mailbox->notifier.read_fd >= 0)
        shoal__notifier_release(&mailbox->notifier);
    uv_mutex_destroy(&mailbox->lock);
    shoal__free(mailbox);
}

void shoal__items_free(shoal_mailbox_t *mailbox)
{
    uv_mutex_lock(&mailbox->lock);
    mailbox->is_abandoned = true;
    uv_mutex_unlock(&mailbox->lock);
    shoal__items_release(mailbox);
}

static bool has_items_locked(const shoal_mailbox_t *mailbox)
{
    return shoal__item_store_count(&mailbox->store) > 0;
}

static bool has_descriptor_locked(const shoal_mailbox_t *mailbox)
{
    return mailbox->notifier.read_fd >= 0;
}

static void signal_locked(shoal_mailbox_t *mailbox)
{
    if (!has_descriptor_locked(mailbox) || mailbox->is_signalled)
        return;
    mailbox->is_signalled = true;
    shoal__notifier_signal(&mailbox->notifier);
}

int shoal__items_fd(shoal_mailbox_t *mailbox)
{
    shoal__notifier_t *notifier = &mailbox->notifier;
    int fd;

    uv_mutex_lock(&mailbox->lock);
    if (!has_descriptor_locked(mailbox)) {
        if (shoal__notifier_init(notifier) < 0)
            notifier->read_fd = notifier->write_fd = -1;
        else if (has_items_locked(mailbox))
            signal_locked(mailbox);
    }
    fd = notifier->read_fd;
    uv_mutex_unlock(&mailbox->lock);
    return fd;
}

static shoal_mailbox_t *mailbox_of(shoal__item_source_t *source)
{
    return SHOAL__LIST_ENTRY(source->store, shoal_mailbox_t, store);
}

/* Clears the signal if nothing is left.  Under the lock: otherwise the loop could signal
 * between the look and the clearing. */
static void settle_locked(shoal_mailbox_t *mailbox)
{
    if (mailbox->is_signalled && !has_items_locked(mailbox)) {
        mailbox->is_signalled = false;
        shoal__notifier_clear(&mailbox->notifier);
    }
}

/* ---- a subscription's side ---- */

int shoal__items_open(shoal_mailbox_t *mailbox, void *data,
                      shoal__item_source_t **ret_source)
{
    uv_mutex_lock(&mailbox->lock);
    *ret_source = shoal__item_source_new(&mailbox->store, data);
    uv_mutex_unlock(&mailbox->lock);
    if (!*ret_source)
        return SHOAL_ENOMEM;
    shoal__items_retain(mailbox);
    return 0;
}

void shoal__items_close(shoal__item_source_t *source)
{
    shoal_mailbox_t *mailbox = mailbox_of(source);

    uv_mutex_lock(&mailbox->lock);
    shoal__item_source_free(source);
    settle_locked(mailbox);
    uv_mutex_unlock(&mailbox->lock);
    shoal__items_release(mailbox);
}

/* ---- the loop's side ---- */

/* Does somebody wait who does not know yet that there are items? */
static bool is_awaited_locked(const shoal_mailbox_t *mailbox)
{
    return !shoal__list_is_empty(&mailbox->sleepers) ||
           (has_descriptor_locked(mailbox) && !mailbox->is_signalled);
}

unsigned shoal__items_put(shoal__item_source_t *source, const shoal_item_t *item)
{
    shoal_mailbox_t *mailbox = mailbox_of(source);
    unsigned said = 0;

    uv_mutex_lock(&mailbox->lock);
    if (!mailbox->is_abandoned) {
        shoal__item_source_put(source, item);
        said = (is_awaited_locked(mailbox) ? SHOAL__ITEMS_RING : 0) |
               (source->has_ended ? SHOAL__ITEMS_ENDED : 0);
    }
    uv_mutex_unlock(&mailbox->lock);
    return said;
}

/* A sleeper that was unparked may be gone already. */
static void unpark_all_locked(shoal_mailbox_t *mailbox, shoal__parking_due_t *due)
{
    while (!shoal__list_is_empty(&mailbox->sleepers)) {
        sleeper_t *sleeper = SHOAL__LIST_ENTRY(mailbox->sleepers.next, sleeper_t, node);
        shoal__list_remove(&sleeper->node);
        shoal__parker_unpark(&sleeper->parker, due);
    }
}

void shoal__items_ring(shoal_mailbox_t *mailbox)
{
    shoal__parking_due_t due = {{0}};

    uv_mutex_lock(&mailbox->lock);
    if (has_items_locked(mailbox)) {
        unpark_all_locked(mailbox, &due);
        signal_locked(mailbox);
    }
    uv_mutex_unlock(&mailbox->lock);
    shoal__parking_wake(&mailbox->parking, &due);
}

/* ---- the consumer's side ---- */

size_t shoal__items_take(shoal_mailbox_t *mailbox, const shoal_item_t **items,
                         size_t count_max)
{
    size_t count;

    uv_mutex_lock(&mailbox->lock);
    count = shoal__item_store_take(&mailbox->store, items, count_max);
    settle_locked(mailbox);
    uv_mutex_unlock(&mailbox->lock);
    return count;
}

#if SHOAL_PARKER_FUTEX

/* 0: it was rung for; SHOAL_ETIMEOUT or SHOAL_EINTR. */
static int sleep_until(shoal_mailbox_t *mailbox, sleeper_t *sleeper, uint64_t until_us)
{
    uint64_t now_us, turn_us;

    do {
        /* A signal does not end a sleep that has no end. */
        turn_us = shoal__time_min(until_us, shoal__clock_us() + SLEEP_US_MAX);
        if (shoal__parker_park(&sleeper->parker, &mailbox->parking, 0, turn_us))
            return 0;
        now_us = shoal__clock_us();
    } while (now_us >= turn_us && now_us < until_us);
    return now_us < until_us ? SHOAL_EINTR : SHOAL_ETIMEOUT;
}

/* False: it was rung for. */
static bool leave(shoal_mailbox_t *mailbox, sleeper_t *sleeper)
{
    bool is_asleep;

    uv_mutex_lock(&mailbox->lock);
    is_asleep = !shoal__parker_is_unparked(&sleeper->parker);
    if (is_asleep)
        shoal__list_remove(&sleeper->node);
    uv_mutex_unlock(&mailbox->lock);
    return is_asleep;
}

int shoal__items_wait(shoal_mailbox_t *mailbox, uint64_t until_us)
{
    sleeper_t sleeper;
    bool has_items;
    int rc;

    shoal__parker_init(&sleeper.parker);
    uv_mutex_lock(&mailbox->lock);
    has_items = has_items_locked(mailbox); /* also before the loop rings */
    if (!has_items)
        shoal__list_append(&mailbox->sleepers, &sleeper.node);
    uv_mutex_unlock(&mailbox->lock);
    if (has_items)
        return 0;
    rc = sleep_until(mailbox, &sleeper, until_us);
    return rc < 0 && leave(mailbox, &sleeper) ? rc : 0;
}

#else

int shoal__items_wait(shoal_mailbox_t *mailbox, uint64_t until_us)
{
    int fd;

    if (shoal__items_count(mailbox) > 0) /* also before the loop rings */
        return 0;
    fd = shoal__items_fd(mailbox);
    return fd < 0 ? SHOAL_ESYSTEM : shoal__parker_wait_readable(fd, until_us);
}

#endif

size_t shoal__items_count(shoal_mailbox_t *mailbox)
{
    size_t count;

    uv_mutex_lock(&mailbox->lock);
    count = shoal__item_store_count(&mailbox->store);
    uv_mutex_unlock(&mailbox->lock);
    return count;
}

uint64_t shoal__items_dropped(shoal_mailbox_t *mailbox)
{
    uint64_t dropped;

    uv_mutex_lock(&mailbox->lock);
    dropped = mailbox->store.dropped;
    uv_mutex_unlock(&mailbox->lock);
    return dropped;
}
