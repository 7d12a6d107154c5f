/* SPDX-License-Identifier: MIT */
#include "resp/command_slot.h"

static void add_key(void *data, shoal__bytes_t key)
{
    unsigned *slot = data, own = shoal__key_slot(key);

    *slot = *slot == SHOAL__SLOT_NONE || *slot == own ? own : SHOAL__SLOT_SEVERAL;
}

/* Most commands have one key, right behind the name. */
static bool has_key_in_front(const shoal__command_info_t *info)
{
    return !info || (info->first_key == 1 && info->last_key == 1 &&
                     !(info->flags & SHOAL__COMMAND_MOVABLEKEYS));
}

static shoal__bytes_t argument(const shoal_command_t *command, size_t at)
{
    const char *data = command->argv[at];

    return (shoal__bytes_t){data,
                            command->argvlen ? command->argvlen[at] : strlen(data)};
}

unsigned shoal__command_slot(const shoal_command_t *command)
{
    return shoal__command_slot_by(command,
                                  shoal__command_info_find(argument(command, 0)));
}

unsigned shoal__command_slot_by(const shoal_command_t *command,
                                const shoal__command_info_t *info)
{
    unsigned slot = SHOAL__SLOT_NONE;

    if (has_key_in_front(info) && command->argc > 1)
        return shoal__key_slot(argument(command, 1));
    (void)shoal__command_keys_of(command, add_key, &slot);
    return slot;
}

/* The argument behind the name: "...name\r\n$3\r\nkey\r\n...". */
static shoal__bytes_t first_argument(shoal__bytes_t encoded, shoal__bytes_t name)
{
    static const shoal__bytes_t none = {NULL, 0};
    const char *at = name.data + name.bytes + 2;
    const char *end = encoded.data + encoded.bytes;
    size_t bytes = 0;

    if (end - at < 4 || *at++ != '$')
        return none;
    for (; at != end && *at >= '0' && *at <= '9'; at++)
        bytes = bytes * 10 + (size_t)(*at - '0');
    if (end - at < 2 || bytes > (size_t)(end - at) - 2)
        return none;
    return (shoal__bytes_t){at + 2, bytes};
}

void shoal__encoded_keys(shoal__bytes_t encoded, shoal__keys_fn on_key, void *data)
{
    shoal__command_keys_t keys = shoal__command_keys(encoded, on_key, data);

    if (!keys.info && keys.name.bytes > 0) {
        shoal__bytes_t key = first_argument(encoded, keys.name);
        if (key.data)
            on_key(data, key);
    }
}

static void ignore(void *data, shoal__bytes_t key)
{
    (void)data, (void)key;
}

bool shoal__encoded_is_known(shoal__bytes_t encoded)
{
    return shoal__command_keys(encoded, ignore, NULL).info != NULL;
}

unsigned shoal__encoded_slot(shoal__bytes_t encoded)
{
    unsigned slot = SHOAL__SLOT_NONE;

    shoal__encoded_keys(encoded, add_key, &slot);
    return slot;
}
