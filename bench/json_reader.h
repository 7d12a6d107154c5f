/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_JSON_READER_H
#define SHOAL_BENCH_JSON_READER_H

/* Reads a JSON text into a tree.  Strict, and bounded in depth. */

#include <stdbool.h>
#include <stddef.h>

#define JSON_DEPTH_MAX 64

typedef enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_TEXT,
    JSON_ARRAY,
    JSON_OBJECT,
} json_type_t;

typedef struct json_value {
    json_type_t type;
    bool is_true;
    double number;
    char *text;               /* NUL-terminated UTF-8 */
    char *key;                /* of a member; NULL elsewhere */
    struct json_value *first; /* element or member */
    struct json_value *next;
    size_t count; /* of elements or members */
} json_value_t;

/* Returns NULL with what is wrong, and the byte where, in `problem`. */
json_value_t *json_read(const char *text, char *problem, size_t problem_bytes);
void json_free(json_value_t *value);

/* A member of an object; NULL if there is none. */
const json_value_t *json_member(const json_value_t *object, const char *key);

/* The member's number or text, or the fallback. */
double json_number(const json_value_t *object, const char *key, double fallback);
const char *json_text(const json_value_t *object, const char *key,
                      const char *fallback);

#endif
