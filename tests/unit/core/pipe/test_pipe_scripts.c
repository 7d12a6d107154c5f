/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pipe/pipe_scripts.h"
#include "unit/core/pipe/hold_rig.h"

/* Commands that call the script have a letter as their last argument. */

#define SHA1 "e0e1f9fabfc9d4800c877a703b823ac0578ff8db" /* return 1 */
#define CALL "*3\r\n$7\r\nEVALSHA\r\n$40\r\n" SHA1 "\r\n$1\r\n"
#define CALL_BYTES (sizeof CALL - 1 + 3)
#define LOAD "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$8\r\nreturn "
#define NOSCRIPT "-NOSCRIPT No matching script. Please use EVAL.\r\n"

static shoal__scripts_t scripts;
static shoal__script_t *items[64];
static unsigned count;

static void add(const char *text)
{
    int rc;

    items[count++] = shoal__scripts_add(
        &scripts, shoal__script_new((shoal__bytes_t){text, strlen(text)}), &rc);
    assert_int_equal(rc, 0);
}

static int set_up(void **state)
{
    if (rig_set_up(state) < 0)
        return -1;
    rig.shared.scripts = &scripts;
    rig.config.loads_scripts = true;
    return 0;
}

static int tear_down(void **state)
{
    shoal__test_fail_alloc_never();
    while (count > 0)
        shoal__script_release(items[--count]);
    shoal__scripts_clear(&scripts);
    return rig_tear_down(state);
}

static void submit_request(const shoal__request_t *request)
{
    char *at = shoal__pipe_reserve(&rig.pipe, CALL_BYTES, 1);

    assert_non_null(at);
    memcpy(at, CALL, sizeof CALL - 1);
    memcpy(at + sizeof CALL - 1, (char[]){(char)request->tag, '\r', '\n'}, 3);
    shoal__pipe_push(&rig.pipe, request);
    shoal__stage_times_taken(&rig.pipe.times, 1, rig.now_us);
}

static void submit(char name, uint16_t flags)
{
    shoal__request_t request = rig_request(name, flags, SHOAL__CLASS_SCRIPT);

    request.bytes = CALL_BYTES;
    submit_request(&request);
}

/* What leaves: the number of a script that is loaded, and the letters of calls. */
static const char *write_all(void)
{
    static char seen[256];
    size_t bytes = 0;
    shoal__bytes_t out;

    while ((out = rig_output()).bytes > 0) {
        for (size_t i = 0; i < out.bytes; i++) {
            shoal__bytes_t rest = {out.data + i, out.bytes - i};
            if (shoal__bytes_start(rest, LOAD))
                seen[bytes++] = rest.data[sizeof LOAD - 1];
            else if (shoal__bytes_start(rest, CALL))
                seen[bytes++] = rest.data[sizeof CALL - 1];
        }
        shoal__pipe_written(&rig.pipe, out.bytes, rig.now_us);
    }
    seen[bytes] = '\0';
    return seen;
}

static void answer_loads(unsigned loads)
{
    while (loads-- > 0)
        assert_int_equal(rig_feed("$40\r\n" SHA1 "\r\n"), 0);
}

static void test_scripts_go_before_what_waits(void **state)
{
    (void)state;
    add("return 1");
    add("return 2");
    submit('a', 0);
    rig_connect();
    assert_string_equal(write_all(), "12a");
    submit('b', 0);
    assert_string_equal(write_all(), "b"); /* once */
    add("return 3");
    submit('c', 0);
    assert_string_equal(write_all(), "3c");
    answer_loads(2);
    rig_feed(":1\r\n:2\r\n");
    answer_loads(1);
    rig_feed(":3\r\n");
    assert_heard("a=:1 b=:2 c=:3 ");
    rig_lose();
    rig_connect();
    submit('d', 0);
    assert_string_equal(write_all(), "123d"); /* the next server may not have them */
}

static void test_many_scripts_are_loaded(void **state)
{
    char text[16], seen[64];
    unsigned loads = 40; /* more than go at a time */
    (void)state;

    for (unsigned i = 0; i < loads; i++) {
        snprintf(text, sizeof text, "return %c", 'A' + i);
        add(text);
    }
    submit('a', 0);
    rig_connect();
    snprintf(seen, sizeof seen, "%s", write_all());
    assert_int_equal(strlen(seen), loads + 1);
    for (unsigned i = 0; i < loads; i++)
        assert_non_null(strchr(seen, 'A' + (int)i));
    assert_int_equal(seen[loads], 'a');
    answer_loads(loads);
    rig_feed(":1\r\n");
    assert_heard("a=:1 ");
}

static void test_a_script_that_the_server_lost_is_loaded_again(void **state)
{
    (void)state;
    add("return 1");
    rig_connect();
    submit('a', 0);
    submit('b', 0);
    assert_string_equal(write_all(), "1ab");
    answer_loads(1);
    rig_feed(NOSCRIPT);
    submit('c', 0);
    assert_string_equal(write_all(), "1ac");
    rig_feed(NOSCRIPT);
    assert_string_equal(write_all(), "1b");
    answer_loads(1);
    rig_feed(":1\r\n:3\r\n");
    answer_loads(1);
    rig_feed(":2\r\n");
    assert_heard("a=:1 c=:3 b=:2 ");
    assert_int_equal(rig.attempts, 2);
    assert_int_equal(counter(&rig.pipe.stats.retries), 2);
}

static void test_a_server_that_never_has_it_is_believed(void **state)
{
    (void)state;
    add("return 1");
    rig_connect();
    submit('a', 0);
    for (unsigned attempts = 1; attempts < rig.config.attempts_max; attempts++) {
        assert_string_equal(write_all(), "1a");
        rig_feed("-NOPERM\r\n" NOSCRIPT);
    }
    assert_heard("");
    write_all();
    rig_feed("-NOPERM\r\n" NOSCRIPT);
    assert_heard("a=-NOSCRIPT No matching script. Please use EVAL. ");
}

static void refuse_and_hear(const char *error)
{
    write_all();
    rig_feed(error);
    rig_write_all();
}

static void test_what_does_not_go_again(void **state)
{
    shoal__request_t grouped;
    (void)state;

    add("return 1");
    rig_connect();
    submit('a', 0);
    write_all();
    answer_loads(1);
    rig_feed("-NOSCRIPT No such thing\r\n"); /* a script's own words */
    assert_heard("a=-NOSCRIPT No such thing ");
    rig_submit('b', 0, WRITE); /* no call */
    refuse_and_hear(NOSCRIPT);
    assert_heard("b=-NOSCRIPT No matching script. Please use EVAL. ");
    submit('c', SHOAL__REQUEST_ONCE);
    refuse_and_hear(NOSCRIPT);
    assert_heard("c=-NOSCRIPT No matching script. Please use EVAL. ");
    answer_loads(1);
    grouped = rig_request('d', 0, SHOAL__CLASS_SCRIPT);
    grouped.bytes = CALL_BYTES;
    grouped.is_grouped = 1;
    submit_request(&grouped);
    submit('e', 0);
    write_all();
    rig_feed(NOSCRIPT); /* the next one runs at once */
    assert_heard("d=-NOSCRIPT No matching script. Please use EVAL. ");
    rig_feed(":1\r\n");
    submit('f', 0); /* but later ones find it */
    assert_string_equal(write_all(), "1f");
}

/* Of a lease, or to a sentinel. */
static void test_another_connection_is_left_alone(void **state)
{
    (void)state;
    add("return 1");
    rig.config.loads_scripts = false;
    rig_connect();
    submit('a', 0);
    assert_string_equal(write_all(), "a");
    rig_feed(NOSCRIPT);
    assert_heard("a=-NOSCRIPT No matching script. Please use EVAL. ");
}

static void test_without_memory_it_is_tried_again(void **state)
{
    static char text[65536] = "return 1 --";

    (void)state;
    memset(text + 11, 'x', sizeof text - 12);
    add(text);
    rig_connect();
    submit('a', 0);
    shoal__test_fail_alloc_after(0);
    assert_string_equal(write_all(), "a");
    assert_int_equal(rig.pipe.scripts_loaded, 0);
    shoal__test_fail_alloc_never();
    submit('b', 0);
    assert_string_equal(write_all(), "b");
    assert_int_equal(rig.pipe.scripts_loaded, 1);
    rig_feed(":1\r\n");
    answer_loads(1); /* it went before b */
    rig_feed(":2\r\n");
    assert_heard("a=:1 b=:2 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_scripts_go_before_what_waits, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_many_scripts_are_loaded, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_script_that_the_server_lost_is_loaded_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_server_that_never_has_it_is_believed,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_does_not_go_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_another_connection_is_left_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_without_memory_it_is_tried_again, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("core/pipe/pipe_scripts", tests, NULL, NULL);
}
