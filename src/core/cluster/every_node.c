/* SPDX-License-Identifier: MIT */
#include "core/cluster/every_node.h"

#include "base/bytes.h"

#define SUBCOMMANDS_MAX 9

typedef struct row {
    const char *name;
    const char *subcommands[SUBCOMMANDS_MAX]; /* NULL ends them; none: any */
} row_t;

static const row_t rows[] = {
    {"ACL", {"SETUSER", "DELUSER", "SAVE", "LOAD"}},
    {"CONFIG", {"SET", "RESETSTAT", "REWRITE"}},
    {"DBSIZE", {0}},
    {"FLUSHALL", {0}},
    {"FLUSHDB", {0}},
    {"FUNCTION", {"LOAD", "DELETE", "FLUSH", "RESTORE", "KILL"}},
    {"KEYS", {0}},
    {"LATENCY", {"RESET"}},
    {"MEMORY", {"DOCTOR", "MALLOC-STATS", "PURGE", "STATS"}},
    {"PUBSUB", {"CHANNELS", "NUMSUB", "NUMPAT", "SHARDCHANNELS", "SHARDNUMSUB"}},
    {"RANDOMKEY", {0}},
    {"SCAN", {0}},
    {"SCRIPT", {"LOAD", "FLUSH", "EXISTS", "KILL"}},
    {"SLOWLOG", {"RESET", "LEN", "GET"}},
    {"WAIT", {0}},
    {"WAITAOF", {0}},
};

static shoal__bytes_t word_of(const shoal_command_t *command, size_t at)
{
    const char *word = command->argv[at];

    return (shoal__bytes_t){word,
                            command->argvlen ? command->argvlen[at] : strlen(word)};
}

static bool is_one_of(const row_t *row, shoal__bytes_t subcommand)
{
    for (size_t i = 0; i < SUBCOMMANDS_MAX && row->subcommands[i]; i++)
        if (shoal__bytes_is_word(subcommand, row->subcommands[i]))
            return true;
    return false;
}

bool shoal__concerns_every_node(const shoal_command_t *command)
{
    shoal__bytes_t name = word_of(command, 0);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (shoal__bytes_is_word(name, rows[i].name))
            return !rows[i].subcommands[0] ||
                   (command->argc > 1 && is_one_of(&rows[i], word_of(command, 1)));
    return false;
}
