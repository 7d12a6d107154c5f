/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_LOAN_H
#define SHOAL_TESTS_LOAN_H

/* Large arguments in memory that a caller lends to the library. */

#include "support/scene.h"
#include <stdatomic.h>
#include <stdlib.h>

/* Memory that is lent.  A read after its release is a read of freed memory. */
typedef struct loan {
    char *memory;
    size_t bytes;
    _Atomic unsigned released;
} loan_t;

static inline char loan_byte(size_t i)
{
    return (char)(i * 31 + i / 1009);
}

static inline loan_t *loan_new(scene_t *scene, size_t bytes)
{
    loan_t *loan = scene_alloc(scene, sizeof *loan);

    loan->memory = malloc(bytes);
    loan->bytes = bytes;
    assert_non_null(loan->memory);
    for (size_t i = 0; i < bytes; i++)
        loan->memory[i] = loan_byte(i);
    return loan;
}

static inline void loan_release(void *data)
{
    loan_t *loan = data;

    free(loan->memory);
    loan->memory = NULL;
    loan->released++;
}

static inline shoal_call_t loan_call(loan_t *loan)
{
    shoal_call_t call = SHOAL_CALL_INIT;

    call.on_release = loan_release;
    call.release_data = loan;
    call.timeout_us = SHOAL_TIMEOUT_NEVER;
    return call;
}

/* A command of one word and a large value, or of two words and one. */
typedef struct large {
    const char *argv[3];
    size_t argvlen[3];
    shoal_command_t command;
} large_t;

static inline const shoal_command_t *loan_echo(large_t *large, const loan_t *loan)
{
    *large = (large_t){.argv = {"ECHO", loan->memory}, .argvlen = {4, loan->bytes}};
    large->command = (shoal_command_t){2, large->argv, large->argvlen};
    return &large->command;
}

static inline const shoal_command_t *loan_set(large_t *large, const loan_t *loan)
{
    *large =
        (large_t){.argv = {"SET", "k", loan->memory}, .argvlen = {3, 1, loan->bytes}};
    large->command = (shoal_command_t){3, large->argv, large->argvlen};
    return &large->command;
}

#endif
