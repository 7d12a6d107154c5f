/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_READER_TYPES_H
#define SHOAL_RESP_READER_TYPES_H

/* What the types of hiredis' reader are called here. */

#include "resp/partial_value.h"
#include <hiredis/read.h>
#include <shoal/reply.h>
#include <stdbool.h>

/* Neither a push nor an attribute. */
static inline bool shoal__reader_is_reply_type(int type)
{
    return type >= 0 && type != REDIS_REPLY_PUSH && type != REDIS_REPLY_ATTR;
}

static inline shoal_reply_type_t shoal__reader_text_type(int type)
{
    switch (type) {
    case REDIS_REPLY_STATUS:
        return SHOAL_REPLY_STATUS;
    case REDIS_REPLY_ERROR:
        return SHOAL_REPLY_ERROR;
    case REDIS_REPLY_BIGNUM:
        return SHOAL_REPLY_BIGNUM;
    case REDIS_REPLY_VERB:
        return SHOAL_REPLY_VERBATIM;
    default:
        return SHOAL_REPLY_STRING;
    }
}

static inline shoal_reply_type_t shoal__reader_aggregate_type(int type)
{
    switch (type) {
    case REDIS_REPLY_MAP:
        return SHOAL_REPLY_MAP;
    case REDIS_REPLY_SET:
        return SHOAL_REPLY_SET;
    case REDIS_REPLY_PUSH:
        return SHOAL_REPLY_PUSH;
    default:
        return SHOAL_REPLY_ARRAY;
    }
}

static inline shoal__partial_kind_t shoal__reader_partial_kind(int type)
{
    switch (type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_VERB:
        return SHOAL__PARTIAL_STRING;
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
    case REDIS_REPLY_BIGNUM:
        return SHOAL__PARTIAL_TEXT;
    default:
        return SHOAL__PARTIAL_LINE;
    }
}

#endif
