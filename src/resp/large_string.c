/* SPDX-License-Identifier: MIT */
#include "resp/large_string.h"

#include <string.h>

#define LINE_END_BYTES 2
/* An announced length is believed while the memory stays below this. */
#define TRUST_BYTES 262144
#define TRUST_PER_RECEIVED_BYTE 16
/* Fewer bytes are not worth a read of their own. */
#define ROOM_BYTES_MIN 16384

/* The string and its line end. */
static uint64_t whole_bytes(const shoal__large_string_t *large)
{
    return large->bytes + LINE_END_BYTES;
}

static uint64_t missing_bytes(const shoal__large_string_t *large)
{
    return whole_bytes(large) - large->received;
}

/* Memory for the text, if `received` bytes are or will be there.  False: there is none. */
static bool reserve(shoal__large_string_t *large, shoal__frame_t *frame,
                    uint64_t received)
{
    uint64_t capacity = TRUST_BYTES + TRUST_PER_RECEIVED_BYTE * received;
    char *text;

    if (capacity > whole_bytes(large))
        capacity = whole_bytes(large);
    if (capacity > SIZE_MAX)
        return false;
    text =
        shoal__arena_grow(frame->arena, large->text, large->capacity, (size_t)capacity);
    if (!text)
        return false;
    large->text = text;
    large->capacity = (size_t)capacity;
    return true;
}

bool shoal__large_string_begin(shoal__large_string_t *large, shoal__frame_t *frame,
                               uint64_t bytes, size_t at_hand)
{
    *large = (shoal__large_string_t){.is_open = true, .bytes = bytes};
    if (!shoal__frame_string_begin(frame, bytes, &large->node))
        return false;
    return !large->node || reserve(large, frame, at_hand);
}

/* Text that came elsewhere goes to its place.  False: no memory. */
static bool put(shoal__large_string_t *large, shoal__frame_t *frame, const char *data,
                size_t bytes)
{
    size_t received = (size_t)large->received;

    if (data == large->text + received)
        return true; /* it was read into the room */
    if (bytes > large->capacity - received &&
        !reserve(large, frame, large->received + bytes))
        return false;
    memcpy(large->text + received, data, bytes);
    return true;
}

/* Bytes of the string itself, for whoever wants them. */
static void give_chunk(const shoal__large_string_t *large, shoal__frame_t *frame,
                       const char *data, size_t bytes)
{
    uint64_t left = large->received < large->bytes ? large->bytes - large->received : 0;

    if (bytes > left)
        bytes = (size_t)left;
    if (bytes > 0)
        shoal__frame_string_chunk(frame, data, bytes);
}

static void keep_line_end(shoal__large_string_t *large, const char *data, size_t bytes)
{
    for (size_t i = 0; i < LINE_END_BYTES; i++) {
        uint64_t at = large->bytes + i;
        if (at >= large->received && at - large->received < bytes)
            large->line_end[i] = data[at - large->received];
    }
}

static void finish(shoal__large_string_t *large, shoal__frame_t *frame)
{
    shoal_reply_t *node = large->node;

    if (frame->mode == SHOAL__FRAME_TREE) {
        large->text[large->bytes] = '\0';
        node->as.text.data = large->text;
        node->as.text.bytes = (size_t)large->bytes;
    }
    *large = (shoal__large_string_t){0};
    shoal__frame_string_end(frame, node);
}

shoal__large_took_t shoal__large_string_take(shoal__large_string_t *large,
                                             shoal__frame_t *frame, const char *data,
                                             size_t bytes, size_t *ret_taken)
{
    if (bytes > missing_bytes(large))
        bytes = (size_t)missing_bytes(large);
    *ret_taken = bytes;
    if (frame->mode == SHOAL__FRAME_CHUNKS)
        give_chunk(large, frame, data, bytes);
    else if (frame->mode == SHOAL__FRAME_TREE && !put(large, frame, data, bytes))
        return SHOAL__LARGE_NO_MEMORY;
    keep_line_end(large, data, bytes);
    large->received += bytes;
    if (missing_bytes(large) > 0)
        return SHOAL__LARGE_MORE;
    if (memcmp(large->line_end, "\r\n", LINE_END_BYTES) != 0)
        return SHOAL__LARGE_BROKEN;
    finish(large, frame);
    return SHOAL__LARGE_WHOLE;
}

char *shoal__large_string_room(shoal__large_string_t *large, shoal__frame_t *frame,
                               size_t *ret_bytes)
{
    if (!large->is_open || frame->mode != SHOAL__FRAME_TREE ||
        missing_bytes(large) < ROOM_BYTES_MIN)
        return NULL;
    if (large->capacity == large->received && !reserve(large, frame, large->received))
        return NULL; /* the next bytes find out that memory ran out */
    *ret_bytes = large->capacity - (size_t)large->received;
    return large->text + large->received;
}
