/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_ENCODER_H
#define SHOAL_RESP_ENCODER_H

/*
 * argv -> bytes of a RESP command: an array of bulk strings, nothing else, so that
 * any byte may stand in any argument.  (S1)
 * The exact size first, then one write: the caller reserves between the two.
 *
 * Large arguments (SHOAL_REFERENCE_BYTES_MIN) can be left out of what is written.  A
 * reference then says where each of them belongs.
 */

#include <shoal/command.h>
#include <stddef.h>
#include <stdint.h>

/* A value that was left out. */
typedef struct shoal__reference {
    const char *data;
    uint32_t bytes;
    uint32_t at; /* the value belongs before this byte of what was written */
} shoal__reference_t;

/* Encoded bytes of the command, or 0 if argc or a length is out of range
 * (SHOAL_ARGC_MAX, SHOAL_ARG_BYTES_MAX), argv is NULL, an argument is NULL and not of 0
 * bytes by argvlen, or the sum overflows. */
size_t shoal__encoder_bytes(const shoal_command_t *command);

/* At least shoal__encoder_bytes(), for less work; 0 in the same cases. */
size_t shoal__encoder_bytes_max(const shoal_command_t *command);

/* Write the command to `at`, where as many bytes fit.
 * Returns one past the last byte. */
char *shoal__encoder_write(const shoal_command_t *command, char *at);

/* How many arguments are large; *ret_bytes: their bytes.  The command was measured. */
size_t shoal__encoder_large(const shoal_command_t *command, size_t *ret_bytes);

/* Write the command without its large arguments, and a reference for each of them. */
char *shoal__encoder_write_small(const shoal_command_t *command, char *at,
                                 shoal__reference_t *references);

#endif
