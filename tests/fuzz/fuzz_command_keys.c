/* SPDX-License-Identifier: MIT */

/* Any bytes as a command: its keys stand in it, one behind the other, and have a slot. */

#include "fuzz_input.h"
#include "resp/command_keys.h"
#include "resp/command_slot.h"

typedef struct look {
    const char *at, *end;
} look_t;

static void on_key(void *data, shoal__bytes_t key)
{
    look_t *look = data;

    FUZZ_CHECK(key.data >= look->at && key.data + key.bytes <= look->end, "elsewhere");
    look->at = key.data + key.bytes;
    FUZZ_CHECK(shoal__key_slot(key) < SHOAL__SLOTS, "a slot");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t in = {data, data + bytes};
    size_t text_bytes;
    char *text = fuzz_take(&in, SIZE_MAX, &text_bytes);
    look_t look = {text, text + text_bytes};
    shoal__command_keys_t keys =
        shoal__command_keys((shoal__bytes_t){text, text_bytes}, on_key, &look);

    FUZZ_CHECK(keys.kind != SHOAL__KEYS_NONE || look.at == text, "a key");
    FUZZ_CHECK(keys.info || keys.kind == SHOAL__KEYS_ANY, "of an unknown command");

    unsigned slot = shoal__encoded_slot((shoal__bytes_t){text, text_bytes}, NULL);
    FUZZ_CHECK(slot < SHOAL__SLOTS || slot == SHOAL__SLOT_NONE ||
                   slot == SHOAL__SLOT_SEVERAL,
               "a slot of all keys");
    free(text);
    return 0;
}
