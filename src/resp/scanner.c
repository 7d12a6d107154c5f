/* SPDX-License-Identifier: MIT */
#include "resp/scanner.h"

#include <string.h>

/* The decoder's bound of a line that is not text.  For a line of text only bytes_max
 * counts here. */
#define LINE_BYTES_MAX 65536
#define DIGITS_MAX 18

void shoal__scanner_init(shoal__scanner_t *scanner, uint64_t bytes_max)
{
    *scanner = (shoal__scanner_t){.bytes_max = bytes_max};
}

void shoal__scanner_drop(shoal__scanner_t *scanner, size_t bytes)
{
    scanner->begin -= bytes;
    scanner->end -= bytes;
    scanner->at -= bytes;
    scanner->searched = scanner->searched > bytes ? scanner->searched - bytes : 0;
}

/* `bytes` of the line are there, perhaps with its CR LF. */
static bool is_too_long(const char *line, size_t bytes)
{
    return bytes > LINE_BYTES_MAX + 3 && !memchr("+-(", *line, 3);
}

/* Position behind the line that begins at `at`, or 0 if its end is not there. */
static size_t line_end(shoal__scanner_t *scanner, const char *data, size_t bytes)
{
    size_t from = scanner->searched > scanner->at ? scanner->searched : scanner->at;
    const char *cr;

    while (from < bytes && (cr = memchr(data + from, '\r', bytes - from)) != NULL) {
        from = (size_t)(cr - data);
        if (from + 1 == bytes) {
            scanner->searched = from;
            return 0;
        }
        if (cr[1] == '\n')
            return from + 2;
        from++;
    }
    scanner->searched = bytes;
    return 0;
}

/* "<digits>", or "-1" for null.  False if it is neither. */
static bool read_length(const char *text, size_t bytes, bool *ret_is_null,
                        uint64_t *ret_length)
{
    uint64_t length = 0;

    *ret_is_null = bytes == 2 && text[0] == '-' && text[1] == '1';
    *ret_length = 0;
    if (*ret_is_null)
        return true;
    if (bytes == 0 || bytes > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        length = length * 10 + (uint64_t)(text[i] - '0');
    }
    *ret_length = length;
    return true;
}

static bool is_type(char byte)
{
    return memchr("+-:,_#($=*~>%|", byte, 14) != NULL;
}

/* A whole line: what does it announce?  False: it is no RESP. */
static bool take_line(shoal__scanner_t *scanner, const char *line, size_t bytes)
{
    uint64_t length;
    bool is_null;

    scanner->pending--;
    switch (line[0]) {
    case '+':
    case '-':
    case ':':
    case ',':
    case '_':
    case '#':
    case '(':
        return true;
    case '$':
    case '=':
    case '*':
    case '~':
    case '>':
    case '%':
    case '|':
        break;
    default:
        return false;
    }
    if (!read_length(line + 1, bytes - 1, &is_null, &length))
        return false;
    if (is_null)
        return true;
    if (line[0] == '$' || line[0] == '=') {
        scanner->skip = length + 2;
        return true;
    }
    if (line[0] == '%' || line[0] == '|')
        length *= 2;
    scanner->pending += length;
    return scanner->pending >= length;
}

shoal__scan_t shoal__scanner_next(shoal__scanner_t *scanner, const char *data,
                                  size_t bytes)
{
    for (;;) {
        size_t left = bytes - scanner->at;

        if (!scanner->is_inside) {
            if (left == 0)
                return SHOAL__SCAN_MORE;
            if (!is_type(data[scanner->at]))
                return SHOAL__SCAN_BROKEN;
            scanner->begin = scanner->at;
            scanner->type = data[scanner->at];
            scanner->pending = 1;
            scanner->is_inside = true;
        }
        if (scanner->skip == 0) {
            size_t end = line_end(scanner, data, bytes);
            if (is_too_long(data + scanner->at, (end ? end : bytes) - scanner->at))
                return SHOAL__SCAN_TOO_LARGE;
            if (end == 0)
                return bytes - scanner->begin > scanner->bytes_max
                           ? SHOAL__SCAN_TOO_LARGE
                           : SHOAL__SCAN_MORE;
            if (!take_line(scanner, data + scanner->at, end - 2 - scanner->at))
                return SHOAL__SCAN_BROKEN;
            scanner->at = end;
            left = bytes - end;
        }
        if (scanner->skip > scanner->bytes_max ||
            scanner->at - scanner->begin > scanner->bytes_max - scanner->skip)
            return SHOAL__SCAN_TOO_LARGE;
        if (scanner->skip > left) {
            scanner->skip -= left;
            scanner->at = bytes;
            return SHOAL__SCAN_MORE;
        }
        scanner->at += (size_t)scanner->skip;
        scanner->skip = 0;
        if (scanner->pending == 0) {
            scanner->end = scanner->at;
            scanner->is_inside = false;
            return SHOAL__SCAN_FRAME;
        }
    }
}
