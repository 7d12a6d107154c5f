/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "resp/large_string.h"
#include <stdio.h>
#include <string.h>

#define BYTES_MAX 1000000

/* The owner of the frame, and a chunk sink: both write down what they get. */
typedef struct owner {
    char heard[256];
    shoal__decoder_target_t target;
    char got[BYTES_MAX]; /* from the reply, or the chunks */
    size_t got_bytes;
    bool keeps;
    const shoal_reply_t *kept;
} owner_t;

static owner_t owner;
static shoal__frame_t frame;
static shoal__large_string_t large;
static char wire[BYTES_MAX + 2];

static void hear(const char *word)
{
    assert_true(strlen(owner.heard) + strlen(word) < sizeof owner.heard);
    strcat(owner.heard, word);
}

static void on_string(uint64_t bytes, void *data)
{
    char word[32];

    assert_ptr_equal(data, &owner);
    snprintf(word, sizeof word, "string %llu ", (unsigned long long)bytes);
    hear(word);
}

static void on_chunk(const char *chunk, size_t bytes, void *data)
{
    assert_ptr_equal(data, &owner);
    assert_in_range(bytes, 1, BYTES_MAX - owner.got_bytes);
    memcpy(owner.got + owner.got_bytes, chunk, bytes);
    owner.got_bytes += bytes;
}

static void on_end(void *data)
{
    assert_ptr_equal(data, &owner);
    hear("end ");
}

static void on_reset(void *data)
{
    assert_ptr_equal(data, &owner);
    hear("reset ");
}

static const shoal_chunk_sink_t chunks = {on_string, on_chunk, on_end, on_reset};

static shoal__decoder_target_t on_begin(void *data, shoal_reply_type_t type)
{
    (void)data;
    assert_int_equal(type, SHOAL_REPLY_STRING);
    return owner.target;
}

static bool on_reply(void *data, const shoal_reply_t *reply, bool is_push)
{
    const char *text = shoal_reply_string(reply, &owner.got_bytes);

    (void)data;
    assert_false(is_push);
    hear(!reply                                          ? "taken "
         : shoal_reply_type(reply) == SHOAL_REPLY_STRING ? "reply "
                                                         : "nothing ");
    if (text) {
        memcpy(owner.got, text, owner.got_bytes);
        assert_int_equal(text[owner.got_bytes], '\0');
    }
    if (owner.keeps)
        owner.kept = shoal_reply_retain(reply);
    return true;
}

static int set_up(void **state)
{
    static const shoal__decoder_hooks_t hooks = {on_begin, on_reply};

    (void)state;
    memset(&owner, 0, sizeof owner);
    large = (shoal__large_string_t){0};
    for (size_t i = 0; i < sizeof wire; i++)
        wire[i] = (char)('a' + i % 23);
    return shoal__frame_init(&frame, &hooks, &owner);
}

static int tear_down(void **state)
{
    (void)state;
    shoal__frame_release(&frame);
    shoal_reply_release(owner.kept);
    return 0;
}

/* Give `count` bytes of the wire from `at` on, all of which belong to the string. */
static shoal__large_took_t give(size_t at, size_t count)
{
    size_t taken;
    shoal__large_took_t took =
        shoal__large_string_take(&large, &frame, wire + at, count, &taken);

    assert_int_equal(taken, count);
    return took;
}

static void begin(size_t bytes, size_t at_hand)
{
    memcpy(wire + bytes, "\r\n", 2);
    assert_true(shoal__large_string_begin(&large, &frame, bytes, at_hand));
    assert_true(large.is_open);
}

static void check_got(size_t bytes)
{
    assert_false(large.is_open);
    if (strstr(owner.heard, "reply"))
        assert_int_equal(owner.got_bytes, bytes);
    assert_memory_equal(owner.got, wire, bytes);
}

/* ---- every split ---- */

enum way { WAY_TREE, WAY_CHUNKS, WAY_NOWHERE };

static void check_way(enum way way, size_t bytes, size_t piece_bytes)
{
    static const char *const heard[] = {"reply ", "string 70001 end taken ",
                                        "nothing "};

    owner.heard[0] = '\0';
    owner.got_bytes = 0;
    owner.target =
        (shoal__decoder_target_t){.chunks = way == WAY_CHUNKS ? &chunks : NULL,
                                  .sink_data = &owner,
                                  .discard = way == WAY_NOWHERE};
    begin(bytes, piece_bytes);
    for (size_t at = 0; at < bytes + 2; at += piece_bytes) {
        size_t left = bytes + 2 - at, count = piece_bytes < left ? piece_bytes : left;
        assert_int_equal(give(at, count),
                         count == left ? SHOAL__LARGE_WHOLE : SHOAL__LARGE_MORE);
    }
    assert_string_equal(owner.heard, heard[way]);
    assert_false(frame.is_sink_open);
    if (way != WAY_NOWHERE) {
        if (way == WAY_CHUNKS)
            owner.got_bytes = bytes; /* the reply, which is none, has set it */
        check_got(bytes);
    }
}

static void test_every_split_gives_the_same(void **state)
{
    static const size_t pieces[] = {1, 2, 3, 1000, 35001, 70000, 70001, 70002, 70003};

    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (int way = WAY_TREE; way <= WAY_NOWHERE; way++)
            check_way((enum way)way, 70001, pieces[i]);
}

static void test_what_follows_is_left(void **state)
{
    size_t taken;

    (void)state;
    begin(70000, 0);
    assert_int_equal(shoal__large_string_take(&large, &frame, wire, 80000, &taken),
                     SHOAL__LARGE_WHOLE);
    assert_int_equal(taken, 70002);
    check_got(70000);
}

/* With both bytes of the line end, whether they come together or not. */
static void test_a_line_end_must_follow(void **state)
{
    static const char ends[][3] = {"\rx", "x\n", "\n\r", "xx"};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof ends / sizeof *ends; i++) {
        bool is_split = i % 2;
        owner.heard[0] = '\0';
        begin(70000, 70002);
        memcpy(wire + 70000, ends[i / 2], 2);
        if (is_split)
            assert_int_equal(give(0, 70001), SHOAL__LARGE_MORE);
        assert_int_equal(is_split ? give(70001, 1) : give(0, 70002),
                         SHOAL__LARGE_BROKEN);
        assert_string_equal(owner.heard, "");
        shoal__frame_reset(&frame);
    }
}

/* ---- the room ---- */

static void test_bytes_in_the_room_are_not_copied(void **state)
{
    size_t room_bytes = 0, taken;

    (void)state;
    begin(BYTES_MAX, 0);
    give(0, 1000);
    for (size_t at = 1000; at < BYTES_MAX + 2;) {
        char *room = shoal__large_string_room(&large, &frame, &room_bytes);
        if (!room) {
            assert_in_range(BYTES_MAX + 2 - at, 1, 16383);
            give(at, BYTES_MAX + 2 - at);
            break;
        }
        assert_in_range(room_bytes, 1, BYTES_MAX + 2 - at);
        assert_ptr_equal(room, large.text + at);
        if (room_bytes > 243000)
            room_bytes = 243000;
        memcpy(room, wire + at, room_bytes);
        shoal__large_string_take(&large, &frame, room, room_bytes, &taken);
        assert_int_equal(taken, room_bytes);
        at += room_bytes;
    }
    assert_string_equal(owner.heard, "reply ");
    check_got(BYTES_MAX);
}

static void test_there_is_room_for_trees_alone(void **state)
{
    size_t bytes;

    (void)state;
    assert_null(shoal__large_string_room(&large, &frame, &bytes));
    owner.target.discard = true;
    begin(BYTES_MAX, 0);
    assert_null(shoal__large_string_room(&large, &frame, &bytes));
    owner.target = (shoal__decoder_target_t){.chunks = &chunks, .sink_data = &owner};
    begin(BYTES_MAX, 0);
    assert_null(shoal__large_string_room(&large, &frame, &bytes));
}

/* ---- memory ---- */

static void test_memory_grows_with_the_bytes(void **state)
{
    size_t bytes;

    (void)state;
    assert_true(shoal__large_string_begin(&large, &frame, (uint64_t)1 << 40, 0));
    assert_in_range(large.capacity, 1, 262144);
    give(0, 100000);
    assert_in_range(large.capacity, 1, 262144);
    for (int i = 0; i < 3; i++)
        give(0, 100000);
    assert_in_range(large.capacity, 400000, 262144 + 16 * 400000);
    assert_non_null(shoal__large_string_room(&large, &frame, &bytes));
    assert_int_equal(bytes, large.capacity - 400000);
}

static void test_a_length_may_be_beyond_all_memory(void **state)
{
    (void)state;
    assert_true(shoal__large_string_begin(&large, &frame, INT64_MAX, 0));
    give(0, 100000);
    assert_true(large.is_open);
}

static void test_the_memory_may_run_out(void **state)
{
    size_t taken, bytes, failed = 0;

    (void)state;
    /* Of a frame that keeps its arena: the block of the text alone. */
    shoal__test_fail_alloc_after(0);
    assert_false(shoal__large_string_begin(&large, &frame, BYTES_MAX, 0));
    /* When the text must grow: for bytes, or for room. */
    shoal__test_fail_alloc_never();
    assert_true(shoal__large_string_begin(&large, &frame, BYTES_MAX, 0));
    give(0, large.capacity);
    shoal__test_fail_alloc_after(0);
    assert_null(shoal__large_string_room(&large, &frame, &bytes));
    assert_int_equal(shoal__large_string_take(&large, &frame, wire, 1, &taken),
                     SHOAL__LARGE_NO_MEMORY);
    shoal__test_fail_alloc_never();
    /* Of a frame that rests: its arena, too. */
    shoal__frame_reset(&frame);
    shoal__frame_release(&frame);
    for (size_t allowed = 0;; allowed++) {
        shoal__test_fail_alloc_after(allowed);
        bool is_begun = shoal__large_string_begin(&large, &frame, BYTES_MAX, 0);
        shoal__test_fail_alloc_never();
        if (is_begun)
            break;
        failed++;
        shoal__frame_release(&frame);
    }
    assert_int_equal(failed, 2);
}

static void test_a_kept_reply_keeps_its_text(void **state)
{
    (void)state;
    owner.keeps = true;
    begin(100000, 100002);
    give(0, 100002);
    owner.keeps = false;
    begin(90000, 90002);
    memset(wire, 'z', 90000);
    give(0, 90002);
    check_got(90000);
    assert_int_equal(shoal_reply_string(owner.kept, NULL)[99999], 'a' + 99999 % 23);
    assert_int_equal(shoal_reply_string(owner.kept, NULL)[0], 'a');
}

/* ---- given up ---- */

static void test_a_discarded_string_goes_nowhere(void **state)
{
    /* Little more than it has memory for when it is given up, so that a sanitizer sees a
     * write behind that. */
    const size_t bytes = 270000;

    (void)state;
    for (int i = 0; i < 2; i++) {
        owner.heard[0] = '\0';
        owner.target = (shoal__decoder_target_t){.chunks = i ? &chunks : NULL,
                                                 .sink_data = &owner};
        begin(bytes, 0);
        give(0, 100000);
        shoal__frame_discard(&frame, true);
        assert_int_equal(give(100000, bytes - 100000 + 2), SHOAL__LARGE_WHOLE);
        assert_string_equal(owner.heard,
                            i ? "string 270000 reset nothing " : "nothing ");
    }
}

static void test_a_reset_is_told_to_the_chunks(void **state)
{
    (void)state;
    owner.target = (shoal__decoder_target_t){.chunks = &chunks, .sink_data = &owner};
    begin(BYTES_MAX, 0);
    shoal__frame_reset(&frame);
    shoal__frame_reset(&frame);
    assert_string_equal(owner.heard, "string 1000000 reset ");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_split_gives_the_same),
        TEST(test_what_follows_is_left),
        TEST(test_a_line_end_must_follow),
        TEST(test_bytes_in_the_room_are_not_copied),
        TEST(test_there_is_room_for_trees_alone),
        TEST(test_memory_grows_with_the_bytes),
        TEST(test_a_length_may_be_beyond_all_memory),
        TEST(test_the_memory_may_run_out),
        TEST(test_a_kept_reply_keeps_its_text),
        TEST(test_a_discarded_string_goes_nowhere),
        TEST(test_a_reset_is_told_to_the_chunks),
    };
    return cmocka_run_group_tests_name("resp/large_string", tests, NULL, NULL);
}
