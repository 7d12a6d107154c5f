/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_PYTHON_WAITER_H
#define SHOAL_PYTHON_WAITER_H

/*
 * What one task awaits: a future with less to it than asyncio's.  One coroutine awaits it,
 * and nothing else refers to it but its task; so it has one callback at most, and asyncio's
 * warning about an exception that nobody fetched is left out.
 *
 * asyncio's futures let the event loop call each task in a turn of its own.  Those of one
 * read come together, and resolve() (resolve.h) goes on with their tasks itself, one after the
 * other, which saves the loop's work for each.
 *
 * Threads: attached to the interpreter; the loop's.  Another thread that settles a waiter does
 * not damage the waiter.  But that thread calls the loop's call_soon(), as it would for one of
 * asyncio's futures, and a loop that waits does not hear of it.
 */

#include <Python.h>
#include <stdbool.h>

typedef enum shoalpy_waiter_state {
    SHOALPY_WAITER_PENDING,
    SHOALPY_WAITER_HAS_VALUE,
    SHOALPY_WAITER_HAS_ERROR,
    SHOALPY_WAITER_CANCELLED
} shoalpy_waiter_state_t;

/* asyncio's; NULL until init_waiters() was called. */
extern PyObject *shoalpy_invalid_state;

/* By a function of new_waiter_maker(), or by what there is instead of it. */
PyObject *shoalpy_waiter_new(PyObject *maker);

bool shoalpy_is_waiter(PyObject *object);
/* The following take waiters only. */
bool shoalpy_waiter_is_pending(PyObject *object);
/* It ends, and its task goes on: here (is_now), or by the loop.  `value` may be NULL.  0; 1: it
 * was done before; -1: an exception is set. */
int shoalpy_waiter_end(PyObject *object, shoalpy_waiter_state_t state, PyObject *value,
                       bool is_now);

/* Adds the functions to the module.  0, or -1: an exception is set. */
int shoalpy_waiter_init(PyObject *module);

#endif
