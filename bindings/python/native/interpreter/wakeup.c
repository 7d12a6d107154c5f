/* SPDX-License-Identifier: MIT */
#include "wakeup.h"

/* Of this process, for ever. */
static PyObject *ready_future, *run_name;
static PyCFunction wakeup; /* of asyncio's tasks; NULL: none was seen yet */

bool shoalpy_wakeup_begin(PyObject *future)
{
    Py_INCREF(future);
    ready_future = future;
    run_name = PyUnicode_InternFromString("run");
    return run_name;
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
    PyCFunction function;

    if (!Py_IS_TYPE(callback, &PyCFunction_Type))
        return false;
    function = PyCFunction_GetFunction(callback);
    if (!wakeup && has_name_of_wakeup(callback))
        wakeup = function;
    return function == wakeup;
}

int shoalpy_wakeup_run(PyObject *waiter, PyObject *callback, PyObject *context)
{
    PyObject *future = is_wakeup(callback) ? ready_future : waiter;
    PyObject *done =
        PyObject_CallMethodObjArgs(context, run_name, callback, future, NULL);

    Py_XDECREF(done);
    return done ? 0 : -1;
}
