/* SPDX-License-Identifier: MIT */
#include "core/push/item_store.h"

#include "base/alloc.h"
#include <shoal/errors.h>

void shoal__item_store_init(shoal__item_store_t *store, size_t messages_max,
                            size_t bytes_max, shoal_overflow_t overflow)
{
    *store = (shoal__item_store_t){
        .messages_max = messages_max, .bytes_max = bytes_max, .overflow = overflow};
    shoal__marks_init(&store->marks);
}

void shoal__item_store_release(shoal__item_store_t *store)
{
    shoal__item_log_release(&store->log);
    shoal__marks_release(&store->marks);
}

shoal__item_source_t *shoal__item_source_new(shoal__item_store_t *store, void *data)
{
    shoal__item_source_t *source = shoal__malloc(sizeof *source);
    const shoal_item_t ended = {
        .kind = SHOAL_ITEM_ENDED, .detail = "out of memory", .data = data};

    if (!source)
        return NULL;
    *source = (shoal__item_source_t){.store = store, .data = data};
    shoal__list_init(&source->marks);
    source->reserve = shoal__mark_new(&ended, source);
    if (!source->reserve) {
        shoal__free(source);
        return NULL;
    }
    return source;
}

void shoal__item_source_free(shoal__item_source_t *source)
{
    shoal__item_store_t *store = source->store;

    while (!shoal__list_is_empty(&source->marks))
        shoal__marks_free(&store->marks, SHOAL__LIST_ENTRY(source->marks.next,
                                                           shoal__mark_t, of_owner));
    if (source->messages > 0)
        shoal__item_log_withdraw(&store->log, source);
    shoal__free(source->reserve);
    shoal__free(source);
}

/* ---- marks ---- */

/* The number of the oldest message that is there, or will be there next. */
static uint64_t front_number(shoal__item_store_t *store)
{
    const shoal__logged_item_t *front = shoal__item_log_front(&store->log);

    return front ? front->number : store->log.appended + 1;
}

/* Is there nothing of the source's but marks behind this mark of it? */
static bool is_behind_messages(const shoal__item_source_t *source,
                               const shoal__mark_t *mark)
{
    return source->messages == 0 || source->last_message < mark->before;
}

static void forget_hole(shoal__item_source_t *source, const shoal__mark_t *mark)
{
    if (source->hole_front == mark)
        source->hole_front = NULL;
    if (source->hole_back == mark)
        source->hole_back = NULL;
}

static void end_for_want_of_memory(shoal__item_source_t *source)
{
    shoal__item_store_t *store = source->store;

    if (!source->reserve)
        return; /* that is said already */
    shoal__marks_append(&store->marks, source->reserve, &source->marks,
                        store->log.appended + 1);
    source->reserve = NULL;
    source->has_ended = true;
}

/* NULL: the source has ended. */
static shoal__mark_t *make_mark(shoal__item_source_t *source, const shoal_item_t *item)
{
    shoal__mark_t *mark = shoal__mark_new(item, source);

    if (!mark)
        end_for_want_of_memory(source);
    return mark;
}

/* Equal marks of the source that a new one at the end replaces. */
static void remove_equal(shoal__item_source_t *source, const shoal_item_t *item)
{
    shoal__marks_t *marks = &source->store->marks;
    shoal__mark_t *mark = shoal__marks_find(marks, item, source);
    uint64_t front = front_number(source->store);
    bool is_replaced = mark && is_behind_messages(source, mark);

    while (mark) {
        shoal__mark_t *older = shoal__marks_find_older(mark);
        /* Of the next older one: no message is left in front of a mark at the front. */
        bool is_older_replaced = source->messages == 0 || mark->before <= front;
        if (is_replaced)
            shoal__marks_free(marks, mark);
        is_replaced = is_older_replaced;
        mark = older;
    }
}

static void put_mark(shoal__item_source_t *source, const shoal_item_t *item)
{
    shoal__item_store_t *store = source->store;
    shoal__mark_t *mark;

    remove_equal(source, item);
    mark = make_mark(source, item);
    if (mark)
        shoal__marks_append(&store->marks, mark, &source->marks,
                            store->log.appended + 1);
}

/* ---- holes ---- */

static shoal__mark_t *last_mark(const shoal__item_source_t *source)
{
    return SHOAL__LIST_ENTRY(source->marks.previous, shoal__mark_t, of_owner);
}

static shoal__mark_t *make_hole(shoal__item_source_t *source)
{
    const shoal_item_t dropped = {.kind = SHOAL_ITEM_DROPPED, .data = source->data};

    return make_mark(source, &dropped);
}

/* The message that is being put is dropped.  The mark of the hole stands behind all others
 * of its source: whoever reads a GAP, and looks elsewhere, must not take what is missing
 * since then for what was missing before. */
static void drop_newest(shoal__item_source_t *source)
{
    shoal__item_store_t *store = source->store;
    shoal__mark_t *hole = source->hole_back;

    store->dropped++;
    if (!hole || !is_behind_messages(source, hole)) {
        hole = make_hole(source);
    } else if (hole != last_mark(source)) {
        shoal__marks_remove(&store->marks, hole);
    } else {
        hole->item.count++;
        return;
    }
    source->hole_back = hole;
    if (!hole)
        return;
    hole->item.count++;
    shoal__marks_append(&store->marks, hole, &source->marks, store->log.appended + 1);
}

/* The source's last mark that stands in front of the message `number`. */
static shoal__mark_t *mark_in_front(const shoal__item_source_t *source,
                                    shoal__mark_t *mark, uint64_t number)
{
    shoal__list_t *node = mark ? mark->of_owner.next : source->marks.next;

    for (; node != &source->marks; node = node->next) {
        shoal__mark_t *next = SHOAL__LIST_ENTRY(node, shoal__mark_t, of_owner);
        if (next->before > number)
            break;
        mark = next;
    }
    return mark;
}

/* No memory is left to say what is missing in front of the source's messages: they go, too,
 * so that nothing but ENDED stands behind the hole. */
static void drop_all(shoal__item_source_t *source)
{
    source->store->dropped += source->messages;
    source->messages = 0;
    shoal__item_log_withdraw(&source->store->log, source);
}

/* The oldest message is dropped. */
static void drop_oldest(shoal__item_store_t *store)
{
    shoal__logged_item_t *front = shoal__item_log_front(&store->log);
    shoal__item_source_t *source = front->owner;
    shoal__mark_t *hole = source->hole_front;
    shoal__mark_t *behind = mark_in_front(source, hole, front->number);

    store->dropped++;
    source->messages--;
    shoal__item_log_drop(&store->log);
    if (hole && behind == hole) {
        hole->item.count++;
        return;
    }
    if (hole)
        shoal__marks_remove(&store->marks, hole);
    else
        hole = make_hole(source);
    source->hole_front = hole;
    if (!hole) {
        drop_all(source);
        return;
    }
    hole->item.count++;
    shoal__marks_insert(&store->marks, hole, &source->marks, behind);
}

/* ---- messages ---- */

static bool is_within_bytes(const shoal__item_store_t *store, size_t log_bytes)
{
    size_t bytes_max = store->bytes_max > store->marks.memory_bytes
                           ? store->bytes_max - store->marks.memory_bytes
                           : 0;

    return log_bytes <= bytes_max || log_bytes <= SHOAL__ITEM_BLOCK_BYTES;
}

static bool has_room(shoal__item_store_t *store, const shoal_item_t *item)
{
    /* Blocks whose messages are gone do not count. */
    shoal__item_log_front(&store->log);
    return store->log.count < store->messages_max &&
           is_within_bytes(store, shoal__item_log_memory_with(&store->log, item));
}

static bool make_room(shoal__item_store_t *store, const shoal_item_t *item)
{
    static const shoal__item_log_t nothing = {0};

    if (!is_within_bytes(store, shoal__item_log_memory_with(&nothing, item)))
        return false; /* not even if all else made way */
    while (!has_room(store, item)) {
        if (store->overflow != SHOAL_OVERFLOW_OLDEST || store->log.count == 0)
            return false;
        drop_oldest(store);
    }
    return true;
}

static void put_message(shoal__item_source_t *source, const shoal_item_t *item)
{
    shoal__item_store_t *store = source->store;
    const shoal_item_t ended = {.kind = SHOAL_ITEM_ENDED,
                                .detail = "the mailbox had no room",
                                .data = source->data};

    if (make_room(store, item) && !source->has_ended &&
        shoal__item_log_append(&store->log, item, source) == 0) {
        source->messages++;
        source->last_message = store->log.appended;
        return;
    }
    if (source->has_ended)
        store->dropped++;
    else
        drop_newest(source);
    if (store->overflow == SHOAL_OVERFLOW_END && !source->has_ended) {
        put_mark(source, &ended);
        source->has_ended = true;
    }
}

void shoal__item_source_put(shoal__item_source_t *source, const shoal_item_t *item)
{
    shoal_item_t owned = *item;

    if (source->has_ended)
        return;
    owned.data = source->data;
    if (item->kind == SHOAL_ITEM_MESSAGE)
        put_message(source, &owned);
    else
        put_mark(source, &owned);
    if (item->kind == SHOAL_ITEM_ENDED)
        source->has_ended = true;
}

/* ---- taking ---- */

static const shoal_item_t *take_mark(shoal__item_store_t *store, shoal__mark_t *mark)
{
    forget_hole((shoal__item_source_t *)mark->owner, mark);
    shoal__marks_take(&store->marks, mark);
    return &mark->item;
}

static const shoal_item_t *take_message(shoal__item_store_t *store,
                                        shoal__logged_item_t *logged)
{
    ((shoal__item_source_t *)logged->owner)->messages--;
    shoal__item_log_take(&store->log);
    return &logged->item;
}

size_t shoal__item_store_take(shoal__item_store_t *store, const shoal_item_t **items,
                              size_t count_max)
{
    size_t count = 0;

    shoal__item_log_return(&store->log);
    shoal__marks_return(&store->marks);
    for (; count < count_max; count++) {
        shoal__mark_t *mark = shoal__marks_front(&store->marks);
        shoal__logged_item_t *logged = shoal__item_log_front(&store->log);
        if (mark && (!logged || mark->before <= logged->number))
            items[count] = take_mark(store, mark);
        else if (logged)
            items[count] = take_message(store, logged);
        else
            break;
    }
    if (count == 0 &&
        store->log.count == 0) /* a mailbox that is idle holds no memory */
        shoal__item_log_trim(&store->log);
    return count;
}
