/* SPDX-License-Identifier: MIT */
#include "resp/arguments.h"

#include <stdint.h>

/* "<mark>123\r\n".  False: it is not that. */
static bool read_count(shoal__arguments_t *arguments, char mark, size_t *ret_count)
{
    const char *at = arguments->at;
    size_t count = 0;

    if (at == arguments->end || *at++ != mark || at == arguments->end)
        return false;
    for (; at != arguments->end && *at >= '0' && *at <= '9'; at++) {
        if (count > UINT32_MAX / 10)
            return false;
        count = count * 10 + (size_t)(*at - '0');
    }
    if (arguments->end - at < 2 || at[0] != '\r' || at[1] != '\n')
        return false;
    arguments->at = at + 2;
    *ret_count = count;
    return true;
}

bool shoal__arguments_of_encoded(shoal__arguments_t *arguments, shoal__bytes_t encoded)
{
    *arguments =
        (shoal__arguments_t){.at = encoded.data, .end = encoded.data + encoded.bytes};
    return read_count(arguments, '*', &arguments->count);
}

void shoal__arguments_of(shoal__arguments_t *arguments, const shoal_command_t *command)
{
    *arguments = (shoal__arguments_t){.count = command->argc, .command = command};
}

static shoal__bytes_t next_of_caller(shoal__arguments_t *arguments)
{
    const shoal_command_t *command = arguments->command;
    size_t at = arguments->taken++;
    const char *text = command->argv[at];

    return (shoal__bytes_t){text,
                            command->argvlen ? command->argvlen[at] : strlen(text)};
}

bool shoal__arguments_next(shoal__arguments_t *arguments, shoal__bytes_t *ret)
{
    const char *behind;
    size_t bytes;

    if (arguments->taken == arguments->count)
        return false;
    if (arguments->command) {
        *ret = next_of_caller(arguments);
        return true;
    }
    if (!read_count(arguments, '$', &bytes) ||
        bytes > (size_t)(arguments->end - arguments->at) ||
        (size_t)(arguments->end - arguments->at) - bytes < 2)
        return false;
    behind = arguments->at + bytes;
    if (behind[0] != '\r' || behind[1] != '\n')
        return false;
    *ret = (shoal__bytes_t){arguments->at, bytes};
    arguments->at = behind + 2;
    arguments->taken++;
    return true;
}
