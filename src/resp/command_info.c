/* SPDX-License-Identifier: MIT */
#include "resp/command_info.h"

#include "resp/command_table.inc"

#define EMPTY_SLOT 0xFFFF

static unsigned char upper(char c)
{
    return (unsigned char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

static uint64_t load_4(const char *at)
{
    return (uint64_t)(unsigned char)at[0] | (uint64_t)(unsigned char)at[1] << 8 |
           (uint64_t)(unsigned char)at[2] << 16 | (uint64_t)(unsigned char)at[3] << 24;
}

/* 1 to 8 bytes as one number with the case bits cleared: for letters that is upper case,
 * and no other byte becomes a letter. */
static uint64_t short_word(shoal__bytes_t name)
{
    const char *at = name.data;
    uint64_t word;

    if (name.bytes >= 4) {
        word = load_4(at) | load_4(at + name.bytes - 4) << (8 * (name.bytes - 4));
    } else {
        word = (unsigned char)at[0];
        word |= (uint64_t)(unsigned char)at[name.bytes / 2] << (8 * (name.bytes / 2));
        word |= (uint64_t)(unsigned char)at[name.bytes - 1] << (8 * (name.bytes - 1));
    }
    return word & UINT64_C(0xDFDFDFDFDFDFDFDF);
}

static const shoal__command_info_t *find_short(shoal__bytes_t name)
{
    uint64_t word = short_word(name);
    uint32_t slot = (uint32_t)(word * UINT64_C(0x9E3779B97F4A7C15) >> 40);

    for (slot &= COMMAND_HASH_SIZE - 1; command_slots[slot] != EMPTY_SLOT;
         slot = (slot + 1) & (COMMAND_HASH_SIZE - 1)) {
        const shoal__command_info_t *info = &command_rows[command_slots[slot]];
        if (info->word == word && info->name_bytes == name.bytes)
            return info;
    }
    return NULL;
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
    if (name.bytes == 0 || name.bytes > UINT8_MAX)
        return NULL;
    if (name.bytes <= 8)
        return find_short(name);

    uint32_t slot = name_hash(name) & (COMMAND_HASH_SIZE - 1);
    while (command_slots[slot] != EMPTY_SLOT) {
        const shoal__command_info_t *info = &command_rows[command_slots[slot]];
        if (info->name_bytes == name.bytes && shoal__bytes_is_word(name, info->name))
            return info;
        slot = (slot + 1) & (COMMAND_HASH_SIZE - 1);
    }
    return NULL;
}

/* Commands that change nothing in any of their forms, and that the server does not flag
 * readonly. */
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
