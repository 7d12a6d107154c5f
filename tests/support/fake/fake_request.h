/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_FAKE_REQUEST_H
#define SHOAL_TESTS_FAKE_REQUEST_H

/* A strict reader of commands: "*N" and then N times "$L", nothing else, no inline
 * commands, no leading zeros or signs.  What it does not accept, a client of ours must
 * never send. */

#include <stdbool.h>
#include <stddef.h>

typedef struct fake_arg {
    const char *data; /* inside the bytes that were parsed */
    size_t size;
} fake_arg_t;

typedef struct fake_request {
    size_t argc;
    fake_arg_t *argv;
    size_t room; /* elements allocated for argv */
} fake_request_t;

/* Parse one command at the start of the bytes.  *ret_used receives its length, or 0
 * if more bytes are needed.  False: broken. */
bool fake_request_parse(fake_request_t *request, const char *data, size_t size,
                        size_t *ret_used);

/* True if argument `index` exists and equals the text.  Case does not matter. */
bool fake_request_is(const fake_request_t *request, size_t index, const char *text);

void fake_request_release(fake_request_t *request);

#endif
