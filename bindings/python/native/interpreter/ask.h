/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_ASK_H
#define SHOAL_PYTHON_ASK_H

/*
 * The part of a tick (aio/_tick.py) through which each awaited command passes.  One call
 * checks that the tick's event loop runs in this thread, makes the waiter, appends command and
 * waiter to the queue, and schedules the queue's flush.  In Python it took a dozen steps.
 *
 * The type is a base of the tick's.  So the fields are attributes of the tick, and no
 * reference leads back from here, which would keep the tick alive.
 *
 * Threads: attached to the interpreter; any, because a client finds out here whether it is the
 * tick's.  Only the loop's thread goes on from there, because the queue is the loop's.
 */

#include <Python.h>

/* Adds the function to the module that makes the type.  0, or -1: an exception is set. */
int shoalpy_ask_init(PyObject *module);

#endif
