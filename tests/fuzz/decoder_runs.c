/* SPDX-License-Identifier: MIT */
#include "decoder_runs.h"

#include "fuzz_input.h"
#include "memory_meter.h"
#include "resp/reply.h"
#include <shoal/errors.h>

#define DEPTH_MAX 1000
#define KEPT_MAX 8

const shoal__decoder_limits_t decoder_limits[DECODER_LIMITS] = {
    {.bytes_max = 1 << 29, .elements_max = 1 << 24, .depth_max = DEPTH_MAX},
    {.bytes_max = 1024, .elements_max = 64, .depth_max = 8},
    {.bytes_max = 4096, .elements_max = 1000, .depth_max = 1},
    {.bytes_max = UINT64_MAX, .elements_max = INT32_MAX, .depth_max = 64},
};

/* A reply that is kept beyond its callback, and its place in the transcript. */
typedef struct kept {
    const shoal_reply_t *reply;
    size_t begin, end; /* bytes of the transcript */
} kept_t;

typedef struct run {
    transcript_t *transcript;
    decoder_way_t way;
    size_t line; /* where the present line begins */
    size_t left
        [DEPTH_MAX]; /* how many children are still to come, in each open aggregate */
    size_t depth;
    shoal_reply_type_t type; /* what on_begin announced */
    uint64_t string_left;    /* how many bytes of a large string are still to come */
    bool is_void;            /* on_reset told the sink to forget a part of a reply */
    kept_t kept[KEPT_MAX];
    size_t kept_count;
} run_t;

bool decoder_input_read(decoder_input_t *ret_input, const uint8_t *data, size_t bytes)
{
    if (bytes < DECODER_HEADER_BYTES)
        return false;
    *ret_input = (decoder_input_t){.limits = &decoder_limits[data[0] % DECODER_LIMITS],
                                   .splits = (uint32_t)data[1] << 16 |
                                             (uint32_t)data[2] << 8 | data[3],
                                   .wire = (const char *)data + DECODER_HEADER_BYTES,
                                   .bytes = bytes - DECODER_HEADER_BYTES};
    return true;
}

/* ---- a sink ---- */

static void count_child(run_t *run)
{
    if (run->depth == 0)
        return;
    FUZZ_CHECK(run->left[run->depth - 1] > 0, "more children than announced");
    run->left[run->depth - 1]--;
}

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    static const char signs[] = "_+-:$*,#%~>(=";
    run_t *run = data;
    shoal_reply_type_t type = shoal_reply_type(leaf);
    size_t bytes = 0;
    const char *text = shoal_reply_string(leaf, &bytes);

    count_child(run);
    if (type == SHOAL_REPLY_NIL) {
        transcript_print(run->transcript, " _");
    } else if (type == SHOAL_REPLY_DOUBLE) {
        transcript_double(run->transcript, text, bytes, shoal_reply_double(leaf));
    } else if (type == SHOAL_REPLY_VERBATIM) {
        /* The reference quotes the bytes of the wire, where the format precedes the
         * text. */
        char *whole = malloc(bytes + 4);
        FUZZ_CHECK(whole, "no memory");
        memcpy(whole, shoal_reply_verbatim_format(leaf), 3);
        whole[3] = ':';
        memcpy(whole + 4, text, bytes);
        transcript_quote(run->transcript, '=', whole, bytes + 4);
        free(whole);
    } else if (text) {
        transcript_quote(run->transcript, signs[type], text, bytes);
    } else {
        transcript_print(run->transcript, " %c%lld", signs[type],
                         (long long)shoal_reply_integer(leaf));
    }
}

static void on_begin_aggregate(shoal_reply_type_t type, size_t count, void *data)
{
    static const char signs[] = "     *  %~>  ";
    run_t *run = data;

    count_child(run);
    FUZZ_CHECK(run->depth < DEPTH_MAX, "deeper than allowed");
    FUZZ_CHECK(run->depth > 0 || run->way != DECODER_SINK || type == run->type ||
                   type == SHOAL_REPLY_PUSH,
               "another type");
    run->left[run->depth++] = count;
    transcript_print(run->transcript, " %c%zu", signs[type], count);
}

static void on_end(void *data)
{
    run_t *run = data;

    FUZZ_CHECK(run->depth > 0 && run->left[run->depth - 1] == 0,
               "an end before the last child");
    run->depth--;
}

static void on_reset(void *data)
{
    run_t *run = data;

    FUZZ_CHECK(run->transcript->bytes > run->line, "a reset of nothing");
    transcript_cut(run->transcript, run->line);
    run->is_void = true;
}

static const shoal_sink_t sink = {on_leaf, on_begin_aggregate, on_end, on_reset};

/* ---- a chunk sink ---- */

static void on_string(uint64_t bytes, void *data)
{
    run_t *run = data;

    FUZZ_CHECK(bytes > SHOAL_LARGE_STRING_BYTES, "not large");
    run->string_left = bytes;
    transcript_quote(run->transcript, '$', "", 0);
    transcript_cut(run->transcript, run->transcript->bytes - 1); /* the closing quote */
}

static void on_chunk(const char *chunk, size_t bytes, void *data)
{
    run_t *run = data;

    FUZZ_CHECK(bytes > 0 && bytes <= run->string_left, "more than announced");
    run->string_left -= bytes;
    transcript_quote_more(run->transcript, chunk, bytes);
}

static void on_string_end(void *data)
{
    run_t *run = data;

    FUZZ_CHECK(run->string_left == 0, "less than announced");
    transcript_print(run->transcript, "\"");
}

static const shoal_chunk_sink_t chunk_sink = {on_string, on_chunk, on_string_end,
                                              on_reset};

/* ---- the owner ---- */

static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type)
{
    run_t *run = owner;

    run->type = type;
    run->line = run->transcript->bytes;
    return (shoal__decoder_target_t){.sink = run->way == DECODER_SINK ? &sink : NULL,
                                     .chunks = run->way == DECODER_CHUNKS ? &chunk_sink
                                                                          : NULL,
                                     .sink_data = run,
                                     .discard = run->way == DECODER_NOWHERE};
}

static void keep(run_t *run, const shoal_reply_t *reply, size_t begin)
{
    if (run->kept_count == KEPT_MAX)
        return;
    kept_t *kept = &run->kept[run->kept_count++];
    *kept = (kept_t){shoal_reply_retain(reply), begin, run->transcript->bytes};
    FUZZ_CHECK(kept->reply, "no memory");
}

static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    run_t *run = owner;
    transcript_t *transcript = run->transcript;

    if (run->way == DECODER_NOWHERE && !is_push) {
        transcript_print(transcript, "reply nowhere\n");
        run->line = transcript->bytes;
        return true;
    }
    if (!reply) { /* the sink wrote the line, but not its first word */
        static const char word[] = "reply";
        FUZZ_CHECK(run->way != DECODER_TREE && run->depth == 0, "no reply");
        transcript_print(transcript, "%s", word);
        memmove(transcript->text + run->line + strlen(word),
                transcript->text + run->line,
                transcript->bytes - run->line - strlen(word));
        memcpy(transcript->text + run->line, word, strlen(word));
    } else {
        shoal_reply_type_t announced = is_push ? SHOAL_REPLY_PUSH : run->type;
        FUZZ_CHECK(shoal_reply_type(reply) == announced, "another type");
        transcript_print(transcript, is_push ? "push" : "reply");
        size_t begin = transcript->bytes;
        shoal__reply_to_sink(reply, &sink, run);
        FUZZ_CHECK(run->depth == 0, "no end");
        keep(run, reply, begin);
    }
    transcript_print(transcript, "\n");
    run->line = transcript->bytes;
    return true;
}

/* ---- runs ---- */

static void check_kept(run_t *run)
{
    for (size_t i = 0; i < run->kept_count; i++) {
        const kept_t *kept = &run->kept[i];
        size_t begin = run->transcript->bytes;

        shoal__reply_to_sink(kept->reply, &sink, run);
        FUZZ_CHECK(run->transcript->bytes - begin == kept->end - kept->begin &&
                       memcmp(run->transcript->text + begin,
                              run->transcript->text + kept->begin,
                              kept->end - kept->begin) == 0,
                   "a kept reply has changed");
        transcript_cut(run->transcript, begin);
        shoal_reply_release(kept->reply);
    }
}

size_t decoder_next_piece(uint32_t *splits)
{
    uint32_t bound = 1 + (*splits & 0xff);

    if (bound > 192)
        bound *= 40;
    *splits = (*splits & 0xff) | ((*splits >> 8) * 1103515245u + 12345u) << 8;
    return 1 + (*splits >> 12) % bound;
}

static int feed(shoal__decoder_t *decoder, const decoder_input_t *input, bool is_split)
{
    uint32_t splits = input->splits;
    int rc = 0;

    for (size_t at = 0; at < input->bytes;) {
        size_t left = input->bytes - at;
        size_t bytes = is_split ? decoder_next_piece(&splits) : left;
        bytes = bytes < left ? bytes : left;
        char *piece = malloc(bytes);

        FUZZ_CHECK(piece, "no memory");
        memcpy(piece, input->wire + at, bytes);
        int before = rc;
        rc = shoal__decoder_feed(decoder, piece, bytes);
        FUZZ_CHECK(before == 0 || rc == before, "an error is not final");
        free(piece);
        at += bytes;
    }
    return rc;
}

void decoder_run(transcript_t *transcript, const decoder_input_t *input,
                 decoder_way_t way, bool is_split)
{
    static const shoal__decoder_hooks_t hooks = {on_begin, on_reply};
    static run_t run;
    shoal__decoder_t *decoder = NULL;

    run = (run_t){.transcript = transcript, .way = way};
    memory_meter_on();
    FUZZ_CHECK(shoal__decoder_new(&decoder, input->limits, &hooks, &run) == 0, "new");
    int rc = feed(decoder, input, is_split);
    FUZZ_CHECK(rc == 0 || rc == SHOAL_EDESYNC, "error %d", rc);
    FUZZ_CHECK((rc < 0) == (*shoal__decoder_error(decoder) != '\0'), "no words");
    bool is_mid_reply = shoal__decoder_is_mid_reply(decoder);
    bool is_in_sink = transcript->bytes > run.line;

    run.depth = 0;
    FUZZ_CHECK(shoal__decoder_reset(decoder) == 0, "reset");
    FUZZ_CHECK(run.is_void == is_in_sink, "a sink is not told of the cut");
    check_kept(&run);
    transcript_end(transcript, rc < 0, is_mid_reply);
    shoal__decoder_free(decoder);
    FUZZ_CHECK(memory_meter.live_bytes_max <= 16 * input->bytes + (1 << 20),
               "%zu bytes for %zu", memory_meter.live_bytes_max, input->bytes);
    memory_meter_off();
}
