/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_REFUSAL_H
#define SHOAL_CORE_REFUSAL_H

/*
 * Commands that may not travel on a connection that many callers share, because
 * their replies are not "exactly one", they change the connection's state under other
 * callers, or they hold up everything behind them.
 *
 * Refused:        SUBSCRIBE PSUBSCRIBE SSUBSCRIBE and UN-, MONITOR SYNC PSYNC
 *                 REPLCONF, RESET QUIT, HELLO AUTH SELECT, READONLY READWRITE ASKING,
 *                 WATCH UNWATCH, SCRIPT DEBUG, and CLIENT except for subcommands that
 *                 leave the connection as it is: GETNAME GETREDIR HELP ID INFO KILL
 *                 LIST PAUSE TRACKINGINFO UNBLOCK UNPAUSE
 * Only in units:  MULTI EXEC DISCARD, without arguments
 * With MAY_BLOCK: WAIT WAITAOF, which count the writes of their own connection
 *
 * Other commands that block, such as BLPOP, and XREAD and XREADGROUP if they say BLOCK,
 * want a lease, unless MAY_BLOCK sends them over the shared connection.  On a lease only
 * those commands are refused by which the library governs a connection, or whose replies
 * are not "exactly one".
 *
 * Commands must be well-formed: shoal__encoder_bytes() has looked at them.
 */

#include "core/lease_rule.h"
#include "resp/command_info.h"
#include <shoal/command.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct shoal__admission {
    const char *refused;                  /* why not, as text; NULL if it may be sent */
    shoal__command_class_t command_class; /* XREAD without BLOCK is RO */
    shoal__reply_shape_t shape;           /* of its reply, if it is sent by itself */
    const shoal__command_info_t *info;    /* NULL: the command is not in the table */
    bool wants_lease; /* refused for the shared connection only: a lease takes it */
} shoal__admission_t;

/* One command that is sent by itself.  `flags` are those of shoal_call_t. */
shoal__admission_t shoal__refusal_check(const shoal_command_t *command, uint32_t flags);

/* One command for a lease, and what it does to the connection if it is not refused.
 * MONITOR is refused, with its effect: shoal_lease_monitor() sends it all the same. */
shoal__admission_t shoal__refusal_check_on_lease(const shoal_command_t *command,
                                                 shoal__lease_effect_t *ret_effect);

/* Commands that are to stay together.  ret_is_unit says whether they are a MULTI ...
 * EXEC: MULTI only as the first, EXEC (or DISCARD) only as the last, no SUBSCRIBE, no
 * blocking command without MAY_BLOCK; or no MULTI at all.  Returns why not, or NULL. */
const char *shoal__refusal_check_group(const shoal_command_t *commands, size_t count,
                                       uint32_t flags, bool *ret_is_unit);

/* The shape of the reply to one command of a unit that was not refused: QUEUED for all
 * up to EXEC or DISCARD.  Holds while the unit's MULTI was answered with OK: if that
 * was an error, the server runs the commands behind it one by one. */
shoal__reply_shape_t shoal__refusal_unit_shape(const shoal_command_t *commands,
                                               size_t count, size_t index);

#endif
