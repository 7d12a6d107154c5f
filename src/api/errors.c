/* SPDX-License-Identifier: MIT */
#include <shoal/errors.h>

#include "base/error.h"

const char *shoal_strerror(int code)
{
    return shoal__error_text(code);
}

const char *shoal_error_name(int code)
{
    switch (code) {
    case 0:
        return "OK";
#define SHOAL_ERROR_NAME(name, value, text)                                            \
    case value:                                                                        \
        return "SHOAL_" #name;
        SHOAL_ERROR_MAP(SHOAL_ERROR_NAME)
#undef SHOAL_ERROR_NAME
    default:
        return "UNKNOWN";
    }
}
