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
    return info->first_key == 1 && info->last_key == 1 &&
           !(info->flags & SHOAL__COMMAND_MOVABLEKEYS);
}

static shoal__bytes_t argument(const shoal_command_t *command, size_t at)
{
    const char *data = command->argv[at];

    return (shoal__bytes_t){data,
                            command->argvlen ? command->argvlen[at] : strlen(data)};
}

unsigned shoal__command_slot(const shoal_command_t *command,
                             shoal__command_book_t *book)
{
    return shoal__command_slot_by(command,
                                  shoal__command_info_find(argument(command, 0)), book);
}

unsigned shoal__command_slot_by(const shoal_command_t *command,
                                const shoal__command_info_t *info,
                                shoal__command_book_t *book)
{
    unsigned slot = SHOAL__SLOT_NONE;
    shoal__arguments_t arguments;

    if (!info) {
        shoal__arguments_of(&arguments, command);
        shoal__learned_keys(shoal__book_look(book, argument(command, 0)), arguments,
                            add_key, &slot);
        return slot;
    }
    if (has_key_in_front(info) && command->argc > 1)
        return shoal__key_slot(argument(command, 1));
    (void)shoal__command_keys_of(command, add_key, &slot);
    return slot;
}

void shoal__encoded_keys(shoal__bytes_t encoded, shoal__command_book_t *book,
                         shoal__keys_fn on_key, void *data)
{
    shoal__command_keys_t keys = shoal__command_keys(encoded, on_key, data);
    shoal__arguments_t arguments;

    if (!keys.info && shoal__arguments_of_encoded(&arguments, encoded))
        shoal__learned_keys(shoal__book_look(book, keys.name), arguments, on_key, data);
}

static void ignore(void *data, shoal__bytes_t key)
{
    (void)data, (void)key;
}

bool shoal__encoded_is_known(shoal__bytes_t encoded)
{
    return shoal__command_keys(encoded, ignore, NULL).info != NULL;
}

unsigned shoal__encoded_slot(shoal__bytes_t encoded, shoal__command_book_t *book)
{
    unsigned slot = SHOAL__SLOT_NONE;

    shoal__encoded_keys(encoded, book, add_key, &slot);
    return slot;
}
