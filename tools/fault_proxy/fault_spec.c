/* SPDX-License-Identifier: MIT */
#include "fault_proxy/fault_spec.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_US 3600000000u
#define BYTES_PER_S_MAX 1000000000000u
#define CHUNK_BYTES_MAX 1073741824u

typedef enum field_kind {
    FIELD_AMOUNT, /* uint64_t */
    FIELD_BYTES,  /* size_t */
    FIELD_RATE,   /* uint32_t */
    FIELD_FLAG    /* bool */
} field_kind_t;

typedef struct field {
    const char *key;
    field_kind_t kind;
    size_t offset;
    uint64_t max;
} field_t;

#define AT(name) offsetof(fault_carriage_t, name)

static const field_t fields[] = {
    {"delay_us", FIELD_AMOUNT, AT(delay_us), HOUR_US},
    {"jitter_us", FIELD_AMOUNT, AT(jitter_us), HOUR_US},
    {"bytes_per_s", FIELD_AMOUNT, AT(bytes_per_s), BYTES_PER_S_MAX},
    {"chunk", FIELD_BYTES, AT(chunk_bytes), CHUNK_BYTES_MAX},
    {"stopped", FIELD_FLAG, AT(is_stopped), 1},
    {"flip", FIELD_RATE, AT(flip_rate), FAULT_RATE_ALWAYS},
    {"lose", FIELD_RATE, AT(lose_rate), FAULT_RATE_ALWAYS},
    {"insert", FIELD_RATE, AT(insert_rate), FAULT_RATE_ALWAYS},
    {"drop", FIELD_RATE, AT(drop_rate), FAULT_RATE_ALWAYS},
    {"repeat", FIELD_RATE, AT(repeat_rate), FAULT_RATE_ALWAYS},
    {"swap", FIELD_RATE, AT(swap_rate), FAULT_RATE_ALWAYS},
    {"extra", FIELD_RATE, AT(extra_rate), FAULT_RATE_ALWAYS},
};

static const field_t *find_field(const char *key, size_t bytes)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strlen(fields[i].key) == bytes && memcmp(fields[i].key, key, bytes) == 0)
            return &fields[i];
    return NULL;
}

static void set_field(fault_carriage_t *carriage, const field_t *field, uint64_t value)
{
    void *at = (char *)carriage + field->offset;

    switch (field->kind) {
    case FIELD_AMOUNT:
        *(uint64_t *)at = value;
        break;
    case FIELD_BYTES:
        *(size_t *)at = (size_t)value;
        break;
    case FIELD_RATE:
        *(uint32_t *)at = (uint32_t)value;
        break;
    case FIELD_FLAG:
        *(bool *)at = value != 0;
        break;
    }
}

const char *fault_spec_parse(const char *text, fault_carriage_t *ret_carriage)
{
    fault_carriage_t carriage = {0};

    while (*text != '\0') {
        size_t key_bytes = strcspn(text, "=,");
        const field_t *field = find_field(text, key_bytes);
        char *end;

        if (!field)
            return "expected KEY=NUMBER,... with delay_us, jitter_us, bytes_per_s, "
                   "chunk, stopped, flip, lose, insert, drop, repeat, swap or extra";
        text += key_bytes;
        if (*text != '=' || text[1] < '0' || text[1] > '9')
            return "expected a number behind each key and =";
        uint64_t value = strtoull(text + 1, &end, 10);
        if (*end != ',' && *end != '\0')
            return "expected a comma behind each number";
        if (value > field->max)
            return "a number is too large";
        set_field(&carriage, field, value);
        text = *end == ',' ? end + 1 : end;
    }
    *ret_carriage = carriage;
    return NULL;
}

bool fault_spec_is_lossless(const fault_carriage_t *carriage)
{
    return !carriage->is_stopped && !fault_carriage_harms_bytes(carriage) &&
           !fault_carriage_harms_frames(carriage);
}
