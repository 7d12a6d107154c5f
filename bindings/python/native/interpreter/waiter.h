/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_WAITER_H
#define SHOAL_PYTHON_WAITER_H

/*
 * What one task awaits: a future with less to it than asyncio's.  One coroutine awaits it,
 * and nothing else refers to it but its task; so it has one callback at most, and asyncio's
 * warning about an exception that nobody fetched is left out.
 *
 * asyncio's futures let the event loop call each task in a turn of its own.  Those of one
 * read come together, and resolve() goes on with their tasks itself, one after the other,
 * which saves the loop's work for each.
 *
 * Threads: with the GIL; the loop's.
 */

#include <Python.h>

/* Adds the functions to the module.  0, or -1: an exception is set. */
int shoalpy_waiter_init(PyObject *module);

#endif
