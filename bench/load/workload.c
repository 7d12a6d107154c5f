/* SPDX-License-Identifier: MIT */
#include "load/workload.h"

#include <assert.h>
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

static void write_digits(char *bytes, uint32_t digits, uint64_t number)
{
    for (uint32_t i = digits; i-- > 0; number /= 10)
        bytes[i] = (char)('0' + number % 10);
}

static size_t place_width(workload_place_kind_t kind, size_t value_bytes_max)
{
    return kind == WORKLOAD_DATA ? value_bytes_max : WORKLOAD_DIGITS;
}

static bool has_lengths(const workload_t *workload)
{
    return workload->value_bytes_max > workload->value_bytes;
}

static bool is_mix(const workload_t *workload)
{
    return workload->sets + workload->gets > 0;
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
        size_t width =
            place_width((workload_place_kind_t)kind, workload->value_bytes_max);
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

static bool is_echo_of_data(const workload_t *workload)
{
    return is_named(workload, "ECHO") && workload->argc == 2 &&
           workload->places_count == 1 && has_place(workload, WORKLOAD_DATA) &&
           workload->argvlen[1] == workload->value_bytes_max;
}

static int choose_check(workload_t *workload, const char **ret_problem)
{
    workload->check = WORKLOAD_CHECK_ERRORS;
    if (!workload->is_verified)
        return 0;

    if (is_mix(workload) || is_echo_of_data(workload)) {
        workload->check = WORKLOAD_CHECK_VALUE;
    } else if (is_named(workload, "GET") && workload->argc == 2) {
        if (has_place(workload, WORKLOAD_RANDOM)) {
            *ret_problem = "--verify with GET needs __key__ in place of __rand_int__";
            return -1;
        }
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

/* Varying lengths: the value must be the end of one argument. */
static int choose_lengths(workload_t *workload, const char **ret_problem)
{
    size_t end = 0;
    size_t found = 0;

    if (!has_lengths(workload))
        return 0;
    for (size_t i = 0; i < workload->argc; i++) {
        size_t begin = end;
        end += workload->argvlen[i];
        for (size_t k = 0; k < workload->places_count; k++) {
            const workload_place_t *place = &workload->places[k];
            if (place->kind != WORKLOAD_DATA ||
                place->offset + workload->value_bytes_max != end)
                continue;
            workload->value_argument = i;
            workload->value_head = place->offset - begin;
            found++;
        }
    }
    bool is_read = workload_wants_prefill(workload) && !is_mix(workload);
    if (found == 1 || (found == 0 && is_read))
        return 0;
    *ret_problem = "--data-range needs one __data__, at the end of its argument";
    return -1;
}

static int choose_mix(const workload_t *workload, const char **ret_problem)
{
    if (!is_mix(workload) || (is_named(workload, "SET") && workload->argc == 3 &&
                              !has_place(workload, WORKLOAD_RANDOM)))
        return 0;
    *ret_problem = "--ratio needs a command SET key value, without __rand_int__";
    return -1;
}

/* How many digits of a number below `limit` can differ from 0. */
static uint32_t digits_below(uint64_t limit)
{
    uint32_t digits = 1;
    for (uint64_t largest = limit - 1; largest >= 10; largest /= 10)
        digits++;
    return digits;
}

static void choose_numbers(workload_t *workload, key_pattern_kind_t pattern)
{
    bool is_numbered =
        has_place(workload, WORKLOAD_KEY) || has_place(workload, WORKLOAD_RANDOM);
    bool is_verified_echo = workload->check == WORKLOAD_CHECK_VALUE && !is_numbered &&
                            has_place(workload, WORKLOAD_DATA);

    workload->stamps = is_numbered ? workload->keyspace : 1;
    if (is_verified_echo)
        workload->stamps = 1000000000000u; /* every command another value */
    workload->digits = digits_below(workload->stamps);
    key_pattern_init(&workload->pattern, is_numbered ? pattern : KEY_UNIFORM,
                     workload->stamps);
    workload->is_fixed =
        workload->stamps == 1 && !has_lengths(workload) && !is_mix(workload);
}

int workload_init(workload_t *workload, const workload_spec_t *spec,
                  const char **ret_problem)
{
    assert(spec->argc > 0); /* there is a default command */
    *workload = (workload_t){
        .argc = spec->argc,
        .value_bytes = spec->value_bytes,
        .value_bytes_max = spec->value_bytes_max,
        .sets = spec->sets,
        .gets = spec->gets,
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

    if (choose_mix(workload, ret_problem) < 0 ||
        choose_lengths(workload, ret_problem) < 0 ||
        choose_check(workload, ret_problem) < 0)
        goto fail;
    choose_numbers(workload, spec->key_pattern);
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
    if (is_mix(workload))
        return workload->gets > 0;
    return is_named(workload, "GET") && workload->argc == 2 &&
           !has_place(workload, WORKLOAD_RANDOM);
}

/* The arguments and places of the SET: a name as long as "GET", the key, the value. */
static void lay_out_set(workload_t *set, const workload_t *workload)
{
    size_t head_bytes = workload->argvlen[0] + workload->argvlen[1];

    set->argvlen[0] = workload->argvlen[0];
    set->argvlen[1] = workload->argvlen[1];
    set->argvlen[2] = set->value_bytes_max;
    memcpy(set->bytes, "SET", 3);
    memcpy(set->bytes + 3, workload->bytes + 3, workload->argvlen[1]);
    memset(set->bytes + head_bytes, 'x', set->value_bytes_max);
    set->places_count = 0;
    for (size_t i = 0; i < workload->places_count; i++) {
        if (workload->places[i].offset < head_bytes)
            set->places[set->places_count++] = workload->places[i];
    }
    set->places[set->places_count++] = (workload_place_t){WORKLOAD_DATA, head_bytes};
}

int workload_prefill_init(workload_t *set, const workload_t *workload)
{
    *set = *workload;
    set->argc = 3;
    set->sets = 0;
    set->gets = 0;
    set->is_verified = true;
    set->is_fixed = false;
    set->value_argument = 2;
    set->value_head = 0;
    set->bytes_len = 3 + workload->argvlen[1] + workload->value_bytes_max;
    set->argvlen = calloc(3, sizeof *set->argvlen);
    set->bytes = calloc(set->bytes_len + 1, 1);
    set->places = calloc(workload->places_count + 1, sizeof *set->places);
    if (!set->argvlen || !set->bytes || !set->places) {
        workload_release(set);
        return -1;
    }
    lay_out_set(set, workload);
    return 0;
}

int command_init(command_t *command, const workload_t *workload, uint64_t seed)
{
    *command = (command_t){
        .argc = workload->argc,
        .argv = calloc(workload->argc, sizeof *command->argv),
        .argvlen = calloc(workload->argc, sizeof *command->argvlen),
        .bytes = malloc(workload->bytes_len + 1),
        .expected = malloc(workload->value_bytes_max + 1),
        .value_bytes = workload->value_bytes,
        .numbers = seed * 0xd1342543de82ef95u + 1,
        .random = ~seed,
    };
    if (!command->argv || !command->argvlen || !command->bytes || !command->expected) {
        command_release(command);
        return -1;
    }

    memcpy(command->argvlen, workload->argvlen,
           workload->argc * sizeof *command->argvlen);
    memcpy(command->bytes, workload->bytes, workload->bytes_len + 1);
    memset(command->expected, 'x', workload->value_bytes_max + 1);
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
    free(command->argvlen);
    free(command->bytes);
    free(command->expected);
    *command = (command_t){0};
}

int commands_init(commands_t *commands, const workload_t *workload, uint64_t seed,
                  size_t count)
{
    *commands = (commands_t){.list = calloc(count + 1, sizeof *commands->list)};
    while (commands->list && commands->count < count) {
        if (command_init(&commands->list[commands->count], workload,
                         seed + commands->count) < 0)
            return -1;
        commands->count++;
    }
    return commands->list ? 0 : -1;
}

void commands_release(commands_t *commands)
{
    for (size_t i = 0; i < commands->count; i++)
        command_release(&commands->list[i]);
    free(commands->list);
    *commands = (commands_t){0};
}

/* How many digits of the stamp the value begins with. */
static uint32_t value_digits(const command_t *command, const workload_t *workload)
{
    return command->value_bytes < workload->digits ? (uint32_t)command->value_bytes
                                                   : workload->digits;
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
        write_digits(bytes + WORKLOAD_DIGITS - digits, digits,
                     key_pattern_draw(&workload->pattern, &command->numbers));
        break;
    case WORKLOAD_DATA:
        if (workload->is_verified)
            write_digits(bytes, value_digits(command, workload), stamp);
        break;
    }
}

/* A length between the two bounds: the stamp's own if a reply will be compared with
 * it, else any. */
static void choose_length(command_t *command, const workload_t *workload,
                          uint64_t stamp)
{
    uint64_t lengths = workload->value_bytes_max - workload->value_bytes + 1;
    uint64_t own = stamp;
    uint64_t drawn = random_bits(workload->is_verified ? &own : &command->random);

    command->value_bytes = workload->value_bytes + drawn % lengths;
    /* A GET of varying values has none of its own. */
    if (workload->value_argument != 0)
        command->argvlen[workload->value_argument] =
            workload->value_head + command->value_bytes;
}

/* A SET or the GET of the same key: they differ in name and number of arguments. */
static void choose_kind(command_t *command, const workload_t *workload)
{
    command->is_get =
        random_share(&command->random) * (double)(workload->sets + workload->gets) >=
        (double)workload->sets;
    command->argc = command->is_get ? 2 : 3;
    command->argv[0] = command->is_get ? "GET" : command->bytes;
}

void command_fill_number(command_t *command, const workload_t *workload,
                         uint64_t number)
{
    if (has_lengths(workload))
        choose_length(command, workload, number);
    if (is_mix(workload))
        choose_kind(command, workload);
    for (size_t i = 0; i < workload->places_count; i++)
        fill_place(command, workload, &workload->places[i], number);
    if (workload->check == WORKLOAD_CHECK_VALUE)
        write_digits(command->expected, value_digits(command, workload), number);
}

void command_fill(command_t *command, const workload_t *workload)
{
    command_fill_number(command, workload,
                        key_pattern_draw(&workload->pattern, &command->numbers));
}

static bool is_text(const char *text, size_t bytes, const char *wanted)
{
    return text != NULL && bytes == strlen(wanted) && memcmp(text, wanted, bytes) == 0;
}

bool command_accepts(const command_t *command, const workload_t *workload,
                     const char *text, size_t bytes)
{
    switch (workload->check) {
    case WORKLOAD_CHECK_ERRORS:
        return true;
    case WORKLOAD_CHECK_TEXT:
        return is_text(text, bytes, workload->text);
    case WORKLOAD_CHECK_VALUE:
        if (is_mix(workload) && !command->is_get)
            return is_text(text, bytes, "OK");
        return text != NULL && bytes == command->value_bytes &&
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
