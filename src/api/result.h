/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_API_RESULT_H
#define SHOAL_API_RESULT_H

/* A result that outlives its callback: for callers who block. */

#include "core/result.h"
#include "resp/reply.h"

#define SHOAL__RESULT_DETAIL_BYTES 160

typedef struct shoal__owned_result {
    shoal_result_t result; /* first: what the caller holds */
    const shoal_reply_t *kept;
    char detail[SHOAL__RESULT_DETAIL_BYTES];
} shoal__owned_result_t;

/* Copy `from` into `to`, which is zero; the reply is retained.  If that fails, the
 * result says so: SHOAL_ENOMEM, the reply is lost. */
void shoal__result_keep(shoal__owned_result_t *to, const shoal_result_t *from);

#endif
