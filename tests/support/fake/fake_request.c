/* SPDX-License-Identifier: MIT */
#include "support/fake/fake_request.h"

#include "fault_proxy/fake_bytes.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ARGC_MAX 1048576
#define ARG_BYTES_MAX 536870912

typedef struct cursor {
    const char *at, *end;
} cursor_t;

typedef enum parsed { PARSED, INCOMPLETE, BROKEN } parsed_t;

/* type, digits, CRLF */
static parsed_t parse_line(cursor_t *cursor, char type, size_t max, size_t *ret_value)
{
    const char *at = cursor->at;
    size_t value = 0, digits = 0;

    if (at == cursor->end)
        return INCOMPLETE;
    if (*at++ != type)
        return BROKEN;
    for (; at < cursor->end && *at >= '0' && *at <= '9'; at++, digits++) {
        if (digits > 0 && value == 0)
            return BROKEN; /* a leading zero */
        value = value * 10 + (size_t)(*at - '0');
        if (value > max)
            return BROKEN;
    }
    if (at == cursor->end)
        return INCOMPLETE;
    if (digits == 0 || *at++ != '\r')
        return BROKEN;
    if (at == cursor->end)
        return INCOMPLETE;
    if (*at++ != '\n')
        return BROKEN;
    cursor->at = at;
    *ret_value = value;
    return PARSED;
}

static parsed_t parse_bulk(cursor_t *cursor, fake_arg_t *ret_arg)
{
    size_t size;
    parsed_t parsed = parse_line(cursor, '$', ARG_BYTES_MAX, &size);

    if (parsed != PARSED)
        return parsed;
    if ((size_t)(cursor->end - cursor->at) < size + 2)
        return INCOMPLETE;
    if (memcmp(cursor->at + size, "\r\n", 2) != 0)
        return BROKEN;
    *ret_arg = (fake_arg_t){cursor->at, size};
    cursor->at += size + 2;
    return PARSED;
}

static parsed_t parse(fake_request_t *request, cursor_t *cursor)
{
    size_t argc;
    parsed_t parsed = parse_line(cursor, '*', ARGC_MAX, &argc);

    if (parsed != PARSED)
        return parsed;
    if (argc == 0)
        return BROKEN;
    if (argc > request->room) {
        request->argv = fake_must(realloc(request->argv, argc * sizeof *request->argv));
        request->room = argc;
    }
    request->argc = argc;
    for (size_t i = 0; i < argc; i++) {
        parsed = parse_bulk(cursor, &request->argv[i]);
        if (parsed != PARSED)
            return parsed;
    }
    return PARSED;
}

bool fake_request_parse(fake_request_t *request, const char *data, size_t size,
                        size_t *ret_used)
{
    cursor_t cursor = {data, data + size};
    parsed_t parsed = parse(request, &cursor);

    *ret_used = parsed == PARSED ? (size_t)(cursor.at - data) : 0;
    return parsed != BROKEN;
}

bool fake_request_is(const fake_request_t *request, size_t index, const char *text)
{
    return index < request->argc && request->argv[index].size == strlen(text) &&
           strncasecmp(request->argv[index].data, text, strlen(text)) == 0;
}

void fake_request_release(fake_request_t *request)
{
    free(request->argv);
    *request = (fake_request_t){0};
}
