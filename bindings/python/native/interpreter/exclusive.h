/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_EXCLUSIVE_H
#define SHOAL_PYTHON_EXCLUSIVE_H

/*
 * One thread at a time runs the code between BEGIN and END for an object.  With a GIL that is
 * always so; without one, the interpreter locks the object.  It may release that lock while
 * the thread waits for another one: so no Python code may run between BEGIN and END.
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
