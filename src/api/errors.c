/* SPDX-License-Identifier: MIT */
#include <shoal/errors.h>

const char *shoal_strerror(int code)
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
