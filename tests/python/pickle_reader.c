/* SPDX-License-Identifier: MIT */
#include "pickle_reader.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { LEAF, NONE, INTEGER, BYTEARRAY, LIST, DICT, SET, TUPLE } kind_t;

typedef struct item {
    kind_t kind;
    bool is_hashable;
    bool is_filled; /* nothing more may go into it */
    pickle_text_t text;
} item_t;

typedef struct reader {
    const unsigned char *at, *end;
    item_t *items;
    size_t count, capacity;
    size_t *marks; /* the items below each */
    size_t marks_count, marks_capacity;
    const char *problem;
} reader_t;

static void fail(reader_t *reader, const char *problem)
{
    if (!reader->problem)
        reader->problem = problem;
}

static void *grown(void *memory, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return memory;
    *capacity = 2 * *capacity + 16;
    memory = realloc(memory, *capacity * size);
    if (!memory)
        abort();
    return memory;
}

static item_t *push(reader_t *reader, kind_t kind, bool is_hashable)
{
    reader->items =
        grown(reader->items, reader->count, &reader->capacity, sizeof *reader->items);
    reader->items[reader->count] = (item_t){.kind = kind, .is_hashable = is_hashable};
    return &reader->items[reader->count++];
}

/* ---- values without children ---- */

static uint64_t take(reader_t *reader, size_t bytes, bool is_big_end_first)
{
    uint64_t value = 0;

    if ((size_t)(reader->end - reader->at) < bytes) {
        fail(reader, "the stream ends in a number");
        return 0;
    }
    for (size_t i = 0; i < bytes; i++) {
        size_t shift = 8 * (is_big_end_first ? bytes - 1 - i : i);
        value |= (uint64_t)*reader->at++ << shift;
    }
    return value;
}

static void read_constant(reader_t *reader, kind_t kind, const char *name)
{
    pickle_text_print(&push(reader, kind, true)->text, "%s", name);
}

static void read_integer(reader_t *reader, unsigned char opcode)
{
    int64_t value;

    if (opcode == 'K') {
        value = (int64_t)take(reader, 1, false);
    } else if (opcode == 'J') {
        value = (int32_t)take(reader, 4, false);
        if (value >= 0 && value < 256)
            fail(reader, "an integer that is not in its shortest form");
    } else {
        if (take(reader, 1, false) != 8)
            fail(reader, "a long of other than 8 bytes");
        value = (int64_t)take(reader, 8, false);
        if (value == (int32_t)value)
            fail(reader, "a long that is short");
    }
    pickle_text_print(&push(reader, INTEGER, true)->text, "%lld", (long long)value);
}

static void read_float(reader_t *reader)
{
    uint64_t bits = take(reader, 8, true);
    double value;

    memcpy(&value, &bits, sizeof value);
    pickle_text_float(&push(reader, LEAF, true)->text, value);
}

/* A string whose length has so many bytes, and could not do with fewer.  NULL on
 * failure. */
static const char *take_string(reader_t *reader, size_t width, size_t shorter,
                               size_t *ret_bytes)
{
    uint64_t bytes = take(reader, width, false);
    const char *data = (const char *)reader->at;

    if ((size_t)(reader->end - reader->at) < bytes)
        fail(reader, "a string beyond the end");
    else if (shorter > 0 && bytes >> 8 * shorter == 0)
        fail(reader, "a length that is not in its shortest form");
    if (reader->problem)
        return NULL;
    reader->at += bytes;
    *ret_bytes = (size_t)bytes;
    return data;
}

static void read_bytes(reader_t *reader, size_t width, size_t shorter)
{
    size_t bytes = 0;
    const char *data = take_string(reader, width, shorter, &bytes);

    if (data)
        pickle_text_quote(&push(reader, LEAF, true)->text, "b", data, bytes, false);
}

static void read_str(reader_t *reader, size_t width, size_t shorter)
{
    size_t bytes = 0;
    const char *data = take_string(reader, width, shorter, &bytes);

    if (!data)
        return;
    if (!pickle_is_utf8(data, bytes))
        fail(reader, "a str that is not UTF-8");
    pickle_text_quote(&push(reader, LEAF, true)->text, "", data, bytes, true);
}

static void read_bytearray(reader_t *reader)
{
    size_t bytes = 0;
    const char *data = take_string(reader, 8, 0, &bytes);

    if (!data)
        return;
    item_t *item = push(reader, BYTEARRAY, false);
    pickle_text_quote(&item->text, "bytearray(b", data, bytes, false);
    pickle_text_add(&item->text, ")", 1);
}

/* ---- values with children ---- */

static void open_aggregate(reader_t *reader, kind_t kind)
{
    push(reader, kind, false);
}

static void put_mark(reader_t *reader)
{
    reader->marks = grown(reader->marks, reader->marks_count, &reader->marks_capacity,
                          sizeof *reader->marks);
    reader->marks[reader->marks_count++] = reader->count;
}

/* The texts of the items from `first` on become one; the items go. */
static void join(reader_t *reader, size_t first, kind_t kind, pickle_text_t *into)
{
    for (size_t i = first; i < reader->count; i++) {
        item_t *item = &reader->items[i];
        bool is_value = kind == DICT && (i - first) % 2 == 1;

        if (i > first)
            pickle_text_print(into, is_value ? ": " : ", ");
        pickle_text_add(into, item->text.data ? item->text.data : "", item->text.bytes);
        pickle_text_release(&item->text);
    }
    reader->count = first;
}

/* Are all from `first` on, every `step`th, hashable? */
static bool are_hashable(const reader_t *reader, size_t first, size_t step)
{
    for (size_t i = first; i < reader->count; i += step)
        if (!reader->items[i].is_hashable)
            return false;
    return true;
}

/* The text of a list, dict or set that got nothing. */
static void finish_empty(reader_t *reader, size_t first)
{
    static const char *const texts[] = {[LIST] = "", [DICT] = "{}", [SET] = "set()"};

    for (size_t i = first; i < reader->count; i++) {
        item_t *item = &reader->items[i];
        if (item->kind == LIST && !item->is_filled)
            fail(reader, "a list without a mark");
        if (item->kind >= LIST && item->kind <= SET && !item->is_filled)
            pickle_text_print(&item->text, "%s", texts[item->kind]);
        item->is_filled = true;
    }
}

/* The items above the last mark are the caller's, and the mark is gone. */
static size_t take_mark(reader_t *reader)
{
    if (reader->marks_count == 0) {
        fail(reader, "an end without a mark");
        return reader->count;
    }
    size_t first = reader->marks[--reader->marks_count];

    finish_empty(reader, first);
    for (size_t i = first; i < reader->count; i++)
        if (reader->items[i].kind == BYTEARRAY)
            fail(reader, "a bytearray that marks nothing");
    return first;
}

/* What is above the mark goes into the aggregate below. */
static void fill(reader_t *reader, kind_t kind, const char *opening, char closing)
{
    size_t first = take_mark(reader), children = reader->count - first;
    size_t below = reader->marks_count ? reader->marks[reader->marks_count - 1] : 0;
    pickle_text_t text = {0};

    if (reader->problem || first == below || reader->items[first - 1].kind != kind ||
        reader->items[first - 1].is_filled) {
        fail(reader, "items for nothing that takes them");
        return;
    }
    if ((kind == SET || kind == DICT) &&
        !are_hashable(reader, first, kind == DICT ? 2 : 1))
        fail(reader, "a key or a member that is not hashable");
    if (kind == DICT && children % 2 == 1)
        fail(reader, "a key without a value");
    if (children == 0 && kind != LIST) { /* which always has one */
        fail(reader, "a mark too many");
        return;
    }
    pickle_text_print(&text, "%s", opening);
    join(reader, first, kind, &text);
    pickle_text_add(&text, &closing, 1);
    reader->items[first - 1].text = text;
    reader->items[first - 1].is_filled = true;
}

/* What is above the mark is a tuple or a frozenset. */
static void close_hashable(reader_t *reader, bool is_set)
{
    size_t first = take_mark(reader), children = reader->count - first;
    bool are_all = are_hashable(reader, first, 1);
    pickle_text_t text = {0};

    if (reader->problem)
        return;
    if (is_set && !are_all)
        fail(reader, "a member that is not hashable");
    pickle_text_print(&text,
                      is_set ? children > 0 ? "frozenset({" : "frozenset(" : "(");
    join(reader, first, TUPLE, &text);
    if (is_set)
        pickle_text_print(&text, children > 0 ? "})" : ")");
    else
        pickle_text_print(&text, children == 1 ? ",)" : ")");
    push(reader, TUPLE, are_all)->text = text;
}

/* A tuple without a mark: what needs help, or a number and a value. */
static void close_small(reader_t *reader, size_t children)
{
    size_t first = reader->count - children;
    size_t mark = reader->marks_count ? reader->marks[reader->marks_count - 1] : 0;
    pickle_text_t text = {0};

    if (reader->count < mark + children) {
        fail(reader, "a tuple of too few");
        return;
    }
    const item_t *items = &reader->items[first];
    if (items[0].kind != BYTEARRAY && !(children == 2 && items[0].kind == INTEGER))
        fail(reader, "a tuple that marks nothing");
    if (children == 2 && (items[1].kind == BYTEARRAY ||
                          (items[0].kind == BYTEARRAY && items[1].kind != NONE)))
        fail(reader, "a pair that marks nothing");
    finish_empty(reader, first);
    pickle_text_print(&text, "(");
    join(reader, first, TUPLE, &text);
    pickle_text_print(&text, children == 1 ? ",)" : ")");
    push(reader, TUPLE, false)->text = text;
}

/* ---- the stream ---- */

static void read_one(reader_t *reader, unsigned char opcode)
{
    switch (opcode) {
    case 'N':
        read_constant(reader, NONE, "None");
        break;
    case 0x88:
    case 0x89:
        read_constant(reader, LEAF, opcode == 0x88 ? "True" : "False");
        break;
    case 'K':
    case 'J':
    case 0x8a:
        read_integer(reader, opcode);
        break;
    case 'G':
        read_float(reader);
        break;
    case 'C':
        read_bytes(reader, 1, 0);
        break;
    case 'B':
        read_bytes(reader, 4, 1);
        break;
    case 0x8e:
        read_bytes(reader, 8, 4);
        break;
    case 0x8c:
        read_str(reader, 1, 0);
        break;
    case 'X':
        read_str(reader, 4, 1);
        break;
    case 0x8d:
        read_str(reader, 8, 4);
        break;
    case 0x96:
        read_bytearray(reader);
        break;
    case ']':
        open_aggregate(reader, LIST);
        break;
    case '}':
        open_aggregate(reader, DICT);
        break;
    case 0x8f:
        open_aggregate(reader, SET);
        break;
    case '(':
        put_mark(reader);
        break;
    case 'e':
        fill(reader, LIST, "[", ']');
        break;
    case 'u':
        fill(reader, DICT, "{", '}');
        break;
    case 0x90:
        fill(reader, SET, "{", '}');
        break;
    case 't':
    case 0x91:
        close_hashable(reader, opcode == 0x91);
        break;
    case 0x85:
    case 0x86:
        close_small(reader, opcode - 0x84u);
        break;
    default:
        fail(reader, "an opcode that plain data does not need");
    }
}

static void read_all(reader_t *reader)
{
    if (reader->end - reader->at < 2 || memcmp(reader->at, "\x80\x05", 2) != 0) {
        fail(reader, "another protocol");
        return;
    }
    reader->at += 2;
    while (!reader->problem) {
        if (reader->at == reader->end)
            fail(reader, "no end");
        else if (*reader->at == '.')
            break;
        else
            read_one(reader, *reader->at++);
    }
    if (!reader->problem && ++reader->at != reader->end)
        fail(reader, "something behind the end");
    if (reader->count != 1 || reader->marks_count > 0)
        fail(reader, "not one value");
    else if (reader->items[0].kind == BYTEARRAY)
        fail(reader, "a bytearray that marks nothing");
}

const char *pickle_read(const char *stream, size_t bytes, pickle_text_t *ret_text,
                        size_t *ret_offset)
{
    const unsigned char *data = (const unsigned char *)stream;
    reader_t reader = {.at = data, .end = data + bytes};

    read_all(&reader);
    if (!reader.problem) {
        finish_empty(&reader, 0);
        pickle_text_release(ret_text);
        *ret_text = reader.items[0].text;
        reader.count = 0;
    }
    *ret_offset = (size_t)(reader.at - data);
    for (size_t i = 0; i < reader.count; i++)
        pickle_text_release(&reader.items[i].text);
    free(reader.items);
    free(reader.marks);
    return reader.problem;
}
