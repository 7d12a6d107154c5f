/* SPDX-License-Identifier: MIT */
#include "replies.h"

#include "opcodes.h"
#include <stdlib.h>

#define LEVELS_FIRST 16
#define DIGITS_MAX 18 /* of a number that surely has 64 bits */

struct shoalpy_level {
    size_t children;       /* so far */
    bool is_hashable;      /* stands where Python wants a hashable value */
    bool has_keys;         /* every other child is one */
    bool has_members;      /* every child is one */
    unsigned char closing; /* opcode at the end; 0: none */
};

void shoalpy_writer_release(shoalpy_writer_t *writer)
{
    free(writer->levels);
    *writer = (shoalpy_writer_t){0};
}

void shoalpy_writer_begin(shoalpy_writer_t *writer, unsigned flags,
                          shoalpy_stream_t *stream)
{
    writer->stream = stream;
    writer->flags = flags;
    writer->from = stream->bytes;
    writer->depth = 0;
    writer->needs_help = false;
    writer->is_under_way = true;
    writer->was_broken = stream->is_broken;
}

/* Does Python want the next value hashable? */
static bool wants_hashable(const shoalpy_writer_t *writer)
{
    const shoalpy_level_t *level;

    if (writer->depth == 0)
        return false;
    level = &writer->levels[writer->depth - 1];
    return level->is_hashable || level->has_members ||
           (level->has_keys && level->children % 2 == 0);
}

static void count_child(shoalpy_writer_t *writer)
{
    if (writer->depth > 0)
        writer->levels[writer->depth - 1].children++;
}

/* ---- values without children ---- */

static void write_string(shoalpy_writer_t *writer, const shoal_reply_t *leaf)
{
    size_t bytes;
    const char *data = shoal_reply_string(leaf, &bytes);

    if (!(writer->flags & SHOALPY_AS_TEXT)) {
        shoalpy_stream_short_bytes(writer->stream, data, bytes);
    } else if (shoalpy_is_text(data, bytes)) {
        shoalpy_stream_text(writer->stream, data, bytes);
    } else {
        shoalpy_stream_bytes(writer->stream, data, bytes);
        writer->needs_help = true;
    }
}

/* A value that must be hashable cannot wait for Python's help: it becomes text. */
static void write_error(shoalpy_writer_t *writer, const shoal_reply_t *leaf)
{
    size_t bytes;
    const char *data = shoal_reply_string(leaf, &bytes);

    if (wants_hashable(writer)) {
        write_string(writer, leaf);
        return;
    }
    shoalpy_stream_bytearray(writer->stream, data, bytes);
    shoalpy_stream_opcode(writer->stream, OP_TUPLE1);
    writer->needs_help = true;
}

static void write_big_number(shoalpy_writer_t *writer, const shoal_reply_t *leaf)
{
    size_t bytes;
    const char *data = shoal_reply_string(leaf, &bytes);

    if (writer->flags & SHOALPY_CLASSIC || wants_hashable(writer)) {
        write_string(writer, leaf);
        return;
    }
    if (bytes <= DIGITS_MAX) {
        shoalpy_stream_integer(writer->stream, strtoll(data, NULL, 10));
        return;
    }
    shoalpy_stream_bytearray(writer->stream, data, bytes);
    shoalpy_stream_opcode(writer->stream, OP_NONE);
    shoalpy_stream_opcode(writer->stream, OP_TUPLE2);
    writer->needs_help = true;
}

static void write_other(shoalpy_writer_t *writer, const shoal_reply_t *leaf)
{
    shoalpy_stream_t *stream = writer->stream;

    switch (shoal_reply_type(leaf)) {
    case SHOAL_REPLY_STRING:
    case SHOAL_REPLY_STATUS:
    case SHOAL_REPLY_VERBATIM:
        write_string(writer, leaf);
        break;
    case SHOAL_REPLY_INTEGER:
        shoalpy_stream_integer(stream, shoal_reply_integer(leaf));
        break;
    case SHOAL_REPLY_BOOL:
        shoalpy_stream_opcode(stream,
                              shoal_reply_bool(leaf) ? OP_NEWTRUE : OP_NEWFALSE);
        break;
    case SHOAL_REPLY_DOUBLE:
        shoalpy_stream_float(stream, shoal_reply_double(leaf));
        break;
    case SHOAL_REPLY_BIGNUM:
        write_big_number(writer, leaf);
        break;
    case SHOAL_REPLY_ERROR:
        write_error(writer, leaf);
        break;
    case SHOAL_REPLY_NIL:
    case SHOAL_REPLY_ARRAY: /* no leaves */
    case SHOAL_REPLY_MAP:
    case SHOAL_REPLY_SET:
    case SHOAL_REPLY_PUSH:
        shoalpy_stream_opcode(stream, OP_NONE);
        break;
    }
    count_child(writer);
}

static inline void write_leaf(shoalpy_writer_t *writer, const shoal_reply_t *leaf)
{
    size_t bytes;
    const char *data;

    if (shoal_reply_type(leaf) != SHOAL_REPLY_STRING ||
        writer->flags & SHOALPY_AS_TEXT) {
        write_other(writer, leaf);
        return;
    }
    data = shoal_reply_string(leaf, &bytes); /* nearly always */
    shoalpy_stream_short_bytes(writer->stream, data, bytes);
    count_child(writer);
}

void shoalpy_writer_leaf(shoalpy_writer_t *writer, const shoal_reply_t *leaf)
{
    write_leaf(writer, leaf);
}

/* ---- values with children ---- */

static unsigned char opening_of(shoal_reply_type_t type)
{
    return type == SHOAL_REPLY_MAP   ? OP_EMPTY_DICT
           : type == SHOAL_REPLY_SET ? OP_EMPTY_SET
                                     : OP_EMPTY_LIST;
}

static unsigned char closing_of(shoal_reply_type_t type, bool is_hashable)
{
    if (is_hashable)
        return type == SHOAL_REPLY_SET ? OP_FROZENSET : OP_TUPLE;
    return type == SHOAL_REPLY_MAP   ? OP_SETITEMS
           : type == SHOAL_REPLY_SET ? OP_ADDITEMS
                                     : OP_APPENDS;
}

static shoalpy_level_t *push_level(shoalpy_writer_t *writer)
{
    size_t grown = writer->capacity ? writer->capacity * 2 : LEVELS_FIRST;
    shoalpy_level_t *levels;

    if (writer->depth == writer->capacity) {
        levels = realloc(writer->levels, grown * sizeof *levels);
        if (!levels)
            return NULL;
        writer->levels = levels;
        writer->capacity = grown;
    }
    return &writer->levels[writer->depth++];
}

void shoalpy_writer_open(shoalpy_writer_t *writer, shoal_reply_type_t type,
                         size_t count)
{
    bool is_hashable = wants_hashable(writer);
    shoalpy_level_t *level;

    if (type == SHOAL_REPLY_SET && writer->flags & SHOALPY_CLASSIC)
        type = SHOAL_REPLY_ARRAY;
    count_child(writer);
    level = push_level(writer);
    if (!level) { /* nothing more is written, and nothing is counted on levels */
        writer->stream->is_broken = true;
        return;
    }
    *level = (shoalpy_level_t){.is_hashable = is_hashable,
                               .has_keys = type == SHOAL_REPLY_MAP,
                               .has_members = type == SHOAL_REPLY_SET,
                               .closing = closing_of(type, is_hashable)};
    if (!is_hashable)
        shoalpy_stream_opcode(writer->stream, opening_of(type));
    /* A list always has its mark: one that follows it is that of a key. */
    if (count > 0 || is_hashable || level->closing == OP_APPENDS)
        shoalpy_stream_opcode(writer->stream, OP_MARK);
    else
        level->closing = 0;
}

void shoalpy_writer_close(shoalpy_writer_t *writer)
{
    if (writer->depth == 0) /* there was no memory for its level */
        return;
    writer->depth--;
    if (writer->levels[writer->depth].closing)
        shoalpy_stream_opcode(writer->stream, writer->levels[writer->depth].closing);
}

void shoalpy_writer_reset(shoalpy_writer_t *writer)
{
    if (!writer->is_under_way)
        return;
    writer->stream->bytes = writer->from;
    writer->is_under_way = false;
}

/* ---- as a sink ---- */

static shoalpy_writer_t *begun(void *data)
{
    shoalpy_writer_t *writer = data;

    if (!writer->is_under_way)
        shoalpy_writer_begin(writer, writer->flags, writer->stream);
    return writer;
}

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    write_leaf(begun(data), leaf);
}

static void on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    shoalpy_writer_open(begun(data), type, count);
}

static void on_end(void *data)
{
    shoalpy_writer_close(data);
}

static void on_reset(void *data)
{
    shoalpy_writer_reset(data);
}

const shoal_sink_t shoalpy_writer_sink = {
    .on_leaf = on_leaf, .on_begin = on_begin, .on_end = on_end, .on_reset = on_reset};

bool shoalpy_reply_write(shoalpy_writer_t *writer, const shoal_reply_t *reply,
                         unsigned flags, shoalpy_stream_t *stream)
{
    shoalpy_writer_begin(writer, flags, stream);
    shoal_reply_visit(reply, &shoalpy_writer_sink, writer);
    writer->is_under_way = false;
    return writer->needs_help;
}
