/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_DECODER_REFERENCE_H
#define TESTS_FUZZ_DECODER_REFERENCE_H

/*
 * What a stream of replies means, told a second time: by a decoder that has the whole
 * stream before it, recurses, and shares nothing with src/resp.
 *
 * The transcript has a line per frame, "reply" or "push" and the value, and a last line
 * on how the stream ended:
 *
 *     reply *2 +"OK" $"a\x00"
 *     push >1 +"x"
 *     end broken mid=1
 */

#include "resp/decoder.h"
#include <stdbool.h>
#include <stddef.h>

/* Text that grows. */
typedef struct transcript {
    char *text; /* NUL-terminated */
    size_t bytes, room;
} transcript_t;

void transcript_init(transcript_t *transcript);
void transcript_release(transcript_t *transcript);
/* Keep only the first `bytes` bytes. */
void transcript_cut(transcript_t *transcript, size_t bytes);
void transcript_print(transcript_t *transcript, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Append a sign and a text in quotes; bytes that are not plain ASCII are written as
 * \xHH. */
void transcript_quote(transcript_t *transcript, char sign, const char *text,
                      size_t bytes);
/* Append more of such a text, without quotes. */
void transcript_quote_more(transcript_t *transcript, const char *text, size_t bytes);
/* Append a double: the text that the server wrote, and its value. */
void transcript_double(transcript_t *transcript, const char *text, size_t bytes,
                       double value);
void transcript_end(transcript_t *transcript, bool is_broken, bool is_mid_reply);

/* Append the transcript of the stream.  With `discards` each reply is "reply
 * nowhere". */
void reference_decode(transcript_t *transcript, const shoal__decoder_limits_t *limits,
                      bool discards, const char *wire, size_t bytes);

/* How many bytes the attribute has that `wire` begins with; 0: `wire` begins with no
 * attribute, or with one that is broken or not whole. */
size_t reference_attribute_bytes(const shoal__decoder_limits_t *limits,
                                 const char *wire, size_t bytes);

#endif
