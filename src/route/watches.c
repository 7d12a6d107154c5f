/* SPDX-License-Identifier: MIT */
#include "route/watches.h"

#include "net/clock.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

static bool is_known(const shoal__watches_t *watches,
                     const shoal__sentinel_peer_t *peer)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++) {
        const shoal__watch_t *watch = watches->at[i];
        if (watch && watch->voice->is_known &&
            (shoal__sentinel_is_same(&watch->address, &peer->address) ||
             (peer->id[0] != '\0' && strcmp(watch->id, peer->id) == 0)))
            return true;
    }
    return false;
}

/* A place for one more.  If all are taken, one that was found and does not answer makes
 * room. */
static size_t find_place(const shoal__watches_t *watches)
{
    size_t lost = SHOAL__SENTINELS_MAX;

    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++) {
        const shoal__watch_t *watch = watches->at[i];
        if (!watch || !watch->voice->is_known)
            return i;
        if (!watch->voice->is_seed && watch->conn.state == SHOAL__CONN_BACKOFF)
            lost = i;
    }
    return lost;
}

/* NULL: no room, or no memory. */
static shoal__watch_t *add(shoal__watches_t *watches,
                           const shoal__sentinel_peer_t *peer, bool is_seed)
{
    size_t place = find_place(watches);
    shoal__watch_t *watch;

    if (place == SHOAL__SENTINELS_MAX)
        return NULL;
    if (!watches->at[place])
        watches->at[place] =
            shoal__watch_new(&watches->plan, &watches->rule->voices[place]);
    watch = watches->at[place];
    if (watch && watch->voice->is_known)
        shoal__watch_drop(watch, shoal__clock_us());
    if (watch)
        shoal__watch_use(watch, peer, is_seed);
    return watch;
}

int shoal__watches_add_seeds(shoal__watches_t *watches,
                             const shoal__options_sentinels_t *from)
{
    for (size_t i = 0; i < from->count; i++) {
        shoal__sentinel_peer_t seed = {.address.port = from->seeds[i].port};

        snprintf(seed.address.host, sizeof seed.address.host, "%s",
                 from->seeds[i].host);
        if (!is_known(watches, &seed) && !add(watches, &seed, true))
            return SHOAL_ENOMEM;
    }
    return 0;
}

void shoal__watches_open(shoal__watches_t *watches)
{
    watches->is_open = true;
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        if (watches->at[i])
            shoal__watch_open(watches->at[i]);
}

void shoal__watches_add(shoal__watches_t *watches, const shoal__sentinel_peer_t *peers,
                        size_t count)
{
    for (size_t i = 0; i < count && watches->is_open; i++) {
        shoal__watch_t *watch =
            is_known(watches, &peers[i]) ? NULL : add(watches, &peers[i], false);
        if (watch)
            shoal__watch_open(watch);
    }
}

void shoal__watches_ask(const shoal__watches_t *watches, uint64_t now_us)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        if (watches->rule->voices[i].is_known)
            shoal__watch_ask(watches->at[i], now_us);
}

void shoal__watches_look(const shoal__watches_t *watches, uint64_t until_us)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        if (watches->rule->voices[i].is_known)
            shoal__watch_look(watches->at[i], until_us);
}

void shoal__watches_drop_gone(const shoal__watches_t *watches, uint64_t now_us)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        if (shoal__sentinel_rule_is_gone(watches->rule, i))
            shoal__watch_drop(watches->at[i], now_us);
}

/* A seed by its name, and the same one by the address that another one gave. */
void shoal__watches_drop_namesakes(shoal__watches_t *watches, uint64_t now_us)
{
    if (!watches->has_namesakes)
        return;
    watches->has_namesakes = false;
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        for (size_t j = 0; j < SHOAL__SENTINELS_MAX; j++) {
            const shoal__watch_t *one = watches->at[i];
            shoal__watch_t *other = watches->at[j];
            if (i != j && one && other && one->voice->is_known &&
                other->voice->is_known && !other->voice->is_seed &&
                one->id[0] != '\0' && strcmp(one->id, other->id) == 0)
                shoal__watch_drop(other, now_us);
        }
}

const char *shoal__watches_reason(const shoal__watches_t *watches)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        if (watches->rule->voices[i].is_known &&
            watches->at[i]->conn.pipe.detail[0] != '\0')
            return watches->at[i]->conn.pipe.detail;
    return "not connected yet";
}

void shoal__watches_read_ahead(const shoal__watches_t *watches)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        if (watches->at[i])
            shoal__conn_read_ahead(&watches->at[i]->conn);
}

void shoal__watches_shut(shoal__watches_t *watches, uint64_t now_us)
{
    watches->is_open = false;
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        if (watches->at[i])
            shoal__conn_close(&watches->at[i]->conn, now_us);
}

void shoal__watches_forget(const shoal__watches_t *watches)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        if (watches->at[i])
            shoal__conn_forget(&watches->at[i]->conn);
}

void shoal__watches_free(const shoal__watches_t *watches)
{
    for (size_t i = 0; i < SHOAL__SENTINELS_MAX; i++)
        shoal__watch_free(watches->at[i]);
}
