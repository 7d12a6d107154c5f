/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_ENCODER_H
#define SHOAL_RESP_ENCODER_H

/*
 * argv -> bytes of a RESP command: an array of bulk strings, nothing else, so that
 * any byte may stand in any argument.  (S1)
 * The exact size first, then one write: the caller reserves between the two.
 */

#include <shoal/command.h>
#include <stddef.h>
#include <stdint.h>

/* Encoded bytes of the command, or 0 if argc or a length is out of range
 * (SHOAL_ARGC_MAX, SHOAL_ARG_BYTES_MAX), argv is NULL, an argument is NULL and not of 0
 * bytes by argvlen, or the sum overflows. */
size_t shoal__encoder_bytes(const shoal_command_t *command);

/* At least shoal__encoder_bytes(), for less work; 0 in the same cases. */
size_t shoal__encoder_bytes_max(const shoal_command_t *command);

/* Write the command to `at`, where as many bytes fit.
 * Returns one past the last byte. */
char *shoal__encoder_write(const shoal_command_t *command, char *at);

#endif
