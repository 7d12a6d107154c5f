/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_FAULT_COMMAND_H
#define SHOAL_TOOLS_FAULT_COMMAND_H

/*
 * The fault proxy by text, a line each:
 *
 *   carry to-server|to-client [SPEC]              as fault_spec.h; none: unharmed
 *   cut to-server|to-client fin|reset|half
 *   cut-after CONNECTION to-server|to-client BYTES fin|reset|half
 *   inject to-server|to-client "BYTES"            with \r \n \t \0 \" \\ and \xHH
 *   turn-away on|off
 *   counts
 */

#include "fault_proxy/fault_proxy.h"

#define FAULT_ANSWER_BYTES 256

/* Do what a line says, which is taken apart.  The answer is "ok", the counts as
 * KEY=NUMBER with blanks between, or "error: " and what is wrong. */
void fault_command_run(fault_proxy_t *proxy, char *line,
                       char ret_answer[FAULT_ANSWER_BYTES]);

#endif
