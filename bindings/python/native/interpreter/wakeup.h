/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_WAKEUP_H
#define SHOAL_PYTHON_WAKEUP_H

/*
 * How a task goes on within this call.  asyncio's wake-up asks a future for its result, which
 * for a waiter is a slow call of a method, and throws the result away if it is no exception.
 * So it gets a future that is done, and the task learns from the waiter itself how that
 * ended.
 *
 * Threads: with the GIL; the loop's.
 */

#include <Python.h>
#include <stdbool.h>

/* Once, before the first task; `future` is one of asyncio's, and done.  False: an exception is
 * set. */
bool shoalpy_wakeup_begin(PyObject *future);
/* Call what a task gave the waiter, in its context.  0, or -1: an exception is set. */
int shoalpy_wakeup_run(PyObject *waiter, PyObject *callback, PyObject *context);

#endif
