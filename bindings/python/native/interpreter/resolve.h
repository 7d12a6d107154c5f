/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_RESOLVE_H
#define SHOAL_PYTHON_RESOLVE_H

/*
 * Completes many futures together: waiters, and those of event loops.
 *
 * Threads: attached to the interpreter; the loop's, and nobody else has the lists.
 */

#include <Python.h>

/* Adds the functions to the module.  0, or -1: an exception is set. */
int shoalpy_resolve_init(PyObject *module);

#endif
