/* SPDX-License-Identifier: MIT */
#include "resolve.h"

#include "waiter.h"

/* 1: it was done before; -1: an exception is set. */
static int resolve_one(PyObject *future, PyObject *value, PyObject *setter,
                       shoalpy_waiter_state_t state, bool is_now)
{
    PyObject *done;

    if (shoalpy_is_waiter(future))
        return shoalpy_waiter_end(future, state, value, is_now);
    done = PyObject_CallFunctionObjArgs(setter, future, value, NULL);
    Py_XDECREF(done);
    if (done)
        return 0;
    if (!PyErr_ExceptionMatches(shoalpy_invalid_state))
        return -1;
    PyErr_Clear();
    return 1;
}

static int note(PyObject *missed, Py_ssize_t at)
{
    PyObject *number = PyLong_FromSsize_t(at);
    int rc = number ? PyList_Append(missed, number) : -1;

    Py_XDECREF(number);
    return rc;
}

typedef struct failure {
    PyObject *type, *value, *trace;
} failure_t;

/* The first exception is kept until all are resolved. */
static void keep_first(failure_t *failure)
{
    if (failure->type)
        PyErr_Clear();
    else
        PyErr_Fetch(&failure->type, &failure->value, &failure->trace);
}

/* resolve(futures, values, setter, is_error, is_now, missed): each future gets its value, or
 * its exception; those that are no waiters by `setter`.  The numbers of those that were done
 * before go to `missed`.  is_now: tasks go on in here; after an exception the others do
 * later. */
static PyObject *resolve(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    failure_t failure = {NULL, NULL, NULL};
    PyObject *futures, *values;
    shoalpy_waiter_state_t state;
    bool is_now;

    (void)module;
    if (count != 6 || !PyList_Check(arguments[0]) || !PyList_Check(arguments[1]) ||
        !PyList_Check(arguments[5])) {
        PyErr_SetString(PyExc_TypeError,
                        "resolve(list, list, setter, is_error, is_now, list)");
        return NULL;
    }
    futures = arguments[0];
    values = arguments[1];
    state =
        arguments[3] == Py_True ? SHOALPY_WAITER_HAS_ERROR : SHOALPY_WAITER_HAS_VALUE;
    is_now = arguments[4] == Py_True;
    for (Py_ssize_t i = 0; i < PyList_Size(futures) && i < PyList_Size(values); i++) {
        PyObject *future = PyList_GetItem(futures, i);
        PyObject *value = PyList_GetItem(values, i);
        int rc;

        Py_INCREF(future);
        Py_INCREF(value);
        rc = resolve_one(future, value, arguments[2], state, is_now && !failure.type);
        if (rc < 0 || (rc > 0 && note(arguments[5], i) < 0))
            keep_first(&failure);
        Py_DECREF(future);
        Py_DECREF(value);
    }
    if (failure.type) {
        PyErr_Restore(failure.type, failure.value, failure.trace);
        return NULL;
    }
    Py_RETURN_NONE;
}

/* any_done(futures, tester): is one of them done?  `tester` is asked of those that are no
 * waiters. */
static PyObject *any_done(PyObject *module, PyObject *const *arguments,
                          Py_ssize_t count)
{
    (void)module;
    if (count != 2 || !PyList_Check(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "any_done(list, tester)");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(arguments[0]); i++) {
        PyObject *future = PyList_GetItem(arguments[0], i);
        PyObject *answer;
        bool is_done;

        if (shoalpy_is_waiter(future)) {
            if (shoalpy_waiter_is_pending(future))
                continue;
            Py_RETURN_TRUE;
        }
        answer = PyObject_CallFunctionObjArgs(arguments[1], future, NULL);
        if (!answer)
            return NULL;
        is_done = answer == Py_True;
        Py_DECREF(answer);
        if (is_done)
            Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
}

static PyMethodDef functions[] = {
    {"resolve", (PyCFunction)(void (*)(void))resolve, METH_FASTCALL, NULL},
    {"any_done", (PyCFunction)(void (*)(void))any_done, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

int shoalpy_resolve_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
