/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_BLOCK_TIME_H
#define SHOAL_CORE_BLOCK_TIME_H

/* For how long a command says that it may block on the server.  Commands must be
 * well-formed, as for core/refusal.h. */

#include <shoal/command.h>
#include <stddef.h>
#include <stdint.h>

/* The index of the argument behind BLOCK of an XREAD or XREADGROUP; 0: there is none.
 * Looks for it as the server does: a group may be called so, and a stream. */
size_t shoal__block_time_of_xread(const shoal_command_t *command);

/* The timeout that the command names, and 2 s for the way.  SHOAL_TIMEOUT_NEVER if it
 * blocks for ever, or its argument cannot be read (the server will say so). */
uint64_t shoal__block_time_us(const shoal_command_t *command);

#endif
