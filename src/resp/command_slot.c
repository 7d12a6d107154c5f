/* SPDX-License-Identifier: MIT */
#include "resp/command_slot.h"

#include "resp/command_keys.h"

static void add_key(void *data, shoal__bytes_t key)
{
    unsigned *slot = data, own = shoal__key_slot(key);

    *slot = *slot == SHOAL__SLOT_NONE || *slot == own ? own : SHOAL__SLOT_SEVERAL;
}

unsigned shoal__command_slot(const shoal_command_t *command)
{
    unsigned slot = SHOAL__SLOT_NONE;
    shoal__command_keys_t keys = shoal__command_keys_of(command, add_key, &slot);

    if (!keys.info && command->argc > 1) {
        const char *key = command->argv[1];
        size_t bytes = command->argvlen ? command->argvlen[1] : strlen(key);
        add_key(&slot, (shoal__bytes_t){key, bytes});
    }
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

unsigned shoal__encoded_slot(shoal__bytes_t encoded)
{
    unsigned slot = SHOAL__SLOT_NONE;
    shoal__command_keys_t keys = shoal__command_keys(encoded, add_key, &slot);

    if (!keys.info && keys.name.bytes > 0) {
        shoal__bytes_t key = first_argument(encoded, keys.name);
        if (key.data)
            add_key(&slot, key);
    }
    return slot;
}
