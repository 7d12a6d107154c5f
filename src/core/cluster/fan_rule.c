/* SPDX-License-Identifier: MIT */
#include "core/cluster/fan_rule.h"

#define SUBCOMMANDS_MAX 5

typedef struct row {
    const char *name;
    const char *subcommands[SUBCOMMANDS_MAX]; /* NULL ends them; none: any */
    shoal__fan_t fan;
} row_t;

#define PRIMARIES(policy)                                                              \
    {                                                                                  \
        SHOAL_ROUTE_PRIMARIES, SHOAL__GATHER_##policy, false                           \
    }
#define NODES(policy)                                                                  \
    {                                                                                  \
        SHOAL_ROUTE_NODES, SHOAL__GATHER_##policy, false                               \
    }
#define REFUSED                                                                        \
    {                                                                                  \
        SHOAL_ROUTE_ANY, SHOAL__GATHER_BY_NODE, true                                   \
    }

static const row_t rows[] = {
    {"ACL", {"SETUSER", "DELUSER", "SAVE", "LOAD"}, NODES(ALL)},
    {"CLUSTER", {"SLOT-STATS"}, PRIMARIES(JOIN)},
    {"CONFIG", {"SET", "RESETSTAT", "REWRITE"}, NODES(ALL)},
    {"DBSIZE", {0}, PRIMARIES(SUM)},
    {"FLUSHALL", {0}, PRIMARIES(ALL)},
    {"FLUSHDB", {0}, PRIMARIES(ALL)},
    {"FUNCTION", {"LOAD", "DELETE", "FLUSH", "RESTORE"}, PRIMARIES(ALL)},
    {"FUNCTION", {"KILL"}, PRIMARIES(ONE)},
    {"KEYS", {0}, PRIMARIES(JOIN)},
    {"LATENCY", {"RESET"}, NODES(SUM)},
    {"MEMORY", {"PURGE"}, PRIMARIES(ALL)},
    {"MEMORY", {"DOCTOR", "MALLOC-STATS", "STATS"}, PRIMARIES(BY_NODE)},
    {"PUBSUB", {"CHANNELS", "SHARDCHANNELS"}, NODES(JOIN)},
    {"PUBSUB", {"NUMSUB", "NUMPAT", "SHARDNUMSUB"}, NODES(SUM)},
    {"RANDOMKEY", {0}, REFUSED},
    {"SCAN", {0}, REFUSED},
    {"SCRIPT", {"LOAD", "FLUSH"}, NODES(ALL)},
    {"SCRIPT", {"EXISTS"}, PRIMARIES(MIN)},
    {"SCRIPT", {"KILL"}, PRIMARIES(ONE)},
    {"SLOWLOG", {"RESET"}, NODES(ALL)},
    {"SLOWLOG", {"LEN"}, NODES(SUM)},
    {"SLOWLOG", {"GET"}, NODES(JOIN)},
    {"WAIT", {0}, PRIMARIES(MIN)},
    {"WAITAOF", {0}, PRIMARIES(MIN)},
};

static bool is_one_of(const row_t *row, shoal__bytes_t subcommand)
{
    bool is_any = !row->subcommands[0];

    for (size_t i = 0; i < SUBCOMMANDS_MAX && row->subcommands[i]; i++)
        if (shoal__bytes_is_word(subcommand, row->subcommands[i]))
            return true;
    return is_any;
}

static shoal__fan_t find(shoal__bytes_t name, shoal__bytes_t subcommand)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (shoal__bytes_is_word(name, rows[i].name) && is_one_of(&rows[i], subcommand))
            return rows[i].fan;
    return (shoal__fan_t){SHOAL_ROUTE_ANY, SHOAL__GATHER_BY_NODE, false};
}

static shoal__bytes_t word_of(const shoal_command_t *command, size_t at)
{
    const char *word = at < command->argc ? command->argv[at] : "";

    if (at >= command->argc)
        return (shoal__bytes_t){word, 0};
    return (shoal__bytes_t){word,
                            command->argvlen ? command->argvlen[at] : strlen(word)};
}

shoal__fan_t shoal__fan_of(const shoal_command_t *command)
{
    return find(word_of(command, 0), word_of(command, 1));
}

/* The next word of "$4\r\nname\r\n..." is taken from the text; empty: there is none. */
static shoal__bytes_t next_word(shoal__bytes_t *text)
{
    static const shoal__bytes_t none = {"", 0};
    const char *at = text->data, *end = text->data + text->bytes;
    size_t bytes = 0;

    if (at == end || *at++ != '$')
        return none;
    for (; at != end && *at >= '0' && *at <= '9'; at++)
        bytes = bytes * 10 + (size_t)(*at - '0');
    if (end - at < 4 || bytes > (size_t)(end - at) - 4)
        return none;
    text->data = at + 2 + bytes + 2;
    text->bytes = (size_t)(end - text->data);
    return (shoal__bytes_t){at + 2, bytes};
}

shoal__fan_t shoal__fan_of_encoded(shoal__bytes_t encoded)
{
    const char *count_end = memchr(encoded.data, '\n', encoded.bytes);
    shoal__bytes_t text = {"", 0}, name;

    if (count_end) {
        text.data = count_end + 1;
        text.bytes = (size_t)(encoded.data + encoded.bytes - text.data);
    }
    name = next_word(&text);
    return find(name, next_word(&text));
}
