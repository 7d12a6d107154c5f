/* SPDX-License-Identifier: MIT */
#include "resp/decoder.h"

#include "base/alloc.h"
#include "resp/frame.h"
#include "resp/large_string.h"
#include "resp/partial_value.h"
#include "resp/reader_types.h"
#include "resp/string_run.h"
#include <assert.h>
#include <hiredis/read.h>
#include <limits.h>
#include <shoal/errors.h>
#include <string.h>

/* hiredis moves the unread bytes after every KiB that it has consumed, so it gets few
 * bytes at a time. */
#define SLICE_BYTES 4096
/* Memory of the reader beyond this is given back when it is idle. */
#define READER_KEEP_BYTES ((size_t)1024 * 1024)

struct shoal__decoder {
    redisReader *reader;
    shoal__frame_t frame;
    shoal__decoder_limits_t limits;
    uint64_t frame_bytes; /* of the frame under way, consumed by earlier reader calls */
    size_t call_start;    /* reader->pos when the present reader call began */
    shoal__partial_value_t partial; /* the value under way, of which a part is there */
    shoal__large_string_t large;    /* under way past the reader */
    size_t bytes_ahead;             /* of this feed, not given to the reader yet */
    bool was_mid_reply;             /* when the error came */
    int code;                       /* the error; 0: none */
    const char *error;              /* static, or in the reader; "" */
};

/* What object functions return for a top-level frame that was delivered already, and
 * for a leaf below. */
#define DELIVERED(decoder) ((void *)(decoder))
#define TAKEN(decoder) ((void *)&(decoder)->code)

static const char out_of_memory[] = "out of memory";
static const char reply_too_large[] = "a reply has too many bytes";
static const char line_too_long[] = "a line is too long";
static const char no_line_end[] = "a string does not end where it should";
static const char nested_too_deeply[] = "a reply is nested too deeply";
static const char too_many_elements[] = "an aggregate has too many elements";

static bool is_mid_reply(const redisReader *reader)
{
    return reader && reader->ridx >= 0 &&
           shoal__reader_is_reply_type(reader->task[0]->type);
}

/* For object functions: NULL makes the reader stop. */
static void *refuse(shoal__decoder_t *decoder, int code, const char *error)
{
    decoder->code = code;
    decoder->error = error;
    return NULL;
}

static int fail(shoal__decoder_t *decoder, const char *error, bool was_mid_reply)
{
    decoder->was_mid_reply = was_mid_reply;
    refuse(decoder, SHOAL_EDESYNC, error);
    return decoder->code;
}

/* The reader stopped, for a reason of ours or of its own. */
static int fail_with_reader(shoal__decoder_t *decoder, bool was_mid_reply)
{
    const redisReader *reader = decoder->reader;

    decoder->was_mid_reply = was_mid_reply;
    if (decoder->code == 0)
        refuse(decoder, reader->err == REDIS_ERR_OOM ? SHOAL_ENOMEM : SHOAL_EDESYNC,
               reader->errstr);
    return decoder->code;
}

/* How many aggregates end with this value, if it is no aggregate itself. */
static size_t ends_with(const redisReadTask *task)
{
    size_t ends = 0;

    for (const redisReadTask *t = task; t->parent && t->idx == t->parent->elements - 1;
         t = t->parent)
        ends++;
    return ends;
}

static shoal__place_t place_of(const shoal__decoder_t *decoder,
                               const redisReadTask *task)
{
    return (shoal__place_t){.parent = task->parent->obj,
                            .index = (size_t)task->idx,
                            .ends = ends_with(task),
                            .received_bytes = decoder->frame_bytes +
                                              decoder->reader->pos -
                                              decoder->call_start};
}

/* A top-level leaf is delivered at once: it is a view that dies when the reader
 * returns. */
static void *take_leaf(const redisReadTask *task, const shoal_reply_t *leaf,
                       size_t text_bytes)
{
    shoal__decoder_t *decoder = task->privdata;

    if (!task->parent) {
        shoal__frame_only_leaf(&decoder->frame, leaf);
        return DELIVERED(decoder);
    }

    if (decoder->frame.mode == SHOAL__FRAME_SINK) { /* needs no place */
        shoal__frame_leaf_to_sink(&decoder->frame, leaf, ends_with(task));
        return TAKEN(decoder);
    }
    shoal__place_t place = place_of(decoder, task);
    if (!shoal__frame_leaf(&decoder->frame, &place, leaf, text_bytes))
        return refuse(decoder, SHOAL_ENOMEM, out_of_memory);
    return TAKEN(decoder);
}

static void *create_string(const redisReadTask *task, char *text, size_t bytes)
{
    shoal__decoder_t *decoder = task->privdata;
    shoal_reply_t leaf = {.type = (uint8_t)shoal__reader_text_type(task->type)};
    size_t end = (size_t)(text - decoder->reader->buf) + bytes + 2;

    /* The reader has these two bytes, but looks at them in lines only. */
    if (text[bytes] != '\r' || text[bytes + 1] != '\n')
        return refuse(decoder, SHOAL_EDESYNC, no_line_end);
    if (!task->parent &&
        decoder->frame_bytes + (end - decoder->call_start) > decoder->limits.bytes_max)
        return refuse(decoder, SHOAL_EDESYNC, reply_too_large);

    if (task->type == REDIS_REPLY_VERB) { /* "txt:", which the reader has checked */
        memcpy(leaf.verbatim, text, 3);
        text += 4;
        bytes -= 4;
    }
    text[bytes] = '\0'; /* the reader is done with the line's end */
    leaf.as.text.data = bytes > 0 ? text : "";
    leaf.as.text.bytes = bytes;
    return take_leaf(task, &leaf, bytes);
}

static void *create_integer(const redisReadTask *task, long long value)
{
    shoal_reply_t leaf = {.type = SHOAL_REPLY_INTEGER, .as.integer = value};
    return take_leaf(task, &leaf, 0);
}

static void *create_bool(const redisReadTask *task, int value)
{
    shoal_reply_t leaf = {.type = SHOAL_REPLY_BOOL, .as.integer = value != 0};
    return take_leaf(task, &leaf, 0);
}

/* hiredis says char *. NOLINTNEXTLINE(readability-non-const-parameter) */
static void *create_double(const redisReadTask *task, double value, char *text,
                           size_t bytes)
{
    shoal_reply_t leaf = {.type = SHOAL_REPLY_DOUBLE,
                          .as.text = {.data = text, .bytes = bytes, .number = value}};
    return take_leaf(task, &leaf, bytes);
}

static void *create_nil(const redisReadTask *task)
{
    shoal_reply_t leaf = {.type = SHOAL_REPLY_NIL};

    /* RESP2 has null strings and null arrays, RESP3 has one null type.  No other type
     * can be null. */
    if (task->type != REDIS_REPLY_NIL && task->type != REDIS_REPLY_STRING &&
        task->type != REDIS_REPLY_ARRAY)
        return refuse(task->privdata, SHOAL_EDESYNC, "a length is negative");
    return take_leaf(task, &leaf, 0);
}

static void *begin_frame(shoal__decoder_t *decoder, int type, size_t elements)
{
    shoal__frame_kind_t kind = SHOAL__FRAME_REPLY;

    if (type == REDIS_REPLY_PUSH)
        kind = SHOAL__FRAME_PUSH;
    else if (type == REDIS_REPLY_ATTR)
        kind = SHOAL__FRAME_SKIPPED;
    return shoal__frame_begin(&decoder->frame, kind, shoal__reader_aggregate_type(type),
                              elements);
}

/* `elements` are twice the pairs of a map. */
static void *create_array(const redisReadTask *task, size_t elements)
{
    shoal__decoder_t *decoder = task->privdata;
    void *object;

    if (task->parent && !shoal__reader_is_reply_type(task->type))
        return refuse(decoder, SHOAL_EDESYNC, "a push or attribute inside a reply");
    if (decoder->reader->ridx >= decoder->limits.depth_max)
        return refuse(decoder, SHOAL_EDESYNC, nested_too_deeply);
    if (elements > decoder->limits.elements_max || elements > INT_MAX) /* task->idx */
        return refuse(decoder, SHOAL_EDESYNC, too_many_elements);

    if (task->parent) {
        shoal__place_t place = place_of(decoder, task);
        object =
            shoal__frame_aggregate(&decoder->frame, &place,
                                   shoal__reader_aggregate_type(task->type), elements);
    } else {
        object = begin_frame(decoder, task->type, elements);
    }
    return object ? object : refuse(decoder, SHOAL_ENOMEM, out_of_memory);
}

/* The reader's interface takes no const. */
static redisReplyObjectFunctions object_functions = {
    .createString = create_string,
    .createArray = create_array,
    .createInteger = create_integer,
    .createDouble = create_double,
    .createNil = create_nil,
    .createBool = create_bool,
};

static int fail_large(shoal__decoder_t *decoder, int code)
{
    decoder->was_mid_reply = true;
    refuse(decoder, code, code == SHOAL_ENOMEM ? out_of_memory : no_line_end);
    return code;
}

/* The next bytes of the large string under way. */
static int take_large(shoal__decoder_t *decoder, const char *data, size_t bytes,
                      size_t *ret_taken)
{
    switch (shoal__large_string_take(&decoder->large, &decoder->frame, data, bytes,
                                     ret_taken)) {
    case SHOAL__LARGE_MORE:
        break;
    case SHOAL__LARGE_WHOLE:
        decoder->frame_bytes = 0;
        break;
    case SHOAL__LARGE_BROKEN:
        return fail_large(decoder, SHOAL_EDESYNC);
    case SHOAL__LARGE_NO_MEMORY:
        return fail_large(decoder, SHOAL_ENOMEM);
    }
    return 0;
}

/* What the reader holds of the value under way, behind the byte of its type. */
static shoal__bytes_t unread(const redisReader *reader)
{
    return (shoal__bytes_t){.data = reader->buf + reader->pos,
                            .bytes = reader->len - reader->pos};
}

/* A top-level string is under way.  If it is large it goes past the reader, which has
 * read its header and forgets it. */
static int begin_large(shoal__decoder_t *decoder, uint64_t value_bytes)
{
    redisReader *reader = decoder->reader;
    shoal__bytes_t rest = unread(reader);
    const char *text = (const char *)memchr(rest.data, '\n', rest.bytes) + 1;
    size_t header_bytes = (size_t)(text - rest.data), taken;

    value_bytes -= header_bytes + 2;
    if (value_bytes <= SHOAL_LARGE_STRING_BYTES)
        return 0;
    rest.bytes -= header_bytes;
    reader->pos = reader->len;
    reader->ridx = -1;
    decoder->partial = (shoal__partial_value_t){0};
    if (!shoal__large_string_begin(&decoder->large, &decoder->frame, value_bytes,
                                   rest.bytes + decoder->bytes_ahead))
        return fail_large(decoder, SHOAL_ENOMEM);
    return take_large(decoder, text, rest.bytes, &taken);
}

/* The reader wants more bytes.  How many, and does a limit allow them? */
static int check_unfinished(shoal__decoder_t *decoder)
{
    const redisReader *reader = decoder->reader;
    uint64_t bytes_max = decoder->limits.bytes_max;
    uint64_t value_bytes = shoal__partial_value_note(
        &decoder->partial, shoal__reader_partial_kind(reader->task[reader->ridx]->type),
        unread(reader));

    if (value_bytes > bytes_max || decoder->frame_bytes > bytes_max - value_bytes)
        return fail(decoder, reply_too_large, is_mid_reply(reader));
    if (decoder->partial.is_too_long)
        return fail(decoder, line_too_long, is_mid_reply(reader));
    if (reader->ridx == 0 && reader->task[0]->type == REDIS_REPLY_STRING &&
        decoder->partial.missing_bytes > 0)
        return begin_large(decoder, value_bytes);
    return 0;
}

static int finish_aggregate(shoal__decoder_t *decoder, const void *top)
{
    bool is_reply = shoal__reader_is_reply_type(decoder->reader->task[0]->type);

    if (decoder->frame_bytes > decoder->limits.bytes_max)
        return fail(decoder, reply_too_large, is_reply);
    shoal__frame_finish(&decoder->frame, top);
    return 0;
}

/* Strings of an aggregate that go to a sink.  They are taken out of the reader's hands, but
 * for the last one of each aggregate, whose end the reader has to see. */
static void take_strings(shoal__decoder_t *decoder)
{
    redisReader *reader = decoder->reader;
    redisReadTask *task = reader->ridx > 0 ? reader->task[reader->ridx] : NULL;

    if (!task || decoder->frame.mode != SHOAL__FRAME_SINK ||
        (task->type >= 0 && task->type != REDIS_REPLY_STRING))
        return;
    shoal__string_run_t run = {.sink = decoder->frame.target.sink,
                               .sink_data = decoder->frame.target.sink_data,
                               .at = reader->buf + reader->pos,
                               .end = reader->buf + reader->len,
                               .has_type = task->type >= 0};
    size_t count =
        shoal__string_run_give(&run, (size_t)(task->parent->elements - 1 - task->idx));
    if (count == 0)
        return;
    reader->pos = (size_t)(run.at - reader->buf);
    task->idx += (int)count;
    task->type = -1;
}

/* Take every whole frame out of the reader. */
static int drain(shoal__decoder_t *decoder)
{
    redisReader *reader = decoder->reader;

    while (reader->pos < reader->len && !decoder->frame.is_stopped) {
        size_t unread = reader->len - reader->pos;
        void *object;

        decoder->call_start = reader->pos;
        take_strings(decoder);
        if (redisReaderGetReply(reader, &object) != REDIS_OK)
            return fail_with_reader(decoder,
                                    shoal__reader_is_reply_type(reader->task[0]->type));
        decoder->frame_bytes += unread - (reader->len - reader->pos);
        if (!object)
            return check_unfinished(decoder);
        if (object != DELIVERED(decoder) && finish_aggregate(decoder, object) < 0)
            return decoder->code;
        decoder->frame_bytes = 0;
    }
    return 0;
}

/* Decode what a slice completes.  A string or line that is still incomplete is not
 * looked at from its start again. */
static int take_slice(shoal__decoder_t *decoder, size_t slice_bytes)
{
    if (shoal__partial_value_grow(&decoder->partial, unread(decoder->reader),
                                  slice_bytes))
        return drain(decoder);
    return decoder->partial.awaits_line ? check_unfinished(decoder) : 0;
}

static redisReader *new_reader(shoal__decoder_t *decoder)
{
    redisReader *reader = redisReaderCreateWithFunctions(&object_functions);

    if (reader) {
        reader->privdata = decoder;
        reader->maxbuf = READER_KEEP_BYTES;
    }
    return reader;
}

/* After shoal__decoder_rest() there is no reader: make one. */
static bool has_reader(shoal__decoder_t *decoder)
{
    if (!decoder->reader)
        decoder->reader = new_reader(decoder);
    return decoder->reader != NULL;
}

int shoal__decoder_feed(shoal__decoder_t *decoder, const char *data, size_t bytes)
{
    assert(!decoder->frame.is_delivering);
    if (!has_reader(decoder)) {
        refuse(decoder, SHOAL_ENOMEM, out_of_memory);
        return SHOAL_ENOMEM;
    }
    while (bytes > 0 && decoder->code == 0 && !decoder->frame.is_stopped) {
        if (decoder->large.is_open) {
            size_t taken;
            take_large(decoder, data, bytes, &taken);
            data += taken;
            bytes -= taken;
            continue;
        }
        size_t missing_bytes = decoder->partial.missing_bytes;
        size_t wanted = missing_bytes > SLICE_BYTES ? missing_bytes : SLICE_BYTES;
        size_t slice_bytes = bytes < wanted ? bytes : wanted;
        bool was_mid_reply = is_mid_reply(decoder->reader);

        if (redisReaderFeed(decoder->reader, data, slice_bytes) != REDIS_OK)
            return fail_with_reader(decoder, was_mid_reply);
        data += slice_bytes;
        bytes -= slice_bytes;
        decoder->bytes_ahead = bytes;
        int rc = take_slice(decoder, slice_bytes);
        if (rc < 0)
            return rc;
    }
    return decoder->code;
}

char *shoal__decoder_room(shoal__decoder_t *decoder, size_t *ret_bytes)
{
    return decoder->code == 0
               ? shoal__large_string_room(&decoder->large, &decoder->frame, ret_bytes)
               : NULL;
}

int shoal__decoder_new(shoal__decoder_t **ret_decoder,
                       const shoal__decoder_limits_t *limits,
                       const shoal__decoder_hooks_t *hooks, void *owner)
{
    shoal__decoder_t *decoder = shoal__calloc(1, sizeof *decoder);
    if (!decoder)
        return SHOAL_ENOMEM;

    decoder->limits = *limits;
    decoder->error = "";
    int rc = shoal__frame_init(&decoder->frame, hooks, owner);
    if (rc < 0)
        goto fail;
    rc = SHOAL_ENOMEM;
    decoder->reader = new_reader(decoder);
    if (!decoder->reader)
        goto fail;
    *ret_decoder = decoder;
    return 0;

fail:
    shoal__decoder_free(decoder);
    return rc;
}

void shoal__decoder_set_owner(shoal__decoder_t *decoder, void *owner)
{
    decoder->frame.owner = owner;
}

/* Accepts a half-built decoder as well. */
void shoal__decoder_free(shoal__decoder_t *decoder)
{
    if (!decoder)
        return;
    redisReaderFree(decoder->reader);
    shoal__frame_release(&decoder->frame);
    shoal__free(decoder);
}

const char *shoal__decoder_error(const shoal__decoder_t *decoder)
{
    return decoder->error;
}

bool shoal__decoder_is_over_limit(const shoal__decoder_t *decoder)
{
    const char *error = decoder->error;

    return (error == reply_too_large) | (error == line_too_long) |
           (error == nested_too_deeply) | (error == too_many_elements);
}

bool shoal__decoder_is_mid_reply(const shoal__decoder_t *decoder)
{
    if (decoder->frame.is_stopped || decoder->frame.is_delivering)
        return false;
    if (decoder->code < 0)
        return decoder->was_mid_reply;
    return decoder->large.is_open || is_mid_reply(decoder->reader);
}

bool shoal__decoder_is_at_rest(const shoal__decoder_t *decoder)
{
    const redisReader *reader = decoder->reader;

    return (!reader || reader->ridx < 0) && !decoder->large.is_open;
}

size_t shoal__decoder_missing(const shoal__decoder_t *decoder)
{
    return decoder->partial.missing_bytes;
}

void shoal__decoder_discard_current(shoal__decoder_t *decoder)
{
    /* Below the top level the frame has asked where the reply goes. */
    if (shoal__decoder_is_mid_reply(decoder))
        shoal__frame_discard(&decoder->frame,
                             decoder->large.is_open || decoder->reader->ridx > 0);
}

int shoal__decoder_reset(shoal__decoder_t *decoder)
{
    assert(!decoder->frame.is_delivering);
    shoal__frame_reset(&decoder->frame);
    decoder->frame_bytes = 0;
    decoder->partial = (shoal__partial_value_t){0};
    decoder->large = (shoal__large_string_t){0};
    decoder->was_mid_reply = false;
    decoder->code = 0;
    decoder->error = "";

    redisReader *reader = new_reader(decoder);
    if (!reader) {
        refuse(decoder, SHOAL_ENOMEM, out_of_memory);
        return SHOAL_ENOMEM;
    }
    redisReaderFree(decoder->reader);
    decoder->reader = reader;
    return 0;
}

void shoal__decoder_rest(shoal__decoder_t *decoder)
{
    const redisReader *reader = decoder->reader;

    if (!reader || reader->ridx >= 0 || decoder->large.is_open || decoder->code < 0)
        return;
    redisReaderFree(decoder->reader);
    decoder->reader = NULL;
    shoal__frame_release(&decoder->frame);
}
