/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Replies that are one large string, and those who wait for them. */

#include "unit/core/pipe/fence_rig.h"

static void say(const void *data, const char *what, size_t bytes)
{
    char line[64];

    snprintf(line, sizeof line, "%c(%s %zu) ", *(const char *)data, what, bytes);
    rig_hear(line);
}

static void on_string(uint64_t bytes, void *data)
{
    say(data, "string", (size_t)bytes);
}

static void on_chunk(const char *chunk, size_t bytes, void *data)
{
    (void)chunk;
    say(data, "chunk", bytes);
}

static void on_string_end(void *data)
{
    rig_sink_hear(data, "whole");
}

static void on_string_reset(void *data)
{
    rig_sink_hear(data, "void");
}

static const shoal_chunk_sink_t chunk_sink = {on_string, on_chunk, on_string_end,
                                              on_string_reset};

static void submit_with_chunks(char name, shoal__command_class_t command_class)
{
    shoal__request_t request = rig_request(name, 0, command_class);

    request.extra = shoal__malloc(sizeof *request.extra);
    assert_non_null(request.extra);
    *request.extra = (shoal__extra_t){
        .chunks = &chunk_sink, .sink_data = rig_name(name), .owners = 1};
    rig_push(&request);
}

/* In two pieces of 70 000 bytes each. */
static const char *half_of_large(bool is_first)
{
    static char text[2][70020];

    memset(text[0], 'x', sizeof text[0] - 1);
    memset(text[1], 'x', sizeof text[1] - 1);
    memcpy(text[0], "$140000\r\n", 9);
    text[0][70009] = '\0';
    memcpy(text[1] + 70000, "\r\n", 3);
    return text[is_first ? 0 : 1];
}

static void test_chunks_go_to_their_sink(void **state)
{
    (void)state;
    rig_connect();
    submit_with_chunks('a', SHOAL__CLASS_RO);
    submit_with_chunks('b', SHOAL__CLASS_RO);
    submit_with_chunks('c', SHOAL__CLASS_RO);
    rig_write_all();
    rig_feed(half_of_large(true));
    rig_feed(half_of_large(false));
    rig_feed("$5\r\nsmall\r\n-ERR no\r\n");
    assert_heard("a(string 140000) a(chunk 4087) a(chunk 65913) a(chunk 70000) "
                 "a(whole) a=sink b=$small c=-ERR no ");
}

static void test_chunks_are_void_after_a_loss(void **state)
{
    (void)state;
    rig_connect();
    submit_with_chunks('a', SHOAL__CLASS_RO);
    submit_with_chunks('b', SHOAL__CLASS_WRITE);
    rig_write_all();
    rig_feed(half_of_large(true));
    rig_lose();
    assert_heard(
        "a(string 140000) a(chunk 4087) a(chunk 65913) a(void) b!ECONN/maybe ");
}

/* A tree is read straight into its memory, but where replies are held. */
static void test_room_for_a_large_reply(void **state)
{
    size_t bytes = 0;

    (void)state;
    rig_connect();
    rig_submit('a', 0, SHOAL__CLASS_RO);
    rig_write_all();
    assert_null(shoal__pipe_room(&rig.pipe, &bytes));
    rig_feed(half_of_large(true));
    assert_non_null(shoal__pipe_room(&rig.pipe, &bytes));
    assert_int_equal(bytes, 70002);
    rig_feed(half_of_large(false));
    assert_null(shoal__pipe_room(&rig.pipe, &bytes));
}

/* STRICT holds the bytes: they go through the pipe's own memory. */
static void test_no_room_where_replies_are_held(void **state)
{
    size_t bytes = 0;

    (void)state;
    connect_with(STRICT, true);
    rig_submit('a', 0, SHOAL__CLASS_RO);
    rig_write_all();
    rig_feed(half_of_large(true));
    assert_null(shoal__pipe_room(&rig.pipe, &bytes));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_chunks_go_to_their_sink),
        TEST(test_chunks_are_void_after_a_loss),
        TEST(test_room_for_a_large_reply),
        TEST(test_no_room_where_replies_are_held),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_replies.large", tests, NULL,
                                       NULL);
}
