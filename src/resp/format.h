/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_FORMAT_H
#define SHOAL_RESP_FORMAT_H

/* "SET %s %b" -> an argument vector, by hiredis' own formatter. */

#include <shoal/command.h>
#include <stdarg.h>

/* A command whose argv points into one allocation. */
typedef struct shoal__formatted {
    shoal_command_t command;
    void *memory;
} shoal__formatted_t;

/* 0, SHOAL_EINVAL for a bad format or an empty command, or SHOAL_ENOMEM. */
int shoal__format(shoal__formatted_t *ret_formatted, const char *format, va_list args);
void shoal__formatted_release(shoal__formatted_t *formatted);

#endif
