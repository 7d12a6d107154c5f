/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fault_frames.h"

#include <string.h>

#define NUMBER_MAX ((uint64_t)1 << 48)

bool fault_frames_is_between(const fault_frames_t *frames)
{
    return frames->state == FAULT_FRAMES_TYPE && frames->children == 0;
}

static void take_type(fault_frames_t *frames, char type)
{
    if (frames->children == 0)
        frames->children = 1;
    frames->type = type;
    frames->is_null = false;
    frames->has_digit = false;
    frames->number = 0;
    if (strchr("+-:,#_(", type) && type != '\0')
        frames->state = FAULT_FRAMES_LINE;
    else if (strchr("$=!*~%>|", type) && type != '\0')
        frames->state = FAULT_FRAMES_LENGTH;
    else
        frames->state = FAULT_FRAMES_LOST;
}

static void finish_value(fault_frames_t *frames)
{
    frames->children--;
    frames->state = FAULT_FRAMES_TYPE;
}

/* The number of a blob or of an aggregate is complete. */
static void take_length(fault_frames_t *frames)
{
    uint64_t count = frames->is_null ? 0 : frames->number;

    switch (frames->type) {
    case '*':
    case '~':
    case '>':
        frames->children += count;
        finish_value(frames);
        break;
    case '%':
        frames->children += 2 * count;
        finish_value(frames);
        break;
    case '|': /* the value it is about comes behind it */
        frames->children += 2 * count;
        frames->state = FAULT_FRAMES_TYPE;
        break;
    default:
        if (frames->is_null) {
            finish_value(frames);
        } else {
            frames->skip = frames->number + 2;
            frames->state = FAULT_FRAMES_BLOB;
        }
    }
    if (frames->children > NUMBER_MAX)
        frames->state = FAULT_FRAMES_LOST;
}

static void take_digit(fault_frames_t *frames, char byte)
{
    if (byte == '\n' && frames->has_digit) {
        take_length(frames);
    } else if (byte >= '0' && byte <= '9' && frames->number < NUMBER_MAX) {
        frames->number = frames->number * 10 + (uint64_t)(byte - '0');
        frames->has_digit = true;
    } else if (byte == '-' && !frames->has_digit && !frames->is_null) {
        frames->is_null = true;
    } else if (byte != '\r') {
        frames->state = FAULT_FRAMES_LOST;
    }
}

/* Takes some bytes, at least one.  Returns how many. */
static size_t take_some(fault_frames_t *frames, const char *data, size_t bytes)
{
    const char *end;
    size_t count;

    switch (frames->state) {
    case FAULT_FRAMES_TYPE:
        take_type(frames, *data);
        return 1;
    case FAULT_FRAMES_LENGTH:
        take_digit(frames, *data);
        return 1;
    case FAULT_FRAMES_LINE:
        end = memchr(data, '\n', bytes);
        if (!end)
            return bytes;
        finish_value(frames);
        return (size_t)(end - data) + 1;
    case FAULT_FRAMES_BLOB:
        count = frames->skip < bytes ? (size_t)frames->skip : bytes;
        frames->skip -= count;
        if (frames->skip == 0)
            finish_value(frames);
        return count;
    case FAULT_FRAMES_LOST:
        break;
    }
    return bytes;
}

size_t fault_frames_feed(fault_frames_t *frames, const char *data, size_t bytes,
                         bool *ret_is_whole)
{
    size_t used = 0;

    *ret_is_whole = false;
    while (used < bytes && !*ret_is_whole) {
        used += take_some(frames, data + used, bytes - used);
        *ret_is_whole = fault_frames_is_between(frames);
    }
    return used;
}
