/* SPDX-License-Identifier: MIT */
#include "resp/command_info.h"

#include "resp/command_table.inc"

#define EMPTY_SLOT 0xFFFF

static unsigned char upper(char c)
{
    return (unsigned char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

static uint32_t name_hash(shoal__bytes_t name)
{
    uint32_t h = (uint32_t)name.bytes;

    for (size_t i = 0; i < name.bytes; i++)
        h = h * 31 + upper(name.data[i]);
    return h ^ (h >> 15);
}

const shoal__command_info_t *shoal__command_info_find(shoal__bytes_t name)
{
    if (name.bytes > UINT8_MAX)
        return NULL;

    uint32_t slot = name_hash(name) & (COMMAND_HASH_SIZE - 1);
    while (command_slots[slot] != EMPTY_SLOT) {
        const shoal__command_info_t *info = &command_rows[command_slots[slot]];
        if (info->name_bytes == name.bytes && shoal__bytes_is_word(name, info->name))
            return info;
        slot = (slot + 1) & (COMMAND_HASH_SIZE - 1);
    }
    return NULL;
}

/* Commands that touch no keys, so that the server does not flag them readonly, and
 * change nothing in any of their forms. */
static bool is_harmless(const shoal__command_info_t *info)
{
    static const char *const names[] = {"PING",   "ECHO",    "TIME",
                                        "INFO",   "ROLE",    "OBJECT",
                                        "PUBSUB", "COMMAND", "LASTSAVE"};
    shoal__bytes_t name = {info->name, info->name_bytes};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (shoal__bytes_is_word(name, names[i]))
            return true;
    return false;
}

shoal__command_class_t shoal__command_info_class(const shoal__command_info_t *info)
{
    if (!info)
        return SHOAL__CLASS_SCRIPT;
    if (info->flags & SHOAL__COMMAND_BLOCKING)
        return SHOAL__CLASS_BLOCK;
    if (info->flags & SHOAL__COMMAND_WRITE)
        return SHOAL__CLASS_WRITE;
    if (info->flags & SHOAL__COMMAND_READONLY)
        return SHOAL__CLASS_RO;
    if (info->flags & SHOAL__COMMAND_SCRIPT)
        return SHOAL__CLASS_SCRIPT;
    return is_harmless(info) ? SHOAL__CLASS_RO : SHOAL__CLASS_WRITE;
}
