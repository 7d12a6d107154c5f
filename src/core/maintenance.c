/* SPDX-License-Identifier: MIT */
#include "core/maintenance.h"

#include "base/alloc.h"
#include "core/trust_rule.h"

#define KNOWN_US 300000000
#define PATIENT_US 60000000
#define STALL_US_MIN 10000000
#define SECONDS_MAX 3600

static shoal__bytes_t text_of(const shoal_reply_t *reply)
{
    size_t bytes = 0;
    const char *data = shoal_reply_string(reply, &bytes);
    return (shoal__bytes_t){data, data ? bytes : 0};
}

static shoal__notice_t kind_of(shoal__bytes_t word)
{
    static const char *const words[] = {
        [SHOAL__NOTICE_MOVING] = "MOVING",
        [SHOAL__NOTICE_MIGRATING] = "MIGRATING",
        [SHOAL__NOTICE_FAILING_OVER] = "FAILING_OVER",
        [SHOAL__NOTICE_MIGRATED] = "MIGRATED",
        [SHOAL__NOTICE_FAILED_OVER] = "FAILED_OVER",
    };

    for (size_t i = SHOAL__NOTICE_MOVING; i < sizeof words / sizeof *words; i++)
        if (shoal__bytes_is_word(word, words[i]))
            return (shoal__notice_t)i;
    return SHOAL__NOTICE_NONE;
}

/* Has this one been heard before?  If not, it is now. */
static bool is_known(shoal__maintenance_t *maintenance, shoal__notice_t kind,
                     int64_t number, uint64_t now_us)
{
    for (size_t i = 0; i < SHOAL__NOTICES_MAX; i++)
        if (maintenance->heard[i].kind == kind &&
            maintenance->heard[i].number == number &&
            shoal__time_since(maintenance->heard[i].at_us, now_us) < KNOWN_US)
            return true;
    maintenance->heard[maintenance->heard_next].kind = kind;
    maintenance->heard[maintenance->heard_next].number = number;
    maintenance->heard[maintenance->heard_next].at_us = now_us;
    maintenance->heard_next = (maintenance->heard_next + 1) % SHOAL__NOTICES_MAX;
    return false;
}

static void move(shoal__maintenance_t *maintenance, const shoal_reply_t *push,
                 uint64_t now_us)
{
    int64_t seconds = shoal_reply_integer(shoal_reply_at(push, 2));

    if (seconds < 0)
        seconds = 0;
    if (seconds > SECONDS_MAX)
        seconds = SECONDS_MAX;
    maintenance->is_moving = true;
    maintenance->is_named = shoal__redirect_read_address(
        text_of(shoal_reply_at(push, 3)), &maintenance->to);
    maintenance->move_us =
        maintenance->is_named ? now_us : now_us + (uint64_t)seconds * 500000;
    maintenance->news = maintenance->is_named
                            ? "MOVING: the connection goes to the server that it names"
                            : "MOVING: the connection is made anew at half of the time";
}

static void end(shoal__maintenance_t *maintenance)
{
    if (maintenance->open == 0)
        return;
    if (--maintenance->open > 0)
        return;
    maintenance->patient_until_us = 0;
    maintenance->news = "it is over: the server may not be silent for longer any more";
}

static void heed(shoal__maintenance_t *maintenance, shoal__notice_t kind,
                 const shoal_reply_t *push, uint64_t now_us)
{
    switch (kind) {
    case SHOAL__NOTICE_MOVING:
        move(maintenance, push, now_us);
        break;
    case SHOAL__NOTICE_MIGRATING:
    case SHOAL__NOTICE_FAILING_OVER:
        maintenance->open++;
        maintenance->patient_until_us = now_us + PATIENT_US;
        maintenance->news =
            kind == SHOAL__NOTICE_MIGRATING
                ? "MIGRATING: the server may be silent for longer, for a minute at most"
                : "FAILING_OVER: the server may be silent for longer, for a minute at "
                  "most";
        break;
    case SHOAL__NOTICE_MIGRATED:
    case SHOAL__NOTICE_FAILED_OVER:
        end(maintenance);
        break;
    case SHOAL__NOTICE_NONE:
        break;
    }
}

bool shoal__maintenance_hear(shoal__maintenance_t **maintenance,
                             const shoal_reply_t *push, uint64_t now_us)
{
    shoal__notice_t kind = kind_of(text_of(shoal_reply_at(push, 0)));
    const shoal_reply_t *number = shoal_reply_at(push, 1);

    if (kind == SHOAL__NOTICE_NONE)
        return false;
    if (!*maintenance)
        *maintenance = shoal__calloc(1, sizeof **maintenance);
    if (*maintenance && shoal_reply_type(number) == SHOAL_REPLY_INTEGER &&
        !is_known(*maintenance, kind, shoal_reply_integer(number), now_us))
        heed(*maintenance, kind, push, now_us);
    return true;
}

bool shoal__maintenance_copy(const shoal__maintenance_t *maintenance,
                             shoal__maintenance_t **ret_copy)
{
    *ret_copy = NULL;
    if (!maintenance)
        return true;
    *ret_copy = shoal__malloc(sizeof **ret_copy);
    if (*ret_copy)
        **ret_copy = *maintenance;
    return *ret_copy != NULL;
}

void shoal__maintenance_reset(shoal__maintenance_t *maintenance)
{
    if (!maintenance)
        return;
    maintenance->open = 0;
    maintenance->patient_until_us = 0;
    maintenance->is_moving = false;
    maintenance->news = NULL;
}

uint64_t shoal__maintenance_stall_ends_us(const shoal__maintenance_t *maintenance,
                                          uint64_t since_us, uint64_t stall_us)
{
    uint64_t end_us = shoal__time_after(since_us, stall_us);

    if (!maintenance)
        return end_us;
    return shoal__time_max(end_us,
                           shoal__time_min(shoal__time_after(since_us, STALL_US_MIN),
                                           maintenance->patient_until_us));
}

const char *shoal__maintenance_endpoint_type(const shoal__address_t *address,
                                             bool has_tls)
{
    shoal__trust_range_t range = shoal__trust_range(address);

    if (address->at.ss_family == AF_UNIX || range == SHOAL__RANGE_NONE)
        return NULL;
    if (range == SHOAL__RANGE_ORDINARY)
        return has_tls ? "external-fqdn" : "external-ip";
    return has_tls ? "internal-fqdn" : "internal-ip";
}
