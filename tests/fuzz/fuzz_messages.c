/* SPDX-License-Identifier: MIT */

/*
 * A subscriber reads messages where they stand, and everything else by the decoder.  Whatever a
 * server sends, and however it is split: the pushes are those that the decoder alone finds.
 *
 * Each byte of the input adds a fragment of what servers send, whole, cut or wrong, or ends a
 * read.
 */

#include "base/random.h"
#include "core/pipe/pipe.h"
#include "fuzz_input.h"
#include <stdio.h>
#include <string.h>

#define WIRE_BYTES_MAX 16384
#define READS_MAX 256
#define BYTES_MAX 2000 /* of one message */

static const char *const fragments[] = {
    ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$5\r\nhello\r\n",
    ">4\r\n$8\r\npmessage\r\n$2\r\nx*\r\n$2\r\nxy\r\n$3\r\n\r\n\n\r\n",
    ">3\r\n$8\r\nsmessage\r\n$0\r\n\r\n$0\r\n\r\n",
    ">3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n",
    ">3\r\n$11\r\nunsubscribe\r\n_\r\n:0\r\n",
    ">3\r\n+message\r\n$1\r\nx\r\n+y\r\n",
    ">3\r\n$7\r\nmessage\r\n",
    ">4\r\n$8\r\npmessage\r\n",
    "$1\r\nx\r\n",
    "$3\r\n\r\n$\r\n",
    "$-1\r\n",
    "$02\r\nab\r\n",
    "$3000\r\n",
    "$1",
    "0",
    "\r",
    "\n",
    ":7\r\n",
    ">1\r\n",
    "|1\r\n+a\r\n+b\r\n",
    "*2\r\n",
    "#t\r\n",
    ">0\r\n",
    "$64\r\n0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\r\n",
    "$1\r\nx\rY",
};

#define FRAGMENTS (sizeof fragments / sizeof *fragments)

/* What came, as numbers: each push, or that nothing more can come. */
typedef struct story {
    uint64_t pushes[WIRE_BYTES_MAX];
    size_t count;
} story_t;

static uint64_t add_bytes(uint64_t number, shoal__bytes_t bytes)
{
    number = (number ^ bytes.bytes) * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < bytes.bytes; i++)
        number = (number ^ (unsigned char)bytes.data[i]) * UINT64_C(0x100000001B3);
    return number + (bytes.data == NULL);
}

static void tell(story_t *story, const shoal__push_t *push)
{
    uint64_t number = (uint64_t)push->kind * 8 + (uint64_t)push->name_kind;

    number = add_bytes(number, push->name);
    number = add_bytes(number, push->channel);
    story->pushes[story->count++] = add_bytes(number, push->payload);
}

/* ---- the decoder alone ---- */

static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type)
{
    (void)owner, (void)type;
    return (shoal__decoder_target_t){0};
}

/* No command waits for a reply: the first one is the end. */
static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    shoal__push_t push;

    if (!is_push)
        return false;
    shoal__push_read(reply, &push);
    tell(owner, &push);
    return true;
}

static const shoal__decoder_limits_t limits = {
    .bytes_max = BYTES_MAX, .elements_max = 64, .depth_max = 8};

static void decode(story_t *story, const char *wire, size_t bytes)
{
    static const shoal__decoder_hooks_t hooks = {on_begin, on_reply};
    shoal__decoder_t *decoder;

    FUZZ_CHECK(shoal__decoder_new(&decoder, &limits, &hooks, story) == 0, "no memory");
    (void)shoal__decoder_feed(decoder, wire, bytes);
    shoal__decoder_free(decoder);
}

/* ---- a subscriber ---- */

static void no_entropy(void *memory, size_t bytes)
{
    memset(memory, 7, bytes);
}

static void on_message(void *owner, const shoal__push_t *push)
{
    tell(owner, push);
}

static void listen_to(story_t *story, const char *wire, const size_t *reads,
                      size_t count)
{
    static const shoal__pipe_hooks_t hooks = {.on_message = on_message};
    const shoal__pipe_config_t config = {
        .flush = {.mode = SHOAL_FLUSH_OFF, .bytes_max = 65536, .commands_max = 64},
        .reply = limits,
        .greeting = {.protocol = 3},
        .inflight_max = 64,
        .stall_us = 1000000,
        .attempts_max = 1,
        .is_subscriber = true};
    shoal__secret_t secret = {0};
    const shoal__target_t target = {.name = "server", .secret = &secret};
    shoal__pipe_shared_t shared;
    shoal__pipe_t pipe;
    uint64_t wake_us;

    shoal__pipe_shared_init(&shared, no_entropy, NULL);
    const shoal__pipe_parts_t parts = {&config, &target, &shared};
    FUZZ_CHECK(shoal__pipe_init(&pipe, &parts, &hooks, story) == 0, "no memory");
    FUZZ_CHECK(shoal__pipe_begin(&pipe, SHOAL__GREETING_BARE, 1) == 0, "no greeting");
    shoal__bytes_t greeting = shoal__pipe_output(&pipe, 1, &wake_us);
    shoal__pipe_written(&pipe, greeting.bytes, 1);
    if (pipe.phase == SHOAL__PIPE_GREETING)
        FUZZ_CHECK(shoal__pipe_feed(&pipe, "+PONG\r\n", 7, 1) == 0, "no PONG");
    pipe.is_resp3 = true;
    for (size_t i = 0; i < count && pipe.fault == 0; i++) {
        /* Exactly as large as the bytes: a sanitizer sees each look beyond them. */
        char *piece = malloc(reads[i] ? reads[i] : 1);
        FUZZ_CHECK(piece, "no memory");
        memcpy(piece, wire, reads[i]);
        (void)shoal__pipe_feed(&pipe, piece, reads[i], 1);
        free(piece);
        wire += reads[i];
    }
    shoal__pipe_abandon(&pipe, 1);
    shoal__pipe_release(&pipe);
    shoal__pipe_shared_release(&shared);
}

static void run(const uint8_t *data, size_t size)
{
    static char wire[WIRE_BYTES_MAX];
    static story_t wanted, heard;
    size_t reads[READS_MAX], count = 0, bytes = 0, begin = 0;

    for (size_t i = 0; i < size; i++) {
        unsigned byte = data[i];
        const char *fragment = fragments[byte % FRAGMENTS];
        size_t length = strlen(fragment);
        if (bytes + length > WIRE_BYTES_MAX || count + 2 > READS_MAX)
            break;
        memcpy(wire + bytes, fragment, length);
        bytes += length;
        if (byte >= 200 && bytes - begin > byte % 8) { /* within the fragment */
            reads[count++] = bytes - begin - byte % 8;
            begin += reads[count - 1];
        }
    }
    reads[count++] = bytes - begin;
    wanted.count = heard.count = 0;
    decode(&wanted, wire, bytes);
    listen_to(&heard, wire, reads, count);
    FUZZ_CHECK(wanted.count == heard.count, "%zu pushes, wanted %zu", heard.count,
               wanted.count);
    for (size_t i = 0; i < wanted.count; i++)
        FUZZ_CHECK(wanted.pushes[i] == heard.pushes[i], "push %zu differs", i);
}

#define TURNS 200
#define MORE_MAX 48

/* A fragment, at which a read may end. */
static uint8_t pick(shoal__random_t *random, const uint8_t *from, size_t count)
{
    unsigned byte = from[shoal__random_below(random, count)];

    return (uint8_t)(shoal__random_below(random, 8) == 0 ? byte + 200 : byte);
}

/* Whole pushes, and the beginnings of messages with strings that may be none. */
static size_t invent(shoal__random_t *random, uint8_t more[MORE_MAX])
{
    static const uint8_t whole[] = {0, 1, 2, 3, 4, 5, 22}, begins[] = {6, 7};
    static const uint8_t strings[] = {8, 8, 8, 9, 10, 11, 23, 24};
    size_t size = 0;

    while (size + 5 <= MORE_MAX) {
        unsigned count = 2 + (unsigned)shoal__random_below(random, 2);
        more[size++] = pick(random, whole, sizeof whole);
        more[size++] = pick(random, begins, sizeof begins);
        while (count-- > 0)
            more[size++] = pick(random, strings, sizeof strings);
    }
    return size;
}

/* The corpus is small: each input is also the seed of many. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t more[MORE_MAX];
    shoal__random_t random;

    run(data, size);
    shoal__random_init(&random,
                       add_bytes(0, (shoal__bytes_t){(const char *)data, size}));
    for (unsigned turn = 0; turn < TURNS; turn++)
        run(more, invent(&random, more));
    return 0;
}
