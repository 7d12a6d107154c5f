/* SPDX-License-Identifier: MIT */
#include "core/push/item_log.h"

#include "base/alloc.h"
#include <shoal/errors.h>
#include <string.h>

#define SPARES_MAX 4
#define ALIGNMENT ((size_t)16)

struct shoal__item_block {
    shoal__item_block_t *next;
    size_t capacity; /* of memory, in bytes */
    size_t head;     /* the oldest message that is there */
    size_t tail;     /* where the next one goes */
    bool is_lent;    /* messages in front of head are being read */
    _Alignas(16) char memory[];
};

static size_t text_bytes(shoal__bytes_t text)
{
    return text.data ? text.bytes + 1 : 0;
}

static size_t measure(const shoal_item_t *item)
{
    size_t bytes = sizeof(shoal__logged_item_t) + text_bytes(item->channel) +
                   text_bytes(item->pattern) + item->payload.bytes;

    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool has_room(const shoal__item_log_t *log, size_t bytes)
{
    return log->last && bytes <= log->last->capacity - log->last->tail;
}

static size_t block_capacity(size_t bytes)
{
    return bytes > SHOAL__ITEM_BLOCK_BYTES ? bytes : SHOAL__ITEM_BLOCK_BYTES;
}

/* Is no message left, but the block that the last ones were in? */
static bool is_spent(const shoal__item_log_t *log)
{
    return log->last && log->last == log->first && log->last->head == log->last->tail;
}

size_t shoal__item_log_memory_with(const shoal__item_log_t *log,
                                   const shoal_item_t *item)
{
    size_t bytes = measure(item);

    if (has_room(log, bytes))
        return log->memory_bytes;
    return (is_spent(log) ? 0 : log->memory_bytes) + block_capacity(bytes);
}

/* ---- blocks ---- */

static void keep_or_free(shoal__item_log_t *log, shoal__item_block_t *block)
{
    if (log->spares < SPARES_MAX && block->capacity == SHOAL__ITEM_BLOCK_BYTES) {
        block->next = log->spare;
        log->spare = block;
        log->spares++;
    } else {
        shoal__free(block);
    }
}

static shoal__item_block_t *get_block(shoal__item_log_t *log, size_t bytes)
{
    size_t capacity = block_capacity(bytes);
    shoal__item_block_t *block;

    if (log->spare && capacity == SHOAL__ITEM_BLOCK_BYTES) {
        block = log->spare;
        log->spare = block->next;
        log->spares--;
    } else {
        block = shoal__malloc(sizeof *block + capacity);
    }
    if (!block)
        return NULL;
    *block = (shoal__item_block_t){.capacity = capacity};
    return block;
}

/* `block` has no message any more; `link` leads to it. */
static void unlink_block(shoal__item_log_t *log, shoal__item_block_t **link,
                         shoal__item_block_t *previous)
{
    shoal__item_block_t *block = *link;

    *link = block->next;
    if (log->last == block)
        log->last = previous;
    log->memory_bytes -= block->capacity;
    if (block->is_lent) {
        block->next = log->lent;
        log->lent = block;
    } else {
        keep_or_free(log, block);
    }
}

/* ---- messages ---- */

static shoal__bytes_t copy(char **place, shoal__bytes_t text, bool has_nul)
{
    shoal__bytes_t copied = {NULL, 0};

    if (!text.data)
        return copied;
    copied = (shoal__bytes_t){*place, text.bytes};
    memcpy(*place, text.data, text.bytes);
    *place += text.bytes;
    if (has_nul)
        *(*place)++ = '\0';
    return copied;
}

int shoal__item_log_append(shoal__item_log_t *log, const shoal_item_t *item,
                           void *owner)
{
    size_t bytes = measure(item);
    shoal__logged_item_t *logged;
    char *place;

    if (!has_room(log, bytes)) {
        shoal__item_block_t *block = get_block(log, bytes);
        if (!block)
            return SHOAL_ENOMEM;
        if (is_spent(log))
            unlink_block(log, &log->first, NULL);
        *(log->last ? &log->last->next : &log->first) = block;
        log->last = block;
        log->memory_bytes += block->capacity;
    }
    logged = (void *)(log->last->memory + log->last->tail);
    log->last->tail += bytes;
    place = (char *)(logged + 1);
    logged->item = *item;
    logged->item.channel = copy(&place, item->channel, true);
    logged->item.pattern = copy(&place, item->pattern, true);
    logged->item.payload = copy(&place, item->payload, false);
    logged->owner = owner;
    logged->number = ++log->appended;
    logged->bytes = bytes;
    log->count++;
    return 0;
}

static shoal__logged_item_t *head_of(shoal__item_block_t *block)
{
    return (void *)(block->memory + block->head);
}

/* Is the last block, which has no messages, filled further? */
static bool stays(shoal__item_block_t *block)
{
    if (block->capacity > SHOAL__ITEM_BLOCK_BYTES)
        return false;
    if (!block->is_lent)
        block->head = block->tail = 0;
    return block->tail < block->capacity / 2;
}

/* Leaves withdrawn messages, and blocks without messages, behind. */
shoal__logged_item_t *shoal__item_log_front(shoal__item_log_t *log)
{
    while (log->first) {
        shoal__item_block_t *block = log->first;
        for (; block->head < block->tail; block->head += head_of(block)->bytes)
            if (head_of(block)->owner)
                return head_of(block);
        if (!block->next && stays(block))
            return NULL;
        unlink_block(log, &log->first, NULL);
    }
    return NULL;
}

void shoal__item_log_take(shoal__item_log_t *log)
{
    log->first->is_lent = true;
    shoal__item_log_drop(log);
}

void shoal__item_log_drop(shoal__item_log_t *log)
{
    log->first->head += head_of(log->first)->bytes;
    log->count--;
}

void shoal__item_log_return(shoal__item_log_t *log)
{
    if (log->first)
        log->first->is_lent = false;
    while (log->lent) {
        shoal__item_block_t *block = log->lent;
        log->lent = block->next;
        keep_or_free(log, block);
    }
}

/* How many messages of the block are there when those of `owner` are not? */
static size_t withdraw_from(shoal__item_log_t *log, shoal__item_block_t *block,
                            const void *owner)
{
    size_t left = 0;
    size_t at = block->head;

    while (at < block->tail) {
        shoal__logged_item_t *logged = (void *)(block->memory + at);
        if (logged->owner == owner) {
            logged->owner = NULL;
            log->count--;
        }
        left += logged->owner != NULL;
        at += logged->bytes;
    }
    return left;
}

void shoal__item_log_withdraw(shoal__item_log_t *log, const void *owner)
{
    shoal__item_block_t **link = &log->first, *previous = NULL;

    while (*link) {
        if (withdraw_from(log, *link, owner) == 0) {
            unlink_block(log, link, previous);
        } else {
            previous = *link;
            link = &previous->next;
        }
    }
}

static void free_all(shoal__item_block_t **blocks)
{
    while (*blocks) {
        shoal__item_block_t *block = *blocks;
        *blocks = block->next;
        shoal__free(block);
    }
}

void shoal__item_log_trim(shoal__item_log_t *log)
{
    free_all(&log->first);
    free_all(&log->lent);
    free_all(&log->spare);
    log->last = NULL;
    log->spares = 0;
    log->memory_bytes = 0;
}

void shoal__item_log_release(shoal__item_log_t *log)
{
    shoal__item_log_trim(log);
    *log = (shoal__item_log_t){0};
}
