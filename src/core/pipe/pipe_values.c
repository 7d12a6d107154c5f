/* SPDX-License-Identifier: MIT */

/* Large values, which a pipe sends from their callers' memory.  The log has all other bytes
 * of their commands. */

#include "core/pipe/pipe.h"
#include <assert.h>
#include <string.h>

size_t shoal__pipe_referred(const shoal__pipe_t *pipe, uint64_t count)
{
    size_t bytes = 0;

    for (uint64_t i = 0; i < count && pipe->referred_bytes > 0; i++)
        bytes += shoal__request_referred_bytes(
            shoal__request_ring_at(&pipe->ring, pipe->ring.sent + i));
    return bytes;
}

/* ---- what leaves ---- */

/* Ranges, found one after the other. */
typedef struct gathering {
    shoal__bytes_t *parts;
    size_t count, parts_max;
    size_t skip_bytes; /* left before */
    size_t left_bytes; /* may leave */
} gathering_t;

static void add(gathering_t *gathering, const char *data, size_t bytes)
{
    size_t skipped = bytes < gathering->skip_bytes ? bytes : gathering->skip_bytes;
    shoal__bytes_t *last =
        gathering->count > 0 ? &gathering->parts[gathering->count - 1] : NULL;

    gathering->skip_bytes -= skipped;
    bytes -= skipped;
    if (bytes > gathering->left_bytes)
        bytes = gathering->left_bytes;
    if (bytes == 0)
        return;
    if (last && last->data + last->bytes == data + skipped) {
        last->bytes += bytes;
    } else if (gathering->count == gathering->parts_max) {
        gathering->left_bytes = 0;
        return;
    } else {
        gathering->parts[gathering->count++] = (shoal__bytes_t){data + skipped, bytes};
    }
    gathering->left_bytes -= bytes;
}

/* Add a command that stands at `at` in the log, and its values.  Returns its end there. */
static const char *add_request(gathering_t *gathering, const shoal__request_t *request,
                               const char *at)
{
    size_t done = 0;

    const shoal__values_t *values = shoal__request_values(request);

    for (uint32_t i = 0; values && i < values->count; i++) {
        const shoal__reference_t *value = &values->references[i];
        add(gathering, at + done, value->at - done);
        add(gathering, value->data, value->bytes);
        done = value->at;
    }
    add(gathering, at + done, request->bytes - done);
    return at + request->bytes;
}

size_t shoal__pipe_ranges(const shoal__pipe_t *pipe, size_t bytes_max,
                          shoal__bytes_t *ret_parts, size_t parts_max)
{
    gathering_t gathering = {.parts = ret_parts,
                             .parts_max = parts_max,
                             .skip_bytes = pipe->part_bytes,
                             .left_bytes = pipe->authorised_bytes < bytes_max
                                               ? pipe->authorised_bytes
                                               : bytes_max};
    const char *at = shoal__buffer_data(&pipe->log) + pipe->sent_bytes;

    for (uint64_t i = pipe->ring.sent; gathering.left_bytes > 0; i++)
        at = add_request(&gathering, shoal__request_ring_at(&pipe->ring, i), at);
    return gathering.count;
}

/* ---- what must still leave ---- */

/* Where the request at `at`, which is not written, begins in the log. */
static size_t log_offset(const shoal__pipe_t *pipe, uint64_t at)
{
    size_t bytes = pipe->sent_bytes;

    for (uint64_t i = pipe->ring.sent; i != at; i++)
        bytes += shoal__request_ring_at(&pipe->ring, i)->bytes;
    return bytes;
}

/* Of the first `written` bytes of a command, so many are of its value i.  before: the bytes
 * of the values in front of that. */
static size_t written_of(const shoal__reference_t *value, size_t before, size_t written)
{
    size_t begin = value->at + before;

    if (written <= begin)
        return 0;
    return written - begin < value->bytes ? written - begin : value->bytes;
}

/* Put what is left of the values into the log, where they belong; room was reserved.  From
 * the last value to the first: each moves what is behind it. */
static void insert_rest(shoal__pipe_t *pipe, const shoal__values_t *values,
                        size_t offset, size_t written, size_t rest)
{
    char *log = shoal__buffer_data(&pipe->log);
    size_t end = shoal__buffer_bytes(&pipe->log), before = values->bytes;

    for (uint32_t i = values->count; i-- > 0;) {
        const shoal__reference_t *value = &values->references[i];
        size_t place = offset + value->at;

        before -= value->bytes;
        size_t gone = written_of(value, before, written);
        memmove(log + place + rest, log + place, end - place);
        rest -= value->bytes - gone;
        memcpy(log + place + rest, value->data + gone, value->bytes - gone);
        end = place;
    }
    assert(rest == 0);
}

void shoal__pipe_copy_values(shoal__pipe_t *pipe, uint64_t at)
{
    shoal__request_t *request = shoal__request_ring_at(&pipe->ring, at);
    size_t written = at == pipe->ring.sent ? pipe->part_bytes : 0;
    const shoal__values_t *values = shoal__request_values(request);
    size_t before = 0, gone = 0;

    if (!values)
        return;
    for (uint32_t i = 0; i < values->count; i++) {
        gone += written_of(&values->references[i], before, written);
        before += values->references[i].bytes;
    }
    size_t rest = values->bytes - gone;
    if (!shoal__buffer_reserve(&pipe->log, rest)) {
        pipe->is_torn = true;
        return;
    }
    insert_rest(pipe, values, log_offset(pipe, at), written, rest);
    shoal__buffer_commit(&pipe->log, rest);
    /* What left of the values is in no account any more; their bytes go with the extra. */
    pipe->part_bytes -= gone;
    request->bytes += (uint32_t)rest;
    shoal__flush_policy_removed(&pipe->flush, 0, gone, pipe->now_us);
    shoal__counter_add(&pipe->stats.bytes_copied, rest);
}
