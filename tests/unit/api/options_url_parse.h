/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_OPTIONS_URL_PARSE_H
#define SHOAL_TESTS_OPTIONS_URL_PARSE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <shoal/errors.h>

#include "base/alloc.h"
#include "core/options.h"

/* The options of a URL that must be good. */
static inline shoal_options_t *parse(const char *url)
{
    shoal_options_t *options = NULL;
    int rc = shoal_options_from_url(url, &options, NULL);
    if (rc != 0)
        fail_msg("%s: %s", url, shoal_error_name(rc));
    return options;
}

#endif
