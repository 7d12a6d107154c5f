/* SPDX-License-Identifier: MIT */
#include "unit/resp/transcript.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void transcript_clear(transcript_t *transcript)
{
    transcript->bytes = 0;
    transcript->text[0] = '\0';
}

void transcript_add(transcript_t *transcript, const char *data, size_t bytes)
{
    size_t room = sizeof transcript->text - 1 - transcript->bytes;

    if (bytes > room)
        bytes = room;
    memcpy(transcript->text + transcript->bytes, data, bytes);
    transcript->bytes += bytes;
    transcript->text[transcript->bytes] = '\0';
}

void transcript_print(transcript_t *transcript, const char *format, ...)
{
    char text[100];
    va_list args;

    va_start(args, format);
    int bytes = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    transcript_add(transcript, text, (size_t)bytes);
}

/* The signs of RESP, by shoal_reply_type_t; arrays have none. */
static const char *transcript_sign(shoal_reply_type_t type)
{
    static const char *const signs[] = {"_", "+", "-", ":", "$", "", ",",
                                        "#", "%", "~", ">", "(", "="};
    return signs[type];
}

static void transcript_on_leaf(const shoal_reply_t *leaf, void *data)
{
    transcript_t *transcript = data;
    size_t bytes;
    const char *text = shoal_reply_string(leaf, &bytes);

    transcript_print(transcript, "%s", transcript_sign(shoal_reply_type(leaf)));
    if (shoal_reply_type(leaf) == SHOAL_REPLY_VERBATIM)
        transcript_print(transcript, "%s:", shoal_reply_verbatim_format(leaf));
    if (text && text[bytes] != '\0')
        transcript_print(transcript, "WITHOUT AN END ");
    if (text)
        transcript_add(transcript, text, bytes);
    else if (shoal_reply_type(leaf) != SHOAL_REPLY_NIL)
        transcript_print(transcript, "%lld", (long long)shoal_reply_integer(leaf));
    if (shoal_reply_type(leaf) == SHOAL_REPLY_DOUBLE)
        transcript_print(transcript, "=%g", shoal_reply_double(leaf));
    transcript_add(transcript, " ", 1);
}

static void transcript_on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    transcript_print(data, "%s[%zu ", transcript_sign(type), count);
}

static void transcript_on_end(void *data)
{
    transcript_add(data, "] ", 2);
}

static void transcript_on_reset(void *data)
{
    transcript_add(data, "RESET ", 6);
}

const shoal_sink_t transcript_sink = {transcript_on_leaf, transcript_on_begin,
                                      transcript_on_end, transcript_on_reset};
