/* SPDX-License-Identifier: MIT */
#include "core/role_rule.h"

#include <string.h>

static bool is_word(const shoal_reply_t *reply, const char *word)
{
    size_t bytes = 0;
    const char *data = shoal_reply_string(reply, &bytes);

    return data && bytes == strlen(word) && memcmp(data, word, bytes) == 0;
}

shoal__role_t shoal__role_read(const shoal_reply_t *reply)
{
    const shoal_reply_t *first =
        shoal_reply_type(reply) == SHOAL_REPLY_ARRAY ? shoal_reply_at(reply, 0) : NULL;

    if (!first)
        return SHOAL__ROLE_UNKNOWN;
    if (is_word(first, "master"))
        return SHOAL__ROLE_PRIMARY;
    return is_word(first, "slave") ? SHOAL__ROLE_REPLICA : SHOAL__ROLE_UNKNOWN;
}

bool shoal__role_is_accepted(const shoal__role_facts_t *facts)
{
    return facts->role != SHOAL__ROLE_REPLICA || facts->has_company ||
           facts->replicas + 1 >= facts->choices;
}
