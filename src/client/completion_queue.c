/* SPDX-License-Identifier: MIT */
#include "client/completion_queue.h"

#include "base/alloc.h"
#include "base/error.h"
#include "client/owned_result.h"
#include "net/fork_guard.h"
#include "net/notifier.h"
#include "net/parker.h"
#include <shoal/errors.h>

#define OUTSTANDING_DEFAULT 65536
#define ENTRIES_FIRST 64

typedef struct entry {
    uint64_t tag;
    shoal_result_t result; /* reply and detail live in the batch's arena */
} entry_t;

/* Results that arrived together, and the memory they live in. */
typedef struct batch {
    entry_t *entries;
    size_t count, capacity;
    shoal__arena_t *arena;
} batch_t;

struct shoal_completions {
    uv_mutex_t lock; /* a leaf: no callback and no other lock under it */
    shoal__notifier_t notifier;
    _Atomic size_t references; /* the owner, each result due, each announcement due */
    size_t outstanding_max;
    size_t outstanding;       /* submitted, not taken; under the lock */
    bool is_signalled;        /* under the lock */
    bool is_abandoned;        /* under the lock: the owner takes no more results */
    batch_t arriving;         /* under the lock */
    batch_t taking;           /* the consumer's */
    size_t taken;             /* of `taking` */
    uint64_t fork_generation; /* of the process that made it */
};

static void release_batch(batch_t *batch)
{
    shoal__free(batch->entries);
    shoal__arena_release(batch->arena);
}

void shoal__completions_drop(shoal_completions_t *completions, size_t count)
{
    if (atomic_fetch_sub(&completions->references, count) != count)
        return;
    release_batch(&completions->arriving);
    release_batch(&completions->taking);
    shoal__notifier_release(&completions->notifier);
    uv_mutex_destroy(&completions->lock);
    shoal__free(completions);
}

void shoal__completions_retain(shoal_completions_t *completions)
{
    atomic_fetch_add(&completions->references, 1);
}

int shoal__completions_new(size_t outstanding_max,
                           shoal_completions_t **ret_completions)
{
    shoal_completions_t *completions;
    int rc = shoal__fork_guard_start();

    if (rc < 0)
        return shoal__error_system(NULL, rc, "");
    completions = shoal__calloc(1, sizeof *completions);
    if (!completions)
        return SHOAL_ENOMEM;
    completions->fork_generation = shoal__fork_generation();
    completions->outstanding_max =
        outstanding_max ? outstanding_max : OUTSTANDING_DEFAULT;
    atomic_init(&completions->references, 1);
    completions->arriving.arena = shoal__arena_new();
    completions->taking.arena = shoal__arena_new();
    if (!completions->arriving.arena || !completions->taking.arena) {
        shoal__arena_release(completions->arriving.arena);
        shoal__arena_release(completions->taking.arena);
        shoal__free(completions);
        return SHOAL_ENOMEM;
    }
    rc = uv_mutex_init(&completions->lock);
    if (rc < 0)
        goto fail;
    rc = shoal__notifier_init(&completions->notifier);
    if (rc < 0) {
        uv_mutex_destroy(&completions->lock);
        goto fail;
    }
    *ret_completions = completions;
    return 0;

fail:
    release_batch(&completions->arriving);
    release_batch(&completions->taking);
    shoal__free(completions);
    return shoal__error_system(NULL, rc, "");
}

bool shoal__completions_are_foreign(const shoal_completions_t *completions)
{
    return completions->fork_generation != shoal__fork_generation();
}

void shoal__completions_free(shoal_completions_t *completions)
{
    uv_mutex_lock(&completions->lock);
    completions->is_abandoned = true;
    uv_mutex_unlock(&completions->lock);
    shoal__completions_drop(completions, 1);
}

int shoal__completions_fd(const shoal_completions_t *completions)
{
    return completions->notifier.read_fd;
}

/* ---- the loop's side ---- */

static bool grow_locked(batch_t *batch)
{
    size_t grown = batch->capacity ? batch->capacity * 2 : ENTRIES_FIRST;
    entry_t *entries;

    if (batch->count < batch->capacity)
        return true;
    entries = shoal__realloc(batch->entries, grown * sizeof *entries);
    if (!entries)
        return false;
    batch->entries = entries;
    batch->capacity = grown;
    return true;
}

static void keep_locked(batch_t *batch, const shoal_result_t *result)
{
    entry_t *entry = &batch->entries[batch->count++];

    entry->tag = result->tag;
    shoal__result_copy(&entry->result, result, batch->arena);
}

bool shoal__completions_keep(shoal_completions_t *completions,
                             const shoal_result_t *result)
{
    bool is_wanted;

    uv_mutex_lock(&completions->lock);
    /* Room for every outstanding result was made at submission. */
    is_wanted = !completions->is_abandoned;
    if (is_wanted)
        keep_locked(&completions->arriving, result);
    uv_mutex_unlock(&completions->lock);
    return is_wanted;
}

void shoal__completions_announce(shoal_completions_t *completions)
{
    bool is_due;

    uv_mutex_lock(&completions->lock);
    is_due = completions->arriving.count > 0 && !completions->is_signalled;
    if (is_due) {
        /* Signal under the lock: otherwise the consumer could clear the notifier before
         * it is signalled, and the signal would stay. */
        completions->is_signalled = true;
        shoal__notifier_signal(&completions->notifier);
    }
    uv_mutex_unlock(&completions->lock);
    shoal__completions_drop(completions, 1);
}

/* ---- the consumer's side ---- */

/* Make room for `count` more results; both batches may have to hold all of them. */
static int admit_locked(shoal_completions_t *completions, size_t count)
{
    batch_t *batch = &completions->arriving;

    if (count > completions->outstanding_max ||
        completions->outstanding + count > completions->outstanding_max)
        return SHOAL_EFULL;
    while (batch->capacity < completions->outstanding + count) {
        size_t kept = batch->count;
        bool is_grown;
        batch->count = batch->capacity;
        is_grown = grow_locked(batch);
        batch->count = kept;
        if (!is_grown)
            return SHOAL_ENOMEM;
    }
    completions->outstanding += count;
    return 0;
}

int shoal__completions_admit(shoal_completions_t *completions, size_t count)
{
    int rc;

    uv_mutex_lock(&completions->lock);
    rc = admit_locked(completions, count);
    uv_mutex_unlock(&completions->lock);
    if (rc == 0)
        atomic_fetch_add(&completions->references, count);
    return rc;
}

void shoal__completions_refund(shoal_completions_t *completions, size_t count)
{
    uv_mutex_lock(&completions->lock);
    completions->outstanding -= count;
    uv_mutex_unlock(&completions->lock);
    shoal__completions_drop(completions, count);
}

static void swap_batches(shoal_completions_t *completions)
{
    batch_t empty = completions->taking;
    size_t capacity;

    if (shoal__arena_is_shared(empty.arena)) {
        /* The consumer retained a reply of the former batch: leave that arena to it. */
        shoal__arena_t *fresh = shoal__arena_new();
        if (!fresh)
            return;
        shoal__arena_release(empty.arena);
        empty.arena = fresh;
    } else {
        shoal__arena_reset(empty.arena);
    }
    empty.count = 0;
    uv_mutex_lock(&completions->lock);
    /* The other side must have room for what is outstanding, too. */
    capacity = completions->arriving.capacity;
    if (empty.capacity < capacity) {
        entry_t *entries = shoal__realloc(empty.entries, capacity * sizeof *entries);
        if (!entries) {
            completions->taking = empty;
            completions->taken = 0;
            uv_mutex_unlock(&completions->lock);
            return;
        }
        empty.entries = entries;
        empty.capacity = capacity;
    }
    completions->taking = completions->arriving;
    completions->arriving = empty;
    completions->taken = 0;
    uv_mutex_unlock(&completions->lock);
}

size_t shoal__completions_take(shoal_completions_t *completions,
                               shoal_completion_t *batch, size_t count_max)
{
    size_t count = 0;

    if (completions->taken == completions->taking.count)
        swap_batches(completions);
    while (count < count_max && completions->taken < completions->taking.count) {
        const entry_t *entry = &completions->taking.entries[completions->taken++];
        batch[count].tag = entry->tag;
        batch[count].result = &entry->result;
        count++;
    }
    uv_mutex_lock(&completions->lock);
    completions->outstanding -= count;
    if (completions->taken == completions->taking.count &&
        completions->arriving.count == 0 && completions->is_signalled) {
        completions->is_signalled = false;
        shoal__notifier_clear(&completions->notifier);
    }
    uv_mutex_unlock(&completions->lock);
    return count;
}

int shoal__completions_wait(shoal_completions_t *completions, uint64_t until_us)
{
    if (completions->taken < completions->taking.count)
        return 0;
    return shoal__parker_wait_readable(completions->notifier.read_fd, until_us);
}
