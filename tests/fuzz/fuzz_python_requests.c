/* SPDX-License-Identifier: MIT */

/* Streams of any bytes, as if they were pickled commands: what is accepted is what a
 * pickle machine makes of them, if that is a command or a list of commands; written once
 * more as plain bytes, it is the same. */

#include "fuzz_input.h"
#include "python/pickle_reader.h"
#include "requests.h"
#include <math.h>
#include <shoal/errors.h>

/* ---- a pickle machine ---- */

typedef enum kind { MARK, BYTES, INTEGER, FLOAT, TUPLE, LIST, OTHER } kind_t;

typedef struct item {
    kind_t kind;
    const char *data; /* BYTES */
    size_t bytes;
    int64_t integer;
    double number;
    size_t first, count; /* TUPLE: in `arguments`; LIST: how many of `tuples` */
} item_t;

typedef struct machine {
    fuzz_input_t in;
    item_t *stack, *arguments,
        *tuples; /* each has room for one more than input bytes */
    size_t depth, arguments_count, tuples_count;
    bool is_bad;
} machine_t;

static void push(machine_t *machine, item_t item)
{
    machine->stack[machine->depth++] = item;
}

static uint64_t little_end_first(machine_t *machine, size_t bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < bytes; i++)
        number |= (uint64_t)fuzz_byte(&machine->in) << 8 * i;
    return number;
}

/* Take a number of this many bytes.  Input that ends before is bad. */
static uint64_t take(machine_t *machine, size_t bytes)
{
    machine->is_bad |= fuzz_left(&machine->in) < bytes;
    return little_end_first(machine, bytes);
}

static bool has_surrogate(const char *data, size_t bytes)
{
    for (size_t i = 1; i < bytes; i++)
        if ((unsigned char)data[i - 1] == 0xed && (unsigned char)data[i] >= 0xa0)
            return true;
    return false;
}

static void push_string(machine_t *machine, size_t width, bool is_str)
{
    uint64_t bytes = take(machine, width);
    item_t item = {.kind = BYTES, .data = (const char *)machine->in.at};

    if (machine->is_bad || bytes > fuzz_left(&machine->in)) {
        machine->is_bad = true;
        return;
    }
    item.bytes = (size_t)bytes;
    machine->in.at += bytes;
    if (is_str && has_surrogate(item.data, item.bytes))
        item.kind = OTHER;
    push(machine, item);
}

static void push_integer(machine_t *machine, size_t bytes, bool is_signed)
{
    item_t item = {.kind = INTEGER};
    uint64_t value = take(machine, bytes);

    if (is_signed && bytes > 0 && bytes < 8 && value >> (8 * bytes - 1))
        value |= UINT64_MAX << 8 * bytes;
    item.integer = (int64_t)value;
    push(machine, item);
}

static void push_long(machine_t *machine)
{
    size_t bytes = (size_t)take(machine, 1);

    if (bytes > 8) {
        machine->is_bad = true;
        return;
    }
    push_integer(machine, bytes, true);
}

static void push_float(machine_t *machine)
{
    item_t item = {.kind = FLOAT};

    machine->is_bad |= fuzz_left(&machine->in) < 8;
    uint64_t bits = fuzz_number(&machine->in, 8);
    memcpy(&item.number, &bits, sizeof bits);
    push(machine, item);
}

/* Replace the top items by a tuple.  It is OTHER if it is empty or an item is no
 * argument. */
static void make_tuple(machine_t *machine, size_t count)
{
    item_t tuple = {.kind = count > 0 ? TUPLE : OTHER,
                    .first = machine->arguments_count,
                    .count = count};

    for (size_t i = machine->depth - count; i < machine->depth; i++) {
        const item_t *item = &machine->stack[i];
        if (item->kind != BYTES && item->kind != INTEGER && item->kind != FLOAT)
            tuple.kind = OTHER;
        machine->arguments[machine->arguments_count++] = *item;
    }
    machine->depth -= count;
    push(machine, tuple);
}

static void make_small_tuple(machine_t *machine, size_t count)
{
    if (machine->depth < count) {
        machine->is_bad = true;
        return;
    }
    for (size_t i = 1; i <= count; i++)
        machine->is_bad |= machine->stack[machine->depth - i].kind == MARK;
    if (!machine->is_bad)
        make_tuple(machine, count);
}

/* How many items are above the last mark. */
static size_t above_mark(machine_t *machine)
{
    size_t count = 0;

    while (count < machine->depth &&
           machine->stack[machine->depth - 1 - count].kind != MARK)
        count++;
    machine->is_bad |= count == machine->depth;
    return count;
}

/* Move the top items into the list, which is below them and below `below` further
 * items.  There is only one list, so its items follow each other in `tuples`. */
static void extend(machine_t *machine, size_t count, size_t below)
{
    if (machine->depth < count + below + 1 ||
        machine->stack[machine->depth - count - below - 1].kind != LIST) {
        machine->is_bad = true;
        return;
    }
    item_t *list = &machine->stack[machine->depth - count - below - 1];
    for (size_t i = machine->depth - count; i < machine->depth; i++) {
        machine->is_bad |= machine->stack[i].kind != TUPLE;
        machine->tuples[machine->tuples_count++] = machine->stack[i];
    }
    list->count += count;
    machine->depth -= count + below;
}

static void end_tuple(machine_t *machine)
{
    size_t count = above_mark(machine);

    if (machine->is_bad)
        return;
    make_tuple(machine, count);
    item_t tuple = machine->stack[--machine->depth];
    machine->stack[machine->depth - 1] = tuple; /* it replaces the mark */
}

static void step(machine_t *machine, uint8_t opcode)
{
    switch (opcode) {
    case 0x80:
        (void)take(machine, 1);
        break;
    case 0x95:
        (void)take(machine, 8);
        break;
    case ']':
        machine->is_bad |= machine->depth > 0; /* a list may only be the whole value */
        push(machine, (item_t){.kind = LIST});
        break;
    case 'a':
        extend(machine, 1, 0);
        break;
    case '(':
        push(machine, (item_t){.kind = MARK});
        break;
    case 'e':
        extend(machine, above_mark(machine), 1);
        break;
    case 't':
        end_tuple(machine);
        break;
    case 0x85:
    case 0x86:
    case 0x87:
        make_small_tuple(machine, opcode - 0x84u);
        break;
    case 0x8c:
        push_string(machine, 1, true);
        break;
    case 'X':
        push_string(machine, 4, true);
        break;
    case 0x8d:
        push_string(machine, 8, true);
        break;
    case 'C':
        push_string(machine, 1, false);
        break;
    case 'B':
        push_string(machine, 4, false);
        break;
    case 0x8e:
    case 0x96:
        push_string(machine, 8, false);
        break;
    case 'J':
        push_integer(machine, 4, true);
        break;
    case 'K':
        push_integer(machine, 1, false);
        break;
    case 'M':
        push_integer(machine, 2, false);
        break;
    case 0x8a:
        push_long(machine);
        break;
    case 'G':
        push_float(machine);
        break;
    default:
        machine->is_bad = true;
    }
}

/* True if the value is a command or a list of commands.  Then `tuples` holds them. */
static bool run(machine_t *machine)
{
    bool has_ended = false;

    while (!machine->is_bad && !has_ended && fuzz_left(&machine->in) > 0) {
        uint8_t opcode = fuzz_byte(&machine->in);
        has_ended = opcode == '.';
        if (!has_ended)
            step(machine, opcode);
    }
    if (machine->is_bad || !has_ended || machine->depth != 1 ||
        fuzz_left(&machine->in) > 0)
        return false;
    if (machine->stack[0].kind == TUPLE) {
        machine->tuples[machine->tuples_count++] = machine->stack[0];
        return true;
    }
    return machine->stack[0].kind == LIST;
}

/* ---- the two together ---- */

static void check_argument(const item_t *item, const char *data, size_t bytes)
{
    char text[64] = "", *end = NULL;

    if (item->kind == BYTES) {
        FUZZ_CHECK(data == item->data && bytes == item->bytes, "another string");
        return;
    }
    FUZZ_CHECK(bytes > 0 && bytes < 32, "a number of %zu bytes", bytes);
    memcpy(text, data, bytes);
    if (item->kind == INTEGER) {
        FUZZ_CHECK(strtoll(text, &end, 10) == item->integer && !*end, "%s", text);
        return;
    }
    double number = strtod(text, &end);
    bool is_same = isnan(number) ? isnan(item->number)
                                 : memcmp(&number, &item->number, sizeof number) == 0;
    FUZZ_CHECK(is_same && !*end, "%s", text);
}

static void check_commands(const shoalpy_requests_t *requests, const machine_t *machine)
{
    FUZZ_CHECK(requests->count == machine->tuples_count, "%zu commands, not %zu",
               requests->count, machine->tuples_count);
    for (size_t i = 0; i < requests->count; i++) {
        const shoal_command_t *command = &requests->commands[i];
        const item_t *tuple = &machine->tuples[i];

        FUZZ_CHECK(command->argc == tuple->count, "%zu arguments", command->argc);
        for (size_t k = 0; k < command->argc; k++)
            check_argument(&machine->arguments[tuple->first + k], command->argv[k],
                           command->argvlen[k]);
    }
}

/* The commands as a stream of bytes objects. */
static void write_again(const shoalpy_requests_t *requests, pickle_text_t *stream)
{
    pickle_text_add(stream, "\x80\x05](", 4);
    for (size_t i = 0; i < requests->count; i++) {
        const shoal_command_t *command = &requests->commands[i];

        pickle_text_add(stream, "(", 1);
        for (size_t k = 0; k < command->argc; k++) {
            char head[9] = {(char)0x8e};
            for (size_t byte = 0; byte < 8; byte++)
                head[1 + byte] = (char)((uint64_t)command->argvlen[k] >> 8 * byte);
            pickle_text_add(stream, head, sizeof head);
            pickle_text_add(stream, command->argv[k], command->argvlen[k]);
        }
        pickle_text_add(stream, "t", 1);
    }
    pickle_text_add(stream, "e.", 2);
}

static void check_again(const shoalpy_requests_t *requests)
{
    shoalpy_requests_t again = {0};
    pickle_text_t stream = {0};

    write_again(requests, &stream);
    FUZZ_CHECK(shoalpy_requests_read(&again, stream.data, stream.bytes) == 0,
               "refused as bytes");
    FUZZ_CHECK(again.count == requests->count, "%zu again", again.count);
    for (size_t i = 0; i < again.count; i++) {
        const shoal_command_t *one = &requests->commands[i], *two = &again.commands[i];
        FUZZ_CHECK(one->argc == two->argc, "another command %zu", i);
        for (size_t k = 0; k < one->argc; k++)
            FUZZ_CHECK(one->argvlen[k] == two->argvlen[k] &&
                           memcmp(one->argv[k], two->argv[k], one->argvlen[k]) == 0,
                       "another argument %zu of command %zu", k, i);
    }
    shoalpy_requests_release(&again);
    pickle_text_release(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static shoalpy_requests_t requests; /* one for all streams, as a real caller has */
    item_t *items = calloc(3 * (bytes + 1), sizeof *items);
    machine_t machine = {.in = {data, data + bytes},
                         .stack = items,
                         .arguments = items + bytes + 1,
                         .tuples = items + 2 * (bytes + 1)};

    FUZZ_CHECK(items, "no memory");
    bool is_good = run(&machine);
    int rc = shoalpy_requests_read(&requests, (const char *)data, bytes);
    FUZZ_CHECK(rc == (is_good ? 0 : SHOAL_EINVAL), "%d", rc);
    if (rc == 0) {
        check_commands(&requests, &machine);
        check_again(&requests);
    }
    free(items);
    return 0;
}
