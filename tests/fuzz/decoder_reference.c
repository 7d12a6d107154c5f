/* SPDX-License-Identifier: MIT */
#include "decoder_reference.h"

#include "fuzz_input.h"
#include <inttypes.h>
#include <math.h>
#include <strings.h>

#define LINE_BYTES_MAX 65536
#define DOUBLE_BYTES_MAX 325

typedef enum parsed { WHOLE, INCOMPLETE, BROKEN } parsed_t;

typedef struct line {
    const char *text;
    size_t bytes;
} line_t;

typedef struct reference {
    const char *at, *end;
    const char *frame;  /* where the present frame begins */
    uint64_t due_bytes; /* its least size by its last string header; 0: there is none */
    const shoal__decoder_limits_t *limits;
    transcript_t *transcript;
    bool discards;
} reference_t;

static parsed_t parse_value(reference_t *self, char type, int depth);

/* ---- lines ---- */

static parsed_t take_line(reference_t *self, char type, line_t *ret_line)
{
    bool is_text = type == '+' || type == '-' || type == '(';
    size_t left = (size_t)(self->end - self->at);
    const char *end = left >= 2 ? memmem(self->at, left, "\r\n", 2) : NULL;

    if (!end)
        return !is_text && left >= LINE_BYTES_MAX + 2 ? BROKEN : INCOMPLETE;
    *ret_line = (line_t){self->at, (size_t)(end - self->at)};
    self->at = end + 2;
    return WHOLE;
}

/* True if the line is the only accepted way to write a number of 64 bits: no plus, no
 * leading zero, no -0. */
static bool is_integer(line_t line, int64_t *ret_value)
{
    bool is_negative = line.bytes > 0 && line.text[0] == '-';
    uint64_t max = is_negative ? UINT64_C(1) << 63 : INT64_MAX, value = 0;
    size_t first = is_negative ? 1 : 0;

    if (line.bytes == first)
        return false;
    if (line.text[first] == '0' && line.bytes > 1)
        return false;
    for (size_t i = first; i < line.bytes; i++) {
        uint64_t digit = (uint64_t)(line.text[i] - '0');
        if (line.text[i] < '0' || line.text[i] > '9' || value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret_value = is_negative ? -(int64_t)(value - 1) - 1 : (int64_t)value;
    return true;
}

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* [-] digits [. digits] [e [sign] digits], with a digit before or behind the point. */
static bool is_decimal(const char *text)
{
    const char *at = text + (*text == '-');
    size_t digits = count_digits(at);

    at += digits;
    if (*at == '.') {
        size_t decimals = count_digits(at + 1);
        digits += decimals;
        at += 1 + decimals;
    }
    if (digits == 0)
        return false;
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        if (count_digits(at) == 0)
            return false;
        at += count_digits(at);
    }
    return *at == '\0';
}

/* True if the number is written as 0.  A number that only rounds to 0 is refused. */
static bool is_zero(const char *text)
{
    return strcspn(text, "123456789") >= strcspn(text, "eE");
}

static bool is_double(line_t line, double *ret_value)
{
    char text[DOUBLE_BYTES_MAX + 1];

    if (line.bytes > DOUBLE_BYTES_MAX || memchr(line.text, '\0', line.bytes))
        return false;
    memcpy(text, line.text, line.bytes);
    text[line.bytes] = '\0';
    if (strcasecmp(text, "inf") == 0 || strcasecmp(text, "-inf") == 0) {
        *ret_value = *text == '-' ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    if (strcasecmp(text, "nan") == 0 || strcasecmp(text, "-nan") == 0) {
        *ret_value = (double)NAN;
        return true;
    }
    if (!is_decimal(text))
        return false;
    *ret_value = strtod(text, NULL);
    return isfinite(*ret_value) && (fpclassify(*ret_value) != FP_ZERO || is_zero(text));
}

/* A NUL stands for false as well, because hiredis accepts it. */
static bool is_bool(line_t line, bool *ret_value)
{
    if (line.bytes != 1 || !memchr("tTfF", line.text[0], sizeof "tTfF"))
        return false;
    *ret_value = line.text[0] == 't' || line.text[0] == 'T';
    return true;
}

/* An empty number, and a sign alone, are accepted, because hiredis accepts them. */
static bool is_big_number(line_t line)
{
    for (size_t i = 0; i < line.bytes; i++)
        if ((line.text[i] < '0' || line.text[i] > '9') &&
            !(i == 0 && *line.text == '-'))
            return false;
    return true;
}

static bool is_plain(line_t line)
{
    return !memchr(line.text, '\r', line.bytes) && !memchr(line.text, '\n', line.bytes);
}

static parsed_t parse_line(reference_t *self, char type)
{
    line_t line;
    int64_t integer;
    double number;
    bool truth;
    parsed_t parsed = take_line(self, type, &line);

    if (parsed != WHOLE)
        return parsed;
    if (type == ':' && is_integer(line, &integer))
        transcript_print(self->transcript, " :%" PRId64, integer);
    else if (type == ',' && is_double(line, &number))
        transcript_double(self->transcript, line.text, line.bytes, number);
    else if (type == '#' && is_bool(line, &truth))
        transcript_print(self->transcript, " #%d", truth ? 1 : 0);
    else if (type == '_' && line.bytes == 0)
        transcript_print(self->transcript, " _");
    else if (((type == '+' || type == '-') && is_plain(line)) ||
             (type == '(' && is_big_number(line)))
        transcript_quote(self->transcript, type, line.text, line.bytes);
    else
        return BROKEN;
    return WHOLE;
}

/* ---- strings ---- */

static parsed_t parse_string(reference_t *self, char type)
{
    line_t line;
    int64_t bytes;
    parsed_t parsed = take_line(self, '$', &line);

    if (parsed != WHOLE)
        return parsed;
    if (!is_integer(line, &bytes) || bytes < (type == '$' ? -1 : 0))
        return BROKEN;
    if (bytes == -1) {
        transcript_print(self->transcript, " _");
        return WHOLE;
    }
    self->due_bytes = (uint64_t)(self->at - self->frame) + (uint64_t)bytes + 2;
    if ((uint64_t)(self->end - self->at) < (uint64_t)bytes + 2)
        return INCOMPLETE;
    if (memcmp(self->at + bytes, "\r\n", 2) != 0)
        return BROKEN;
    if (type == '=') {
        if (bytes < 4 || self->at[3] != ':')
            return BROKEN;
    }
    transcript_quote(self->transcript, type, self->at, (size_t)bytes);
    self->at += bytes + 2;
    return WHOLE;
}

/* ---- aggregates ---- */

/* Inside an aggregate a push or an attribute is refused, once its header is whole. */
static parsed_t parse_child(reference_t *self, int depth)
{
    line_t line;

    if (self->at == self->end)
        return INCOMPLETE;
    char type = *self->at++;
    if (type == '>' || type == '|')
        return take_line(self, '$', &line) == INCOMPLETE ? INCOMPLETE : BROKEN;
    return parse_value(self, type, depth);
}

static parsed_t parse_aggregate(reference_t *self, char type, int depth)
{
    line_t line;
    int64_t count;
    parsed_t parsed = take_line(self, '$', &line);

    if (parsed != WHOLE)
        return parsed;
    if (!is_integer(line, &count) || count < (type == '*' ? -1 : 0))
        return BROKEN;
    if (count == -1) {
        transcript_print(self->transcript, " _");
        return WHOLE;
    }
    if (count > INT32_MAX || depth >= self->limits->depth_max)
        return BROKEN;
    if (type == '%' || type == '|')
        count *= 2;
    if ((uint64_t)count > self->limits->elements_max)
        return BROKEN;
    transcript_print(self->transcript, " %c%" PRId64, type, count);
    for (int64_t i = 0; i < count && parsed == WHOLE; i++)
        parsed = parse_child(self, depth + 1);
    return parsed;
}

static parsed_t parse_value(reference_t *self, char type, int depth)
{
    if (memchr("+-:,#_(", type, 7))
        return parse_line(self, type);
    if (type == '$' || type == '=')
        return parse_string(self, type);
    if (memchr("*%~>|", type, 5))
        return parse_aggregate(self, type, depth);
    return BROKEN;
}

/* ---- frames ---- */

/* True if the frame is too long, or if a header in it already says that it will be. */
static bool is_too_long(const reference_t *self, parsed_t parsed)
{
    uint64_t bytes = (uint64_t)((parsed == WHOLE ? self->at : self->end) - self->frame);

    if (parsed != WHOLE && self->due_bytes > bytes)
        bytes = self->due_bytes;
    return bytes > self->limits->bytes_max;
}

static parsed_t parse_frame(reference_t *self, char type)
{
    size_t begin = self->transcript->bytes;
    bool is_push = type == '>', is_attribute = type == '|';

    self->due_bytes = 0;
    transcript_print(self->transcript, is_push ? "push" : "reply");
    parsed_t parsed = parse_value(self, type, 0);

    if (parsed != BROKEN && is_too_long(self, parsed))
        parsed = BROKEN;
    if (parsed != WHOLE || is_attribute)
        transcript_cut(self->transcript, begin);
    if (parsed != WHOLE || is_attribute)
        return parsed;
    if (self->discards && !is_push) {
        transcript_cut(self->transcript, begin);
        transcript_print(self->transcript, "reply nowhere");
    }
    transcript_print(self->transcript, "\n");
    return WHOLE;
}

void reference_decode(transcript_t *transcript, const shoal__decoder_limits_t *limits,
                      bool discards, const char *wire, size_t bytes)
{
    reference_t self = {.at = wire,
                        .end = wire + bytes,
                        .limits = limits,
                        .transcript = transcript,
                        .discards = discards};
    parsed_t parsed = WHOLE;
    char type = '\0';

    while (parsed == WHOLE && self.at < self.end) {
        self.frame = self.at;
        type = *self.at++;
        parsed = parse_frame(&self, type);
    }
    bool is_reply = type && memchr("+-:,#_($=*%~", type, 12);
    transcript_end(transcript, parsed == BROKEN, parsed != WHOLE && is_reply);
}

size_t reference_attribute_bytes(const shoal__decoder_limits_t *limits,
                                 const char *wire, size_t bytes)
{
    transcript_t transcript;
    reference_t self = {.at = wire + 1,
                        .end = wire + bytes,
                        .frame = wire,
                        .limits = limits,
                        .transcript = &transcript};
    bool is_whole;

    if (bytes == 0 || *wire != '|')
        return 0;
    transcript_init(&transcript);
    is_whole = parse_frame(&self, *wire) == WHOLE;
    transcript_release(&transcript);
    return is_whole ? (size_t)(self.at - wire) : 0;
}
