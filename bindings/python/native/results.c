/* SPDX-License-Identifier: MIT */
#include "results.h"

#include "opcodes.h"
#include <shoal/errors.h>
#include <string.h>

#define UNUSUAL (UINT64_C(1) << 62)

uint64_t shoalpy_number(uint64_t ticket, bool is_borrowed)
{
    bool is_loops = (ticket & SHOAL_TICKET_OF_LOOP) != 0;

    return (ticket & ~SHOAL_TICKET_OF_LOOP) | (is_loops == is_borrowed ? 0 : UNUSUAL);
}

uint64_t shoalpy_ticket(uint64_t number, bool is_borrowed)
{
    bool is_usual = (number & UNUSUAL) == 0;

    return (number & ~UNUSUAL) | (is_usual == is_borrowed ? SHOAL_TICKET_OF_LOOP : 0);
}

/* ---- one value ---- */

static void write_outcome(int status, shoal_fate_t fate, const char *detail,
                          uint32_t attempts, bool is_offline, shoalpy_stream_t *stream)
{
    shoalpy_stream_opcode(stream, OP_MARK);
    shoalpy_stream_integer(stream, SHOALPY_FAILURE);
    shoalpy_stream_integer(stream, status);
    shoalpy_stream_integer(stream, (int64_t)fate);
    shoalpy_stream_bytes(stream, detail, strlen(detail));
    shoalpy_stream_integer(stream, attempts);
    shoalpy_stream_integer(stream, is_offline);
    shoalpy_stream_opcode(stream, OP_TUPLE);
}

static void write_failure(const shoal_result_t *result, shoalpy_stream_t *stream)
{
    write_outcome(shoal_result_status(result), shoal_result_fate(result),
                  shoal_result_detail(result), shoal_result_attempts(result),
                  shoal_result_is_offline(result), stream);
}

static void write_error(const shoal_reply_t *reply, shoalpy_stream_t *stream)
{
    size_t bytes;
    const char *text = shoal_reply_string(reply, &bytes);

    shoalpy_stream_integer(stream, SHOALPY_ERROR);
    shoalpy_stream_bytes(stream, text, bytes);
    shoalpy_stream_opcode(stream, OP_TUPLE2);
}

/* A result without a reply and without a failure is PLAIN: a sink took the reply. */
static enum shoalpy_kind kind_of(const shoal_result_t *result)
{
    const shoal_reply_t *reply = shoal_result_reply(result);

    if (shoal_result_status(result) < 0)
        return SHOALPY_FAILURE;
    return reply && shoal_reply_type(reply) == SHOAL_REPLY_ERROR ? SHOALPY_ERROR
                                                                 : SHOALPY_PLAIN;
}

bool shoalpy_result_is_problem(const shoal_result_t *result)
{
    return kind_of(result) != SHOALPY_PLAIN;
}

void shoalpy_result_write_problem(const shoal_result_t *result,
                                  shoalpy_stream_t *stream)
{
    if (kind_of(result) == SHOALPY_FAILURE)
        write_failure(result, stream);
    else
        write_error(shoal_result_reply(result), stream);
}

enum shoalpy_kind shoalpy_result_write(const shoal_result_t *result,
                                       shoalpy_writer_t *writer,
                                       shoalpy_stream_t *stream)
{
    enum shoalpy_kind kind = kind_of(result);

    if (kind == SHOALPY_PLAIN) {
        const shoal_reply_t *reply = shoal_result_reply(result);
        if (reply)
            shoal_reply_visit(reply, &shoalpy_writer_sink, writer);
        else if (writer->flags & SHOALPY_INTO)
            shoalpy_stream_opcode(stream, OP_NONE);
        writer->is_under_way = false;
        return writer->needs_help ? SHOALPY_HELP : SHOALPY_PLAIN;
    }
    shoalpy_stream_begin(stream);
    shoalpy_result_write_problem(result, stream);
    return kind;
}

/* ---- the list ---- */

void shoalpy_results_init(shoalpy_results_t *results, bool is_borrowed)
{
    results->is_borrowed = is_borrowed;
    for (unsigned i = 0; i < SHOALPY_REPLY_FLAGS; i++)
        results->ways[i] = (shoalpy_way_t){results, i};
}

void shoalpy_results_release(shoalpy_results_t *results)
{
    shoalpy_stream_release(&results->stream);
    shoalpy_stream_release(&results->aside);
    shoalpy_writer_release(&results->writer);
    shoalpy_stream_release(&results->whole);
    shoalpy_writer_release(&results->whole_writer);
}

void shoalpy_results_clear(shoalpy_results_t *results)
{
    results->is_begun = results->in_list = results->is_aside = false;
    results->writer.is_under_way = false;
    results->count = 0;
}

static void begin(shoalpy_results_t *results)
{
    if (results->is_begun)
        return;
    results->is_begun = true;
    shoalpy_stream_begin(&results->stream);
    shoalpy_stream_opcode(&results->stream, OP_EMPTY_LIST);
    shoalpy_stream_opcode(&results->stream, OP_MARK);
}

/* An empty list is dropped: its reply belongs to another command. */
static void close_list(shoalpy_results_t *results)
{
    if (results->in_list && results->is_list_empty)
        results->stream.bytes = results->list_from;
    else if (results->in_list)
        shoalpy_stream_opcode(&results->stream, OP_APPENDS);
    results->in_list = false;
}

/* Replies that follow are those of command `number` and the next ones. */
static void open_list(shoalpy_results_t *results, uint64_t number)
{
    begin(results);
    if (results->in_list && results->next == number)
        return;
    close_list(results);
    results->list_from = results->stream.bytes;
    results->is_list_empty = true;
    shoalpy_stream_integer(&results->stream, (int64_t)number);
    shoalpy_stream_opcode(&results->stream, OP_EMPTY_LIST);
    shoalpy_stream_opcode(&results->stream, OP_MARK);
    results->in_list = true;
    results->next = number;
}

/* ---- the reply under way ---- */

/* Move the written part away, so that other values can stand at the stream's end. */
static void put_aside(shoalpy_results_t *results)
{
    shoalpy_stream_t *stream = &results->stream;
    size_t from = results->writer.from;

    if (!results->writer.is_under_way || results->is_aside)
        return;
    results->aside.bytes = 0;
    results->aside.is_broken = stream->is_broken;
    if (!stream->is_broken)
        shoalpy_stream_raw(&results->aside, stream->data + from, stream->bytes - from);
    stream->bytes = from;
    results->is_aside = true;
}

/* Move that part back to the stream's end. */
static void put_back(shoalpy_results_t *results)
{
    shoalpy_stream_t *stream = &results->stream;

    if (!results->is_aside)
        return;
    results->is_aside = false;
    results->writer.from = stream->bytes;
    shoalpy_stream_raw(stream, results->aside.data, results->aside.bytes);
    stream->is_broken |= results->aside.is_broken;
    if (results->aside.capacity > SHOALPY_STREAM_KEPT)
        shoalpy_stream_release(&results->aside);
}

/* The reply begins, or goes on at the stream's end. */
static shoalpy_writer_t *ready_writer(const shoalpy_way_t *way)
{
    shoalpy_results_t *results = way->results;

    open_list(results, results->next);
    if (results->is_aside)
        put_back(results);
    else
        shoalpy_writer_begin(&results->writer, way->reply_flags, &results->stream);
    return &results->writer;
}

static inline shoalpy_writer_t *writer_of(const shoalpy_way_t *way)
{
    shoalpy_results_t *results = way->results;

    if (results->writer.is_under_way && !results->is_aside)
        return &results->writer;
    return ready_writer(way);
}

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    shoalpy_writer_leaf(writer_of(data), leaf);
}

static void on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    shoalpy_writer_open(writer_of(data), type, count);
}

static void on_end(void *data)
{
    shoalpy_writer_close(writer_of(data));
}

static void on_reset(void *data)
{
    shoalpy_results_t *results = ((const shoalpy_way_t *)data)->results;

    if (!results->is_aside)
        shoalpy_writer_reset(&results->writer);
    results->writer.is_under_way = results->is_aside = false;
}

const shoal_sink_t shoalpy_results_sink = {
    .on_leaf = on_leaf, .on_begin = on_begin, .on_end = on_end, .on_reset = on_reset};

/* ---- results ---- */

/* If there was no memory for the reply, cut it off: the rest of the stream is sound.
 * False: the reply is there. */
static bool cut_off(shoalpy_results_t *results)
{
    shoalpy_writer_t *writer = &results->writer;
    shoalpy_stream_t *stream = &results->stream;

    if (!writer->is_under_way || results->is_aside || !stream->is_broken ||
        writer->was_broken)
        return false;
    stream->bytes = writer->from;
    stream->is_broken = writer->is_under_way = false;
    return true;
}

static void add_lost_reply(shoalpy_results_t *results, uint64_t number)
{
    close_list(results);
    shoalpy_stream_integer(&results->stream, (int64_t)number);
    write_outcome(SHOAL_ENOMEM, SHOAL_FATE_REPLY_LOST, "no memory for the reply", 1,
                  false, &results->stream);
    results->next = number + 1;
}

/* A reply that did not come by the sink. */
static void add_whole_reply(shoalpy_results_t *results, const shoal_reply_t *reply,
                            uint64_t number, unsigned reply_flags)
{
    shoalpy_stream_t *stream = &results->stream;
    shoalpy_stream_t *whole = &results->whole;
    bool needs_help;

    put_aside(results);
    whole->bytes = 0;
    whole->is_broken = false;
    needs_help = shoalpy_reply_write(&results->whole_writer, reply, reply_flags, whole);
    if (whole->is_broken) {
        add_lost_reply(results, number);
        shoalpy_stream_release(whole);
        return;
    }
    if (needs_help) {
        close_list(results);
        shoalpy_stream_integer(stream, (int64_t)number);
        shoalpy_stream_integer(stream, SHOALPY_HELP);
    } else {
        open_list(results, number);
    }
    shoalpy_stream_raw(stream, whole->data, whole->bytes);
    if (needs_help)
        shoalpy_stream_opcode(stream, OP_TUPLE2);
    else
        results->is_list_empty = false;
    results->next = number + 1;
    if (whole->capacity > SHOALPY_STREAM_KEPT)
        shoalpy_stream_release(whole);
}

/* A large string went where its caller wanted it. */
static void add_none(shoalpy_results_t *results, uint64_t number)
{
    put_aside(results);
    open_list(results, number);
    shoalpy_stream_opcode(&results->stream, OP_NONE);
    results->is_list_empty = false;
    results->next = number + 1;
}

/* The reply under way belongs to command `number`. */
static void add_reply(shoalpy_results_t *results, uint64_t number)
{
    shoalpy_writer_t *writer = &results->writer;

    if (cut_off(results)) {
        add_lost_reply(results, number);
        return;
    }
    if (writer->needs_help || number != results->next || results->is_aside) {
        put_aside(results);
        if (writer->needs_help) {
            close_list(results);
            shoalpy_stream_integer(&results->stream, (int64_t)number);
            shoalpy_stream_integer(&results->stream, SHOALPY_HELP);
        } else {
            open_list(results, number);
        }
        put_back(results);
        if (writer->needs_help)
            shoalpy_stream_opcode(&results->stream, OP_TUPLE2);
    }
    writer->is_under_way = results->is_list_empty = false;
    results->next = number + 1;
}

void shoalpy_results_add(shoalpy_results_t *results, const shoal_result_t *result,
                         unsigned reply_flags)
{
    shoalpy_stream_t *stream = &results->stream;
    uint64_t number = shoalpy_number(shoal_result_ticket(result), results->is_borrowed);

    begin(results);
    results->count++;
    if (!shoalpy_result_is_problem(result)) {
        const shoal_reply_t *reply = shoal_result_reply(result);
        if (reply)
            add_whole_reply(results, reply, number, reply_flags);
        else if (reply_flags & SHOALPY_INTO)
            add_none(results, number);
        else
            add_reply(results, number);
        return;
    }
    put_aside(results);
    close_list(results);
    shoalpy_stream_integer(stream, (int64_t)number);
    shoalpy_result_write_problem(result, stream);
    if (number == results->next)
        results->next = number + 1;
}

int64_t shoalpy_results_end(shoalpy_results_t *results)
{
    if (results->count == 0)
        return 0;
    put_aside(results);
    close_list(results);
    shoalpy_stream_opcode(&results->stream, OP_APPENDS);
    results->is_begun = false;
    results->count = 0;
    if (!shoalpy_stream_end(&results->stream))
        return SHOAL_ENOMEM;
    return (int64_t)results->stream.bytes;
}
