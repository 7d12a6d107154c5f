/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include "base/sized.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Our codes and those of the system are disjoint. */
#define SYSTEM_ERROR_MIN (-7000)

const char *shoal__error_text(int code)
{
    switch (code) {
    case 0:
        return "success";
#define SHOAL_ERROR_TEXT(name, value, text)                                            \
    case value:                                                                        \
        return text;
        SHOAL_ERROR_MAP(SHOAL_ERROR_TEXT)
#undef SHOAL_ERROR_TEXT
    default:
        return "unknown error";
    }
}

bool shoal__error_begin(shoal_error_t *error)
{
    if (!error)
        return true;
    if (!shoal__sized_is_set(error->size, SHOAL__ERROR_BYTES_MIN, sizeof *error))
        return false;
    shoal__sized_clear(error);
    return true;
}

int shoal__error_say(shoal_error_t *error, int code, const char *format, ...)
{
    va_list arguments;

    if (!error)
        return code;
    error->code = code;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return code;
}

int shoal__error_plain(shoal_error_t *error, int code)
{
    if (error && code < 0 && !error->text[0])
        shoal__error_say(error, code, "%s", shoal__error_text(code));
    if (error)
        error->code = code;
    return code;
}

int shoal__error_system(shoal_error_t *error, int system_error, const char *what)
{
    if (system_error >= 0 || system_error <= SYSTEM_ERROR_MIN)
        return shoal__error_plain(error, system_error);
    if (error)
        error->system_errno = -system_error;
    /* Its text is the thread's own in glibc since 2.32, and constant in musl.
     * NOLINTNEXTLINE(concurrency-mt-unsafe) */
    const char *why = strerror(-system_error);
    return shoal__error_say(error, SHOAL_ESYSTEM, "%s: %s", what, why);
}
