/* SPDX-License-Identifier: MIT */
#include "core/cluster/split_rule.h"

#include "base/alloc.h"
#include "resp/command_keys.h"
#include <stdio.h>

typedef struct row {
    const char *name;
    shoal__gather_policy_t policy;
    unsigned step;
} row_t;

static const row_t rows[] = {
    {"DEL", SHOAL__GATHER_SUM, 1},    {"EXISTS", SHOAL__GATHER_SUM, 1},
    {"MGET", SHOAL__GATHER_PLACE, 1}, {"MSET", SHOAL__GATHER_ALL, 2},
    {"TOUCH", SHOAL__GATHER_SUM, 1},  {"UNLINK", SHOAL__GATHER_SUM, 1},
};

/* NULL: it is no such command. */
static const row_t *find(shoal__bytes_t name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (shoal__bytes_is_word(name, rows[i].name))
            return &rows[i];
    return NULL;
}

bool shoal__split_may(const shoal_command_t *command)
{
    const char *name = command->argv[0];
    size_t bytes = command->argvlen ? command->argvlen[0] : strlen(name);
    const row_t *row = find((shoal__bytes_t){name, bytes});

    return row && command->argc > 1 && (command->argc - 1) % row->step == 0;
}

/* ---- keys ---- */

static void count_key(void *data, shoal__bytes_t key)
{
    (void)key;
    ++*(size_t *)data;
}

/* "$3\r\nkey": where it begins. */
static const char *text_of(shoal__bytes_t key)
{
    const char *at = key.data - 2; /* behind the number */

    while (*at != '$')
        at--;
    return at;
}

static void add_key(void *data, shoal__bytes_t key)
{
    shoal__split_t *split = data;
    unsigned slot = shoal__key_slot(key);
    uint16_t *part_1 = &split->parts_1[slot];

    if (*part_1 == 0) {
        split->parts[split->parts_count].slot = slot;
        *part_1 = (uint16_t)++split->parts_count;
    }
    split->keys[split->keys_count++] =
        (shoal__split_key_t){.text = text_of(key),
                             .place = {*part_1 - 1u, split->parts[*part_1 - 1].keys++}};
}

/* ---- parts ---- */

#define HEAD_BYTES 16

static int write_head(const shoal__split_t *split, const shoal__split_part_t *part,
                      char head[HEAD_BYTES])
{
    return snprintf(head, HEAD_BYTES, "*%zu\r\n", 1 + (size_t)part->keys * split->step);
}

/* A key's text goes up to the next one's. */
static void measure(shoal__split_t *split, const char *end)
{
    char head[HEAD_BYTES];

    for (size_t i = split->keys_count; i-- > 0; end = split->keys[i].text) {
        shoal__split_key_t *key = &split->keys[i];
        key->bytes = (uint32_t)(end - key->text);
        split->parts[key->place.part].bytes += key->bytes;
    }
    split->name.bytes = (size_t)(end - split->name.data);
    for (size_t i = 0; i < split->parts_count; i++) {
        shoal__split_part_t *part = &split->parts[i];
        part->bytes +=
            (uint32_t)(split->name.bytes + (size_t)write_head(split, part, head));
        split->bytes += part->bytes;
    }
}

shoal__split_t *shoal__split_new(shoal__bytes_t encoded)
{
    size_t keys_count = 0, parts_max;
    shoal__bytes_t name = shoal__command_keys(encoded, count_key, &keys_count).name;
    const row_t *row = find(name);
    shoal__split_t *split;

    if (!row)
        return NULL;
    parts_max = keys_count < SHOAL__SLOTS ? keys_count : SHOAL__SLOTS;
    split = shoal__calloc(1, sizeof *split + keys_count * sizeof *split->keys +
                                 parts_max * sizeof *split->parts);
    if (!split)
        return NULL;
    split->policy = row->policy;
    split->step = row->step;
    split->name.data = text_of(name);
    split->keys = (shoal__split_key_t *)(split + 1);
    split->parts = (shoal__split_part_t *)(split->keys + keys_count);
    (void)shoal__command_keys(encoded, add_key, split);
    measure(split, encoded.data + encoded.bytes);
    return split;
}

void shoal__split_free(shoal__split_t *split)
{
    shoal__free(split);
}

static char *append(char *to, const char *data, size_t bytes)
{
    memcpy(to, data, bytes);
    return to + bytes;
}

void shoal__split_write(shoal__split_t *split, char *to)
{
    char head[HEAD_BYTES];

    for (size_t i = 0; i < split->parts_count; i++) {
        shoal__split_part_t *part = &split->parts[i];
        int bytes = write_head(split, part, head);
        part->at = append(to, head, (size_t)bytes);
        part->at = append(part->at, split->name.data, split->name.bytes);
        to += part->bytes;
    }
    for (size_t i = 0; i < split->keys_count; i++) {
        const shoal__split_key_t *key = &split->keys[i];
        shoal__split_part_t *part = &split->parts[key->place.part];
        part->at = append(part->at, key->text, key->bytes);
    }
}
