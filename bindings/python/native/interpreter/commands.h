/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_COMMANDS_H
#define SHOAL_PYTHON_COMMANDS_H

/*
 * Commands out of the interpreter's own objects, without a stream in between: what nearly
 * all commands are, tuples of short str, bytes, int and float.  Everything else takes the
 * way over a stream (requests.h), which also says what is wrong with it.
 *
 * Threads: attached to the interpreter.  The list is the caller's own, and what is in it cannot
 * be changed.
 */

#include "requests.h"
#include <Python.h>

/* A list of tuples, or the tuple of one command, which must outlive the commands.  1: done;
 * 0: something in it is not for this way, or memory lacks, and what is in `requests` is of no
 * use; -1: TypeError: it is neither. */
int shoalpy_commands_take(shoalpy_requests_t *requests, PyObject *commands);

#endif
