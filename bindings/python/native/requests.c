/* SPDX-License-Identifier: MIT */
#include "requests.h"

#include "number_text.h"
#include "opcodes.h"
#include <shoal/errors.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_NUMBERS 126
#define COMMANDS_FIRST 16
/* Memory for more arguments than these is given back. */
#define ARGUMENTS_KEPT 65536

/* Texts of numbers, which must not move. */
struct shoalpy_block {
    shoalpy_block_t *next; /* the one before, which is full */
    size_t used;
    char texts[BLOCK_NUMBERS][SHOALPY_NUMBER_BYTES];
};

typedef struct stream {
    const unsigned char *at, *end;
} stream_t;

/* Where the reader is in the structure. */
typedef struct reader {
    shoalpy_requests_t *requests;
    stream_t stream;
    size_t first;  /* argument of the command under way */
    size_t listed; /* commands that are in the list */
    bool is_list;
    int marks;       /* open: of the list, and of a tuple */
    size_t begun[2]; /* by mark: commands before it */
} reader_t;

void shoalpy_requests_release(shoalpy_requests_t *requests)
{
    while (requests->numbers) {
        shoalpy_block_t *next = requests->numbers->next;
        free(requests->numbers);
        requests->numbers = next;
    }
    free(requests->commands);
    free(requests->argv);
    free(requests->argvlen);
    free(requests->buffers);
    *requests = (shoalpy_requests_t){0};
}

/* Keep one block for the next commands, and the buffers. */
void shoalpy_requests_begin(shoalpy_requests_t *requests)
{
    requests->has_large = false;
    if (requests->arguments_capacity > ARGUMENTS_KEPT) {
        shoalpy_requests_t kept = {.buffers = requests->buffers,
                                   .buffers_count = requests->buffers_count};
        requests->buffers = NULL;
        shoalpy_requests_release(requests);
        *requests = kept;
        return;
    }
    while (requests->numbers && requests->numbers->next) {
        shoalpy_block_t *next = requests->numbers->next;
        free(requests->numbers);
        requests->numbers = next;
    }
    if (requests->numbers)
        requests->numbers->used = 0;
    requests->count = requests->arguments = 0;
}

static bool grow_arguments(shoalpy_requests_t *requests)
{
    size_t grown = requests->arguments_capacity ? requests->arguments_capacity * 2
                                                : (size_t)COMMANDS_FIRST * 4;
    const char **argv = realloc(requests->argv, grown * sizeof *argv);
    size_t *argvlen;

    if (!argv)
        return false;
    requests->argv = argv;
    argvlen = realloc(requests->argvlen, grown * sizeof *argvlen);
    if (!argvlen)
        return false;
    requests->argvlen = argvlen;
    requests->arguments_capacity = grown;
    return true;
}

int shoalpy_requests_add(shoalpy_requests_t *requests, const char *data, size_t bytes)
{
    if (requests->arguments == requests->arguments_capacity &&
        !grow_arguments(requests))
        return SHOAL_ENOMEM;
    requests->argv[requests->arguments] = data;
    requests->argvlen[requests->arguments++] = bytes;
    requests->has_large |= bytes >= SHOAL_REFERENCE_BYTES_MIN;
    return 0;
}

int shoalpy_requests_lend(shoalpy_requests_t *requests, const shoalpy_buffer_t *buffers,
                          size_t count)
{
    shoalpy_buffer_t *copy = malloc(count * sizeof *copy);

    if (!copy)
        return SHOAL_ENOMEM;
    memcpy(copy, buffers, count * sizeof *copy);
    free(requests->buffers);
    requests->buffers = copy;
    requests->buffers_count = count;
    requests->buffers_taken = 0;
    return 0;
}

/* Room for the text of a number; NULL: no memory. */
static char *number_room(shoalpy_requests_t *requests)
{
    shoalpy_block_t *block = requests->numbers;

    if (!block || block->used == BLOCK_NUMBERS) {
        block = malloc(sizeof *block);
        if (!block)
            return NULL;
        block->next = requests->numbers;
        block->used = 0;
        requests->numbers = block;
    }
    return block->texts[block->used++];
}

int shoalpy_requests_add_integer(shoalpy_requests_t *requests, int64_t value)
{
    char *text = number_room(requests);

    return text
               ? shoalpy_requests_add(requests, text, shoalpy_integer_text(value, text))
               : SHOAL_ENOMEM;
}

int shoalpy_requests_add_float(shoalpy_requests_t *requests, double value)
{
    char *text = number_room(requests);

    return text ? shoalpy_requests_add(requests, text, shoalpy_float_text(value, text))
                : SHOAL_ENOMEM;
}

/* ---- the stream ---- */

static bool has(const stream_t *stream, size_t bytes)
{
    return (size_t)(stream->end - stream->at) >= bytes;
}

/* The next `bytes` bytes, 8 at most, as a number, little end first. */
static bool take_number(stream_t *stream, size_t bytes, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (!has(stream, bytes))
        return false;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)stream->at[i] << 8 * i;
    stream->at += bytes;
    *ret_value = value;
    return true;
}

static int64_t sign_extend(uint64_t value, size_t bytes)
{
    unsigned unused = (unsigned)(8 - bytes) * 8;

    return bytes == 0 ? 0 : (int64_t)(value << unused) >> unused;
}

/* Python pickles surrogates, which are no characters, like any other: ED A0 .. ED BF. */
static bool has_surrogate(const unsigned char *text, size_t bytes)
{
    const unsigned char *end = text + bytes, *at = text;

    while ((at = memchr(at, 0xED, (size_t)(end - at))) && at + 1 < end)
        if (*++at >= 0xA0)
            return true;
    return false;
}

static int read_string(reader_t *reader, size_t length_bytes, bool is_text)
{
    uint64_t bytes;
    const unsigned char *data;

    if (!take_number(&reader->stream, length_bytes, &bytes) ||
        !has(&reader->stream, bytes))
        return SHOAL_EINVAL;
    data = reader->stream.at;
    reader->stream.at += bytes;
    if (is_text && has_surrogate(data, bytes))
        return SHOAL_EINVAL;
    return shoalpy_requests_add(reader->requests, (const char *)data, bytes);
}

static int take_buffer(shoalpy_requests_t *requests)
{
    const shoalpy_buffer_t *buffer;

    if (requests->buffers_taken == requests->buffers_count)
        return SHOAL_EINVAL;
    buffer = &requests->buffers[requests->buffers_taken++];
    return shoalpy_requests_add(requests, buffer->data, buffer->bytes);
}

static int read_integer(reader_t *reader, size_t bytes, bool is_signed)
{
    uint64_t value;

    if (bytes > 8 || !take_number(&reader->stream, bytes, &value))
        return SHOAL_EINVAL;
    return shoalpy_requests_add_integer(
        reader->requests, is_signed ? sign_extend(value, bytes) : (int64_t)value);
}

static int read_long(reader_t *reader)
{
    uint64_t bytes;

    if (!take_number(&reader->stream, 1, &bytes))
        return SHOAL_EINVAL;
    return read_integer(reader, bytes, true);
}

static int read_float(reader_t *reader)
{
    uint64_t bits = 0;
    double value;

    if (!has(&reader->stream, 8))
        return SHOAL_EINVAL;
    for (size_t i = 0; i < 8; i++) /* the only number with its big end first */
        bits = bits << 8 | *reader->stream.at++;
    memcpy(&value, &bits, sizeof value);
    return shoalpy_requests_add_float(reader->requests, value);
}

static int skip(reader_t *reader, size_t bytes)
{
    if (!has(&reader->stream, bytes))
        return SHOAL_EINVAL;
    reader->stream.at += bytes;
    return 0;
}

/* ---- the structure ---- */

static size_t loose(const reader_t *reader)
{
    return reader->requests->arguments - reader->first;
}

static bool grow_commands(shoalpy_requests_t *requests)
{
    size_t grown = requests->commands_capacity ? requests->commands_capacity * 2
                                               : (size_t)COMMANDS_FIRST;
    shoal_command_t *commands = realloc(requests->commands, grown * sizeof *commands);

    if (!commands)
        return false;
    requests->commands = commands;
    requests->commands_capacity = grown;
    return true;
}

int shoalpy_requests_end_command(shoalpy_requests_t *requests, size_t arguments)
{
    if (arguments == 0)
        return SHOAL_EINVAL;
    if (requests->count == requests->commands_capacity && !grow_commands(requests))
        return SHOAL_ENOMEM;
    requests->commands[requests->count++] = (shoal_command_t){.argc = arguments};
    return 0;
}

/* The arguments since the last command are a command: all of them, or the stream holds a
 * tuple in a tuple.  Outside the list's mark each command joins the list by itself. */
static int end_command(reader_t *reader, size_t arguments)
{
    shoalpy_requests_t *requests = reader->requests;

    if (loose(reader) != arguments ||
        (reader->marks == 0 && requests->count > reader->listed))
        return SHOAL_EINVAL;
    reader->first = requests->arguments;
    return shoalpy_requests_end_command(requests, arguments);
}

/* Only before all commands. */
static int begin_list(reader_t *reader)
{
    if (reader->is_list || reader->requests->count > 0 || loose(reader) > 0 ||
        reader->marks > 0)
        return SHOAL_EINVAL;
    reader->is_list = true;
    return 0;
}

/* The commands so far are in the list. */
static int extend_list(reader_t *reader)
{
    if (!reader->is_list || reader->marks > 0 || loose(reader) > 0)
        return SHOAL_EINVAL;
    reader->listed = reader->requests->count;
    return 0;
}

/* A mark opens the list, once it was announced, or a tuple of more than three.  Only
 * its end shows which. */
static int open_mark(reader_t *reader)
{
    if (loose(reader) > 0 || reader->marks == 2 ||
        (reader->marks == 0 && reader->requests->count > reader->listed))
        return SHOAL_EINVAL;
    reader->begun[reader->marks++] = reader->requests->count;
    return 0;
}

static int close_mark(reader_t *reader, bool is_tuple)
{
    if (reader->marks == 0)
        return SHOAL_EINVAL;
    reader->marks--;
    if (!is_tuple)
        return extend_list(reader);
    /* Were there commands since the mark, they would be tuples in this tuple. */
    return reader->begun[reader->marks] == reader->requests->count
               ? end_command(reader, loose(reader))
               : SHOAL_EINVAL;
}

static bool is_whole(const reader_t *reader)
{
    size_t count = reader->requests->count;

    return reader->stream.at == reader->stream.end && loose(reader) == 0 &&
           reader->marks == 0 &&
           (reader->is_list ? count == reader->listed : count == 1);
}

static int read_one(reader_t *reader, unsigned char opcode)
{
    switch (opcode) {
    case OP_PROTO:
        return skip(reader, 1);
    case OP_FRAME:
        return skip(reader, 8);
    case OP_EMPTY_LIST:
        return begin_list(reader);
    case OP_APPEND: /* of one command */
        return reader->requests->count > reader->listed ? extend_list(reader)
                                                        : SHOAL_EINVAL;
    case OP_MARK:
        return open_mark(reader);
    case OP_APPENDS:
        return close_mark(reader, false);
    case OP_TUPLE:
        return close_mark(reader, true);
    case OP_TUPLE1:
    case OP_TUPLE2:
    case OP_TUPLE3:
        return end_command(reader, (size_t)opcode - OP_TUPLE1 + 1);
    case OP_SHORT_BINUNICODE:
        return read_string(reader, 1, true);
    case OP_BINUNICODE:
        return read_string(reader, 4, true);
    case OP_BINUNICODE8:
        return read_string(reader, 8, true);
    case OP_SHORT_BINBYTES:
        return read_string(reader, 1, false);
    case OP_BINBYTES:
        return read_string(reader, 4, false);
    case OP_BINBYTES8:
    case OP_BYTEARRAY8:
        return read_string(reader, 8, false);
    case OP_NEXT_BUFFER:
        return take_buffer(reader->requests);
    case OP_BININT:
        return read_integer(reader, 4, true);
    case OP_BININT1:
        return read_integer(reader, 1, false);
    case OP_BININT2:
        return read_integer(reader, 2, false);
    case OP_LONG1:
        return read_long(reader);
    case OP_BINFLOAT:
        return read_float(reader);
    default: /* None, True, a set, an object ... */
        return SHOAL_EINVAL;
    }
}

/* The arguments do not move any more: let each command point at its own. */
void shoalpy_requests_finish(shoalpy_requests_t *requests)
{
    size_t at = 0;

    for (size_t i = 0; i < requests->count; i++) {
        requests->commands[i].argv = requests->argv + at;
        requests->commands[i].argvlen = requests->argvlen + at;
        at += requests->commands[i].argc;
    }
}

int shoalpy_requests_read(shoalpy_requests_t *requests, const char *stream,
                          size_t bytes)
{
    const unsigned char *data = (const unsigned char *)stream;
    reader_t reader = {.requests = requests, .stream = {data, data + bytes}};
    int rc = 0;

    shoalpy_requests_begin(requests);
    while (rc == 0) {
        unsigned char opcode;
        if (!has(&reader.stream, 1)) {
            rc = SHOAL_EINVAL;
            break;
        }
        opcode = *reader.stream.at++;
        if (opcode == OP_STOP)
            break;
        rc = read_one(&reader, opcode);
    }
    requests->buffers_count = requests->buffers_taken; /* no other stream's */
    if (rc == 0 && !is_whole(&reader))
        rc = SHOAL_EINVAL;
    if (rc == 0)
        shoalpy_requests_finish(requests);
    return rc;
}
