/* SPDX-License-Identifier: MIT */
#include "core/refusal.h"

#include <assert.h>
#include <string.h>

static const char many_replies[] = "its replies are not exactly one";
static const char state[] = "it changes the connection under other callers";
static const char use_close[] = "it ends the connection: close the client";
static const char unit_only[] = "it is for contiguous MULTI ... EXEC only";
static const char blocks[] = "it holds up everything behind it: MAY_BLOCK allows it";

typedef enum role {
    ROLE_REFUSED,
    ROLE_UNIT, /* MULTI, EXEC, DISCARD */
    ROLE_CLIENT,
    ROLE_SCRIPT,
    ROLE_XREAD
} role_t;

static const struct special {
    const char *name;
    role_t role;
    const char *refused;
} specials[] = {
    {"SUBSCRIBE", ROLE_REFUSED, many_replies},
    {"PSUBSCRIBE", ROLE_REFUSED, many_replies},
    {"SSUBSCRIBE", ROLE_REFUSED, many_replies},
    {"UNSUBSCRIBE", ROLE_REFUSED, many_replies},
    {"PUNSUBSCRIBE", ROLE_REFUSED, many_replies},
    {"SUNSUBSCRIBE", ROLE_REFUSED, many_replies},
    {"MONITOR", ROLE_REFUSED, many_replies},
    {"SYNC", ROLE_REFUSED, many_replies},
    {"PSYNC", ROLE_REFUSED, many_replies},
    {"REPLCONF", ROLE_REFUSED, many_replies},
    {"RESET", ROLE_REFUSED, state},
    {"QUIT", ROLE_REFUSED, use_close},
    {"HELLO", ROLE_REFUSED, state},
    {"AUTH", ROLE_REFUSED, state},
    {"SELECT", ROLE_REFUSED, state},
    {"READONLY", ROLE_REFUSED, state},
    {"READWRITE", ROLE_REFUSED, state},
    {"ASKING", ROLE_REFUSED, state},
    {"WATCH", ROLE_REFUSED, state},
    {"UNWATCH", ROLE_REFUSED, state},
    {"MULTI", ROLE_UNIT, unit_only},
    {"EXEC", ROLE_UNIT, unit_only},
    {"DISCARD", ROLE_UNIT, unit_only},
    {"CLIENT", ROLE_CLIENT, state},
    {"SCRIPT", ROLE_SCRIPT, state},
    {"XREAD", ROLE_XREAD, blocks},
    {"XREADGROUP", ROLE_XREAD, blocks},
};

static shoal__bytes_t argument(const shoal_command_t *command, size_t index)
{
    const char *data = command->argv[index];
    return (shoal__bytes_t){data,
                            command->argvlen ? command->argvlen[index] : strlen(data)};
}

/* NULL for nearly every command.  A command with keys is looked up only if it blocks,
 * is about pub/sub, or may not be called by scripts. */
static const struct special *find_special(const shoal__command_info_t *info)
{
    const unsigned suspect =
        SHOAL__COMMAND_BLOCKING | SHOAL__COMMAND_PUBSUB | SHOAL__COMMAND_NOSCRIPT;

    if (!info || (info->first_key != 0 && !(info->flags & suspect)))
        return NULL;

    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (specials[i].name[0] == info->name[0] &&
            strcmp(specials[i].name, info->name) == 0)
            return &specials[i];
    return NULL;
}

/* An unknown subcommand may change anything. */
static bool client_is_harmless(const shoal_command_t *command)
{
    static const char *const harmless[] = {
        "GETNAME", "GETREDIR", "HELP",         "ID",      "INFO",   "KILL",
        "LIST",    "PAUSE",    "TRACKINGINFO", "UNBLOCK", "UNPAUSE"};

    if (command->argc < 2)
        return true; /* an error reply, but exactly one */
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (shoal__bytes_is_word(argument(command, 1), harmless[i]))
            return true;
    return false;
}

/* Looks for BLOCK as the server does: a group or a stream may have that name. */
static bool xread_blocks(const shoal_command_t *command)
{
    for (size_t i = 1; i < command->argc; i++) {
        shoal__bytes_t word = argument(command, i);
        if (shoal__bytes_is_word(word, "STREAMS"))
            return false;
        if (shoal__bytes_is_word(word, "BLOCK"))
            return true;
        if (shoal__bytes_is_word(word, "GROUP"))
            i += 2;
        else if (shoal__bytes_is_word(word, "COUNT"))
            i += 1;
    }
    return false;
}

static shoal__admission_t admit(const shoal_command_t *command, uint32_t flags,
                                const struct special **ret_special)
{
    const shoal__command_info_t *info = shoal__command_info_find(argument(command, 0));
    const struct special *special = *ret_special = find_special(info);
    shoal__admission_t admission = {
        .command_class = shoal__command_info_class(info),
        .shape = info ? info->shape : SHOAL__SHAPE_ANY,
    };
    bool is_blocking = info && (info->flags & SHOAL__COMMAND_BLOCKING);

    if (special) {
        switch (special->role) {
        case ROLE_REFUSED:
        case ROLE_UNIT:
            admission.refused = special->refused;
            break;
        case ROLE_CLIENT:
            if (!client_is_harmless(command))
                admission.refused = special->refused;
            break;
        case ROLE_SCRIPT:
            if (command->argc > 1 &&
                shoal__bytes_is_word(argument(command, 1), "DEBUG"))
                admission.refused = special->refused;
            break;
        case ROLE_XREAD:
            assert(info); /* found by its name */
            is_blocking = xread_blocks(command);
            if (is_blocking)
                admission.command_class = SHOAL__CLASS_BLOCK;
            else
                admission.command_class = info->flags & SHOAL__COMMAND_READONLY
                                              ? SHOAL__CLASS_RO
                                              : SHOAL__CLASS_WRITE;
            break;
        }
    }
    if (is_blocking && !(flags & SHOAL_CALL_MAY_BLOCK))
        admission.refused = blocks;
    return admission;
}

shoal__admission_t shoal__refusal_check(const shoal_command_t *command, uint32_t flags)
{
    const struct special *special;
    return admit(command, flags, &special);
}

/* Where MULTI, EXEC and DISCARD may stand.  With an argument too many the server would
 * reject them, and the connection would stay in the transaction, or out of it. */
static const char *check_position(const shoal_command_t *command, const char *name,
                                  bool is_unit, bool is_first, bool is_last)
{
    if (command->argc != 1)
        return "MULTI, EXEC and DISCARD take no argument";
    if (strcmp(name, "MULTI") == 0)
        return is_first ? NULL : "MULTI may only be the first command";
    return is_unit && is_last ? NULL : "EXEC and DISCARD may only end what MULTI began";
}

const char *shoal__refusal_check_group(const shoal_command_t *commands, size_t count,
                                       uint32_t flags, bool *ret_is_unit)
{
    bool is_unit = false, has_end = false;

    for (size_t i = 0; i < count; i++) {
        const struct special *special;
        bool is_last = i + 1 == count;
        const char *refused = admit(&commands[i], flags, &special).refused;

        if (special && special->role == ROLE_UNIT) {
            refused =
                check_position(&commands[i], special->name, is_unit, i == 0, is_last);
            is_unit = true;
            has_end = i > 0;
        }
        if (refused)
            return refused;
    }
    if (is_unit && !has_end)
        return "MULTI needs an EXEC or DISCARD as the last command";
    *ret_is_unit = is_unit;
    return NULL;
}

shoal__reply_shape_t shoal__refusal_unit_shape(const shoal_command_t *commands,
                                               size_t count, size_t index)
{
    /* The last one is EXEC or DISCARD, whose reply is a status like QUEUED. */
    bool is_exec =
        index + 1 == count && argument(&commands[index], 0).bytes == sizeof "EXEC" - 1;

    return is_exec ? SHOAL__SHAPE_EXEC : SHOAL__SHAPE_QUEUED;
}
