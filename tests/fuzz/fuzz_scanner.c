/* SPDX-License-Identifier: MIT */

/*
 * Streams of replies, right and wrong: the frames that the scanner finds are those that
 * the decoder takes, wherever the stream is split and whatever is dropped from its
 * front; where the decoder finds no fault the scanner finds none.
 *
 * The input is one of fuzz_decoder.c.
 */

#include "decoder_runs.h"
#include "fuzz_input.h"
#include "resp/scanner.h"
#include <shoal/errors.h>

#define FRAMES_MAX 4096

/* Where the frames of a stream end, in bytes from its beginning. */
typedef struct frames {
    size_t ends[FRAMES_MAX];
    size_t count;
    bool is_broken;
} frames_t;

static void add_frame(frames_t *frames, size_t end)
{
    FUZZ_CHECK(frames->count < FRAMES_MAX, "more frames than the input is long");
    frames->ends[frames->count++] = end;
}

/* ---- the decoder ---- */

static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type)
{
    (void)owner;
    (void)type;
    return (shoal__decoder_target_t){.discard = true};
}

static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    (void)reply;
    (void)is_push;
    ++*(size_t *)owner;
    return true;
}

/* Feed the decoder byte by byte: a frame ends where it delivers one more.  The decoder
 * does not deliver attributes, so the reference says where they end. */
static void decode(frames_t *ret_frames, const decoder_input_t *input)
{
    static const shoal__decoder_hooks_t hooks = {on_begin, on_reply};
    shoal__decoder_t *decoder;
    size_t replies = 0, attribute_end = 0;

    FUZZ_CHECK(shoal__decoder_new(&decoder, input->limits, &hooks, &replies) == 0,
               "no memory");
    for (size_t at = 0; at < input->bytes && !ret_frames->is_broken; at++) {
        size_t before = replies;
        bool is_begin = ret_frames->count == 0
                            ? at == 0
                            : at == ret_frames->ends[ret_frames->count - 1];

        if (is_begin)
            attribute_end =
                at + reference_attribute_bytes(input->limits, input->wire + at,
                                               input->bytes - at);
        ret_frames->is_broken = shoal__decoder_feed(decoder, input->wire + at, 1) < 0;
        if (replies > before || at + 1 == attribute_end)
            add_frame(ret_frames, at + 1);
    }
    shoal__decoder_free(decoder);
}

/* ---- the scanner ---- */

typedef struct scan {
    shoal__scanner_t scanner;
    const decoder_input_t *input;
    frames_t *frames;
    size_t dropped; /* how many bytes of the stream were dropped from its front */
} scan_t;

/* The first `bytes` bytes of the stream have come: take the frames in them. */
static void scan_to(scan_t *scan, size_t bytes)
{
    const shoal__scanner_t *scanner = &scan->scanner;
    size_t there = bytes - scan->dropped;
    /* Exactly as large as the bytes, so that a sanitizer reports each read beyond
     * them. */
    char *piece = malloc(there > 0 ? there : 1);
    shoal__scan_t found;

    FUZZ_CHECK(piece, "no memory");
    memcpy(piece, scan->input->wire + scan->dropped, there);
    while ((found = shoal__scanner_next(&scan->scanner, piece, there)) ==
           SHOAL__SCAN_FRAME) {
        size_t count = scan->frames->count;
        size_t begin = count > 0 ? scan->frames->ends[count - 1] : 0;

        FUZZ_CHECK(scan->dropped + scanner->begin == begin && scanner->end <= there &&
                       scanner->type == scan->input->wire[begin],
                   "frame %zu begins at %zu", count, scan->dropped + scanner->begin);
        add_frame(scan->frames, scan->dropped + scanner->end);
    }
    scan->frames->is_broken = found != SHOAL__SCAN_MORE;
    free(piece);
}

/* Drop the bytes of the frames that were found. */
static void drop(scan_t *scan)
{
    size_t count = scan->frames->count;
    size_t bytes = count > 0 ? scan->frames->ends[count - 1] - scan->dropped : 0;

    shoal__scanner_drop(&scan->scanner, bytes);
    scan->dropped += bytes;
}

static void scan_split(frames_t *ret_frames, const decoder_input_t *input)
{
    scan_t scan = {.input = input, .frames = ret_frames};
    uint32_t splits = input->splits;

    shoal__scanner_init(&scan.scanner, input->limits->bytes_max);
    for (size_t at = 0; at < input->bytes && !ret_frames->is_broken;) {
        size_t left = input->bytes - at, bytes = decoder_next_piece(&splits);

        at += bytes < left ? bytes : left;
        scan_to(&scan, at);
        if (splits & 0x400 && !ret_frames->is_broken)
            drop(&scan);
    }
}

static void scan_whole(frames_t *ret_frames, const decoder_input_t *input)
{
    scan_t scan = {.input = input, .frames = ret_frames};

    shoal__scanner_init(&scan.scanner, input->limits->bytes_max);
    scan_to(&scan, input->bytes);
}

/* ---- both ---- */

static void check_frames(const frames_t *scanned, const frames_t *decoded)
{
    for (size_t i = 0; i < decoded->count; i++)
        FUZZ_CHECK(i < scanned->count && scanned->ends[i] == decoded->ends[i],
                   "frame %zu ends at %zu", i, decoded->ends[i]);
    if (!decoded->is_broken)
        FUZZ_CHECK(!scanned->is_broken && scanned->count == decoded->count,
                   "%zu frames, not %zu", scanned->count, decoded->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static frames_t decoded, whole, split;
    decoder_input_t input;

    if (!decoder_input_read(&input, data, bytes) || input.bytes > FRAMES_MAX)
        return 0;
    if (input.limits->bytes_max == UINT64_MAX) /* the scanner's bound is lower */
        input.limits = &decoder_limits[0];
    decoded.count = whole.count = split.count = 0;
    decoded.is_broken = whole.is_broken = split.is_broken = false;
    decode(&decoded, &input);
    scan_whole(&whole, &input);
    scan_split(&split, &input);
    check_frames(&whole, &decoded);
    check_frames(&split, &decoded);
    FUZZ_CHECK(whole.count == split.count && whole.is_broken == split.is_broken,
               "%zu frames, and %zu if split", whole.count, split.count);
    return 0;
}
