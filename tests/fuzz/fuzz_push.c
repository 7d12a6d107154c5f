/* SPDX-License-Identifier: MIT */

/*
 * Pushes of every kind and size between, before and behind honest replies: each reply
 * still reaches its command, each push the owner, and one where none may be, or a broken
 * one, ends the connection before another reply is delivered.  (I1, I8)
 *
 * The input says how many commands there are, what the server sends, and how it is split.
 */

#include "base/alloc.h"
#include "core/pipe/pipe.h"
#include "fault_proxy/fake_bytes.h"
#include "fuzz_input.h"
#include "memory_meter.h"
#include <shoal/errors.h>

#define COMMANDS_MAX 24
#define PUSH_DEPTH_MAX 4
#define WIRE_BYTES_MAX 60000

#define HELLO_ANSWER "%1\r\n$5\r\nproto\r\n:3\r\n"

/* What the server may do wrong. */
typedef enum wrong {
    WRONG_NOTHING,
    WRONG_INSIDE_REPLY,
    WRONG_INSIDE_PUSH,
    WRONG_COUNT,
    WRONG_TYPE,
    WRONG_PROTOCOL, /* a push, but RESP2 was agreed on */
    WRONG_COUNT_OF
} wrong_t;

typedef struct scene {
    shoal__pipe_t pipe;
    shoal__pipe_config_t config;
    fake_bytes_t wire;
    bool is_resp3;
    unsigned commands;
    unsigned given_up;  /* the command that was cancelled; COMMANDS_MAX: none */
    unsigned answered;  /* how many replies are on the wire, before anything wrong */
    unsigned pushes;    /* how many pushes are there */
    unsigned heard;     /* how many pushes the owner received */
    bool is_wrong;      /* the wire ends with something wrong */
    unsigned delivered; /* the command with the next reply, unless it was cancelled */
    bool is_ending;     /* the pipe is given up: all further results are failures */
    bool has_sink_seen;
} scene_t;

static scene_t scene;

/* ---- what the caller hears ---- */

/* True if the reply is the number of its command, or an aggregate of nothing else. */
static bool is_number(const shoal_reply_t *reply, unsigned number)
{
    size_t bytes = 0;
    const char *text = shoal_reply_string(reply, &bytes);
    char digits[8];

    snprintf(digits, sizeof digits, "%u", number);
    for (size_t i = 0; i < shoal_reply_count(reply); i++)
        if (!is_number(shoal_reply_at(reply, i), number))
            return false;
    if (shoal_reply_count(reply) > 0)
        return true;
    if (text)
        return bytes == strlen(digits) && memcmp(text, digits, bytes) == 0;
    return shoal_reply_type(reply) == SHOAL_REPLY_INTEGER &&
           shoal_reply_integer(reply) == (int64_t)number;
}

static void on_result(void *owner, const shoal__request_t *request,
                      const shoal_result_t *result)
{
    const unsigned *number = request->data;

    (void)owner;
    FUZZ_CHECK(result->tag == *number, "another's tag");
    if (result->status == SHOAL_ECANCELLED) {
        FUZZ_CHECK(*number == scene.given_up, "%u was not given up", *number);
        return;
    }
    FUZZ_CHECK((result->status == 0) == !scene.is_ending, "%u: status %d", *number,
               result->status);
    if (scene.is_ending)
        return;
    if (scene.delivered == scene.given_up)
        scene.delivered++;
    FUZZ_CHECK(*number == scene.delivered, "%u instead of %u", *number,
               scene.delivered);
    FUZZ_CHECK(*number < scene.answered, "%u was not answered", *number);
    FUZZ_CHECK(result->reply ? is_number(result->reply, *number) : scene.has_sink_seen,
               "%u has another's reply", *number);
    scene.has_sink_seen = false;
    scene.delivered++;
}

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    FUZZ_CHECK(is_number(leaf, *(unsigned *)data), "a sink has another's reply");
    scene.has_sink_seen = true;
}

static void on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    (void)count;
    (void)data;
    FUZZ_CHECK(type != SHOAL_REPLY_PUSH, "a push reaches a sink");
}

static void on_end(void *data)
{
    (void)data;
}

static void on_reset(void *data)
{
    (void)data;
    scene.has_sink_seen = false;
}

static void on_push(void *owner, const shoal_reply_t *push)
{
    (void)owner;
    FUZZ_CHECK(shoal_reply_type(push) == SHOAL_REPLY_PUSH, "no push");
    scene.heard++;
}

static const shoal__pipe_hooks_t hooks = {.on_result = on_result, .on_push = on_push};

static const shoal_sink_t sink = {on_leaf, on_begin, on_end, on_reset};

/* ---- what the server sends ---- */

static void add(const char *text)
{
    fake_bytes_text(&scene.wire, text);
}

static void add_reply(unsigned number, uint8_t shape, const char *inside)
{
    char text[200];
    int digits = snprintf(text, sizeof text, "%u", number);

    switch (shape % 5) {
    case 0:
        snprintf(text, sizeof text, "$%d\r\n%u\r\n", digits, number);
        break;
    case 1:
        snprintf(text, sizeof text, "+%u\r\n", number);
        break;
    case 2:
        snprintf(text, sizeof text, ":%u\r\n", number);
        break;
    case 3:
        snprintf(text, sizeof text, "~1\r\n:%u\r\n", number);
        break;
    default:
        snprintf(text, sizeof text, "*2\r\n:%u\r\n%%1\r\n+%u\r\n%s:%u\r\n", number,
                 number, inside, number);
        break;
    }
    add(text);
}

/* Append the value that the input describes, of any type but push and attribute. */
static void add_value(fuzz_input_t *in, unsigned depth)
{
    static const char *const leaves[] = {"_\r\n",
                                         ":-5\r\n",
                                         "#t\r\n",
                                         "#f\r\n",
                                         ",1.5\r\n",
                                         ",inf\r\n",
                                         "+OK\r\n",
                                         "-ERR x\r\n",
                                         "$-1\r\n",
                                         "(123456\r\n",
                                         "=5\r\ntxt:x\r\n",
                                         "$0\r\n\r\n",
                                         "$10\r\ninvalidate\r\n",
                                         "+message\r\n",
                                         "-LOADING x\r\n",
                                         "$1\r\n0\r\n"};
    uint8_t kind = fuzz_byte(in);
    static const char signs[] = "*~%";

    if (kind < 160 || depth >= PUSH_DEPTH_MAX) {
        add(leaves[kind % (sizeof leaves / sizeof *leaves)]);
    } else if (kind < 200) {
        size_t bytes;
        char *text = fuzz_take(in, kind - 160u, &bytes);
        fake_bytes_bulk(&scene.wire, text, bytes);
        free(text);
    } else if (kind < 208) {
        static char large[4096];
        fake_bytes_bulk(&scene.wire, large, (size_t)fuzz_byte(in) * 16);
    } else {
        unsigned count = kind % 5;
        fake_bytes_number(&scene.wire, signs[kind % 3], count);
        for (unsigned i = 0; i < (kind % 3 == 2 ? 2 * count : count); i++)
            add_value(in, depth + 1);
    }
}

static void add_push(fuzz_input_t *in)
{
    unsigned count = fuzz_byte(in) % 6;

    fake_bytes_number(&scene.wire, '>', count);
    for (unsigned i = 0; i < count; i++)
        add_value(in, 1);
    scene.pushes++;
}

static void add_wrong(wrong_t wrong)
{
    switch (wrong) {
    case WRONG_INSIDE_REPLY:
        add_reply(scene.answered, 4, ">1\r\n+x\r\n");
        break;
    case WRONG_INSIDE_PUSH:
        add(">2\r\n+x\r\n>1\r\n+y\r\n");
        break;
    case WRONG_COUNT:
        add(">-1\r\n");
        break;
    case WRONG_TYPE:
        add(">1\r\n?");
        break;
    case WRONG_NOTHING:
    case WRONG_PROTOCOL:
    case WRONG_COUNT_OF:
        add(">0\r\n");
        break;
    }
    scene.is_wrong = true;
    /* Good replies follow, which the pipe must not deliver. */
    for (unsigned i = scene.answered; i < scene.commands; i++)
        add_reply(i, 0, "");
}

static void write_wire(fuzz_input_t *in)
{
    wrong_t wrong = (wrong_t)(fuzz_byte(in) % WRONG_COUNT_OF);

    if (!scene.is_resp3)
        wrong = WRONG_PROTOCOL;
    else if (wrong == WRONG_PROTOCOL)
        wrong = WRONG_NOTHING;
    while (fuzz_left(in) > 0 && scene.wire.size < WIRE_BYTES_MAX) {
        uint8_t what = fuzz_byte(in);

        if (what >= 0xf8 && wrong != WRONG_NOTHING) {
            add_wrong(wrong);
            return;
        }
        if (what >= 0xf0)
            add("|1\r\n+a\r\n*1\r\n:1\r\n");
        else if (what < 0x80 && scene.is_resp3)
            add_push(in);
        else if (scene.answered < scene.commands)
            add_reply(scene.answered++, what, "");
    }
    while (scene.answered < scene.commands)
        add_reply(scene.answered++, 0, "");
}

/* ---- the owner's part ---- */

static void hand_over(void)
{
    uint64_t wake_us;
    shoal__bytes_t out;

    while ((out = shoal__pipe_output(&scene.pipe, 1, &wake_us)).bytes > 0)
        shoal__pipe_written(&scene.pipe, out.bytes, 1);
}

static int feed(const char *data, size_t bytes)
{
    char *copy = malloc(bytes > 0 ? bytes : 1);

    FUZZ_CHECK(copy, "no memory");
    memcpy(copy, data, bytes);
    int rc = shoal__pipe_feed(&scene.pipe, copy, bytes, 1);
    free(copy);
    return rc;
}

static void greet(void)
{
    static const char resp3[] = HELLO_ANSWER, resp2[] = "-ERR unknown command\r\n";
    static const char setup[] = "+OK\r\n+OK\r\n";
    const char *hello = scene.is_resp3 ? resp3 : resp2;

    FUZZ_CHECK(shoal__pipe_begin(&scene.pipe, SHOAL__GREETING_FULL, 1) == 0, "begin");
    hand_over();
    FUZZ_CHECK(feed(hello, strlen(hello)) == 0, "HELLO: %s", scene.pipe.detail);
    hand_over();
    FUZZ_CHECK(feed(setup, strlen(setup)) == 0, "setup: %s", scene.pipe.detail);
    FUZZ_CHECK(scene.pipe.phase == SHOAL__PIPE_READY, "not ready");
}

static void submit(unsigned *number, bool has_sink)
{
    static const char wire[] = "*1\r\n$4\r\nEVAL\r\n";
    char *at = shoal__pipe_reserve(&scene.pipe, sizeof wire - 1, 1);
    shoal__request_t request = {.data = number,
                                .tag = *number,
                                .ticket = *number + 1u,
                                .submitted_us = 1,
                                .deadline_us = UINT64_MAX,
                                .bytes = sizeof wire - 1,
                                .command_class = SHOAL__CLASS_SCRIPT};

    FUZZ_CHECK(at, "no memory");
    memcpy(at, wire, sizeof wire - 1);
    if (has_sink) {
        request.extra = shoal__malloc(sizeof *request.extra);
        FUZZ_CHECK(request.extra, "no memory");
        *request.extra =
            (shoal__extra_t){.sink = &sink, .sink_data = number, .owners = 1};
    }
    shoal__pipe_push(&scene.pipe, &request);
}

static void submit_all(fuzz_input_t *in)
{
    static unsigned numbers[COMMANDS_MAX];
    uint32_t sinks = (uint32_t)fuzz_number(in, 3);
    uint8_t given_up = fuzz_byte(in);

    for (unsigned i = 0; i < scene.commands; i++) {
        numbers[i] = i;
        submit(&numbers[i], sinks >> i & 1);
    }
    hand_over();
    scene.given_up = COMMANDS_MAX;
    if (given_up < scene.commands) {
        scene.given_up = given_up;
        FUZZ_CHECK(shoal__pipe_cancel(&scene.pipe, given_up + 1u, 1), "not found");
    }
}

/* Feed the wire in pieces of up to `piece_bytes`, and check what was heard. */
static void feed_wire(size_t piece_bytes)
{
    size_t at = 0;
    int rc = 0;

    while (at < scene.wire.size && rc == 0) {
        size_t left = scene.wire.size - at;
        size_t bytes = left < piece_bytes ? left : piece_bytes;

        rc = feed(scene.wire.data + at, bytes);
        at += bytes;
    }
    if (scene.delivered == scene.given_up)
        scene.delivered++;
    FUZZ_CHECK(rc == (scene.is_wrong ? SHOAL_EDESYNC : 0), "%d: %s", rc,
               scene.pipe.detail);
    FUZZ_CHECK(
        scene.delivered == scene.answered ||
            (scene.answered == scene.given_up && scene.delivered == scene.answered + 1),
        "%u of %u replies", scene.delivered, scene.answered);
    FUZZ_CHECK(shoal__counter_get(&scene.pipe.stats.pushes) == scene.pushes,
               "%u pushes", scene.pushes);
    FUZZ_CHECK(scene.heard == scene.pushes, "%u pushes heard", scene.heard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t in = {data, data + bytes};
    shoal__random_t random;
    shoal__pipe_shared_t shared;

    memory_meter_on();
    scene = (scene_t){
        .config = {
            .flush = {.mode = SHOAL_FLUSH_OFF,
                      .bytes_max = 1 << 20,
                      .commands_max = 1000},
            .reply = {.bytes_max = 1 << 20, .elements_max = 1 << 16, .depth_max = 16},
            .greeting = {.protocol = 3},
            .inflight_max = 1000,
            .stall_us = 1000000,
            .attempts_max = 1,
            .queue_offline = true,
        }};
    shoal__random_init(&random, 1);
    static const shoal__target_t target = {.name = "server"};
    shoal__pipe_shared_init(&shared, NULL, &random);
    const shoal__pipe_parts_t parts = {&scene.config, &target, &shared};
    FUZZ_CHECK(shoal__pipe_init(&scene.pipe, &parts, &hooks, &scene) == 0, "init");
    scene.is_resp3 = fuzz_byte(&in) % 8 != 0;
    scene.commands = 1 + fuzz_byte(&in) % COMMANDS_MAX;
    size_t piece_bytes = fuzz_byte(&in);
    greet();
    submit_all(&in);
    write_wire(&in);
    feed_wire(piece_bytes ? piece_bytes : SIZE_MAX);
    scene.is_ending = true;
    shoal__pipe_abandon(&scene.pipe, 1);
    shoal__pipe_release(&scene.pipe);
    shoal__pipe_shared_release(&shared);
    fake_bytes_release(&scene.wire);
    memory_meter_off();
    return 0;
}
