/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TOOLS_REDIS_ASK_H
#define SHOAL_TOOLS_REDIS_ASK_H

/* One command to a server, on a connection of its own.  The words of a command must have no
 * spaces. */

#include <stdbool.h>
#include <stddef.h>

/* Send one command to any server on loopback.  Returns whether an answer came.  `answer`
 * receives its first line, or for a string the first line of the string, without CRLF. */
bool redis_ask(int port, const char *command, char *answer, size_t answer_room);

/* The same for an answer of several lines, of which `answer` receives the line of this
 * number, from 1; false if the answer is an error or nil. */
bool redis_ask_line(int port, const char *command, unsigned line, char *answer,
                    size_t answer_room);

/* Does a server at this Unix socket answer, be it with an error? */
bool redis_is_at(const char *socket_path);

#endif
