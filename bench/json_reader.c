/* SPDX-License-Identifier: MIT */
#include "json_reader.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *at;
    const char *problem; /* NULL: none yet */
} reader_t;

static json_value_t *read_value(reader_t *reader, int depth);

static bool refuse(reader_t *reader, const char *problem)
{
    if (!reader->problem)
        reader->problem = problem;
    return false;
}

static void *wrong(reader_t *reader, const char *problem)
{
    refuse(reader, problem);
    return NULL;
}

static void skip_space(reader_t *reader)
{
    reader->at += strspn(reader->at, " \t\r\n");
}

static bool take(reader_t *reader, char c)
{
    skip_space(reader);
    if (*reader->at != c)
        return false;
    reader->at++;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits behind \u; -1 if they are none. */
static int32_t read_hex(const char *at)
{
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

static char *put_utf8(char *out, int32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/* What follows a backslash; NULL if it is nothing known.  It never gets longer. */
static char *read_escape(reader_t *reader, char *out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    const char *found = strchr(names, *reader->at);

    if (*reader->at != '\0' && found) {
        reader->at++;
        *out++ = values[found - names];
        return out;
    }
    int32_t code = *reader->at == 'u' ? read_hex(reader->at + 1) : -1;
    if (code < 0)
        return NULL;
    reader->at += 5;
    if (code >= 0xd800 && code < 0xdc00 && reader->at[0] == '\\' &&
        reader->at[1] == 'u') {
        int32_t low = read_hex(reader->at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            reader->at += 6;
        }
    }
    return put_utf8(out, code);
}

static char *read_text(reader_t *reader)
{
    if (!take(reader, '"'))
        return wrong(reader, "expected a string");
    size_t bytes = 0; /* up to the closing quote; escapes only get shorter */
    while (reader->at[bytes] != '"' && reader->at[bytes] != '\0')
        bytes += reader->at[bytes] == '\\' && reader->at[bytes + 1] != '\0' ? 2 : 1;
    char *text = malloc(bytes + 1);
    char *out = text;

    while (out && *reader->at != '"') {
        unsigned char c = (unsigned char)*reader->at;
        if (c < 0x20) { /* the end of the text, too: not to be passed */
            out = NULL;
            break;
        }
        reader->at++;
        if (c == '\\')
            out = read_escape(reader, out);
        else
            *out++ = (char)c;
    }
    if (!out) {
        wrong(reader, text ? "a string is broken" : "out of memory");
        free(text);
        return NULL;
    }
    reader->at++;
    *out = '\0';
    return text;
}

static bool read_word(reader_t *reader, const char *word)
{
    size_t bytes = strlen(word);
    if (strncmp(reader->at, word, bytes) != 0)
        return false;
    reader->at += bytes;
    return true;
}

/* Digits with an optional sign, fraction and exponent: strtod() takes more than that. */
static bool read_number(reader_t *reader, double *ret_number)
{
    char *end;
    const char *first = reader->at + (*reader->at == '-');
    if (*first < '0' || *first > '9' || (first[0] == '0' && first[1] == 'x'))
        return false;
    *ret_number = strtod(reader->at, &end);
    reader->at = end;
    return true;
}

/* Elements, or members, up to the closing bracket. */
static bool read_children(reader_t *reader, json_value_t *parent, int depth)
{
    char closing = parent->type == JSON_ARRAY ? ']' : '}';
    json_value_t **link = &parent->first;

    if (take(reader, closing))
        return true;
    do {
        char *key = parent->type == JSON_OBJECT ? read_text(reader) : NULL;
        if (parent->type == JSON_OBJECT && (!key || !take(reader, ':'))) {
            free(key);
            return refuse(reader, "expected \"key\": value");
        }
        *link = read_value(reader, depth + 1);
        if (!*link) {
            free(key);
            return false;
        }
        (*link)->key = key;
        link = &(*link)->next;
        parent->count++;
    } while (take(reader, ','));
    return take(reader, closing) || refuse(reader, "expected a comma or the end");
}

/* Fills in one value by what it begins with; false if it is none. */
static bool fill_value(reader_t *reader, json_value_t *value, int depth)
{
    char c = *reader->at;

    if (c == '{' || c == '[') {
        reader->at++;
        value->type = c == '{' ? JSON_OBJECT : JSON_ARRAY;
        return read_children(reader, value, depth);
    }
    if (c == '"') {
        value->type = JSON_TEXT;
        value->text = read_text(reader);
        return value->text != NULL;
    }
    if (read_word(reader, "null"))
        return true;
    if (read_word(reader, "true") || read_word(reader, "false")) {
        value->type = JSON_BOOL;
        value->is_true = reader->at[-2] == 'u';
        return true;
    }
    value->type = JSON_NUMBER;
    return read_number(reader, &value->number) || refuse(reader, "expected a value");
}

static json_value_t *read_value(reader_t *reader, int depth)
{
    json_value_t *value = depth < JSON_DEPTH_MAX ? calloc(1, sizeof *value) : NULL;
    if (!value)
        return wrong(reader, "too deep, or out of memory");
    skip_space(reader);
    if (fill_value(reader, value, depth))
        return value;
    json_free(value);
    return NULL;
}

json_value_t *json_read(const char *text, char *problem, size_t problem_bytes)
{
    reader_t reader = {.at = text};
    json_value_t *value = read_value(&reader, 0);

    skip_space(&reader);
    if (value && *reader.at == '\0')
        return value;
    json_free(value);
    snprintf(problem, problem_bytes, "no JSON at byte %td: %s", reader.at - text,
             reader.problem ? reader.problem : "something follows the end");
    return NULL;
}

void json_free(json_value_t *value)
{
    while (value) {
        json_value_t *next = value->next;
        json_free(value->first);
        free(value->text);
        free(value->key);
        free(value);
        value = next;
    }
}

const json_value_t *json_member(const json_value_t *object, const char *key)
{
    if (!object || object->type != JSON_OBJECT)
        return NULL;
    for (const json_value_t *member = object->first; member; member = member->next) {
        if (strcmp(member->key, key) == 0)
            return member;
    }
    return NULL;
}

double json_number(const json_value_t *object, const char *key, double fallback)
{
    const json_value_t *member = json_member(object, key);
    return member && member->type == JSON_NUMBER ? member->number : fallback;
}

const char *json_text(const json_value_t *object, const char *key, const char *fallback)
{
    const json_value_t *member = json_member(object, key);
    return member && member->type == JSON_TEXT ? member->text : fallback;
}
