/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const place_names[] = {
    [WORKLOAD_KEY] = "__key__",
    [WORKLOAD_RANDOM] = "__rand_int__",
    [WORKLOAD_DATA] = "__data__",
};

#define PLACE_KINDS (sizeof place_names / sizeof *place_names)

static uint64_t next_random(uint64_t *state)
{
    /* splitmix64 */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void write_digits(char *bytes, uint32_t digits, uint64_t number)
{
    for (uint32_t i = digits; i-- > 0; number /= 10)
        bytes[i] = (char)('0' + number % 10);
}

static size_t place_width(workload_place_kind_t kind, size_t value_bytes)
{
    return kind == WORKLOAD_DATA ? value_bytes : WORKLOAD_DIGITS;
}

/* Which place begins at `text`; PLACE_KINDS if none does. */
static size_t place_at(const char *text)
{
    size_t kind = 0;
    while (kind < PLACE_KINDS &&
           strncmp(text, place_names[kind], strlen(place_names[kind])) != 0)
        kind++;
    return kind;
}

/* Appends one argument, noting its places.  `bytes` and `places` are NULL to count. */
static size_t expand(workload_t *workload, const char *argument, bool counts_only)
{
    size_t before = workload->bytes_len;

    while (*argument != '\0') {
        size_t kind = place_at(argument);
        if (kind == PLACE_KINDS) {
            if (!counts_only)
                workload->bytes[workload->bytes_len] = *argument;
            workload->bytes_len++;
            argument++;
            continue;
        }
        size_t width = place_width((workload_place_kind_t)kind, workload->value_bytes);
        if (!counts_only) {
            workload->places[workload->places_count] =
                (workload_place_t){(workload_place_kind_t)kind, workload->bytes_len};
            memset(workload->bytes + workload->bytes_len,
                   kind == WORKLOAD_DATA ? 'x' : '0', width);
        }
        workload->places_count++;
        workload->bytes_len += width;
        argument += strlen(place_names[kind]);
    }
    return workload->bytes_len - before;
}

static bool has_place(const workload_t *workload, workload_place_kind_t kind)
{
    for (size_t i = 0; i < workload->places_count; i++) {
        if (workload->places[i].kind == kind)
            return true;
    }
    return false;
}

static bool is_named(const workload_t *workload, const char *name)
{
    return workload->argvlen[0] == strlen(name) &&
           strncasecmp(workload->bytes, name, workload->argvlen[0]) == 0;
}

static int choose_check(workload_t *workload, const char **ret_problem)
{
    workload->check = WORKLOAD_CHECK_ERRORS;
    if (!workload->is_verified)
        return 0;

    if (is_named(workload, "GET") && workload->argc == 2) {
        if (has_place(workload, WORKLOAD_RANDOM)) {
            *ret_problem = "--verify with GET needs __key__ in place of __rand_int__";
            return -1;
        }
        workload->check = WORKLOAD_CHECK_VALUE;
    } else if (is_named(workload, "ECHO") && workload->argc == 2 &&
               workload->places_count == 1 && has_place(workload, WORKLOAD_DATA) &&
               workload->argvlen[1] == workload->value_bytes) {
        workload->check = WORKLOAD_CHECK_VALUE;
    } else if (is_named(workload, "SET") && workload->argc == 3) {
        workload->check = WORKLOAD_CHECK_TEXT;
        workload->text = "OK";
    } else if (is_named(workload, "PING") && workload->argc == 1) {
        workload->check = WORKLOAD_CHECK_TEXT;
        workload->text = "PONG";
    } else {
        *ret_problem = "--verify can check GET key, ECHO __data__, SET key value, PING";
        return -1;
    }
    return 0;
}

/* How many digits of a number below `limit` can differ from 0. */
static uint32_t digits_below(uint64_t limit)
{
    uint32_t digits = 1;
    for (uint64_t largest = limit - 1; largest >= 10; largest /= 10)
        digits++;
    return digits;
}

static void choose_numbers(workload_t *workload)
{
    bool is_numbered =
        has_place(workload, WORKLOAD_KEY) || has_place(workload, WORKLOAD_RANDOM);
    bool is_verified_echo = workload->check == WORKLOAD_CHECK_VALUE && !is_numbered &&
                            has_place(workload, WORKLOAD_DATA);

    workload->stamps = is_numbered ? workload->keyspace : 1;
    if (is_verified_echo)
        workload->stamps = 1000000000000u; /* every command another value */
    workload->digits = digits_below(workload->stamps);
    workload->is_fixed = workload->stamps == 1;
}

int workload_init(workload_t *workload, const workload_spec_t *spec,
                  const char **ret_problem)
{
    *workload = (workload_t){
        .argc = spec->argc,
        .value_bytes = spec->value_bytes,
        .keyspace = spec->keyspace == 0 ? 1 : spec->keyspace,
        .is_verified = spec->is_verified,
    };
    *ret_problem = "out of memory";
    for (size_t i = 0; i < spec->argc; i++)
        expand(workload, spec->argv[i], true);

    workload->argvlen = calloc(spec->argc, sizeof *workload->argvlen);
    workload->bytes = calloc(workload->bytes_len + 1, 1);
    workload->places = calloc(workload->places_count + 1, sizeof *workload->places);
    if (!workload->argvlen || !workload->bytes || !workload->places)
        goto fail;

    workload->bytes_len = 0;
    workload->places_count = 0;
    for (size_t i = 0; i < spec->argc; i++)
        workload->argvlen[i] = expand(workload, spec->argv[i], false);

    if (choose_check(workload, ret_problem) < 0)
        goto fail;
    choose_numbers(workload);
    return 0;

fail:
    workload_release(workload);
    return -1;
}

void workload_release(workload_t *workload)
{
    free(workload->argvlen);
    free(workload->bytes);
    free(workload->places);
    *workload = (workload_t){0};
}

bool workload_wants_prefill(const workload_t *workload)
{
    return is_named(workload, "GET") && workload->argc == 2 &&
           !has_place(workload, WORKLOAD_RANDOM);
}

int workload_prefill_init(workload_t *set, const workload_t *get)
{
    static const char name[] = "SET";
    size_t key_bytes = get->argvlen[1];
    size_t shift = sizeof name - 1; /* as long as "GET", so the places stay */

    *set = *get;
    set->argc = 3;
    set->is_verified = true;
    set->is_fixed = false;
    set->bytes_len = shift + key_bytes + get->value_bytes;
    set->argvlen = calloc(3, sizeof *set->argvlen);
    set->bytes = calloc(set->bytes_len + 1, 1);
    set->places = calloc(get->places_count + 2, sizeof *set->places);
    if (!set->argvlen || !set->bytes || !set->places) {
        workload_release(set);
        return -1;
    }
    set->argvlen[0] = shift;
    set->argvlen[1] = key_bytes;
    set->argvlen[2] = get->value_bytes;
    memcpy(set->bytes, name, shift);
    memcpy(set->bytes + shift, get->bytes + get->argvlen[0], key_bytes);
    memset(set->bytes + shift + key_bytes, 'x', get->value_bytes);
    memcpy(set->places, get->places, get->places_count * sizeof *set->places);
    set->places[set->places_count++] =
        (workload_place_t){WORKLOAD_DATA, shift + key_bytes};
    return 0;
}

int command_init(command_t *command, const workload_t *workload, uint64_t seed)
{
    *command = (command_t){
        .argc = workload->argc,
        .argv = calloc(workload->argc, sizeof *command->argv),
        .argvlen = workload->argvlen,
        .bytes = malloc(workload->bytes_len + 1),
        .expected = malloc(workload->value_bytes + 1),
        .random = seed * 0xd1342543de82ef95u + 1,
    };
    if (!command->argv || !command->bytes || !command->expected) {
        command_release(command);
        return -1;
    }

    memcpy(command->bytes, workload->bytes, workload->bytes_len + 1);
    memset(command->expected, 'x', workload->value_bytes + 1);
    size_t offset = 0;
    for (size_t i = 0; i < workload->argc; i++) {
        command->argv[i] = command->bytes + offset;
        offset += workload->argvlen[i];
    }
    command_fill(command, workload);
    return 0;
}

void command_release(command_t *command)
{
    free(command->argv);
    free(command->bytes);
    free(command->expected);
    *command = (command_t){0};
}

static uint64_t draw(command_t *command, const workload_t *workload)
{
    if (workload->stamps <= 1)
        return 0;
    /* The high bits scaled down: no division, and no bias worth a thought. */
    return (uint64_t)((double)(next_random(&command->random) >> 11) * 0x1p-53 *
                      (double)workload->stamps);
}

static void fill_place(command_t *command, const workload_t *workload,
                       const workload_place_t *place, uint64_t stamp)
{
    char *bytes = command->bytes + place->offset;
    uint32_t digits = workload->digits;

    switch (place->kind) {
    case WORKLOAD_KEY:
        write_digits(bytes + WORKLOAD_DIGITS - digits, digits, stamp);
        break;
    case WORKLOAD_RANDOM:
        write_digits(bytes + WORKLOAD_DIGITS - digits, digits, draw(command, workload));
        break;
    case WORKLOAD_DATA:
        if (workload->is_verified)
            write_digits(bytes,
                         workload->value_bytes < digits
                             ? (uint32_t)workload->value_bytes
                             : digits,
                         stamp);
        break;
    }
}

void command_fill_number(command_t *command, const workload_t *workload,
                         uint64_t number)
{
    for (size_t i = 0; i < workload->places_count; i++)
        fill_place(command, workload, &workload->places[i], number);

    if (workload->check == WORKLOAD_CHECK_VALUE) {
        size_t digits = workload->digits;
        if (digits > workload->value_bytes)
            digits = workload->value_bytes;
        write_digits(command->expected, (uint32_t)digits, number);
    }
}

void command_fill(command_t *command, const workload_t *workload)
{
    command_fill_number(command, workload, draw(command, workload));
}

bool command_accepts(const command_t *command, const workload_t *workload,
                     const char *text, size_t bytes)
{
    switch (workload->check) {
    case WORKLOAD_CHECK_ERRORS:
        return true;
    case WORKLOAD_CHECK_TEXT:
        return text != NULL && bytes == strlen(workload->text) &&
               memcmp(text, workload->text, bytes) == 0;
    case WORKLOAD_CHECK_VALUE:
        return text != NULL && bytes == workload->value_bytes &&
               memcmp(text, command->expected, bytes) == 0;
    }
    return false;
}

size_t command_encode(const command_t *command, char *ret_bytes)
{
    char head[32];
    size_t total = (size_t)snprintf(head, sizeof head, "*%zu\r\n", command->argc);

    if (ret_bytes)
        memcpy(ret_bytes, head, total);
    for (size_t i = 0; i < command->argc; i++) {
        size_t bytes = command->argvlen[i];
        size_t head_bytes = (size_t)snprintf(head, sizeof head, "$%zu\r\n", bytes);
        if (ret_bytes) {
            memcpy(ret_bytes + total, head, head_bytes);
            memcpy(ret_bytes + total + head_bytes, command->argv[i], bytes);
            memcpy(ret_bytes + total + head_bytes + bytes, "\r\n", 2);
        }
        total += head_bytes + bytes + 2;
    }
    return total;
}
