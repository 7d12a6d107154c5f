/* SPDX-License-Identifier: MIT */
#include "decoder_reference.h"

#include "fuzz_input.h"
#include <stdarg.h>

void transcript_init(transcript_t *transcript)
{
    *transcript = (transcript_t){.text = malloc(256), .room = 256};
    FUZZ_CHECK(transcript->text, "no memory");
    transcript->text[0] = '\0';
}

void transcript_release(transcript_t *transcript)
{
    free(transcript->text);
    transcript->text = NULL;
}

void transcript_cut(transcript_t *transcript, size_t bytes)
{
    transcript->bytes = bytes;
    transcript->text[bytes] = '\0';
}

static char *reserve(transcript_t *transcript, size_t more)
{
    size_t room = transcript->bytes + more + 1;

    if (room > transcript->room) {
        transcript->room = 2 * room;
        transcript->text = realloc(transcript->text, transcript->room);
        FUZZ_CHECK(transcript->text, "no memory");
    }
    return transcript->text + transcript->bytes;
}

void transcript_print(transcript_t *transcript, const char *format, ...)
{
    char *at = reserve(transcript, 100);
    va_list args;

    va_start(args, format);
    int bytes = vsnprintf(at, 100, format, args);
    va_end(args);
    FUZZ_CHECK(bytes >= 0 && bytes < 100, "a longer line than expected");
    transcript->bytes += (size_t)bytes;
}

void transcript_quote_more(transcript_t *transcript, const char *text, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    char *at = reserve(transcript, 4 * bytes);

    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= ' ' && c <= '~' && c != '"' && c != '\\') {
            *at++ = (char)c;
            continue;
        }
        *at++ = '\\';
        *at++ = 'x';
        *at++ = digits[c >> 4];
        *at++ = digits[c & 15];
    }
    *at = '\0';
    transcript->bytes = (size_t)(at - transcript->text);
}

void transcript_quote(transcript_t *transcript, char sign, const char *text,
                      size_t bytes)
{
    transcript_print(transcript, " %c\"", sign);
    transcript_quote_more(transcript, text, bytes);
    transcript_print(transcript, "\"");
}

void transcript_double(transcript_t *transcript, const char *text, size_t bytes,
                       double value)
{
    transcript_quote(transcript, ',', text, bytes);
    transcript_print(transcript, "=%.17g", value);
}

void transcript_end(transcript_t *transcript, bool is_broken, bool is_mid_reply)
{
    transcript_print(transcript, "end %s mid=%d\n", is_broken ? "broken" : "ok",
                     is_mid_reply ? 1 : 0);
}
