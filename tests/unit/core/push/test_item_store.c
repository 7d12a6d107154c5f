/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/push/item_store.h"
#include <stdio.h>
#include <string.h>

#define BLOCK SHOAL__ITEM_BLOCK_BYTES
#define MIB ((size_t)1 << 20)

/* A script: each letter is a step.  a-c: a message of source a, b, c; S, G: SUSPENDED and
 * GAP of source a, g: GAP of another name, h: GAP of source b; E: ENDED of source a; -: one
 * item is taken.  What is taken, in the end all, is spelled the same way; DROPPED is a
 * number of messages and the source's letter, in angles. */
static char spelled[256];

static void spell(const shoal_item_t *item)
{
    static const char marks[][8] = {"???????", "U", "SSS", "GhG", "", "RRR", "EEE"};
    const char *source = item->data;
    size_t at = strlen(spelled);

    if (item->kind == SHOAL_ITEM_MESSAGE)
        snprintf(spelled + at, sizeof spelled - at, "%s", source);
    else if (item->kind == SHOAL_ITEM_DROPPED)
        snprintf(spelled + at, sizeof spelled - at, "<%u%s>", (unsigned)item->count,
                 source);
    else if (item->kind == SHOAL_ITEM_GAP && item->channel.data[0] == 'y')
        snprintf(spelled + at, sizeof spelled - at, "g");
    else
        snprintf(spelled + at, sizeof spelled - at, "%c",
                 marks[item->kind][*source - 'a']);
}

static size_t take(shoal__item_store_t *store, size_t count_max)
{
    const shoal_item_t *items[64];
    size_t count = shoal__item_store_take(store, items, count_max);

    for (size_t i = 0; i < count; i++)
        spell(items[i]);
    return count;
}

static void put(shoal__item_source_t *source, shoal_item_kind_t kind, const char *name)
{
    const shoal_item_t item = {
        .kind = kind,
        .channel = {name, strlen(name)},
        .payload = {kind == SHOAL_ITEM_MESSAGE ? "m" : NULL, 1},
    };

    shoal__item_source_put(source, &item);
}

static void step(shoal__item_store_t *store, shoal__item_source_t **sources,
                 char letter)
{
    switch (letter) {
    case 'S':
        put(sources[0], SHOAL_ITEM_SUSPENDED, "");
        break;
    case 'G':
    case 'g':
        put(sources[0], SHOAL_ITEM_GAP, letter == 'G' ? "x" : "y");
        break;
    case 'h':
        put(sources[1], SHOAL_ITEM_GAP, "x");
        break;
    case 'E':
        put(sources[0], SHOAL_ITEM_ENDED, "");
        break;
    case '-':
        take(store, 1);
        break;
    default:
        put(sources[letter - 'a'], SHOAL_ITEM_MESSAGE, "x");
    }
}

static void play(shoal_overflow_t overflow, const char *script, const char *wanted)
{
    static char names[][2] = {"a", "b", "c"};
    shoal__item_store_t store;
    shoal__item_source_t *sources[3];

    shoal__item_store_init(&store, 3, MIB, overflow);
    for (int i = 0; i < 3; i++)
        sources[i] = shoal__item_source_new(&store, names[i]);
    spelled[0] = '\0';
    for (; *script; script++)
        step(&store, sources, *script);
    while (take(&store, 2))
        continue;
    assert_string_equal(spelled, wanted);
    assert_int_equal(shoal__item_store_count(&store), 0);
    for (int i = 0; i < 3; i++)
        shoal__item_source_free(sources[i]);
    shoal__item_store_release(&store);
}

static void test_what_is_kept_and_what_is_marked(void **state)
{
    static const struct {
        shoal_overflow_t overflow;
        const char *script, *wanted;
    } rows[] = {
        {SHOAL_OVERFLOW_NEWEST, "abc", "abc"},
        {SHOAL_OVERFLOW_NEWEST, "abcaab", "abc<2a><1b>"},
        {SHOAL_OVERFLOW_NEWEST, "abca-a", "abc<1a>a"},
        {SHOAL_OVERFLOW_NEWEST, "aaaa-aa-a", "aaa<1a>a<1a>a"},
        {SHOAL_OVERFLOW_NEWEST, "aaaa----aaaa", "aaa<1a>aaa<1a>"},
        /* A mark finds room; of equal ones without a message between, the later stays. */
        {SHOAL_OVERFLOW_NEWEST, "aaaSGSG", "aaaSG"},
        {SHOAL_OVERFLOW_NEWEST, "SGaSG", "SGaSG"},
        {SHOAL_OVERFLOW_NEWEST, "SGbSG", "bSG"},
        {SHOAL_OVERFLOW_NEWEST, "GgGhG", "ghG"},
        {SHOAL_OVERFLOW_NEWEST, "SG--SG", "SGSG"},
        /* What is dropped behind a GAP is told behind it. */
        {SHOAL_OVERFLOW_NEWEST, "aaaaaSGaa", "aaaSG<4a>"},
        {SHOAL_OVERFLOW_NEWEST, "aaabSGb", "aaa<2b>SG"},
        {SHOAL_OVERFLOW_NEWEST, "aEaaG", "aE"},
        {SHOAL_OVERFLOW_OLDEST, "abca", "<1a>bca"},
        {SHOAL_OVERFLOW_OLDEST, "aaaaaa", "<3a>aaa"},
        {SHOAL_OVERFLOW_OLDEST, "aaaa-aa", "<1a><2a>aaa"},
        {SHOAL_OVERFLOW_OLDEST, "aaaa--aa", "<1a>a<1a>aaa"},
        {SHOAL_OVERFLOW_OLDEST, "aSGaaaaa", "SG<3a>aaa"},
        {SHOAL_OVERFLOW_OLDEST, "SGaaSGaaa", "SG<2a>SGaaa"},
        {SHOAL_OVERFLOW_OLDEST, "SGaaSGaaaSG", "<2a>SGaaaSG"},
        {SHOAL_OVERFLOW_OLDEST, "SGaSGaaaaSG", "SG<2a>aaaSG"},
        {SHOAL_OVERFLOW_OLDEST, "ahaaa", "<1a>haaa"},
        {SHOAL_OVERFLOW_END, "aaaaaG", "aaa<1a>E"},
        {SHOAL_OVERFLOW_END, "abcab-bca", "abc<1a>E<1b>Ec"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        play(rows[i].overflow, rows[i].script, rows[i].wanted);
}

static void test_a_source_that_goes_takes_its_items_along(void **state)
{
    static char a[] = "a", b[] = "b";
    shoal__item_store_t store;
    shoal__item_source_t *first, *second;
    const shoal_item_t *items[2];

    (void)state;
    shoal__item_store_init(&store, 8, MIB, SHOAL_OVERFLOW_NEWEST);
    first = shoal__item_source_new(&store, a);
    second = shoal__item_source_new(&store, b);
    put(first, SHOAL_ITEM_GAP, "taken");
    put(first, SHOAL_ITEM_MESSAGE, "taken, too");
    put(first, SHOAL_ITEM_MESSAGE, "x");
    put(second, SHOAL_ITEM_MESSAGE, "x");
    put(first, SHOAL_ITEM_GAP, "x");
    put(first, SHOAL_ITEM_MESSAGE, "x");
    assert_int_equal(shoal__item_store_take(&store, items, 2), 2);
    shoal__item_source_free(first);
    assert_int_equal(shoal__item_store_count(&store), 1);
    assert_string_equal(items[0]->channel.data, "taken");
    assert_string_equal(items[1]->channel.data, "taken, too");
    assert_ptr_equal(items[0]->data, a);
    spelled[0] = '\0';
    assert_int_equal(take(&store, 8), 1);
    assert_string_equal(spelled, "b");
    shoal__item_source_free(second);
    shoal__item_store_release(&store);
}

static void test_bytes_are_bounded(void **state)
{
    static char large[2 * BLOCK];
    static char a[] = "a";
    const shoal_item_t big = {.channel = {"x", 1}, .payload = {large, BLOCK / 3}},
                       huge = {.channel = {"x", 1}, .payload = {large, sizeof large}};

    (void)state;
    for (int overflow = 0; overflow < SHOAL_OVERFLOW_END; overflow++) {
        shoal__item_store_t store;
        shoal__item_source_t *source;
        shoal__item_store_init(&store, 1000, 2 * BLOCK, (shoal_overflow_t)overflow);
        source = shoal__item_source_new(&store, a);
        for (int i = 0; i < 10; i++) {
            shoal__item_source_put(source, &big);
            assert_in_range(store.log.memory_bytes, BLOCK, 2 * BLOCK);
        }
        spelled[0] = '\0';
        shoal__item_source_put(source, &huge);
        while (take(&store, 3))
            continue;
        assert_string_equal(spelled, overflow == SHOAL_OVERFLOW_NEWEST ? "aaaa<7a>"
                                                                       : "<8a>aa<1a>");
        /* Marks that fill the memory leave messages one block. */
        for (int i = 0; i < 1000; i++) {
            char name[8];
            snprintf(name, sizeof name, "%d", i);
            put(source, SHOAL_ITEM_GAP, name);
        }
        assert_true(store.marks.memory_bytes > store.bytes_max);
        for (int i = 0; i < 5; i++)
            shoal__item_source_put(source, &big);
        assert_in_range(store.log.count, 1, 2);
        assert_int_equal(store.log.memory_bytes, BLOCK);
        shoal__item_source_free(source);
        shoal__item_store_release(&store);
    }
}

/* What the last take handed out comes on top of the bytes that the mailbox may have. */
static void test_what_is_being_read_takes_no_room(void **state)
{
    static char text[BLOCK / 10 * 7];
    static char a[] = "a";
    const shoal_item_t third = {.channel = {"x", 1}, .payload = {text, BLOCK / 3}},
                       larger = {.channel = {"x", 1}, .payload = {text, sizeof text}};
    shoal__item_store_t store;
    shoal__item_source_t *source;

    (void)state;
    shoal__item_store_init(&store, 8, BLOCK, SHOAL_OVERFLOW_NEWEST);
    source = shoal__item_source_new(&store, a);
    spelled[0] = '\0';
    for (int i = 0; i < 3; i++) {
        shoal__item_source_put(source, &third);
        assert_int_equal(take(&store, 1), 1);
        shoal__item_source_put(source, &larger);
        assert_int_equal(store.log.memory_bytes, BLOCK);
        shoal__item_source_put(source, &larger); /* now it is full */
        assert_int_equal(take(&store, 8), 2);
    }
    assert_string_equal(spelled, "aa<1a>aa<1a>aa<1a>");
    shoal__item_source_free(source);
    shoal__item_store_release(&store);
}

static void test_a_take_that_finds_nothing_gives_memory_back(void **state)
{
    static char a[] = "a";
    shoal__item_store_t store;
    shoal__item_source_t *source;
    const shoal_item_t *items[8];

    (void)state;
    shoal__item_store_init(&store, 8, MIB, SHOAL_OVERFLOW_NEWEST);
    source = shoal__item_source_new(&store, a);
    for (int i = 0; i < 3; i++) {
        put(source, SHOAL_ITEM_MESSAGE, "x");
        assert_int_equal(shoal__item_store_take(&store, items, 0), 0);
        assert_int_equal(shoal__item_store_take(&store, items, 8), 1);
        assert_string_equal(items[0]->channel.data, "x");
        assert_int_equal(store.log.memory_bytes, BLOCK);
        assert_int_equal(shoal__item_store_take(&store, items, 8), 0);
        assert_int_equal(store.log.memory_bytes, 0);
        assert_null(store.log.spare);
    }
    shoal__item_source_free(source);
    shoal__item_store_release(&store);
}

/* ---- without memory ---- */

static void test_a_source_without_memory_for_a_mark_ends(void **state)
{
    static char a[] = "a";

    (void)state;
    for (int overflow = 0; overflow <= SHOAL_OVERFLOW_END; overflow++) {
        shoal__item_store_t store;
        shoal__item_source_t *source;
        shoal__item_store_init(&store, 2, MIB, (shoal_overflow_t)overflow);
        shoal__test_fail_alloc_after(0);
        assert_null(shoal__item_source_new(&store, a));
        shoal__test_fail_alloc_after(1);
        assert_null(shoal__item_source_new(&store, a));
        shoal__test_fail_alloc_never();
        source = shoal__item_source_new(&store, a);
        put(source, SHOAL_ITEM_MESSAGE, "x");
        put(source, SHOAL_ITEM_MESSAGE, "x");
        shoal__test_fail_alloc_after(0);
        put(source, SHOAL_ITEM_MESSAGE, "x");
        assert_true(source->has_ended);
        put(source, SHOAL_ITEM_MESSAGE, "x");
        put(source, SHOAL_ITEM_GAP, "x");
        shoal__test_fail_alloc_never();
        spelled[0] = '\0';
        while (take(&store, 8))
            continue;
        /* Nothing stands behind a hole that is not marked. */
        assert_string_equal(spelled, overflow == SHOAL_OVERFLOW_OLDEST ? "E" : "aaE");
        assert_int_equal(store.dropped, overflow == SHOAL_OVERFLOW_OLDEST ? 3 : 1);
        shoal__item_source_free(source);
        shoal__item_store_release(&store);
    }
}

static void test_a_mark_of_the_server_needs_memory_too(void **state)
{
    static char a[] = "a";
    shoal__item_store_t store;
    shoal__item_source_t *source;

    (void)state;
    shoal__item_store_init(&store, 2, MIB, SHOAL_OVERFLOW_NEWEST);
    source = shoal__item_source_new(&store, a);
    put(source, SHOAL_ITEM_MESSAGE, "x");
    shoal__test_fail_alloc_after(0);
    put(source, SHOAL_ITEM_GAP, "x");
    shoal__test_fail_alloc_never();
    put(source, SHOAL_ITEM_MESSAGE, "x");
    spelled[0] = '\0';
    while (take(&store, 8))
        continue;
    assert_string_equal(spelled, "aE");
    shoal__item_source_free(source);
    shoal__item_store_release(&store);
}

/* A message of another source leaves, and there is no memory to say so: that source ends. */
static void test_it_is_the_source_with_the_hole_that_ends(void **state)
{
    static char a[] = "a", b[] = "b";
    shoal__item_store_t store;
    shoal__item_source_t *first, *second;

    (void)state;
    shoal__item_store_init(&store, 2, MIB, SHOAL_OVERFLOW_OLDEST);
    first = shoal__item_source_new(&store, a);
    second = shoal__item_source_new(&store, b);
    put(first, SHOAL_ITEM_MESSAGE, "x");
    put(first, SHOAL_ITEM_MESSAGE, "x");
    shoal__test_fail_alloc_after(0);
    put(second, SHOAL_ITEM_MESSAGE, "x");
    put(second, SHOAL_ITEM_MESSAGE, "x");
    shoal__test_fail_alloc_never();
    assert_true(first->has_ended);
    assert_false(second->has_ended);
    spelled[0] = '\0';
    while (take(&store, 8))
        continue;
    assert_string_equal(spelled, "Ebb");
    assert_int_equal(store.dropped, 2);
    shoal__item_source_free(first);
    shoal__item_source_free(second);
    shoal__item_store_release(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_kept_and_what_is_marked),
        cmocka_unit_test(test_a_source_that_goes_takes_its_items_along),
        cmocka_unit_test(test_bytes_are_bounded),
        cmocka_unit_test(test_what_is_being_read_takes_no_room),
        cmocka_unit_test(test_a_take_that_finds_nothing_gives_memory_back),
        cmocka_unit_test(test_a_source_without_memory_for_a_mark_ends),
        cmocka_unit_test(test_a_mark_of_the_server_needs_memory_too),
        cmocka_unit_test(test_it_is_the_source_with_the_hole_that_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
