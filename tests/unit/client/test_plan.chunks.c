/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "client/plan.h"

/* The sink for large strings among the extras of a call. */

static void on_end(void *data)
{
    (void)data;
}

static void on_string(uint64_t bytes, void *data)
{
    (void)bytes, (void)data;
}

static void on_chunk(const char *chunk, size_t bytes, void *data)
{
    (void)chunk, (void)bytes, (void)data;
}

static void test_a_chunk_sink_is_whole(void **state)
{
    static const shoal_chunk_sink_t whole = {on_string, on_chunk, on_end, on_end},
                                    lacking[] = {{NULL, on_chunk, on_end, on_end},
                                                 {on_string, NULL, on_end, on_end},
                                                 {on_string, on_chunk, NULL, on_end},
                                                 {on_string, on_chunk, on_end, NULL}};
    shoal_call_t theirs = SHOAL_CALL_INIT, call;

    (void)state;
    theirs.chunks = &whole;
    assert_true(shoal__call_read(&theirs, &call));
    assert_ptr_equal(call.chunks, &whole);
    /* A program that does not know the field has other bytes in its place. */
    theirs.size = offsetof(shoal_call_t, chunks);
    theirs.chunks = &lacking[0];
    assert_true(shoal__call_read(&theirs, &call));
    assert_null(call.chunks);
    theirs.size = sizeof theirs;
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++) {
        theirs.chunks = &lacking[i];
        assert_false(shoal__call_read(&theirs, &call));
    }
}

static void test_a_chunk_sink_travels_with_its_requests(void **state)
{
    static const shoal_chunk_sink_t chunks = {on_string, on_chunk, on_end, on_end};
    static const char *const argv[] = {"PING"};
    const shoal_command_t ping = {.argc = 1, .argv = argv};
    const shoal_options_t roomy = {.queued_max = 1, .bytes_max = 1000};
    int data = 0;
    shoal__plan_t plan;

    (void)state;
    const shoal__submission_t submission = {
        .commands = &ping, .count = 1, .call.chunks = &chunks, .call.sink_data = &data};
    assert_int_equal(shoal__plan_make(&submission, &roomy, NULL, &plan), 0);
    assert_ptr_equal(plan.extra->chunks, &chunks);
    assert_ptr_equal(plan.extra->sink_data, &data);
    assert_null(plan.extra->sink);
    shoal__extra_drop(plan.extra);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chunk_sink_is_whole),
        cmocka_unit_test(test_a_chunk_sink_travels_with_its_requests),
    };
    return cmocka_run_group_tests_name("client/plan.chunks", tests, NULL, NULL);
}
