/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_WAKEUP_H
#define SHOAL_PYTHON_WAKEUP_H

/*
 * How a task goes on: within this call, or in a turn of its loop.  asyncio's wake-up asks a
 * future for its result, which for a waiter is a slow call of a method, and throws the result
 * away if it is no exception.  So, within this call, it gets a future that is done, and the
 * task learns from the waiter itself how that ended.
 *
 * Threads: attached to the interpreter; the loop's.
 */

#include <Python.h>
#include <stdbool.h>

/* Once, before the first task; `future` is one of asyncio's, and done.  False: an exception is
 * set. */
bool shoalpy_wakeup_begin(PyObject *future);
/* Call what a task gave the waiter, in its context.  0, or -1: an exception is set. */
int shoalpy_wakeup_run(PyObject *waiter, PyObject *callback, PyObject *context);
/* The same, by the loop, in a turn of its own. */
int shoalpy_wakeup_soon(PyObject *loop, PyObject *waiter, PyObject *callback,
                        PyObject *context);

#endif
