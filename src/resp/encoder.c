/* SPDX-License-Identifier: MIT */
#include "resp/encoder.h"

#include <stdbool.h>
#include <string.h>

/* '*' or '$', and CR LF. */
#define HEADER_BYTES 3

static size_t decimal_digits(size_t value)
{
    size_t digits = 1;

    for (; value >= 10000; value /= 10000)
        digits += 4;
    return digits + (value >= 10) + (value >= 100) + (value >= 1000);
}

/* Without bytes an argument may be NULL, as an empty string view of C++ is. */
static bool is_argument(const shoal_command_t *command, size_t index)
{
    return command->argv[index] || (command->argvlen && command->argvlen[index] == 0);
}

static size_t argument_bytes(const shoal_command_t *command, size_t index)
{
    return command->argvlen ? command->argvlen[index] : strlen(command->argv[index]);
}

size_t shoal__encoder_bytes(const shoal_command_t *command)
{
    if (command->argc < 1 || command->argc > SHOAL_ARGC_MAX || !command->argv)
        return 0;

    size_t total = HEADER_BYTES + decimal_digits(command->argc);
    for (size_t i = 0; i < command->argc; i++) {
        if (!is_argument(command, i))
            return 0;
        size_t bytes = argument_bytes(command, i);
        if (bytes > SHOAL_ARG_BYTES_MAX)
            return 0;
        bytes += HEADER_BYTES + decimal_digits(bytes) + 2;
        if (bytes > SIZE_MAX - total) /* where size_t has 32 bits */
            return 0;
        total += bytes;
    }
    return total;
}

size_t shoal__encoder_bytes_max(const shoal_command_t *command)
{
    const size_t header_max = HEADER_BYTES + 10; /* SHOAL_ARG_BYTES_MAX has 9 digits */
    size_t total = header_max;

    if (command->argc < 1 || command->argc > SHOAL_ARGC_MAX || !command->argv)
        return 0;
    for (size_t i = 0; i < command->argc; i++) {
        if (!is_argument(command, i))
            return 0;
        size_t bytes = argument_bytes(command, i);
        if (bytes > SHOAL_ARG_BYTES_MAX || bytes > SIZE_MAX - total - header_max - 2)
            return 0;
        total += bytes + header_max + 2;
    }
    return total;
}

/* memcpy() without the call for the short strings that most arguments are. */
static void copy(char *to, const char *from, size_t bytes)
{
    if (bytes > 16) {
        memcpy(to, from, bytes);
    } else if (bytes >= 8) {
        char first[8], last[8];
        memcpy(first, from, 8);
        memcpy(last, from + bytes - 8, 8);
        memcpy(to, first, 8);
        memcpy(to + bytes - 8, last, 8);
    } else if (bytes >= 4) {
        char first[4], last[4];
        memcpy(first, from, 4);
        memcpy(last, from + bytes - 4, 4);
        memcpy(to, first, 4);
        memcpy(to + bytes - 4, last, 4);
    } else {
        for (size_t i = 0; i < bytes; i++)
            to[i] = from[i];
    }
}

static char *write_header(char *at, char type, size_t value)
{
    *at++ = type;
    if (value < 10) {
        *at++ = (char)('0' + value);
    } else if (value < 100) {
        *at++ = (char)('0' + value / 10);
        *at++ = (char)('0' + value % 10);
    } else {
        char *end = at + decimal_digits(value);
        for (char *digit = end; digit > at; value /= 10)
            *--digit = (char)('0' + value % 10);
        at = end;
    }
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

char *shoal__encoder_write(const shoal_command_t *command, char *at)
{
    at = write_header(at, '*', command->argc);
    for (size_t i = 0; i < command->argc; i++) {
        size_t bytes = argument_bytes(command, i);
        at = write_header(at, '$', bytes);
        copy(at, command->argv[i], bytes);
        at += bytes;
        *at++ = '\r';
        *at++ = '\n';
    }
    return at;
}

size_t shoal__encoder_large(const shoal_command_t *command, size_t *ret_bytes)
{
    size_t count = 0;

    *ret_bytes = 0;
    for (size_t i = 0; i < command->argc; i++) {
        size_t bytes = argument_bytes(command, i);
        if (bytes >= SHOAL_REFERENCE_BYTES_MIN) {
            *ret_bytes += bytes;
            count++;
        }
    }
    return count;
}

char *shoal__encoder_write_small(const shoal_command_t *command, char *at,
                                 shoal__reference_t *references)
{
    const char *begin = at;

    at = write_header(at, '*', command->argc);
    for (size_t i = 0; i < command->argc; i++) {
        size_t bytes = argument_bytes(command, i);
        at = write_header(at, '$', bytes);
        if (bytes >= SHOAL_REFERENCE_BYTES_MIN) {
            *references++ = (shoal__reference_t){command->argv[i], (uint32_t)bytes,
                                                 (uint32_t)(at - begin)};
        } else if (bytes > 0) {
            memcpy(at, command->argv[i], bytes);
            at += bytes;
        }
        *at++ = '\r';
        *at++ = '\n';
    }
    return at;
}
