/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_COMMAND_ANSWER_H
#define SHOAL_RESP_COMMAND_ANSWER_H

/*
 * The answer to COMMAND INFO: where the keys of a command stand.
 *
 * Key specifications (Redis 7.0) count if they say all.  Those of commands with movable keys may
 * not; then the place that the older fields give counts, or the first argument is the key.
 */

#include "resp/learned_keys.h"
#include <shoal/reply.h>

/* Its entry for one command.  Free the result with shoal__free(); NULL: the server has no such
 * command, the answer is not understood, or memory ran out. */
shoal__learned_t *shoal__command_answer_read(const shoal_reply_t *entry);

#endif
