/* SPDX-License-Identifier: MIT */
#include <shoal/version.h>

const char *shoal_version(void)
{
    return SHOAL_VERSION_STRING;
}

int shoal_version_number(void)
{
    return SHOAL_VERSION_NUMBER;
}
