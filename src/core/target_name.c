/* SPDX-License-Identifier: MIT */
#include "core/target_name.h"

#include <stdio.h>
#include <string.h>

void shoal__target_name(char name[SHOAL__TARGET_NAME_BYTES], const char *host, int port)
{
    /* In brackets as in a URL: which colon is the port's? */
    snprintf(name, SHOAL__TARGET_NAME_BYTES, strchr(host, ':') ? "[%s]:%d" : "%s:%d",
             host, port);
}
