/* SPDX-License-Identifier: MIT */

/* T15: the ciphertext of a batch is cut at every byte.  What the pipe says of each command
 * is what the server knows of it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/core/pipe/pipe_rig.h"
#include "unit/net/tls_rig.h"

/* They begin and end within records, and at their edges. */
static const uint32_t sizes[] = {11, 9000, 7373, 16384, 11, 40, 16333, 100};
#define COMMANDS (sizeof sizes / sizeof *sizes)

static char plain[65536];
static size_t plain_bytes;

static size_t end_of(size_t command)
{
    size_t end = 0;

    for (size_t i = 0; i <= command; i++)
        end += sizes[i];
    return end;
}

static void fill(void)
{
    plain_bytes = end_of(COMMANDS - 1);
    for (size_t i = 0; i < plain_bytes; i++)
        plain[i] = (char)('!' + i % 89);
}

/* All commands are queued on a connection, and may leave. */
static void queue(void)
{
    rig_connect();
    for (size_t i = 0; i < COMMANDS; i++) {
        shoal__request_t request = rig_request((char)('a' + i), 0, WRITE);
        char *at = shoal__pipe_reserve(&rig.pipe, sizes[i], 1);
        assert_non_null(at);
        memcpy(at, plain + end_of(i) - sizes[i], sizes[i]);
        request.bytes = sizes[i];
        shoal__pipe_push(&rig.pipe, &request);
        shoal__stage_times_taken(&rig.pipe.times, 1, rig.now_us);
    }
    assert_int_equal(rig_output().bytes, plain_bytes);
}

static void take_back(void)
{
    shoal__pipe_abandon(&rig.pipe, rig.now_us);
    rig.heard[0] = '\0';
}

static void say(char *text, char name, const char *result)
{
    size_t at = strlen(text);

    snprintf(text + at, 200 - at, "%c!%s ", name, result);
}

/* Lost here: what the server has whole may have run, nothing else has. */
static void check_loss(size_t had)
{
    char expected[200] = "";
    size_t kept = 0;

    for (size_t i = 0; i < COMMANDS; i++)
        if (end_of(i) <= had)
            say(expected, (char)('a' + i), "ECONN/maybe");
        else
            kept += sizes[i];
    rig_lose();
    assert_heard(expected);
    assert_int_equal(shoal__buffer_bytes(&rig.pipe.log), kept);
    assert_memory_equal(shoal__buffer_data(&rig.pipe.log), plain + plain_bytes - kept,
                        kept);
}

/* Closed here. */
static void check_close(size_t had)
{
    char expected[200] = "";

    for (size_t i = 0; i < COMMANDS; i++)
        say(expected, (char)('a' + i),
            end_of(i) <= had ? "ESHUTDOWN/maybe" : "ESHUTDOWN/no");
    shoal__pipe_abandon(&rig.pipe, rig.now_us);
    assert_heard(expected);
}

/* Cancelled here: what was encrypted leaves all the same. */
static void check_cancel(void)
{
    char expected[200] = "";

    for (size_t i = 0; i < COMMANDS; i++) {
        assert_true(rig_cancel((char)('a' + i)));
        say(expected, (char)('a' + i), "ECANCELLED/maybe");
    }
    assert_heard(expected);
}

static void at_every_byte(int version)
{
    shoal__bytes_t part = {plain, plain_bytes};
    size_t told = 0, positions = 0;

    serve("server", version);
    dial();
    assert_int_equal(shake_hands(SIZE_MAX), 0);
    assert_int_equal(shoal__tls_engine_write(engine, &part, 1), plain_bytes);
    for (;;) {
        for (int i = 0; i < 3; i++) {
            queue();
            if (told > 0)
                shoal__pipe_written(&rig.pipe, told, rig.now_us);
            if (told < plain_bytes)
                shoal__pipe_commit(&rig.pipe, shoal__tls_engine_kept(engine),
                                   rig.now_us);
            if (i == 0)
                check_loss(server.heard_bytes);
            else if (i == 1)
                check_close(server.heard_bytes);
            else
                check_cancel();
            take_back();
        }
        positions++;
        shoal__bytes_t output = shoal__tls_engine_output(engine);
        if (output.bytes == 0)
            break;
        give_server(output.data, 1);
        told += shoal__tls_engine_sent(engine, 1);
    }
    assert_true(positions > plain_bytes);
    assert_int_equal(server.heard_bytes, plain_bytes);
}

static void test_cut_at_every_byte(void **state)
{
    (void)state;
    fill();
    at_every_byte(TLS1_3_VERSION);
    at_every_byte(TLS1_2_VERSION);
}

static int set_up(void **state)
{
    return rig_set_up(state) || rig_set_up_tls(state);
}

static int tear_down(void **state)
{
    return rig_tear_down_tls(state) || rig_tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cut_at_every_byte, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("net/tls_engine.fates", tests, NULL, NULL);
}
