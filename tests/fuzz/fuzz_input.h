/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

/* What every fuzz target uses: the input, taken byte by byte, and a check that ends the
 * program.  An input that ends early goes on as zeros, so that every input means
 * something. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

typedef struct fuzz_input {
    const uint8_t *at, *end;
} fuzz_input_t;

/* Checks in builds without assert() as well. */
#define FUZZ_CHECK(condition, ...)                                                     \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);            \
            fprintf(stderr, __VA_ARGS__);                                              \
            fputc('\n', stderr);                                                       \
            abort();                                                                   \
        }                                                                              \
    } while (0)

static inline size_t fuzz_left(const fuzz_input_t *input)
{
    return (size_t)(input->end - input->at);
}

static inline uint8_t fuzz_byte(fuzz_input_t *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

static inline uint64_t fuzz_number(fuzz_input_t *input, unsigned bytes)
{
    uint64_t number = 0;

    while (bytes-- > 0)
        number = number << 8 | fuzz_byte(input);
    return number;
}

/* A copy of the next bytes, bytes_max at most and as many as are left.  Its memory has
 * exactly their size, so that a sanitizer reports each read beyond them. */
static inline char *fuzz_take(fuzz_input_t *input, size_t bytes_max, size_t *ret_bytes)
{
    size_t bytes = bytes_max < fuzz_left(input) ? bytes_max : fuzz_left(input);
    char *copy = malloc(bytes > 0 ? bytes : 1);

    FUZZ_CHECK(copy, "no memory");
    if (bytes > 0)
        memcpy(copy, input->at, bytes);
    input->at += bytes;
    *ret_bytes = bytes;
    return copy;
}

#endif
