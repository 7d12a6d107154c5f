/* SPDX-License-Identifier: MIT */

/* Commands of any bytes: what the encoder writes is read back by a parser that shares
 * nothing with it (S1), and whether a command may be sent does not depend on the case of
 * its letters. */

#include "core/refusal.h"
#include "fuzz_input.h"
#include "resp/encoder.h"
#include "support/fake/fake_request.h"

#define ARGS_MAX 12
#define COMMANDS_MAX 4

typedef struct argv {
    shoal_command_t command;
    const char *texts[ARGS_MAX];
    char *memory[ARGS_MAX];
    size_t bytes[ARGS_MAX];
} argv_t;

/* Words for which the rules look.  An input names them by one byte. */
static const char *const words[] = {
    "MULTI",  "EXEC",  "DISCARD", "CLIENT",     "KILL",    "SETINFO", "GETNAME",
    "SCRIPT", "DEBUG", "XREAD",   "XREADGROUP", "STREAMS", "BLOCK",   "GROUP",
    "COUNT",  "BLPOP", "WAIT",    "SUBSCRIBE",  "HELLO",   "AUTH",    "SELECT",
    "GET",    "INCR",  "EVAL",    "NOSUCH",     "",        "PING",    "QUIT",
};

/* Lengths around those that need one more digit. */
static const size_t edges[] = {0,   1,   9,    10,   11,   99,    100,
                               101, 999, 1000, 1001, 9999, 10000, 100000};

/* One byte says where an argument comes from: a known word, the input, or many equal
 * bytes. */
static void take_argument(fuzz_input_t *in, argv_t *argv, size_t i)
{
    uint8_t kind = fuzz_byte(in);
    char *memory;

    if (kind < 128) {
        memory = fuzz_take(in, kind, &argv->bytes[i]);
    } else if (kind < 192) {
        const char *word = words[kind % (sizeof words / sizeof *words)];
        argv->bytes[i] = strlen(word);
        memory = malloc(argv->bytes[i] + 1);
        FUZZ_CHECK(memory, "no memory");
        memcpy(memory, word, argv->bytes[i]);
    } else {
        size_t kinds = sizeof edges / sizeof *edges - (kind < 255 ? 3 : 0);
        argv->bytes[i] = edges[fuzz_byte(in) % kinds];
        memory = malloc(argv->bytes[i] + 1);
        FUZZ_CHECK(memory, "no memory");
        memset(memory, kind, argv->bytes[i]);
    }
    argv->texts[i] = argv->memory[i] = memory;
}

static void take_command(fuzz_input_t *in, argv_t *ret_argv)
{
    size_t argc = 1 + fuzz_byte(in) % ARGS_MAX;

    for (size_t i = 0; i < argc; i++)
        take_argument(in, ret_argv, i);
    ret_argv->command = (shoal_command_t){
        .argc = argc, .argv = ret_argv->texts, .argvlen = ret_argv->bytes};
}

static void free_command(argv_t *argv)
{
    for (size_t i = 0; i < argv->command.argc; i++)
        free(argv->memory[i]);
}

/* Encode into memory of the announced size. */
static char *encode(const shoal_command_t *command, size_t *ret_bytes)
{
    size_t bytes = shoal__encoder_bytes(command);
    size_t bytes_max = shoal__encoder_bytes_max(command);
    char *wire = malloc(bytes > 0 ? bytes : 1);

    FUZZ_CHECK(wire && bytes > 0 && bytes_max >= bytes, "%zu and at most %zu", bytes,
               bytes_max);
    FUZZ_CHECK(shoal__encoder_write(command, wire) == wire + bytes, "another size");
    *ret_bytes = bytes;
    return wire;
}

static void check_round_trip(const argv_t *argv)
{
    fake_request_t parsed = {0};
    size_t bytes, used;
    char *wire = encode(&argv->command, &bytes);

    FUZZ_CHECK(fake_request_parse(&parsed, wire, bytes, &used), "broken");
    FUZZ_CHECK(used == bytes, "%zu of %zu bytes are one command", used, bytes);
    FUZZ_CHECK(parsed.argc == argv->command.argc, "%zu arguments", parsed.argc);
    for (size_t i = 0; i < parsed.argc; i++)
        FUZZ_CHECK(parsed.argv[i].size == argv->bytes[i] &&
                       memcmp(parsed.argv[i].data, argv->texts[i], argv->bytes[i]) == 0,
                   "argument %zu differs", i);
    FUZZ_CHECK(fake_request_parse(&parsed, wire, bytes - 1, &used) && used == 0,
               "whole before its last byte");
    fake_request_release(&parsed);
    free(wire);
}

/* The same command with NUL-terminated texts and without lengths gives the same
 * bytes. */
static void check_texts(const argv_t *argv)
{
    const char *texts[ARGS_MAX];
    char *copies[ARGS_MAX];
    shoal_command_t command = {.argc = argv->command.argc, .argv = texts};
    size_t bytes, text_bytes;
    bool has_nul = false;

    for (size_t i = 0; i < command.argc; i++) {
        texts[i] = copies[i] = malloc(argv->bytes[i] + 1);
        FUZZ_CHECK(copies[i], "no memory");
        memcpy(copies[i], argv->texts[i], argv->bytes[i]);
        copies[i][argv->bytes[i]] = '\0';
        has_nul |= strlen(copies[i]) != argv->bytes[i];
    }
    char *with = encode(&argv->command, &bytes),
         *without = encode(&command, &text_bytes);
    if (!has_nul)
        FUZZ_CHECK(bytes == text_bytes && memcmp(with, without, bytes) == 0, "differs");
    free(with);
    free(without);
    for (size_t i = 0; i < command.argc; i++)
        free(copies[i]);
}

/* Turn the case of every letter. */
static void turn_case(argv_t *argv)
{
    for (size_t i = 0; i < argv->command.argc; i++)
        for (size_t k = 0; k < argv->bytes[i]; k++) {
            char *at = &argv->memory[i][k];
            if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z'))
                *at ^= 0x20;
        }
}

static bool is_same_refusal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void check_refusal(argv_t *argv, size_t count, uint32_t flags)
{
    shoal_command_t commands[COMMANDS_MAX];
    shoal__admission_t before[COMMANDS_MAX];
    bool was_unit = false, is_unit = false;
    bool has_refused = false;

    for (size_t i = 0; i < count; i++) {
        commands[i] = argv[i].command;
        before[i] = shoal__refusal_check(&commands[i], flags);
        has_refused |= before[i].refused != NULL;
    }
    const char *group = shoal__refusal_check_group(commands, count, flags, &was_unit);
    FUZZ_CHECK(group || was_unit || !has_refused, "a group makes a refused one good");

    for (size_t i = 0; i < count; i++)
        turn_case(&argv[i]);
    for (size_t i = 0; i < count; i++) {
        shoal__admission_t after = shoal__refusal_check(&commands[i], flags);
        FUZZ_CHECK(is_same_refusal(before[i].refused, after.refused) &&
                       before[i].command_class == after.command_class,
                   "the case of command %zu matters", i);
    }
    FUZZ_CHECK(is_same_refusal(group, shoal__refusal_check_group(commands, count, flags,
                                                                 &is_unit)) &&
                   (group || was_unit == is_unit),
               "the case matters for a group");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t in = {data, data + bytes};
    uint8_t head = fuzz_byte(&in);
    size_t count = 1 + (head >> 2) % COMMANDS_MAX;
    argv_t argv[COMMANDS_MAX];

    for (size_t i = 0; i < count; i++) {
        take_command(&in, &argv[i]);
        check_round_trip(&argv[i]);
        check_texts(&argv[i]);
    }
    check_refusal(argv, count, head & 1 ? SHOAL_CALL_MAY_BLOCK : 0);
    for (size_t i = 0; i < count; i++)
        free_command(&argv[i]);
    return 0;
}
