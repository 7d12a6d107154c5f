/* SPDX-License-Identifier: MIT */
#include "core/push/keyspace_rule.h"

#include <stdio.h>
#include <string.h>

#define LETTER(letter) (UINT64_C(1) << ((letter) - 'A'))
#define KEYS LETTER('K')
#define EVENTS LETTER('E')
/* Bits that are no letter, between 'Z' and 'a'. */
#define ANY_CHANNEL LETTER('[')
#define ANY_CLASS LETTER('\\')

/* Classes that a name can be seen to need; each other event has one of many. */
static const struct {
    const char *event;
    char letter;
} classes[] = {{"expired", 'x'}, {"evicted", 'e'}, {"keymiss", 'm'}, {"new", 'n'}};

/* Behind __keyevent@0__: */
static uint64_t class_of(shoal__bytes_t name)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        size_t bytes = strlen(classes[i].event);
        if (name.bytes > bytes + 3 &&
            memcmp(name.data + name.bytes - bytes - 3, "__:", 3) == 0 &&
            memcmp(name.data + name.bytes - bytes, classes[i].event, bytes) == 0)
            return LETTER(classes[i].letter);
    }
    return ANY_CLASS;
}

void shoal__keyspace_rule_want(shoal__keyspace_rule_t *rule, shoal__bytes_t name)
{
    if (shoal__bytes_start(name, "__keyspace@"))
        rule->needs |= KEYS | ANY_CLASS;
    else if (shoal__bytes_start(name, "__keyevent@"))
        rule->needs |= EVENTS | class_of(name);
    else
        rule->needs |= ANY_CHANNEL; /* a pattern for both, or a kind of later servers */
}

void shoal__keyspace_rule_reset(shoal__keyspace_rule_t *rule)
{
    *rule = (shoal__keyspace_rule_t){.needs = rule->needs};
}

static uint64_t read_letter(char letter)
{
    if (letter == 'K' || letter == 'E')
        return LETTER(letter) | ANY_CHANNEL;
    if (letter == 'A') /* all but m and n */
        return LETTER('x') | LETTER('e') | ANY_CLASS;
    if (letter >= 'a' && letter <= 'z')
        return LETTER(letter) | ANY_CLASS;
    return letter == '$' ? ANY_CLASS : ANY_CHANNEL;
}

void shoal__keyspace_rule_hear(shoal__keyspace_rule_t *rule, shoal__bytes_t setting)
{
    rule->is_known = true;
    rule->has = 0;
    for (size_t i = 0; i < setting.bytes; i++)
        rule->has |= read_letter(setting.data[i]);
    snprintf(rule->setting, sizeof rule->setting, "%.*s",
             (int)(setting.bytes < sizeof rule->setting ? setting.bytes
                                                        : sizeof rule->setting - 1),
             setting.data);
}

bool shoal__keyspace_rule_tell(shoal__keyspace_rule_t *rule,
                               char text[SHOAL__KEYSPACE_TEXT_BYTES])
{
    static const struct {
        uint64_t bits;
        char letter;
    } letters[] = {{KEYS, 'K'},        {EVENTS, 'E'},      {ANY_CHANNEL, 'K'},
                   {ANY_CLASS, 'A'},   {LETTER('x'), 'x'}, {LETTER('e'), 'e'},
                   {LETTER('m'), 'm'}, {LETTER('n'), 'n'}};
    uint64_t missing = rule->needs & ~rule->has;
    char lacks[sizeof letters / sizeof *letters + 1] = "";
    size_t count = 0;

    if (!rule->is_known || rule->is_told || missing == 0)
        return false;
    rule->is_told = true;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (missing & letters[i].bits && !strchr(lacks, letters[i].letter))
            lacks[count++] = letters[i].letter;
    snprintf(text, SHOAL__KEYSPACE_TEXT_BYTES,
             "notify-keyspace-events is \"%s\" there: events of keys that are "
             "subscribed do not come without \"%s\"",
             rule->setting, lacks);
    return true;
}
