/* SPDX-License-Identifier: MIT */

/*
 * The whole pipe: the input is the configuration and then the schedule, an operation per
 * byte.  A server of the test's answers honestly, or the input itself is the answer.
 * The oracles are in pipe_calls.c and pipe_server.c; and everything completes in the end.
 */

#include "memory_meter.h"
#include "pipe_world.h"
#include "support/pipe_idle.h"
#include <shoal/errors.h>

#define OPERATIONS_MAX 2000
#define ROUNDS_MAX 400
#define ROUND_US 50000

static world_t world;
static char user[] = "user", password[] = PASSWORD;
static shoal__random_t entropy_source;

/* The pipe's random numbers: the same in every run, and independent of the input, so
 * that no input contains the right answer to a fence by chance. */
static void entropy(void *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)memory)[i] =
            (unsigned char)shoal__random_next(&entropy_source);
}

static void read_config(fuzz_input_t *in)
{
    uint8_t style = fuzz_byte(in), sizes = fuzz_byte(in), times = fuzz_byte(in);
    uint8_t more = fuzz_byte(in);
    shoal_flush_mode_t mode = (shoal_flush_mode_t)(style >> 6);

    world.config = (shoal__pipe_config_t){
        .flush = {.mode = mode > SHOAL_FLUSH_FIXED ? SHOAL_FLUSH_OFF : mode,
                  .pause_us = mode == SHOAL_FLUSH_FIXED ? 300 : 100,
                  .bytes_max = 2000,
                  .commands_max = 40,
                  .has_fine_waker = (more & 4) != 0},
        .reply = {.bytes_max = 1 << 20, .elements_max = 1 << 16, .depth_max = 100},
        .greeting = {.protocol = style & 1 ? 3 : 2,
                     .database = style & 4 ? 2 : 0,
                     .client_name = style & 8 ? "name" : NULL,
                     .integrity = (shoal_integrity_t)((more >> 5) % 3),
                     .is_settling = (more & 2) != 0},
        .inflight_max = 1 + (size_t)(sizes >> 1),
        .stall_us = 20000 + 1000 * (uint64_t)times,
        .ping_idle_us = more & 1 ? 15000 : 0,
        .attempts_max = 1 + (unsigned)(more >> 3) % 4,
        .queue_offline = (style & 16) != 0,
    };
    world.secret = (shoal__secret_t){.user = style & 2 && sizes & 1 ? user : NULL,
                                     .password = style & 2 ? password : NULL};
    world.target = (shoal__target_t){.name = "server", .secret = &world.secret};
    world.knows_hello = (style & 32) == 0;
}

/* ---- the owner's part ---- */

static void on_result(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result)
{
    (void)owner;
    request->on_result(NULL, result, request->data);
}

static shoal__pipe_verdict_t on_error(void *owner, shoal__pipe_t *pipe,
                                      const shoal__request_t *request,
                                      const char *bytes, shoal__bytes_t error)
{
    FUZZ_CHECK(owner == &world, "somebody else's error");
    calls_check_bytes(&world, request, bytes);
    call_t *call = request->data;
    const shoal__refused_t refused = shoal__pipe_refused(pipe);
    shoal__pipe_verdict_t verdict = shoal__pipe_send_again(pipe, &refused, error);

    if (verdict == SHOAL__PIPE_TAKEN && error.data[0] != 'N') /* NOAUTH is an attempt */
        call->held++;
    return verdict;
}

static const shoal__pipe_hooks_t hooks = {.on_result = on_result, .on_error = on_error};

static void lose(int status, const char *detail)
{
    world.link = 0;
    calls_check_detail(&world, detail);
    shoal__pipe_lost(&world.pipe, status, detail, world.now_us);
}

static void begin(bool is_bare)
{
    if (world.link)
        return;
    server_begin(&world);
    if (shoal__pipe_begin(&world.pipe,
                          is_bare ? SHOAL__GREETING_BARE : SHOAL__GREETING_FULL,
                          world.now_us) < 0)
        lose(SHOAL_ENOMEM, "no memory");
}

/* Write a part of what may leave: 1 byte for part 0, all bytes for 255.  False if
 * nothing may leave. */
static bool write_some(unsigned part)
{
    uint64_t wake_us;
    shoal__bytes_t parts[SHOAL__PIPE_PARTS_MAX] = {{NULL, 0}};
    size_t count, ready = 0, at = 0;
    char *copy;

    if (world.link)
        parts[0] = shoal__pipe_output(&world.pipe, world.now_us, &wake_us);
    if (parts[0].bytes == 0)
        return false;
    count = shoal__pipe_gather(&world.pipe, parts);
    for (size_t i = 0; i < count; i++)
        ready += parts[i].bytes;
    size_t bytes = 1 + (ready - 1) * part / 255;
    copy = malloc(bytes);
    FUZZ_CHECK(copy, "no memory");
    for (size_t i = 0; at < bytes; at += parts[i++].bytes) {
        if (parts[i].bytes > bytes - at)
            parts[i].bytes = bytes - at;
        memcpy(copy + at, parts[i].data, parts[i].bytes);
    }
    server_receive(&world, copy, bytes);
    shoal__pipe_written(&world.pipe, bytes, world.now_us);
    free(copy);
    return true;
}

/* Feed a copy of the bytes.  The pipe must accept all that an honest server says. */
static void feed(const char *data, size_t bytes)
{
    char *copy = malloc(bytes > 0 ? bytes : 1);

    FUZZ_CHECK(copy, "no memory");
    memcpy(copy, data, bytes);
    server_tell(&world, copy, bytes);
    if (shoal__pipe_feed(&world.pipe, copy, bytes, world.now_us) < 0) {
        FUZZ_CHECK(world.is_lying, "an honest answer is refused: %s",
                   world.pipe.detail);
        FUZZ_CHECK(*world.pipe.detail, "no words");
        lose(world.pipe.fault, world.pipe.detail);
    }
    free(copy);
}

static void feed_answers(size_t bytes)
{
    bytes = bytes < world.answers.size ? bytes : world.answers.size;
    if (!world.link || bytes == 0)
        return;
    char *data = malloc(bytes);
    FUZZ_CHECK(data, "no memory");
    memcpy(data, world.answers.data, bytes);
    fake_bytes_consume(&world.answers, bytes);
    feed(data, bytes);
    free(data);
}

static void feed_raw(fuzz_input_t *in, size_t bytes_max)
{
    size_t bytes;
    char *data = fuzz_take(in, bytes_max, &bytes);

    if (world.link && bytes > 0) {
        world.is_lying = world.has_lied = true;
        feed(data, bytes);
    }
    free(data);
}

static void tick(uint64_t us)
{
    world.now_us += us;
    if (shoal__pipe_tick(&world.pipe, world.now_us) < 0)
        lose(world.pipe.fault, world.pipe.detail);
    calls_check_deadlines(&world);
}

/* ---- the schedule ---- */

static void submit(fuzz_input_t *in, uint8_t operand)
{
    static const uint16_t flags[] = {0, SHOAL__REQUEST_IDEMPOTENT, SHOAL__REQUEST_ONCE,
                                     SHOAL__REQUEST_URGENT};
    uint8_t more = fuzz_byte(in);
    uint64_t timeout_us = more & 0x80 ? 0 : 1 + 500 * (uint64_t)(more & 0x7f);
    unsigned parts = operand & 32 ? 1 + operand % UNIT_CALLS_MAX : 0;

    calls_submit(
        &world, (verb_t)(operand % VERB_MULTI), flags[(operand >> 3) & 3], timeout_us,
        (more & 0x40 ? CALL_HAS_SINK : 0) | (operand & 0x40 ? CALL_IS_LENT : 0), parts);
}

static void operate(fuzz_input_t *in)
{
    uint8_t operation = fuzz_byte(in), operand = operation >> 4;

    switch (operation & 15) {
    case 0:
    case 1:
        submit(in, fuzz_byte(in));
        break;
    case 2: /* write all that may leave */
        for (unsigned i = 0; i < 8 && write_some(255); i++)
            continue;
        break;
    case 3:
        write_some(fuzz_byte(in));
        break;
    case 4: /* read all answers */
        feed_answers(SIZE_MAX);
        break;
    case 5:
        feed_answers(1 + fuzz_byte(in));
        break;
    case 6:
        feed_raw(in, 1 + (size_t)operand);
        break;
    case 7:
        feed_raw(in, fuzz_byte(in));
        break;
    case 8:
        tick(operand * 100u);
        break;
    case 9:
        tick(fuzz_byte(in) * 1000u);
        break;
    case 10:
        if (world.link)
            lose(SHOAL_ECONN, "cut");
        break;
    case 11:
        begin(operand & 1);
        break;
    case 12:
        if (world.call_count > 1)
            calls_cancel(&world, 1 + fuzz_byte(in) % (world.call_count - 1));
        break;
    case 13:
        world.mood = (mood_t)(operand % (MOOD_ERR + 1));
        break;
    case 14:
        server_push(&world, operand);
        break;
    default: /* a whole round trip */
        begin(false);
        write_some(255);
        feed_answers(SIZE_MAX);
        break;
    }
}

/* From here on the server is good: all calls complete within ROUNDS_MAX rounds. */
static void settle(void)
{
    world.mood = MOOD_KIND;
    world.knows_hello = true;
    if (world.link)
        lose(SHOAL_ECONN, "cut");
    for (unsigned round = 0; round < ROUNDS_MAX && calls_outstanding(&world); round++) {
        begin(false);
        while (write_some(255))
            feed_answers(SIZE_MAX);
        feed_answers(SIZE_MAX);
        tick(ROUND_US);
    }
    FUZZ_CHECK(calls_outstanding(&world) == 0, "I2: %u calls never complete",
               calls_outstanding(&world));
    FUZZ_CHECK(pipe_is_idle(&world.pipe), "idle, but not for the pipe");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t in = {data, data + bytes};

    memory_meter_on();
    world = (world_t){.in = &in, .now_us = 1000000, .call_count = 1};
    read_config(&in);
    bool settles = fuzz_byte(&in) & 1;
    shoal__random_init(&world.random, 1);
    shoal__random_init(&entropy_source, 2);
    shoal__pipe_shared_init(&world.shared, entropy, &world.random);
    const shoal__pipe_parts_t parts = {&world.config, &world.target, &world.shared};
    FUZZ_CHECK(shoal__pipe_init(&world.pipe, &parts, &hooks, &world) == 0, "no memory");
    for (unsigned i = 0; i < OPERATIONS_MAX && fuzz_left(&in) > 0; i++)
        operate(&in);
    if (settles)
        settle();

    world.is_closing = true;
    shoal__pipe_abandon(&world.pipe, world.now_us);
    FUZZ_CHECK(calls_outstanding(&world) == 0, "I2: %u calls never complete",
               calls_outstanding(&world));
    shoal__pipe_release(&world.pipe);
    shoal__pipe_shared_release(&world.shared);
    server_release(&world);
    memory_meter_off();
    return 0;
}
