/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_EXCLUSIVE_H
#define SHOAL_PYTHON_EXCLUSIVE_H

/*
 * Steps that threads make one after the other on an object.  With a GIL all are; without,
 * the object's own lock sees to it, which the interpreter may open while it waits for
 * another one: nothing between the two may run Python code.
 */

#include <Python.h>

#ifdef Py_GIL_DISABLED
#define SHOALPY_BEGIN_EXCLUSIVE(object) Py_BEGIN_CRITICAL_SECTION(object)
#define SHOALPY_END_EXCLUSIVE() Py_END_CRITICAL_SECTION()
#else /* the Limited API has no critical sections */
#define SHOALPY_BEGIN_EXCLUSIVE(object) {
#define SHOALPY_END_EXCLUSIVE() }
#endif

#endif
