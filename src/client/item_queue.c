/* SPDX-License-Identifier: MIT */
#include "client/item_queue.h"

#include "base/alloc.h"
#include "base/error.h"
#include "net/notifier.h"
#include "net/parker.h"
#include <shoal/errors.h>
#include <stdatomic.h>

struct shoal_mailbox {
    uv_mutex_t lock;            /* a leaf: no callback and no other lock under it */
    _Atomic size_t references;  /* the owner, each source, loops that are to ring */
    shoal__notifier_t notifier; /* under the lock: none until somebody asks for it */
    shoal__item_store_t store;  /* under the lock */
    bool is_signalled;          /* under the lock; also without a notifier */
    bool is_abandoned;          /* under the lock: the owner takes no more items */
};

int shoal__items_new(size_t messages_max, size_t bytes_max, shoal_overflow_t overflow,
                     shoal_mailbox_t **ret_mailbox)
{
    shoal_mailbox_t *mailbox = shoal__calloc(1, sizeof *mailbox);
    int rc;

    if (!mailbox)
        return SHOAL_ENOMEM;
    rc = uv_mutex_init(&mailbox->lock);
    if (rc < 0) {
        shoal__free(mailbox);
        return shoal__error_system(NULL, rc, "");
    }
    mailbox->notifier.read_fd = mailbox->notifier.write_fd = -1;
    shoal__item_store_init(&mailbox->store, messages_max, bytes_max, overflow);
    atomic_init(&mailbox->references, 1);
    *ret_mailbox = mailbox;
    return 0;
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

int shoal__items_fd(shoal_mailbox_t *mailbox)
{
    shoal__notifier_t *notifier = &mailbox->notifier;
    int fd;

    uv_mutex_lock(&mailbox->lock);
    if (notifier->read_fd < 0) {
        if (shoal__notifier_init(notifier) < 0)
            notifier->read_fd = notifier->write_fd = -1;
        else if (mailbox->is_signalled)
            shoal__notifier_signal(notifier);
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
    if (mailbox->is_signalled && shoal__item_store_count(&mailbox->store) == 0) {
        mailbox->is_signalled = false;
        if (mailbox->notifier.read_fd >= 0)
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

unsigned shoal__items_put(shoal__item_source_t *source, const shoal_item_t *item)
{
    shoal_mailbox_t *mailbox = mailbox_of(source);
    unsigned said = 0;

    uv_mutex_lock(&mailbox->lock);
    if (!mailbox->is_abandoned) {
        shoal__item_source_put(source, item);
        said = (mailbox->is_signalled ? 0 : SHOAL__ITEMS_RING) |
               (source->has_ended ? SHOAL__ITEMS_ENDED : 0);
    }
    uv_mutex_unlock(&mailbox->lock);
    return said;
}

void shoal__items_ring(shoal_mailbox_t *mailbox)
{
    uv_mutex_lock(&mailbox->lock);
    if (!mailbox->is_signalled && shoal__item_store_count(&mailbox->store) > 0) {
        mailbox->is_signalled = true;
        if (mailbox->notifier.read_fd >= 0)
            shoal__notifier_signal(&mailbox->notifier);
    }
    uv_mutex_unlock(&mailbox->lock);
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

int shoal__items_wait(shoal_mailbox_t *mailbox, uint64_t until_us)
{
    int fd;

    if (shoal__items_count(mailbox) > 0) /* also before the loop rings */
        return 0;
    fd = shoal__items_fd(mailbox);
    return fd < 0 ? SHOAL_ESYSTEM : shoal__parker_wait_readable(fd, until_us);
}

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
