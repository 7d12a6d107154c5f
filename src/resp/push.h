/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_PUSH_H
#define SHOAL_RESP_PUSH_H

/*
 * What a server sends to a subscriber without being asked at that moment: messages, and
 * confirmations of names.  In RESP3 it is a push, in RESP2 an array.
 *
 * A message in the usual form is read where it stands, without a parser and without a
 * tree.  Everything else goes through the decoder, and is read from its tree; both ways give
 * the same.
 */

#include "base/bytes.h"
#include <shoal/item.h>
#include <shoal/reply.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum shoal__push_kind {
    SHOAL__PUSH_OTHER, /* nothing that subscribers know */
    SHOAL__PUSH_MESSAGE,
    SHOAL__PUSH_CONFIRMED, /* SUBSCRIBE or its kin was done for this name */
    SHOAL__PUSH_DROPPED    /* the server does not send this name any more */
} shoal__push_kind_t;

/* The bytes are views.  For MESSAGE no NUL need follow them. */
typedef struct shoal__push {
    shoal__push_kind_t kind;
    shoal_name_kind_t name_kind; /* CHANNEL, PATTERN or SHARD */
    shoal__bytes_t
        name; /* that was subscribed.  data NULL: DROPPED, and there was none */
    shoal__bytes_t channel; /* MESSAGE: where it was published */
    shoal__bytes_t payload; /* MESSAGE */
} shoal__push_t;

/* Does a whole message in its usual form stand at the beginning of `text`?  Returns its bytes;
 * 0: no, *ret_push is then unspecified.  `bytes_max`: of one message. */
size_t shoal__push_scan(shoal__bytes_t text, bool is_resp3, uint64_t bytes_max,
                        shoal__push_t *ret_push);

/* A push, or an array of RESP2. */
void shoal__push_read(const shoal_reply_t *reply, shoal__push_t *ret_push);

/* RESP2: is this array unasked, and no reply? */
bool shoal__push_is_unasked(const shoal_reply_t *reply);

#endif
