/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/values_rig.h"

/* ---- writing ---- */

static void test_every_partial_write(void **state)
{
    (void)state;
    rig_connect();
    for (size_t first = 1; first <= THREE_BYTES; first++) {
        for (size_t second = 1; second <= THREE_BYTES; second++) {
            submit_three(0, WRITE);
            write_some(first);
            write_some(second);
            write_rest();
            assert_written("aBc");
            assert_int_equal(loan_of('b')->released, 0);
            rig_feed("+1\r\n+2\r\n+3\r\n");
            assert_heard("a=+1 b=+2 c=+3 ");
            assert_int_equal(loan_of('b')->released, 1);
            assert_nothing_left();
        }
    }
}

/* The same bytes, written range by range. */
static void test_the_first_range_is_a_write(void **state)
{
    (void)state;
    shoal__bytes_t out;
    unsigned writes = 0;

    rig_connect();
    submit_three(0, WRITE);
    for (; (out = rig_output()).bytes > 0; writes++) {
        memcpy(written + written_bytes, out.data, out.bytes);
        written_bytes += out.bytes;
        shoal__pipe_written(&rig.pipe, out.bytes, rig.now_us);
    }
    assert_written("aBc");
    assert_int_equal(writes, 5); /* a and b's head, FIRST, between, SECND, the rest */
    rig_feed("+1\r\n+2\r\n+3\r\n");
    assert_heard("a=+1 b=+2 c=+3 ");
}

static void test_one_write_has_so_many_parts(void **state)
{
    (void)state;
    shoal__bytes_t parts[SHOAL__PIPE_PARTS_MAX];

    rig_connect();
    assert_int_equal(shoal__pipe_gather(&rig.pipe, parts), 1);
    written_bytes = 0;
    for (const char *name = "abcdef"; *name; name++)
        submit_lent(*name, 0, WRITE);
    parts[0] = rig_output();
    assert_int_equal(shoal__pipe_gather(&rig.pipe, parts), SHOAL__PIPE_PARTS_MAX);
    write_rest();
    assert_written("ABCDEF");
    rig_feed("+1\r\n+2\r\n+3\r\n+4\r\n+5\r\n+6\r\n");
    assert_heard("a=+1 b=+2 c=+3 d=+4 e=+5 f=+6 ");
    assert_nothing_left();
}

static void test_they_count_as_outstanding(void **state)
{
    (void)state;
    rig_connect();
    submit_three(0, WRITE);
    shoal__pipe_publish(&rig.pipe);
    assert_int_equal(counter(&rig.pipe.stats.bytes_now), THREE_BYTES);
    write_rest();
    shoal__pipe_publish(&rig.pipe);
    assert_int_equal(counter(&rig.pipe.stats.bytes_now), THREE_BYTES);
    rig_feed("+1\r\n+2\r\n");
    shoal__pipe_publish(&rig.pipe);
    assert_int_equal(counter(&rig.pipe.stats.bytes_now), COMMAND_BYTES);
    rig_feed("+3\r\n");
    assert_heard("a=+1 b=+2 c=+3 ");
}

/* ---- together with others ---- */

/* What is swept out, and what a fence moves. */
static void test_the_log_moves_around_them(void **state)
{
    (void)state;
    rig_connect();
    written_bytes = 0;
    for (const char *name = "abcdef"; *name; name++) {
        if ((*name - 'a') % 2)
            submit_lent(*name, 0, WRITE);
        else
            rig_submit(*name, 0, WRITE);
    }
    rig_cancel('a');
    rig_cancel('b');
    rig_cancel('e');
    assert_int_equal(loan_of('b')->released, 1);
    write_some(COMMAND_BYTES + 20);
    rig_cancel('f');
    write_rest();
    assert_written("cD");
    rig_feed("+3\r\n+4\r\n");
    assert_heard("a!ECANCELLED/no b!ECANCELLED/no e!ECANCELLED/no f!ECANCELLED/no "
                 "c=+3 d=+4 ");
    assert_nothing_left();
}

static void test_a_sink_beside_them(void **state)
{
    (void)state;
    rig_connect();
    written_bytes = 0;
    shoal__request_t request = lent_request('b', 0, WRITE);
    request.extra->sink = &rig_sink;
    request.extra->sink_data = rig_name('b');
    push_lent(&request);
    write_rest();
    assert_written("B");
    rig_feed("+2\r\n");
    assert_heard("b(leaf) b=sink ");
    assert_int_equal(loan_of('b')->released, 1);
}

/* The extra of several commands is given back with the last of them. */
static void test_the_last_owner_gives_back(void **state)
{
    (void)state;
    rig_connect();
    written_bytes = 0;
    shoal__request_t first = lent_request('b', 0, WRITE);
    shoal__request_t second = rig_request('c', 0, WRITE);
    second.extra = first.extra;
    first.extra->owners = 2;
    push_lent(&first);
    rig_push(&second);
    write_rest();
    assert_written("Bc");
    rig_feed("+2\r\n");
    assert_int_equal(loan_of('b')->released, 0);
    rig_feed("+3\r\n");
    assert_int_equal(loan_of('b')->released, 1);
    assert_heard("b=+2 c=+3 ");
}

/* A write has a bound: a value may be larger. */
static void test_a_value_larger_than_a_write(void **state)
{
    (void)state;
    enum { BYTES = 1000000 };
    char *value = malloc(BYTES), *wire = malloc(BYTES);
    size_t at = 0;

    assert_non_null(value);
    assert_non_null(wire);
    for (size_t i = 0; i < BYTES; i++)
        value[i] = (char)(i * 7);
    rig_connect();
    shoal__request_t request = lent_request('b', 0, WRITE);
    request.extra->values->references[1] = (shoal__reference_t){value, BYTES, 21};
    request.extra->values->bytes = FIRST_BYTES + BYTES;
    push_lent(&request);
    for (size_t left = LOG_BYTES + FIRST_BYTES + BYTES; left > 0;) {
        shoal__bytes_t parts[SHOAL__PIPE_PARTS_MAX] = {rig_output()};
        size_t count = shoal__pipe_gather(&rig.pipe, parts), bytes = 0;
        assert_true(count > 0);
        for (size_t i = 0; i < count; i++) {
            bytes += parts[i].bytes;
            if (parts[i].data >= value && parts[i].data < value + BYTES) {
                memcpy(wire + at, parts[i].data, parts[i].bytes);
                at += parts[i].bytes;
            }
        }
        assert_in_range(bytes, 1, 262144);
        shoal__pipe_written(&rig.pipe, bytes, rig.now_us);
        left -= bytes;
    }
    assert_int_equal(at, BYTES);
    assert_memory_equal(wire, value, BYTES);
    rig_feed("+2\r\n");
    assert_heard("b=+2 ");
    assert_nothing_left();
    free(value);
    free(wire);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_every_partial_write),         TEST(test_the_first_range_is_a_write),
        TEST(test_one_write_has_so_many_parts), TEST(test_they_count_as_outstanding),
        TEST(test_the_log_moves_around_them),   TEST(test_a_sink_beside_them),
        TEST(test_the_last_owner_gives_back),   TEST(test_a_value_larger_than_a_write),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_values", tests, NULL, NULL);
}
