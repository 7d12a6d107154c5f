/* SPDX-License-Identifier: MIT */
#include "core/fence/fence_rule.h"

#include "base/time_us.h"

#define STRICT_ROOM_PART 4 /* of what may be in flight */
#define AGAIN_US_BASE 5000
#define AGAIN_DOUBLINGS_MAX 7

shoal__fence_place_t shoal__fence_rule(const shoal__fence_input_t *input)
{
    if (!input->is_allowed)
        return SHOAL__FENCE_NONE;
    switch (input->integrity) {
    case SHOAL_INTEGRITY_SHAPES:
        break;
    case SHOAL_INTEGRITY_DETECT:
        /* One fence at a time is enough.  A doubt that arises behind it leads to the
         * next fence, after its answer. */
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

uint64_t shoal__fence_room_min(shoal_integrity_t integrity, uint64_t queued,
                               uint64_t inflight_max)
{
    if (integrity != SHOAL_INTEGRITY_STRICT || inflight_max < STRICT_ROOM_PART)
        return 1;
    return shoal__time_min(queued, inflight_max / STRICT_ROOM_PART);
}

uint64_t shoal__fence_again_us(const shoal__fence_plight_t *plight)
{
    unsigned doublings =
        plight->unclear < AGAIN_DOUBLINGS_MAX ? plight->unclear : AGAIN_DOUBLINGS_MAX;

    if (plight->fences == 0 || plight->is_awaited)
        return SHOAL__NEVER_US;
    return plight->put_us + ((uint64_t)AGAIN_US_BASE << doublings);
}

uint64_t shoal__fence_end_us(const shoal__fence_plight_t *plight)
{
    if (plight->fences == 0)
        return SHOAL__NEVER_US;
    return shoal__time_after(plight->unclear_since_us, plight->stall_us);
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
