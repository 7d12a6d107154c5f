/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "resp/reply.h"
#include "unit/resp/transcript.h"
#include <string.h>

#define TEXT(kind, string)                                                             \
    {                                                                                  \
        .type = SHOAL_REPLY_##kind, .as.text = {                                       \
            .data = string,                                                            \
            .bytes = sizeof string - 1                                                 \
        }                                                                              \
    }
#define AGGREGATE(kind, array)                                                         \
    {                                                                                  \
        .type = SHOAL_REPLY_##kind, .as.children = {                                   \
            .items = array,                                                            \
            .count = sizeof array / sizeof *array                                      \
        }                                                                              \
    }

/* One of each type, two of them with children. */
static shoal_reply_t pair[] = {TEXT(STRING, "key"),
                               {.type = SHOAL_REPLY_INTEGER, .as.integer = -5}};
static shoal_reply_t leaves[] = {
    {.type = SHOAL_REPLY_NIL},
    TEXT(STATUS, "OK"),
    TEXT(ERROR, "ERR no"),
    TEXT(STRING, ""),
    TEXT(BIGNUM, "123456789012345678901234567890"),
    {.type = SHOAL_REPLY_VERBATIM,
     .verbatim = "mkd",
     .as.text = {.data = "*hi*", .bytes = 4}},
    {.type = SHOAL_REPLY_DOUBLE,
     .as.text = {.data = "1.50", .bytes = 4, .number = 1.5}},
    {.type = SHOAL_REPLY_BOOL, .as.integer = 1},
    {.type = SHOAL_REPLY_SET},
    AGGREGATE(MAP, pair),
};
static const shoal_reply_t all = AGGREGATE(ARRAY, leaves);
static const char all_text[] = "[10 _ +OK -ERR no $ (123456789012345678901234567890 "
                               "=mkd:*hi* ,1.50=1.5 #1 ~[0 ] %[2 $key :-5 ] ] ";

static void check_text(const shoal_reply_t *reply, const char *text)
{
    static transcript_t transcript;

    transcript_clear(&transcript);
    shoal__reply_to_sink(reply, &transcript_sink, &transcript);
    assert_string_equal(transcript.text, text);
}

static void test_accessors_of_another_type_give_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < shoal_reply_count(&all); i++) {
        const shoal_reply_t *leaf = shoal_reply_at(&all, i);
        shoal_reply_type_t type = shoal_reply_type(leaf);
        size_t bytes = 99;
        bool has_text = type == SHOAL_REPLY_STATUS || type == SHOAL_REPLY_ERROR ||
                        type == SHOAL_REPLY_STRING || type == SHOAL_REPLY_BIGNUM ||
                        type == SHOAL_REPLY_VERBATIM || type == SHOAL_REPLY_DOUBLE;

        assert_int_equal(shoal_reply_string(leaf, &bytes) != NULL, has_text);
        assert_ptr_equal(shoal_reply_string(leaf, NULL),
                         shoal_reply_string(leaf, &bytes));
        if (!has_text)
            assert_int_equal(bytes, 0);
        if (type != SHOAL_REPLY_BOOL) {
            assert_int_equal(shoal_reply_integer(leaf), 0);
            assert_false(shoal_reply_bool(leaf));
        }
        if (type != SHOAL_REPLY_DOUBLE)
            assert_true(shoal_reply_double(leaf) == 0);
        if (type != SHOAL_REPLY_VERBATIM)
            assert_string_equal(shoal_reply_verbatim_format(leaf), "");
        if (type != SHOAL_REPLY_MAP)
            assert_int_equal(shoal_reply_count(leaf), 0);
        assert_null(shoal_reply_at(leaf, shoal_reply_count(leaf)));
    }
}

static void test_accessors_of_the_right_type(void **state)
{
    (void)state;
    const shoal_reply_t *map = shoal_reply_at(&all, 9);

    assert_int_equal(shoal_reply_type(&all), SHOAL_REPLY_ARRAY);
    assert_int_equal(shoal_reply_count(&all), 10);
    assert_null(shoal_reply_at(&all, 10));
    assert_null(shoal_reply_at(&all, SIZE_MAX));
    assert_string_equal(shoal_reply_verbatim_format(shoal_reply_at(&all, 5)), "mkd");
    assert_true(shoal_reply_double(shoal_reply_at(&all, 6)) == 1.5);
    assert_true(shoal_reply_bool(shoal_reply_at(&all, 7)));
    assert_int_equal(shoal_reply_integer(shoal_reply_at(&all, 7)), 1);
    assert_int_equal(shoal_reply_integer(shoal_reply_at(map, 1)), -5);
    assert_true(shoal_reply_bool(shoal_reply_at(map, 1)));
    assert_true(shoal_reply_double(shoal_reply_at(map, 1)) == -5);
}

static void test_a_sink_hears_of_every_value_in_order(void **state)
{
    (void)state;
    shoal_reply_t empty = {.type = SHOAL_REPLY_ARRAY}, one[] = {empty},
                  last[] = {AGGREGATE(ARRAY, one)}, outer = AGGREGATE(PUSH, last);

    check_text(&all, all_text);
    check_text(&leaves[1], "+OK ");
    check_text(&empty, "[0 ] ");
    check_text(&outer, ">[1 [1 [0 ] ] ] ");
}

static void test_a_copy_needs_nothing_of_the_original(void **state)
{
    (void)state;
    shoal__arena_t *scratch = shoal__arena_new(), *arena = shoal__arena_new();
    assert_non_null(scratch);
    assert_non_null(arena);

    shoal_reply_t *copy = shoal__reply_copy(shoal__reply_copy(&all, scratch), arena);
    shoal__arena_release(scratch);
    check_text(copy, all_text);
    assert_ptr_equal(copy->arena, arena);
    assert_ptr_equal(shoal_reply_at(shoal_reply_at(copy, 9), 0)->arena, arena);
    shoal__arena_release(arena);
}

/* As deep as replies get; the stack does not grow with it. */
static void test_depth_costs_no_stack(void **state)
{
    (void)state;
    static shoal_reply_t levels[1024];
    static transcript_t transcript;

    for (size_t i = 0; i + 1 < 1024; i++)
        levels[i] = (shoal_reply_t){.type = SHOAL_REPLY_ARRAY,
                                    .as.children = {&levels[i + 1], 1, 1}};
    levels[1023].type = SHOAL_REPLY_ARRAY;

    shoal__arena_t *arena = shoal__arena_new();
    assert_non_null(arena);
    shoal_reply_t *copy = shoal__reply_copy(levels, arena);
    transcript_clear(&transcript);
    shoal__reply_to_sink(copy, &transcript_sink, &transcript);
    assert_int_equal(transcript.bytes, 1024 * strlen("[1 ] "));
    shoal__arena_release(arena);
}

static void test_retaining_from_an_arena_shares_it(void **state)
{
    (void)state;
    shoal__arena_t *arena = shoal__arena_new();
    assert_non_null(arena);
    const shoal_reply_t *tree = shoal__reply_copy(&all, arena);
    const shoal_reply_t *child = shoal_reply_at(tree, 9);

    assert_false(shoal__arena_is_shared(arena));
    assert_ptr_equal(shoal_reply_retain(tree), tree);
    assert_ptr_equal(shoal_reply_retain(child), child);
    assert_true(shoal__arena_is_shared(arena));
    shoal__arena_release(arena);
    shoal_reply_release(tree);
    check_text(child, "%[2 $key :-5 ] ");
    shoal_reply_release(child);
}

static void test_retaining_a_view_copies_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        uint64_t before = shoal__alloc_count();
        const shoal_reply_t *kept = shoal_reply_retain(&leaves[i]);

        assert_non_null(kept);
        assert_int_equal(shoal__alloc_count() - before, 1);
        assert_ptr_not_equal(kept, &leaves[i]);
        assert_int_equal(shoal_reply_type(kept), shoal_reply_type(&leaves[i]));
        size_t bytes;
        const char *text = shoal_reply_string(kept, &bytes);
        if (text)
            assert_int_equal(text[bytes], '\0');
        if (text && bytes > 0)
            assert_ptr_not_equal(shoal_reply_string(kept, NULL),
                                 shoal_reply_string(&leaves[i], NULL));
        shoal_reply_release(kept);
    }
    shoal_reply_release(NULL);

    shoal__test_fail_alloc_after(0);
    assert_null(shoal_reply_retain(&leaves[1]));
    shoal__test_fail_alloc_never();
}

static void test_an_arena_gives_aligned_memory_of_its_own(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 7, 8, 100, 1000, 5000, 32768, 32769, 300000};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    char *objects[3 * COUNT];
    shoal__arena_t *arena = shoal__arena_new();
    assert_non_null(arena);

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 3 * COUNT; i++) {
            objects[i] = shoal__arena_alloc(arena, sizes[i % COUNT]);
            assert_non_null(objects[i]);
            assert_int_equal((uintptr_t)objects[i] % 8, 0);
            memset(objects[i], (int)i, sizes[i % COUNT]);
        }
        for (size_t i = 0; i < 3 * COUNT; i++)
            for (size_t k = 0; k < sizes[i % COUNT]; k++)
                if (objects[i][k] != (char)i)
                    fail_msg("object %zu was overwritten", i);
        assert_true(shoal__arena_bytes(arena) > 900000);
        shoal__arena_reset(arena);
        assert_true(shoal__arena_bytes(arena) <= 66 * 1024);
    }
    assert_null(shoal__arena_alloc(arena, SIZE_MAX));
    assert_null(shoal__arena_grow(arena, objects[0], 8, SIZE_MAX));
    shoal__arena_release(arena);
    shoal__arena_release(NULL);
}

static void test_an_arena_in_steady_state_does_not_allocate(void **state)
{
    (void)state;
    shoal__arena_t *arena = shoal__arena_new();
    uint64_t before = 0;
    assert_non_null(arena);

    for (int round = 0; round < 20; round++) {
        if (round == 5)
            before = shoal__alloc_count();
        for (int i = 0; i < 400; i++)
            assert_non_null(shoal__arena_alloc(arena, 100));
        shoal__arena_reset(arena);
    }
    assert_int_equal(shoal__alloc_count(), before);
    shoal__arena_release(arena);
}

static void test_objects_grow_and_keep_their_contents(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 8, 100, 900, 3000, 40000, 400000};
    enum { STEPS = sizeof sizes / sizeof *sizes, OBJECTS = 3 };
    char *objects[OBJECTS] = {NULL};
    shoal__arena_t *arena = shoal__arena_new();
    assert_non_null(arena);

    for (size_t step = 0; step < STEPS; step++)
        for (size_t i = 0; i < OBJECTS; i++) {
            size_t had = step > 0 ? sizes[step - 1] : 0;
            objects[i] = shoal__arena_grow(arena, objects[i], had, sizes[step]);
            assert_non_null(objects[i]);
            for (size_t k = 0; k < had; k++)
                assert_int_equal(objects[i][k], (char)i);
            memset(objects[i], (int)i, sizes[step]);
        }

    shoal__test_fail_alloc_after(0);
    assert_null(shoal__arena_grow(arena, objects[1], 400000, 800000));
    shoal__test_fail_alloc_never();
    assert_int_equal(objects[1][399999], 1);
    shoal__arena_release(arena);
}

/* What is last in its block grows without moving. */
static void test_the_last_object_grows_in_place(void **state)
{
    (void)state;
    shoal__arena_t *arena = shoal__arena_new();
    assert_non_null(arena);
    char *object = shoal__arena_alloc(arena, 16);

    assert_ptr_equal(shoal__arena_grow(arena, object, 16, 200), object);
    assert_non_null(shoal__arena_alloc(arena, 8));
    assert_ptr_not_equal(shoal__arena_grow(arena, object, 200, 300), object);
    shoal__arena_release(arena);
}

static void test_copying_survives_every_failed_allocation(void **state)
{
    (void)state;
    static shoal_reply_t many[3000];
    const shoal_reply_t wide = AGGREGATE(ARRAY, many);

    for (size_t i = 0; i < 3000; i++)
        many[i] = all;
    for (size_t allowed = 0;; allowed++) {
        shoal__test_fail_alloc_after(allowed);
        shoal__arena_t *arena = shoal__arena_new();
        shoal_reply_t *copy = arena ? shoal__reply_copy(&wide, arena) : NULL;
        shoal__test_fail_alloc_never();
        shoal__arena_release(arena);
        if (copy)
            break;
        assert_true(allowed < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accessors_of_another_type_give_nothing),
        cmocka_unit_test(test_accessors_of_the_right_type),
        cmocka_unit_test(test_a_sink_hears_of_every_value_in_order),
        cmocka_unit_test(test_a_copy_needs_nothing_of_the_original),
        cmocka_unit_test(test_depth_costs_no_stack),
        cmocka_unit_test(test_retaining_from_an_arena_shares_it),
        cmocka_unit_test(test_retaining_a_view_copies_it),
        cmocka_unit_test(test_an_arena_gives_aligned_memory_of_its_own),
        cmocka_unit_test(test_an_arena_in_steady_state_does_not_allocate),
        cmocka_unit_test(test_objects_grow_and_keep_their_contents),
        cmocka_unit_test(test_the_last_object_grows_in_place),
        cmocka_unit_test(test_copying_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("resp/reply", tests, NULL, NULL);
}
