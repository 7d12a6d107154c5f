/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_PUSH_KEYSPACE_RULE_H
#define SHOAL_CORE_PUSH_KEYSPACE_RULE_H

/*
 * Does a server send the events of keys that are subscribed?  Its setting
 * notify-keyspace-events is read once, and if it lacks something, that is told once.  The
 * setting is a set of letters: K and E for the two kinds of channels, the others for classes of
 * events.
 */

#include "base/bytes.h"
#include <stdbool.h>
#include <stdint.h>

#define SHOAL__KEYSPACE_TEXT_BYTES 160

/* Letters are bits.  All zero: nothing is known, nothing is needed. */
typedef struct shoal__keyspace_rule {
    uint64_t needs; /* of names that were subscribed */
    uint64_t has;   /* of the server */
    char setting[48];
    bool is_asked, is_known, is_told;
} shoal__keyspace_rule_t;

/* A name is subscribed. */
void shoal__keyspace_rule_want(shoal__keyspace_rule_t *rule, shoal__bytes_t name);

/* It is another server: nothing is known of it. */
void shoal__keyspace_rule_reset(shoal__keyspace_rule_t *rule);

/* Is the server to be asked? */
static inline bool shoal__keyspace_rule_must_ask(const shoal__keyspace_rule_t *rule)
{
    return rule->needs != 0 && !rule->is_asked;
}

/* The server's setting. */
void shoal__keyspace_rule_hear(shoal__keyspace_rule_t *rule, shoal__bytes_t setting);

/* Does the server lack something, which was not told yet?  It counts as told, and the text
 * says it. */
bool shoal__keyspace_rule_tell(shoal__keyspace_rule_t *rule,
                               char text[SHOAL__KEYSPACE_TEXT_BYTES]);

#endif
