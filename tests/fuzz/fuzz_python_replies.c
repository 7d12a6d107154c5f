/* SPDX-License-Identifier: MIT */

/* Replies of any bytes, through the decoder into pickle streams: whole trees, and piece by
 * piece with the results of other commands between.  The streams are read strictly, and
 * their values are those of the trees.
 *
 * The input's first bytes are the reply flags, and two that choose the pieces and what
 * comes between them; the rest is RESP. */

#include "core/result.h"
#include "fuzz_input.h"
#include "python/pickle_reader.h"
#include "python/reply_text.h"
#include "resp/decoder.h"
#include "results.h"
#include <shoal/errors.h>

#define OTHER_TICKET 1000000

static const shoal__decoder_limits_t limits = {
    .bytes_max = 1 << 20, .elements_max = 1 << 16, .depth_max = 1024};

typedef struct run {
    const char *wire;
    size_t bytes;
    unsigned flags;
    uint32_t dice;
    shoalpy_results_t results;
    uint64_t replied, others; /* replies, and failures of other commands, so far */
    pickle_text_t expected; /* a line for each reply, and one for the command cut off */
} run_t;

static uint32_t roll(run_t *run, uint32_t sides)
{
    run->dice = run->dice * 1103515245u + 12345u;
    return (run->dice >> 16) % sides;
}

/* The stream, which has ended, must be read as this value. */
static void check_value(const shoalpy_stream_t *stream, const char *expected)
{
    pickle_text_t text = {0};
    size_t offset = 0;
    const char *problem = pickle_read(stream->data, stream->bytes, &text, &offset);

    FUZZ_CHECK(!problem, "%s at %zu; it should be %s", problem, offset, expected);
    FUZZ_CHECK(strcmp(text.data, expected) == 0, "%s is not %s", text.data, expected);
    pickle_text_release(&text);
}

/* ---- trees ---- */

static shoal__decoder_target_t on_begin_tree(void *owner, shoal_reply_type_t type)
{
    (void)owner;
    (void)type;
    return (shoal__decoder_target_t){0};
}

static bool on_tree(void *owner, const shoal_reply_t *reply, bool is_push)
{
    const run_t *run = owner;
    shoalpy_stream_t stream = {0};
    shoalpy_writer_t writer = {0};
    pickle_text_t expected = {0};
    bool wants_help = reply_text(reply, run->flags, &expected);

    (void)is_push;
    shoalpy_stream_begin(&stream);
    bool needs_help = shoalpy_reply_write(&writer, reply, run->flags, &stream);
    FUZZ_CHECK(needs_help == wants_help, "help %d for %s", needs_help, expected.data);
    FUZZ_CHECK(shoalpy_stream_end(&stream), "no memory");
    check_value(&stream, expected.data);
    pickle_text_release(&expected);
    shoalpy_stream_release(&stream);
    shoalpy_writer_release(&writer);
    return true;
}

static void check_trees(run_t *run)
{
    static const shoal__decoder_hooks_t hooks = {on_begin_tree, on_tree};
    shoal__decoder_t *decoder = NULL;

    FUZZ_CHECK(shoal__decoder_new(&decoder, &limits, &hooks, run) == 0, "no memory");
    (void)shoal__decoder_feed(decoder, run->wire, run->bytes);
    shoal__decoder_free(decoder);
}

/* ---- pieces ---- */

static void expect(run_t *run, uint64_t number, const char *format, const char *text)
{
    pickle_text_print(&run->expected, "%llu=", (unsigned long long)number);
    for (const char *at = format; *at; at++)
        if (*at == '%')
            pickle_text_add(&run->expected, text, strlen(text));
        else
            pickle_text_add(&run->expected, at, 1);
    pickle_text_add(&run->expected, "\n", 1);
}

/* Decodes whole trees, and writes the lines that the pieces must give. */
static bool on_expected(void *owner, const shoal_reply_t *reply, bool is_push)
{
    run_t *run = owner;
    pickle_text_t text = {0};

    if (is_push)
        return true;
    bool wants_help = reply_text(reply, run->flags, &text);
    if (shoal_reply_type(reply) == SHOAL_REPLY_ERROR) {
        size_t bytes;
        const char *data = shoal_reply_string(reply, &bytes);
        pickle_text_release(&text);
        pickle_text_quote(&text, "b", data, bytes, false);
        expect(run, run->replied, "(2, %)", text.data);
    } else {
        expect(run, run->replied, wants_help ? "(1, %)" : "%", text.data);
    }
    run->replied++;
    pickle_text_release(&text);
    return true;
}

static shoal__decoder_target_t on_begin_piece(void *owner, shoal_reply_type_t type)
{
    run_t *run = owner;

    (void)type;
    /* Such a command does not use the sink of the others. */
    if (run->flags & SHOALPY_INTO)
        return (shoal__decoder_target_t){0};
    return (shoal__decoder_target_t){.sink = &shoalpy_results_sink,
                                     .sink_data = &run->results.ways[run->flags]};
}

static bool on_whole(void *owner, const shoal_reply_t *reply, bool is_push)
{
    run_t *run = owner;

    if (!is_push) {
        const shoal_result_t result = {
            .reply = reply, .detail = "", .ticket = run->replied++};
        shoalpy_results_add(&run->results, &result, run->flags);
    }
    return true;
}

static void fail_command(run_t *run, uint64_t ticket)
{
    const shoal_result_t result = {.status = SHOAL_ETIMEOUT,
                                   .fate = SHOAL_FATE_UNKNOWN,
                                   .detail = "late",
                                   .attempts = 1,
                                   .ticket = ticket};

    shoalpy_results_add(&run->results, &result, run->flags);
}

/* Take apart [number, what, ...]: each reply becomes a line with its number.  `what` is
 * one reply, or a list of replies with numbers that follow each other. */
static void take_apart(pickle_text_t *lines, const char *text)
{
    const char *at = text + 1; /* after the bracket */

    while (*at != ']') {
        char *end;
        unsigned long long number = strtoull(at, &end, 10);
        at = end + 2;
        bool is_run = *at == '[';
        at += is_run;
        while (*at != ']' || !is_run) {
            size_t bytes = reply_text_item(at);
            pickle_text_print(lines, "%llu=", number++);
            pickle_text_add(lines, at, bytes);
            pickle_text_add(lines, "\n", 1);
            at += bytes;
            if (!is_run)
                break;
            at += *at == ',' ? 2 : 0;
        }
        at += is_run;
        at += *at == ',' ? 2 : 0;
    }
}

/* End the stream of results, and append them as lines. */
static void end_results(run_t *run, pickle_text_t *lines)
{
    pickle_text_t text = {0};
    size_t offset = 0;
    int64_t bytes = shoalpy_results_end(&run->results);

    if (bytes == 0)
        return;
    FUZZ_CHECK(bytes == (int64_t)run->results.stream.bytes, "%lld", (long long)bytes);
    const char *problem =
        pickle_read(run->results.stream.data, (size_t)bytes, &text, &offset);
    FUZZ_CHECK(!problem, "%s at %zu", problem, offset);
    take_apart(lines, text.data);
    pickle_text_release(&text);
}

/* Between two pieces another command may fail, or the stream may end. */
static void come_between(run_t *run, pickle_text_t *lines)
{
    uint32_t what = roll(run, 6);

    if (what == 0)
        fail_command(run, OTHER_TICKET + run->others++);
    else if (what == 1)
        end_results(run, lines);
}

static void feed_pieces(run_t *run, pickle_text_t *lines)
{
    static const shoal__decoder_hooks_t hooks = {on_begin_piece, on_whole};
    uint32_t piece_max = 1 + roll(run, 40);
    shoal__decoder_t *decoder = NULL;
    int rc = 0;

    FUZZ_CHECK(shoal__decoder_new(&decoder, &limits, &hooks, run) == 0, "no memory");
    for (size_t at = 0, bytes; at < run->bytes && rc == 0; at += bytes) {
        bytes = 1 + roll(run, piece_max);
        if (bytes > run->bytes - at)
            bytes = run->bytes - at;
        rc = shoal__decoder_feed(decoder, run->wire + at, bytes);
        come_between(run, lines);
    }
    FUZZ_CHECK(shoal__decoder_reset(decoder) == 0, "no memory");
    fail_command(run, run->replied);
    end_results(run, lines);
    shoal__decoder_free(decoder);
}

/* Remove the lines of other commands' failures, which may be anywhere, and count
 * them. */
static uint64_t remove_others(pickle_text_t *lines)
{
    static const char others[] = "=(3, -";
    uint64_t count = 0;
    pickle_text_t left = {0};

    pickle_text_add(&left, "", 0);
    pickle_text_add(lines, "", 0);
    for (const char *at = lines->data; *at;) {
        const char *end = strchr(at, '\n') + 1;
        bool is_other = strtoull(at, NULL, 10) >= OTHER_TICKET;
        count += is_other;
        FUZZ_CHECK(!is_other || strncmp(strchr(at, '='), others, 6) == 0, "%s", at);
        if (!is_other)
            pickle_text_add(&left, at, (size_t)(end - at));
        at = end;
    }
    pickle_text_release(lines);
    *lines = left;
    return count;
}

static void check_pieces(run_t *run)
{
    static const shoal__decoder_hooks_t hooks = {on_begin_tree, on_expected};
    shoal__decoder_t *decoder = NULL;
    pickle_text_t lines = {0};
    char failure[64];

    FUZZ_CHECK(shoal__decoder_new(&decoder, &limits, &hooks, run) == 0, "no memory");
    (void)shoal__decoder_feed(decoder, run->wire, run->bytes);
    shoal__decoder_free(decoder);
    snprintf(failure, sizeof failure, "(3, %d, 2, b'late', 1, 0)", SHOAL_ETIMEOUT);
    expect(run, run->replied, "%", failure);

    run->replied = 0;
    shoalpy_results_init(&run->results, false);
    feed_pieces(run, &lines);
    FUZZ_CHECK(remove_others(&lines) == run->others, "others are lost");
    FUZZ_CHECK(strcmp(lines.data, run->expected.data) == 0, "\n%sexpected\n%s",
               lines.data, run->expected.data);
    shoalpy_results_release(&run->results);
    pickle_text_release(&lines);
    pickle_text_release(&run->expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t in = {data, data + bytes};
    run_t run = {.flags = fuzz_byte(&in) % SHOALPY_REPLY_FLAGS,
                 .dice = (uint32_t)fuzz_number(&in, 2)};

    run.wire = (const char *)in.at;
    run.bytes = fuzz_left(&in);
    check_trees(&run);
    check_pieces(&run);
    return 0;
}
