/* SPDX-License-Identifier: MIT */
#include "wakeup.h"

#include <stdatomic.h>

/* Of this process, for ever. */
static PyObject *ready_future, *run_name;
static PyObject *call_soon_name, *context_names; /* ("context",) */
static _Atomic(PyCFunction) wakeup; /* of asyncio's tasks; NULL: none was seen yet */

bool shoalpy_wakeup_begin(PyObject *future)
{
    Py_INCREF(future);
    ready_future = future;
    run_name = PyUnicode_InternFromString("run");
    call_soon_name = PyUnicode_InternFromString("call_soon");
    context_names = Py_BuildValue("(s)", "context");
    return run_name && call_soon_name && context_names;
}

static bool has_name_of_wakeup(PyObject *function)
{
    PyObject *name = PyObject_GetAttrString(function, "__name__");
    bool is_it = name && PyUnicode_Check(name) &&
                 PyUnicode_CompareWithASCIIString(name, "task_wakeup") == 0;

    if (!name)
        PyErr_Clear();
    Py_XDECREF(name);
    return is_it;
}

/* Is it what lets one of asyncio's own tasks go on? */
static bool is_wakeup(PyObject *callback)
{
    PyCFunction function, known;

    if (!Py_IS_TYPE(callback, &PyCFunction_Type))
        return false;
    function = PyCFunction_GetFunction(callback);
    known = atomic_load_explicit(&wakeup, memory_order_relaxed);
    if (known || !has_name_of_wakeup(callback))
        return function == known;
    atomic_store_explicit(&wakeup, function, memory_order_relaxed);
    return true;
}

int shoalpy_wakeup_run(PyObject *waiter, PyObject *callback, PyObject *context)
{
    PyObject *future = is_wakeup(callback) ? ready_future : waiter;
    PyObject *done =
        PyObject_CallMethodObjArgs(context, run_name, callback, future, NULL);

    Py_XDECREF(done);
    return done ? 0 : -1;
}

int shoalpy_wakeup_soon(PyObject *loop, PyObject *waiter, PyObject *callback,
                        PyObject *context)
{
    PyObject *scheduler = PyObject_GetAttr(loop, call_soon_name);
    PyObject *arguments = PyTuple_Pack(2, callback, waiter);
    PyObject *options = PyDict_New();
    PyObject *handle = NULL;

    if (scheduler && arguments && options &&
        PyDict_SetItem(options, PyTuple_GetItem(context_names, 0), context) == 0)
        handle = PyObject_Call(scheduler, arguments, options);
    Py_XDECREF(scheduler);
    Py_XDECREF(arguments);
    Py_XDECREF(options);
    Py_XDECREF(handle);
    return handle ? 0 : -1;
}
