/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_WORKLOAD_H
#define SHOAL_BENCH_LOAD_WORKLOAD_H

/*
 * What is sent.  A workload is the command with its places; a command is one
 * caller's own copy with the places filled in.  Every place has a fixed width, so
 * that filling writes a few digits into a prepared buffer; only the length of a value
 * may vary, and then the value is the end of its argument.
 *
 *     __key__       12 digits below the keyspace, the same in the whole command
 *     __rand_int__  12 digits below the keyspace, another one at each place
 *     __data__      the value; when replies are verified it begins with the digits
 *                   that the command was given, so that no two are mistaken
 */

#include "load/key_pattern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKLOAD_DIGITS 12u

/* What a reply is compared with. */
typedef enum workload_check {
    WORKLOAD_CHECK_ERRORS, /* must not be an error */
    WORKLOAD_CHECK_TEXT,   /* must be a fixed text such as OK */
    WORKLOAD_CHECK_VALUE,  /* must be the value that belongs to the command */
} workload_check_t;

typedef enum workload_place_kind {
    WORKLOAD_KEY,
    WORKLOAD_RANDOM,
    WORKLOAD_DATA,
} workload_place_kind_t;

typedef struct workload_place {
    workload_place_kind_t kind;
    size_t offset; /* in the command's bytes */
} workload_place_t;

typedef struct workload {
    size_t argc;
    size_t *argvlen; /* bytes of each argument, places filled in */
    char *bytes;     /* all arguments one after the other */
    size_t bytes_len;
    workload_place_t *places;
    size_t places_count;
    size_t value_bytes;     /* of __data__ */
    size_t value_bytes_max; /* above value_bytes: lengths vary between the two */
    size_t value_argument;  /* then: the argument that ends with __data__ */
    size_t value_head;      /* then: its bytes in front of __data__ */
    uint64_t sets;          /* of this SET, for so many of its GET; 0 and 0: no mix */
    uint64_t gets;
    uint64_t keyspace; /* 1 or more */
    uint64_t stamps;   /* numbers are drawn below this */
    key_pattern_t pattern;
    uint32_t digits; /* that can differ from 0 */
    bool is_fixed;   /* every command is the same */
    bool is_verified;
    workload_check_t check;
    const char *text; /* for WORKLOAD_CHECK_TEXT */
} workload_t;

typedef struct command {
    size_t argc;
    const char **argv;
    size_t *argvlen;
    char *bytes;
    char *expected;     /* the value, for WORKLOAD_CHECK_VALUE */
    size_t value_bytes; /* of this command */
    bool is_get;        /* of a mix */
    uint64_t numbers;   /* state of the generator of numbers */
    uint64_t random;    /* and of everything else */
} command_t;

typedef struct workload_spec {
    size_t argc;
    const char *const *argv;
    size_t value_bytes;
    size_t value_bytes_max; /* value_bytes, or more for lengths between the two */
    uint64_t sets;          /* 0 and 0: no mix */
    uint64_t gets;
    uint64_t keyspace; /* 0: no -r was given */
    key_pattern_kind_t key_pattern;
    bool is_verified;
} workload_spec_t;

/* Returns -1 with a line in ret_problem. */
int workload_init(workload_t *workload, const workload_spec_t *spec,
                  const char **ret_problem);
void workload_release(workload_t *workload);

/* True if commands read keys that those of workload_prefill_init() write. */
bool workload_wants_prefill(const workload_t *workload);

/* For a GET or a mix: makes `set` the SET of the values that belong to the numbers. */
int workload_prefill_init(workload_t *set, const workload_t *workload);
void command_fill_number(command_t *command, const workload_t *workload,
                         uint64_t number);

int command_init(command_t *command, const workload_t *workload, uint64_t seed);
void command_release(command_t *command);

/* Several commands, each with a seed of its own. */
typedef struct commands {
    command_t *list;
    size_t count;
} commands_t;

/* Returns -1 when memory ran out; commands_release() is needed in either case. */
int commands_init(commands_t *commands, const workload_t *workload, uint64_t seed,
                  size_t count);
void commands_release(commands_t *commands);

void command_fill(command_t *command, const workload_t *workload);

/* Prepares the next command. */
static inline void command_next(command_t *command, const workload_t *workload)
{
    if (!workload->is_fixed)
        command_fill(command, workload);
}

/* Whether a reply without error is the right one; `text` is NULL if it was neither a
 * string nor a status. */
bool command_accepts(const command_t *command, const workload_t *workload,
                     const char *text, size_t bytes);

/* Writes the command as the server expects it; returns its bytes.  With a NULL
 * `ret_bytes` it only counts. */
size_t command_encode(const command_t *command, char *ret_bytes);

#endif
