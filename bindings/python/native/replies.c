/* SPDX-License-Identifier: MIT */
#include "replies.h"

#include "opcodes.h"
#include <stdlib.h>

#define LEVELS_FIRST 16
#define DIGITS_MAX 18 /* of a number that surely has 64 bits */

struct shoalpy_level {
    const shoal_reply_t *reply;
    size_t next, count;    /* children */
    bool is_hashable;      /* stands where Python wants a hashable value */
    unsigned char closing; /* opcode at the end; 0: none */
};

typedef struct writer {
    shoalpy_walk_t *walk;
    shoalpy_stream_t *stream;
    unsigned flags;
    bool needs_help;
} writer_t;

void shoalpy_walk_release(shoalpy_walk_t *walk)
{
    free(walk->levels);
    *walk = (shoalpy_walk_t){0};
}

/* ---- values without children ---- */

static void write_string(writer_t *writer, const shoal_reply_t *reply)
{
    size_t bytes;
    const char *data = shoal_reply_string(reply, &bytes);

    if (!(writer->flags & SHOALPY_AS_TEXT)) {
        shoalpy_stream_bytes(writer->stream, data, bytes);
    } else if (shoalpy_is_text(data, bytes)) {
        shoalpy_stream_text(writer->stream, data, bytes);
    } else {
        shoalpy_stream_bytes(writer->stream, data, bytes);
        writer->needs_help = true;
    }
}

/* Where the value has to be hashable, the help of Python comes too late: text it is. */
static void write_error(writer_t *writer, const shoal_reply_t *reply, bool is_hashable)
{
    size_t bytes;
    const char *data = shoal_reply_string(reply, &bytes);

    if (is_hashable) {
        write_string(writer, reply);
        return;
    }
    shoalpy_stream_bytearray(writer->stream, data, bytes);
    shoalpy_stream_opcode(writer->stream, OP_TUPLE1);
    writer->needs_help = true;
}

static void write_big_number(writer_t *writer, const shoal_reply_t *reply,
                             bool is_hashable)
{
    size_t bytes;
    const char *data = shoal_reply_string(reply, &bytes);

    if (is_hashable || writer->flags & SHOALPY_CLASSIC) {
        write_string(writer, reply);
        return;
    }
    if (bytes <= DIGITS_MAX) {
        char text[DIGITS_MAX + 1] = {0};
        for (size_t i = 0; i < bytes; i++)
            text[i] = data[i];
        shoalpy_stream_integer(writer->stream, strtoll(text, NULL, 10));
        return;
    }
    shoalpy_stream_bytearray(writer->stream, data, bytes);
    shoalpy_stream_opcode(writer->stream, OP_NONE);
    shoalpy_stream_opcode(writer->stream, OP_TUPLE2);
    writer->needs_help = true;
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

static shoalpy_level_t *push_level(writer_t *writer)
{
    shoalpy_walk_t *walk = writer->walk;
    size_t grown = walk->capacity ? walk->capacity * 2 : LEVELS_FIRST;
    shoalpy_level_t *levels;

    if (walk->depth == walk->capacity) {
        levels = realloc(walk->levels, grown * sizeof *levels);
        if (!levels) {
            writer->stream->is_broken = true;
            return NULL;
        }
        walk->levels = levels;
        walk->capacity = grown;
    }
    return &walk->levels[walk->depth++];
}

static void open_level(writer_t *writer, const shoal_reply_t *reply, bool is_hashable)
{
    shoal_reply_type_t type = shoal_reply_type(reply);
    shoalpy_level_t *level = push_level(writer);

    if (!level)
        return;
    if (type == SHOAL_REPLY_SET && (writer->flags & SHOALPY_CLASSIC))
        type = SHOAL_REPLY_ARRAY;
    *level = (shoalpy_level_t){.reply = reply,
                               .count = shoal_reply_count(reply),
                               .is_hashable = is_hashable,
                               .closing = closing_of(type, is_hashable)};
    if (!is_hashable)
        shoalpy_stream_opcode(writer->stream, opening_of(type));
    if (level->count > 0 || is_hashable)
        shoalpy_stream_opcode(writer->stream, OP_MARK);
    else
        level->closing = 0;
}

static void write_value(writer_t *writer, const shoal_reply_t *reply, bool is_hashable)
{
    switch (shoal_reply_type(reply)) {
    case SHOAL_REPLY_NIL:
        shoalpy_stream_opcode(writer->stream, OP_NONE);
        break;
    case SHOAL_REPLY_STRING:
    case SHOAL_REPLY_STATUS:
    case SHOAL_REPLY_VERBATIM:
        write_string(writer, reply);
        break;
    case SHOAL_REPLY_INTEGER:
        shoalpy_stream_integer(writer->stream, shoal_reply_integer(reply));
        break;
    case SHOAL_REPLY_BOOL:
        shoalpy_stream_opcode(writer->stream,
                              shoal_reply_bool(reply) ? OP_NEWTRUE : OP_NEWFALSE);
        break;
    case SHOAL_REPLY_DOUBLE:
        shoalpy_stream_float(writer->stream, shoal_reply_double(reply));
        break;
    case SHOAL_REPLY_BIGNUM:
        write_big_number(writer, reply, is_hashable);
        break;
    case SHOAL_REPLY_ERROR:
        write_error(writer, reply, is_hashable);
        break;
    case SHOAL_REPLY_ARRAY:
    case SHOAL_REPLY_MAP:
    case SHOAL_REPLY_SET:
    case SHOAL_REPLY_PUSH:
        open_level(writer, reply, is_hashable);
        break;
    }
}

/* Does child `index` of this level have to be hashable? */
static bool wants_hashable(const writer_t *writer, const shoalpy_level_t *level,
                           size_t index)
{
    shoal_reply_type_t type = shoal_reply_type(level->reply);

    return level->is_hashable || (type == SHOAL_REPLY_MAP && index % 2 == 0) ||
           (type == SHOAL_REPLY_SET && !(writer->flags & SHOALPY_CLASSIC));
}

bool shoalpy_reply_write(shoalpy_walk_t *walk, const shoal_reply_t *reply,
                         unsigned flags, shoalpy_stream_t *stream)
{
    writer_t writer = {.walk = walk, .stream = stream, .flags = flags};

    walk->depth = 0;
    write_value(&writer, reply, false);
    while (walk->depth > 0 && !stream->is_broken) {
        shoalpy_level_t *level = &walk->levels[walk->depth - 1];
        if (level->next < level->count) {
            size_t index = level->next++;
            write_value(&writer, shoal_reply_at(level->reply, index),
                        wants_hashable(&writer, level, index));
        } else {
            if (level->closing)
                shoalpy_stream_opcode(stream, level->closing);
            walk->depth--;
        }
    }
    return writer.needs_help;
}
