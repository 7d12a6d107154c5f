/* SPDX-License-Identifier: MIT */
#include "core/block_time.h"

#include "base/bytes.h"
#include <stdbool.h>
#include <stdlib.h>

#define WAY_US 2000000
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

/* Below 0: it is no number. */
static double read_number(shoal__bytes_t text)
{
    char copy[32], *end;
    double number;

    if (text.bytes == 0 || text.bytes >= sizeof copy)
        return -1;
    memcpy(copy, text.data, text.bytes);
    copy[text.bytes] = '\0';
    number = strtod(copy, &end);
    return *end == '\0' ? number : -1;
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
