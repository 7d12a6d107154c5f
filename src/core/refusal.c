/* SPDX-License-Identifier: MIT */
#include "core/refusal.h"

#include "core/block_time.h"
#include <assert.h>
#include <string.h>

static const char many_replies[] = "its replies are not exactly one";
static const char state[] = "it changes the connection under other callers";
static const char use_close[] = "it ends the connection: close the client";
static const char unit_only[] = "it is for contiguous MULTI ... EXEC only";
static const char blocks[] = "it holds up everything behind it: MAY_BLOCK allows it";
static const char governs[] = "the library itself governs the connection with it";
static const char own_function[] = "shoal_lease_monitor() sends it";
static const char counts[] =
    "it counts the writes of its own connection: MAY_BLOCK or a lease allows it";

typedef enum role {
    ROLE_REFUSED,
    ROLE_UNIT, /* MULTI, EXEC, DISCARD */
    ROLE_CLIENT,
    ROLE_SCRIPT,
    ROLE_XREAD,
    ROLE_WAIT
} role_t;

static const struct special {
    const char *name;
    role_t role;
    const char *refused;
    shoal__lease_effect_t
        effect; /* of a command that a lease allows, or of MONITOR; NONE: it does not */
} specials[] = {
    {"SUBSCRIBE", ROLE_REFUSED, many_replies, SHOAL__LEASE_NONE},
    {"PSUBSCRIBE", ROLE_REFUSED, many_replies, SHOAL__LEASE_NONE},
    {"SSUBSCRIBE", ROLE_REFUSED, many_replies, SHOAL__LEASE_NONE},
    {"UNSUBSCRIBE", ROLE_REFUSED, many_replies, SHOAL__LEASE_NONE},
    {"PUNSUBSCRIBE", ROLE_REFUSED, many_replies, SHOAL__LEASE_NONE},
    {"SUNSUBSCRIBE", ROLE_REFUSED, many_replies, SHOAL__LEASE_NONE},
    {"MONITOR", ROLE_REFUSED, many_replies, SHOAL__LEASE_MONITOR},
    {"SYNC", ROLE_REFUSED, many_replies, SHOAL__LEASE_NONE},
    {"PSYNC", ROLE_REFUSED, many_replies, SHOAL__LEASE_NONE},
    {"REPLCONF", ROLE_REFUSED, many_replies, SHOAL__LEASE_NONE},
    {"RESET", ROLE_REFUSED, state, SHOAL__LEASE_NONE},
    {"QUIT", ROLE_REFUSED, use_close, SHOAL__LEASE_NONE},
    {"HELLO", ROLE_REFUSED, state, SHOAL__LEASE_NONE},
    {"AUTH", ROLE_REFUSED, state, SHOAL__LEASE_NONE},
    {"SELECT", ROLE_REFUSED, state, SHOAL__LEASE_SELECT},
    {"READONLY", ROLE_REFUSED, state, SHOAL__LEASE_OTHER},
    {"READWRITE", ROLE_REFUSED, state, SHOAL__LEASE_OTHER},
    {"ASKING", ROLE_REFUSED, state, SHOAL__LEASE_OTHER},
    {"WATCH", ROLE_REFUSED, state, SHOAL__LEASE_WATCH},
    {"UNWATCH", ROLE_REFUSED, state, SHOAL__LEASE_UNWATCH},
    {"MULTI", ROLE_UNIT, unit_only, SHOAL__LEASE_MULTI},
    {"EXEC", ROLE_UNIT, unit_only, SHOAL__LEASE_EXEC},
    {"DISCARD", ROLE_UNIT, unit_only, SHOAL__LEASE_DISCARD},
    {"CLIENT", ROLE_CLIENT, state, SHOAL__LEASE_OTHER},
    {"SCRIPT", ROLE_SCRIPT, state, SHOAL__LEASE_NONE},
    {"XREAD", ROLE_XREAD, blocks, SHOAL__LEASE_NONE},
    {"XREADGROUP", ROLE_XREAD, blocks, SHOAL__LEASE_NONE},
    {"WAIT", ROLE_WAIT, counts, SHOAL__LEASE_NONE},
    {"WAITAOF", ROLE_WAIT, counts, SHOAL__LEASE_NONE},
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

static bool is_script_debug(const shoal_command_t *command)
{
    return command->argc > 1 && shoal__bytes_is_word(argument(command, 1), "DEBUG");
}

/* One of the specials: is it refused, does it block? */
static void judge_special(const shoal_command_t *command, uint32_t flags,
                          const shoal__command_info_t *info,
                          const struct special *special, bool *is_blocking,
                          shoal__admission_t *admission)
{
    switch (special->role) {
    case ROLE_REFUSED:
    case ROLE_UNIT:
        admission->refused = special->refused;
        break;
    case ROLE_CLIENT:
        if (!client_is_harmless(command))
            admission->refused = special->refused;
        break;
    case ROLE_SCRIPT:
        if (is_script_debug(command))
            admission->refused = special->refused;
        break;
    case ROLE_XREAD:
        *is_blocking = shoal__block_time_of_xread(command) != 0;
        if (*is_blocking)
            admission->command_class = SHOAL__CLASS_BLOCK;
        else
            admission->command_class = info->flags & SHOAL__COMMAND_READONLY
                                           ? SHOAL__CLASS_RO
                                           : SHOAL__CLASS_WRITE;
        break;
    case ROLE_WAIT:
        if (!(flags & SHOAL_CALL_MAY_BLOCK))
            admission->refused = special->refused;
        break;
    }
}

static shoal__admission_t admit(const shoal_command_t *command, uint32_t flags,
                                const struct special **ret_special)
{
    const shoal__command_info_t *info = shoal__command_info_find(argument(command, 0));
    const struct special *special = *ret_special = find_special(info);
    shoal__admission_t admission = {
        .command_class = shoal__command_info_class(info),
        .shape = info ? info->shape : SHOAL__SHAPE_ANY,
        .info = info,
    };
    bool is_blocking = info && (info->flags & SHOAL__COMMAND_BLOCKING);

    if (special)
        judge_special(command, flags, info, special, &is_blocking, &admission);
    if (is_blocking && !(flags & SHOAL_CALL_MAY_BLOCK) && !admission.refused) {
        admission.refused = blocks;
        admission.wants_lease = true;
    }
    return admission;
}

shoal__admission_t shoal__refusal_check(const shoal_command_t *command, uint32_t flags)
{
    const struct special *special;
    return admit(command, flags, &special);
}

shoal__admission_t shoal__refusal_check_on_lease(const shoal_command_t *command,
                                                 shoal__lease_effect_t *ret_effect)
{
    const struct special *special;
    shoal__admission_t admission = admit(command, SHOAL_CALL_MAY_BLOCK, &special);
    bool is_known = shoal__command_info_find(argument(command, 0)) != NULL;

    *ret_effect = is_known ? SHOAL__LEASE_NONE : SHOAL__LEASE_OTHER;
    if (!admission.refused)
        return admission;
    assert(special); /* which has the reason */
    if (special->effect == SHOAL__LEASE_MONITOR) {
        *ret_effect = SHOAL__LEASE_MONITOR;
        admission.refused = own_function;
    } else if (special->effect != SHOAL__LEASE_NONE &&
               !(special->role == ROLE_CLIENT &&
                 shoal__bytes_is_word(argument(command, 1), "REPLY"))) {
        *ret_effect = special->effect;
        admission.refused = NULL;
    } else if (special->refused == state) {
        admission.refused = governs;
    }
    return admission;
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
