/* SPDX-License-Identifier: MIT */
#include "core/block_time.h"

#include "base/bytes.h"
#include <stdbool.h>

#define WAY_US 2000000
#define EXPONENT_MAX 1000
#define SECONDS_MAX 1e9 /* three decades: as good as never */

static shoal__bytes_t argument(const shoal_command_t *command, size_t index)
{
    const char *data = command->argv[index];
    return (shoal__bytes_t){data,
                            command->argvlen ? command->argvlen[index] : strlen(data)};
}

size_t shoal__block_time_of_xread(const shoal_command_t *command)
{
    for (size_t i = 1; i < command->argc; i++) {
        shoal__bytes_t word = argument(command, i);
        if (shoal__bytes_is_word(word, "STREAMS"))
            return 0;
        if (shoal__bytes_is_word(word, "BLOCK"))
            return i + 1;
        if (shoal__bytes_is_word(word, "GROUP"))
            i += 2;
        else if (shoal__bytes_is_word(word, "COUNT"))
            i += 1;
    }
    return 0;
}

static bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

/* An exponent, from its sign on.  False: it is none. */
static bool read_exponent(const char *at, const char *end, int *ret_exponent)
{
    bool is_negative = at < end && *at == '-';
    int exponent = 0;

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (!is_digit(at, end))
        return false;
    for (; is_digit(at, end); at++)
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (*at - '0');
    *ret_exponent = is_negative ? -exponent : exponent;
    return at == end;
}

/* A decimal number as servers read it, whatever the locale of the program is.  Below 0:
 * it is none, or it is negative. */
static double read_number(shoal__bytes_t text)
{
    const char *at = text.data, *end = at + text.bytes;
    double number = 0, scale = 1;
    int exponent = 0, digits = 0;

    if (at < end && *at == '+')
        at++;
    for (; is_digit(at, end); at++, digits++)
        number = number * 10 + (*at - '0');
    if (at < end && *at == '.')
        for (at++; is_digit(at, end); at++, digits++) {
            number = number * 10 + (*at - '0');
            scale *= 10;
        }
    if (digits == 0)
        return -1;
    if (at < end &&
        ((*at != 'e' && *at != 'E') || !read_exponent(at + 1, end, &exponent)))
        return -1;
    for (; exponent > 0; exponent--)
        number *= 10;
    for (; exponent < 0; exponent++)
        scale *= 10;
    return number / scale;
}

uint64_t shoal__block_time_us(const shoal_command_t *command)
{
    shoal__bytes_t name = argument(command, 0);
    size_t at = command->argc - 1;
    double unit_us = 1e6, number;

    if (shoal__bytes_is_word(name, "BLMPOP") || shoal__bytes_is_word(name, "BZMPOP")) {
        at = 1;
    } else if (shoal__bytes_is_word(name, "XREAD") ||
               shoal__bytes_is_word(name, "XREADGROUP")) {
        at = shoal__block_time_of_xread(command);
        unit_us = 1e3;
    } else if (shoal__bytes_is_word(name, "WAIT") ||
               shoal__bytes_is_word(name, "WAITAOF")) {
        unit_us = 1e3;
    }
    if (at == 0 || at >= command->argc)
        return SHOAL_TIMEOUT_NEVER;
    number = read_number(argument(command, at));
    if (!(number > 0) || number * unit_us >= SECONDS_MAX * 1e6)
        return SHOAL_TIMEOUT_NEVER;
    return (uint64_t)(number * unit_us) + WAY_US;
}
