/* SPDX-License-Identifier: MIT */
#include "core/fence_rule.h"

#include "base/mutant.h"
shoal__fence_place_t shoal__fence_rule(const shoal__fence_input_t *input)
{
    if (!input->is_allowed || SHOAL__MUTANT(FENCE_OMITTED))
        return SHOAL__FENCE_NONE;
    switch (input->integrity) {
    case SHOAL_INTEGRITY_SHAPES:
        break;
    case SHOAL_INTEGRITY_DETECT:
        /* One at a time is enough: a doubt that came behind it waits for its answer. */
        if (input->is_awaited)
            return SHOAL__FENCE_NONE;
        return input->has_doubt || input->since_us >= SHOAL__FENCE_SPACING_US
                   ? SHOAL__FENCE_BEFORE
                   : SHOAL__FENCE_NONE;
    case SHOAL_INTEGRITY_STRICT:
        return SHOAL__FENCE_BEHIND;
    }
    return SHOAL__FENCE_NONE;
}

static bool has_code(shoal__bytes_t error, const char *code)
{
    size_t bytes = strlen(code);

    return shoal__bytes_start(error, code) &&
           (error.bytes == bytes || error.data[bytes] == ' ');
}

bool shoal__fence_is_forbidden(shoal__bytes_t error)
{
    return has_code(error, "NOPERM");
}

bool shoal__fence_is_unclear(shoal__bytes_t error)
{
    static const char *const codes[] = {"BUSY", "LOADING", "MASTERDOWN", "NOAUTH"};

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (has_code(error, codes[i]))
            return true;
    return shoal__fence_is_forbidden(error);
}
