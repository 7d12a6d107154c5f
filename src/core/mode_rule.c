/* SPDX-License-Identifier: MIT */
#include "core/mode_rule.h"

#include <stddef.h>

shoal__mode_t shoal__mode_read(shoal__bytes_t word)
{
    if (shoal__bytes_is_word(word, "CLUSTER"))
        return SHOAL__MODE_CLUSTER;
    if (shoal__bytes_is_word(word, "SENTINEL"))
        return SHOAL__MODE_SENTINEL;
    return SHOAL__MODE_STANDALONE;
}

const char *shoal__mode_advice(shoal__mode_t mode)
{
    switch (mode) {
    case SHOAL__MODE_CLUSTER:
        return "a node of a cluster: it answers MOVED for keys of other nodes "
               "(redis+cluster:// is for all of them)";
    case SHOAL__MODE_SENTINEL:
        return "a sentinel: it has no keys (redis+sentinel:// is for the primary "
               "that it knows)";
    case SHOAL__MODE_STANDALONE:
        break;
    }
    return NULL;
}
