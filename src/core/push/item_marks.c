/* SPDX-License-Identifier: MIT */
#include "core/push/item_marks.h"

#include "base/alloc.h"
#include "base/hash.h"
#include <string.h>

#define BUCKETS_FIRST 16

void shoal__marks_init(shoal__marks_t *marks)
{
    *marks = (shoal__marks_t){0};
    shoal__list_init(&marks->in_order);
    shoal__list_init(&marks->lent);
}

void shoal__marks_release(shoal__marks_t *marks)
{
    shoal__mark_t *mark;

    while ((mark = shoal__marks_front(marks)) != NULL)
        shoal__marks_free(marks, mark);
    shoal__marks_return(marks);
    shoal__free(marks->buckets);
    marks->buckets = NULL;
    marks->buckets_count = 0;
}

/* ---- by owner, kind and name ---- */

static uint64_t hash_of(const shoal_item_t *item, const void *owner)
{
    shoal__bytes_t address = {(const char *)&owner, sizeof owner};
    uint64_t seed = shoal__hash(address, (uint64_t)item->kind * 8 + item->name_kind);

    return shoal__hash(item->channel, seed);
}

static bool is_same(const shoal__mark_t *mark, const shoal_item_t *item,
                    const void *owner, uint64_t hash)
{
    return mark->hash == hash && mark->owner == owner &&
           mark->item.kind == item->kind && mark->item.name_kind == item->name_kind &&
           shoal__bytes_equal(mark->item.channel, item->channel);
}

static shoal__mark_t **bucket_of(const shoal__marks_t *marks, uint64_t hash)
{
    return &marks->buckets[hash & (marks->buckets_count - 1)];
}

/* The marks of a bucket have the youngest first: they are entered in order. */
static void enter(shoal__marks_t *marks, shoal__mark_t *mark)
{
    shoal__mark_t **bucket = bucket_of(marks, mark->hash);

    mark->next_same = *bucket;
    *bucket = mark;
    mark->is_found = true;
}

static void grow(shoal__marks_t *marks)
{
    size_t count = marks->buckets_count ? marks->buckets_count * 2 : BUCKETS_FIRST;
    shoal__mark_t **buckets = shoal__calloc(count, sizeof(shoal__mark_t *));

    if (!buckets)
        return; /* fewer buckets, longer searches */
    shoal__free(marks->buckets);
    marks->buckets = buckets;
    marks->buckets_count = count;
    for (shoal__list_t *node = marks->in_order.next; node != &marks->in_order;
         node = node->next) {
        shoal__mark_t *mark = SHOAL__LIST_ENTRY(node, shoal__mark_t, in_order);
        if (mark->is_found)
            enter(marks, mark);
    }
}

static void leave(shoal__marks_t *marks, shoal__mark_t *mark)
{
    shoal__mark_t **link = bucket_of(marks, mark->hash);

    while (*link != mark)
        link = &(*link)->next_same;
    *link = mark->next_same;
    mark->is_found = false;
}

static shoal__mark_t *first_same(shoal__mark_t *mark, const shoal_item_t *item,
                                 const void *owner, uint64_t hash)
{
    while (mark && !is_same(mark, item, owner, hash))
        mark = mark->next_same;
    return mark;
}

shoal__mark_t *shoal__marks_find(const shoal__marks_t *marks, const shoal_item_t *item,
                                 const void *owner)
{
    uint64_t hash;

    if (marks->buckets_count == 0)
        return NULL;
    hash = hash_of(item, owner);
    return first_same(*bucket_of(marks, hash), item, owner, hash);
}

shoal__mark_t *shoal__marks_find_older(const shoal__mark_t *mark)
{
    return first_same(mark->next_same, &mark->item, mark->owner, mark->hash);
}

/* ---- in order ---- */

shoal__mark_t *shoal__mark_new(const shoal_item_t *item, const void *owner)
{
    const char *detail = item->detail ? item->detail : "";
    size_t name_bytes = item->channel.data ? item->channel.bytes + 1 : 0;
    size_t detail_bytes = strlen(detail) + 1;
    size_t bytes = sizeof(shoal__mark_t) + name_bytes + detail_bytes;
    shoal__mark_t *mark = shoal__malloc(bytes);
    char *place;

    if (!mark)
        return NULL;
    *mark = (shoal__mark_t){.item = *item, .owner = owner, .bytes = bytes};
    shoal__list_init(&mark->in_order);
    shoal__list_init(&mark->of_owner);
    place = (char *)(mark + 1);
    if (name_bytes) {
        mark->item.channel.data = place;
        memcpy(place, item->channel.data, item->channel.bytes);
        place[item->channel.bytes] = '\0';
        place += name_bytes;
    }
    mark->item.detail = place;
    memcpy(place, detail, detail_bytes);
    mark->item.pattern = mark->item.payload = (shoal__bytes_t){NULL, 0};
    return mark;
}

static void add(shoal__marks_t *marks, shoal__mark_t *mark, shoal__list_t *in_order,
                shoal__list_t *of_owner)
{
    shoal__list_append(in_order, &mark->in_order);
    shoal__list_append(of_owner, &mark->of_owner);
    marks->count++;
    marks->memory_bytes += mark->bytes;
}

void shoal__marks_append(shoal__marks_t *marks, shoal__mark_t *mark,
                         shoal__list_t *owners, uint64_t before)
{
    mark->before = before;
    mark->hash = hash_of(&mark->item, mark->owner);
    if (marks->count >= marks->buckets_count)
        grow(marks);
    add(marks, mark, &marks->in_order, owners);
    if (marks->buckets_count)
        enter(marks, mark);
}

/* Appending to a node of a list is inserting in front of it. */
void shoal__marks_insert(shoal__marks_t *marks, shoal__mark_t *mark,
                         shoal__list_t *owners, shoal__mark_t *behind)
{
    mark->before = behind ? behind->before : 0;
    add(marks, mark, behind ? behind->in_order.next : marks->in_order.next,
        behind ? behind->of_owner.next : owners->next);
}

void shoal__marks_remove(shoal__marks_t *marks, shoal__mark_t *mark)
{
    if (mark->is_found)
        leave(marks, mark);
    shoal__list_remove(&mark->in_order);
    shoal__list_remove(&mark->of_owner);
    marks->count--;
    marks->memory_bytes -= mark->bytes;
}

void shoal__marks_free(shoal__marks_t *marks, shoal__mark_t *mark)
{
    shoal__marks_remove(marks, mark);
    shoal__free(mark);
}

void shoal__marks_take(shoal__marks_t *marks, shoal__mark_t *mark)
{
    shoal__marks_remove(marks, mark);
    shoal__list_append(&marks->lent, &mark->in_order);
}

void shoal__marks_return(shoal__marks_t *marks)
{
    while (!shoal__list_is_empty(&marks->lent)) {
        shoal__mark_t *mark =
            SHOAL__LIST_ENTRY(marks->lent.next, shoal__mark_t, in_order);
        shoal__list_remove(&mark->in_order);
        shoal__free(mark);
    }
}
