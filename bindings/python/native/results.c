/* SPDX-License-Identifier: MIT */
#include "results.h"

#include "opcodes.h"
#include <shoal/errors.h>
#include <string.h>

uint64_t shoalpy_number(uint64_t ticket)
{
    return ticket & ~(UINT64_C(1) << 63);
}

void shoalpy_results_release(shoalpy_results_t *results)
{
    shoalpy_stream_release(&results->stream);
    shoalpy_walk_release(&results->walk);
}

void shoalpy_results_clear(shoalpy_results_t *results)
{
    results->is_begun = results->in_list = false;
}

/* ---- one value ---- */

static void write_failure(const shoal_result_t *result, shoalpy_stream_t *stream)
{
    const char *detail = shoal_result_detail(result);

    shoalpy_stream_opcode(stream, OP_MARK);
    shoalpy_stream_integer(stream, SHOALPY_FAILURE);
    shoalpy_stream_integer(stream, shoal_result_status(result));
    shoalpy_stream_integer(stream, (int64_t)shoal_result_fate(result));
    shoalpy_stream_bytes(stream, detail, strlen(detail));
    shoalpy_stream_integer(stream, shoal_result_attempts(result));
    shoalpy_stream_opcode(stream, OP_TUPLE);
}

static void write_error(const shoal_reply_t *reply, shoalpy_stream_t *stream)
{
    size_t bytes;
    const char *text = shoal_reply_string(reply, &bytes);

    shoalpy_stream_integer(stream, SHOALPY_ERROR);
    shoalpy_stream_bytes(stream, text, bytes);
    shoalpy_stream_opcode(stream, OP_TUPLE2);
}

static enum shoalpy_kind kind_of(const shoal_result_t *result)
{
    const shoal_reply_t *reply = shoal_result_reply(result);

    if (!reply)
        return SHOALPY_FAILURE;
    return shoal_reply_type(reply) == SHOAL_REPLY_ERROR ? SHOALPY_ERROR : SHOALPY_PLAIN;
}

enum shoalpy_kind shoalpy_result_write(const shoal_result_t *result,
                                       unsigned reply_flags, shoalpy_walk_t *walk,
                                       shoalpy_stream_t *stream)
{
    enum shoalpy_kind kind = kind_of(result);

    shoalpy_stream_begin(stream);
    if (kind == SHOALPY_FAILURE)
        write_failure(result, stream);
    else if (kind == SHOALPY_ERROR)
        write_error(shoal_result_reply(result), stream);
    else if (shoalpy_reply_write(walk, shoal_result_reply(result), reply_flags, stream))
        kind = SHOALPY_HELP;
    return kind;
}

/* ---- many ---- */

static void close_list(shoalpy_results_t *results)
{
    if (results->in_list)
        shoalpy_stream_opcode(&results->stream, OP_APPENDS);
    results->in_list = false;
}

static void open_list(shoalpy_results_t *results, uint64_t number)
{
    close_list(results);
    shoalpy_stream_integer(&results->stream, (int64_t)number);
    shoalpy_stream_opcode(&results->stream, OP_EMPTY_LIST);
    shoalpy_stream_opcode(&results->stream, OP_MARK);
    results->in_list = true;
}

/* A value that does not belong to a list of replies. */
static void add_alone(shoalpy_results_t *results, const shoal_result_t *result,
                      uint64_t number, enum shoalpy_kind kind, unsigned reply_flags)
{
    shoalpy_stream_t *stream = &results->stream;

    close_list(results);
    shoalpy_stream_integer(stream, (int64_t)number);
    if (kind == SHOALPY_FAILURE) {
        write_failure(result, stream);
    } else if (kind == SHOALPY_ERROR) {
        write_error(shoal_result_reply(result), stream);
    } else {
        shoalpy_stream_integer(stream, kind);
        shoalpy_reply_write(&results->walk, shoal_result_reply(result), reply_flags,
                            stream);
        shoalpy_stream_opcode(stream, OP_TUPLE2);
    }
}

void shoalpy_results_add(shoalpy_results_t *results, const shoal_result_t *result,
                         unsigned reply_flags)
{
    shoalpy_stream_t *stream = &results->stream;
    uint64_t number = shoalpy_number(shoal_result_ticket(result));
    enum shoalpy_kind kind = kind_of(result);

    if (!results->is_begun) {
        results->is_begun = true;
        shoalpy_stream_begin(stream);
        shoalpy_stream_opcode(stream, OP_EMPTY_LIST);
        shoalpy_stream_opcode(stream, OP_MARK);
    }
    if (kind == SHOALPY_PLAIN) {
        size_t before;
        if (!results->in_list || number != results->next)
            open_list(results, number);
        results->next = number + 1;
        before = stream->bytes;
        if (!shoalpy_reply_write(&results->walk, shoal_result_reply(result),
                                 reply_flags, stream))
            return;
        /* Not one of the list, after all. */
        stream->bytes = before;
        kind = SHOALPY_HELP;
    }
    add_alone(results, result, number, kind, reply_flags);
}

int64_t shoalpy_results_end(shoalpy_results_t *results)
{
    if (!results->is_begun)
        return 0;
    close_list(results);
    shoalpy_stream_opcode(&results->stream, OP_APPENDS);
    results->is_begun = false;
    if (!shoalpy_stream_end(&results->stream))
        return SHOAL_ENOMEM;
    return (int64_t)results->stream.bytes;
}
