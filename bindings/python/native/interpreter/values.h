/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_VALUES_H
#define SHOAL_PYTHON_VALUES_H

/*
 * The value of a stream (stream.h), made by the interpreter's own constructors, of its
 * Limited API.  It is the same value that pickle.loads() makes of the stream, which is what
 * Python uses where this file is not built.
 *
 * Threads: attached to the interpreter.  Nothing is kept between calls.
 */

#include <Python.h>

/* A new reference.  NULL: an exception: MemoryError, or another one if it is no stream of ours. */
PyObject *shoalpy_value_of(const char *stream, size_t bytes);

#endif
