/* SPDX-License-Identifier: MIT */
#include "core/replica_rule.h"

#include "base/time_us.h"

#define REPLICA_ATTEMPTS 2 /* at one, and at another one */
/* One choice of so many looks at no load: the round trip of a replica that has nothing to do
 * may be out of date. */
#define CHOICES_PER_TRIAL 8

/* ---- which commands ---- */

static bool is_cursor(shoal__bytes_t name)
{
    return shoal__bytes_is_word(name, "SCAN") || shoal__bytes_is_word(name, "HSCAN") ||
           shoal__bytes_is_word(name, "SSCAN") || shoal__bytes_is_word(name, "ZSCAN");
}

bool shoal__replica_may_read(shoal__bytes_t name, shoal__command_class_t command_class)
{
    const shoal__command_info_t *info;

    if (command_class != SHOAL__CLASS_RO || is_cursor(name))
        return false;
    info = shoal__command_info_find(name);
    return info && (info->flags & SHOAL__COMMAND_READONLY);
}

/* ---- which replica ---- */

bool shoal__replica_is_usable(const shoal__replica_facts_t *facts, uint64_t now_us)
{
    bool has_link =
        facts->linked_us > 0 &&
        shoal__time_since(facts->linked_us, now_us) <= SHOAL__REPLICA_LINK_DOWN_US;
    bool is_refusing =
        facts->refused_us > 0 &&
        shoal__time_since(facts->refused_us, now_us) < SHOAL__REPLICA_REFUSED_US;

    return facts->is_ready && facts->is_replica && has_link && !is_refusing;
}

/* Only those that are near, if one of them is usable. */
static bool is_eligible(const shoal__replica_facts_t *facts, bool must_be_near,
                        uint64_t now_us)
{
    return (facts->is_near || !must_be_near) && shoal__replica_is_usable(facts, now_us);
}

static uint64_t count_eligible(const shoal__replica_facts_t *facts, size_t count,
                               bool must_be_near, uint64_t now_us)
{
    uint64_t eligible = 0;

    for (size_t i = 0; i < count; i++)
        eligible += is_eligible(&facts[i], must_be_near, now_us);
    return eligible;
}

/* The eligible replica with so many eligible ones before it. */
static size_t nth_eligible(const shoal__replica_facts_t *facts, uint64_t n,
                           bool must_be_near, uint64_t now_us)
{
    size_t at = 0;

    while (!is_eligible(&facts[at], must_be_near, now_us) || n-- > 0)
        at++;
    return at;
}

static uint64_t load_of(const shoal__replica_facts_t *facts)
{
    return (facts->inflight + 1) * shoal__time_max(facts->rtt_us, 1);
}

size_t shoal__replica_choose(shoal__replica_choice_t *choice,
                             const shoal__replica_facts_t *facts, size_t count,
                             bool is_primary_near, shoal__random_t *random,
                             uint64_t now_us)
{
    uint64_t eligible, first, second;
    size_t one, other;
    bool must_be_near, is_better, is_trial;

    if (choice->at < count && now_us < choice->until_us &&
        shoal__replica_is_usable(&facts[choice->at], now_us))
        return choice->at;
    *choice = (shoal__replica_choice_t){0};
    eligible = count_eligible(facts, count, true, now_us);
    must_be_near = eligible > 0 || is_primary_near;
    if (!must_be_near)
        eligible = count_eligible(facts, count, false, now_us);
    if (eligible == 0)
        return SHOAL__REPLICA_NONE;
    first = shoal__random_below(random, eligible);
    second = shoal__random_below(random, eligible - 1); /* of the others */
    second += second >= first && eligible > 1;
    one = nth_eligible(facts, first, must_be_near, now_us);
    other = nth_eligible(facts, eligible > 1 ? second : first, must_be_near, now_us);
    is_better = load_of(&facts[one]) / 2 > load_of(&facts[other]);
    is_trial = shoal__random_below(random, CHOICES_PER_TRIAL) == 0;
    choice->at = is_better && !is_trial ? other : one;
    choice->until_us = shoal__time_after(now_us, SHOAL__REPLICA_KEEP_US);
    return choice->at;
}

/* ---- errors ---- */

static bool is_code(shoal__bytes_t error, const char *code)
{
    size_t bytes = strlen(code);

    return shoal__bytes_start(error, code) &&
           (error.bytes == bytes || error.data[bytes] == ' ');
}

shoal__replica_verdict_t shoal__replica_on_error(shoal__bytes_t error)
{
    static const char *const at_primary[] = {"NOSCRIPT", "REDIRECT", "MOVED",
                                             "ASK",      "TRYAGAIN", "CLUSTERDOWN"};

    if (is_code(error, "LOADING") || is_code(error, "MASTERDOWN"))
        return SHOAL__REPLICA_ELSEWHERE;
    /* Scripts are loaded at the primary alone.  A replica that redirects reads nothing; in
     * a cluster its primary may have lost the slot, or the key. */
    for (size_t i = 0; i < sizeof at_primary / sizeof *at_primary; i++)
        if (is_code(error, at_primary[i]))
            return SHOAL__REPLICA_AT_PRIMARY;
    return SHOAL__REPLICA_STANDARD;
}

bool shoal__replica_has_failed(unsigned attempts)
{
    return attempts >= REPLICA_ATTEMPTS;
}
