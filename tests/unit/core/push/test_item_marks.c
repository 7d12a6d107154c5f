/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/push/item_marks.h"
#include <stdio.h>
#include <string.h>

static shoal_item_t gap(const char *name, uint64_t epoch)
{
    return (shoal_item_t){.kind = SHOAL_ITEM_GAP,
                          .channel = {name, strlen(name)},
                          .detail = "lost",
                          .epoch = epoch};
}

static shoal__mark_t *append(shoal__marks_t *marks, shoal__list_t *owner,
                             const char *name, uint64_t epoch)
{
    const shoal_item_t item = gap(name, epoch);
    shoal__mark_t *mark = shoal__mark_new(&item, owner);

    assert_non_null(mark);
    shoal__marks_append(marks, mark, owner, epoch);
    return mark;
}

static shoal__mark_t *find(const shoal__marks_t *marks, const shoal__list_t *owner,
                           const char *name)
{
    const shoal_item_t item = gap(name, 0);

    return shoal__marks_find(marks, &item, owner);
}

static void test_marks_are_found_by_owner_kind_and_name(void **state)
{
    shoal__marks_t marks;
    shoal__list_t anna, berta;
    shoal__mark_t *first, *second;
    shoal_item_t other;

    (void)state;
    shoal__marks_init(&marks);
    shoal__list_init(&anna);
    shoal__list_init(&berta);
    assert_null(find(&marks, &anna, "a"));
    first = append(&marks, &anna, "a", 1);
    append(&marks, &anna, "b", 2);
    append(&marks, &berta, "a", 3);
    second = append(&marks, &anna, "a", 4);
    assert_ptr_equal(find(&marks, &anna, "a"), second);
    assert_ptr_equal(shoal__marks_find_older(second), first);
    assert_null(shoal__marks_find_older(first));
    assert_null(find(&marks, &anna, "c"));
    other = gap("a", 0);
    other.kind = SHOAL_ITEM_SUSPENDED;
    assert_null(shoal__marks_find(&marks, &other, &anna));
    other = gap("a", 0);
    other.name_kind = SHOAL_NAME_PATTERN;
    assert_null(shoal__marks_find(&marks, &other, &anna));
    shoal__marks_free(&marks, second);
    assert_ptr_equal(find(&marks, &anna, "a"), first);
    assert_int_equal(marks.count, 3);
    shoal__marks_release(&marks);
    assert_int_equal(marks.count, 0);
    assert_int_equal(marks.memory_bytes, 0);
}

static void test_many_marks_are_found_too(void **state)
{
    shoal__marks_t marks;
    shoal__list_t owner;
    char name[16];

    (void)state;
    shoal__marks_init(&marks);
    shoal__list_init(&owner);
    for (uint64_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "n%u", (unsigned)(i % 500));
        append(&marks, &owner, name, i);
    }
    for (uint64_t i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "n%u", (unsigned)i);
        assert_int_equal(find(&marks, &owner, name)->item.epoch, i + 500);
        assert_int_equal(
            shoal__marks_find_older(find(&marks, &owner, name))->item.epoch, i);
    }
    shoal__marks_release(&marks);
}

static void test_a_taken_mark_stays_readable(void **state)
{
    shoal__marks_t marks;
    shoal__list_t owner;
    shoal__mark_t *mark;

    (void)state;
    shoal__marks_init(&marks);
    shoal__list_init(&owner);
    mark = append(&marks, &owner, "a", 1);
    assert_ptr_equal(shoal__marks_front(&marks), mark);
    shoal__marks_take(&marks, mark);
    assert_null(shoal__marks_front(&marks));
    assert_null(find(&marks, &owner, "a"));
    assert_true(shoal__list_is_empty(&owner));
    assert_string_equal(mark->item.channel.data, "a");
    assert_string_equal(mark->item.detail, "lost");
    shoal__marks_return(&marks);
    mark = append(&marks, &owner, "b", 2);
    shoal__marks_take(&marks, mark);
    shoal__marks_release(&marks);
}

static void test_a_mark_is_inserted_behind_one_of_its_owner(void **state)
{
    const shoal_item_t dropped = {.kind = SHOAL_ITEM_DROPPED};
    shoal__marks_t marks;
    shoal__list_t anna, berta;
    shoal__mark_t *first, *hole;

    (void)state;
    shoal__marks_init(&marks);
    shoal__list_init(&anna);
    shoal__list_init(&berta);
    append(&marks, &berta, "x", 1);
    first = append(&marks, &anna, "a", 2);
    append(&marks, &berta, "y", 3);
    hole = shoal__mark_new(&dropped, &anna);
    assert_null(hole->item.channel.data);
    assert_string_equal(hole->item.detail, "");
    shoal__marks_insert(&marks, hole, &anna, NULL);
    assert_ptr_equal(shoal__marks_front(&marks), hole);
    assert_ptr_equal(anna.next, &hole->of_owner);
    shoal__marks_remove(&marks, hole);
    shoal__marks_insert(&marks, hole, &anna, first);
    assert_ptr_equal(first->in_order.next, &hole->in_order);
    assert_ptr_equal(first->of_owner.next, &hole->of_owner);
    assert_int_equal(hole->before, 2);
    shoal__marks_release(&marks);
}

static void test_without_memory_for_buckets_marks_are_only_in_order(void **state)
{
    const shoal_item_t item = gap("a", 1);
    shoal__marks_t marks;
    shoal__list_t owner;
    shoal__mark_t *mark;

    (void)state;
    shoal__marks_init(&marks);
    shoal__list_init(&owner);
    shoal__test_fail_alloc_after(0);
    assert_null(shoal__mark_new(&item, &owner));
    shoal__test_fail_alloc_after(1);
    mark = shoal__mark_new(&item, &owner);
    shoal__marks_append(&marks, mark, &owner, 1);
    shoal__test_fail_alloc_never();
    assert_ptr_equal(shoal__marks_front(&marks), mark);
    assert_null(find(&marks, &owner, "a"));
    append(&marks, &owner, "b", 2);
    assert_null(find(&marks, &owner, "a"));
    assert_non_null(find(&marks, &owner, "b"));
    shoal__marks_free(&marks, mark);
    shoal__marks_release(&marks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks_are_found_by_owner_kind_and_name),
        cmocka_unit_test(test_many_marks_are_found_too),
        cmocka_unit_test(test_a_taken_mark_stays_readable),
        cmocka_unit_test(test_a_mark_is_inserted_behind_one_of_its_owner),
        cmocka_unit_test(test_without_memory_for_buckets_marks_are_only_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
