/* SPDX-License-Identifier: MIT */
#include "resp/format.h"

#include "base/alloc.h"
#include <hiredis/hiredis.h>
#include <shoal/errors.h>
#include <string.h>

/* The number in a header line, and the line's end in *at.  The text is hiredis' own
 * and so is well-formed. */
static size_t read_header(const char **at)
{
    size_t value = 0;

    for (*at += 1; **at != '\r'; *at += 1)
        value = value * 10 + (size_t)(**at - '0');
    *at += 2;
    return value;
}

/* Let argv point into `text`, which holds the command as it goes over the wire. */
static void split(const char *text, size_t argc, const char **argv, size_t *argvlen)
{
    for (size_t i = 0; i < argc; i++) {
        argvlen[i] = read_header(&text);
        argv[i] = text;
        text += argvlen[i] + 2;
    }
}

/* Copy the arguments: hiredis has an allocator of its own for `wire`. */
static int take(shoal__formatted_t *ret_formatted, const char *wire, size_t wire_bytes)
{
    const char *start = wire;
    size_t argc = read_header(&wire);
    size_t text_bytes = wire_bytes - (size_t)(wire - start);
    if (argc == 0)
        return SHOAL_EINVAL;

    const char **argv =
        shoal__malloc(argc * (sizeof *argv + sizeof(size_t)) + text_bytes);
    if (!argv)
        return SHOAL_ENOMEM;
    size_t *argvlen = (size_t *)(void *)(argv + argc);
    char *text = (char *)(argvlen + argc);

    memcpy(text, wire, text_bytes);
    split(text, argc, argv, argvlen);
    *ret_formatted = (shoal__formatted_t){
        .command = {.argc = argc, .argv = argv, .argvlen = argvlen}, .memory = argv};
    return 0;
}

int shoal__format(shoal__formatted_t *ret_formatted, const char *format, va_list args)
{
    char *wire = NULL;
    int wire_bytes = redisvFormatCommand(&wire, format, args);

    if (wire_bytes < 0)
        return wire_bytes == -1 ? SHOAL_ENOMEM : SHOAL_EINVAL;

    int rc = take(ret_formatted, wire, (size_t)wire_bytes);
    redisFreeCommand(wire);
    return rc;
}

void shoal__formatted_release(shoal__formatted_t *formatted)
{
    shoal__free(formatted->memory);
    *formatted = (shoal__formatted_t){.memory = NULL};
}
