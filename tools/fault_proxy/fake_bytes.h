/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAKE_BYTES_H
#define SHOAL_TOOLS_FAKE_BYTES_H

/* Growable bytes for the scripted server.  Running out of memory ends the test. */

#include <stddef.h>
#include <stdint.h>

typedef struct fake_bytes {
    char *data;
    size_t size; /* in use */
    size_t room; /* allocated */
} fake_bytes_t;

/* Memory or the end of the test. */
void *fake_must(void *memory);

/* Room for `more` bytes behind those in use. */
void fake_bytes_reserve(fake_bytes_t *bytes, size_t more);
void fake_bytes_add(fake_bytes_t *bytes, const void *data, size_t size);
void fake_bytes_text(fake_bytes_t *bytes, const char *text);
/* A RESP line: type, number, CRLF. */
void fake_bytes_number(fake_bytes_t *bytes, char type, int64_t value);
/* A RESP bulk string. */
void fake_bytes_bulk(fake_bytes_t *bytes, const void *data, size_t size);
/* Drop `count` bytes at the front. */
void fake_bytes_consume(fake_bytes_t *bytes, size_t count);
void fake_bytes_release(fake_bytes_t *bytes);

#endif
